//! Facts about our unconfirmed transactions: their place, their ancestors and their conflicts.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use bitcoin::{FeeRate, OutPoint, Transaction, Txid};
use serde_json::json;
use tillgate_domain::chain::TxPosition;
use tillgate_domain::time::Timestamp;

use super::blocks::Synced;
use super::mempool;
use super::results::{self, Entry, Spending};
use super::rpc::{NOT_FOUND, Refused, Rpc, call, typed};
use super::state::{MempoolEntry, MempoolSnapshot, Moment, State, Tracked};
use crate::checks::conflicts::{
    Facts, LINE_MAX, Output, is_final, missing_ancestors, needs, of_absent, parents_first,
    spenders, unfollowed,
};
use crate::port::{ChainDown, TxFacts, WatchList};

/// Calls with small results in one request.
const BATCH: usize = 200;

#[derive(Default)]
struct Outputs {
    /// The spender of an output in the mempool.
    spenders: HashMap<OutPoint, Txid>,
    /// Outputs whose spenders in the mempool the node does not name.
    unknown_spenders: HashSet<OutPoint>,
    /// Outputs of mined transactions that no mined transaction spends.
    unspent: HashSet<OutPoint>,
}

/// Our transactions whose facts changed since the last report, parents before children.
pub fn changed(
    rpc: &Rpc,
    state: &mut State,
    pool: &mut MempoolSnapshot,
    synced: &Synced,
    watch: &dyn WatchList,
) -> Result<Vec<TxFacts>, ChainDown> {
    let moment = Moment { number: pool.number, digest: pool.digest(), tip: synced.tip };
    if state.last_moment == Some(moment)
        && state.tracked.values().all(|tracked| tracked.reported.is_some())
    {
        return Ok(Vec::new());
    }
    // A transaction that is back in the mempool stays followed, and is reported.
    let is_back = |txid: &Txid| pool.txids.contains(txid);
    let tracked = state.tracked.iter();
    let tracked = tracked
        .map(|(txid, one)| (txid, &one.tx, one.reported.as_ref().filter(|_| !is_back(txid))));
    for txid in unfollowed(tracked, watch) {
        state.tracked.remove(&txid);
    }
    let is_new_tip = state.last_moment.is_none_or(|before| before.tip != synced.tip);
    read_entries(rpc, state, pool, is_new_tip)?;
    let outputs = outputs_of_absent(rpc, state, pool)?;
    let rivals = spenders(state.tracked.iter().map(|(txid, one)| (txid, &one.tx)));
    let mut reported = BTreeMap::new();
    let (tracked, spent) = (&mut state.tracked, &state.spent);
    for (txid, one) in tracked.iter_mut() {
        let facts = match one.entry {
            Some(seen) => of_mempool(&seen),
            None => of_missing(one, spent, &outputs, pool),
        };
        let facts = facts.with_rivals(txid, &one.tx, &rivals);
        if facts.differ_from(one.reported.as_ref()) {
            reported.insert(*txid, facts.clone().of(one.tx.clone()));
            one.reported = Some(facts);
        }
    }
    forget_ruled_out(state, synced.tip.height);
    // A new digest: `read_entries` has removed transactions that left the pool meanwhile.
    state.last_moment = Some(Moment { digest: pool.digest(), ..moment });
    Ok(parents_first(reported, |facts| &facts.tx))
}

/// Updates the mempool entry of each of our transactions. Transactions that left meanwhile are
/// taken out of the pool.
fn read_entries(
    rpc: &Rpc,
    state: &mut State,
    pool: &mut MempoolSnapshot,
    is_new_tip: bool,
) -> Result<(), ChainDown> {
    for (txid, tracked) in &mut state.tracked {
        if !pool.txids.contains(txid) {
            tracked.entry = None;
        }
    }
    let is_wanted = |tracked: &Tracked| match tracked.entry {
        // Only a block changes the ancestors of a transaction in the mempool.
        Some(seen) => seen.rests_on_unconfirmed && is_new_tip,
        None => true,
    };
    let wanted = state
        .tracked
        .iter()
        .filter(|(txid, tracked)| pool.txids.contains(*txid) && is_wanted(tracked));
    let wanted: Vec<Txid> = wanted.map(|(txid, _)| *txid).collect();
    for batch in wanted.chunks(BATCH) {
        let calls: Vec<_> =
            batch.iter().map(|txid| call("getmempoolentry", json!([txid]))).collect();
        for (reply, txid) in rpc.batch(&calls)?.into_iter().zip(batch) {
            let Some(tracked) = state.tracked.get_mut(txid) else { continue };
            match reply {
                Ok(entry) => {
                    tracked.entry = Some(mempool_entry(&typed("getmempoolentry", &entry)?)?)
                }
                Err(Refused { code: NOT_FOUND, .. }) => {
                    tracked.entry = None;
                    pool.txids.remove(txid);
                }
                Err(refused) => return Err(refused.down("getmempoolentry")),
            }
            if tracked.entry.is_some_and(|seen| !seen.rests_on_unconfirmed) {
                tracked.ancestors.clear();
            } else if tracked.entry.is_some() {
                read_ancestors(rpc, txid, tracked)?;
            }
        }
    }
    Ok(())
}

fn mempool_entry(entry: &Entry) -> Result<MempoolEntry, ChainDown> {
    let nonsense =
        || ChainDown::of_text("the node's answer to getmempoolentry makes no sense".to_owned());
    let fee_sats = results::sats(&entry.fees.base).ok_or_else(nonsense)?;
    // Rounded down: a transaction at or above a wanted rate really pays it.
    let sat_kwu = fee_sats
        .checked_mul(250)
        .and_then(|fee| fee.checked_div(entry.vsize))
        .ok_or_else(nonsense)?;
    Ok(MempoolEntry {
        entered: Timestamp::from_ms(entry.time.saturating_mul(1_000)),
        fee_rate: FeeRate::from_sat_per_kwu(sat_kwu),
        rests_on_unconfirmed: entry.ancestorcount > 1,
    })
}

/// Reads the unconfirmed ancestors of a transaction: a conflict with one of them rules it out too.
fn read_ancestors(rpc: &Rpc, txid: &Txid, tracked: &mut Tracked) -> Result<(), ChainDown> {
    let ancestors: Vec<Txid> = match rpc.try_ask(call("getmempoolancestors", json!([txid])))? {
        Ok(ancestors) => typed("getmempoolancestors", &ancestors)?,
        Err(Refused { code: NOT_FOUND, .. }) => return Ok(()),
        Err(refused) => return Err(refused.down("getmempoolancestors")),
    };
    let ancestors = ancestors.get(..LINE_MAX).unwrap_or(&ancestors);
    let new: Vec<Txid> =
        ancestors.iter().filter(|txid| !tracked.ancestors.contains_key(*txid)).copied().collect();
    tracked.ancestors.retain(|known, _| ancestors.contains(known));
    tracked.ancestors.extend(mempool::transactions(rpc, &new)?);
    Ok(())
}

/// Asks about each output that our absent transactions need.
fn outputs_of_absent(
    rpc: &Rpc,
    state: &mut State,
    pool: &MempoolSnapshot,
) -> Result<Outputs, ChainDown> {
    let absent: Vec<Txid> = state
        .tracked
        .iter()
        .filter(|(_, tracked)| tracked.entry.is_none())
        .map(|(txid, _)| *txid)
        .collect();
    let mut needed = BTreeSet::new();
    for txid in &absent {
        know_own_ancestors(state, txid, pool);
        if let Some(tracked) = state.tracked.get(txid) {
            needed.extend(needs(&tracked.tx, &tracked.ancestors).map(|(outpoint, _)| outpoint));
        }
    }
    let needed: Vec<OutPoint> = needed.into_iter().collect();
    let mut outputs = Outputs::default();
    for batch in needed.chunks(BATCH) {
        match spending_in_mempool(rpc, batch)? {
            Some(spending) => {
                outputs.spenders.extend(
                    spending.iter().filter_map(|it| Some((it.outpoint(), it.spendingtxid?))),
                );
            }
            None => outputs.unknown_spenders.extend(batch),
        }
        let calls: Vec<_> =
            batch.iter().map(|it| call("gettxout", json!([it.txid, it.vout, false]))).collect();
        for (reply, outpoint) in rpc.batch(&calls)?.into_iter().zip(batch) {
            if !reply.map_err(|refused| refused.down("gettxout"))?.is_null() {
                outputs.unspent.insert(*outpoint);
            }
        }
    }
    Ok(outputs)
}

/// The spenders of these outputs in the mempool; `None` if the node refuses. A node that still
/// builds its index of spenders answers only with `mempool_only`. Older nodes refuse this option,
/// and have no index.
fn spending_in_mempool(
    rpc: &Rpc,
    outpoints: &[OutPoint],
) -> Result<Option<Vec<Spending>>, ChainDown> {
    let asked: Vec<_> =
        outpoints.iter().map(|it| json!({ "txid": it.txid, "vout": it.vout })).collect();
    for params in [json!([asked, { "mempool_only": true }]), json!([asked])] {
        if let Ok(told) = rpc.try_ask(call("gettxspendingprevout", params))? {
            return typed("gettxspendingprevout", &told).map(Some);
        }
    }
    Ok(None)
}

/// Adds to an absent transaction its absent ancestors that are ours.
fn know_own_ancestors(state: &mut State, txid: &Txid, pool: &MempoolSnapshot) {
    let Some(tracked) = state.tracked.get(txid) else { return };
    let missing = |parent: &Txid| {
        let known = state.tracked.get(parent).filter(|_| !pool.txids.contains(parent));
        known.map(|known| &known.tx)
    };
    let found: Vec<(Txid, Transaction)> = missing_ancestors(&tracked.tx, missing)
        .into_iter()
        .map(|(txid, tx)| (txid, tx.clone()))
        .collect();
    if let Some(tracked) = state.tracked.get_mut(txid) {
        tracked.ancestors.extend(found);
    }
}

/// The facts of a transaction in the mempool. A mempool holds no conflict with the chain or with
/// itself.
fn of_mempool(seen: &MempoolEntry) -> Facts {
    Facts {
        unconfirmed_ancestors: seen.rests_on_unconfirmed.into(),
        fee_rate: Some(seen.fee_rate),
        ..Facts::undisputed(TxPosition::Mempool { entered: seen.entered })
    }
}

fn of_missing(
    tracked: &Tracked,
    spent: &HashMap<OutPoint, (u32, Txid)>,
    outputs: &Outputs,
    pool: &MempoolSnapshot,
) -> Facts {
    of_absent(&tracked.tx, &tracked.ancestors, |outpoint| {
        let is_unspent = outputs.unspent.contains(outpoint);
        Output {
            in_chain: spent.get(outpoint).copied(),
            in_mempool: outputs.spenders.get(outpoint).copied().into_iter().collect(),
            is_known: (is_unspent || pool.txids.contains(&outpoint.txid))
                && !outputs.unknown_spenders.contains(outpoint),
            is_unspent,
        }
    })
}

fn forget_ruled_out(state: &mut State, tip_height: u32) {
    state.tracked.retain(|_, tracked| {
        !tracked.reported.as_ref().is_some_and(|facts| facts.is_ruled_out_for_good(tip_height))
    });
    state.spent.retain(|_, (height, _)| !is_final(*height, tip_height));
}
