//! The load of a merchant with payouts, as fast as the gateway answers, until the gateway is gone.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use axum::body::Body;
use axum::http::{Method, Request};
use bitcoin::hashes::Hash as _;
use bitcoin::{Address, Network, ScriptBuf, WPubkeyHash};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::harness::Answer;
use crate::harness::client::{Client, text};
use crate::harness::sandbox::btc;
use crate::installation::Installation;
use crate::random::Random;

/// Bumps on the command line between two kills.
const BUMPS: usize = 2;

/// Payouts that staff abandon on the command line between two kills.
const GIVEN_UP: usize = 2;

/// Share of the reorgs that double-spend customers' coins, in per cent.
const DOUBLE_SPENT: u64 = 35;

/// The requests of a load and its effects.
#[derive(Clone, Default)]
pub struct Asked {
    /// By address: the amount in satoshis, and whether an approval was acknowledged.
    pub payouts: Arc<Mutex<BTreeMap<String, (u64, bool)>>>,
    /// Ids of acknowledged payouts, with their addresses.
    ids: Arc<Mutex<Vec<(String, String)>>>,
    /// Ids of payouts that staff tried to abandon.
    pub given_up: Arc<Mutex<BTreeSet<String>>>,
    /// Whether customers double-spent confirmed coins; payouts that spend such coins fail.
    pub has_lost_coins: Arc<AtomicBool>,
    /// Txids of the transactions that other copies of the wallet made.
    pub of_other_copies: Arc<Mutex<BTreeSet<String>>>,
    numbers: Arc<AtomicU64>,
}

/// The gateway no longer answers.
pub struct Gone;

/// The clients of one gateway.
#[derive(Clone)]
pub struct Load {
    pub client: Client,
    pub asked: Asked,
}

impl Asked {
    /// A new address, used for one payout only.
    pub fn address(&self) -> String {
        let mut hash = [7; 20];
        hash[..8].copy_from_slice(&self.numbers.fetch_add(1, Ordering::Relaxed).to_be_bytes());
        let script = ScriptBuf::new_p2wpkh(&WPubkeyHash::from_byte_array(hash));
        Address::from_script(&script, Network::Regtest).unwrap().to_string()
    }

    pub fn approved(&self, address: &str) {
        self.payouts.lock().unwrap().get_mut(address).unwrap().1 = true;
    }
}

impl Load {
    pub async fn send(&self, method: Method, path: &str, body: &Value) -> Result<Answer, Gone> {
        let request: Request<Body> = match body {
            Value::Null => self.client.request(method, path).body(Body::empty()).unwrap(),
            body => self.client.json_request(method, path, body),
        };
        let answer = self.client.try_send(request).await.ok_or(Gone)?;
        assert_ne!(answer.status, 500, "{path}: {}", answer.text());
        Ok(answer)
    }

    /// Requests a payout, and approves it in the same request, in a second one, or never.
    async fn pay_out(&self, random: &mut Random) -> Result<(), Gone> {
        tokio::time::sleep(random.pause(25)).await;
        let (address, amount_sats) = (self.asked.address(), 10_000 + random.below(150_000));
        self.asked.payouts.lock().unwrap().insert(address.clone(), (amount_sats, false));
        let how = random.below(10);
        let path = if how < 5 { "/v2/payouts?autoApprove=true" } else { "/v2/payouts" };
        let body = json!({ "btcAmount": btc(amount_sats), "currency": "USD", "address": address });
        let answer = self.send(Method::POST, path, &body).await?;
        if answer.status != 200 {
            return Ok(());
        }
        let id = text(&answer.json()["payoutId"]);
        self.asked.ids.lock().unwrap().push((id.clone(), address.clone()));
        if how < 5 {
            self.asked.approved(&address);
        } else if how < 8 {
            let answer =
                self.send(Method::POST, "/v2/payouts/approve", &json!({ "payoutId": id })).await?;
            if answer.status == 200 {
                self.asked.approved(&address);
            }
        }
        Ok(())
    }

    /// Changes the chain: blocks, reorgs, evictions and faults of broadcasts.
    async fn chain_moves(&self, random: &mut Random) -> Result<(), Gone> {
        tokio::time::sleep(random.pause(30)).await;
        let (path, body) = match random.below(100) {
            0..=9 => ("/sandbox/blocks", json!({ "empty": true })),
            10..=15 => ("/sandbox/blocks", json!({ "minFeeRate": 5 })),
            16..=27 => return self.reorganise(random).await,
            28..=33 => ("/sandbox/clock", json!({ "advanceSeconds": 1 + random.below(3) })),
            34..=55 => {
                let fault = *random.pick(&["ok", "ok", "reject", "timeout", "forget"]).unwrap();
                return self
                    .send(Method::PUT, "/sandbox/faults", &json!({ "broadcast": fault }))
                    .await
                    .map(drop);
            }
            56..=70 => return self.evict(random).await,
            _ => ("/sandbox/blocks", json!({})),
        };
        self.send(Method::POST, path, &body).await.map(drop)
    }

    async fn reorganise(&self, random: &mut Random) -> Result<(), Gone> {
        let keeps = !random.chance(DOUBLE_SPENT);
        self.asked.has_lost_coins.fetch_or(!keeps, Ordering::Relaxed);
        let body = json!({ "depth": 1 + random.below(4), "keepTransactions": keeps });
        self.send(Method::POST, "/sandbox/reorg", &body).await.map(drop)
    }

    /// Evicts the transaction of a payout.
    async fn evict(&self, random: &mut Random) -> Result<(), Gone> {
        let page = self.send(Method::GET, "/v2/payouts?limit=20", &Value::Null).await?.json();
        let records = page["items"].as_array().cloned().unwrap_or_default();
        let txids: Vec<String> =
            records.iter().filter_map(|it| it["btcTxId"].as_str().map(str::to_owned)).collect();
        match random.pick(&txids) {
            Some(txid) => {
                let path = format!("/sandbox/transactions/{txid}/evict");
                self.send(Method::POST, &path, &Value::Null).await.map(drop)
            }
            None => Ok(()),
        }
    }

    /// The id of one of the `count` newest payouts.
    async fn one_of_the_newest(&self, count: usize, random: &mut Random) -> Option<String> {
        tokio::time::sleep(random.pause(250)).await;
        let ids = self.asked.ids.lock().unwrap().clone();
        random.pick(&ids[ids.len().saturating_sub(count)..]).map(|(id, _)| id.clone())
    }

    /// Staff bumps a payout on the command line. The command opens the database itself if no
    /// gateway runs.
    async fn bump(&self, mut command: Command, random: &mut Random) {
        let Some(id) = self.one_of_the_newest(12, random).await else { return };
        command.arg(id);
        if random.chance(60) {
            command.arg("--fee-rate").arg((3 + random.below(60)).to_string());
        }
        run_to_end(command).await;
    }

    /// Staff abandons a payout, usually with all payouts that share its transaction.
    async fn give_up(&self, mut command: Command, random: &mut Random) {
        // Older payouts are confirmed, and can no longer be abandoned.
        let Some(id) = self.one_of_the_newest(3, random).await else { return };
        self.asked.given_up.lock().unwrap().insert(id.clone());
        command.arg(id);
        if random.chance(80) {
            command.arg("--all");
        }
        run_to_end(command).await;
    }

    /// Starts all tasks. Requests are repeated until the gateway does not answer; each command of
    /// staff runs once.
    pub fn start(&self, site: &Installation, random: &mut Random) -> JoinSet<()> {
        let mut tasks = JoinSet::new();
        for _ in 0..2 {
            let (load, mut draws) = (self.clone(), random.fork());
            tasks.spawn(async move { while load.pay_out(&mut draws).await.is_ok() {} });
        }
        let (load, mut draws) = (self.clone(), random.fork());
        tasks.spawn(async move { while load.chain_moves(&mut draws).await.is_ok() {} });
        for _ in 0..BUMPS {
            let (load, mut draws) = (self.clone(), random.fork());
            let command = site.program.command(&["payouts", "bump", "--json"]);
            tasks.spawn(async move { load.bump(command, &mut draws).await });
        }
        for _ in 0..GIVEN_UP {
            let (load, mut draws) = (self.clone(), random.fork());
            let command = site.program.command(&["payouts", "abandon", "--json"]);
            tasks.spawn(async move { load.give_up(command, &mut draws).await });
        }
        tasks
    }
}

/// Runs a command, which may fail but must not be wrong usage.
async fn run_to_end(mut command: Command) {
    let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
    assert!(
        output.status.code().is_some_and(|code| code < 2),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}
