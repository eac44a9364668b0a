//! What the chain is asked, as a node is: to take transactions, and what it holds.

use bitcoin::{Block, BlockHash, Script, Transaction, Txid};
use rusqlite::TransactionBehavior;

use crate::error::{BroadcastRefusal, SandboxError};
use crate::types::{Broadcast, BroadcastFault, Changes, PaidOutput, Tip};
use crate::{Sandbox, blocks, changes, faults_rates, mempool, read, transactions};

impl Sandbox {
    /// The best block.
    ///
    /// # Errors
    /// Storage only.
    pub fn tip(&self) -> Result<Tip, SandboxError> {
        blocks::tip(&self.lock())
    }

    /// Takes a transaction from outside into the mempool, as far as the faults in force let it.
    ///
    /// # Errors
    /// As [`Sandbox::broadcast_package`].
    pub fn broadcast(&self, tx: &Transaction, now_ms: i64) -> Result<Broadcast, BroadcastRefusal> {
        self.broadcast_package(std::slice::from_ref(tx), now_ms)
    }

    /// Takes transactions from outside into the mempool one after the other, parents first, as far as the faults in
    /// force let them. The answer is about the last, or about the first that was not taken; those before it stay.
    ///
    /// # Errors
    /// Why it was not taken; [`BroadcastRefusal::Unanswered`] and [`BroadcastRefusal::Storage`] tell nothing of it.
    pub fn broadcast_package(&self, package: &[Transaction], now_ms: i64) -> Result<Broadcast, BroadcastRefusal> {
        let mut conn = self.lock();
        let step = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let fault = faults_rates::faults(&step)?.broadcast;
        if fault == BroadcastFault::Reject {
            return Err(BroadcastRefusal::Refused("the sandbox was told to refuse broadcasts"));
        }
        let answer = mempool::accept_package(&step, package, now_ms);
        // What is forgotten is rolled back; so is what a failing file left half written.
        if fault != BroadcastFault::Forget && !matches!(answer, Err(BroadcastRefusal::Storage(_))) {
            step.commit()?;
        }
        match fault {
            BroadcastFault::Timeout => Err(BroadcastRefusal::Unanswered),
            BroadcastFault::Ok | BroadcastFault::Reject | BroadcastFault::Forget => answer,
        }
    }

    /// All outputs of the best chain and the mempool that pay a script, spent or not, in the order of the blocks.
    ///
    /// # Errors
    /// Storage only.
    pub fn outputs_to(&self, script: &Script) -> Result<Vec<PaidOutput>, SandboxError> {
        read(&mut self.lock(), |conn| transactions::outputs_to(conn, script, blocks::tip(conn)?.height))
    }

    /// Everything that changed since change number `since` (0: from the beginning), at most `limit` transactions of it
    /// (at least 1), in one consistent view.
    ///
    /// # Errors
    /// Storage only.
    pub fn changes_since(&self, since: i64, limit: usize) -> Result<Changes, SandboxError> {
        read(&mut self.lock(), |conn| changes::since(conn, since, limit))
    }

    /// Whether this chain was ever at change number `cursor` with `hash` at `height` as its best block. A copy of the
    /// file that is older than that never was, whatever was mined on it since.
    ///
    /// # Errors
    /// Storage only.
    pub fn was_at(&self, cursor: i64, height: u32, hash: BlockHash) -> Result<bool, SandboxError> {
        read(&mut self.lock(), |conn| changes::was_at(conn, cursor, height, hash))
    }

    /// Whether a transaction was ever accepted.
    ///
    /// # Errors
    /// Storage only.
    pub fn is_known(&self, txid: Txid) -> Result<bool, SandboxError> {
        Ok(transactions::tx_by_txid(&self.lock(), &txid)?.is_some())
    }

    /// The block of the best chain at a height.
    ///
    /// # Errors
    /// Storage only.
    pub fn block(&self, height: u32) -> Result<Option<Block>, SandboxError> {
        read(&mut self.lock(), |conn| blocks::full_block(conn, height))
    }
}
