//! Another copy of the wallet at work: a restored backup that goes on while the first is stopped, on the same chain.

use std::collections::BTreeSet;
use std::path::Path;

use axum::http::Method;
use serde_json::json;

use crate::harness::sandbox::btc;
use crate::payout_load::Asked;
use crate::site::Site;
use crate::truth;

/// Blocks on top of its transactions; deeper than any reorganisation of the load.
const BLOCKS_OVER_IT: u32 = 6;

/// The amount of its own payout, to an address that the first copy does not know.
const BESIDES_SATS: u64 = 40_000;

/// Lets a copy of a stopped gateway send the waiting payouts, and gives the resulting chain to the first. Returns the
/// transactions that only the copy made.
pub async fn works_meanwhile(site: &Site, asked: &Asked) -> BTreeSet<String> {
    let mut copy = site.copy().await;
    copy.start();
    copy.client.faults(json!({ "broadcast": "ok", "chainDown": false, "keysLocked": false, "feeRate": null })).await;
    // Transactions with missing parents are accepted again, and confirmed first.
    copy.client.mine(1).await;
    let body = json!({ "btcAmount": btc(BESIDES_SATS), "currency": "USD", "address": asked.address() });
    let request = copy.client.json_request(Method::POST, "/v2/payouts?autoApprove=true", &body);
    // Its coins may not suffice, or yet another copy may already hold it.
    let answer = copy.client.send(request).await;
    assert!(!answer.status.is_server_error(), "{}", answer.text());
    copy.client.advance_clock(2).await;
    copy.client.mine(BLOCKS_OVER_IT).await;
    copy.kill();
    let made = "SELECT txid FROM versions";
    let (by_copy, by_first) = (txids(&copy, made), txids(site, made));
    take_over_the_chain(&copy.program.env_dir(), &site.program.env_dir());
    by_copy.difference(&by_first).cloned().collect()
}

/// The transactions that a gateway attributed to another copy.
pub fn twins(site: &Site) -> BTreeSet<String> {
    txids(site, "SELECT txid FROM twins")
}

fn txids(site: &Site, statement: &str) -> BTreeSet<String> {
    let (database, _copied) = truth::open(&site.program.database());
    let mut query = database.prepare(statement).unwrap();
    let txids = query.query_map([], |row| row.get::<_, Vec<u8>>(0)).unwrap();
    txids.map(|txid| hex::encode(txid.unwrap())).collect()
}

fn take_over_the_chain(from: &Path, to: &Path) {
    for suffix in ["", "-wal", "-shm"] {
        let name = format!("sandbox.db{suffix}");
        let (from, to) = (from.join(&name), to.join(&name));
        if to.exists() {
            std::fs::remove_file(&to).unwrap();
        }
        if from.exists() {
            std::fs::copy(&from, &to).unwrap();
        }
    }
}

/// Releases a sender that holds, as staff do once the other copy is gone; returns whether it held.
pub fn release(site: &Site) -> bool {
    site.program.json(&["payouts", "release", "--force"])["released"] == true
}
