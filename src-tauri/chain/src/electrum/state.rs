//! The client's memory from one answer of a look to the next.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use bitcoin::{OutPoint, ScriptBuf, Transaction, Txid};

use super::backoff::Backoff;
use super::calls::{ScriptHash, Status};
use super::header_chain::Headers;
use super::histories::{Entry, History};
use crate::checks::conflicts::Facts;
use crate::checks::merkle_proof::is_provable;
use crate::checks::token::{BlockId, Token, answer_number};
use crate::hot_scripts::HotMark;

/// Limits of the memory: transactions proved to be in a block, and outputs that others spend.
const PROVED_MAX: usize = 50_000;
const SPENT_MAX: usize = 500_000;

/// The format number of a script's state in the database.
const FORM: u8 = 1;

/// Memory that is valid only for the next request with the token `written`.
#[derive(Default)]
pub struct State {
    /// The token of the last answer; `None` at the start and after a failure.
    pub written: Option<Vec<u8>>,
    /// The chain as that answer saw it.
    pub chain: Option<Token>,
    /// The chain before the current look. An incomplete look writes it as the token, so that a
    /// restart repeats the look.
    pub before: Option<Token>,
    /// The current look found another chain, so the states in the database belong to an old chain.
    pub is_new_chain: bool,
    /// The database is correct up to this height; transactions in higher blocks are reported again.
    pub stored_up_to: u32,
    /// The position in the changes of hot scripts.
    pub mark: Option<HotMark>,
    pub scripts: BTreeMap<ScriptHash, Watched>,
    /// Scripts that may have changed since their last report.
    pub pending: BTreeSet<ScriptHash>,
    /// Mined transactions, with their heights, already reported for scripts whose histories did not
    /// fit into one answer.
    pub partly_reported: BTreeMap<ScriptHash, BTreeMap<Txid, u32>>,
    /// Our transactions that are in no block.
    pub tracked: BTreeMap<Txid, Tracked>,
    /// The number of the connection that has the subscriptions.
    pub connection: u64,
    /// The `required` scripts already asked about in the current look; its further answers skip
    /// them.
    pub asked: BTreeSet<ScriptHash>,
    /// The last script that was subscribed to again in turn, in case a notification was lost.
    pub asked_last: Option<ScriptHash>,
    pub retained: Retained,
}

/// The memory that stays valid after a failed look.
#[derive(Default)]
pub struct Retained {
    pub headers: Headers,
    /// The block that was proved to contain a transaction.
    pub proved: HashMap<Txid, BlockId>,
    pub backoff: Backoff<ScriptHash>,
    /// The inputs of transactions that are not ours.
    pub others: HashMap<Txid, Vec<OutPoint>>,
    /// The number of those inputs.
    spent: usize,
}

pub struct Watched {
    pub script: ScriptBuf,
    /// The script is hot, required, or cold and due. Otherwise only a tracked transaction needs it.
    pub is_ours: bool,
    /// The status of the last fully reported history; `None` before that.
    pub reported: Option<Status>,
    /// The server refuses this script, usually because it has too many transactions.
    pub is_refused: bool,
    pub history: Option<History>,
}

/// A transaction of ours that is in no block.
pub struct Tracked {
    pub tx: Transaction,
    /// Scripts whose histories show the transaction's position and conflicts.
    pub scripts: BTreeSet<ScriptHash>,
    /// Our scripts that the transaction was reported for.
    pub reported_with: BTreeSet<ScriptHash>,
    /// The last reported facts.
    pub reported: Option<Facts>,
}

impl Watched {
    /// A script that is not marked as ours.
    pub const fn new(script: ScriptBuf) -> Self {
        Self { script, is_ours: false, reported: None, is_refused: false, history: None }
    }
}

impl State {
    pub fn failed(self) -> Self {
        // The headers may belong partly to another chain if the look failed during a reorg.
        let retained = Retained { headers: Headers::default(), ..self.retained };
        Self { retained, ..Self::default() }
    }

    /// Retries refused scripts at a new block.
    pub fn retry_refused(&mut self, height: u32) {
        for (hash, watched) in self.scripts.iter_mut().filter(|(_, watched)| watched.is_refused) {
            if watched.is_ours || !self.retained.backoff.is_waiting(hash, height) {
                watched.is_refused = false;
                self.pending.insert(*hash);
            }
        }
    }

    /// The entry of a script. An unknown script is added as one of others, and as refused if it is
    /// in backoff.
    pub fn of_other(&mut self, script: &ScriptBuf, height: u32) -> &mut Watched {
        let hash = ScriptHash::from_script(script);
        let is_refused = self.retained.backoff.is_waiting(&hash, height);
        self.scripts
            .entry(hash)
            .or_insert_with(|| Watched { is_refused, ..Watched::new(script.clone()) })
    }

    /// The token of this answer. It equals the last token if nothing is new.
    pub fn next_token(&mut self, mut chain: Token, is_new: bool, more: bool) -> Vec<u8> {
        if is_new {
            chain.answer = answer_number();
        }
        let written = if more {
            chain.unfinished(self.before.as_ref())
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

    pub fn track(&mut self, tx: Transaction) -> &mut Tracked {
        let txid = tx.compute_txid();
        self.tracked.entry(txid).or_insert_with(|| Tracked {
            tx,
            scripts: BTreeSet::new(),
            reported_with: BTreeSet::new(),
            reported: None,
        })
    }

    /// The entry of a transaction in a script's history. The outer `None` means that the history is
    /// unknown.
    pub fn entry(&self, hash: &ScriptHash, txid: &Txid) -> Option<Option<&Entry>> {
        let history = self.scripts.get(hash)?.history.as_ref()?;
        Some(history.entries.iter().find(|entry| entry.txid == *txid))
    }

    /// The number of a script's tracked transactions that are not in `listed`, the script's
    /// history.
    pub fn missing_from(&self, hash: &ScriptHash, listed: &BTreeSet<Txid>) -> usize {
        let of_script = self.tracked.iter().filter(|(_, tracked)| tracked.scripts.contains(hash));
        of_script.filter(|(txid, _)| !listed.contains(*txid)).count()
    }

    /// The number of known history entries of scripts that are not ours.
    pub fn entries_of_others(&self) -> usize {
        let others = self.scripts.values().filter(|watched| !watched.is_ours);
        others
            .filter_map(|watched| watched.history.as_ref())
            .map(|history| history.entries.len())
            .sum()
    }

    /// Forgets the histories that no tracked transaction needs.
    pub fn forget_histories(&mut self) {
        let needed: BTreeSet<&ScriptHash> =
            self.tracked.values().flat_map(|tracked| &tracked.scripts).collect();
        for (hash, watched) in &mut self.scripts {
            if !needed.contains(hash) {
                watched.history = None;
            }
        }
    }

    /// Forgets scripts that are no longer needed, and returns them.
    pub fn drop_unneeded(&mut self) -> Vec<ScriptHash> {
        let needed: BTreeSet<ScriptHash> =
            self.tracked.values().flat_map(|tracked| &tracked.scripts).copied().collect();
        let unneeded = self
            .scripts
            .iter()
            .filter(|(hash, watched)| !watched.is_ours && !needed.contains(*hash));
        let unneeded: Vec<ScriptHash> = unneeded.map(|(hash, _)| *hash).collect();
        for hash in &unneeded {
            self.scripts.remove(hash);
            self.pending.remove(hash);
        }
        unneeded
    }
}

impl Retained {
    /// Notes the inputs of a transaction that is not ours. The inputs of an unprovable transaction
    /// stay unknown.
    pub fn note_other(&mut self, tx: &Transaction) {
        if !is_provable(tx) {
            return;
        }
        if self.others.len() >= SPENT_MAX || self.spent >= SPENT_MAX {
            self.others.clear();
            self.spent = 0;
        }
        self.spent = self.spent.saturating_add(tx.input.len());
        self.others.insert(
            tx.compute_txid(),
            tx.input.iter().map(|input| input.previous_output).collect(),
        );
    }

    pub fn note_proved(&mut self, txid: Txid, block: BlockId) {
        if self.proved.len() >= PROVED_MAX {
            self.proved.clear();
        }
        self.proved.insert(txid, block);
    }
}

/// A script's state for the database, made from its status.
pub fn write(status: Status) -> Vec<u8> {
    let mut bytes = vec![FORM];
    bytes.extend(status.into_iter().flatten());
    bytes
}

/// The status in a script's stored state; `None` if another backend wrote it.
pub fn parse_status(bytes: &[u8]) -> Option<Status> {
    match bytes.strip_prefix(&[FORM])? {
        [] => Some(None),
        status => status.try_into().ok().map(Some),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_status_is_read_back_and_other_formats_are_not() {
        for status in [None, Some([7; 32])] {
            assert_eq!(parse_status(&write(status)), Some(status));
        }
        for other in [&[][..], &[2], &[2; 33], &[1; 9]] {
            assert_eq!(parse_status(other), None);
        }
    }
}
