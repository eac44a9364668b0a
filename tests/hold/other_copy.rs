//! Another copy of the wallet: it runs on the same chain while the first installation is stopped.

use std::collections::BTreeSet;
use std::path::Path;

use axum::http::Method;
use serde_json::json;

use crate::expected_records;
use crate::harness::sandbox::btc;
use crate::installation::Installation;
use crate::payout_load::Asked;

/// Blocks that the copy mines over its transactions; more than the depth of any reorg of the load.
const BLOCKS_OVER_IT: u32 = 6;

/// The amount of the copy's own payout, whose address the first installation does not know.
const BESIDES_SATS: u64 = 40_000;

/// Lets a copy of a stopped installation send the waiting payouts, and gives its chain to the first
/// installation. Returns the txids of the transactions that only the copy made.
pub async fn let_copy_work(site: &Installation, asked: &Asked) -> BTreeSet<String> {
    let mut copy = site.copy().await;
    copy.start();
    copy.client
        .set_faults(
            json!({ "broadcast": "ok", "chainDown": false, "keysLocked": false, "feeRate": null }),
        )
        .await;
    // The mempool accepts transactions with missing parents again; this block confirms them first.
    copy.client.mine(1).await;
    let body =
        json!({ "btcAmount": btc(BESIDES_SATS), "currency": "USD", "address": asked.address() });
    let request = copy.client.json_request(Method::POST, "/v2/payouts?autoApprove=true", &body);
    // The copy's coins may not suffice, or its sender may hold because of an earlier copy.
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

/// The txids that a gateway attributed to another copy.
pub fn twins(site: &Installation) -> BTreeSet<String> {
    txids(site, "SELECT txid FROM twins")
}

fn txids(site: &Installation, statement: &str) -> BTreeSet<String> {
    let (database, _copied) = expected_records::open(&site.program.database());
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

/// Releases the sender, as staff do once the other copy is stopped; returns whether the sender
/// held.
pub fn release(site: &Installation) -> bool {
    site.program.json(&["payouts", "release", "--force"])["released"] == true
}
