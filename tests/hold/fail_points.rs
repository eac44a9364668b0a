//! The program aborts at each fail point: when it passes the point for the first time, for the
//! second time, and so on. After each restart the same checks must pass as after a kill at a random
//! moment.
//!
//! If `TILLGATE_HOLD_KILLS` is 2,000 or more, every passage is tried; else only the first ones and
//! some of the rest.

use std::os::unix::process::ExitStatusExt as _;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{Method, Request};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::check;
use crate::expected_records;
use crate::harness::client::{Client, text};
use crate::harness::sandbox::{btc, sats};
use crate::harness::{Answer, Program};
use crate::installation::{Ended, Installation};
use crate::kills::env_number;
use crate::ledger::Ledger;
use crate::random::Random;

/// Value of `TILLGATE_HOLD_KILLS` from which on every passage is tried.
const ALL_FROM: u64 = 2_000;

/// Passages that are always tried.
const FIRST_ONES: u64 = 4;

/// Of the later passages, one in this many is tried.
const ONE_IN: u64 = 7;

/// Stories that run at the same time.
const TOGETHER: usize = 2;

fn every_passage() -> bool {
    env_number("TILLGATE_HOLD_KILLS").is_some_and(|kills| kills >= ALL_FROM)
}

/// The passages to try, in order and without end.
fn passages() -> impl Iterator<Item = u64> {
    let every = every_passage();
    (1..).filter(move |count| every || *count <= FIRST_ONES || count % ONE_IN == 0)
}

/// Makes a command abort when it passes a fail point for the `count`-th time.
pub fn arm(command: &mut Command, point: &str, count: u64) {
    command.env("TILLGATE_FAIL_POINT", format!("{point}:{count}"));
}

/// Whether the program aborted at a fail point.
pub fn ended_itself(status: std::process::ExitStatus) -> bool {
    status.signal() == Some(Signal::ABORT.as_raw())
}

/// One sequence of payments on one installation, in which the gateway aborts once at a fail point.
struct Story {
    site: Installation,
    ledger: Ledger,
    has_ended: bool,
}

impl Story {
    /// Checks that the gateway aborted at the fail point, and starts it without the fail point.
    async fn restart_after_abort(&mut self) {
        let log = self.site.log();
        let status = self.site.ended().await;
        assert!(ended_itself(status) && !self.has_ended, "the gateway ended ({status}):\n{log}");
        self.has_ended = true;
        self.site.start();
    }

    /// Sends a request until it is answered.
    async fn send(&mut self, request: impl Fn(&Client) -> Request<Body>) -> Answer {
        loop {
            match self.site.client.try_send(request(&self.site.client)).await {
                Some(answer) => return answer,
                None => self.restart_after_abort().await,
            }
        }
    }

    async fn call(&mut self, path: &str, body: Value) -> Answer {
        let answer = self.send(|client| client.json_request(Method::POST, path, &body)).await;
        assert!(!answer.status.is_server_error(), "{path}: {}", answer.text());
        if let Some(txids) = answer
            .status
            .is_success()
            .then(|| answer.json()["btcTxIds"].as_array().cloned())
            .flatten()
        {
            self.ledger.lock().txids.extend(txids.iter().map(text));
        }
        answer
    }

    async fn get(&mut self, path: &str) -> Value {
        self.send(|client| client.request(Method::GET, path).body(Body::empty()).unwrap())
            .await
            .ok()
    }

    async fn create(&mut self) -> Value {
        let (reference, asked) = self.ledger.ask("10.00", self.site.shop.url(), true);
        let answer = self.send(|client| asked.request(client)).await;
        let payment = answer.ok();
        self.ledger.answered(&reference, &answer.body);
        payment
    }

    /// The first counting transaction of a payment, if there is one.
    async fn transaction_of(&mut self, payment: &str) -> Option<String> {
        let record = self.get(&format!("/v2/payments/{payment}")).await;
        record["btcTransactions"].get(0).map(|tx| text(&tx["btcTxId"]))
    }

    async fn pay(&mut self, payment: &str, how: Value) {
        self.call(&format!("/sandbox/payments/{payment}/pay"), how).await;
    }

    async fn mine(&mut self, count: u32) {
        self.call("/sandbox/blocks", json!({ "count": count })).await;
    }

    /// Runs the whole sequence, which passes each fail point many times.
    async fn run(&mut self) {
        let first = self.create().await;
        let (one, half) =
            (text(&first["paymentId"]), u64::try_from(sats(&first["amount"])).unwrap() / 2);
        let two = text(&self.create().await["paymentId"]);
        let unpaid = text(&self.create().await["paymentId"]);
        self.pay(&one, json!({})).await;
        self.mine(1).await;
        self.pay(&two, json!({ "btcAmount": btc(half) })).await;
        if let Some(txid) = self.transaction_of(&two).await {
            self.call(&format!("/sandbox/transactions/{txid}/replace"), json!({})).await;
        }
        self.pay(&two, json!({})).await;
        if let Some(txid) = self.transaction_of(&two).await {
            self.send(|client| {
                let path = format!("/sandbox/transactions/{txid}/evict");
                client.request(Method::POST, &path).body(Body::empty()).unwrap()
            })
            .await;
        }
        self.call("/sandbox/blocks", json!({ "empty": true })).await;
        self.mine(1).await;
        self.pay(&one, json!({ "btcAmount": btc(50_000) })).await;
        self.mine(2).await;
        self.call("/sandbox/reorg", json!({ "depth": 2 })).await;
        self.mine(2).await;
        self.call("/sandbox/clock", json!({ "advanceSeconds": 1_900 })).await;
        self.pay(&unpaid, json!({ "btcAmount": btc(half) })).await;
        self.mine(2).await;
        self.send(|client| {
            let path = format!("/v2/payments/notify/{one}");
            client.request(Method::POST, &path).body(Body::empty()).unwrap()
        })
        .await;
        self.settle().await;
    }

    /// Waits until all notifications are delivered, and restarts the gateway if it aborts.
    async fn settle(&mut self) {
        for _ in 0..400 {
            if self.site.has_ended() {
                self.restart_after_abort().await;
            }
            if waiting(&self.site) == 0 {
                return;
            }
            tokio::time::sleep(Duration::from_millis(25)).await;
        }
        panic!("notifications still wait:\n{}", self.site.log());
    }
}

/// Number of notifications that still wait for delivery.
pub fn waiting(site: &Installation) -> u32 {
    let (database, _copied) = expected_records::open(&check::folder(site).join("tillgate.db"));
    database
        .query_row("SELECT count(*) FROM notifications WHERE state = 'WAITING'", [], |row| {
            row.get(0)
        })
        .unwrap()
}

/// Runs the story on `site`; returns whether the fail point was passed `count` times.
async fn run_story(mut site: Installation, point: &str, count: u64) -> bool {
    let mut has_ended = false;
    if let Err(ended) = site.start_with(|command| arm(command, point, count)) {
        assert!(ended_itself(ended.status), "{}", ended.log);
        has_ended = true;
        site.start();
    }
    let mut story = Story { site, ledger: Ledger::default(), has_ended };
    story.run().await;
    if story.has_ended {
        let folder = check::folder(&story.site);
        check::everything(&story.site, &story.ledger, &folder, &mut Random::seeded(count)).await;
    }
    story.has_ended
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn aborts_at_each_fail_point_lose_nothing() {
    let site = Arc::new(Installation::prepare().await);
    let mut waiting: Vec<&'static str> = vec![
        "sandbox.after",
        "sandbox.before",
        "broadcast.after",
        "broadcast.before",
        "view.after",
        "view.before",
        "send.after",
        "send.before",
        "commit.after",
        "commit.before",
    ];
    let mut under_way = tokio::task::JoinSet::new();
    while !waiting.is_empty() || !under_way.is_empty() {
        while under_way.len() < TOGETHER
            && let Some(point) = waiting.pop()
        {
            let site = Arc::clone(&site);
            under_way.spawn(async move {
                let mut tried = 0;
                for count in passages() {
                    if !run_story(site.copy().await, point, count).await {
                        break;
                    }
                    tried += 1;
                }
                assert!(tried > 0, "{point} is never passed");
                println!("{point}: aborted at {tried} passages");
            });
        }
        if let Some(ended) = under_way.join_next().await {
            ended.unwrap();
        }
    }
}

/// Repeats a command until it succeeds. Each repetition aborts one passage later than the one
/// before.
fn repeat_until_done(program: &Program, point: &str, args: &[&str]) -> Value {
    for count in 1.. {
        let mut command = program.command(&[args, &["--json"]].concat());
        arm(&mut command, point, count);
        let output = command.output().unwrap();
        if output.status.success() {
            return serde_json::from_slice(&output.stdout).unwrap();
        }
        let log = String::from_utf8_lossy(&output.stderr);
        // The aborted command had committed, so the name belongs to a key whose secret was never
        // shown.
        if log.contains("already") {
            return program.json(&["keys", "create", "another", "--permissions", "full"]);
        }
        assert!(ended_itself(output.status), "{args:?}: {} {log}", output.status);
    }
    unreachable!("a command passes a fail point a bounded number of times")
}

#[tokio::test(flavor = "multi_thread")]
async fn an_aborted_first_start_is_completed_by_the_next() {
    for point in ["commit.before", "commit.after"] {
        let program = Program::new();
        repeat_until_done(&program, point, &["settings", "set", "tolerancePerMille", "0"]);
        let made = repeat_until_done(
            &program,
            point,
            &["keys", "create", "shop", "--permissions", "full"],
        );
        let name = made["name"].as_str().unwrap().to_owned();
        let key = crate::harness::client::Credentials { name, secret: text(&made["secret"]) };
        let mut site = Installation::with(program, key).await;
        let mut count = 1;
        // A start commits a few times. A start that becomes ready has made all its commits.
        while let Err(Ended { status, log }) = site.start_with(|command| arm(command, point, count))
        {
            assert!(ended_itself(status), "{status}: {log}");
            count += 1;
        }
        site.kill();
        site.start();
        let mut story = Story { site, ledger: Ledger::default(), has_ended: false };
        story.run().await;
        let folder = check::folder(&story.site);
        check::everything(&story.site, &story.ledger, &folder, &mut Random::seeded(1)).await;
    }
}
