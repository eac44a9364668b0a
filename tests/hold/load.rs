//! The load of a busy merchant, as fast as the gateway answers, until the gateway is gone or the
//! load is closed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::body::Body;
use axum::http::{Method, Request};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::harness::client::Client;
use crate::harness::sandbox::btc;
use crate::harness::{Answer, Shop};
use crate::ledger::Ledger;
use crate::random::Random;

/// Prices in dollars that need one confirmation.
const PRICES: &[&str] = &["10.00", "0.75", "999.99", "250.10"];

/// Limit for the sum of the clock jumps. Idempotency keys last 24 hours on the environment's clock,
/// and a missing transaction counts for 14 days.
const ADVANCE_IN_ALL_SECONDS: u64 = 20 * 3_600;

/// The clients of one gateway.
#[derive(Clone)]
pub struct Load {
    client: Client,
    shop_url: String,
    ledger: Ledger,
    /// The allowed `errorType`s of a 503.
    excuses: &'static [&'static str],
    closed: Arc<AtomicBool>,
}

/// The gateway does not answer, or the load is closed.
struct Gone;

impl Load {
    pub fn new(client: &Client, shop: &Shop, ledger: &Ledger) -> Self {
        Self {
            client: client.clone(),
            shop_url: shop.url().to_owned(),
            ledger: ledger.clone(),
            excuses: &[],
            closed: Arc::default(),
        }
    }

    /// Allows 503 with these `errorType`s.
    pub fn excusing(self, excuses: &'static [&'static str]) -> Self {
        Self { excuses, ..self }
    }

    /// Ends the load after all its requests are answered.
    pub async fn close(&self, tasks: JoinSet<()>) {
        self.closed.store(true, Ordering::SeqCst);
        tasks.join_all().await;
    }

    /// Starts all tasks; each ends when the gateway does not answer.
    pub fn start(&self, random: &mut Random) -> JoinSet<()> {
        let mut tasks = JoinSet::new();
        for _ in 0..3 {
            let (load, mut random) = (self.clone(), random.fork());
            tasks.spawn(async move { while load.create(&mut random).await.is_ok() {} });
        }
        for _ in 0..3 {
            let (load, mut random) = (self.clone(), random.fork());
            tasks.spawn(async move { while load.customer_acts(&mut random).await.is_ok() {} });
        }
        let (load, mut miner) = (self.clone(), random.fork());
        tasks.spawn(async move { while load.chain_moves(&mut miner).await.is_ok() {} });
        let (load, mut draws) = (self.clone(), random.fork());
        tasks.spawn(async move { while load.shop_asks(&mut draws).await.is_ok() {} });
        tasks
    }

    async fn create(&self, random: &mut Random) -> Result<(), Gone> {
        tokio::time::sleep(random.pause(8)).await;
        let price = random.pick(PRICES).unwrap();
        let (reference, asked) = self.ledger.ask(price, &self.shop_url, random.chance(50));
        let twice = if asked.key.is_some() && random.chance(20) { 2 } else { 1 };
        for _ in 0..twice {
            let answer = self.send(asked.request(&self.client)).await?;
            if answer.status == 200 {
                self.ledger.answered(&reference, &answer.body);
            } else {
                self.complain_of("creating", &answer);
            }
        }
        Ok(())
    }

    async fn customer_acts(&self, random: &mut Random) -> Result<(), Gone> {
        tokio::time::sleep(random.pause(4)).await;
        let (payments, txids) = {
            let promises = self.ledger.lock();
            (newest(&promises.payments, 30), newest(&promises.txids, 15))
        };
        let changes_mind = random.chance(25);
        if let (true, Some(txid)) = (changes_mind, random.pick(&txids)) {
            let (act, how) = match random.below(4) {
                0 => ("evict", Value::Null),
                1 => ("replace", json!({ "toCustomer": false })),
                2 => (
                    "replace",
                    json!({ "toCustomer": false, "btcAmount": btc(5_000 + random.below(20_000)) }),
                ),
                _ => ("replace", json!({})),
            };
            return self
                .sandbox(Method::POST, &format!("/sandbox/transactions/{txid}/{act}"), &how)
                .await;
        }
        // This call notices a gateway that is gone, even if there is no payment yet.
        let Some(payment) = random.pick(&payments) else {
            return self.sandbox(Method::GET, "/sandbox", &Value::Null).await;
        };
        let how = match random.below(10) {
            0 => json!({ "btcAmount": btc(1_000 + random.below(5_000)) }),
            1 => json!({ "btcAmount": btc(20_000 + random.below(2_000_000)) }),
            2 => json!({ "parts": 2 }),
            3 => json!({ "confirmations": 1 }),
            _ => json!({}),
        };
        self.sandbox(Method::POST, &format!("/sandbox/payments/{payment}/pay"), &how).await
    }

    async fn chain_moves(&self, random: &mut Random) -> Result<(), Gone> {
        tokio::time::sleep(random.pause(30)).await;
        let (path, body) = match random.below(100) {
            0..=9 => ("/sandbox/blocks", json!({ "empty": true })),
            10..=17 => ("/sandbox/reorg", json!({ "depth": 1 + random.below(2) })),
            18..=23 => (
                "/sandbox/reorg",
                json!({ "depth": 1 + random.below(2), "keepTransactions": false }),
            ),
            24..=25 => {
                let seconds = 60 + random.below(2_400);
                let mut promises = self.ledger.lock();
                if promises.advanced_seconds + seconds > ADVANCE_IN_ALL_SECONDS {
                    return Ok(());
                }
                promises.advanced_seconds += seconds;
                ("/sandbox/clock", json!({ "advanceSeconds": seconds }))
            }
            _ => ("/sandbox/blocks", json!({})),
        };
        self.sandbox(Method::POST, path, &body).await
    }

    async fn shop_asks(&self, random: &mut Random) -> Result<(), Gone> {
        tokio::time::sleep(random.pause(10)).await;
        let payments = newest(&self.ledger.lock().payments, 50);
        let Some(payment) = random.pick(&payments) else {
            return self.sandbox(Method::GET, "/sandbox", &Value::Null).await;
        };
        let (method, path) = match random.below(4) {
            0 => (Method::POST, format!("/v2/payments/notify/{payment}")),
            1 => (Method::GET, "/v2/payments/20/0".to_owned()),
            2 => (Method::GET, format!("/v2/anomalies?paymentId={payment}")),
            _ => (Method::GET, format!("/v2/payments/{payment}")),
        };
        let answer =
            self.send(self.client.request(method, &path).body(Body::empty()).unwrap()).await?;
        if answer.status != 200 {
            self.complain_of(&path, &answer);
        }
        Ok(())
    }

    /// A call of the sandbox. A refusal is fine, because the load does not know the sandbox's
    /// state.
    async fn sandbox(&self, method: Method, path: &str, body: &Value) -> Result<(), Gone> {
        let request = match body {
            Value::Null => self.client.request(method, path).body(Body::empty()).unwrap(),
            body => self.client.json_request(method, path, body),
        };
        let answer = self.send(request).await?;
        if answer.status.is_success() {
            let made = answer.json()["btcTxIds"].as_array().cloned().unwrap_or_default();
            let made = made.iter().map(|txid| txid.as_str().unwrap().to_owned());
            self.ledger.lock().txids.extend(made);
        } else if answer.status.is_server_error() {
            self.complain_of(path, &answer);
        }
        Ok(())
    }

    async fn send(&self, request: Request<Body>) -> Result<Answer, Gone> {
        if self.closed.load(Ordering::SeqCst) {
            return Err(Gone);
        }
        self.client.try_send(request).await.ok_or(Gone)
    }

    fn complain_of(&self, what: &str, answer: &Answer) {
        let excused = answer.status == 503
            && answer
                .field_errors(503)
                .iter()
                .all(|(error_type, _)| self.excuses.contains(&error_type.as_str()));
        if !excused {
            self.ledger.complain(format!("{what}: {} {}", answer.status, answer.text()));
        }
    }
}

fn newest(all: &[String], count: usize) -> Vec<String> {
    all[all.len().saturating_sub(count)..].to_vec()
}
