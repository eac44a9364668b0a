//! Rules on a single transaction: its form and locks (consensus), and the relay rules.

use std::collections::HashSet;

use bitcoin::{Amount, OutPoint, Transaction};
use rusqlite::Connection;

use crate::blocks;
use crate::error::{BroadcastRefusal, SandboxError};
use crate::transactions::{Coin, Position};

/// The lowest fee rate that is relayed.
pub(crate) const MIN_RELAY_SAT_VB: u64 = 1;
/// The heaviest transaction that is relayed (Bitcoin Core's `MAX_STANDARD_TX_WEIGHT`).
const MAX_STANDARD_WEIGHT: u64 = 400_000;
/// The smallest transaction that is relayed, in bytes without witnesses.
const MIN_STANDARD_SIZE: usize = 65;
/// The highest sigop cost that is relayed: a fifth of a block's limit.
const MAX_STANDARD_SIGOP_COST: u64 = 16_000;
/// The largest weight of a block (consensus).
const MAX_BLOCK_WEIGHT: usize = 4_000_000;
/// A lock time below this number is a height, otherwise a time.
const LOCK_TIME_THRESHOLD: u32 = 500_000_000;
/// BIP68 flag: the input has no relative lock.
const SEQUENCE_NO_LOCK: u32 = 1 << 31;
/// BIP68 flag: the lock is a time in units of 512 s.
const SEQUENCE_IS_TIME: u32 = 1 << 22;
/// BIP68: the bits of the lock's value.
const SEQUENCE_MASK: u32 = 0xffff;

/// Checks the consensus rules that need nothing but the transaction.
pub(crate) fn check_form(tx: &Transaction) -> Result<(), BroadcastRefusal> {
    let refuse = |what| Err(BroadcastRefusal::Invalid(what));
    if tx.input.is_empty() || tx.output.is_empty() {
        return refuse("it has no inputs or no outputs");
    }
    if tx.base_size().saturating_mul(4) > MAX_BLOCK_WEIGHT {
        return refuse("it is larger than a block");
    }
    if tx.input.iter().any(|input| input.previous_output.is_null()) {
        return refuse("a coinbase must be the first transaction of a block");
    }
    let mut seen: HashSet<OutPoint> = HashSet::with_capacity(tx.input.len());
    if !tx.input.iter().all(|input| seen.insert(input.previous_output)) {
        return refuse("it spends one output twice");
    }
    match tx.output.iter().try_fold(Amount::ZERO, |sum, output| sum.checked_add(output.value)) {
        Some(sum) if sum <= Amount::MAX_MONEY => Ok(()),
        Some(_) | None => refuse("its outputs exceed 21 million bitcoins"),
    }
}

/// Checks the relay rules, except fees.
pub(crate) fn check_standard(tx: &Transaction, sigop_cost: u64) -> Result<(), BroadcastRefusal> {
    let refuse = |what: String| Err(BroadcastRefusal::Policy(what));
    if !(1..=3).contains(&tx.version.0) {
        return refuse(format!("its version is {}", tx.version.0));
    }
    if tx.weight().to_wu() > MAX_STANDARD_WEIGHT || tx.base_size() < MIN_STANDARD_SIZE {
        return refuse("it is too large or too small".into());
    }
    if sigop_cost > MAX_STANDARD_SIGOP_COST {
        return refuse("it has too many signature operations".into());
    }
    if tx.input.iter().any(|input| !input.script_sig.is_push_only()) {
        return refuse("an input's script does more than push data".into());
    }
    for (vout, output) in tx.output.iter().enumerate() {
        let script = &output.script_pubkey;
        let known = script.is_witness_program()
            || script.is_p2pkh()
            || script.is_p2sh()
            || script.is_p2pk()
            || script.is_multisig()
            || script.is_op_return();
        if !known {
            return refuse(format!("output {vout} has no standard script"));
        }
        let min = script.minimal_non_dust();
        if output.value < min {
            return refuse(format!(
                "output {vout} of {} satoshis is dust, below {}",
                output.value.to_sat(),
                min.to_sat()
            ));
        }
    }
    Ok(())
}

/// Whether the absolute lock time allows the transaction in a block at `height`. `median_s` is the
/// median time before that block (BIP113).
pub(crate) fn is_final(tx: &Transaction, height: u32, median_s: i64) -> bool {
    let lock = tx.lock_time.to_consensus_u32();
    let threshold = if lock < LOCK_TIME_THRESHOLD { i64::from(height) } else { median_s };
    i64::from(lock) < threshold || tx.input.iter().all(|input| input.sequence.is_final())
}

/// Whether all relative locks allow the transaction in a block at `height` (BIP68). `coins` are the
/// outputs that the inputs spend, in order. An unconfirmed coin counts as confirmed in that block.
pub(crate) fn relative_locks_passed(
    conn: &Connection,
    tx: &Transaction,
    coins: &[Coin],
    height: u32,
    median_s: i64,
) -> Result<bool, SandboxError> {
    if (0..2).contains(&tx.version.0) {
        return Ok(true);
    }
    for (input, coin) in tx.input.iter().zip(coins) {
        let sequence = input.sequence.to_consensus_u32();
        if sequence & SEQUENCE_NO_LOCK != 0 {
            continue;
        }
        let made_at = match coin.position {
            Position::Block { height, .. } => height,
            Position::Mempool { .. } | Position::Absent => height,
        };
        let lock = sequence & SEQUENCE_MASK;
        let passed = if sequence & SEQUENCE_IS_TIME == 0 {
            made_at.saturating_add(lock) <= height
        } else {
            let from_s = blocks::median_time_s(conn, made_at.saturating_sub(1))?;
            from_s.saturating_add(i64::from(lock) * 512) <= median_s
        };
        if !passed {
            return Ok(false);
        }
    }
    Ok(true)
}
