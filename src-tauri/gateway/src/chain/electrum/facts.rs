//! What there is to tell of our transactions that wait or are missing: where each stands, what it rests on, and what rules
//! it out. The latter is in the histories of the scripts that its inputs spend from.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use bitcoin::{FeeRate, OutPoint, ScriptBuf, Transaction, Txid};
use tillgate_domain::time::Timestamp;

use super::call::ScriptHash;
use super::history::Entry;
use super::scripts::Look;
use super::state::State;
use super::transactions;
use crate::chain::core::state::Facts;
use crate::chain::{ChainDown, Fact, TxFacts, TxPosition};

/// Missing transactions of ours, one behind the other, that are followed.
const LINE_MAX: usize = 128;

/// Transactions of others that are read in one look to learn what they spend.
const OTHERS_MAX: usize = 500;

/// What a block so deep rules out is followed no longer.
const RULED_OUT_FOR: u32 = 100;

/// The protocol does not tell when a server took a transaction in. Whoever looks takes the earlier of this and its own time.
const UNTOLD: Timestamp = Timestamp::from_ms(i64::MAX);

/// Where a transaction stands.
enum Place {
    Block(u32),
    Mempool(Entry),
    Absent,
}

/// What became of an output that a missing transaction needs.
#[derive(Default)]
struct Output {
    /// Which transaction spends it, and the height of its block where it is in one.
    spender: Option<(Txid, Option<u32>)>,
    /// Nothing about it was kept back.
    is_known: bool,
    /// It was made by a block.
    is_mined: bool,
}

/// Everything about tracked transactions that is not as it was last told; `processed` are the scripts of which something
/// changed.
pub(super) fn of_tracked(look: &mut Look<'_>, processed: &[ScriptHash]) -> Result<Vec<TxFacts>, ChainDown> {
    let processed: BTreeSet<&ScriptHash> = processed.iter().collect();
    let affected =
        look.state.tracked.iter().filter(|(_, tracked)| {
            tracked.told.is_none() || tracked.scripts.iter().any(|hash| processed.contains(hash))
        });
    let affected: Vec<Txid> = affected.map(|(txid, _)| *txid).collect();
    if affected.is_empty() {
        return Ok(Vec::new());
    }
    ask_where_they_stand(look, &affected)?;
    let mut told = Vec::new();
    let (mut waiting, mut absent, mut mined) = (Vec::new(), Vec::new(), Vec::new());
    for txid in affected {
        match place(look.state, &txid) {
            Some(Place::Block(height)) => mined.push((txid, height)),
            Some(Place::Mempool(entry)) => waiting.push((txid, entry)),
            Some(Place::Absent) => absent.push(txid),
            // No script of it is told of: nobody knows.
            None => {}
        }
    }
    told.extend(tell_mined(look, &mined)?);
    let outputs = outputs_of_absent(look, &absent)?;
    let rivals = needed(look.state);
    let mut found: Vec<(Txid, Facts)> = Vec::new();
    for (txid, entry) in waiting {
        let Some(tracked) = look.state.tracked.get(&txid) else { continue };
        found.push((txid, of_waiting(&tracked.tx, &entry)));
    }
    for txid in absent {
        found.extend(of_absent(look.state, &txid, &outputs).map(|facts| (txid, facts)));
    }
    for (txid, mut facts) in found {
        let Some(tracked) = look.state.tracked.get_mut(&txid) else { continue };
        let own = tracked.tx.input.iter().filter_map(|input| rivals.get(&input.previous_output)).flatten();
        let conflicts: BTreeSet<Txid> = own.chain(&facts.conflicts).filter(|rival| **rival != txid).copied().collect();
        facts.conflicts = conflicts.into_iter().collect();
        if tracked.told.as_ref() != Some(&facts) {
            told.push(facts.clone().of(tracked.tx.clone()));
            tracked.told = Some(facts);
        }
    }
    let tip = look.tip.height;
    look.state.tracked.retain(|_, tracked| {
        let height = tracked.told.as_ref().and_then(|facts| facts.conflict_height);
        height.is_none_or(|height| height.saturating_add(RULED_OUT_FOR) > tip)
    });
    Ok(told)
}

/// Every output that one of our tracked transactions spends, with which do.
pub(super) fn needed(state: &State) -> HashMap<OutPoint, Vec<Txid>> {
    let mut needed: HashMap<OutPoint, Vec<Txid>> = HashMap::new();
    for (txid, tracked) in &state.tracked {
        for input in &tracked.tx.input {
            needed.entry(input.previous_output).or_default().push(*txid);
        }
    }
    needed
}

/// Has a script with a history for each of these transactions: one of ours where there is one, for it is asked about anyway.
fn ask_where_they_stand(look: &mut Look<'_>, txids: &[Txid]) -> Result<(), ChainDown> {
    let mut scripts = Vec::new();
    for txid in txids {
        let Some(tracked) = look.state.tracked.get(txid) else { continue };
        if place(look.state, txid).is_some() {
            continue;
        }
        let payable = tracked.tx.output.iter().map(|output| &output.script_pubkey).filter(|it| !it.is_op_return());
        let known = |script: &&ScriptBuf| look.state.scripts.contains_key(&ScriptHash::of(script));
        if let Some(script) = payable.clone().find(known).or_else(|| payable.clone().next()) {
            scripts.push((*txid, script.clone()));
        }
    }
    let asked: Vec<ScriptBuf> = scripts.iter().map(|(_, script)| script.clone()).collect();
    look.ask_also(&asked)?;
    for (txid, script) in scripts {
        if let Some(tracked) = look.state.tracked.get_mut(&txid) {
            tracked.scripts.insert(ScriptHash::of(&script));
        }
    }
    Ok(())
}

/// Where a tracked transaction stands by the histories that are known; `None` where none is.
fn place(state: &State, txid: &Txid) -> Option<Place> {
    let tracked = state.tracked.get(txid)?;
    let paid: BTreeSet<ScriptHash> =
        tracked.tx.output.iter().map(|output| ScriptHash::of(&output.script_pubkey)).collect();
    let mut found = None;
    for hash in &tracked.scripts {
        match state.entry(hash, txid) {
            Some(Some(entry)) => match entry.block() {
                Some(height) => return Some(Place::Block(height)),
                None => found = Some(Place::Mempool(entry.clone())),
            },
            // That an input's script does not know of it says the same, but only a script that it pays is sure to be its own.
            Some(None) if found.is_none() && paid.contains(hash) => found = Some(Place::Absent),
            Some(None) | None => {}
        }
    }
    found
}

/// What is in a block after all, of scripts that nobody asked about before.
fn tell_mined(look: &mut Look<'_>, mined: &[(Txid, u32)]) -> Result<Vec<TxFacts>, ChainDown> {
    if mined.iter().any(|(_, height)| *height > look.tip.height) {
        return Err(crate::chain::core::mempool::tip_changed());
    }
    let tracked = &look.state.tracked;
    let txs = mined.iter().filter_map(|(txid, height)| Some((&tracked.get(txid)?.tx, *height)));
    transactions::prove(&look.asker, look.network, &mut look.state.facts, txs)?;
    let mut told = Vec::new();
    for (txid, height) in mined {
        let header = look.state.facts.headers.at(*height);
        let time = header.map(crate::chain::headers::time);
        let (Some(tracked), Some(time)) = (look.state.tracked.remove(txid), time) else { continue };
        told.push(Facts::undisputed(TxPosition::Block { height: *height, time }).of(tracked.tx));
    }
    Ok(told)
}

/// A mempool holds nothing that conflicts with the chain or with itself.
fn of_waiting(tx: &Transaction, entry: &Entry) -> Facts {
    // Rounded down: what is not below a wanted rate pays it.
    let vsize = u64::try_from(tx.vsize()).unwrap_or(u64::MAX);
    let sat_kwu = entry.fee_sats().and_then(|fee| fee.checked_mul(250)?.checked_div(vsize));
    Facts {
        unconfirmed_ancestors: entry.rests_on_unconfirmed().into(),
        fee_rate: sat_kwu.map(FeeRate::from_sat_per_kwu),
        ..Facts::undisputed(TxPosition::Mempool { entered: UNTOLD })
    }
}

/// A missing transaction and those of ours that it rests on and that are missing, too.
fn line(state: &State, txid: &Txid) -> BTreeSet<Txid> {
    let mut line = BTreeSet::from([*txid]);
    let mut open = vec![*txid];
    while let Some(child) = open.pop() {
        let Some(tracked) = state.tracked.get(&child) else { continue };
        for parent in tracked.tx.input.iter().map(|input| input.previous_output.txid) {
            let is_missing = matches!(place(state, &parent), Some(Place::Absent));
            if is_missing && line.len() < LINE_MAX && line.insert(parent) {
                open.push(parent);
            }
        }
    }
    line
}

/// Every output that a missing transaction needs, with the transaction that is to spend it.
fn needs<'a>(state: &'a State, line: &'a BTreeSet<Txid>) -> impl Iterator<Item = (OutPoint, Txid)> + 'a {
    let txs = line.iter().filter_map(|txid| Some((*txid, &state.tracked.get(txid)?.tx)));
    txs.flat_map(|(txid, tx)| tx.input.iter().map(move |input| (input.previous_output, txid)))
}

/// Asks about every output that missing transactions need.
fn outputs_of_absent(look: &mut Look<'_>, absent: &[Txid]) -> Result<HashMap<OutPoint, Output>, ChainDown> {
    let mut needed: BTreeMap<OutPoint, BTreeSet<Txid>> = BTreeMap::new();
    for txid in absent {
        for (outpoint, _) in needs(look.state, &line(look.state, txid)) {
            needed.entry(outpoint).or_default().insert(*txid);
        }
    }
    if needed.is_empty() {
        return Ok(HashMap::new());
    }
    let strangers = needed.keys().map(|outpoint| outpoint.txid).filter(|txid| !look.state.tracked.contains_key(txid));
    let strangers = transactions::read(&look.asker, &strangers.collect())?;
    let script_of = |state: &State, outpoint: &OutPoint| {
        let own = state.tracked.get(&outpoint.txid).map(|tracked| &tracked.tx);
        let parent = strangers.get(&outpoint.txid).or(own)?;
        Some(parent.output.get(usize::try_from(outpoint.vout).ok()?)?.script_pubkey.clone())
    };
    let mut scripts: BTreeMap<OutPoint, ScriptBuf> = BTreeMap::new();
    for (outpoint, by) in &needed {
        let Some(script) = script_of(look.state, outpoint) else { continue };
        for txid in by {
            if let Some(tracked) = look.state.tracked.get_mut(txid) {
                tracked.scripts.insert(ScriptHash::of(&script));
            }
        }
        scripts.insert(*outpoint, script);
    }
    look.ask_also(&scripts.values().cloned().collect::<Vec<_>>())?;
    read_others(look, scripts.values())?;
    let mut outputs = HashMap::new();
    for (outpoint, script) in scripts {
        outputs.insert(outpoint, output(look.state, &outpoint, &ScriptHash::of(&script)));
    }
    prove_spenders(look, &outputs)?;
    Ok(outputs)
}

/// Reads what the transactions in the histories of these scripts spend.
fn read_others<'a>(look: &mut Look<'_>, scripts: impl Iterator<Item = &'a ScriptBuf>) -> Result<(), ChainDown> {
    let mut unread = BTreeSet::new();
    for script in scripts {
        let Some(history) = look.state.scripts.get(&ScriptHash::of(script)).and_then(|it| it.history.as_ref()) else {
            continue;
        };
        // The latest are likeliest.
        for entry in history.entries.iter().rev() {
            let is_read = look.state.facts.others.contains_key(&entry.txid);
            if !is_read && !look.state.tracked.contains_key(&entry.txid) && unread.len() < OTHERS_MAX {
                unread.insert(entry.txid);
            }
        }
    }
    for tx in transactions::read(&look.asker, &unread)?.into_values() {
        look.state.facts.note_other(&tx);
    }
    Ok(())
}

/// What became of an output of a script.
fn output(state: &State, outpoint: &OutPoint, hash: &ScriptHash) -> Output {
    let Some(history) = state.scripts.get(hash).and_then(|watched| watched.history.as_ref()) else {
        return Output::default();
    };
    let made = history.entries.iter().find(|entry| entry.txid == outpoint.txid);
    let mut output =
        Output { spender: None, is_known: made.is_some(), is_mined: made.is_some_and(|made| made.block().is_some()) };
    for entry in history.entries.iter().filter(|entry| entry.txid != outpoint.txid) {
        let own = state.tracked.get(&entry.txid).map(|it| it.tx.input.iter().any(|at| at.previous_output == *outpoint));
        let other = state.facts.others.get(&entry.txid).map(|spent| spent.contains(outpoint));
        match own.or(other) {
            Some(true) => output.spender = Some((entry.txid, entry.block())),
            Some(false) => {}
            None => output.is_known = false,
        }
    }
    output
}

/// Who is said to have spent an output in a block must be there.
fn prove_spenders(look: &mut Look<'_>, outputs: &HashMap<OutPoint, Output>) -> Result<(), ChainDown> {
    let spenders =
        outputs.values().filter_map(|output| output.spender.and_then(|(txid, height)| Some((txid, height?))));
    let spenders: BTreeMap<Txid, u32> = spenders.collect();
    if spenders.values().any(|height| *height > look.tip.height) {
        return Err(crate::chain::core::mempool::tip_changed());
    }
    let txs = transactions::read_all(&look.asker, &spenders.keys().copied().collect())?;
    let txs = spenders.iter().filter_map(|(txid, height)| Some((txs.get(txid)?, *height)));
    transactions::prove(&look.asker, look.network, &mut look.state.facts, txs)
}

/// Of a transaction that is in neither mempool nor chain. Where it cannot be told what became of an output that it needs,
/// nobody knows whether another spends it.
fn of_absent(state: &State, txid: &Txid, outputs: &HashMap<OutPoint, Output>) -> Option<Facts> {
    let line = line(state, txid);
    let (mut conflict_height, mut in_mempool, mut is_known) = (None::<u32>, false, true);
    for (outpoint, by) in needs(state, &line) {
        let output = outputs.get(&outpoint);
        match output.and_then(|output| output.spender).filter(|(spender, _)| *spender != by) {
            Some((_, Some(height))) => {
                conflict_height = Some(conflict_height.map_or(height, |lowest| lowest.min(height)));
            }
            Some((_, None)) => in_mempool = true,
            None => is_known &= line.contains(&outpoint.txid) || output.is_some_and(|output| output.is_known),
        }
    }
    let otherwise = if is_known { Fact::No } else { Fact::Unknown };
    let tx = &state.tracked.get(txid)?.tx;
    let own = || tx.input.iter().map(|input| outputs.get(&input.previous_output));
    let is_unspent = |output: Option<&Output>| {
        output.is_some_and(|it| it.is_known && it.is_mined && it.spender.is_none_or(|(_, height)| height.is_none()))
    };
    Some(Facts {
        conflict_in_chain: if conflict_height.is_some() { Fact::Yes } else { otherwise },
        conflict_height,
        conflict_in_mempool: if in_mempool { Fact::Yes } else { otherwise },
        conflicts: own().flatten().filter_map(|output| output.spender).map(|(spender, _)| spender).collect(),
        unconfirmed_ancestors: if own().all(is_unspent) { Fact::No } else { Fact::Unknown },
        ..Facts::undisputed(TxPosition::Absent)
    })
}
