//! Makes one answer of a look: the blocks since the last answer, and the mempool once the best
//! block is read.

use std::collections::{HashMap, HashSet};

use bitcoin::block::Header;
use bitcoin::{Network, OutPoint, Transaction, Txid};
use serde_json::json;
use tillgate_domain::chain::{Tip, TxPosition};
use tillgate_domain::time::Timestamp;

use super::blocks::{self, Synced};
use super::linked_headers::link;
use super::notices::Notices;
use super::resume::{self, Resumed};
use super::rpc::{Rpc, call};
use super::state::State;
use super::{mempool, unconfirmed};
use crate::checks::conflicts::Facts;
use crate::checks::errors::{behind, tip_changed};
use crate::checks::header_rules;
use crate::checks::token::{BlockId, answer_number, work_as_u128};
use crate::port::{ChainDown, Covered, LookAnswer, LookRequest, TxFacts, WatchList};

/// Blocks in one answer at most.
const BLOCKS_MAX: u32 = 100;

/// With this many of our transactions, an answer reads no further block.
const TXS_MAX: usize = 500;

/// The part of an answer that comes from the mempool.
struct MempoolPart {
    txs: Vec<TxFacts>,
    more: bool,
    covered: Covered,
}

pub fn look(
    rpc: &Rpc,
    network: Network,
    state: &mut State,
    request: &LookRequest<'_>,
    notices: Option<&Notices>,
) -> Result<LookAnswer, ChainDown> {
    let synced = blocks::synced(rpc)?;
    let Resumed { from_start, left_above } = resume::begin(rpc, network, state, request, &synced)?;
    state.reach = synced.reach;
    let mut txs = read_blocks(rpc, network, state, request.watch, &synced)?;
    let last = state.last_block().ok_or_else(tip_changed)?;
    let mut more = last.height < synced.tip.height;
    let mut covered = Covered::Everything;
    if !more {
        if last != synced.tip {
            return Err(tip_changed());
        }
        if let Some(token) = state.token.as_ref().filter(|token| token.is_behind()) {
            return Err(behind("node", last.height, state.before.as_ref().unwrap_or(token)));
        }
        let mempool = read_mempool(rpc, state, request, &synced, notices)?;
        txs.extend(mempool.txs);
        (more, covered) = (mempool.more, mempool.covered);
        if !txs.is_empty()
            && rpc.ask::<bitcoin::BlockHash>(call("getbestblockhash", json!([])))?
                != synced.tip.hash
        {
            return Err(tip_changed());
        }
    }
    let tip = tip(rpc, network, state, &synced)?;
    let unknown = unknown(state, request.watch, &txs, more);
    let is_new = !txs.is_empty() || !state.fresh_others.is_empty() || from_start || more;
    Ok(LookAnswer {
        token: next_token(state, &synced, is_new, more)?,
        from_start,
        left_above,
        more,
        tip,
        seen_height: last.height,
        median_time: state.median_time().filter(|_| last == synced.tip),
        txs,
        unknown,
        covered,
        refused: HashSet::new(),
        cold_taken: 0,
        states: Vec::new(),
    })
}

/// Lists the mempool. A look that a notice woke lists it only after a block, or if a notice
/// announces a transaction of ours.
fn read_mempool(
    rpc: &Rpc,
    state: &mut State,
    request: &LookRequest<'_>,
    synced: &Synced,
    notices: Option<&Notices>,
) -> Result<MempoolPart, ChainDown> {
    let watch = request.watch;
    // Taken by each look, so that new hints find room.
    let hints = notices.map(Notices::take).unwrap_or_default();
    let is_whole = !request.is_woken || state.listed_at != Some(synced.tip.hash);
    // Notices may be late or false, so a look that they woke decides no deadline.
    let covered = if is_whole { Covered::Everything } else { Covered::Scripts(HashSet::new()) };
    if !is_whole && !mempool::has_ours(rpc, state, watch, hints)? {
        return Ok(MempoolPart { txs: Vec::new(), more: false, covered });
    }
    let mut pool = mempool::list(rpc, state, watch, synced)?;
    if pool.more {
        state.listed_at = None;
        return Ok(MempoolPart { txs: Vec::new(), more: true, covered });
    }
    if is_whole {
        state.listed_at = Some(synced.tip.hash);
    }
    let txs = unconfirmed::changed(rpc, state, &mut pool, synced, watch)?;
    Ok(MempoolPart { txs, more: false, covered })
}

/// Reads blocks up to the best one, as far as one answer allows, and returns our transactions in
/// them.
fn read_blocks(
    rpc: &Rpc,
    network: Network,
    state: &mut State,
    watch: &dyn WatchList,
    synced: &Synced,
) -> Result<Vec<TxFacts>, ChainDown> {
    let mut txs = Vec::new();
    let (Some(last), Some(mut before)) = (state.last_block(), state.headers.last().copied()) else {
        return Ok(txs);
    };
    let until = synced.tip.height.min(last.height.saturating_add(BLOCKS_MAX));
    if last.height >= until {
        return Ok(txs);
    }
    let needed = state.needed();
    let heights = last.height.saturating_add(1)..=until;
    let hashes = blocks::hashes(rpc, heights.clone())?;
    for (height, hash) in heights.zip(hashes) {
        let id = BlockId { height, hash: hash.ok_or_else(tip_changed)? };
        let last = BlockId { height: height.saturating_sub(1), hash: before.block_hash() };
        let first = first_of_period(rpc, network, last)?;
        let block = blocks::block(rpc, network, id, (first.as_ref(), &before))?;
        before = block.header;
        let time = header_rules::time(&before);
        state.note_header(before);
        for tx in block.txdata {
            txs.extend(take(state, watch, &needed, tx, height, time));
        }
        if let Some(token) = &mut state.token {
            token.push(id, work_as_u128(before.work()));
            (token.whole_up_to, token.read_up_to) = (id.height, id.height);
        }
        if txs.len() >= TXS_MAX {
            break;
        }
    }
    Ok(txs)
}

/// The first header of the difficulty period that ends with `last`; `None` if no period ends there.
fn first_of_period(
    rpc: &Rpc,
    network: Network,
    last: BlockId,
) -> Result<Option<Header>, ChainDown> {
    let Some(from) = header_rules::period_before(network, last.height.saturating_add(1)) else {
        return Ok(None);
    };
    Ok(link(rpc, network, from, last)?.at(from).copied())
}

/// The facts of a block's transaction, if it is ours.
fn take(
    state: &mut State,
    watch: &dyn WatchList,
    needed: &HashMap<OutPoint, Vec<Txid>>,
    tx: Transaction,
    height: u32,
    time: Timestamp,
) -> Option<TxFacts> {
    let txid = tx.compute_txid();
    let mut conflicts = Vec::new();
    for outpoint in tx.input.iter().map(|input| input.previous_output) {
        let Some(by) = needed.get(&outpoint) else { continue };
        state.spent.insert(outpoint, (height, txid));
        conflicts.extend(by.iter().filter(|by| **by != txid && state.tracked.contains_key(*by)));
    }
    let was_tracked = state.tracked.remove(&txid).is_some();
    // Called for every transaction: `concerns` remembers our outputs, which a later transaction may
    // spend.
    if !watch.concerns(&tx) && !was_tracked {
        return None;
    }
    conflicts.sort_unstable();
    conflicts.dedup();
    Some(Facts { conflicts, ..Facts::undisputed(TxPosition::Block { height, time }) }.of(tx))
}

fn tip(rpc: &Rpc, network: Network, state: &mut State, synced: &Synced) -> Result<Tip, ChainDown> {
    let time = match state.tip_time {
        Some((tip, time)) if tip == synced.tip => time,
        _ => header_rules::time(&blocks::header(rpc, network, synced.tip)?),
    };
    state.tip_time = Some((synced.tip, time));
    Ok(Tip { height: synced.tip.height, hash: synced.tip.hash, time })
}

/// Notes the reported transactions. In the last answer, returns those of the watch list that this
/// look did not report.
fn unknown(state: &mut State, watch: &dyn WatchList, txs: &[TxFacts], more: bool) -> Vec<Txid> {
    if watch.txids().is_empty() {
        return Vec::new();
    }
    state.reported.extend(txs.iter().map(|facts| facts.tx.compute_txid()));
    if more {
        return Vec::new();
    }
    let reported = std::mem::take(&mut state.reported);
    watch.txids().iter().filter(|txid| !reported.contains(*txid)).copied().collect()
}

/// The token of this answer, or the last token if nothing is new. If blocks left the chain, the
/// token from before the look is written until everything is reported, because only memory knows
/// those blocks.
fn next_token(
    state: &mut State,
    synced: &Synced,
    is_new: bool,
    more: bool,
) -> Result<Vec<u8>, ChainDown> {
    let token = state.token.as_mut().ok_or_else(tip_changed)?;
    if token.last().map(|last| last.id) == Some(synced.tip) {
        token.end();
    }
    if is_new {
        token.answer = answer_number();
    }
    let before = if more { state.before.as_ref() } else { None };
    let written = match before {
        Some(before) => token.unfinished(Some(before)).write(),
        None => token.write(),
    };
    if !more {
        state.before = None;
    }
    state.written = Some(written.clone());
    Ok(written)
}
