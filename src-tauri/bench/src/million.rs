//! The program's performance with a database of a million payments.

use std::path::Path;
use std::time::Duration;

use crate::client::Client;
use crate::fallible::Fallible;
use crate::load::{self, Until};
use crate::process::{self, Served};
use crate::report::{Report, millis};
use crate::spine;

/// Number of starts; the slowest is reported.
const STARTS: usize = 3;

/// Number of requests for each page.
const ASKED: usize = 30;

/// Number of pages, spread over the list, from which the ids to read are taken.
const SAMPLES: u64 = 40;

/// Length of each sustained load.
const SPAN: Duration = Duration::from_secs(5);

/// Measures on an existing database, and adds the figures to `report`.
pub fn measure(report: &mut Report, data_dir: &Path) -> Fallible<()> {
    let mut slowest = Duration::ZERO;
    for _ in 0..STARTS {
        slowest = slowest.max(Served::start(data_dir)?.ready_after);
    }
    let what = format!("million: start to ready (slowest of {STARTS})");
    report.add(&what, format!("{:.0} ms", millis(slowest)), "required below 2,000 ms", None);

    let served = Served::start(data_dir)?;
    let authorization = process::authorization(data_dir)?;
    let mut client = Client::connect(served.port, &authorization)?;
    report.add("million: resident memory after the start", memory(&served)?, "", None);
    page(
        report,
        &mut client,
        "million: first list page of 50",
        "/v2/payments/50/0",
        "required below 20 ms",
    )?;
    let far = "million: list page of 50 at offset 900,000";
    page(report, &mut client, far, "/v2/payments/50/900000", "required below 200 ms")?;
    let open = "million: list page of 50, status=NEW";
    page(report, &mut client, open, "/v2/payments/50/0?status=NEW", "")?;

    let mut ids = Vec::new();
    for sample in 0..SAMPLES {
        ids.extend(client.payment_ids(500, sample * 999_000 / SAMPLES)?);
    }
    for connections in [1, 16, 64] {
        let run =
            spine::get(&served, &authorization, ids.clone(), connections, Until::Elapsed(SPAN))?;
        let what = format!(
            "million: GET by id, {}, {} different ids",
            spine::plural(connections),
            ids.len()
        );
        spine::add(report, &what, &run, "required p99 below 5 ms", None);
    }
    let run = spine::create(&served, &authorization, 64, Until::Elapsed(SPAN))?;
    spine::add(report, "million: POST /v2/payments/new, 64 connections", &run, "", None);
    report.add(
        "million: resident memory after all that",
        memory(&served)?,
        "required below 150 MB",
        None,
    );
    Ok(())
}

fn page(
    report: &mut Report,
    client: &mut Client,
    what: &str,
    path: &str,
    limit: &str,
) -> Fallible<()> {
    let mut times_us = Vec::new();
    for _ in 0..ASKED {
        let (_, took) = client.call("GET", path, "")?;
        times_us.push(u32::try_from(took.as_micros()).unwrap_or(u32::MAX));
    }
    times_us.sort_unstable();
    let (p50, most) = (load::quantile_ms(&times_us, 500), load::quantile_ms(&times_us, 1_000));
    report.add(what, format!("p50 {p50:.1} ms, slowest {most:.1} ms"), limit, None);
    Ok(())
}

fn memory(served: &Served) -> Fallible<String> {
    Ok(format!("{:.0} MB", served.resident_mb()?))
}
