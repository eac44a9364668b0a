//! Reads a node's mempool: the transaction ids, and the transactions not read yet.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::time::Duration;

use bitcoin::consensus::encode::deserialize_hex;
use bitcoin::{BlockHash, Transaction, Txid};
use serde_json::json;
use tokio::time::Instant;

use super::blocks::Synced;
use super::notices::Notices;
use super::notices::log::{Change, Listed};
use super::results::RawMempool;
use super::rpc::{RawResult, Refused, Rpc, call, typed};
use super::state::State;
use super::state::{Listing, MempoolSnapshot};
use crate::checks::conflicts::parents_first;
use crate::checks::errors::tip_changed;
use crate::port::{ChainDown, WatchList};

/// Transactions read for one answer at most. This bounds its time; memory is bounded because
/// transactions that are not ours are dropped.
const READ_MAX: usize = 5_000;

/// Transactions in one request: at 400 kB each, the largest that nodes relay, they fill an answer.
const BATCH: usize = 50;

/// Core's code for a missing transaction.
const NOT_FOUND: i64 = -5;

/// The shortest time between two lists when a notice is missing. Without it, false notices could
/// cause twenty lists of a full mempool a second.
const LISTED_AGAIN_AFTER: Duration = Duration::from_millis(200);

/// This many announced transactions, all missing at the node, are no accident: another node sends
/// the notices.
const UNFOUND_MAX: usize = 20;

/// Reads the new transactions from the whole list, or from the notices since the last list. The
/// best block must be that of `synced`.
pub fn read(
    rpc: &Rpc,
    state: &mut State,
    watch: &dyn WatchList,
    synced: &Synced,
    notices: Option<&Notices>,
) -> Result<MempoolSnapshot, ChainDown> {
    let Some(notices) = notices else { return list(rpc, state, watch, synced) };
    let before = state.pool.take().and_then(|pool| Some((pool.listing?, pool)));
    let before = match before {
        Some((listing, pool))
            if listing.tip == synced.tip.hash && listing.at.elapsed() < notices.listed_every() =>
        {
            let changes = notices.since(&listing.mark, pool.number);
            if changes.is_some() || listing.at.elapsed() < LISTED_AGAIN_AFTER {
                return follow(rpc, state, watch, pool, &changes.unwrap_or_default(), notices);
            }
            Some((listing, pool))
        }
        before => before,
    };
    let (at, mark) = (Instant::now(), notices.mark());
    let pool = list(rpc, state, watch, synced)?;
    notices.compare(&Listed {
        mark,
        number: pool.number,
        before: before.as_ref().map(|(listing, before)| (listing.mark, before.number)),
        is_same_tip: before.as_ref().is_some_and(|(listing, _)| listing.tip == synced.tip.hash),
    });
    if before.is_some_and(|(listing, before)| {
        listing.tip == synced.tip.hash && before.differs_from(&pool)
    }) {
        notices.distrust();
    }
    Ok(MempoolSnapshot { listing: Some(Listing { at, tip: synced.tip.hash, mark }), ..pool })
}

fn list(
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
    Ok(MempoolSnapshot { txids, number: raw.mempool_sequence, more, is_fresh: true, listing: None })
}

/// Updates the last list with notices. RPC confirms that a transaction entered, and that one of
/// ours left.
fn follow(
    rpc: &Rpc,
    state: &mut State,
    watch: &dyn WatchList,
    mut pool: MempoolSnapshot,
    changes: &[Change],
    notices: &Notices,
) -> Result<MempoolSnapshot, ChainDown> {
    pool.is_fresh = false;
    let mut entered = BTreeSet::new();
    for change in changes {
        pool.number = pool.number.saturating_add(1);
        match change {
            Change::Entered(txid) => {
                entered.insert(*txid);
            }
            Change::Left(txid) => {
                entered.remove(txid);
                match state.tracked.get_mut(txid) {
                    Some(tracked) => tracked.entry = None,
                    None => {
                        pool.txids.remove(txid);
                    }
                }
            }
        }
    }
    entered.retain(|txid| !pool.txids.contains(txid));
    let there = in_mempool(rpc, &entered)?;
    if there.is_empty() && entered.len() >= UNFOUND_MAX {
        notices.distrust();
    }
    pool.txids.extend(there.iter());
    let new: Vec<Txid> = there.into_iter().filter(|txid| !state.knows(txid)).collect();
    for batch in new.chunks(BATCH) {
        let found = transactions(rpc, batch)?;
        for txid in batch.iter().filter(|txid| !found.contains_key(*txid)) {
            pool.txids.remove(txid);
        }
        know(state, watch, found);
    }
    Ok(pool)
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
