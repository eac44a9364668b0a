//! Facts about our unconfirmed or missing transactions: their position, ancestors and conflicts.
//! Conflicts show in the histories of the scripts that the inputs spend from.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use bitcoin::{FeeRate, OutPoint, ScriptBuf, Transaction, Txid};
use tillgate_domain::chain::TxPosition;

use super::subscriptions::ElectrumLook;
use crate::checks::conflicts::{
    ENTERED_UNKNOWN, Facts, Output, missing_ancestors, needs, of_absent, spenders, unfollowed,
};
use crate::checks::errors::tip_changed;
use crate::checks::header_rules::time;
use crate::checks::merkle_proof::is_provable;
use crate::electrum::calls::ScriptHash;
use crate::electrum::histories::Entry;
use crate::electrum::state::State;
use crate::electrum::transactions;
use crate::port::{ChainDown, TxFacts};

/// Limit of others' transactions read in one look to learn their inputs.
const OTHERS_MAX: usize = 500;

/// Limit of parents of missing transactions read in one look: twice as many as a relayed
/// transaction can need. The fate of further parents' outputs stays unknown.
const PARENTS_MAX: usize = 5_000;

enum Place {
    Block(u32),
    Mempool(Entry),
    Absent,
}

/// Tracked transactions whose facts changed since the last report. `processed` are the scripts with
/// a change.
pub fn of_tracked(
    look: &mut ElectrumLook<'_>,
    processed: &[ScriptHash],
) -> Result<Vec<TxFacts>, ChainDown> {
    // A missing transaction that came back is reported.
    let is_back =
        |txid: &Txid| matches!(place(look.state, txid), Some(Place::Block(_) | Place::Mempool(_)));
    let is_so =
        |txid: &Txid, reported: &&Facts| reported.position != TxPosition::Absent || !is_back(txid);
    let tracked = look.state.tracked.iter();
    let tracked = tracked.map(|(txid, one)| {
        (txid, &one.tx, one.reported.as_ref().filter(|reported| is_so(txid, reported)))
    });
    for txid in unfollowed(tracked, look.request.watch) {
        look.state.tracked.remove(&txid);
    }
    let processed: BTreeSet<&ScriptHash> = processed.iter().collect();
    let affected = look.state.tracked.iter().filter(|(_, tracked)| {
        tracked.reported.is_none() || tracked.scripts.iter().any(|hash| processed.contains(hash))
    });
    let affected: Vec<Txid> = affected.map(|(txid, _)| *txid).collect();
    if affected.is_empty() {
        return Ok(Vec::new());
    }
    read_positions(look, &affected)?;
    let mut reported = Vec::new();
    let (mut waiting, mut absent, mut mined) = (Vec::new(), Vec::new(), Vec::new());
    for txid in affected {
        match place(look.state, &txid) {
            // An unprovable transaction is not reported, and its missing proof is no lie of the
            // server.
            Some(Place::Block(height)) if is_ours_provable(look.state, &txid) => {
                mined.push((txid, height))
            }
            Some(Place::Mempool(entry)) => waiting.push((txid, entry)),
            Some(Place::Absent) => absent.push(txid),
            // Without a history of its scripts, its position is unknown.
            Some(Place::Block(_)) | None => {}
        }
    }
    reported.extend(report_mined(look, &mined)?);
    let outputs = outputs_of_absent(look, &absent)?;
    let rivals = spenders(look.state.tracked.iter().map(|(txid, tracked)| (txid, &tracked.tx)));
    let mut found: Vec<(Txid, Facts)> = Vec::new();
    for (txid, entry) in waiting {
        let Some(tracked) = look.state.tracked.get(&txid) else { continue };
        found.push((txid, of_waiting(&tracked.tx, &entry)));
    }
    for txid in absent {
        let Some(tracked) = look.state.tracked.get(&txid) else { continue };
        let facts = of_absent(&tracked.tx, &line(look.state, &tracked.tx), |outpoint| {
            outputs.get(outpoint).cloned().unwrap_or_default()
        });
        found.push((txid, facts));
    }
    for (txid, facts) in found {
        let Some(tracked) = look.state.tracked.get_mut(&txid) else { continue };
        let facts = facts.with_rivals(&txid, &tracked.tx, &rivals);
        if facts.differ_from(tracked.reported.as_ref()) {
            reported.push(facts.clone().of(tracked.tx.clone()));
            tracked.reported = Some(facts);
        }
    }
    let tip = look.tip.height;
    look.state.tracked.retain(|_, tracked| {
        !tracked.reported.as_ref().is_some_and(|facts| facts.is_ruled_out_for_good(tip))
    });
    Ok(reported)
}

/// Reads the history of one output's script for each of these transactions. A known script is
/// preferred, since it is asked about anyway.
fn read_positions(look: &mut ElectrumLook<'_>, txids: &[Txid]) -> Result<(), ChainDown> {
    let mut scripts = Vec::new();
    for txid in txids {
        let Some(tracked) = look.state.tracked.get(txid) else { continue };
        if place(look.state, txid).is_some() {
            continue;
        }
        let payable = tracked
            .tx
            .output
            .iter()
            .map(|output| &output.script_pubkey)
            .filter(|it| !it.is_op_return());
        let known =
            |script: &&ScriptBuf| look.state.scripts.contains_key(&ScriptHash::from_script(script));
        if let Some(script) = payable.clone().find(known).or_else(|| payable.clone().next()) {
            scripts.push((*txid, script.clone()));
        }
    }
    let asked: Vec<ScriptBuf> = scripts.iter().map(|(_, script)| script.clone()).collect();
    look.ask_also(&asked)?;
    for (txid, script) in scripts {
        if let Some(tracked) = look.state.tracked.get_mut(&txid) {
            tracked.scripts.insert(ScriptHash::from_script(&script));
        }
    }
    Ok(())
}

/// The position of a tracked transaction according to the known histories; `None` if they do not
/// show it.
fn place(state: &State, txid: &Txid) -> Option<Place> {
    let tracked = state.tracked.get(txid)?;
    let paid: BTreeSet<ScriptHash> = tracked
        .tx
        .output
        .iter()
        .map(|output| ScriptHash::from_script(&output.script_pubkey))
        .collect();
    let mut found = None;
    for hash in &tracked.scripts {
        match state.entry(hash, txid) {
            Some(Some(entry)) => match entry.block() {
                Some(height) => return Some(Place::Block(height)),
                None => found = Some(Place::Mempool(entry.clone())),
            },
            // Only the script of an output surely belongs to the transaction, so only its history
            // proves absence.
            Some(None) if found.is_none() && paid.contains(hash) => found = Some(Place::Absent),
            Some(None) | None => {}
        }
    }
    found
}

fn is_ours_provable(state: &State, txid: &Txid) -> bool {
    state.tracked.get(txid).is_some_and(|tracked| is_provable(&tracked.tx))
}

/// Proves and reports transactions that newly read histories show as mined.
fn report_mined(
    look: &mut ElectrumLook<'_>,
    mined: &[(Txid, u32)],
) -> Result<Vec<TxFacts>, ChainDown> {
    if mined.iter().any(|(_, height)| *height > look.tip.height) {
        return Err(tip_changed());
    }
    let tracked = &look.state.tracked;
    let txs = mined.iter().filter_map(|(txid, height)| Some((&tracked.get(txid)?.tx, *height)));
    transactions::prove(&look.asker, look.network, &mut look.state.retained, txs)?;
    let mut reported = Vec::new();
    for (txid, height) in mined {
        let header = look.state.retained.headers.at(*height);
        let time = header.map(time);
        let (Some(tracked), Some(time)) = (look.state.tracked.remove(txid), time) else { continue };
        reported
            .push(Facts::undisputed(TxPosition::Block { height: *height, time }).of(tracked.tx));
    }
    Ok(reported)
}

/// The facts of a transaction in the mempool. A mempool holds no conflict with the chain or with
/// itself.
fn of_waiting(tx: &Transaction, entry: &Entry) -> Facts {
    // Rounded down, so that a transaction at or above a required rate really pays that rate.
    let vsize = u64::try_from(tx.vsize()).unwrap_or(u64::MAX);
    let sat_kwu = entry.fee_sats().and_then(|fee| fee.checked_mul(250)?.checked_div(vsize));
    Facts {
        unconfirmed_ancestors: entry.rests_on_unconfirmed().into(),
        fee_rate: sat_kwu.map(FeeRate::from_sat_per_kwu),
        ..Facts::undisputed(TxPosition::Mempool { entered: ENTERED_UNKNOWN })
    }
}

/// The ancestors of a missing transaction that are ours and missing too.
fn line<'a>(state: &'a State, tx: &'a Transaction) -> BTreeMap<Txid, &'a Transaction> {
    missing_ancestors(tx, |parent| {
        let tracked = state.tracked.get(parent)?;
        matches!(place(state, parent), Some(Place::Absent)).then_some(&tracked.tx)
    })
}

/// Asks about each output that missing transactions need.
fn outputs_of_absent(
    look: &mut ElectrumLook<'_>,
    absent: &[Txid],
) -> Result<HashMap<OutPoint, Output>, ChainDown> {
    let mut needed: BTreeMap<OutPoint, BTreeSet<Txid>> = BTreeMap::new();
    for txid in absent {
        let Some(tracked) = look.state.tracked.get(txid) else { continue };
        for (outpoint, _) in needs(&tracked.tx, &line(look.state, &tracked.tx)) {
            needed.entry(outpoint).or_default().insert(*txid);
        }
    }
    if needed.is_empty() {
        return Ok(HashMap::new());
    }
    let others = needed
        .keys()
        .map(|outpoint| outpoint.txid)
        .filter(|txid| !look.state.tracked.contains_key(txid));
    let others: BTreeSet<Txid> = others.take(PARENTS_MAX).collect();
    let of_parent = |parent: &Transaction, outpoint: &OutPoint| {
        Some(parent.output.get(usize::try_from(outpoint.vout).ok()?)?.script_pubkey.clone())
    };
    let mut of_others: BTreeMap<OutPoint, ScriptBuf> = BTreeMap::new();
    transactions::read_each(&look.asker, &others, |txid, tx| {
        let (first, last) = (OutPoint { txid, vout: 0 }, OutPoint { txid, vout: u32::MAX });
        let named = needed.range(first..=last).map(|(outpoint, _)| *outpoint);
        of_others.extend(named.filter_map(|outpoint| Some((outpoint, of_parent(&tx, &outpoint)?))));
    })?;
    let mut scripts: BTreeMap<OutPoint, ScriptBuf> = BTreeMap::new();
    for (outpoint, by) in &needed {
        let own = look
            .state
            .tracked
            .get(&outpoint.txid)
            .and_then(|tracked| of_parent(&tracked.tx, outpoint));
        let Some(script) = of_others.remove(outpoint).or(own) else { continue };
        for txid in by {
            if let Some(tracked) = look.state.tracked.get_mut(txid) {
                tracked.scripts.insert(ScriptHash::from_script(&script));
            }
        }
        scripts.insert(*outpoint, script);
    }
    look.ask_also(&scripts.values().cloned().collect::<Vec<_>>())?;
    read_others(look, scripts.values())?;
    let mut outputs = HashMap::new();
    for (outpoint, script) in scripts {
        outputs.insert(outpoint, output(look.state, &outpoint, &ScriptHash::from_script(&script)));
    }
    prove_spenders(look, &mut outputs)?;
    Ok(outputs)
}

/// Reads the inputs of the transactions in these scripts' histories.
fn read_others<'a>(
    look: &mut ElectrumLook<'_>,
    scripts: impl Iterator<Item = &'a ScriptBuf>,
) -> Result<(), ChainDown> {
    let mut unread = BTreeSet::new();
    for script in scripts {
        let Some(history) = look
            .state
            .scripts
            .get(&ScriptHash::from_script(script))
            .and_then(|it| it.history.as_ref())
        else {
            continue;
        };
        // The latest transactions are the likeliest spenders.
        for entry in history.entries.iter().rev() {
            let is_read = look.state.retained.others.contains_key(&entry.txid);
            if !is_read
                && !look.state.tracked.contains_key(&entry.txid)
                && unread.len() < OTHERS_MAX
            {
                unread.insert(entry.txid);
            }
        }
    }
    let others = &mut look.state.retained;
    transactions::read_each(&look.asker, &unread, |_, tx| others.note_other(&tx))
}

/// The fate of an output, according to its script's history.
fn output(state: &State, outpoint: &OutPoint, hash: &ScriptHash) -> Output {
    let Some(history) = state.scripts.get(hash).and_then(|watched| watched.history.as_ref()) else {
        return Output::default();
    };
    let made = history.entries.iter().find(|entry| entry.txid == outpoint.txid);
    let mut output = Output { is_known: made.is_some(), ..Output::default() };
    for entry in history.entries.iter().filter(|entry| entry.txid != outpoint.txid) {
        let own = state.tracked.get(&entry.txid).map(|it| &it.tx).filter(|tx| is_provable(tx));
        let own = own.map(|tx| tx.input.iter().any(|at| at.previous_output == *outpoint));
        let other = state.retained.others.get(&entry.txid).map(|spent| spent.contains(outpoint));
        match own.or(other) {
            Some(true) => match entry.block() {
                Some(height) => output.in_chain = Some((height, entry.txid)),
                None => output.in_mempool.push(entry.txid),
            },
            Some(false) => {}
            None => output.is_known = false,
        }
    }
    let is_mined = made.is_some_and(|made| made.block().is_some());
    output.is_unspent = output.is_known && is_mined && output.in_chain.is_none();
    output
}

/// Proves that the mined spenders are in their blocks. An output's fate is unknown if the server
/// does not deliver its spender.
fn prove_spenders(
    look: &mut ElectrumLook<'_>,
    outputs: &mut HashMap<OutPoint, Output>,
) -> Result<(), ChainDown> {
    let spenders: BTreeMap<Txid, u32> = outputs
        .values()
        .filter_map(|output| output.in_chain.map(|(height, txid)| (txid, height)))
        .collect();
    if spenders.values().any(|height| *height > look.tip.height) {
        return Err(tip_changed());
    }
    let unsure = transactions::prove_in_blocks(
        &look.asker,
        look.network,
        &mut look.state.retained,
        &spenders,
    )?;
    outputs.retain(|_, output| !output.in_chain.is_some_and(|(_, txid)| unsure.contains(&txid)));
    Ok(())
}
