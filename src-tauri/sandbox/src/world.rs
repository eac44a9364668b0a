//! The calls that change chain and mempool: payments, replacements, evictions, blocks and
//! reorganisations.

use bitcoin::{Amount, BlockHash, ScriptBuf, Transaction, TxOut, Txid};
use rusqlite::Connection;

use crate::error::SandboxError;
use crate::sandbox::{Sandbox, write};
use crate::spending::{self, DEFAULT_FEE_RATE_SAT_VB};
use crate::transactions::{self, Position};
use crate::types::{Pay, Replace};
use crate::{given_block, mempool, miner, reorg, template};

/// Most blocks of one call, so that it answers within seconds and block times stay near the clock.
pub const MAX_BLOCKS_PER_CALL: u32 = 1_000;
/// Most transactions of one payment, so that the customer does not run out of coins.
pub const MAX_PARTS: u32 = 100;
/// Most outputs of one transaction, so that its weight stays below the relay limit.
pub const MAX_PAYEES: usize = 2_000;

/// The content of a block.
#[derive(Debug, Clone, Copy)]
enum Filling {
    /// Only the coinbase.
    Nothing,
    /// The mempool's transactions at this fee rate and above.
    Mempool { min_fee_rate_sat_kvb: u64 },
}

/// The whole mempool, as far as there is room.
const WHOLE_MEMPOOL: Filling = Filling::Mempool { min_fee_rate_sat_kvb: 0 };

impl Sandbox {
    /// The customer pays in one or several transactions, and then blocks are mined. A failure
    /// undoes all of it.
    ///
    /// # Errors
    /// A sum, count or fee rate out of range; [`SandboxError::CannotPay`].
    pub fn pay(&self, pay: Pay, now_ms: i64) -> Result<Vec<Txid>, SandboxError> {
        let rate =
            spending::check_fee_rate(pay.fee_rate_sat_vb.unwrap_or(DEFAULT_FEE_RATE_SAT_VB))?;
        if !(1..=MAX_PARTS).contains(&pay.parts) {
            return Err(SandboxError::PartCount { parts: pay.parts, max: MAX_PARTS });
        }
        if pay.confirmations > 0 {
            check_block_count(pay.confirmations)?;
        }
        let part_sats = pay.amount_sats / u64::from(pay.parts);
        spending::check_amount(&pay.script, part_sats)?;
        let last_sats = part_sats.saturating_add(pay.amount_sats % u64::from(pay.parts));
        write(&mut self.lock(), |conn| {
            let mut txids = Vec::new();
            for part in 1..=pay.parts {
                let value = Amount::from_sat(if part == pay.parts { last_sats } else { part_sats });
                let payment = TxOut { value, script_pubkey: pay.script.clone() };
                txids.push(spending::pay(conn, &self.customer, vec![payment], rate, now_ms)?);
            }
            self.mine_on(conn, pay.confirmations, WHOLE_MEMPOOL, now_ms)?;
            Ok(txids)
        })
    }

    /// The customer replaces an unconfirmed transaction of its own. Returns the new transaction's
    /// txid.
    ///
    /// # Errors
    /// The transaction is unknown, confirmed, absent or not the customer's; the fee is too low to
    /// replace; [`SandboxError::CannotPay`].
    pub fn replace(
        &self,
        txid: Txid,
        replace: Replace,
        now_ms: i64,
    ) -> Result<Vec<Txid>, SandboxError> {
        write(&mut self.lock(), |conn| {
            Ok(vec![spending::replace(conn, &self.customer, &txid, replace, now_ms)?])
        })
    }

    /// Drops a transaction and its descendants from the mempool, and refuses it until the next
    /// block.
    ///
    /// # Errors
    /// The transaction is unknown, confirmed or absent.
    pub fn evict(&self, txid: Txid, _now_ms: i64) -> Result<(), SandboxError> {
        write(&mut self.lock(), |conn| {
            let row = transactions::tx_by_txid(conn, &txid)?
                .ok_or(SandboxError::UnknownTransaction(txid))?;
            match row.position {
                Position::Block { .. } => Err(SandboxError::AlreadyConfirmed(txid)),
                Position::Absent => Err(SandboxError::NotInMempool(txid)),
                Position::Mempool { .. } => mempool::evict(conn, &row),
            }
        })
    }

    /// Mines 1 to [`MAX_BLOCKS_PER_CALL`] blocks with the mempool's transactions, or `empty` ones.
    ///
    /// # Errors
    /// [`SandboxError::BlockCount`]; [`SandboxError::ClockTooFarBehind`] after tens of thousands of
    /// blocks at the same clock time.
    pub fn mine(
        &self,
        count: u32,
        empty: bool,
        now_ms: i64,
    ) -> Result<Vec<BlockHash>, SandboxError> {
        check_block_count(count)?;
        let filling = if empty { Filling::Nothing } else { WHOLE_MEMPOOL };
        write(&mut self.lock(), |conn| self.mine_on(conn, count, filling, now_ms))
    }

    /// Mines as [`Sandbox::mine`] does, without transactions that pay less than
    /// `min_fee_rate_sat_kvb` (satoshis for 1,000 vB). A transaction counts with its unconfirmed
    /// ancestors: a child that pays enough for all of them is mined with them, otherwise it stays
    /// in the mempool.
    ///
    /// # Errors
    /// As [`Sandbox::mine`].
    pub fn mine_above(
        &self,
        count: u32,
        min_fee_rate_sat_kvb: u64,
        now_ms: i64,
    ) -> Result<Vec<BlockHash>, SandboxError> {
        check_block_count(count)?;
        let filling = Filling::Mempool { min_fee_rate_sat_kvb };
        write(&mut self.lock(), |conn| self.mine_on(conn, count, filling, now_ms))
    }

    /// Mines one block with the mempool's transactions; its subsidy and fees go to this script. So
    /// a miner can pay someone with a block's reward.
    ///
    /// # Errors
    /// As [`Sandbox::mine`].
    pub fn mine_to(&self, script: ScriptBuf, now_ms: i64) -> Result<BlockHash, SandboxError> {
        write(&mut self.lock(), |conn| {
            let ids = template::choose(conn, 0)?;
            miner::mine_block_to(conn, script, &ids, now_ms.div_euclid(1000))
        })
    }

    /// Mines one block of exactly these transactions, parents first, as any miner may. They may be
    /// unknown to the sandbox, but must be valid by consensus against the tip. Conflicting
    /// transactions in the mempool are dropped.
    ///
    /// # Errors
    /// [`SandboxError::InvalidBlock`] names the broken rule; the chain stays as it was.
    pub fn mine_transactions(
        &self,
        txs: &[Transaction],
        now_ms: i64,
    ) -> Result<BlockHash, SandboxError> {
        write(&mut self.lock(), |conn| given_block::mine(conn, &self.customer, txs, now_ms))
    }

    /// Replaces the last `depth` blocks by `depth` + 1 new ones. With `keep_transactions` the new
    /// blocks are empty, and the old transactions return to the mempool. Without it, the new blocks
    /// hold only double-spends of the customer's own transactions. Others' transactions always
    /// return to the mempool if they are still valid.
    ///
    /// # Errors
    /// [`SandboxError::ReorgDepth`] if it would reach below the initial chain.
    pub fn reorg(
        &self,
        depth: u32,
        keep_transactions: bool,
        now_ms: i64,
    ) -> Result<Vec<BlockHash>, SandboxError> {
        write(&mut self.lock(), |conn| {
            reorg::reorganise(conn, &self.customer, depth, keep_transactions, now_ms)
        })
    }

    /// Replaces the last `depth` blocks by `depth` + 1 new ones. The first new block holds exactly
    /// these transactions, as [`Sandbox::mine_transactions`] would mine them. All other
    /// transactions of the replaced blocks return to the mempool.
    ///
    /// # Errors
    /// [`SandboxError::ReorgDepth`] if it would reach below the initial chain; else as
    /// [`Sandbox::mine_transactions`].
    pub fn reorg_holding(
        &self,
        depth: u32,
        txs: &[Transaction],
        now_ms: i64,
    ) -> Result<Vec<BlockHash>, SandboxError> {
        write(&mut self.lock(), |conn| {
            reorg::reorganise_holding(conn, &self.customer, depth, txs, now_ms)
        })
    }

    /// The customer sends coins to any script, at the default fee rate.
    ///
    /// # Errors
    /// As [`Sandbox::pay`].
    pub fn send(
        &self,
        script: ScriptBuf,
        amount_sats: u64,
        now_ms: i64,
    ) -> Result<Txid, SandboxError> {
        spending::check_amount(&script, amount_sats)?;
        let payment = TxOut { value: Amount::from_sat(amount_sats), script_pubkey: script };
        write(&mut self.lock(), |conn| {
            spending::pay(conn, &self.customer, vec![payment], DEFAULT_FEE_RATE_SAT_VB, now_ms)
        })
    }

    /// The customer pays many scripts in one transaction, at the default fee rate. Tests and the
    /// benchmark build a busy day's history with few such calls.
    ///
    /// # Errors
    /// Fewer than 1 or more than [`MAX_PAYEES`] scripts; else as [`Sandbox::pay`].
    pub fn pay_many(&self, payees: &[(ScriptBuf, u64)], now_ms: i64) -> Result<Txid, SandboxError> {
        if !(1..=MAX_PAYEES).contains(&payees.len()) {
            return Err(SandboxError::PayeeCount { payees: payees.len(), max: MAX_PAYEES });
        }
        let mut payments = Vec::with_capacity(payees.len());
        for (script, amount_sats) in payees {
            spending::check_amount(script, *amount_sats)?;
            payments.push(TxOut {
                value: Amount::from_sat(*amount_sats),
                script_pubkey: script.clone(),
            });
        }
        write(&mut self.lock(), |conn| {
            spending::pay(conn, &self.customer, payments, DEFAULT_FEE_RATE_SAT_VB, now_ms)
        })
    }

    fn mine_on(
        &self,
        conn: &Connection,
        count: u32,
        filling: Filling,
        now_ms: i64,
    ) -> Result<Vec<BlockHash>, SandboxError> {
        let mut hashes = Vec::new();
        for _ in 0..count {
            let ids = match filling {
                Filling::Nothing => Vec::new(),
                Filling::Mempool { min_fee_rate_sat_kvb } => {
                    template::choose(conn, min_fee_rate_sat_kvb)?
                }
            };
            hashes.push(miner::mine_block(conn, &self.customer, &ids, now_ms.div_euclid(1000))?);
        }
        Ok(hashes)
    }
}

fn check_block_count(count: u32) -> Result<(), SandboxError> {
    match count {
        1..=MAX_BLOCKS_PER_CALL => Ok(()),
        _ => Err(SandboxError::BlockCount { count, max: MAX_BLOCKS_PER_CALL }),
    }
}
