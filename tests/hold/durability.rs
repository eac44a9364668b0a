//! A kill keeps the page cache, so it proves no durability. The order of system calls proves it: a
//! response or a notification must follow the sync of the WAL that holds its change. The same check
//! must refuse a program that does not sync.

use std::fs;
use std::process::Command;

use serde_json::json;

use crate::check;
use crate::harness::client::text;
use crate::harness::wait_for;
use crate::installation::Installation;
use crate::trace::{Findings, examine};

/// Payments made under the trace, some of them at the same time.
const PAYMENTS: usize = 24;

/// The system calls that write to files, sync them, and send to the network.
const CALLS: &str = "trace=write,writev,pwrite64,pwritev,sendto,sendmsg,fdatasync,fsync";

/// Bytes of each call in the trace: more than a page of the database or a notification.
const BYTES_SHOWN: &str = "8192";

/// Runs the gateway under `strace`, creates payments and pays them; returns the findings.
async fn traced(prepare: impl FnOnce(&mut Command)) -> Findings {
    let mut site = Installation::prepare().await;
    let log = site.program.data_dir().join("trace");
    let inner = site.program.command(&["serve", "--listen", "127.0.0.1:0"]);
    let mut command = Command::new("strace");
    command
        .args(["-f", "-yy", "-xx", "-s", BYTES_SHOWN, "-e", CALLS, "-e", "signal=none", "-o"])
        .arg(&log);
    command.arg(inner.get_program()).args(inner.get_args());
    site.program.isolate(&mut command);
    prepare(&mut command);
    site.launch(command).unwrap_or_else(|ended| panic!("{}: {}", ended.status, ended.log));

    let mut callers = tokio::task::JoinSet::new();
    for _ in 0..PAYMENTS {
        let (client, shop) = (site.client.clone(), site.shop.url().to_owned());
        callers.spawn(async move { text(&client.new_payment("10.00", &shop).await["paymentId"]) });
    }
    let ids = callers.join_all().await;
    for id in &ids {
        site.client.pay_with(id, json!({})).await;
    }
    site.client.mine(1).await;
    wait_for("a notification of each payment", async || {
        let confirmed = |id: &String| {
            site.shop.records_of(id).iter().any(|record| record["status"] == "CONFIRMED")
        };
        ids.iter().all(confirmed).then_some(())
    })
    .await;
    // SIGTERM goes to the gateway and not to `strace`, so that the trace is complete.
    let lock = fs::read_to_string(check::folder(&site).join("lock")).unwrap();
    let stopped = Command::new("kill").args(["-TERM", lock.trim()]).status().unwrap();
    assert!(stopped.success());
    site.ended().await;
    examine(&fs::read_to_string(log).unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_and_notifications_are_sent_after_the_wal_sync() {
    let findings = traced(|_| {}).await;
    assert!(
        findings.answers >= PAYMENTS
            && findings.notifications >= 2 * PAYMENTS
            && findings.syncs > 0,
        "{findings:?}"
    );
    assert_eq!(findings.too_early, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_trace_check_refuses_a_program_that_does_not_sync() {
    let findings = traced(|command| {
        command.env("TILLGATE_SYNCHRONOUS", "NORMAL");
    })
    .await;
    assert!(findings.answers >= PAYMENTS, "{findings:?}");
    assert!(
        findings.too_early.len() >= PAYMENTS,
        "the check accepted a program that does not sync: {findings:?}"
    );
}
