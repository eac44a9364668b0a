//! What there is to tell of our unconfirmed transactions: what each rests on, and what rules it out.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use bitcoin::{OutPoint, Transaction, Txid};
use tillgate_domain::time::Timestamp;

use super::Asking;
use super::answers::SpendAnswer;
use super::positions::{self, is_coinbase_input};
use super::server::NoAnswer;
use super::state::{Rivals, Seen, State, Tracked};
use crate::chain::core::state::Facts;
use crate::chain::{ChainDown, Fact, TxPosition};

/// Transactions that are asked about for one of ours: what it rests on, and what spends the same. What rests on more is not
/// accepted without confirmation.
const ASKED_MAX: usize = 40;

/// No server says since when its mempool holds a transaction: since the look that found it, then.
const UNTOLD: Timestamp = Timestamp::from_ms(i64::MAX);

/// What a block so deep rules out is followed no longer.
const RULED_OUT_FOR: u32 = 100;

/// Finds out whether a transaction of the mempool rests on unconfirmed ones, where that is not known as of this height.
pub(super) fn read_ancestors(asking: &Asking<'_>, state: &mut State, txid: Txid, height: u32) -> Result<(), NoAnswer> {
    let Some(tracked) = state.tracked.get(&txid) else { return Ok(()) };
    // Only a block changes what it rests on.
    let is_known = |seen: &Seen| {
        seen.rests_on_unconfirmed == Some(false) || (seen.rests_on_unconfirmed.is_some() && seen.found_at == height)
    };
    if tracked.seen.as_ref().is_none_or(is_known) {
        return Ok(());
    }
    let mut ancestors = BTreeMap::new();
    let rests = line(asking, state, &tracked.tx, &mut ancestors)?;
    if let Some(tracked) = state.tracked.get_mut(&txid) {
        if rests.is_some() {
            tracked.ancestors = ancestors;
        }
        if let Some(seen) = &mut tracked.seen {
            (seen.rests_on_unconfirmed, seen.found_at) = (rests, height);
        }
    }
    Ok(())
}

/// Collects the unconfirmed transactions that one rests on; answers whether there are any, `None` where nobody knows.
fn line(
    asking: &Asking<'_>,
    state: &State,
    tx: &Transaction,
    ancestors: &mut BTreeMap<Txid, Transaction>,
) -> Result<Option<bool>, NoAnswer> {
    let parents = |tx: &Transaction| tx.input.iter().map(|input| input.previous_output.txid).collect::<BTreeSet<_>>();
    let (mut open, mut done) = (parents(tx), BTreeSet::new());
    while let Some(parent) = open.pop_first() {
        if is_coinbase_input(&parent) || state.proved.contains_key(&parent) || !done.insert(parent) {
            continue;
        }
        if done.len() > ASKED_MAX {
            return Ok((!ancestors.is_empty()).then_some(true));
        }
        let known = state.tracked.get(&parent).filter(|tracked| tracked.seen.is_some()).map(|it| it.tx.clone());
        let unconfirmed = match known {
            Some(tx) => tx,
            None => match positions::ask(asking, parent)? {
                Some(Some(sight)) if sight.status.confirmed => continue,
                Some(Some(sight)) => sight.tx,
                Some(None) | None => return Ok(None),
            },
        };
        open.extend(parents(&unconfirmed));
        ancestors.insert(parent, unconfirmed);
    }
    Ok(Some(!ancestors.is_empty()))
}

/// Finds out what became of every output that an absent transaction needs.
pub(super) fn read_rivals(asking: &Asking<'_>, state: &mut State, txid: Txid) -> Result<(), NoAnswer> {
    know_own_ancestors(state, &txid);
    let Some(tracked) = state.tracked.get(&txid) else { return Ok(()) };
    let mut needs: BTreeMap<Txid, Vec<(OutPoint, Txid)>> = BTreeMap::new();
    for (outpoint, by) in tracked.needs().filter(|(outpoint, _)| !is_coinbase_input(&outpoint.txid)) {
        needs.entry(outpoint.txid).or_default().push((outpoint, by));
    }
    let mut rivals = Rivals::default();
    for (parent, outputs) in needs.into_iter().take(ASKED_MAX) {
        if !asking.may_ask() {
            break;
        }
        // What the server does not know at all it says nothing of: nobody knows.
        let spends: Option<Vec<SpendAnswer>> = asking.server.json(&format!("/tx/{parent}/outspends"))?;
        for (outpoint, by) in outputs.iter().filter(|_| spends.is_some()) {
            let spends = spends.iter().flatten();
            let vout = usize::try_from(outpoint.vout).unwrap_or(usize::MAX);
            let Some(spend) = spends.into_iter().nth(vout) else { continue };
            match spend.txid.filter(|_| spend.spent) {
                None if spend.spent => {}
                None => {
                    rivals.known.insert(*outpoint);
                }
                Some(spender) if spender == *by => {
                    rivals.known.insert(*outpoint);
                }
                Some(spender) => take_spender(asking, state, &mut rivals, *outpoint, spender)?,
            }
        }
    }
    if let Some(tracked) = state.tracked.get_mut(&txid) {
        tracked.rivals = rivals;
    }
    Ok(())
}

/// Takes over that another transaction spends an output, if it does, and where it is proved to be.
fn take_spender(
    asking: &Asking<'_>,
    state: &mut State,
    rivals: &mut Rivals,
    outpoint: OutPoint,
    spender: Txid,
) -> Result<(), NoAnswer> {
    if state.spent.get(&outpoint).is_some_and(|(_, known)| *known == spender) {
        rivals.known.insert(outpoint);
        return Ok(());
    }
    let Some(Some(sight)) = positions::ask(asking, spender)? else { return Ok(()) };
    if !sight.tx.input.iter().any(|input| input.previous_output == outpoint) {
        let down = ChainDown(format!(
            "the server says that transaction {spender} spends {outpoint}, which it does not; do not trust this server"
        ));
        return Err(down.into());
    }
    if let Some(height) = positions::block_of(asking, state, &sight)? {
        state.spent.insert(outpoint, (height, spender));
        rivals.known.insert(outpoint);
    } else if !sight.status.confirmed {
        rivals.in_mempool.insert((outpoint, spender));
        rivals.known.insert(outpoint);
    }
    Ok(())
}

/// An absent transaction may rest on others of ours that are absent, too.
fn know_own_ancestors(state: &mut State, txid: &Txid) {
    let (mut found, mut open) = (BTreeMap::new(), vec![*txid]);
    while let Some(child) = open.pop() {
        let Some(tracked) = state.tracked.get(&child) else { continue };
        for parent in tracked.tx.input.iter().map(|input| input.previous_output.txid) {
            let Some(known) = state.tracked.get(&parent).filter(|known| known.seen.is_none()) else { continue };
            if found.len() < ASKED_MAX && found.insert(parent, known.tx.clone()).is_none() {
                open.push(parent);
            }
        }
    }
    if let Some(tracked) = state.tracked.get_mut(txid) {
        tracked.ancestors.extend(found);
    }
}

/// What is to be told of each tracked transaction that was asked about, where it is not what was last told.
pub(super) fn changed(state: &State) -> BTreeMap<Txid, Facts> {
    let own = own_rivals(state);
    let mut changed = BTreeMap::new();
    for (txid, tracked) in state.tracked.iter().filter(|(_, tracked)| tracked.is_asked) {
        let mut facts = match &tracked.seen {
            Some(seen) => of_mempool(seen),
            None => of_absent(txid, tracked, state),
        };
        let rivals = tracked.tx.input.iter().filter_map(|input| own.get(&input.previous_output)).flatten();
        let conflicts: BTreeSet<Txid> =
            rivals.chain(&facts.conflicts).filter(|rival| *rival != txid).copied().collect();
        facts.conflicts = conflicts.into_iter().collect();
        if tracked.told.as_ref() != Some(&facts) {
            changed.insert(*txid, facts);
        }
    }
    changed
}

/// What is told of a transaction that a block holds.
pub(super) fn of_block(state: &State, tx: &Transaction, position: TxPosition) -> Facts {
    let txid = tx.compute_txid();
    let spends = |other: &Tracked| {
        other.tx.input.iter().any(|input| tx.input.iter().any(|own| own.previous_output == input.previous_output))
    };
    let conflicts = state.tracked.iter().filter(|(other, tracked)| **other != txid && spends(tracked));
    Facts { conflicts: conflicts.map(|(other, _)| *other).collect(), ..Facts::undisputed(position) }
}

/// Ours that spend the same output.
fn own_rivals(state: &State) -> HashMap<OutPoint, Vec<Txid>> {
    let mut rivals: HashMap<OutPoint, Vec<Txid>> = HashMap::new();
    for (txid, tracked) in &state.tracked {
        for input in &tracked.tx.input {
            rivals.entry(input.previous_output).or_default().push(*txid);
        }
    }
    rivals
}

/// A mempool holds nothing that conflicts with the chain or with itself.
fn of_mempool(seen: &Seen) -> Facts {
    Facts {
        unconfirmed_ancestors: seen.rests_on_unconfirmed.map_or(Fact::Unknown, Fact::from),
        fee_rate: seen.fee_rate,
        ..Facts::undisputed(TxPosition::Mempool { entered: UNTOLD })
    }
}

/// Of a transaction that is in neither mempool nor chain. Where it cannot be told what became of an output that it needs,
/// nobody knows whether another spends it.
fn of_absent(txid: &Txid, tracked: &Tracked, state: &State) -> Facts {
    let rivals = &tracked.rivals;
    let in_chain = tracked.needs().filter_map(|(outpoint, by)| {
        state.spent.get(&outpoint).filter(|(_, spender)| *spender != by).map(|(height, _)| *height)
    });
    let conflict_height = in_chain.min();
    let spenders = |outpoint: OutPoint| {
        rivals.in_mempool.iter().filter(move |(spent, _)| *spent == outpoint).map(|(_, spender)| *spender)
    };
    let in_mempool = tracked.needs().any(|(outpoint, by)| spenders(outpoint).any(|spender| spender != by));
    let is_known = |(outpoint, by): (OutPoint, Txid)| {
        rivals.known.contains(&outpoint)
            || tracked.ancestors.contains_key(&outpoint.txid)
            || state.spent.get(&outpoint).is_some_and(|(_, spender)| *spender == by)
    };
    let otherwise = if tracked.needs().all(is_known) { Fact::No } else { Fact::Unknown };
    let own = tracked.tx.input.iter().map(|input| input.previous_output);
    let conflicts = own.flat_map(|outpoint| {
        let in_block = state.spent.get(&outpoint).map(|(_, spender)| *spender);
        in_block.into_iter().chain(spenders(outpoint))
    });
    Facts {
        conflict_in_chain: if conflict_height.is_some() { Fact::Yes } else { otherwise },
        conflict_height,
        conflict_in_mempool: if in_mempool { Fact::Yes } else { otherwise },
        conflicts: conflicts.filter(|spender| spender != txid).collect(),
        unconfirmed_ancestors: Fact::Unknown,
        ..Facts::undisputed(TxPosition::Absent)
    }
}

/// Follows no longer what a deep block rules out.
pub(super) fn forget_what_is_ruled_out(state: &mut State, tip_height: u32) {
    let is_over = |height: u32| height.saturating_add(RULED_OUT_FOR) <= tip_height;
    state.tracked.retain(|_, tracked| {
        let told = tracked.told.as_ref().and_then(|facts| facts.conflict_height);
        !told.is_some_and(is_over)
    });
    state.spent.retain(|_, (height, _)| !is_over(*height));
}
