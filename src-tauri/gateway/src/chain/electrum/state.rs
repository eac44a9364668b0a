//! What is remembered from one answer to the next.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use bitcoin::{OutPoint, ScriptBuf, Transaction, Txid};

use super::call::{ScriptHash, Status};
use super::headers::Headers;
use super::history::{Entry, History};
use super::put_off::PutOff;
use crate::chain::facts::Facts;
use crate::chain::hot::HotMark;
use crate::chain::proof::is_provable;
use crate::chain::token::{BlockId, Token, answer_number};

/// Transactions that were proved to be in a block, and outputs that others spend, that are remembered.
const PROVED_MAX: usize = 50_000;
const SPENT_MAX: usize = 500_000;

/// The form of a script's state in the database.
const FORM: u8 = 1;

/// What is remembered. It belongs to the answer whose token it holds.
#[derive(Default)]
pub(super) struct State {
    /// The token of the last answer; `None` at the start, and after a failure.
    pub written: Option<Vec<u8>>,
    /// The chain as that answer saw it.
    pub chain: Option<Token>,
    /// The chain as it was seen before the look that is under way. Until all of that look was told, its answers end there:
    /// whoever goes on from one after a restart begins it again.
    pub before: Option<Token>,
    /// The look that is under way found another chain: what the database has of scripts is of that.
    pub is_anew: bool,
    /// What the database has of blocks up to this height is so; what it has of those above is told again.
    pub sure_up_to: u32,
    /// How far the hot scripts were read.
    pub mark: Option<HotMark>,
    pub scripts: BTreeMap<ScriptHash, Watched>,
    /// Scripts of which something may have changed since it was told.
    pub pending: BTreeSet<ScriptHash>,
    /// What was told of scripts whose histories did not fit into one answer: transactions of blocks, with their heights.
    pub begun: BTreeMap<ScriptHash, BTreeMap<Txid, u32>>,
    /// Transactions of ours that no block holds.
    pub tracked: BTreeMap<Txid, Tracked>,
    /// The connection over which scripts were last subscribed to.
    pub connection: u64,
    /// Scripts that had to be asked about and were, in the look that is under way: its further answers need not ask again.
    pub asked: BTreeSet<ScriptHash>,
    /// The script that was last asked about although its notifications should do.
    pub asked_last: Option<ScriptHash>,
    pub lasting: Lasting,
}

/// What stays true whatever fails.
#[derive(Default)]
pub(super) struct Lasting {
    pub headers: Headers,
    /// In which block a transaction was proved to be.
    pub proved: HashMap<Txid, BlockId>,
    /// Scripts of others about which nothing is asked for a while.
    pub put_off: PutOff<ScriptHash>,
    /// What transactions that are not ours spend.
    pub others: HashMap<Txid, Vec<OutPoint>>,
    /// How many outputs those are.
    spent: usize,
}

/// A script that is asked about.
pub(super) struct Watched {
    pub script: ScriptBuf,
    /// It is hot, must be asked about, or has its turn; else it is asked about for a tracked transaction alone.
    pub is_ours: bool,
    /// The status of the history of which all was told; `None` where none was.
    pub told: Option<Status>,
    /// The server does not tell of it: it holds too much.
    pub is_refused: bool,
    /// As it was last read, where it was.
    pub history: Option<History>,
}

/// A transaction of ours that no block holds.
pub(super) struct Tracked {
    pub tx: Transaction,
    /// Scripts whose histories tell where it stands, and what else spends its inputs.
    pub scripts: BTreeSet<ScriptHash>,
    /// Scripts of ours with whose histories it was told.
    pub told_with: BTreeSet<ScriptHash>,
    /// What was last told of it.
    pub told: Option<Facts>,
}

impl Watched {
    /// One that is asked about and not ours, unless it is said to be.
    pub(super) const fn new(script: ScriptBuf) -> Self {
        Self { script, is_ours: false, told: None, is_refused: false, history: None }
    }
}

impl State {
    /// What is still true after a failure.
    pub(super) fn failed(self) -> Self {
        // Headers may be of a chain that was left half-way.
        let lasting = Lasting { headers: Headers::default(), ..self.lasting };
        Self { lasting, ..Self::default() }
    }

    /// What a server does not tell at one block it may tell at the next.
    pub(super) fn try_refused_again(&mut self, height: u32) {
        for (hash, watched) in self.scripts.iter_mut().filter(|(_, watched)| watched.is_refused) {
            if watched.is_ours || !self.lasting.put_off.holds(hash, height) {
                watched.is_refused = false;
                self.pending.insert(*hash);
            }
        }
    }

    /// A script, as another's where it is not known to be ours. One of which nothing was told lately is not asked about.
    pub(super) fn of_other(&mut self, script: &ScriptBuf, height: u32) -> &mut Watched {
        let hash = ScriptHash::of(script);
        let is_refused = self.lasting.put_off.holds(&hash, height);
        self.scripts.entry(hash).or_insert_with(|| Watched { is_refused, ..Watched::new(script.clone()) })
    }

    /// The token of this answer, by which the next one goes on; that of the last answer where nothing is new.
    pub(super) fn next_token(&mut self, mut chain: Token, is_new: bool, more: bool) -> Vec<u8> {
        if is_new {
            chain.answer = answer_number();
        }
        let written = if more {
            chain.unended(self.before.as_ref())
        } else {
            chain.end();
            self.before = Some(chain.clone());
            chain.clone()
        };
        self.chain = Some(chain);
        let written = written.write();
        self.written = Some(written.clone());
        written
    }

    /// Follows a transaction from now on.
    pub(super) fn track(&mut self, tx: Transaction) -> &mut Tracked {
        let txid = tx.compute_txid();
        self.tracked.entry(txid).or_insert_with(|| Tracked {
            tx,
            scripts: BTreeSet::new(),
            told_with: BTreeSet::new(),
            told: None,
        })
    }

    /// The entry for a transaction in a script's history; `None` where the history is not known.
    pub(super) fn entry(&self, hash: &ScriptHash, txid: &Txid) -> Option<Option<&Entry>> {
        let history = self.scripts.get(hash)?.history.as_ref()?;
        Some(history.entries.iter().find(|entry| entry.txid == *txid))
    }

    /// Transactions of a script that are missing from its history as it was told.
    pub(super) fn missing_from(&self, hash: &ScriptHash, told: &BTreeSet<Txid>) -> usize {
        let of_script = self.tracked.iter().filter(|(_, tracked)| tracked.scripts.contains(hash));
        of_script.filter(|(txid, _)| !told.contains(*txid)).count()
    }

    /// How many entries the histories have that are known of scripts which are not ours.
    pub(super) fn entries_of_others(&self) -> usize {
        let others = self.scripts.values().filter(|watched| !watched.is_ours);
        others.filter_map(|watched| watched.history.as_ref()).map(|history| history.entries.len()).sum()
    }

    /// Forgets the histories in which nothing of ours moves.
    pub(super) fn forget_histories(&mut self) {
        let needed: BTreeSet<&ScriptHash> = self.tracked.values().flat_map(|tracked| &tracked.scripts).collect();
        for (hash, watched) in &mut self.scripts {
            if !needed.contains(hash) {
                watched.history = None;
            }
        }
    }

    /// Forgets scripts that nobody asks about any more, and answers which.
    pub(super) fn drop_unneeded(&mut self) -> Vec<ScriptHash> {
        let needed: BTreeSet<ScriptHash> =
            self.tracked.values().flat_map(|tracked| &tracked.scripts).copied().collect();
        let unneeded = self.scripts.iter().filter(|(hash, watched)| !watched.is_ours && !needed.contains(*hash));
        let unneeded: Vec<ScriptHash> = unneeded.map(|(hash, _)| *hash).collect();
        for hash in &unneeded {
            self.scripts.remove(hash);
            self.pending.remove(hash);
        }
        unneeded
    }
}

impl Lasting {
    /// What one that is not ours spends; of one whose place nothing proves that is as good as unknown.
    pub(super) fn note_other(&mut self, tx: &Transaction) {
        if !is_provable(tx) {
            return;
        }
        if self.others.len() >= SPENT_MAX || self.spent >= SPENT_MAX {
            self.others.clear();
            self.spent = 0;
        }
        self.spent = self.spent.saturating_add(tx.input.len());
        self.others.insert(tx.compute_txid(), tx.input.iter().map(|input| input.previous_output).collect());
    }

    /// Notes in which block a transaction was proved to be.
    pub(super) fn note_proved(&mut self, txid: Txid, block: BlockId) {
        if self.proved.len() >= PROVED_MAX {
            self.proved.clear();
        }
        self.proved.insert(txid, block);
    }
}

/// A status as the database has it.
pub(super) fn write(status: Status) -> Vec<u8> {
    let mut bytes = vec![FORM];
    bytes.extend(status.into_iter().flatten());
    bytes
}

/// `None` where it is another backend's.
pub(super) fn read(bytes: &[u8]) -> Option<Status> {
    match bytes.strip_prefix(&[FORM])? {
        [] => Some(None),
        status => status.try_into().ok().map(Some),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_read_as_it_was_written_and_no_other_is() {
        for status in [None, Some([7; 32])] {
            assert_eq!(read(&write(status)), Some(status));
        }
        for other in [&[][..], &[2], &[2; 33], &[1; 9]] {
            assert_eq!(read(other), None);
        }
    }
}
