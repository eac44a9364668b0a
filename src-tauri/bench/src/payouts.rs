//! Offers, their lists, and the sending of approved payouts.

use std::process::Command;
use std::time::{Duration, Instant};

use bitcoin::hashes::Hash as _;
use bitcoin::{Address, Network, ScriptBuf, WPubkeyHash};
use serde_json::Value;

use crate::client::Client;
use crate::fallible::Fallible;
use crate::limits;
use crate::load::{self, Run, Until};
use crate::process::{self, Served};
use crate::report::Report;
use crate::spine;

/// Length of each sustained load.
const SPAN: Duration = Duration::from_secs(5);

/// Number of coins in the wallet, of 0.02 BTC each.
const COINS: u32 = 400;

/// Number of payouts approved one after another, each with its own transaction.
const ALONE: u32 = 200;

/// Number of these payouts between two blocks, so that chains of change stay short.
const BLOCK_EVERY: u32 = 20;

/// Number of payouts approved together.
const TOGETHER: u64 = 1_000;

/// Number of payouts in the lists.
const LISTED: u64 = 200_000;

/// Number of requests for each list.
const ASKED: u32 = 100;

/// Measures, and adds the figures to `report`.
pub fn measure(report: &mut Report) -> Fallible<()> {
    let folder = process::data_dir()?;
    let commits = limits::CommitProbe::new(folder.path())?.rate(limits::SPAN)?;
    report.add("limit: SQLite commits of one row", format!("{commits:.0}/s"), "", None);
    let served = Served::start(folder.path())?;
    let authorization = process::authorization(folder.path())?;
    for (name, value) in [("dailyLimitBtc", "21000000"), ("batchSeconds", "0")] {
        set(folder.path(), name, value)?;
    }
    let mut client = Client::connect(served.port, &authorization)?;
    fund(&mut client)?;
    alone(report, &mut client, commits)?;
    set(folder.path(), "batchSeconds", "3600")?;
    together(report, &served, &authorization, &mut client)?;
    offers(report, &served, &authorization)?;
    lists(report, &served, &authorization)
}

fn set(folder: &std::path::Path, name: &str, value: &str) -> Fallible<()> {
    let done = Command::new(process::program()?)
        .args(["settings", "set", name, value, "--data-dir"])
        .arg(folder)
        .output()?;
    if done.status.success() {
        Ok(())
    } else {
        Err(String::from_utf8_lossy(&done.stderr).into_owned().into())
    }
}

/// Customers pay into the wallet.
fn fund(client: &mut Client) -> Fallible<()> {
    for number in 0..COINS {
        let body = format!(
            r#"{{"amount":"1000.00","currency":"USD","notificationUrl":"http://127.0.0.1:9/shop","message":"","merchantTransactionId":"{number}"}}"#
        );
        let (payment, _) = client.call("POST", "/v2/payments/new", &body)?;
        let id = payment["paymentId"].as_str().ok_or("a payment without an id")?;
        client.call(
            "POST",
            &format!("/v2/sandbox/payments/{id}/pay"),
            r#"{"btcAmount":"0.02"}"#,
        )?;
    }
    client.call("POST", "/v2/sandbox/blocks", r#"{"count":3}"#)?;
    Ok(())
}

/// Measures the time from the approval to the broadcast of the transaction.
fn alone(report: &mut Report, client: &mut Client, commits: f64) -> Fallible<()> {
    let mut times_us = Vec::new();
    for number in 0..ALONE {
        let sent = Instant::now();
        let (payout, _) = client.call(
            "POST",
            "/v2/payouts?autoApprove=true",
            &request(u64::from(number), "0.001"),
        )?;
        let id = payout["payoutId"].as_str().ok_or("a payout without an id")?;
        loop {
            let (record, _) = client.call("GET", &format!("/v2/payouts/{id}"), "")?;
            match record["status"].as_str() {
                Some("SENT") => break,
                Some("QUEUED") if sent.elapsed() < Duration::from_secs(10) => {}
                other => {
                    return Err(format!("a payout is {other:?} after {:?}", sent.elapsed()).into());
                }
            }
        }
        times_us.push(u32::try_from(sent.elapsed().as_micros()).unwrap_or(u32::MAX));
        if number % BLOCK_EVERY == BLOCK_EVERY - 1 {
            client.call("POST", "/v2/sandbox/blocks", "{}")?;
        }
    }
    times_us.sort_unstable();
    let (p50, p99) = (load::quantile_ms(&times_us, 500), load::quantile_ms(&times_us, 990));
    let limit = format!("one commit {:.2} ms; required p99 below 100 ms", 1_000.0 / commits);
    report.add(
        "approval to broadcast, no wait for others",
        format!("p50 {p50:.1} ms, p99 {p99:.1} ms"),
        &limit,
        None,
    );
    Ok(())
}

/// Measures many payouts in as few transactions as possible.
fn together(
    report: &mut Report,
    served: &Served,
    authorization: &str,
    client: &mut Client,
) -> Fallible<()> {
    let header = authorization.to_owned();
    let made = load::drive(served.port, 16, Until::Requests(TOGETHER), move |number| {
        load::request(
            "POST",
            "/v2/payouts?autoApprove=true",
            &header,
            &request(1_000_000 + number, "0.001"),
        )
    })?;
    if made.answered < TOGETHER {
        return Err(format!("only {} of {TOGETHER} payouts were approved", made.answered).into());
    }
    // The call answers after all due payouts were built and broadcast.
    let (_, took) = client.call("POST", "/v2/sandbox/clock", r#"{"advanceSeconds":3600}"#)?;
    let (page, _) = client.call("GET", "/v2/payouts?status=QUEUED&limit=1", "")?;
    let waiting = &page["paginationInfo"]["itemsCount"];
    let (chain, _) = client.call("GET", "/v2/sandbox", "")?;
    let transactions = chain["mempool"].as_array().map_or(0, Vec::len);
    if waiting.as_u64() != Some(0) {
        return Err(format!("{waiting} of {TOGETHER} payouts still wait").into());
    }
    let what = "1,000 approved payouts: chosen, signed, checked, stored, broadcast";
    report.add(
        what,
        format!("{:.0} ms, {transactions} transactions", took.as_secs_f64() * 1_000.0),
        "required below 2,000 ms",
        None,
    );
    client.call("POST", "/v2/sandbox/blocks", r#"{"count":3}"#)?;
    Ok(())
}

fn offers(report: &mut Report, served: &Served, authorization: &str) -> Fallible<()> {
    for connections in [1, 16] {
        let empty = limits::empty_handler(connections)?.per_second();
        let run = offer(
            served,
            authorization,
            connections,
            Until::Elapsed(SPAN),
            u64::from(connections as u32) << 32,
        )?;
        let what =
            format!("POST /v2/payouts, {}, {} s", spine::plural(connections), SPAN.as_secs());
        spine::add(
            report,
            &what,
            &run,
            &format!("empty handler {empty:.0}/s"),
            Some(run.per_second() / empty),
        );
    }
    Ok(())
}

fn offer(
    served: &Served,
    authorization: &str,
    connections: usize,
    until: Until,
    first: u64,
) -> Fallible<Run> {
    let header = authorization.to_owned();
    let run = load::drive(served.port, connections, until, move |number| {
        let amount = format!("0.00{:06}", 10_000 + number % 900_000);
        load::request("POST", "/v2/payouts", &header, &request(first + number, &amount))
    })?;
    match run.refused {
        0 => Ok(run),
        refused => Err(format!("{refused} offers were refused").into()),
    }
}

/// Measures each filter of the list, with [`LISTED`] payouts in the database.
fn lists(report: &mut Report, served: &Served, authorization: &str) -> Fallible<()> {
    let (page, _) =
        Client::connect(served.port, authorization)?.call("GET", "/v2/payouts?limit=1", "")?;
    let there = page["paginationInfo"]["itemsCount"].as_u64().unwrap_or(0);
    offer(served, authorization, 16, Until::Requests(LISTED.saturating_sub(there)), 1 << 48)?;
    // A new connection is needed, because the gateway closed the connections that were idle for too
    // long.
    let mut client = Client::connect(served.port, authorization)?;
    let (page, _) = client.call("GET", "/v2/payouts?limit=50", "")?;
    let item = &page["items"][7];
    let (sent, _) = client.call("GET", "/v2/payouts?status=SENT&limit=1", "")?;
    let text = |value: &Value| value.to_string().trim_matches('"').to_owned();
    let filters = [
        ("no filter", String::new()),
        ("offset 150,000", "offset=150000".to_owned()),
        (
            "timeFrom, timeTo",
            format!("timeFrom={0}&timeTo=2100-01-01T00:00:00Z", text(&item["time"])),
        ),
        ("address", format!("address={}", text(&item["address"]))),
        ("btcTxId", format!("btcTxId={}", text(&sent["items"][0]["btcTxId"]))),
        ("btcAmount", format!("btcAmount={}", text(&item["btcAmount"]))),
        ("fiatTotalAmount", format!("fiatTotalAmount={}", text(&item["fiatTotalAmount"]))),
        ("status=SENT", "status=SENT".to_owned()),
        ("status=NEW", "status=NEW".to_owned()),
        ("merchantId", format!("merchantId={}", text(&item["merchantId"]))),
    ];
    for (name, query) in filters {
        let mut times_us = Vec::new();
        for _ in 0..ASKED {
            let (_, took) = client.call("GET", &format!("/v2/payouts?limit=20&{query}"), "")?;
            times_us.push(u32::try_from(took.as_micros()).unwrap_or(u32::MAX));
        }
        times_us.sort_unstable();
        let (p50, p99) = (load::quantile_ms(&times_us, 500), load::quantile_ms(&times_us, 990));
        let what = format!("GET /v2/payouts of 200,000, {name}");
        report.add(
            &what,
            format!("p50 {p50:.1} ms, p99 {p99:.1} ms"),
            "required p99 below 20 ms",
            None,
        );
    }
    Ok(())
}

/// The body of a request for a payout to an address derived from this number.
fn request(number: u64, amount: &str) -> String {
    let script = ScriptBuf::new_p2wpkh(&WPubkeyHash::hash(&number.to_be_bytes()));
    let address = Address::from_script(&script, Network::Regtest)
        .map_or_else(|_| String::new(), |it| it.to_string());
    format!(r#"{{"btcAmount":"{amount}","currency":"USD","address":"{address}"}}"#)
}
