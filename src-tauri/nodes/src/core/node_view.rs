//! The chain and the mempool that the node shows: those of the sandbox, changed by the fault.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use bitcoin::hashes::Hash as _;
use bitcoin::{Amount, Block, BlockHash, Target, Transaction, Txid};
use tillgate_sandbox::{Sandbox, SandboxError, TxPosition, TxView};

use super::fault::CoreFault;
use super::zmq::Told;

/// The state that a node shows.
pub(super) struct NodeView<'a> {
    pub sandbox: &'a Sandbox,
    pub fault: Option<&'a CoreFault>,
    pub told: &'a Mutex<Told>,
    /// Unrelated transactions that are also in the mempool.
    pub crowd: &'a HashMap<Txid, Transaction>,
}

impl NodeView<'_> {
    /// Height of the best block.
    pub(super) fn height(&self) -> Result<u32, SandboxError> {
        let height = self.sandbox.tip()?.height;
        Ok(self.ends_at().map_or(height, |older| height.min(older)))
    }

    /// The height at which the fault ends the chain. The mempool is then empty.
    pub(super) fn ends_at(&self) -> Option<u32> {
        self.fault.and_then(CoreFault::ends_at)
    }

    /// The block at a height, with its header as shown.
    pub(super) fn block(&self, height: u32) -> Result<Option<Block>, SandboxError> {
        let tip = self.height()?;
        if height > tip {
            return Ok(None);
        }
        let Some(mut block) = self.sandbox.block(height)? else { return Ok(None) };
        match self.fault {
            Some(CoreFault::OtherNetwork(network)) if height == 0 => {
                block = bitcoin::constants::genesis_block(network);
            }
            Some(CoreFault::NoProofOfWork) if height == tip => {
                while has_work(&block) {
                    block.header.nonce = block.header.nonce.wrapping_add(1);
                }
            }
            Some(CoreFault::BrokenLink) if height == tip => {
                block.header.prev_blockhash = BlockHash::from_byte_array([7; 32]);
                while !has_work(&block) {
                    block.header.nonce = block.header.nonce.wrapping_add(1);
                }
            }
            _ => {}
        }
        Ok(Some(block))
    }

    /// The height of a shown block.
    pub(super) fn height_of(&self, hash: BlockHash) -> Result<Option<u32>, SandboxError> {
        let tip = self.height()?;
        for height in [0, tip] {
            if self.block(height)?.is_some_and(|block| block.block_hash() == hash) {
                return Ok(Some(height));
            }
        }
        Ok(self.sandbox.height_of(hash)?.filter(|height| *height <= tip))
    }

    /// A block with its transactions as shown.
    pub(super) fn told(&self, mut block: Block) -> Block {
        if let Some(CoreFault::ForgedTransactions) = self.fault {
            block.txdata.iter_mut().for_each(forge);
        }
        block
    }

    /// The transactions of the mempool, parents before children.
    pub(super) fn mempool(&self) -> Result<Vec<Txid>, SandboxError> {
        if self.ends_at().is_some() { Ok(Vec::new()) } else { Ok(self.sandbox.status()?.mempool) }
    }

    /// The mempool with the number of its next change. All earlier changes were published or are
    /// about to be.
    pub(super) fn numbered_mempool(&self) -> Result<(Vec<Txid>, u64), SandboxError> {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        told.follow(self.sandbox)?;
        match self.fault {
            Some(fault) if fault.ends_at().is_some() => Ok((Vec::new(), told.next)),
            Some(CoreFault::Numbered(number)) => Ok((told.mempool.clone(), *number)),
            _ => Ok((told.mempool.iter().chain(self.crowd.keys()).copied().collect(), told.next)),
        }
    }

    /// A transaction of the mempool, if it is there.
    pub(super) fn in_mempool(&self, txid: Txid) -> Result<Option<Transaction>, SandboxError> {
        if self.ends_at().is_some() {
            return Ok(None);
        }
        if let Some(tx) = self.crowd.get(&txid) {
            return Ok(Some(tx.clone()));
        }
        let Some(TxView { mut tx, position: TxPosition::Mempool { .. }, .. }) =
            self.sandbox.transaction(txid)?
        else {
            return Ok(None);
        };
        if let Some(CoreFault::ForgedTransactions) = self.fault {
            forge(&mut tx);
        }
        Ok(Some(tx))
    }
}

/// `count` different transactions that pay an empty script.
pub(super) fn crowd(count: u32) -> HashMap<Txid, Transaction> {
    let transactions = (0..count).map(|number| Transaction {
        version: bitcoin::transaction::Version::TWO,
        lock_time: bitcoin::absolute::LockTime::from_consensus(number),
        input: vec![bitcoin::TxIn {
            previous_output: bitcoin::OutPoint {
                txid: Txid::from_byte_array([5; 32]),
                vout: number,
            },
            ..bitcoin::TxIn::default()
        }],
        output: vec![bitcoin::TxOut {
            value: Amount::from_sat(1_000),
            script_pubkey: bitcoin::ScriptBuf::new(),
        }],
    });
    transactions.map(|tx| (tx.compute_txid(), tx)).collect()
}

fn has_work(block: &Block) -> bool {
    block.header.validate_pow(Target::MAX_ATTAINABLE_REGTEST).is_ok()
}

fn forge(tx: &mut Transaction) {
    for output in &mut tx.output {
        output.value =
            output.value.checked_add(Amount::from_sat(1_000_000)).unwrap_or(output.value);
    }
}
