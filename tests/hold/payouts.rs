//! Payouts when the gateway is killed. After a restart and some blocks, each approved payout is
//! paid exactly once, and no other payout is paid. The records agree with the chain. A payout may
//! be FAILED, and is then never paid, if staff abandoned it or customers double-spent its coins.
//!
//! `TILLGATE_HOLD_PAYOUT_KILLS` sets the number of kills at random moments (10 by default).

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::process::ExitStatusExt as _;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::http::Method;
use rustix::process::Signal;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::check;
use crate::expected_records;
use crate::fail_points::waiting;
use crate::harness::client::{payment_request, text};
use crate::harness::sandbox::{btc, sats};
use crate::installation::Installation;
use crate::kills::{env_number, seed};
use crate::other_copy;
use crate::payout_load::{Asked, Gone, Load};
use crate::random::Random;

const KILLS: u64 = 10;

/// Kills of one installation before a fresh one replaces it.
const KILLS_OF_ONE: u64 = 25;

/// Installations or stories that run at the same time.
const TOGETHER: usize = 2;

/// Blocks within which every approved payout is mined.
const BLOCKS_TO_REST: u32 = 40;

/// Number of kills from one turn of another copy to its next. Its first turn follows the second
/// kill.
const COPY_EVERY: u64 = 5;

/// New coins for the waiting payouts, because customers may have double-spent others.
const COINS_TO_REST: u64 = 8;

/// The gateway aborts when it passes a fail point for the first, second or fifth time.
const PASSAGES: [u64; 3] = [1, 2, 5];

/// A stopped installation whose wallet holds coins.
async fn prepared(batch_seconds: u64) -> Installation {
    let mut site = Installation::prepare().await;
    site.program.set("batchSeconds", &batch_seconds.to_string());
    site.program.set("dailyLimitBtc", "100000");
    site.start();
    customers_pay(&site, 8).await;
    site.client.mine(3).await;
    site.kill();
    site
}

async fn customers_pay(site: &Installation, coins: u64) {
    for coin in 0..coins {
        let payment = site.client.new_payment("10.00", site.shop.url()).await;
        site.client.pay_sats(&text(&payment["paymentId"]), 3_000_000 + coin * 100_000).await;
    }
}

/// Releases the sender if it holds. It may hold only because of another copy of the wallet.
fn release_if_held(site: &Installation, asked: &Asked) {
    let held = other_copy::release(site);
    assert!(
        !held || !asked.of_other_copies.lock().unwrap().is_empty(),
        "held without another copy\n{}",
        site.log()
    );
}

/// Ends all faults and mines until every approved payout is paid; then checks the chain and the
/// database.
async fn settle_and_check(site: &Installation, asked: &Asked) {
    site.client
        .set_faults(
            json!({ "broadcast": "ok", "chainDown": false, "keysLocked": false, "feeRate": null }),
        )
        .await;
    customers_pay(site, COINS_TO_REST).await;
    site.client.mine(2).await;
    release_if_held(site, asked);
    let mut unpaid = Vec::new();
    for _ in 0..BLOCKS_TO_REST {
        site.client.advance_clock(3).await;
        site.client.mine(1).await;
        unpaid = check::items(site, "/v2/payouts?limit=500&offset=").await;
        unpaid.retain(|record| record["status"] == "QUEUED");
        if unpaid.is_empty() && site.client.sandbox_state().await["mempool"] == json!([]) {
            break;
        }
    }
    assert!(unpaid.is_empty(), "{unpaid:?}\n{}", site.log());
    site.client.mine(7).await;
    payouts_are_paid_once(site, asked).await;
    database_agrees_with_the_chain(site, asked);
}

/// Checks that an abandonment or a double-spend explains a FAILED payout.
fn check_failure_reason(site: &Installation, asked: &Asked, record: &Value) {
    let reason = text(&record["failureReason"]);
    let (database, _copied) = expected_records::open(&site.program.database());
    // The payouts of its batch, and of each batch whose change its batch spends: giving up any of
    // them fails it too.
    let mut query = database
        .prepare(
            "WITH RECURSIVE line (batch_seq) AS (SELECT batch_seq FROM payouts WHERE lower(hex(id)) = ?1 UNION \
             SELECT v.batch_seq FROM line JOIN batch_inputs AS i ON i.batch_seq = line.batch_seq \
             JOIN versions AS v ON v.txid = i.txid) \
             SELECT lower(hex(p.id)) FROM line JOIN payouts AS p ON p.batch_seq = line.batch_seq UNION SELECT ?1",
        )
        .unwrap();
    let failing_it =
        query.query_map([text(&record["payoutId"])], |row| row.get::<_, String>(0)).unwrap();
    let failing_it: BTreeSet<String> = failing_it.map(Result::unwrap).collect();
    let is_given_up = !asked.given_up.lock().unwrap().is_disjoint(&failing_it);
    let has_lost_coins =
        reason.starts_with("another transaction") && asked.has_lost_coins.load(Ordering::Relaxed);
    assert!(
        (reason.contains("cancelled") && is_given_up) || has_lost_coins,
        "{record}\n{}",
        site.log()
    );
}

async fn payouts_are_paid_once(site: &Installation, asked: &Asked) {
    let records = check::items(site, "/v2/payouts?limit=500&offset=").await;
    let by_address: BTreeMap<String, &Value> =
        records.iter().map(|record| (text(&record["address"]), record)).collect();
    assert_eq!(by_address.len(), records.len(), "one request made two payouts");
    let (mut sent_sats, mut paid_sats) = (0, 0);
    let payouts = asked.payouts.lock().unwrap().clone();
    for (address, (amount_sats, was_acknowledged)) in payouts {
        let outputs = site.client.outputs_to(&address).await;
        let status =
            by_address.get(&address).map(|record| text(&record["status"])).unwrap_or_default();
        let (is_sent, has_failed) = (status == "SENT", status == "FAILED");
        if has_failed {
            check_failure_reason(site, asked, by_address[&address]);
        }
        assert!(
            is_sent || has_failed || !was_acknowledged,
            "an acknowledged approval is {status}: {address}"
        );
        assert!(
            is_sent || has_failed || ["", "NEW", "EXPIRED"].contains(&status.as_str()),
            "{:?}",
            by_address[&address]
        );
        assert_eq!(
            outputs.len(),
            usize::from(is_sent),
            "{address} ({status}): {outputs:?}\n{}",
            site.log()
        );
        for output in outputs {
            assert!(output["confirmations"].as_u64().unwrap() > 0, "{output}");
            assert_eq!(sats(&output["btcAmount"]), i64::try_from(amount_sats).unwrap());
            paid_sats += sats(&output["btcAmount"]);
        }
        if is_sent {
            sent_sats += sats(&by_address[&address]["btcAmount"]);
        }
    }
    assert_eq!(paid_sats, sent_sats);
}

fn database_agrees_with_the_chain(site: &Installation, asked: &Asked) {
    check::database_is_intact(&check::folder(site));
    let (database, _copied) = expected_records::open(&check::folder(site).join("tillgate.db"));
    let one = |sql: &str| database.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
    let booked = one("SELECT ifnull(sum(sats), 0) FROM ledger");
    let held = one(
        "SELECT ifnull(sum(amount_sats), 0) FROM coins WHERE position = 'block' AND spent_by IS NULL",
    );
    assert_eq!(booked, held, "the ledger differs from the coins\n{}", site.log());
    let locked = one(
        "SELECT count(*) FROM coins AS c JOIN batch_inputs AS i ON i.txid = c.txid AND i.vout = c.vout \
                      WHERE i.live = 1 AND c.position = 'block' AND c.spent_by IS NULL",
    );
    assert_eq!(locked, 0, "coins stay locked");
    let twins = other_copy::twins(site);
    let of_others = asked.of_other_copies.lock().unwrap();
    assert!(
        twins.is_subset(&of_others),
        "one of our own transactions is stored as a twin: {twins:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn random_kills_pay_each_approved_payout_once() {
    let kills = env_number("TILLGATE_HOLD_PAYOUT_KILLS").unwrap_or(KILLS);
    let mut random = Random::seeded(seed());
    let mut under_way = JoinSet::new();
    let share = kills.div_ceil(TOGETHER as u64).min(KILLS_OF_ONE);
    let (mut left, mut number) = (kills, 0);
    while left > 0 || !under_way.is_empty() {
        while under_way.len() < TOGETHER && left > 0 {
            let count = left.min(share);
            left -= count;
            under_way.spawn(one_installation(number, count, random.fork()));
            number += 1;
        }
        if let Some(ended) = under_way.join_next().await {
            ended.unwrap();
        }
    }
}

async fn one_installation(number: u64, kills: u64, mut random: Random) {
    let mut site = prepared(number % 2).await;
    let asked = Asked::default();
    site.start();
    for kill in 1..=kills {
        let load =
            Load { client: site.client.clone(), asked: asked.clone() }.start(&site, &mut random);
        tokio::time::sleep(Duration::from_millis(5) + random.pause(500)).await;
        site.kill();
        load.join_all().await;
        while random.chance(25) {
            site.kill_while_starting(random.pause(400)).await;
        }
        if kill % COPY_EVERY == 2 {
            let made = other_copy::let_copy_work(&site, &asked).await;
            asked.of_other_copies.lock().unwrap().extend(made);
        }
        site.start();
        customers_pay(&site, 1).await;
        release_if_held(&site, &asked);
        if kill % 8 == 0 || kill == kills {
            settle_and_check(&site, &asked).await;
        }
    }
    let payouts = asked.payouts.lock().unwrap();
    let approved = payouts.values().filter(|(_, approved)| *approved).count();
    let (database, _copied) = expected_records::open(&site.program.database());
    let count = |of: &str| {
        database.query_row(&format!("SELECT count(*) FROM {of}"), [], |row| row.get::<_, u64>(0))
    };
    println!(
        "installation {number}: {kills} kills, {} payouts asked for, {approved} approvals acknowledged, {} FAILED, {} \
         transactions of other copies",
        payouts.len(),
        count("payouts WHERE state = 'FAILED'").unwrap(),
        count("twins").unwrap()
    );
}

/// Turns of 25 ms within which all notifications are sent.
const SENDS_WITHIN_TURNS: u32 = 400;

/// One sequence of payouts on one installation, in which the gateway aborts once at a fail point.
struct Story {
    site: Installation,
    asked: Asked,
    has_ended: bool,
}

impl Story {
    async fn restart_after_abort(&mut self) {
        let log = self.site.log();
        let status = self.site.ended().await;
        assert!(
            status.signal() == Some(Signal::ABORT.as_raw()) && !self.has_ended,
            "the gateway ended ({status}):\n{log}"
        );
        self.has_ended = true;
        self.site.start();
    }

    async fn call(&mut self, method: Method, path: &str, body: Value) -> Option<Value> {
        let load = Load { client: self.site.client.clone(), asked: self.asked.clone() };
        match load.send(method, path, &body).await {
            Ok(answer) if answer.status == 200 => Some(answer.json()),
            Ok(_) => None,
            // The request is not repeated; the final check shows its result.
            Err(Gone) => {
                self.restart_after_abort().await;
                None
            }
        }
    }

    async fn pay_out(&mut self, amount_sats: u64, approved: bool) -> Option<String> {
        let address = self.asked.address();
        self.asked.payouts.lock().unwrap().insert(address.clone(), (amount_sats, false));
        let body = json!({ "btcAmount": btc(amount_sats), "currency": "USD", "address": address });
        let id = text(&self.call(Method::POST, "/v2/payouts", body).await?["payoutId"]);
        if approved {
            self.call(Method::POST, "/v2/payouts/approve", json!({ "payoutId": id })).await?;
            self.asked.approved(&address);
        }
        Some(id)
    }

    /// A customer pays, so that the shop is notified.
    async fn customer_pays(&mut self) {
        let request = payment_request("10.00", self.site.shop.url());
        if let Some(payment) = self.call(Method::POST, "/v2/payments/new", request).await {
            let pay = format!("/sandbox/payments/{}/pay", text(&payment["paymentId"]));
            self.call(Method::POST, &pay, json!({})).await;
        }
    }

    async fn advance_clock(&mut self) {
        self.call(Method::POST, "/sandbox/clock", json!({ "advanceSeconds": 2 })).await;
    }

    /// Runs the whole sequence, which passes each fail point several times.
    async fn run(&mut self) {
        self.pay_out(20_000, false).await;
        let first = self.pay_out(150_000, true).await;
        self.advance_clock().await;
        if let Some(id) = first {
            // The gateway may abort during the command, which then fails.
            drop(self.site.program.output(&["payouts", "bump", &id, "--fee-rate", "20", "--json"]));
            if self.site.has_ended() {
                self.restart_after_abort().await;
            }
        }
        if let Some(id) = self.pay_out(80_000, true).await {
            self.advance_clock().await;
            self.asked.given_up.lock().unwrap().insert(id.clone());
            drop(self.site.program.output(&["payouts", "abandon", &id, "--all", "--json"]));
            if self.site.has_ended() {
                self.restart_after_abort().await;
            }
        }
        for fault in ["reject", "timeout", "forget", "ok"] {
            self.call(Method::PUT, "/sandbox/faults", json!({ "broadcast": fault })).await;
            self.pay_out(60_000, true).await;
            self.advance_clock().await;
        }
        self.call(Method::POST, "/sandbox/blocks", json!({})).await;
        self.call(Method::POST, "/sandbox/reorg", json!({ "depth": 2 })).await;
        self.pay_out(70_000, true).await;
        self.advance_clock().await;
        self.customer_pays().await;
        self.call(Method::POST, "/sandbox/blocks", json!({ "count": 2 })).await;
        // On a busy machine the notifications of these blocks are sent later.
        for _ in 0..SENDS_WITHIN_TURNS {
            if self.site.has_ended() || waiting(&self.site) == 0 {
                return;
            }
            tokio::time::sleep(Duration::from_millis(25)).await;
        }
        panic!("notifications still wait:\n{}", self.site.log());
    }
}

async fn run_story(mut site: Installation, point: &str, count: u64) -> bool {
    let armed = |command: &mut Command| {
        command.env("TILLGATE_FAIL_POINT", format!("{point}:{count}"));
    };
    let mut has_ended = false;
    if site.start_with(armed).is_err() {
        has_ended = true;
        site.start();
    }
    let mut story = Story { site, asked: Asked::default(), has_ended };
    story.run().await;
    if story.site.has_ended() {
        story.restart_after_abort().await;
    }
    // From here on the gateway runs without the fail point.
    story.site.kill();
    story.site.start();
    settle_and_check(&story.site, &story.asked).await;
    story.has_ended
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn aborts_at_each_fail_point_pay_each_approved_payout_once() {
    let site = Arc::new(prepared(0).await);
    let points = ["choose", "sign", "commit", "broadcast", "view", "send", "sandbox"];
    let mut waiting: Vec<(String, u64)> = Vec::new();
    for count in PASSAGES {
        waiting.extend(
            points
                .iter()
                .flat_map(|it| ["before", "after"].map(|when| (format!("{it}.{when}"), count))),
        );
    }
    let (mut under_way, mut ended) = (JoinSet::new(), BTreeMap::<String, u64>::new());
    while !waiting.is_empty() || !under_way.is_empty() {
        while under_way.len() < TOGETHER
            && let Some((point, count)) = waiting.pop()
        {
            let site = Arc::clone(&site);
            under_way.spawn(async move {
                let has_ended = run_story(site.copy().await, &point, count).await;
                (point, has_ended)
            });
        }
        if let Some(done) = under_way.join_next().await {
            let (point, has_ended) = done.unwrap();
            *ended.entry(point).or_default() += u64::from(has_ended);
        }
    }
    println!("aborts at each fail point: {ended:?}");
    assert!(ended.values().all(|count| *count > 0), "a fail point was never passed: {ended:?}");
}
