//! The simulated customer, chain and clock, through the sandbox's calls. Sums of Bitcoin are kept
//! in satoshis and written with 8 decimals, so that no test counts in floats.

use axum::http::Method;
use serde_json::{Value, json};

use super::client::Client;

/// A sum with 8 decimals, as a JSON string.
pub fn btc(sats: u64) -> String {
    format!("{}.{:08}", sats / 100_000_000, sats % 100_000_000)
}

/// The satoshis of a sum on the wire, which always has exactly 8 decimals.
pub fn sats(value: &Value) -> i64 {
    let text = value.as_number().unwrap_or_else(|| panic!("no number: {value}")).to_string();
    let (whole, decimals) = text.split_once('.').unwrap_or_else(|| panic!("no decimals: {text}"));
    assert_eq!(decimals.len(), 8, "{text}");
    format!("{whole}{decimals}").parse().unwrap()
}

impl Client {
    /// The customer pays the remainder.
    pub async fn pay(&self, payment_id: &str) -> String {
        self.pay_with(payment_id, json!({})).await.remove(0)
    }

    /// The customer pays this many satoshis.
    pub async fn pay_sats(&self, payment_id: &str, sats: u64) -> String {
        self.pay_with(payment_id, json!({ "btcAmount": btc(sats) })).await.remove(0)
    }

    /// The customer pays with the options in `how`; returns the txids.
    pub async fn pay_with(&self, payment_id: &str, how: Value) -> Vec<String> {
        txids(&self.post(&format!("/sandbox/payments/{payment_id}/pay"), &how).await.ok())
    }

    /// The customer replaces an unconfirmed transaction by one that pays the customer; returns its
    /// txid.
    pub async fn take_back(&self, txid: &str) -> String {
        self.replace(txid, json!({})).await
    }

    /// The customer replaces an unconfirmed transaction with the options in `how`; returns the new
    /// txid.
    pub async fn replace(&self, txid: &str, how: Value) -> String {
        txids(&self.post(&format!("/sandbox/transactions/{txid}/replace"), &how).await.ok())
            .remove(0)
    }

    /// Evicts a transaction from the mempool.
    pub async fn evict(&self, txid: &str) {
        self.post_empty(&format!("/sandbox/transactions/{txid}/evict")).await.ok();
    }

    /// Mines blocks that contain the mempool's transactions.
    pub async fn mine(&self, count: u32) {
        self.post("/sandbox/blocks", &json!({ "count": count })).await.ok();
    }

    /// Mines empty blocks.
    pub async fn mine_empty(&self, count: u32) {
        self.post("/sandbox/blocks", &json!({ "count": count, "empty": true })).await.ok();
    }

    /// Replaces the last blocks; their transactions return to the mempool.
    pub async fn reorg(&self, depth: u32) {
        self.post("/sandbox/reorg", &json!({ "depth": depth })).await.ok();
    }

    /// Replaces the last blocks by blocks in which the customer spends the coins elsewhere.
    pub async fn double_spend_by_reorg(&self, depth: u32) {
        self.post("/sandbox/reorg", &json!({ "depth": depth, "keepTransactions": false }))
            .await
            .ok();
    }

    /// Moves the environment's clock forward.
    pub async fn advance_clock(&self, seconds: u64) {
        self.post("/sandbox/clock", &json!({ "advanceSeconds": seconds })).await.ok();
    }

    /// The customer sends coins to any address.
    pub async fn send_to(&self, address: &str, sats: u64) -> String {
        let body = json!({ "address": address, "btcAmount": btc(sats) });
        txids(&self.post("/sandbox/send", &body).await.ok()).remove(0)
    }

    /// Sets faults of the backend, or ends them.
    pub async fn set_faults(&self, faults: Value) {
        self.send_json(Method::PUT, "/sandbox/faults", &faults).await.ok();
    }

    /// Sets or withdraws rates.
    pub async fn set_rates(&self, rates: Value) {
        self.send_json(Method::PUT, "/sandbox/rates", &rates).await.ok();
    }

    /// Mines blocks that exclude transactions below `min_fee_rate` sat/vB.
    pub async fn mine_above(&self, count: u32, min_fee_rate: &str) {
        self.post("/sandbox/blocks", &json!({ "count": count, "minFeeRate": min_fee_rate }))
            .await
            .ok();
    }

    /// All outputs that pay an address: first those in the chain, then those in the mempool.
    pub async fn outputs_to(&self, address: &str) -> Vec<Value> {
        let answer = self.get(&format!("/sandbox/addresses/{address}")).await.ok();
        answer["outputs"].as_array().unwrap_or_else(|| panic!("no outputs: {answer}")).clone()
    }

    /// The sandbox's clock, mempool, faults and rates.
    pub async fn sandbox_state(&self) -> Value {
        self.get("/sandbox").await.ok()
    }
}

fn txids(answer: &Value) -> Vec<String> {
    let list = answer["btcTxIds"].as_array().unwrap_or_else(|| panic!("no btcTxIds: {answer}"));
    list.iter().map(|txid| txid.as_str().unwrap().to_owned()).collect()
}
