//! The mempool as a node tells it: which transactions are in it, and those that were not read yet.

use std::collections::{BTreeMap, HashSet};

use bitcoin::consensus::encode::deserialize_hex;
use bitcoin::{Transaction, Txid};
use serde_json::{Value, json};

use super::blocks::Synced;
use super::read::RawMempool;
use super::rpc::{Refused, Rpc, call, typed};
use super::state::{State, parents_first};
use crate::chain::{ChainDown, WatchList};

/// Transactions read for one answer at most; bounds its time, not its memory: what is not ours is forgotten.
const READ_MAX: usize = 5_000;

/// Transactions in one request: at the largest that nodes relay, 400 kB each, they fill an answer.
const BATCH: usize = 50;

/// Core's code for what it does not have.
const NOT_FOUND: i64 = -5;

/// The mempool at one moment.
pub(super) struct Pool {
    pub txids: HashSet<Txid>,
    /// Core's number of that moment.
    pub number: u64,
    /// Not all of it was read yet.
    pub more: bool,
}

/// Reads what is new, as of a moment at which the best block is that of `synced`.
pub(super) fn read(rpc: &Rpc, state: &mut State, watch: &dyn WatchList, synced: &Synced) -> Result<Pool, ChainDown> {
    let calls = [call("getrawmempool", json!([false, true])), call("getbestblockhash", json!([]))];
    let mut replies = rpc.batch(&calls)?.into_iter().zip(calls.iter().map(|call| call.method));
    let mut next = || {
        let (reply, method) = replies.next().unwrap_or((Ok(Value::Null), "a batch"));
        reply.map_err(|refused| refused.down(method))
    };
    let raw: RawMempool = typed("getrawmempool", next()?)?;
    let best: bitcoin::BlockHash = typed("getbestblockhash", next()?)?;
    if best != synced.tip.hash {
        return Err(tip_changed());
    }
    let mut txids: HashSet<Txid> = raw.txids.iter().copied().collect();
    let new: Vec<Txid> = raw.txids.into_iter().filter(|txid| !state.knows(txid)).collect();
    for batch in new.get(..READ_MAX).unwrap_or(&new).chunks(BATCH) {
        let found = transactions(rpc, batch)?;
        for txid in batch.iter().filter(|txid| !found.contains_key(*txid)) {
            // It left in between.
            txids.remove(txid);
        }
        for tx in parents_first(found, |tx| tx) {
            if watch.concerns(&tx) {
                state.track(tx);
            } else {
                state.fresh_strangers.insert(tx.compute_txid());
            }
        }
    }
    if state.strangers.len() > txids.len() {
        state.strangers.retain(|txid| txids.contains(txid));
    }
    Ok(Pool { txids, number: raw.mempool_sequence, more: new.len() > READ_MAX })
}

/// Those of these transactions that the mempool holds.
pub(super) fn transactions(rpc: &Rpc, txids: &[Txid]) -> Result<BTreeMap<Txid, Transaction>, ChainDown> {
    let mut found = BTreeMap::new();
    for batch in txids.chunks(BATCH) {
        let calls: Vec<_> = batch.iter().map(|txid| call("getrawtransaction", json!([txid, 0]))).collect();
        for (reply, txid) in rpc.batch(&calls)?.into_iter().zip(batch) {
            let hex: String = match reply {
                Ok(hex) => typed("getrawtransaction", hex)?,
                Err(Refused { code: NOT_FOUND, .. }) => continue,
                Err(refused) => return Err(refused.down("getrawtransaction")),
            };
            let tx = deserialize_hex::<Transaction>(&hex).ok().filter(|tx| tx.compute_txid() == *txid);
            let tx = tx.ok_or_else(|| {
                ChainDown(format!("what the node tells as transaction {txid} is another; do not trust this node"))
            })?;
            found.insert(*txid, tx);
        }
    }
    Ok(found)
}

/// The best block is not the one any more at which the look began.
pub(in crate::chain) fn tip_changed() -> ChainDown {
    ChainDown("the best block changed while it was looked at; the next look makes up for it".to_owned())
}
