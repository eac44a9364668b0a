//! Queries about single transactions, outputs and blocks. Each query reads one consistent view.

use bitcoin::hashes::Hash as _;
use bitcoin::{BlockHash, OutPoint, Txid};
use rusqlite::{OptionalExtension as _, params};

use crate::error::SandboxError;
use crate::sandbox::{Sandbox, read_view};
use crate::transactions::{self, Position};
use crate::types::{MempoolEntry, TxView, UnspentOutput};
use crate::{blocks, change_log, changes, mempool};

impl Sandbox {
    /// The number of the last change of chain or mempool. The number only grows.
    ///
    /// # Errors
    /// Only if the file cannot be accessed or is damaged.
    pub fn last_change(&self) -> Result<i64, SandboxError> {
        Ok(change_log::next_seq(&self.lock())?.saturating_sub(1))
    }

    /// All facts about a transaction; `None` if it was never accepted.
    ///
    /// # Errors
    /// Only if the file cannot be accessed or is damaged.
    pub fn transaction(&self, txid: Txid) -> Result<Option<TxView>, SandboxError> {
        read_view(&mut self.lock(), |conn| {
            transactions::tx_by_txid(conn, &txid)?
                .map(|row| changes::view(conn, row.id))
                .transpose()
        })
    }

    /// The mempool's entry of a transaction; `None` if the mempool does not hold it.
    ///
    /// # Errors
    /// Only if the file cannot be accessed or is damaged.
    pub fn mempool_entry(&self, txid: Txid) -> Result<Option<MempoolEntry>, SandboxError> {
        read_view(&mut self.lock(), |conn| {
            let Some(row) = transactions::tx_by_txid(conn, &txid)? else { return Ok(None) };
            let Position::Mempool { entered_ms } = row.position else { return Ok(None) };
            let ancestors = mempool::ancestors(conn, row.id)?
                .into_iter()
                .map(|id| Ok(transactions::tx_by_id(conn, id)?.txid))
                .collect::<Result<_, SandboxError>>()?;
            Ok(Some(MempoolEntry {
                entered_ms,
                fee_sats: row.fee_sats.unwrap_or(0),
                fees_with_descendants_sats: mempool::fees_with_descendants_sats(conn, row.id)?,
                vsize: row.vsize(),
                ancestors,
            }))
        })
    }

    /// The transaction in the mempool that spends an output.
    ///
    /// # Errors
    /// Only if the file cannot be accessed or is damaged.
    pub fn spender_in_mempool(&self, outpoint: OutPoint) -> Result<Option<Txid>, SandboxError> {
        read_view(&mut self.lock(), |conn| {
            let Some(coin) = transactions::coin(conn, &outpoint)? else { return Ok(None) };
            let spender = mempool::mempool_spender(conn, &coin)?;
            spender.map(|id| Ok(transactions::tx_by_id(conn, id)?.txid)).transpose()
        })
    }

    /// An output that the best chain creates and does not spend. `with_mempool` adds the mempool's
    /// outputs, and leaves out those that the mempool spends.
    ///
    /// # Errors
    /// Only if the file cannot be accessed or is damaged.
    pub fn unspent(
        &self,
        outpoint: OutPoint,
        with_mempool: bool,
    ) -> Result<Option<UnspentOutput>, SandboxError> {
        read_view(&mut self.lock(), |conn| {
            let Some(coin) = transactions::coin(conn, &outpoint)? else { return Ok(None) };
            let confirmations = match coin.position {
                Position::Block { height, .. } => {
                    blocks::tip(conn)?.height.saturating_sub(height).saturating_add(1)
                }
                Position::Mempool { .. } if with_mempool => 0,
                Position::Mempool { .. } | Position::Absent => return Ok(None),
            };
            let is_spent = transactions::confirmed_spender(conn, &coin)?.is_some()
                || (with_mempool && mempool::mempool_spender(conn, &coin)?.is_some());
            let output = coin.tx_out();
            Ok((!is_spent).then_some(UnspentOutput {
                output,
                confirmations,
                is_coinbase: coin.is_coinbase,
            }))
        })
    }

    /// The height of a block; `None` if the best chain does not hold it.
    ///
    /// # Errors
    /// Only if the file cannot be accessed or is damaged.
    pub fn height_of(&self, hash: BlockHash) -> Result<Option<u32>, SandboxError> {
        if hash == bitcoin::constants::genesis_block(bitcoin::Network::Regtest).block_hash() {
            return Ok(Some(0));
        }
        let conn = self.lock();
        let mut statement = conn.prepare_cached("SELECT height FROM blocks WHERE hash = ?1")?;
        Ok(statement.query_row(params![hash.as_byte_array()], |row| row.get(0)).optional()?)
    }
}
