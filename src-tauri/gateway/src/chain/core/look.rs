//! One answer of a look: the blocks since the last, and behind the best one the mempool.

use std::collections::{HashMap, HashSet};

use bitcoin::{Network, OutPoint, Transaction, Txid};
use serde_json::json;
use tillgate_domain::time::Timestamp;

use super::blocks::{self, Expected, Synced};
use super::facts;
use super::mempool;
use super::notices::Notices;
use super::rpc::{Rpc, call};
use super::state::State;
use crate::chain::facts::{Facts, needs};
use crate::chain::refusals::{behind, tip_changed};
use crate::chain::token::{BlockId, Token, Weighed, answer_number, counted};
use crate::chain::{BEFORE_BIRTH, ChainDown, Covered, LookRequest, Tip, TxFacts, TxPosition, View, WatchList};

/// Blocks in one answer at most.
const BLOCKS_MAX: u32 = 100;

/// Transactions of ours after which an answer takes no further block.
const TXS_MAX: usize = 500;

/// Blocks that are read again where nothing is remembered, so that what rules out a transaction is known with its height
/// until that is final.
const READ_AGAIN: u32 = 10;

/// Where an answer goes on from.
struct Begun {
    /// The wallet's beginning: the chain is another.
    from_start: bool,
    /// See [`View::left_above`].
    left_above: Option<u32>,
}

/// Looks for what a request asks.
pub(super) fn look(
    rpc: &Rpc,
    network: Network,
    state: &mut State,
    request: &LookRequest<'_>,
    notices: Option<&Notices>,
) -> Result<View, ChainDown> {
    let synced = blocks::synced(rpc)?;
    let Begun { from_start, left_above } = if goes_on(rpc, state, request.token, &synced)? {
        let fresh = std::mem::take(&mut state.fresh_strangers);
        state.strangers.extend(fresh);
        Begun { from_start: false, left_above: None }
    } else {
        resume(rpc, state, request, &synced)?
    };
    let mut txs = read_blocks(rpc, network, state, request.watch, &synced)?;
    let last = state.last_block().ok_or_else(tip_changed)?;
    let mut more = last.height < synced.tip.height;
    let mut covered = Covered::Everything;
    if !more {
        if last != synced.tip {
            return Err(tip_changed());
        }
        let mut pool = mempool::read(rpc, state, request.watch, &synced, notices)?;
        more = pool.more;
        if !pool.is_fresh {
            // What was told may be a moment late, or not all: it decides nothing because its time has come.
            covered = Covered::Scripts(HashSet::new());
        }
        if !more {
            txs.extend(facts::changed(rpc, state, &mut pool, &synced, request.watch)?);
        }
        state.pool = pool.kept();
        if !txs.is_empty() && rpc.ask::<bitcoin::BlockHash>(call("getbestblockhash", json!([])))? != synced.tip.hash {
            return Err(tip_changed());
        }
    }
    let tip = tip(rpc, state, &synced)?;
    let unknown = unknown(state, request.watch, &txs, more);
    let is_new = !txs.is_empty() || !state.fresh_strangers.is_empty() || from_start || more;
    Ok(View {
        token: next_token(state, &synced, is_new, more)?,
        from_start,
        left_above,
        more,
        tip,
        seen_height: last.height,
        median_time: synced.median_time,
        txs,
        unknown,
        all_told: covered == Covered::Everything,
        covered,
        untold: HashSet::new(),
        cold_taken: 0,
        states: Vec::new(),
    })
}

/// Whether what is remembered is what the last answer left, and the node's chain still holds it.
fn goes_on(rpc: &Rpc, state: &State, token: Option<&[u8]>, synced: &Synced) -> Result<bool, ChainDown> {
    let Some(last) = state.token.as_ref().and_then(Token::last) else { return Ok(false) };
    if token.is_none() || token != state.written.as_deref() {
        return Ok(false);
    }
    Ok(last.id == synced.tip || blocks::last_common(rpc, &[last])?.is_some())
}

/// Begins anew where the token and the node's chain have a block in common; else where the wallet began.
fn resume(rpc: &Rpc, state: &mut State, request: &LookRequest<'_>, synced: &Synced) -> Result<Begun, ChainDown> {
    let known = request.token.and_then(Token::read);
    let fork = known.as_ref().map(|known| blocks::last_common(rpc, known.blocks())).transpose()?.flatten();
    if let Some(known) = &known {
        refuse_less_work(rpc, known, fork, synced)?;
    }
    let left_above = known.as_ref().and_then(|known| known.left_above(fork.map(|fork| fork.id)));
    let tip = synced.tip.height;
    let first = known.as_ref().and_then(Token::first).map_or(0, |block| block.height);
    let start = match (&known, fork, request.birth_height) {
        (Some(known), Some(fork), birth) => {
            let again = fork.id.height.saturating_sub(READ_AGAIN).max(first).min(fork.id.height);
            // Of what another backend asked about single scripts, nobody knows what else there is. A node that has not all of
            // those blocks any more goes by what a server said of all scripts.
            let said = known.whole_up_to.min(synced.kept_from.saturating_sub(1));
            again.min(known.read_up_to.max(said).max(birth.unwrap_or(u32::MAX)))
        }
        // No deeper than the node still goes, as long as that is deep enough.
        (_, _, Some(birth)) => {
            let kept = synced.kept_from.saturating_sub(1).min(birth);
            birth.saturating_sub(BEFORE_BIRTH).max(kept).min(tip)
        }
        (_, _, None) => tip,
    };
    let hash = blocks::hashes(rpc, std::iter::once(start))?.pop().flatten().ok_or_else(tip_changed)?;
    let start = BlockId { height: start, hash };
    let before = known.clone().filter(|_| left_above.is_some());
    let mut token = match (known, fork) {
        (Some(mut known), Some(fork)) => {
            let ends = (blocks::work_up_to(rpc, start.hash)?, blocks::work_up_to(rpc, fork.id.hash)?);
            known.cut(fork.id.height);
            known.begin_at(start, fork, blocks::work_between(ends.0, ends.1));
            known.answer = answer_number();
            known
        }
        // A fork a little below the start is none of another chain.
        (_, _) => fresh_token(rpc, start)?,
    };
    (token.whole_up_to, token.read_up_to, token.round_from) = (start.height, start.height, 0);
    let above = if fork.is_some() { start.height } else { u32::MAX };
    let strangers = if request.token.is_some() { std::mem::take(&mut state.strangers) } else { Default::default() };
    let bits = Some(blocks::header(rpc, start)?.bits);
    *state = State { token: Some(token), before, bits, strangers, ..State::default() };
    request.watch.unsettled(above).into_iter().for_each(|tx| state.track(tx));
    Ok(Begun { from_start: fork.is_none(), left_above })
}

/// The token of a chain of which nothing is known, that is read from a block on.
fn fresh_token(rpc: &Rpc, start: BlockId) -> Result<Token, ChainDown> {
    let lower = start.height.saturating_sub(BEFORE_BIRTH);
    let hash = blocks::hashes(rpc, std::iter::once(lower))?.pop().flatten().ok_or_else(tip_changed)?;
    let mut token = Token::begin(BlockId { height: lower, hash });
    if lower < start.height {
        let ends = (blocks::work_up_to(rpc, hash)?, blocks::work_up_to(rpc, start.hash)?);
        token.push(start, blocks::work_between(ends.0, ends.1));
    }
    Ok(token)
}

/// Refuses a chain that has less work above the fork than the one had that was looked at before.
fn refuse_less_work(rpc: &Rpc, known: &Token, fork: Option<Weighed>, synced: &Synced) -> Result<(), ChainDown> {
    let from = match (fork, known.first()) {
        (Some(fork), _) => Some((fork.id.hash, fork.work)),
        // Another chain is weighed from the same height on.
        (None, Some(first)) => {
            let same_height = blocks::hashes(rpc, std::iter::once(first.height))?.pop().flatten();
            same_height.map(|hash| (hash, 0))
        }
        (None, None) => None,
    };
    let work = match from {
        Some((hash, work)) if hash == synced.tip.hash => work,
        Some((hash, work)) => work.saturating_add(blocks::work_between(blocks::work_up_to(rpc, hash)?, synced.work)),
        None => 0,
    };
    if work < known.most || from.is_none() { Err(behind("node", synced.tip.height, known)) } else { Ok(()) }
}

/// Reads blocks up to the best one, as far as they go into one answer, and answers what of them is ours.
fn read_blocks(
    rpc: &Rpc,
    network: Network,
    state: &mut State,
    watch: &dyn WatchList,
    synced: &Synced,
) -> Result<Vec<TxFacts>, ChainDown> {
    let mut txs = Vec::new();
    let Some(mut last) = state.last_block() else { return Ok(txs) };
    let until = synced.tip.height.min(last.height.saturating_add(BLOCKS_MAX));
    if last.height >= until {
        return Ok(txs);
    }
    let needed = needed(state);
    let heights = last.height.saturating_add(1)..=until;
    let hashes = blocks::hashes(rpc, heights.clone())?;
    for (height, hash) in heights.zip(hashes) {
        let id = BlockId { height, hash: hash.ok_or_else(tip_changed)? };
        let block = blocks::block(rpc, network, &Expected { id, previous: last.hash, bits: state.bits })?;
        let time = Timestamp::from_ms(i64::from(block.header.time).saturating_mul(1_000));
        state.bits = Some(block.header.bits);
        for tx in block.txdata {
            txs.extend(take(state, watch, &needed, tx, height, time));
        }
        last = id;
        if let Some(token) = &mut state.token {
            token.push(id, counted(block.header.work()));
            (token.whole_up_to, token.read_up_to) = (id.height, id.height);
        }
        if txs.len() >= TXS_MAX {
            break;
        }
    }
    Ok(txs)
}

/// Every output that one of our unconfirmed transactions needs, with who of them is to spend it.
fn needed(state: &State) -> HashMap<OutPoint, Vec<Txid>> {
    let mut needed: HashMap<OutPoint, Vec<Txid>> = HashMap::new();
    for (outpoint, by) in state.tracked.values().flat_map(|it| needs(&it.tx, &it.ancestors)) {
        needed.entry(outpoint).or_default().push(by);
    }
    needed
}

/// What a transaction of a block is to us.
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
    // It is asked about in any case: what it makes may be spent further on.
    if !watch.concerns(&tx) && !was_tracked {
        return None;
    }
    conflicts.sort_unstable();
    conflicts.dedup();
    Some(Facts { conflicts, ..Facts::undisputed(TxPosition::Block { height, time }) }.of(tx))
}

fn tip(rpc: &Rpc, state: &mut State, synced: &Synced) -> Result<Tip, ChainDown> {
    let time = match state.tip_time {
        Some((tip, time)) if tip == synced.tip => time,
        _ => {
            let header = blocks::header(rpc, synced.tip)?;
            Timestamp::from_ms(i64::from(header.time).saturating_mul(1_000))
        }
    };
    state.tip_time = Some((synced.tip, time));
    Ok(Tip { height: synced.tip.height, hash: synced.tip.hash, time })
}

/// Notes what was told, and answers with the last answer what of the watch list was not.
fn unknown(state: &mut State, watch: &dyn WatchList, txs: &[TxFacts], more: bool) -> Vec<Txid> {
    if watch.txids().is_empty() {
        return Vec::new();
    }
    state.told.extend(txs.iter().map(|facts| facts.tx.compute_txid()));
    if more {
        return Vec::new();
    }
    let told = std::mem::take(&mut state.told);
    watch.txids().iter().filter(|txid| !told.contains(*txid)).copied().collect()
}

/// The token of this answer; that of the last one where nothing is told. Of a look that left blocks it is the one before until
/// all was told: what was left is known in memory alone, with what took its place.
fn next_token(state: &mut State, synced: &Synced, is_new: bool, more: bool) -> Result<Vec<u8>, ChainDown> {
    let token = state.token.as_mut().ok_or_else(tip_changed)?;
    if token.last().map(|last| last.id) == Some(synced.tip) {
        token.end();
    }
    if is_new {
        token.answer = answer_number();
    }
    let before = if more { state.before.as_ref() } else { None };
    let written = match before {
        Some(before) => token.unended(Some(before)).write(),
        None => token.write(),
    };
    if !more {
        state.before = None;
    }
    state.written = Some(written.clone());
    Ok(written)
}
