//! Making and reading payments under load, with the limits of the machine.

use std::path::Path;
use std::time::Duration;

use crate::client::Client;
use crate::fallible::Fallible;
use crate::limits;
use crate::load::{self, Run, Until};
use crate::process::{self, Served};
use crate::report::Report;

/// Length of each sustained load.
const SPAN: Duration = Duration::from_secs(8);

/// Number of requests in a burst.
const BURST: u64 = 5_000;

/// Number of different payments that are read.
const READ_IDS: u32 = 500;

/// One connection and its limit are measured alternately in this many turns, because the disk's
/// speed can double or halve within a minute.
const TURNS: u32 = 6;

/// Length of a turn; short enough that the address pool does not fall to the level at which it is
/// refilled.
const TURN: Duration = Duration::from_secs(1);

/// Pause in which the address pool is refilled and the WAL checkpointed.
const REST: Duration = Duration::from_millis(500);

/// Measures, and adds the figures to `report`.
pub fn measure(report: &mut Report) -> Fallible<()> {
    let folder = process::data_dir()?;
    let fdatasync = limits::fdatasync_rate(folder.path())?;
    let commits = limits::CommitProbe::new(folder.path())?;
    let commit_rate = commits.rate(limits::SPAN)?;
    let derivation = limits::derivation_rate()?;
    report.add("limit: append and fdatasync", format!("{fdatasync:.0}/s"), "", None);
    report.add("limit: SQLite commits of one row", format!("{commit_rate:.0}/s"), "", None);
    report.add("limit: addresses derived on one core", format!("{derivation:.0}/s"), "", None);

    let served = Served::start(folder.path())?;
    let authorization = process::authorization(folder.path())?;
    // Fills the caches.
    create(&served, &authorization, 16, Until::Requests(2_000))?;
    single(report, &served, &authorization, &commits)?;
    let mut empty_64 = 0.0;
    for connections in [1, 16, 64] {
        let empty = limits::empty_handler(connections)?;
        let what = plural(connections);
        add(report, &format!("limit: empty handler, {what}"), &empty, "", None);
        empty_64 = empty.per_second();
        let run = create(&served, &authorization, connections, Until::Elapsed(SPAN))?;
        let (limit, bound) = match connections {
            1 => (format!("commits of one row {commit_rate:.0}/s"), commit_rate),
            64 => (
                format!("empty handler {empty_64:.0}/s; required 8,000/s, p99 below 25 ms"),
                empty_64,
            ),
            _ => (format!("empty handler {empty_64:.0}/s"), empty_64),
        };
        let what = format!("POST /v2/payments/new, {what}, {} s", SPAN.as_secs());
        add(report, &what, &run, &limit, Some(run.per_second() / bound));
    }
    burst(report, &served, &authorization, empty_64)?;
    read(report, &served, &authorization, folder.path(), empty_64)
}

/// A number of connections, in words.
pub fn plural(connections: usize) -> String {
    if connections == 1 { "1 connection".to_owned() } else { format!("{connections} connections") }
}

/// Measures payments one after another while addresses are ready, beside commits of one row.
fn single(
    report: &mut Report,
    served: &Served,
    authorization: &str,
    commits: &limits::CommitProbe,
) -> Fallible<()> {
    let mut runs = Vec::new();
    let mut bound = 0.0;
    for _ in 0..TURNS {
        std::thread::sleep(REST);
        bound += commits.rate(TURN)? / f64::from(TURNS);
        runs.push(create(served, authorization, 1, Until::Elapsed(TURN))?);
    }
    let run = Run::sum(runs);
    let what = "POST /v2/payments/new, 1 connection, in turns with its limit";
    let limit = format!("commits of one row {bound:.0}/s; required 0.33");
    add(report, what, &run, &limit, Some(run.per_second() / bound));
    Ok(())
}

fn burst(report: &mut Report, served: &Served, authorization: &str, empty: f64) -> Fallible<()> {
    let mut runs = Vec::new();
    for _ in 0..3 {
        // Waits until the address pool is full again.
        std::thread::sleep(Duration::from_secs(2));
        runs.push(create(served, authorization, 64, Until::Requests(BURST))?);
    }
    runs.sort_by(|a, b| a.per_second().total_cmp(&b.per_second()));
    let median = &runs[1];
    let what = "POST, burst of 5,000, 64 connections (median of 3)";
    let limit = format!("empty handler {empty:.0}/s; required 15,000/s");
    add(report, what, median, &limit, Some(median.per_second() / empty));
    Ok(())
}

fn read(
    report: &mut Report,
    served: &Served,
    authorization: &str,
    folder: &Path,
    empty: f64,
) -> Fallible<()> {
    let ids = Client::connect(served.port, authorization)?.payment_ids(READ_IDS, 0)?;
    let run = get(served, authorization, ids, 64, Until::Elapsed(SPAN))?;
    let ratio = run.per_second() / empty;
    add(
        report,
        "GET /v2/payments/{id}, 64 connections",
        &run,
        &format!("empty handler {empty:.0}/s; required 30,000/s"),
        Some(ratio),
    );
    let size =
        std::fs::metadata(folder.join("test/tillgate.db")).map_or(0, |meta| meta.len() >> 20);
    let memory = format!("{:.0} MB", served.resident_mb()?);
    report.add("resident memory after this load", memory, &format!("database of {size} MB"), None);
    Ok(())
}

/// Makes payments.
pub fn create(
    served: &Served,
    authorization: &str,
    connections: usize,
    until: Until,
) -> Fallible<Run> {
    let authorization = authorization.to_owned();
    measured(served, connections, until, move |number| {
        load::request("POST", "/v2/payments/new", &authorization, &order(number))
    })
}

/// The body of a request for a payment whose notifications reach no shop.
pub fn order(number: u64) -> String {
    format!(
        r#"{{"amount":"{}.{:02}","currency":"USD","notificationUrl":"http://127.0.0.1:9/shop","message":"Thank you","merchantTransactionId":"order-{number}"}}"#,
        5 + number % 95,
        number % 100,
    )
}

/// Reads these payments by id, repeatedly.
pub fn get(
    served: &Served,
    authorization: &str,
    ids: Vec<String>,
    connections: usize,
    until: Until,
) -> Fallible<Run> {
    let requests: Vec<_> = ids
        .iter()
        .map(|id| load::request("GET", &format!("/v2/payments/{id}"), authorization, ""))
        .collect();
    measured(served, connections, until, move |number| {
        // The factor is a prime, so that neighbours are not read one after another.
        let index =
            usize::try_from(number).unwrap_or(0).wrapping_mul(7_919) % requests.len().max(1);
        requests.get(index).cloned().unwrap_or_default()
    })
}

/// Sends requests to the program and measures its processor time for each. A refused request is an
/// error.
fn measured(
    served: &Served,
    connections: usize,
    until: Until,
    request: impl Fn(u64) -> Vec<u8> + Send + Sync + 'static,
) -> Fallible<Run> {
    let before_ms = served.cpu_ms()?;
    let mut run = load::drive(served.port, connections, until, request)?;
    run.cpu_us = Some((served.cpu_ms()? - before_ms) as f64 * 1_000.0 / run.answered.max(1) as f64);
    match run.refused {
        0 => Ok(run),
        refused => {
            Err(format!("{refused} requests of {} were refused", refused + run.answered).into())
        }
    }
}

/// Adds a run to the report, with its rate and times.
pub fn add(report: &mut Report, what: &str, run: &Run, limit: &str, ratio: Option<f64>) {
    let (p50, p99) = (run.quantile_ms(500), run.quantile_ms(990));
    let cpu = run.cpu_us.map_or(String::new(), |us| format!(", {us:.0} µs of processor"));
    report.add(
        what,
        format!("{:.0}/s, p50 {p50:.2} ms, p99 {p99:.2} ms{cpu}", run.per_second()),
        limit,
        ratio,
    );
}
