//! The chain as a node: it accepts transactions, and answers questions about its content.

use bitcoin::{Block, BlockHash, Script, Transaction, Txid};
use rusqlite::TransactionBehavior;

use crate::error::{BroadcastRefusal, SandboxError};
use crate::sandbox::{Sandbox, read};
use crate::types::{Broadcast, BroadcastFault, Changes, PaidOutput, Tip};
use crate::{blocks, changes, faults_rates, mempool, transactions};

impl Sandbox {
    /// The best block.
    ///
    /// # Errors
    /// Storage only.
    pub fn tip(&self) -> Result<Tip, SandboxError> {
        blocks::tip(&self.lock())
    }

    /// Accepts a transaction from outside into the mempool, as far as the present faults allow.
    ///
    /// # Errors
    /// As [`Sandbox::broadcast_package`].
    pub fn broadcast(&self, tx: &Transaction, now_ms: i64) -> Result<Broadcast, BroadcastRefusal> {
        self.broadcast_package(std::slice::from_ref(tx), now_ms)
    }

    /// Accepts transactions from outside into the mempool one by one, parents first, as far as the present faults
    /// allow. The answer is about the last one, or about the first that was refused; those before it stay.
    ///
    /// # Errors
    /// The reason of the refusal. [`BroadcastRefusal::Unanswered`] and [`BroadcastRefusal::Storage`] do not tell
    /// whether it was accepted.
    pub fn broadcast_package(&self, package: &[Transaction], now_ms: i64) -> Result<Broadcast, BroadcastRefusal> {
        let mut conn = self.lock();
        let step = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let fault = faults_rates::faults(&step)?.broadcast;
        if fault == BroadcastFault::Reject {
            return Err(BroadcastRefusal::Refused("the sandbox was told to refuse broadcasts"));
        }
        let answer = mempool::accept_package(&step, package, now_ms);
        // The fault `forget` and a failing file both roll back.
        if fault != BroadcastFault::Forget && !matches!(answer, Err(BroadcastRefusal::Storage(_))) {
            step.commit()?;
        }
        match fault {
            BroadcastFault::Timeout => Err(BroadcastRefusal::Unanswered),
            BroadcastFault::Ok | BroadcastFault::Reject | BroadcastFault::Forget => answer,
        }
    }

    /// All outputs of the best chain and the mempool that pay a script, spent or not, in block order.
    ///
    /// # Errors
    /// Storage only.
    pub fn outputs_to(&self, script: &Script) -> Result<Vec<PaidOutput>, SandboxError> {
        read(&mut self.lock(), |conn| transactions::outputs_to(conn, script, blocks::tip(conn)?.height))
    }

    /// All changes after change number `since` (0: from the beginning), at most `limit` transactions (at least 1), in
    /// one consistent view.
    ///
    /// # Errors
    /// Storage only.
    pub fn changes_since(&self, since: i64, limit: usize) -> Result<Changes, SandboxError> {
        read(&mut self.lock(), |conn| changes::since(conn, since, limit))
    }

    /// Whether this chain ever had the best block `hash` at `height` when its change number was `cursor`. An older copy
    /// of the file never had it, even if other blocks were mined on that copy.
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
