//! Reads a node's mempool: the transaction ids, and the transactions not read yet.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use bitcoin::consensus::encode::deserialize_hex;
use bitcoin::{BlockHash, Transaction, Txid};
use serde_json::json;

use super::blocks::Synced;
use super::results::RawMempool;
use super::rpc::{NOT_FOUND, RawResult, Refused, Rpc, call, typed};
use super::state::{MempoolSnapshot, State};
use crate::checks::conflicts::parents_first;
use crate::checks::errors::tip_changed;
use crate::port::{ChainDown, WatchList};

/// Transactions read for one answer at most. This bounds its time; memory is bounded because
/// transactions that are not ours are dropped.
const READ_MAX: usize = 5_000;

/// Transactions in one request: at 400 kB each, the largest that nodes relay, they fill an answer.
const BATCH: usize = 50;

/// Whether one of the announced transactions is in the mempool, unread, and ours or in conflict with
/// ours. A false notice thus causes no list. Nothing is remembered, so the next list judges each
/// transaction after its parents.
pub fn has_ours(
    rpc: &Rpc,
    state: &State,
    watch: &dyn WatchList,
    announced: BTreeSet<Txid>,
) -> Result<bool, ChainDown> {
    let new = announced.into_iter().filter(|txid| !state.is_settled(txid)).collect();
    let (found, needed) = (transactions(rpc, &in_mempool(rpc, &new)?)?, state.needed());
    let conflicts =
        |tx: &Transaction| tx.input.iter().any(|it| needed.contains_key(&it.previous_output));
    Ok(parents_first(found, |tx| tx).iter().any(|tx| watch.concerns(tx) || conflicts(tx)))
}

/// Lists the mempool, and reads its new transactions. The best block must be that of `synced`.
pub fn list(
    rpc: &Rpc,
    state: &mut State,
    watch: &dyn WatchList,
    synced: &Synced,
) -> Result<MempoolSnapshot, ChainDown> {
    let calls = [call("getrawmempool", json!([false, true])), call("getbestblockhash", json!([]))];
    let mut replies = rpc.batch(&calls)?.into_iter().zip(calls.iter().map(|call| call.method));
    let mut next = || {
        let (reply, method) = replies.next().unwrap_or((Ok(RawResult::nothing()), "a batch"));
        reply.map_err(|refused| refused.down(method))
    };
    let raw: RawMempool = typed("getrawmempool", &next()?)?;
    let best: BlockHash = typed("getbestblockhash", &next()?)?;
    if best != synced.tip.hash {
        return Err(tip_changed());
    }
    let mut txids: HashSet<Txid> = raw.txids.iter().copied().collect();
    let new: Vec<Txid> = raw.txids.into_iter().filter(|txid| !state.knows(txid)).collect();
    for batch in new.get(..READ_MAX).unwrap_or(&new).chunks(BATCH) {
        let found = transactions(rpc, batch)?;
        for txid in batch.iter().filter(|txid| !found.contains_key(*txid)) {
            // It left the mempool meanwhile.
            txids.remove(txid);
        }
        know(state, watch, found);
    }
    if state.others.len() > txids.len() {
        state.others.retain(|txid| txids.contains(txid));
    }
    let more = new.len() > READ_MAX;
    Ok(MempoolSnapshot { txids, number: raw.mempool_sequence, more })
}

/// Tracks our transactions among these, and remembers the ids of the others.
fn know(state: &mut State, watch: &dyn WatchList, found: BTreeMap<Txid, Transaction>) {
    for tx in parents_first(found, |tx| tx) {
        if watch.concerns(&tx) {
            state.track(tx);
        } else {
            state.fresh_others.insert(tx.compute_txid());
        }
    }
}

/// The ids among `txids` that the mempool holds now. `getrawtransaction` cannot decide this: a node
/// with a transaction index also finds mined transactions.
pub fn in_mempool(rpc: &Rpc, txids: &BTreeSet<Txid>) -> Result<Vec<Txid>, ChainDown> {
    let txids: Vec<Txid> = txids.iter().copied().collect();
    let mut there = Vec::new();
    for batch in txids.chunks(BATCH) {
        let calls: Vec<_> =
            batch.iter().map(|txid| call("getmempoolentry", json!([txid]))).collect();
        for (reply, txid) in rpc.batch(&calls)?.into_iter().zip(batch) {
            match reply {
                Ok(_) => there.push(*txid),
                Err(Refused { code: NOT_FOUND, .. }) => {}
                Err(refused) => return Err(refused.down("getmempoolentry")),
            }
        }
    }
    Ok(there)
}

/// The raw transactions with these ids, without those that the node does not find.
pub fn transactions(rpc: &Rpc, txids: &[Txid]) -> Result<BTreeMap<Txid, Transaction>, ChainDown> {
    let mut found = BTreeMap::new();
    for batch in txids.chunks(BATCH) {
        let calls: Vec<_> =
            batch.iter().map(|txid| call("getrawtransaction", json!([txid, 0]))).collect();
        for (reply, txid) in rpc.batch(&calls)?.into_iter().zip(batch) {
            let hex: String = match reply {
                Ok(hex) => typed("getrawtransaction", &hex)?,
                Err(Refused { code: NOT_FOUND, .. }) => continue,
                Err(refused) => return Err(refused.down("getrawtransaction")),
            };
            let tx =
                deserialize_hex::<Transaction>(&hex).ok().filter(|tx| tx.compute_txid() == *txid);
            let tx = tx.ok_or_else(|| {
                ChainDown::of_text(format!(
                    "the node sent another transaction as {txid}; do not trust this node"
                ))
            })?;
            found.insert(*txid, tx);
        }
    }
    Ok(found)
}
