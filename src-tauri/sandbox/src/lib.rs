//! A private regtest chain inside the program, with a simulated customer.
//!
//! Blocks have real proof of work, merkle roots and witness commitments; every input of every transaction is checked by
//! Bitcoin Core's script interpreter; the mempool replaces, refuses and evicts as the network does. All of it lives in
//! one SQLite file, found by index, and each call is committed to the disk before it answers.
//!
//! The sandbox never reads a clock (callers give `now_ms`), never talks to a network, and knows nothing of payments.

mod blocks;
mod chain;
mod change_log;
mod changes;
mod customer;
mod customer_coins;
mod error;
mod faults_rates;
mod given_block;
mod initial_chain;
mod mempool;
mod miner;
mod reorg;
mod rules;
mod script_check;
mod spending;
mod store;
mod template;
mod transactions;
mod types;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use bitcoin::hashes::{Hash as _, HashEngine as _, sha256};
use bitcoin::{Amount, Block, BlockHash, Script, ScriptBuf, Transaction, TxOut, Txid};
use rusqlite::{Connection, TransactionBehavior};

pub use error::{BroadcastRefusal, SandboxError};
pub use script_check::verify as verify_scripts;
pub use spending::{DEFAULT_FEE_RATE_SAT_VB, MAX_FEE_RATE_SAT_VB};
pub use types::{
    Broadcast, BroadcastFault, Changes, Faults, FaultsPatch, PaidOutput, Pay, Replace, ReplaceTo, Status, Tip,
    TxPosition, TxView,
};

use customer::Customer;
use transactions::Position;

/// One call mines no more, so that it answers within seconds and block times stay near the clock.
pub const MAX_BLOCKS_PER_CALL: u32 = 1_000;
/// One call pays in no more transactions, so that the customer's coins last.
pub const MAX_PARTS: u32 = 100;
/// One transaction pays no more outputs, so that it stays below the weight that is relayed.
pub const MAX_PAYEES: usize = 2_000;

/// What a block is filled with.
#[derive(Debug, Clone, Copy)]
enum Filling {
    /// Nothing but its coinbase.
    Nothing,
    /// What the mempool holds at this fee rate and above.
    Mempool { min_fee_rate_sat_kvb: u64 },
}

/// All that the mempool holds, as far as there is room.
const WHOLE_MEMPOOL: Filling = Filling::Mempool { min_fee_rate_sat_kvb: 0 };

/// The chain, its mempool, its clock's offset, its rates and faults, and the customer. Calls block, one at a time.
pub struct Sandbox {
    conn: Mutex<Connection>,
    customer: Customer,
    identity: [u8; 32],
    clock_offset_ms: AtomicI64,
}

impl std::fmt::Debug for Sandbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sandbox").finish_non_exhaustive()
    }
}

impl Sandbox {
    /// Opens the file, or creates it with an initial chain whose last block is at `now_ms`. The caller sees to it that
    /// no other process opens it.
    ///
    /// # Errors
    /// The file cannot be read or written, is not a sandbox's, or was written by a newer program.
    pub fn open(file: &Path, now_ms: i64) -> Result<Sandbox, SandboxError> {
        let (mut conn, is_new) = store::open(file)?;
        if is_new {
            let step = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
            initial_chain::create(&step, now_ms)?;
            step.commit()?;
        }
        let seed: [u8; 32] = conn.query_row("SELECT seed FROM meta", [], |row| row.get(0))?;
        let clock_offset_ms = AtomicI64::new(faults_rates::clock_offset_ms(&conn)?);
        let identity = identity_of(&seed);
        Ok(Sandbox { conn: Mutex::new(conn), customer: Customer::new(seed), identity, clock_offset_ms })
    }

    /// What tells this chain from every other sandbox's: it comes from the random seed that the file was made with, and
    /// copies of the file share it.
    pub fn identity(&self) -> [u8; 32] {
        self.identity
    }

    /// How far the clock was moved forward, in milliseconds. Only grows; reading it never touches the disk.
    pub fn clock_offset_ms(&self) -> i64 {
        self.clock_offset_ms.load(Ordering::Acquire)
    }

    /// Moves the clock forward and answers its new offset in milliseconds.
    ///
    /// # Errors
    /// [`SandboxError::ClockOutOfRange`] beyond 50 years in all.
    pub fn advance_clock(&self, seconds: u64) -> Result<i64, SandboxError> {
        let mut conn = self.lock();
        let offset_ms = write(&mut conn, |conn| faults_rates::advance_clock(conn, seconds))?;
        self.clock_offset_ms.store(offset_ms, Ordering::Release);
        Ok(offset_ms)
    }

    /// The customer pays, in one or several transactions, and then mines. All of it happens, or nothing.
    ///
    /// # Errors
    /// A sum, count or fee rate out of range; [`SandboxError::CannotPay`].
    pub fn pay(&self, pay: Pay, now_ms: i64) -> Result<Vec<Txid>, SandboxError> {
        let rate = spending::check_fee_rate(pay.fee_rate_sat_vb.unwrap_or(DEFAULT_FEE_RATE_SAT_VB))?;
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

    /// The customer replaces an unconfirmed transaction of its own. Answers the one new transaction.
    ///
    /// # Errors
    /// Unknown, confirmed, gone or somebody else's transactions; a fee too low to replace; [`SandboxError::CannotPay`].
    pub fn replace(&self, txid: Txid, replace: Replace, now_ms: i64) -> Result<Vec<Txid>, SandboxError> {
        write(&mut self.lock(), |conn| Ok(vec![spending::replace(conn, &self.customer, &txid, replace, now_ms)?]))
    }

    /// A transaction drops out of the mempool with its descendants, and is refused until the next block.
    ///
    /// # Errors
    /// Unknown, confirmed or gone transactions.
    pub fn evict(&self, txid: Txid, _now_ms: i64) -> Result<(), SandboxError> {
        write(&mut self.lock(), |conn| {
            let row = transactions::tx_by_txid(conn, &txid)?.ok_or(SandboxError::UnknownTransaction(txid))?;
            match row.position {
                Position::Block { .. } => Err(SandboxError::AlreadyConfirmed(txid)),
                Position::Absent => Err(SandboxError::NotInMempool(txid)),
                Position::Mempool { .. } => mempool::evict(conn, &row),
            }
        })
    }

    /// Mines 1 to [`MAX_BLOCKS_PER_CALL`] blocks with what the mempool holds, or `empty` ones.
    ///
    /// # Errors
    /// [`SandboxError::BlockCount`]; [`SandboxError::ClockTooFarBehind`] after tens of thousands of blocks at one time.
    pub fn mine(&self, count: u32, empty: bool, now_ms: i64) -> Result<Vec<BlockHash>, SandboxError> {
        check_block_count(count)?;
        let filling = if empty { Filling::Nothing } else { WHOLE_MEMPOOL };
        write(&mut self.lock(), |conn| self.mine_on(conn, count, filling, now_ms))
    }

    /// Mines as [`Sandbox::mine`] does; what pays less than `min_fee_rate_sat_kvb` (satoshis for 1,000 vB) stays out of
    /// these blocks. A transaction counts with its unconfirmed ancestors: a child that pays enough for all of them
    /// brings them along, and one that does not stays out with them.
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

    /// Mines one block of exactly these transactions, parents first, as any miner may: known to the sandbox or not, as
    /// long as they are valid by consensus against the tip. What in the mempool conflicts with them drops out of it.
    ///
    /// # Errors
    /// [`SandboxError::InvalidBlock`] names the rule that they break; nothing was mined.
    pub fn mine_transactions(&self, txs: &[Transaction], now_ms: i64) -> Result<BlockHash, SandboxError> {
        write(&mut self.lock(), |conn| given_block::mine(conn, &self.customer, txs, now_ms))
    }

    /// Replaces the last `depth` blocks by one more new ones. With `keep_transactions` they are empty and the
    /// transactions go back to the mempool; without, the customer's own are double-spent in the new blocks, which hold
    /// nothing else. Others' transactions always go back, as far as they are still valid.
    ///
    /// # Errors
    /// [`SandboxError::ReorgDepth`] below the initial chain.
    pub fn reorg(&self, depth: u32, keep_transactions: bool, now_ms: i64) -> Result<Vec<BlockHash>, SandboxError> {
        write(&mut self.lock(), |conn| reorg::reorganise(conn, &self.customer, depth, keep_transactions, now_ms))
    }

    /// The customer sends coins to any script, at the default fee rate.
    ///
    /// # Errors
    /// As [`Sandbox::pay`].
    pub fn send(&self, script: ScriptBuf, amount_sats: u64, now_ms: i64) -> Result<Txid, SandboxError> {
        spending::check_amount(&script, amount_sats)?;
        let payment = TxOut { value: Amount::from_sat(amount_sats), script_pubkey: script };
        write(&mut self.lock(), |conn| {
            spending::pay(conn, &self.customer, vec![payment], DEFAULT_FEE_RATE_SAT_VB, now_ms)
        })
    }

    /// The customer pays many scripts their satoshis in one transaction, at the default fee rate: a busy day's history
    /// in few calls.
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
            payments.push(TxOut { value: Amount::from_sat(*amount_sats), script_pubkey: script.clone() });
        }
        write(&mut self.lock(), |conn| spending::pay(conn, &self.customer, payments, DEFAULT_FEE_RATE_SAT_VB, now_ms))
    }

    /// Sets rates, or withdraws those given as `None`. The caller has validated codes and decimals.
    ///
    /// # Errors
    /// Storage only.
    pub fn set_rates(&self, rates: &BTreeMap<String, Option<String>>) -> Result<(), SandboxError> {
        write(&mut self.lock(), |conn| faults_rates::set_rates(conn, rates))
    }

    /// The simulated rates: decimal text by currency code.
    ///
    /// # Errors
    /// Storage only.
    pub fn rates(&self) -> Result<BTreeMap<String, String>, SandboxError> {
        faults_rates::rates(&self.lock())
    }

    /// Changes the faults; what is `None` stays.
    ///
    /// # Errors
    /// Storage only.
    pub fn set_faults(&self, patch: FaultsPatch) -> Result<(), SandboxError> {
        write(&mut self.lock(), |conn| faults_rates::set_faults(conn, patch))
    }

    /// The faults in force.
    ///
    /// # Errors
    /// Storage only.
    pub fn faults(&self) -> Result<Faults, SandboxError> {
        faults_rates::faults(&self.lock())
    }

    /// The best block.
    ///
    /// # Errors
    /// Storage only.
    pub fn tip(&self) -> Result<Tip, SandboxError> {
        blocks::tip(&self.lock())
    }

    /// The tip, the whole mempool, rates and faults, in one consistent view.
    ///
    /// # Errors
    /// Storage only.
    pub fn status(&self) -> Result<Status, SandboxError> {
        read(&mut self.lock(), |conn| {
            let tip = blocks::tip(conn)?;
            Ok(Status {
                height: tip.height,
                tip_hash: tip.hash,
                tip_time_ms: tip.time_ms,
                mempool: mempool::txids(conn)?,
                rates: faults_rates::rates(conn)?,
                faults: faults_rates::faults(conn)?,
            })
        })
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
                Filling::Mempool { min_fee_rate_sat_kvb } => template::choose(conn, min_fee_rate_sat_kvb)?,
            };
            hashes.push(miner::mine_block(conn, &self.customer, &ids, now_ms.div_euclid(1000))?);
        }
        Ok(hashes)
    }

    /// What a panic left half done was rolled back with its transaction, so a poisoned lock guards a sound file.
    fn lock(&self) -> MutexGuard<'_, Connection> {
        self.conn.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One-way, so that whoever sees it cannot tell the customer's keys.
fn identity_of(seed: &[u8; 32]) -> [u8; 32] {
    let mut engine = sha256::Hash::engine();
    engine.input(b"identity of a sandbox's chain");
    engine.input(seed);
    sha256::Hash::from_engine(engine).to_byte_array()
}

fn check_block_count(count: u32) -> Result<(), SandboxError> {
    match count {
        1..=MAX_BLOCKS_PER_CALL => Ok(()),
        _ => Err(SandboxError::BlockCount { count, max: MAX_BLOCKS_PER_CALL }),
    }
}

/// One committed step: all of it or nothing.
fn write<T, E: From<rusqlite::Error>>(
    conn: &mut Connection,
    act: impl FnOnce(&Connection) -> Result<T, E>,
) -> Result<T, E> {
    let step = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let answer = act(&step)?;
    step.commit()?;
    Ok(answer)
}

/// One consistent view.
fn read<T>(
    conn: &mut Connection,
    look: impl FnOnce(&Connection) -> Result<T, SandboxError>,
) -> Result<T, SandboxError> {
    let view = conn.transaction_with_behavior(TransactionBehavior::Deferred)?;
    look(&view)
}
