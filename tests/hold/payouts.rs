//! Payouts under power cuts. After any end of the gateway, once blocks are mined, each approved payout was paid exactly
//! once, and no other payout was paid. The records agree with the chain. A payout that staff abandoned, or whose coins
//! customers double-spent, may have FAILED, and was then never paid.
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
use crate::harness::client::text;
use crate::harness::sandbox::{btc, sats};
use crate::kills::{seed, told};
use crate::other_copy;
use crate::payout_load::{Asked, Gone, Load};
use crate::random::Random;
use crate::site::Site;
use crate::truth;

const KILLS: u64 = 10;

/// Kills of one installation before a fresh one replaces it.
const KILLS_OF_ONE: u64 = 25;

/// Installations or stories at the same time.
const TOGETHER: usize = 2;

/// Blocks within which every approved payout is mined.
const BLOCKS_TO_REST: u32 = 40;

/// One kill in this many is followed by the work of another copy, beginning with the second kill.
const COPY_EVERY: u64 = 5;

/// Coins for the waiting payouts, in place of any that customers double-spent.
const COINS_TO_REST: u64 = 8;

/// Passages of a fail point at which the gateway ends.
const PASSAGES: [u64; 3] = [1, 2, 5];

/// A folder with a wallet that holds coins; the gateway does not run.
async fn prepared(batch_seconds: u64) -> Site {
    let mut site = Site::prepare().await;
    site.program.set("batchSeconds", &batch_seconds.to_string());
    site.program.set("dailyLimitBtc", "100000");
    site.start();
    customers_pay(&site, 8).await;
    site.client.mine(3).await;
    site.kill();
    site
}

async fn customers_pay(site: &Site, coins: u64) {
    for coin in 0..coins {
        let payment = site.client.new_payment("10.00", site.shop.url()).await;
        site.client.pay_sats(&text(&payment["paymentId"]), 3_000_000 + coin * 100_000).await;
    }
}

/// Releases a sender that holds. It may hold only because of another copy of the wallet.
fn goes_on(site: &Site, asked: &Asked) {
    let held = other_copy::release(site);
    assert!(!held || !asked.of_other_copies.lock().unwrap().is_empty(), "it held without another copy\n{}", site.log());
}

/// Ends all faults and mines until every approved payout is paid; then checks the chain and the file.
async fn comes_right(site: &Site, asked: &Asked) {
    site.client.faults(json!({ "broadcast": "ok", "chainDown": false, "keysLocked": false, "feeRate": null })).await;
    customers_pay(site, COINS_TO_REST).await;
    site.client.mine(2).await;
    goes_on(site, asked);
    let mut unpaid = Vec::new();
    for _ in 0..BLOCKS_TO_REST {
        site.client.advance_clock(3).await;
        site.client.mine(1).await;
        unpaid = check::items(site, "/v2/payouts?limit=500&offset=").await;
        unpaid.retain(|record| record["status"] == "QUEUED");
        if unpaid.is_empty() && site.client.sandbox().await["mempool"] == json!([]) {
            break;
        }
    }
    assert!(unpaid.is_empty(), "{unpaid:?}\n{}", site.log());
    site.client.mine(7).await;
    payouts_are_paid_once(site, asked).await;
    the_file_says_what_the_chain_says(site, asked);
}

/// Checks the reason of a FAILED payout; panics if no act explains it.
fn may_have_failed(site: &Site, asked: &Asked, record: &Value) {
    let reason = text(&record["failureReason"]);
    let (database, _copied) = truth::open(&site.program.database());
    let mut query = database
        .prepare(
            "SELECT lower(hex(other.id)) FROM payouts AS p JOIN payouts AS other \
             ON other.seq = p.seq OR other.batch_seq = p.batch_seq WHERE lower(hex(p.id)) = ?1",
        )
        .unwrap();
    let sharing = query.query_map([text(&record["payoutId"])], |row| row.get::<_, String>(0)).unwrap();
    let sharing: BTreeSet<String> = sharing.map(Result::unwrap).collect();
    let is_given_up = !asked.given_up.lock().unwrap().is_disjoint(&sharing);
    let has_lost_coins = reason.starts_with("another transaction") && asked.has_lost_coins.load(Ordering::Relaxed);
    assert!((reason.contains("given up") && is_given_up) || has_lost_coins, "{record}\n{}", site.log());
}

async fn payouts_are_paid_once(site: &Site, asked: &Asked) {
    let records = check::items(site, "/v2/payouts?limit=500&offset=").await;
    let by_address: BTreeMap<String, &Value> =
        records.iter().map(|record| (text(&record["address"]), record)).collect();
    assert_eq!(by_address.len(), records.len(), "one request made two payouts");
    let (mut sent_sats, mut paid_sats) = (0, 0);
    let payouts = asked.payouts.lock().unwrap().clone();
    for (address, (amount_sats, was_acknowledged)) in payouts {
        let outputs = site.client.outputs_to(&address).await;
        let status = by_address.get(&address).map(|record| text(&record["status"])).unwrap_or_default();
        let (is_sent, has_failed) = (status == "SENT", status == "FAILED");
        if has_failed {
            may_have_failed(site, asked, by_address[&address]);
        }
        assert!(is_sent || has_failed || !was_acknowledged, "an acknowledged approval is {status}: {address}");
        assert!(
            is_sent || has_failed || ["", "NEW", "EXPIRED"].contains(&status.as_str()),
            "{:?}",
            by_address[&address]
        );
        assert_eq!(outputs.len(), usize::from(is_sent), "{address} ({status}): {outputs:?}\n{}", site.log());
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

fn the_file_says_what_the_chain_says(site: &Site, asked: &Asked) {
    check::the_file_is_whole(&check::folder(site));
    let (database, _copied) = truth::open(&check::folder(site).join("tillgate.db"));
    let one = |sql: &str| database.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
    let booked = one("SELECT ifnull(sum(sats), 0) FROM ledger");
    let held = one("SELECT ifnull(sum(amount_sats), 0) FROM coins WHERE position = 'block' AND spent_by IS NULL");
    assert_eq!(booked, held, "the ledger and the coins\n{}", site.log());
    let locked = one("SELECT count(*) FROM coins AS c JOIN batch_inputs AS i ON i.txid = c.txid AND i.vout = c.vout \
                      WHERE i.live = 1 AND c.position = 'block' AND c.spent_by IS NULL");
    assert_eq!(locked, 0, "coins are locked for good");
    let twins = other_copy::twins(site);
    let of_others = asked.of_other_copies.lock().unwrap();
    assert!(twins.is_subset(&of_others), "a transaction of ours was taken for another copy's: {twins:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_at_random_moments_each_approved_payout_is_paid_once() {
    let kills = told("TILLGATE_HOLD_PAYOUT_KILLS").unwrap_or(KILLS);
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
        let load = Load { client: site.client.clone(), asked: asked.clone() }.start(&site, &mut random);
        tokio::time::sleep(Duration::from_millis(5) + random.pause(500)).await;
        site.kill();
        load.join_all().await;
        while random.chance(25) {
            site.kill_while_starting(random.pause(400)).await;
        }
        if kill % COPY_EVERY == 2 {
            let made = other_copy::works_meanwhile(&site, &asked).await;
            asked.of_other_copies.lock().unwrap().extend(made);
        }
        site.start();
        customers_pay(&site, 1).await;
        goes_on(&site, &asked);
        if kill % 8 == 0 || kill == kills {
            comes_right(&site, &asked).await;
        }
    }
    let payouts = asked.payouts.lock().unwrap();
    let approved = payouts.values().filter(|(_, approved)| *approved).count();
    let (database, _copied) = truth::open(&site.program.database());
    let count = |of: &str| database.query_row(&format!("SELECT count(*) FROM {of}"), [], |row| row.get::<_, u64>(0));
    println!(
        "installation {number}: {kills} kills, {} payouts asked for, {approved} approvals acknowledged, {} FAILED, {} \
         transactions of other copies",
        payouts.len(),
        count("payouts WHERE state = 'FAILED'").unwrap(),
        count("twins").unwrap()
    );
}

/// One story on one installation, in which the gateway ends itself once.
struct Story {
    site: Site,
    asked: Asked,
    has_ended: bool,
}

impl Story {
    async fn revive(&mut self) {
        let log = self.site.log();
        let status = self.site.ended().await;
        assert!(status.signal() == Some(Signal::ABORT.as_raw()) && !self.has_ended, "it ended ({status}):\n{log}");
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
                self.revive().await;
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

    async fn passes(&mut self) {
        self.call(Method::POST, "/sandbox/clock", json!({ "advanceSeconds": 2 })).await;
    }

    /// Tells the whole story of payouts, which passes each fail point several times.
    async fn tell(&mut self) {
        self.pay_out(20_000, false).await;
        let first = self.pay_out(150_000, true).await;
        self.passes().await;
        if let Some(id) = first {
            // The gateway may end meanwhile, and the command with it.
            drop(self.site.program.output(&["payouts", "bump", &id, "--fee-rate", "20", "--json"]));
            if self.site.has_ended() {
                self.revive().await;
            }
        }
        if let Some(id) = self.pay_out(80_000, true).await {
            self.passes().await;
            self.asked.given_up.lock().unwrap().insert(id.clone());
            drop(self.site.program.output(&["payouts", "abandon", &id, "--all", "--json"]));
            if self.site.has_ended() {
                self.revive().await;
            }
        }
        for fault in ["reject", "timeout", "forget", "ok"] {
            self.call(Method::PUT, "/sandbox/faults", json!({ "broadcast": fault })).await;
            self.pay_out(60_000, true).await;
            self.passes().await;
        }
        self.call(Method::POST, "/sandbox/blocks", json!({})).await;
        self.call(Method::POST, "/sandbox/reorg", json!({ "depth": 2 })).await;
        self.pay_out(70_000, true).await;
        self.passes().await;
        self.call(Method::POST, "/sandbox/blocks", json!({ "count": 2 })).await;
    }
}

async fn told_with(mut site: Site, point: &str, count: u64) -> bool {
    let armed = |command: &mut Command| {
        command.env("TILLGATE_FAIL_POINT", format!("{point}:{count}"));
    };
    let mut has_ended = false;
    if site.start_with(armed).is_err() {
        has_ended = true;
        site.start();
    }
    let mut story = Story { site, asked: Asked::default(), has_ended };
    story.tell().await;
    if story.site.has_ended() {
        story.revive().await;
    }
    // From here on it runs without the fail point.
    story.site.kill();
    story.site.start();
    comes_right(&story.site, &story.asked).await;
    story.has_ended
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ended_at_each_point_each_approved_payout_is_paid_once() {
    let site = Arc::new(prepared(0).await);
    let points = ["choose", "sign", "commit", "broadcast", "view", "send", "sandbox"];
    let mut waiting: Vec<(String, u64)> = Vec::new();
    for count in PASSAGES {
        waiting.extend(points.iter().flat_map(|it| ["before", "after"].map(|when| (format!("{it}.{when}"), count))));
    }
    let (mut under_way, mut ended) = (JoinSet::new(), BTreeMap::<String, u64>::new());
    while !waiting.is_empty() || !under_way.is_empty() {
        while under_way.len() < TOGETHER
            && let Some((point, count)) = waiting.pop()
        {
            let site = Arc::clone(&site);
            under_way.spawn(async move {
                let has_ended = told_with(site.copy().await, &point, count).await;
                (point, has_ended)
            });
        }
        if let Some(done) = under_way.join_next().await {
            let (point, has_ended) = done.unwrap();
            *ended.entry(point).or_default() += u64::from(has_ended);
        }
    }
    println!("ended at {ended:?}");
    assert!(ended.values().all(|count| *count > 0), "a point was never passed: {ended:?}");
}
