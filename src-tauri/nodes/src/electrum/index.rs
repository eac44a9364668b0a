//! The index from scripts to transactions, which an Electrum server adds to a node.

use std::collections::{BTreeSet, HashMap};

use bitcoin::hashes::{Hash as _, sha256};
use bitcoin::{BlockHash, OutPoint, Script, Transaction, Txid};
use tillgate_sandbox::{Sandbox, SandboxError, TxPosition};

/// Number of the sandbox's changes that are read at a time.
const CHANGES: usize = 500;

/// One entry of a script's history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Entry {
    pub txid: Txid,
    /// 0 in the mempool; -1 there if it has an unconfirmed parent.
    pub height: i64,
    /// Set for transactions in the mempool.
    pub fee_sats: Option<u64>,
}

/// The transactions of a chain and its mempool, by script.
#[derive(Default)]
pub(super) struct Index {
    cursor: i64,
    pub height: u32,
    txs: HashMap<Txid, Known>,
    scripts: HashMap<String, BTreeSet<Txid>>,
    /// The position of each transaction within its block.
    places: HashMap<BlockHash, HashMap<Txid, usize>>,
    /// Script hashes in the order in which their histories changed.
    pub touched: Vec<String>,
}

struct Known {
    tx: Transaction,
    position: TxPosition,
}

impl Index {
    /// Reads the sandbox's changes since the last call.
    pub(super) fn refresh(&mut self, sandbox: &Sandbox) -> Result<(), SandboxError> {
        if self.cursor > 0 && sandbox.last_change()? == self.cursor {
            return Ok(());
        }
        loop {
            let changes = sandbox.changes_since(self.cursor, CHANGES)?;
            self.cursor = changes.cursor;
            self.height = changes.tip.height;
            let changed: Vec<Txid> = changes.txs.iter().map(|view| view.txid).collect();
            for view in changes.txs {
                if let TxPosition::Block { height, hash, .. } = view.position
                    && !self.places.contains_key(&hash)
                    && let Some(block) =
                        sandbox.block(height)?.filter(|block| block.block_hash() == hash)
                {
                    let places = block
                        .txdata
                        .iter()
                        .enumerate()
                        .map(|(place, tx)| (tx.compute_txid(), place));
                    self.places.insert(hash, places.collect());
                }
                self.txs.insert(view.txid, Known { tx: view.tx, position: view.position });
            }
            for txid in changed {
                self.touch(txid);
            }
            if !changes.more {
                return Ok(());
            }
        }
    }

    fn touch(&mut self, txid: Txid) {
        let Some(known) = self.txs.get(&txid) else { return };
        let paid = known.tx.output.iter().map(|output| script_hash(&output.script_pubkey));
        let spent =
            known.tx.input.iter().filter_map(|input| self.script_of(&input.previous_output));
        let hashes: BTreeSet<String> = paid.chain(spent).collect();
        for hash in hashes {
            self.scripts.entry(hash.clone()).or_default().insert(txid);
            self.touched.push(hash);
        }
    }

    fn script_of(&self, outpoint: &OutPoint) -> Option<String> {
        let known = self.txs.get(&outpoint.txid)?;
        let output = known.tx.output.get(usize::try_from(outpoint.vout).ok()?)?;
        Some(script_hash(&output.script_pubkey))
    }

    /// Whether this transaction spends an output of the script. The transaction itself may be
    /// unknown to the index.
    pub(super) fn is_spent_from(&self, tx: &Transaction, hash: &str) -> bool {
        tx.input.iter().any(|input| {
            self.script_of(&input.previous_output).is_some_and(|script| script == hash)
        })
    }

    /// A transaction of the chain or the mempool. With `top`, only blocks up to that height count,
    /// and not the mempool.
    pub(super) fn transaction(
        &self,
        txid: &Txid,
        top: Option<u32>,
    ) -> Option<(&Transaction, TxPosition)> {
        let known = self.txs.get(txid)?;
        match known.position {
            TxPosition::Block { height, .. } if top.is_none_or(|top| height <= top) => {}
            TxPosition::Mempool { .. } if top.is_none() => {}
            TxPosition::Block { .. } | TxPosition::Mempool { .. } | TxPosition::Absent => {
                return None;
            }
        }
        Some((&known.tx, known.position))
    }

    /// All transactions that touch a script, blocks first.
    pub(super) fn history(&self, hash: &str, top: Option<u32>) -> Vec<Entry> {
        let (mut mined, mut waiting) = (Vec::new(), Vec::new());
        for txid in self.scripts.get(hash).into_iter().flatten() {
            let Some((tx, position)) = self.transaction(txid, top) else { continue };
            match position {
                TxPosition::Block { height, hash, .. } => {
                    let place = self.places.get(&hash).and_then(|places| places.get(txid)).copied();
                    mined.push((
                        height,
                        place,
                        Entry { txid: *txid, height: i64::from(height), fee_sats: None },
                    ));
                }
                TxPosition::Mempool { .. } => waiting.push(self.waiting(*txid, tx)),
                TxPosition::Absent => {}
            }
        }
        mined.sort_by_key(|(height, place, _)| (*height, *place));
        waiting.sort_by_key(|entry| (-entry.height, entry.txid.to_string()));
        mined.into_iter().map(|(_, _, entry)| entry).chain(waiting).collect()
    }

    fn waiting(&self, txid: Txid, tx: &Transaction) -> Entry {
        let is_waiting = |input: &bitcoin::TxIn| {
            let parent = self.txs.get(&input.previous_output.txid).map(|known| known.position);
            matches!(parent, Some(TxPosition::Mempool { .. }))
        };
        let worth = |outpoint: &OutPoint| {
            let parent = self.txs.get(&outpoint.txid)?;
            Some(parent.tx.output.get(usize::try_from(outpoint.vout).ok()?)?.value.to_sat())
        };
        let spent = tx
            .input
            .iter()
            .filter_map(|input| worth(&input.previous_output))
            .fold(0, u64::saturating_add);
        let paid =
            tx.output.iter().map(|output| output.value.to_sat()).fold(0, u64::saturating_add);
        let height = if tx.input.iter().any(is_waiting) { -1 } else { 0 };
        Entry { txid, height, fee_sats: Some(spent.saturating_sub(paid)) }
    }
}

/// The protocol's hash of a script: SHA-256 in reverse byte order.
pub(super) fn script_hash(script: &Script) -> String {
    let mut hash = sha256::Hash::hash(script.as_bytes()).to_byte_array();
    hash.reverse();
    hex::encode(hash)
}

/// The protocol's status of a history: a hash of its entries. `None` if the history is empty.
pub(super) fn status(history: &[Entry]) -> Option<String> {
    if history.is_empty() {
        return None;
    }
    let text: String =
        history.iter().map(|entry| format!("{}:{}:", entry.txid, entry.height)).collect();
    Some(hex::encode(sha256::Hash::hash(text.as_bytes()).to_byte_array()))
}
