//! The chain's real history, read only from the sandbox, so that it is independent of the gateway's
//! tables.

use std::collections::HashMap;

use bitcoin::{OutPoint, ScriptBuf, Transaction, Txid};
use tillgate_sandbox::{Sandbox, TxPosition};

/// Every transaction that the sandbox ever accepted, with its position.
#[derive(Default)]
pub struct ChainSeen {
    cursor: i64,
    /// The txids in the order in which they were first read.
    order: Vec<Txid>,
    txs: HashMap<Txid, (Transaction, TxPosition)>,
    /// For each output that a block spends: the spending transaction and the height of its block.
    spends: HashMap<OutPoint, (Txid, u32)>,
    pub tip_height: u32,
}

impl ChainSeen {
    /// Reads the sandbox's changes. Returns the new txids.
    pub fn follow(&mut self, sandbox: &Sandbox) -> Vec<Txid> {
        let known = self.order.len();
        loop {
            let changes = sandbox.changes_since(self.cursor, 10_000).unwrap();
            self.cursor = changes.cursor;
            self.tip_height = changes.tip.height;
            for view in changes.txs {
                if self.txs.insert(view.txid, (view.tx, view.position)).is_none() {
                    self.order.push(view.txid);
                }
            }
            if !changes.more {
                break;
            }
        }
        self.spends.clear();
        for (txid, (tx, position)) in &self.txs {
            if let TxPosition::Block { height, .. } = position {
                self.spends
                    .extend(tx.input.iter().map(|input| (input.previous_output, (*txid, *height))));
            }
        }
        self.order[known..].to_vec()
    }

    /// Number of the last change that was read.
    pub const fn cursor(&self) -> i64 {
        self.cursor
    }

    pub fn all(&self) -> impl Iterator<Item = (&Txid, &Transaction, &TxPosition)> {
        self.order.iter().map(|txid| (txid, &self.txs[txid].0, &self.txs[txid].1))
    }

    pub fn tx(&self, txid: &Txid) -> Option<&Transaction> {
        self.txs.get(txid).map(|(tx, _)| tx)
    }

    pub fn height(&self, txid: &Txid) -> Option<u32> {
        match self.txs.get(txid)?.1 {
            TxPosition::Block { height, .. } => Some(height),
            TxPosition::Mempool { .. } | TxPosition::Absent => None,
        }
    }

    pub fn is_in_mempool(&self, txid: &Txid) -> bool {
        self.txs
            .get(txid)
            .is_some_and(|(_, position)| matches!(position, TxPosition::Mempool { .. }))
    }

    /// The transactions in blocks that pay a script exactly this amount, once for each such output.
    pub fn confirmed_payers(&self, script: &ScriptBuf, amount_sats: u64) -> Vec<Txid> {
        let pays = |tx: &Transaction| {
            tx.output
                .iter()
                .filter(|out| out.script_pubkey == *script && out.value.to_sat() == amount_sats)
                .count()
        };
        self.all()
            .filter(|(_, _, position)| matches!(position, TxPosition::Block { .. }))
            .flat_map(|(txid, tx, _)| std::iter::repeat_n(*txid, pays(tx)))
            .collect()
    }

    /// Sum of the outputs to these scripts that are in blocks and unspent there.
    pub fn balance(&self, is_ours: impl Fn(&ScriptBuf) -> bool) -> u64 {
        let mut sum = 0;
        for (txid, tx, position) in self.all() {
            if !matches!(position, TxPosition::Block { .. }) {
                continue;
            }
            for (vout, output) in (0u32..).zip(&tx.output) {
                let is_spent = self.spends.contains_key(&OutPoint { txid: *txid, vout });
                if is_ours(&output.script_pubkey) && !is_spent {
                    sum += output.value.to_sat();
                }
            }
        }
        sum
    }

    /// Whether `tx` can no longer be mined: another transaction with six confirmations spends an
    /// input of `tx` or of an unconfirmed ancestor. `more` finds ancestors that the sandbox never
    /// accepted.
    pub fn is_ruled_out(
        &self,
        tx: &Transaction,
        more: &dyn Fn(&Txid) -> Option<Transaction>,
    ) -> bool {
        let txid = tx.compute_txid();
        if self.height(&txid).is_some() {
            return false;
        }
        tx.input.iter().map(|input| input.previous_output).any(|outpoint| {
            let is_spent = self.spends.get(&outpoint).is_some_and(|(spender, height)| {
                *spender != txid && self.tip_height + 1 >= height + 6
            });
            let parent = || match self.txs.get(&outpoint.txid) {
                Some((parent, _)) => Some(parent.clone()),
                None => more(&outpoint.txid),
            };
            is_spent
                || (self.height(&outpoint.txid).is_none()
                    && parent().is_some_and(|parent| self.is_ruled_out(&parent, more)))
        })
    }
}
