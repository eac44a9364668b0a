//! The sandbox as a node: it accepts broadcasts, and answers queries about chain and mempool.

use bitcoin::{Block, BlockHash, Script, Transaction, Txid};
use rusqlite::TransactionBehavior;

use crate::error::{BroadcastRefusal, SandboxError};
use crate::sandbox::{Sandbox, read_view};
use crate::types::{Broadcast, BroadcastFault, Changes, PaidOutput, Tip};
use crate::{blocks, changes, faults_rates, mempool, transactions};

impl Sandbox {
    /// The best block.
    ///
    /// # Errors
    /// Only if the file cannot be accessed or is damaged.
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

    /// Accepts transactions from outside into the mempool one by one, parents first, as far as the
    /// present faults allow, up to the first refused one. Returns the answer for the last one
    /// tried; those accepted before it stay.
    ///
    /// # Errors
    /// The reason of the refusal. [`BroadcastRefusal::Unanswered`] and
    /// [`BroadcastRefusal::Storage`] do not tell whether a transaction was accepted.
    pub fn broadcast_package(
        &self,
        package: &[Transaction],
        now_ms: i64,
    ) -> Result<Broadcast, BroadcastRefusal> {
        let mut conn = self.lock();
        let step = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let fault = faults_rates::faults(&step)?.broadcast;
        if fault == BroadcastFault::Reject {
            return Err(BroadcastRefusal::Refused("the sandbox is set to refuse broadcasts"));
        }
        let answer = mempool::accept_package(&step, package, now_ms);
        // Without a commit, the accepted transactions are rolled back.
        if fault != BroadcastFault::Forget && !matches!(answer, Err(BroadcastRefusal::Storage(_))) {
            step.commit()?;
        }
        match fault {
            BroadcastFault::Timeout => Err(BroadcastRefusal::Unanswered),
            BroadcastFault::Ok | BroadcastFault::Reject | BroadcastFault::Forget => answer,
        }
    }

    /// All outputs of the best chain and the mempool that pay a script, spent or not, in block
    /// order.
    ///
    /// # Errors
    /// Only if the file cannot be accessed or is damaged.
    pub fn outputs_to(&self, script: &Script) -> Result<Vec<PaidOutput>, SandboxError> {
        read_view(&mut self.lock(), |conn| {
            transactions::outputs_to(conn, script, blocks::tip(conn)?.height)
        })
    }

    /// All changes after change number `since` (0: from the beginning), at most `limit`
    /// transactions (at least 1), in one consistent view.
    ///
    /// # Errors
    /// Only if the file cannot be accessed or is damaged.
    pub fn changes_since(&self, since: i64, limit: usize) -> Result<Changes, SandboxError> {
        read_view(&mut self.lock(), |conn| changes::since(conn, since, limit))
    }

    /// Whether this block can have been the tip at change number `cursor`: it is in the best chain,
    /// or a later reorganisation disconnected a block at its height. For an older copy of the file
    /// the answer is no, even if other blocks were mined on that copy.
    ///
    /// # Errors
    /// Only if the file cannot be accessed or is damaged.
    pub fn was_at(&self, cursor: i64, height: u32, hash: BlockHash) -> Result<bool, SandboxError> {
        read_view(&mut self.lock(), |conn| changes::was_at(conn, cursor, height, hash))
    }

    /// Whether a transaction was ever accepted.
    ///
    /// # Errors
    /// Only if the file cannot be accessed or is damaged.
    pub fn is_known(&self, txid: Txid) -> Result<bool, SandboxError> {
        Ok(transactions::tx_by_txid(&self.lock(), &txid)?.is_some())
    }

    /// The block of the best chain at a height.
    ///
    /// # Errors
    /// Only if the file cannot be accessed or is damaged.
    pub fn block(&self, height: u32) -> Result<Option<Block>, SandboxError> {
        read_view(&mut self.lock(), |conn| blocks::full_block(conn, height))
    }
}
