//! Injected faults under load: of the disk, the database, the machine's clock, the chain and a
//! shop. No data is lost or duplicated. Refusals name the reason, and the gateway recovers by
//! itself when the fault ends.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::HeaderMap;
use rusqlite::Connection;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpListener;

use crate::check;
use crate::clocks::step_clocks;
use crate::full_disk::{fill, on_a_small_disk};
use crate::harness::client::{Client, text};
use crate::harness::{Answer, wait_for};
use crate::installation::Installation;
use crate::ledger::Ledger;
use crate::load::Load;
use crate::random::Random;

/// Allowed reasons of a 503. CHAIN_NOT_READY comes after a clock jump of more than ten minutes,
/// until the next look.
const STORAGE: &[&str] = &["STORAGE_UNAVAILABLE", "CHAIN_NOT_READY"];

pub const HOUR_MS: i64 = 3_600_000;

/// A little more than the five minutes after which the gateway accepts a step of the wall clock.
pub const BELIEVED_AFTER_MS: i64 = 301_000;

/// Length of a fault under load.
const A_WHILE: Duration = Duration::from_millis(1_500);

/// Requests one more payment, and records it in the ledger.
async fn ask(client: &Client, site: &Installation, ledger: &Ledger) -> Answer {
    let (reference, asked) = ledger.ask("10.00", site.shop.url(), true);
    let answer = client.send(asked.request(client)).await;
    if answer.status == 200 {
        ledger.answered(&reference, &answer.body);
    }
    answer
}

/// Waits until a payment is refused for lack of storage.
async fn wait_for_refusal(site: &Installation, ledger: &Ledger) {
    let refusal = wait_for("a refusal", async || {
        let answer = ask(&site.client, site, ledger).await;
        (answer.status != 200).then_some(answer)
    })
    .await;
    assert_eq!(refusal.field_errors(503), [("STORAGE_UNAVAILABLE".to_owned(), None)]);
}

/// Waits until the gateway accepts payments again.
async fn wait_for_acceptance(site: &Installation, ledger: &Ledger) {
    wait_for("an accepted payment", async || {
        (ask(&site.client, site, ledger).await.status == 200).then_some(())
    })
    .await;
}

/// The state of a running gateway, and its doctor's report.
pub fn status_and_doctor(site: &Installation, data_dir: &Path) -> (Value, Value) {
    let ask = |act: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tillgate"));
        site.program.isolate(command.args([act, "--json", "--data-dir"]).arg(data_dir));
        let output = command.output().unwrap();
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{act}: {output:?}"))
    };
    (ask("status"), ask("doctor"))
}

/// Runs load before, during and after `fault`; afterwards all checks must pass. `excuses` are
/// allowed reasons of a 503.
async fn under_load(
    site: &Installation,
    folder: &Path,
    excuses: &'static [&'static str],
    fault: impl AsyncFnOnce(&Ledger),
) {
    let (ledger, mut random) = (Ledger::default(), Random::seeded(7));
    let load = Load::new(&site.client, &site.shop, &ledger).excusing(excuses);
    let tasks = load.start(&mut random);
    wait_for("payments under way", async || (ledger.lock().payments.len() >= 20).then_some(()))
        .await;
    fault(&ledger).await;
    let before = ledger.lock().payments.len();
    wait_for("payments after the fault", async || {
        (ledger.lock().payments.len() >= before + 20).then_some(())
    })
    .await;
    load.close(tasks).await;
    check::everything(site, &ledger, folder, &mut random).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_disk_that_fills_up_under_load_loses_nothing() {
    let mut site = Installation::prepare().await;
    let Some((_small, disk)) = on_a_small_disk(&mut site, |_| {}) else { return };
    let folder = disk.join("data/test");
    under_load(&site, &folder, STORAGE, async |ledger| {
        let filler = disk.join("filler");
        fill(&filler);
        wait_for_refusal(&site, ledger).await;
        fill(&filler);
        assert!(site.client.get("/v2/payments/10/0").await.status.is_success(), "reads still work");
        let (_, doctor) = status_and_doctor(&site, &disk.join("data"));
        assert_eq!(doctor["ok"], false, "{doctor}");
        fs::remove_file(&filler).unwrap();
        wait_for_acceptance(&site, ledger).await;
    })
    .await;
    site.kill();
}

/// Starts the gateway with a folder in which files inject faults; returns the folder.
pub fn with_injected_faults(site: &mut Installation) -> TempDir {
    let injected = TempDir::new().unwrap();
    site.start_with(|command| {
        command.env("TILLGATE_INJECTED_FAULTS", injected.path());
    })
    .unwrap();
    injected
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failing_commits_under_load_are_reported_and_lose_nothing() {
    let mut site = Installation::prepare().await;
    let injected = with_injected_faults(&mut site);
    let folder = check::folder(&site);
    under_load(&site, &folder, STORAGE, async |ledger| {
        for _ in 0..3 {
            let injected_fault = injected.path().join("commit-fails");
            fs::write(&injected_fault, "").unwrap();
            wait_for_refusal(&site, ledger).await;
            tokio::time::sleep(A_WHILE).await;
            // The look after the jump cannot be stored; a refusal still names storage as the
            // reason.
            site.client.post("/sandbox/clock", &json!({ "advanceSeconds": 11 * 60 })).await;
            let known = check::items(&site, "/v2/payments/500/").await.len();
            wait_for_refusal(&site, ledger).await;
            assert_eq!(
                check::items(&site, "/v2/payments/500/").await.len(),
                known,
                "no payment is stored meanwhile"
            );
            fs::remove_file(&injected_fault).unwrap();
            wait_for_acceptance(&site, ledger).await;
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_locked_by_another_process_loses_nothing() {
    let mut site = Installation::prepare().await;
    site.start();
    let folder = check::folder(&site);
    let database = folder.join("tillgate.db");
    under_load(&site, &folder, STORAGE, async |ledger| {
        let locker = Connection::open(&database).unwrap();
        locker.busy_timeout(Duration::from_secs(10)).unwrap();
        locker.execute_batch("BEGIN IMMEDIATE").unwrap();
        let payments = check::items(&site, "/v2/payments/500/").await.len();
        // Each refused request waited for the database lock until the timeout of a write.
        for _ in 0..2 {
            wait_for_refusal(&site, ledger).await;
        }
        assert_eq!(
            check::items(&site, "/v2/payments/500/").await.len(),
            payments,
            "reads still work"
        );
        locker.execute_batch("ROLLBACK").unwrap();
        wait_for_acceptance(&site, ledger).await;
    })
    .await;
}

/// The environment's clock in milliseconds; only differences have a meaning.
pub async fn clock_ms(site: &Installation) -> i64 {
    let clock = text(&site.client.sandbox_state().await["clock"]);
    let number = |from: usize, length: usize| clock[from..from + length].parse::<i64>().unwrap();
    // The year starts in March here, so that a leap day is its last day.
    let (year, month) = if number(5, 2) > 2 {
        (number(0, 4), number(5, 2) - 3)
    } else {
        (number(0, 4) - 1, number(5, 2) + 9)
    };
    let days =
        year * 365 + year / 4 - year / 100 + year / 400 + (month * 153 + 2) / 5 + number(8, 2);
    ((days * 24 + number(11, 2)) * 60 + number(14, 2)) * 60_000
        + number(17, 2) * 1_000
        + number(20, 3)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clock_jump_of_an_hour_and_back_undoes_no_decision() {
    let mut site = Installation::prepare().await;
    let injected = with_injected_faults(&mut site);
    let folder = check::folder(&site);
    let tell = |wall_ms: i64, boot_ms: i64| step_clocks(injected.path(), wall_ms, boot_ms);
    let waiting = text(&site.client.new_payment("10.00", site.shop.url()).await["paymentId"]);
    let ledger = Ledger::default();
    let open = async || site.state_of(&waiting).await == "NEW";
    let before_ms = clock_ms(&site).await;
    for wall_ms in [HOUR_MS, 0, -HOUR_MS, 0] {
        tell(wall_ms, 0);
        ask(&site.client, &site, &ledger).await.ok();
        site.client.advance_clock(0).await;
        assert!(
            (clock_ms(&site).await - before_ms).abs() < HOUR_MS / 2,
            "a jump of {wall_ms} ms is not accepted at once"
        );
        assert!(open().await, "the payment stays open despite the jump");
        if wall_ms != 0 {
            let (_, doctor) = status_and_doctor(&site, site.program.data_dir());
            assert_eq!(doctor["ok"], false, "the doctor sees the jump: {doctor}");
        }
    }
    // After five minutes the gateway accepts the hour: its clock follows, and the payment keeps its
    // remaining time.
    tell(HOUR_MS, 0);
    clock_ms(&site).await;
    tell(HOUR_MS + BELIEVED_AFTER_MS, BELIEVED_AFTER_MS);
    wait_for("the clock to follow", async || {
        (clock_ms(&site).await - before_ms > HOUR_MS).then_some(())
    })
    .await;
    site.client.advance_clock(0).await;
    assert!(open().await, "the hour did not pass for the customer");
    let past_ms = BELIEVED_AFTER_MS + HOUR_MS;
    tell(HOUR_MS + past_ms, past_ms);
    wait_for("the expiry", async || (!open().await).then_some(())).await;
    let ahead_ms = clock_ms(&site).await;
    // The clock is set back: no decision is undone, and the gateway's clock never runs backwards.
    tell(past_ms, past_ms);
    clock_ms(&site).await;
    tell(past_ms + BELIEVED_AFTER_MS, past_ms + BELIEVED_AFTER_MS);
    site.client.advance_clock(0).await;
    assert!(clock_ms(&site).await >= ahead_ms);
    assert_eq!(site.state_of(&waiting).await, "EXPIRED");
    let bill = text(&site.client.new_payment("10.00", site.shop.url()).await["paymentId"]);
    site.client.pay_with(&bill, json!({ "confirmations": 1 })).await;
    assert_eq!(site.state_of(&bill).await, "CONFIRMED");
    site.shop.expect_states(&bill, &["CONFIRMED"]).await;
    check::every_change_was_notified(&site, &folder).await;
    // After a restart the gateway reads the wall clock, which was set back; again no decision is
    // undone.
    site.kill();
    site.start_with(|command| {
        command.env("TILLGATE_INJECTED_FAULTS", injected.path());
    })
    .unwrap();
    site.client.advance_clock(0).await;
    assert_eq!(site.state_of(&waiting).await, "EXPIRED");
    assert_eq!(site.state_of(&bill).await, "CONFIRMED");
    check::every_change_was_notified(&site, &folder).await;
}

/// Debian's `faketime`. It changes only the wall clock, because the program reads the boot-time
/// clock without the C library.
const FAKETIME: &str = "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clock_jump_by_faketime_undoes_no_decision() {
    if !Path::new(FAKETIME).exists() {
        println!("skipped: {FAKETIME} is not there (the Debian package faketime)");
        return;
    }
    let mut site = Installation::prepare().await;
    let offset = TempDir::new().unwrap();
    let file = offset.path().join("offset");
    fs::write(&file, "+0").unwrap();
    site.start_with(|command| {
        command
            .env("LD_PRELOAD", FAKETIME)
            .env("FAKETIME_TIMESTAMP_FILE", &file)
            .env("FAKETIME_NO_CACHE", "1");
        command.env("FAKETIME_DONT_FAKE_MONOTONIC", "1").env("DONT_FAKE_MONOTONIC", "1");
    })
    .unwrap();
    let bill = text(&site.client.new_payment("10.00", site.shop.url()).await["paymentId"]);
    let before_ms = clock_ms(&site).await;
    for step in ["+1h", "+0", "-1h", "+0"] {
        fs::write(&file, step).unwrap();
        site.client.advance_clock(0).await;
        assert!((clock_ms(&site).await - before_ms).abs() < HOUR_MS / 2, "{step}");
        assert_eq!(site.state_of(&bill).await, "NEW", "{step}");
        if step != "+0" {
            let (_, doctor) = status_and_doctor(&site, site.program.data_dir());
            assert_eq!(doctor["ok"], false, "the doctor reports the jump {step}: {doctor}");
        }
    }
    site.client.pay_with(&bill, json!({ "confirmations": 1 })).await;
    assert_eq!(site.state_of(&bill).await, "CONFIRMED");
    check::every_change_was_notified(&site, &check::folder(&site)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_day_without_the_chain_loses_nothing_and_is_reported() {
    let mut site = Installation::prepare().await;
    site.start();
    let folder = check::folder(&site);
    let (ledger, mut random) = (Ledger::default(), Random::seeded(11));
    let mut bills = Vec::new();
    for _ in 0..6 {
        bills.push(text(&ask(&site.client, &site, &ledger).await.ok()["paymentId"]));
    }
    site.client.set_faults(json!({ "chainDown": true })).await;
    for bill in &bills[..2] {
        site.client.pay(bill).await;
    }
    site.client.mine(1).await;
    site.client.pay(&bills[2]).await;
    site.client.advance_clock(24 * 3_600).await;
    site.client.pay(&bills[3]).await;
    let field_errors = ask(&site.client, &site, &ledger).await.field_errors(503);
    assert_eq!(field_errors, [("CHAIN_NOT_READY".to_owned(), None)]);
    assert_eq!(
        site.state_of(&bills[0]).await,
        "NEW",
        "the gateway cannot have seen the transaction"
    );
    let (status, doctor) = status_and_doctor(&site, site.program.data_dir());
    assert!(status["chainError"].is_string(), "{status}");
    assert_eq!(doctor["ok"], false, "{doctor}");
    site.kill();
    site.start();
    assert_eq!(
        ask(&site.client, &site, &ledger).await.status,
        503,
        "the gateway still refuses after a restart"
    );

    site.client.set_faults(json!({ "chainDown": false })).await;
    for (bill, state) in
        bills.iter().zip(["CONFIRMED", "CONFIRMED", "UNCONFIRMED", "EXPIRED", "EXPIRED", "EXPIRED"])
    {
        assert_eq!(site.state_of(bill).await, state, "{}", site.client.payment(bill).await);
    }
    ask(&site.client, &site, &ledger).await.ok();
    site.client.mine(2).await;
    assert_eq!(site.client.anomalies(&bills[3]).await[0]["anomalyType"], "LATE_PAYMENT");
    // Idempotency keys last 24 hours, so those of the first payments are gone; their payments stay.
    ledger.lock().asked.values_mut().for_each(|asked| asked.key = None);
    check::everything(&site, &ledger, &folder, &mut random).await;
}

/// A slow shop: it reads a notification, and answers 200 after the gateway's timeout.
#[derive(Clone, Default)]
struct LateShop {
    received: Arc<Mutex<Vec<(HeaderMap, Bytes)>>>,
    answered: Arc<AtomicUsize>,
    is_late: Arc<AtomicBool>,
}

/// A second more than the gateway's timeout.
const TOO_LATE: Duration = Duration::from_secs(11);

impl LateShop {
    async fn open(&self) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let router = Router::new().fallback(receive_late).with_state(self.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        url
    }

    fn count(&self) -> usize {
        self.received.lock().unwrap().len()
    }
}

async fn receive_late(State(shop): State<LateShop>, headers: HeaderMap, body: Bytes) {
    shop.received.lock().unwrap().push((headers, body));
    if shop.is_late.load(Ordering::SeqCst) {
        // The spawned task outlives the connection, so the shop answers although the gateway closed
        // it.
        drop(tokio::spawn(tokio::time::sleep(TOO_LATE)).await);
    }
    shop.answered.fetch_add(1, Ordering::SeqCst);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shop_that_answers_too_late_is_retried_and_delays_no_other() {
    let mut site = Installation::prepare().await;
    site.start();
    let late = LateShop::default();
    late.is_late.store(true, Ordering::SeqCst);
    let slow = text(&site.client.new_payment("10.00", &late.open().await).await["paymentId"]);
    site.client.pay(&slow).await;
    wait_for("the attempt", async || (late.count() == 1).then_some(())).await;
    let other = text(&site.client.new_payment("10.00", site.shop.url()).await["paymentId"]);
    site.client.pay(&other).await;
    site.shop.expect_states(&other, &["UNCONFIRMED"]).await;
    assert_eq!(
        late.answered.load(Ordering::SeqCst),
        0,
        "the other shop was notified before the late one answered"
    );
    let failed = async || {
        let deliveries = site.program.json(&["deliveries", "list", "--failed"]);
        deliveries["items"].as_array().is_some_and(|items| !items.is_empty()).then_some(())
    };
    wait_for("the failed delivery", failed).await;
    late.is_late.store(false, Ordering::SeqCst);
    site.client.advance_clock(12).await;
    wait_for("the second attempt", async || (late.count() == 2).then_some(())).await;
    {
        let received = late.received.lock().unwrap();
        assert_eq!(received[0].1, received[1].1);
        assert_eq!(received[0].0["webhook-id"], received[1].0["webhook-id"]);
    }
    site.client.mine(1).await;
    wait_for("the confirmation", async || (late.count() == 3).then_some(())).await;
    let last: Value = serde_json::from_slice(&late.received.lock().unwrap()[2].1).unwrap();
    assert_eq!(last["status"], "CONFIRMED", "the accepted notification is not sent again: {last}");
}
