//! The disk is full while a payout is due and a deadline passes. A transaction that cannot be
//! stored is not sent. Due work waits, and is done once when there is space again.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use axum::http::Method;
use rustix::process::getuid;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::check;
use crate::clocks::step_clocks;
use crate::harness::client::{payment_request, text};
use crate::harness::wait_for;
use crate::injected_faults::status_and_doctor;
use crate::installation::Installation;

/// An address outside this wallet.
const ADDRESS: &str = "bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080";

/// Size of the file that the gateway empties to make room for acts of staff.
const BALLAST_BYTES: u64 = 32 << 20;

/// Longer than the half minute in which a payout waits for others to share its transaction.
const PAST_THE_BATCH_MS: i64 = 60_000;

const HALF_AN_HOUR_MS: i64 = 30 * 60_000;

/// Starts the gateway with its data on a small disk of its own, after `prepare` changed the
/// command. The disk has 1,200 MiB, of which the environment `test` keeps a gigabyte free. Returns
/// the disk's path in the gateway's mount namespace; `None` if this machine permits no such disk.
pub fn on_a_small_disk(
    site: &mut Installation,
    prepare: impl FnOnce(&mut Command),
) -> Option<(TempDir, PathBuf)> {
    if !Command::new("unshare")
        .args(namespace())
        .arg("true")
        .status()
        .is_ok_and(|status| status.success())
    {
        println!("skipped: this machine permits no mount of a small disk");
        return None;
    }
    let small = TempDir::new().unwrap();
    let (data, disk) =
        (site.program.data_dir().display().to_string(), small.path().display().to_string());
    let script = format!(
        "set -e; mount -t tmpfs -o size=1200m tmpfs {disk}; cp -a {data} {disk}/data; exec \"$@\""
    );
    let mut command = Command::new("unshare");
    command.args(namespace()).args([
        "sh",
        "-c",
        &script,
        "sh",
        env!("CARGO_BIN_EXE_tillgate"),
        "serve",
    ]);
    command.args(["--listen", "127.0.0.1:0", "--data-dir", &format!("{disk}/data")]);
    site.program.isolate(&mut command);
    prepare(&mut command);
    site.launch(command).unwrap_or_else(|ended| panic!("{}", ended.log));
    let disk = PathBuf::from(format!("/proc/{}/root{disk}", site.pid().as_raw_nonzero()));
    Some((small, disk))
}

/// Arguments of `unshare` for a new mount namespace, in which an ordinary user becomes root.
pub fn namespace() -> &'static [&'static str] {
    if getuid().is_root() { &["--mount"] } else { &["--mount", "--user", "--map-root-user"] }
}

/// Fills the rest of the disk.
pub fn fill(filler: &Path) {
    let mut file = fs::OpenOptions::new().create(true).append(true).open(filler).unwrap();
    for size in [1 << 20, 1 << 12] {
        while file.write_all(&vec![0; size]).is_ok() {}
    }
}

async fn payout(site: &Installation, query: &str) -> crate::harness::Answer {
    let body = json!({
        "btcAmount": "0.00400000", "currency": "USD", "address": ADDRESS, "notificationUrl": format!("{}/payout", site.shop.url()),
    });
    site.client.send_json(Method::POST, &format!("/v2/payouts{query}"), &body).await
}

/// Waits until a payment is refused with STORAGE_UNAVAILABLE. After a clock jump CHAIN_NOT_READY
/// may come first.
async fn wait_for_storage_refusal(site: &Installation) {
    let request = payment_request("10.00", site.shop.url());
    let refused = async || {
        let answer = site.client.post("/v2/payments/new", &request).await;
        (answer.status != 200 && answer.field_errors(503)[0].0 == "STORAGE_UNAVAILABLE")
            .then_some(())
    };
    wait_for("a refusal", refused).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_delays_payouts_and_deadlines_and_repeats_none() {
    let mut site = Installation::prepare().await;
    let injected = TempDir::new().unwrap();
    let faults = |command: &mut Command| {
        command.env("TILLGATE_INJECTED_FAULTS", injected.path());
    };
    let Some((_small, disk)) = on_a_small_disk(&mut site, faults) else { return };
    let passes = |ms: i64| step_clocks(injected.path(), ms, ms);
    let coin = site.client.new_payment("10.00", site.shop.url()).await;
    site.client.pay_sats(&text(&coin["paymentId"]), 1_000_000).await;
    site.client.mine(2).await;
    let unpaid = text(&site.client.new_payment("10.00", site.shop.url()).await["paymentId"]);
    let approved = text(&payout(&site, "?autoApprove=true").await.ok()["payoutId"]);
    let offered = text(&payout(&site, "").await.ok()["payoutId"]);

    let filler = disk.join("filler");
    fill(&filler);
    wait_for_storage_refusal(&site).await;
    fill(&filler);
    passes(PAST_THE_BATCH_MS);
    wait_for_storage_refusal(&site).await;
    fill(&filler);
    assert_eq!(
        payout(&site, "?autoApprove=true").await.field_errors(503)[0].0,
        "STORAGE_UNAVAILABLE"
    );
    passes(HALF_AN_HOUR_MS + PAST_THE_BATCH_MS);
    wait_for_storage_refusal(&site).await;
    // The existing WAL may have room for a commit. A transaction in the mempool must be stored in
    // any case.
    let record =
        async |id: &str| -> Value { site.client.get(&format!("/v2/payouts/{id}")).await.ok() };
    let on_its_way = site.client.sandbox_state().await["mempool"].clone();
    if on_its_way != json!([]) {
        assert_eq!(json!([record(&approved).await["btcTxId"]]), on_its_way);
    }

    fs::remove_file(&filler).unwrap();
    let sent = async || (record(&approved).await["status"] == "SENT").then_some(());
    wait_for("the payout", sent).await;
    wait_for("the expiry of the unpaid payment", async || {
        (site.state_of(&unpaid).await == "EXPIRED").then_some(())
    })
    .await;
    wait_for("the expiry of the offer", async || {
        (record(&offered).await["status"] == "EXPIRED").then_some(())
    })
    .await;
    // The gateway checks the free space once in a second.
    let mined = async || {
        site.client.post("/sandbox/blocks", &json!({ "count": 3 })).await.status.is_success()
    };
    wait_for("space for blocks", async || mined().await.then_some(())).await;
    let outputs = site.client.outputs_to(ADDRESS).await;
    assert_eq!(outputs.len(), 1, "{outputs:?}");
    assert_eq!(outputs[0]["btcTxId"], record(&approved).await["btcTxId"]);
    site.shop.wait_for_record(&approved, "the payout", |record| record["status"] == "SENT").await;
    site.shop.expect_states(&unpaid, &["EXPIRED"]).await;
    check::every_change_was_notified(&site, &disk.join("data/test")).await;
    site.kill();
}

fn free_bytes(disk: &Path) -> u64 {
    let stat = rustix::fs::statvfs(disk).unwrap();
    stat.f_bavail * stat.f_frsize
}

/// A payment request with the longest texts, and URLs without a server.
fn largest_request() -> Value {
    let url = || format!("http://127.0.0.1:1/{}", "u".repeat(2_029));
    let mut request = payment_request("10.00", &url());
    request["message"] = "😀".repeat(512).into();
    request["merchantTransactionId"] = "".into();
    request["notificationUrl"] = url().into();
    request["anomalyNotificationUrl"] = url().into();
    request["redirectUrls"] = json!({ "expired": url() });
    request
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_keys_payments_leave_disk_space_for_open_payments() {
    const RESERVE: u64 = 1_000_000_000;
    const OPEN_PAYMENTS: u64 = 200;
    const OPEN_PAYMENT_BYTES: u64 = 60_000;
    /// Room for some of the greedy key's payments, fewer than it may have open.
    const ROOM: u64 = 2_000_000;
    let mut site = Installation::prepare().await;
    let greedy = site.program.create_key("greedy", &["--own"]);
    site.program.set("keyOpenPayments", &OPEN_PAYMENTS.to_string());
    let keys = site.program.json(&["keys", "list"])["itemsCount"].as_u64().unwrap();
    let kept = RESERVE + OPEN_PAYMENT_BYTES * OPEN_PAYMENTS * (keys + 1);
    let injected = TempDir::new().unwrap();
    let faults = |command: &mut Command| {
        command
            .env("TILLGATE_INJECTED_FAULTS", injected.path())
            .env("TILLGATE_CHECKPOINT_PAGES", "64");
    };
    let Some((_small, disk)) = on_a_small_disk(&mut site, faults) else { return };
    let other = text(&site.client.new_payment("10.00", site.shop.url()).await["paymentId"]);
    let ballast = async || {
        fs::metadata(disk.join("data/test/ballast")).is_ok_and(|file| file.len() > 0).then_some(())
    };
    wait_for("the ballast", ballast).await;
    let filler = fs::File::create(disk.join("filler")).unwrap();
    let taken = free_bytes(&disk).checked_sub(kept + ROOM).unwrap();
    rustix::fs::fallocate(&filler, rustix::fs::FallocateFlags::empty(), 0, taken).unwrap();

    let greedy = site.client.with_key(greedy);
    let mut last = None;
    let refusal = loop {
        let answer = greedy.post("/v2/payments/new", &largest_request()).await;
        if answer.status != 200 {
            break answer;
        }
        last = Some(text(&answer.ok()["paymentId"]));
    };
    assert_eq!(refusal.field_errors(503)[0].0, "STORAGE_UNAVAILABLE");
    let last = last.unwrap();
    step_clocks(
        injected.path(),
        3 * HALF_AN_HOUR_MS + PAST_THE_BATCH_MS,
        3 * HALF_AN_HOUR_MS + PAST_THE_BATCH_MS,
    );
    wait_for("the expiry of the last payment", async || {
        (site.state_of(&last).await == "EXPIRED").then_some(())
    })
    .await;
    site.shop.expect_states(&other, &["EXPIRED"]).await;
    assert!(free_bytes(&disk) >= RESERVE, "{} bytes are free", free_bytes(&disk));
    site.kill();
}

/// Runs a command of staff; returns its JSON, or its standard error if it fails.
fn staff_command(site: &Installation, data_dir: &Path, args: &[&str]) -> Result<Value, String> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tillgate"));
    site.program.isolate(command.args(args).args(["--json", "--data-dir"]).arg(data_dir));
    let output = command.output().unwrap();
    match output.status.success() {
        true => Ok(serde_json::from_slice(&output.stdout).unwrap_or(Value::Null)),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn staff_can_act_on_a_full_disk_by_emptying_the_ballast() {
    let mut site = Installation::prepare().await;
    let thief = site.program.create_key("thief", &[]);
    let Some((_small, disk)) = on_a_small_disk(&mut site, |_| {}) else { return };
    let data = disk.join("data");
    let ballast = || fs::metadata(data.join("test/ballast")).map_or(0, |file| file.len());
    let bill = text(&site.client.new_payment("10.00", site.shop.url()).await["paymentId"]);
    site.client.pay_sats(&bill, 1_000_000).await;
    site.client.mine(2).await;
    let anomaly = text(&site.client.anomalies(&bill).await[0]["anomalyId"]);
    wait_for("the ballast", async || (ballast() == BALLAST_BYTES).then_some(())).await;

    let filler = disk.join("filler");
    fill(&filler);
    wait_for_storage_refusal(&site).await;
    fill(&filler);
    staff_command(&site, &data, &["keys", "revoke", "thief"]).unwrap();
    site.client.with_key(thief).get("/v2/payments/10/0").await.field_errors(401);
    staff_command(&site, &data, &["anomalies", "dismiss", &anomaly, "--reason", "no room"])
        .unwrap();
    staff_command(&site, &data, &["settings", "set", "merchantName", "Shop"]).unwrap();
    assert_eq!(site.client.anomalies(&bill).await[0]["resolution"], "DISMISSED");
    assert_eq!(ballast(), 0);
    let (status, doctor) = status_and_doctor(&site, &data);
    let told = |document: &Value| document.to_string().contains("was freed for acts of staff");
    assert!(told(&status["warnings"]) && told(&doctor["checks"]), "{status} {doctor}");

    fs::remove_file(&filler).unwrap();
    wait_for("the ballast's return", async || (ballast() == BALLAST_BYTES).then_some(())).await;
    let (status, _) = status_and_doctor(&site, &data);
    assert!(!told(&status["warnings"]), "{status}");
    site.kill();
}
