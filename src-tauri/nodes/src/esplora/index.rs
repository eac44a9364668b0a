//! A sandbox's chain and mempool, found by script and by spent output, as an indexing server keeps them.

use std::collections::HashMap;

use bitcoin::block::Header;
use bitcoin::hashes::{Hash as _, sha256};
use bitcoin::{OutPoint, Script, Transaction, TxOut, Txid};
use tillgate_sandbox::{Sandbox, SandboxError};

/// What is found by a script's hash.
pub(super) type ScriptHash = [u8; 32];

/// A block as far as it is served.
pub(super) struct IndexedBlock {
    pub header: Header,
    pub txids: Vec<Txid>,
}

/// Chain and mempool of one moment.
#[derive(Default)]
pub(super) struct Index {
    /// The sandbox, and its last change.
    at: Option<([u8; 32], i64)>,
    /// By height.
    pub blocks: Vec<IndexedBlock>,
    /// Parents before children.
    pub mempool: Vec<Txid>,
    txs: HashMap<Txid, Transaction>,
    /// What stood in blocks that were left: servers go on telling it by its id.
    left: HashMap<Txid, Transaction>,
    /// The height of the block that holds a transaction.
    heights: HashMap<Txid, u32>,
    /// Transactions of the chain by script, the oldest first.
    histories: HashMap<ScriptHash, Vec<Txid>>,
    /// What spends an output in the chain, and with which input.
    spends: HashMap<OutPoint, (Txid, u32)>,
}

impl Index {
    /// Brings it up to date.
    pub(super) fn refresh(&mut self, sandbox: &Sandbox) -> Result<(), SandboxError> {
        let at = Some((sandbox.identity(), sandbox.last_change()?));
        if self.at == at {
            return Ok(());
        }
        let last = u32::try_from(self.blocks.len()).ok().and_then(|length| length.checked_sub(1));
        let still_there = |height: u32| -> Result<bool, SandboxError> {
            let known = self.blocks.get(height as usize).map(|block| block.header.block_hash());
            Ok(sandbox.block(height)?.map(|block| block.block_hash()) == known)
        };
        let is_longer = match last {
            Some(last) => still_there(last)?,
            None => false,
        };
        if !is_longer {
            *self = self.left();
        }
        let mut height = u32::try_from(self.blocks.len()).unwrap_or(u32::MAX);
        while let Some(block) = sandbox.block(height)? {
            let txids = block.txdata.iter().map(Transaction::compute_txid).collect();
            for tx in block.txdata {
                self.take(tx, height);
            }
            self.blocks.push(IndexedBlock { header: block.header, txids });
            height = height.saturating_add(1);
        }
        self.mempool = sandbox.status()?.mempool;
        for txid in &self.mempool {
            if let Some(view) = sandbox.transaction(*txid)? {
                self.txs.insert(*txid, view.tx);
            }
        }
        self.at = at;
        Ok(())
    }

    /// Nothing but what stood in blocks, as it is told where they are left.
    fn left(&mut self) -> Self {
        let Self { mut txs, mut left, heights, .. } = std::mem::take(self);
        left.extend(heights.keys().filter_map(|txid| txs.remove_entry(txid)));
        Self { left, ..Self::default() }
    }

    fn take(&mut self, tx: Transaction, height: u32) {
        let txid = tx.compute_txid();
        let mut touched: Vec<ScriptHash> = tx.output.iter().map(|output| hash(&output.script_pubkey)).collect();
        for (vin, input) in (0u32..).zip(&tx.input) {
            if let Some(spent) = self.output(&input.previous_output) {
                touched.push(hash(&spent.script_pubkey));
            }
            self.spends.insert(input.previous_output, (txid, vin));
        }
        touched.sort_unstable();
        touched.dedup();
        for script in touched {
            self.histories.entry(script).or_default().push(txid);
        }
        self.heights.insert(txid, height);
        self.txs.insert(txid, tx);
    }

    /// A transaction of the chain, with the height of its block, of the mempool, or of a block that was left.
    pub(super) fn tx(&self, txid: &Txid) -> Option<(&Transaction, Option<u32>)> {
        let height = self.heights.get(txid).copied();
        let is_there = height.is_some() || self.mempool.contains(txid);
        let there = is_there.then(|| self.txs.get(txid)).flatten();
        there.or_else(|| self.left.get(txid)).map(|tx| (tx, height))
    }

    /// An output that was ever made.
    pub(super) fn output(&self, outpoint: &OutPoint) -> Option<&TxOut> {
        self.txs.get(&outpoint.txid)?.output.get(outpoint.vout as usize)
    }

    /// Transactions of the chain that pay a script or spend from it, the newest first.
    pub(super) fn history(&self, script: &ScriptHash) -> impl Iterator<Item = Txid> {
        self.histories.get(script).into_iter().flatten().rev().copied()
    }

    /// Those of the mempool.
    pub(super) fn in_mempool(&self, script: &ScriptHash) -> Vec<Txid> {
        let touches = |txid: &&Txid| {
            self.txs.get(*txid).is_some_and(|tx| {
                let pays = tx.output.iter().any(|output| hash(&output.script_pubkey) == *script);
                let mut spent = tx.input.iter().filter_map(|input| self.output(&input.previous_output));
                pays || spent.any(|output| hash(&output.script_pubkey) == *script)
            })
        };
        self.mempool.iter().filter(touches).copied().collect()
    }

    /// What spends an output, with which input, and the height of its block.
    pub(super) fn spender(&self, outpoint: &OutPoint) -> Option<(Txid, u32, Option<u32>)> {
        if let Some((txid, vin)) = self.spends.get(outpoint) {
            return Some((*txid, *vin, self.heights.get(txid).copied()));
        }
        self.mempool.iter().find_map(|txid| {
            let inputs = (0u32..).zip(&self.txs.get(txid)?.input);
            let vin = inputs.into_iter().find(|(_, input)| input.previous_output == *outpoint)?.0;
            Some((*txid, vin, None))
        })
    }
}

fn hash(script: &Script) -> ScriptHash {
    sha256::Hash::hash(script.as_bytes()).to_byte_array()
}
