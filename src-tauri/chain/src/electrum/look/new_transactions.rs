//! Transactions that histories list and the database lacks. They are read within the budget, proved
//! and reported.

use std::collections::{BTreeMap, BTreeSet};

use bitcoin::{Transaction, Txid};
use tillgate_domain::chain::{KnownPosition, TxPosition, is_relayed};

use super::subscriptions::ElectrumLook;
use crate::checks::bounds::{AnswerBudget, MempoolBudget, UNCONFIRMED_PER_SCRIPT_MAX};
use crate::checks::conflicts::{Facts, parents_first, spenders};
use crate::checks::errors::tip_changed;
use crate::checks::header_rules::time;
use crate::checks::merkle_proof::is_provable;
use crate::electrum::calls::ScriptHash;
use crate::electrum::histories::Entry;
use crate::electrum::state::State;
use crate::electrum::transactions;
use crate::port::{ChainDown, TxFacts};

/// The database's transactions of a script.
type Known = BTreeMap<Txid, (Transaction, KnownPosition)>;

/// Transactions in histories that may have to be reported.
#[derive(Default)]
pub struct NewTransactions {
    /// Height of the block of each mined transaction.
    mined: BTreeMap<Txid, u32>,
    waiting: BTreeSet<Txid>,
    /// The known transactions of `mined` and `waiting`.
    txs: BTreeMap<Txid, Transaction>,
    scripts: BTreeMap<Txid, BTreeSet<ScriptHash>>,
    /// Transactions still to be read, in the order of the histories: parents before children.
    missing: Vec<Txid>,
    /// Scripts with too many unconfirmed transactions, which are not reported.
    overfull: BTreeSet<ScriptHash>,
}

/// The outcome of a report.
#[derive(Default)]
pub struct Reported {
    pub txs: Vec<TxFacts>,
    /// Scripts whose remaining transactions wait for the next answer.
    pub cut: BTreeSet<ScriptHash>,
    /// Unreported scripts: they have too much in the mempool, or a transaction that the server does
    /// not deliver.
    pub overfull: BTreeSet<ScriptHash>,
}

impl ElectrumLook<'_> {
    /// Notes the scripts that were not fully reported.
    pub fn note_refused(&mut self, reported: &Reported) {
        for hash in &reported.overfull {
            if let Some(watched) = self.state.scripts.get_mut(hash) {
                tracing::warn!(script = %watched.script.to_hex_string(), "a script has too many unconfirmed transactions, or the Electrum server does not deliver one of its transactions; unconfirmed ones show once they are in a block");
                (watched.is_refused, watched.reported) = (true, None);
            }
        }
        for hash in &reported.cut {
            if let Some(watched) = self.state.scripts.get_mut(hash) {
                watched.reported = None;
                self.state.pending.insert(*hash);
            }
        }
    }

    /// The transactions in these scripts' histories that the database lacks.
    pub fn new_transactions(
        &mut self,
        processed: &[ScriptHash],
    ) -> Result<NewTransactions, ChainDown> {
        let mut new = NewTransactions::default();
        for hash in processed {
            let Some(watched) = self.state.scripts.get(hash) else { continue };
            if !watched.is_ours {
                continue;
            }
            let known = self.request.scripts.known.transactions(&watched.script);
            let known: Known =
                known.into_iter().map(|(tx, at)| (tx.compute_txid(), (tx, at))).collect();
            self.take_entries(hash, &known, &mut new)?;
            self.take_missing(hash, known)?;
        }
        // One script's history may be a moment older than another's.
        new.waiting.retain(|txid| !new.mined.contains_key(txid));
        Ok(new)
    }

    /// Takes over the mined and unconfirmed entries of a script's history.
    fn take_entries(
        &self,
        hash: &ScriptHash,
        known: &Known,
        new: &mut NewTransactions,
    ) -> Result<(), ChainDown> {
        let state = &*self.state;
        let Some(watched) = state.scripts.get(hash) else { return Ok(()) };
        let Some(history) = &watched.history else { return Ok(()) };
        let is_new = |txid: &Txid| !known.contains_key(txid) && !state.tracked.contains_key(txid);
        let is_overfull = is_overfull(state, hash, &history.entries, is_new);
        if is_overfull {
            new.overfull.insert(*hash);
        }
        let partly_reported = state.partly_reported.get(hash);
        for entry in &history.entries {
            let before = known.get(&entry.txid);
            match entry.block() {
                // A block came after the look began.
                Some(height) if height > self.tip.height => return Err(tip_changed()),
                Some(height) => {
                    let is_stored =
                        before.is_some_and(|(_, at)| *at == KnownPosition::Block(height));
                    let is_sure = is_stored
                        && height <= state.stored_up_to
                        && !state.tracked.contains_key(&entry.txid);
                    if is_sure
                        || partly_reported
                            .and_then(|partly_reported| partly_reported.get(&entry.txid))
                            == Some(&height)
                    {
                        continue;
                    }
                    new.mined.insert(entry.txid, height);
                }
                // Stored transactions of an overfull script are still followed until a block
                // settles them.
                None if is_overfull && is_new(&entry.txid) => continue,
                None => {
                    new.waiting.insert(entry.txid);
                }
            }
            match before {
                Some((tx, _)) => drop(new.txs.insert(entry.txid, tx.clone())),
                None if is_new(&entry.txid) => new.missing.push(entry.txid),
                None => {}
            }
        }
        for entry in &history.entries {
            new.scripts.entry(entry.txid).or_default().insert(*hash);
            if let Some(tracked) = state.tracked.get(&entry.txid) {
                new.txs.insert(entry.txid, tracked.tx.clone());
            }
        }
        Ok(())
    }

    /// Tracks transactions of the database that a script's history lacks.
    fn take_missing(&mut self, hash: &ScriptHash, known: Known) -> Result<(), ChainDown> {
        let Some(history) =
            self.state.scripts.get(hash).and_then(|watched| watched.history.as_ref())
        else {
            return Ok(());
        };
        let listed: BTreeSet<Txid> = history.entries.iter().map(|entry| entry.txid).collect();
        for (txid, (tx, at)) in known.into_iter().filter(|(txid, _)| !listed.contains(txid)) {
            if matches!(at, KnownPosition::Block(height) if height <= self.state.stored_up_to) {
                return Err(ChainDown::of_text(format!(
                    "the server withholds transaction {txid}, which is in a block of the best chain; do not trust this server"
                )));
            }
            let tracked = self.state.track(tx);
            tracked.scripts.insert(*hash);
            tracked.reported = None;
        }
        Ok(())
    }

    /// Reads missing transactions within the budget, and drops the rest. Returns the scripts with
    /// dropped transactions.
    fn read_missing(
        &mut self,
        new: &mut NewTransactions,
        budget: &mut AnswerBudget,
    ) -> Result<Reported, ChainDown> {
        let mut seen = BTreeSet::new();
        new.missing.retain(|txid| !new.txs.contains_key(txid) && seen.insert(*txid));
        let read = transactions::read_within(&self.asker, &new.missing, budget)?;
        let mut reported =
            Reported { overfull: std::mem::take(&mut new.overfull), ..Reported::default() };
        let mut left =
            MempoolBudget::beside(self.state.tracked.values().map(|tracked| &tracked.tx));
        for txid in &new.missing {
            let scripts = || new.scripts.get(txid).into_iter().flatten().copied();
            match read.get(txid) {
                None if self.asker.is_undeliverable(txid) => reported.overfull.extend(scripts()),
                None => reported.cut.extend(scripts()),
                Some(tx) if new.waiting.contains(txid) && is_relayed(tx) && !left.take(tx) => {
                    reported.overfull.extend(scripts());
                }
                Some(_) => {}
            }
        }
        let is_dropped = |txid: &Txid| match read.get(txid) {
            None => true,
            Some(tx) => new.waiting.contains(txid) && !is_relayed(tx),
        };
        let dropped: BTreeSet<Txid> =
            new.missing.iter().filter(|txid| is_dropped(txid)).copied().collect();
        new.mined.retain(|txid, _| !dropped.contains(txid));
        new.waiting.retain(|txid| !dropped.contains(txid));
        let is_overfull = |txid: &Txid| {
            new.scripts
                .get(txid)
                .is_some_and(|of| of.iter().any(|hash| reported.overfull.contains(hash)))
        };
        let too_much: BTreeSet<Txid> = read
            .keys()
            .filter(|txid| new.waiting.contains(*txid) && is_overfull(txid))
            .copied()
            .collect();
        new.waiting.retain(|txid| !too_much.contains(txid));
        new.txs.extend(
            read.into_iter()
                .filter(|(txid, _)| !dropped.contains(txid) && !too_much.contains(txid)),
        );
        self.note_begun(new, &reported.cut, &dropped);
        Ok(reported)
    }

    /// Notes the mined transactions already reported for scripts that do not fit into this answer.
    /// The list ends at the first dropped transaction, whose spenders must follow it.
    fn note_begun(
        &mut self,
        new: &NewTransactions,
        cut: &BTreeSet<ScriptHash>,
        dropped: &BTreeSet<Txid>,
    ) {
        let state = &mut *self.state;
        let asked: BTreeSet<ScriptHash> = new.scripts.values().flatten().copied().collect();
        state.partly_reported.retain(|hash, _| !asked.contains(hash));
        for hash in cut {
            let Some(history) =
                state.scripts.get(hash).and_then(|watched| watched.history.as_ref())
            else {
                continue;
            };
            let reported =
                history.entries.iter().take_while(|entry| !dropped.contains(&entry.txid));
            let reported =
                reported.filter_map(|entry| Some((entry.txid, entry.block()?))).collect();
            state.partly_reported.insert(*hash, reported);
        }
    }

    /// Proves new transactions, and reports the confirmed ones. Unconfirmed ones are tracked.
    pub fn report(
        &mut self,
        mut new: NewTransactions,
        budget: &mut AnswerBudget,
    ) -> Result<Reported, ChainDown> {
        let mut answer = self.read_missing(&mut new, budget)?;
        // `|` calls `concerns` for each transaction, since a later transaction may spend its
        // outputs.
        let is_ours = |tx: &Transaction| {
            self.request.watch.concerns(tx) | self.state.tracked.contains_key(&tx.compute_txid())
        };
        let (ours, others): (Vec<_>, Vec<_>) =
            parents_first(std::mem::take(&mut new.txs), |tx| tx).into_iter().partition(is_ours);
        // The position of an unprovable transaction is unknown.
        let (ours, _): (Vec<_>, Vec<_>) = ours
            .into_iter()
            .partition(|tx| is_provable(tx) || !new.mined.contains_key(&tx.compute_txid()));
        others.iter().for_each(|tx| self.state.retained.note_other(tx));
        let mined = ours.iter().filter_map(|tx| Some((tx, *new.mined.get(&tx.compute_txid())?)));
        transactions::prove(&self.asker, self.network, &mut self.state.retained, mined)?;
        let rivals = spenders(self.state.tracked.iter().map(|(txid, tracked)| (txid, &tracked.tx)));
        let mut reported = Vec::new();
        for tx in ours {
            let txid = tx.compute_txid();
            let Some(height) = new.mined.get(&txid) else {
                let scripts = new.scripts.remove(&txid).unwrap_or_default();
                let tracked = self.state.track(tx);
                if !scripts.is_subset(&tracked.reported_with) {
                    // The coin of this script that the transaction spends may be known only now.
                    tracked.reported = None;
                }
                tracked.scripts.extend(&scripts);
                tracked.reported_with.extend(scripts);
                continue;
            };
            let Some(header) = self.state.retained.headers.at(*height) else { continue };
            let position = TxPosition::Block { height: *height, time: time(header) };
            self.state.tracked.remove(&txid);
            let spent =
                tx.input.iter().filter_map(|input| rivals.get(&input.previous_output)).flatten();
            let conflicts: BTreeSet<Txid> = spent
                .filter(|by| **by != txid && self.state.tracked.contains_key(*by))
                .copied()
                .collect();
            let conflicts = conflicts.into_iter().collect();
            reported.push(Facts { conflicts, ..Facts::undisputed(position) }.of(tx));
        }
        answer.txs = reported;
        Ok(answer)
    }
}

/// Whether a script has too many unconfirmed transactions. Earlier ones that are now missing count
/// too.
fn is_overfull(
    state: &State,
    hash: &ScriptHash,
    entries: &[Entry],
    is_new: impl Fn(&Txid) -> bool,
) -> bool {
    let waiting = || entries.iter().filter(|entry| entry.block().is_none());
    if !waiting().any(|entry| is_new(&entry.txid)) {
        return false;
    }
    let listed: BTreeSet<Txid> = entries.iter().map(|entry| entry.txid).collect();
    waiting().count().saturating_add(state.missing_from(hash, &listed)) > UNCONFIRMED_PER_SCRIPT_MAX
}
