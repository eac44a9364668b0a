//! What there is to tell of our unconfirmed transactions: what each rests on, and what rules it out.

use std::collections::{BTreeMap, BTreeSet};

use bitcoin::{OutPoint, Transaction, Txid};

use super::Asking;
use super::answers::SpendAnswer;
use super::positions::{self, is_coinbase_input};
use super::server::NoAnswer;
use super::state::{Rivals, Seen, State, Tracked};
use crate::chain::facts::{ENTERED_UNKNOWN, Facts, Output, is_final, missing_ancestors, needs, of_absent, spenders};
use crate::chain::room::{Room, is_relayed};
use crate::chain::{ChainDown, Fact, TxPosition};

/// Transactions that are asked about for one of ours: what it rests on, and what spends the same. What rests on more is not
/// accepted without confirmation.
const ASKED_MAX: usize = 40;

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
    let (mut ancestors, tx) = (BTreeMap::new(), tracked.tx.clone());
    let mut rests = line(asking, state, &tx, &mut ancestors)?;
    let mut room = Room::beside(state.followed());
    if !ancestors.values().all(|ancestor| is_relayed(ancestor) && room.take(ancestor)) {
        rests = None;
    }
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
    state: &mut State,
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
            None => match positions::ask(asking, state, parent)? {
                Some(sight) if sight.status.confirmed => continue,
                Some(sight) => sight.tx,
                None => return Ok(None),
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
    let mut needed: BTreeMap<Txid, Vec<(OutPoint, Txid)>> = BTreeMap::new();
    for (outpoint, by) in needs(&tracked.tx, &tracked.ancestors) {
        needed.entry(outpoint.txid).or_default().push((outpoint, by));
    }
    let mut rivals = Rivals::default();
    for (parent, outputs) in needed.into_iter().take(ASKED_MAX) {
        if !asking.take_turn() {
            break;
        }
        // What the server does not know at all, or fails at, it says nothing of: nobody knows.
        let path = format!("/tx/{parent}/outspends");
        let spends: Option<Vec<SpendAnswer>> =
            state.ask_of_strangers(asking.server, path.clone(), |_| asking.server.json(&path))?;
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
    let Some(sight) = positions::ask(asking, state, spender)? else { return Ok(()) };
    if !sight.tx.input.iter().any(|input| input.previous_output == outpoint) {
        let down = ChainDown(format!(
            "the server says that transaction {spender} spends {outpoint}, which it does not; do not trust this server"
        ));
        return Err(down.into());
    }
    let proof = format!("/tx/{spender}/merkle-proof");
    if let Some(height) =
        state.ask_of_strangers(asking.server, proof, |state| positions::block_of(asking, state, &sight))?
    {
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
    let Some(tracked) = state.tracked.get(txid) else { return };
    let missing = |parent: &Txid| {
        let known = state.tracked.get(parent).filter(|known| known.seen.is_none());
        known.map(|known| &known.tx)
    };
    let found: Vec<(Txid, Transaction)> =
        missing_ancestors(&tracked.tx, missing).into_iter().map(|(txid, tx)| (txid, tx.clone())).collect();
    if let Some(tracked) = state.tracked.get_mut(txid) {
        tracked.ancestors.extend(found);
    }
}

/// What is to be told of each tracked transaction that was asked about, where it is not what was last told.
pub(super) fn changed(state: &State) -> BTreeMap<Txid, Facts> {
    let own = spenders(state.tracked.iter().map(|(txid, tracked)| (txid, &tracked.tx)));
    let mut changed = BTreeMap::new();
    for (txid, tracked) in state.tracked.iter().filter(|(_, tracked)| tracked.is_asked) {
        let facts = match &tracked.seen {
            Some(seen) => of_mempool(seen),
            None => of_missing(tracked, state),
        };
        let facts = facts.with_rivals(txid, &tracked.tx, &own);
        if facts.are_news_after(tracked.told.as_ref()) {
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

/// A mempool holds nothing that conflicts with the chain or with itself.
fn of_mempool(seen: &Seen) -> Facts {
    Facts {
        unconfirmed_ancestors: seen.rests_on_unconfirmed.map_or(Fact::Unknown, Fact::from),
        fee_rate: seen.fee_rate,
        ..Facts::undisputed(TxPosition::Mempool { entered: ENTERED_UNKNOWN })
    }
}

/// Of a transaction that is in neither mempool nor chain. Whether a block made what it needs nobody asked.
fn of_missing(tracked: &Tracked, state: &State) -> Facts {
    let rivals = &tracked.rivals;
    of_absent(&tracked.tx, &tracked.ancestors, |outpoint| {
        let in_mempool = rivals.in_mempool.iter().filter(|(spent, _)| spent == outpoint).map(|(_, spender)| *spender);
        Output {
            in_chain: state.spent.get(outpoint).copied(),
            in_mempool: in_mempool.collect(),
            is_known: rivals.known.contains(outpoint),
            is_unspent: false,
        }
    })
}

/// Follows no longer what a deep block rules out.
pub(super) fn forget_what_is_ruled_out(state: &mut State, tip_height: u32) {
    state
        .tracked
        .retain(|_, tracked| !tracked.told.as_ref().is_some_and(|facts| facts.is_ruled_out_for_good(tip_height)));
    state.spent.retain(|_, (height, _)| !is_final(*height, tip_height));
}
