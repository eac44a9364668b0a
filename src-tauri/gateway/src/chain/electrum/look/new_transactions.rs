//! News of histories: transactions that the database lacks are read while there is room, proved and reported.

use std::collections::{BTreeMap, BTreeSet};

use bitcoin::{Transaction, Txid};
use tillgate_domain::chain::{KnownPosition, TxPosition, is_relayed};

use super::subscriptions::Look;
use crate::chain::checks::bounds::{AnswerBudget, MempoolBudget, UNCONFIRMED_PER_SCRIPT_MAX};
use crate::chain::checks::conflicts::{Facts, parents_first, spenders};
use crate::chain::checks::errors::tip_changed;
use crate::chain::checks::header_rules::time;
use crate::chain::checks::merkle_proof::is_provable;
use crate::chain::electrum::calls::ScriptHash;
use crate::chain::electrum::histories::Entry;
use crate::chain::electrum::state::State;
use crate::chain::electrum::transactions;
use crate::chain::port::{ChainDown, TxFacts};

/// The database's transactions of a script.
type Known = BTreeMap<Txid, (Transaction, KnownPosition)>;

/// Transactions in histories that may have to be reported.
#[derive(Default)]
pub(super) struct News {
    /// Height of the block of each mined transaction.
    mined: BTreeMap<Txid, u32>,
    waiting: BTreeSet<Txid>,
    /// The known transactions of both.
    txs: BTreeMap<Txid, Transaction>,
    scripts: BTreeMap<Txid, BTreeSet<ScriptHash>>,
    /// Transactions still to be read, in the order of the histories: parents before children.
    missing: Vec<Txid>,
    /// Scripts with too much in the mempool, which are not reported.
    overfull: BTreeSet<ScriptHash>,
}

/// The outcome of news.
#[derive(Default)]
pub(super) struct Told {
    pub txs: Vec<TxFacts>,
    /// Scripts whose remaining transactions wait for the next answer.
    pub cut: BTreeSet<ScriptHash>,
    /// Unreported scripts: they have too much in the mempool, or a transaction that the server does not deliver.
    pub overfull: BTreeSet<ScriptHash>,
}

impl Look<'_> {
    /// Notes the scripts that were not fully reported.
    pub(super) fn note_refused(&mut self, told: &Told) {
        for hash in &told.overfull {
            if let Some(watched) = self.state.scripts.get_mut(hash) {
                tracing::warn!(script = %watched.script.to_hex_string(), "more waits in the Electrum server's mempool for a script than is taken, or more than it tells; what there is of it shows with the blocks");
                (watched.is_refused, watched.told) = (true, None);
            }
        }
        for hash in &told.cut {
            if let Some(watched) = self.state.scripts.get_mut(hash) {
                watched.told = None;
                self.state.pending.insert(*hash);
            }
        }
    }

    /// The transactions in these scripts' histories that the database lacks.
    pub(super) fn news(&mut self, processed: &[ScriptHash]) -> Result<News, ChainDown> {
        let mut news = News::default();
        for hash in processed {
            let Some(watched) = self.state.scripts.get(hash) else { continue };
            if !watched.is_ours {
                continue;
            }
            let known = self.request.scripts.known.transactions(&watched.script);
            let known: Known = known.into_iter().map(|(tx, at)| (tx.compute_txid(), (tx, at))).collect();
            self.take_entries(hash, &known, &mut news)?;
            self.take_missing(hash, known)?;
        }
        // One script's history may be a moment older than another's.
        news.waiting.retain(|txid| !news.mined.contains_key(txid));
        Ok(news)
    }

    /// Takes over the mined and unconfirmed entries of a script's history.
    fn take_entries(&self, hash: &ScriptHash, known: &Known, news: &mut News) -> Result<(), ChainDown> {
        let state = &*self.state;
        let Some(watched) = state.scripts.get(hash) else { return Ok(()) };
        let Some(history) = &watched.history else { return Ok(()) };
        let is_new = |txid: &Txid| !known.contains_key(txid) && !state.tracked.contains_key(txid);
        let is_overfull = is_overfull(state, hash, &history.entries, is_new);
        if is_overfull {
            news.overfull.insert(*hash);
        }
        let begun = state.begun.get(hash);
        for entry in &history.entries {
            let before = known.get(&entry.txid);
            match entry.block() {
                // A block came after the look began.
                Some(height) if height > self.tip.height => return Err(tip_changed()),
                Some(height) => {
                    let is_stored = before.is_some_and(|(_, at)| *at == KnownPosition::Block(height));
                    let is_sure = is_stored && height <= state.sure_up_to && !state.tracked.contains_key(&entry.txid);
                    if is_sure || begun.and_then(|begun| begun.get(&entry.txid)) == Some(&height) {
                        continue;
                    }
                    news.mined.insert(entry.txid, height);
                }
                // Stored transactions of an overfull script are still followed until a block settles them.
                None if is_overfull && is_new(&entry.txid) => continue,
                None => {
                    news.waiting.insert(entry.txid);
                }
            }
            match before {
                Some((tx, _)) => drop(news.txs.insert(entry.txid, tx.clone())),
                None if is_new(&entry.txid) => news.missing.push(entry.txid),
                None => {}
            }
        }
        for entry in &history.entries {
            news.scripts.entry(entry.txid).or_default().insert(*hash);
            if let Some(tracked) = state.tracked.get(&entry.txid) {
                news.txs.insert(entry.txid, tracked.tx.clone());
            }
        }
        Ok(())
    }

    /// Tracks transactions of the database that a script's history lacks.
    fn take_missing(&mut self, hash: &ScriptHash, known: Known) -> Result<(), ChainDown> {
        let Some(history) = self.state.scripts.get(hash).and_then(|watched| watched.history.as_ref()) else {
            return Ok(());
        };
        let told: BTreeSet<Txid> = history.entries.iter().map(|entry| entry.txid).collect();
        for (txid, (tx, at)) in known.into_iter().filter(|(txid, _)| !told.contains(txid)) {
            if matches!(at, KnownPosition::Block(height) if height <= self.state.sure_up_to) {
                return Err(ChainDown(format!(
                    "the server keeps back transaction {txid}, which is in a block of the best chain; do not trust this server"
                )));
            }
            let tracked = self.state.track(tx);
            tracked.scripts.insert(*hash);
            tracked.told = None;
        }
        Ok(())
    }

    /// Reads unknown transactions while there is room, and drops the rest. Returns the scripts with dropped
    /// transactions.
    fn read_missing(&mut self, news: &mut News, budget: &mut AnswerBudget) -> Result<Told, ChainDown> {
        let mut seen = BTreeSet::new();
        news.missing.retain(|txid| !news.txs.contains_key(txid) && seen.insert(*txid));
        let read = transactions::read_within(&self.asker, &news.missing, budget)?;
        let mut told = Told { overfull: std::mem::take(&mut news.overfull), ..Told::default() };
        let mut left = MempoolBudget::beside(self.state.tracked.values().map(|tracked| &tracked.tx));
        for txid in &news.missing {
            let scripts = || news.scripts.get(txid).into_iter().flatten().copied();
            match read.get(txid) {
                None if self.asker.is_undeliverable(txid) => told.overfull.extend(scripts()),
                None => told.cut.extend(scripts()),
                Some(tx) if news.waiting.contains(txid) && is_relayed(tx) && !left.take(tx) => {
                    told.overfull.extend(scripts());
                }
                Some(_) => {}
            }
        }
        let is_dropped = |txid: &Txid| match read.get(txid) {
            None => true,
            Some(tx) => news.waiting.contains(txid) && !is_relayed(tx),
        };
        let dropped: BTreeSet<Txid> = news.missing.iter().filter(|txid| is_dropped(txid)).copied().collect();
        news.mined.retain(|txid, _| !dropped.contains(txid));
        news.waiting.retain(|txid| !dropped.contains(txid));
        let is_overfull =
            |txid: &Txid| news.scripts.get(txid).is_some_and(|of| of.iter().any(|hash| told.overfull.contains(hash)));
        let too_much: BTreeSet<Txid> =
            read.keys().filter(|txid| news.waiting.contains(*txid) && is_overfull(txid)).copied().collect();
        news.waiting.retain(|txid| !too_much.contains(txid));
        news.txs.extend(read.into_iter().filter(|(txid, _)| !dropped.contains(txid) && !too_much.contains(txid)));
        self.note_begun(news, &told.cut, &dropped);
        Ok(told)
    }

    /// Notes the mined transactions reported for a script that does not fit into this answer. They end at the first
    /// dropped one, whose spenders must follow it.
    fn note_begun(&mut self, news: &News, cut: &BTreeSet<ScriptHash>, dropped: &BTreeSet<Txid>) {
        let state = &mut *self.state;
        let asked: BTreeSet<ScriptHash> = news.scripts.values().flatten().copied().collect();
        state.begun.retain(|hash, _| !asked.contains(hash));
        for hash in cut {
            let Some(history) = state.scripts.get(hash).and_then(|watched| watched.history.as_ref()) else { continue };
            let told = history.entries.iter().take_while(|entry| !dropped.contains(&entry.txid));
            let told = told.filter_map(|entry| Some((entry.txid, entry.block()?))).collect();
            state.begun.insert(*hash, told);
        }
    }

    /// Proves the news, and reports what is confirmed. Unconfirmed transactions are tracked.
    pub(super) fn tell(&mut self, mut news: News, budget: &mut AnswerBudget) -> Result<Told, ChainDown> {
        let mut answer = self.read_missing(&mut news, budget)?;
        // Each is checked, since a later one may spend its outputs.
        let is_ours =
            |tx: &Transaction| self.request.watch.concerns(tx) | self.state.tracked.contains_key(&tx.compute_txid());
        let (ours, others): (Vec<_>, Vec<_>) =
            parents_first(std::mem::take(&mut news.txs), |tx| tx).into_iter().partition(is_ours);
        // The place of an unprovable transaction is unknown.
        let (ours, _): (Vec<_>, Vec<_>) =
            ours.into_iter().partition(|tx| is_provable(tx) || !news.mined.contains_key(&tx.compute_txid()));
        others.iter().for_each(|tx| self.state.lasting.note_other(tx));
        let mined = ours.iter().filter_map(|tx| Some((tx, *news.mined.get(&tx.compute_txid())?)));
        transactions::prove(&self.asker, self.network, &mut self.state.lasting, mined)?;
        let rivals = spenders(self.state.tracked.iter().map(|(txid, tracked)| (txid, &tracked.tx)));
        let mut told = Vec::new();
        for tx in ours {
            let txid = tx.compute_txid();
            let Some(height) = news.mined.get(&txid) else {
                let scripts = news.scripts.remove(&txid).unwrap_or_default();
                let tracked = self.state.track(tx);
                if !scripts.is_subset(&tracked.told_with) {
                    // The coin that it spends of a script may be known only now.
                    tracked.told = None;
                }
                tracked.scripts.extend(&scripts);
                tracked.told_with.extend(scripts);
                continue;
            };
            let Some(header) = self.state.lasting.headers.at(*height) else { continue };
            let position = TxPosition::Block { height: *height, time: time(header) };
            self.state.tracked.remove(&txid);
            let spent = tx.input.iter().filter_map(|input| rivals.get(&input.previous_output)).flatten();
            let conflicts: BTreeSet<Txid> =
                spent.filter(|by| **by != txid && self.state.tracked.contains_key(*by)).copied().collect();
            let conflicts = conflicts.into_iter().collect();
            told.push(Facts { conflicts, ..Facts::undisputed(position) }.of(tx));
        }
        answer.txs = told;
        Ok(answer)
    }
}

/// Whether a script has too many unconfirmed transactions. Earlier ones that are now missing count too.
fn is_overfull(state: &State, hash: &ScriptHash, entries: &[Entry], is_new: impl Fn(&Txid) -> bool) -> bool {
    let waiting = || entries.iter().filter(|entry| entry.block().is_none());
    if !waiting().any(|entry| is_new(&entry.txid)) {
        return false;
    }
    let told: BTreeSet<Txid> = entries.iter().map(|entry| entry.txid).collect();
    waiting().count().saturating_add(state.missing_from(hash, &told)) > UNCONFIRMED_PER_SCRIPT_MAX
}
