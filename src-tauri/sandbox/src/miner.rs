//! Makes blocks: chooses transactions by fee, writes the coinbase, finds the proof of work.

use std::collections::BTreeSet;

use bitcoin::absolute::LockTime;
use bitcoin::block::{Header, Version};
use bitcoin::hashes::Hash;
use bitcoin::script::{Builder, PushBytesBuf};
use bitcoin::{
    Amount, Block, BlockHash, CompactTarget, OutPoint, ScriptBuf, Sequence, Target, Transaction, TxIn, TxMerkleNode,
    TxOut, Witness, transaction,
};
use rusqlite::{Connection, params};

use crate::blocks;
use crate::chain;
use crate::customer::Customer;
use crate::error::SandboxError;
use crate::mempool;
use crate::transactions;

/// Consensus' limit of 4,000,000 without room for header and coinbase (as Bitcoin Core reserves).
const MAX_TRANSACTIONS_WEIGHT: u64 = 4_000_000 - 4_000;
/// Consensus' limit of 80,000 without room for the coinbase.
const MAX_SIGOP_COST: u64 = 80_000 - 400;
/// No transaction is lighter: fuller than this, a block is full.
const MIN_TRANSACTION_WEIGHT: u64 = 240;
/// How many that do not fit are passed over before a nearly full block is left as it is (as Bitcoin Core does).
const MAX_MISFITS: u32 = 1_000;
/// The target of every regtest block, in its compact form.
const REGTEST_BITS: u32 = 0x207f_ffff;
/// The first bytes of a witness commitment's script (BIP141).
const COMMITMENT_HEADER: [u8; 4] = [0xaa, 0x21, 0xa9, 0xed];

/// Mines a block with the given transactions, parents first, on the tip. Its subsidy and fees go to the customer.
pub(crate) fn mine_block(
    conn: &Connection,
    customer: &Customer,
    ids: &[i64],
    clock_s: i64,
) -> Result<BlockHash, SandboxError> {
    let tip = blocks::tip(conn)?;
    let height = tip.height.saturating_add(1);
    let time_s = chain::next_block_time_s(conn, &tip, clock_s)?;
    let time = u32::try_from(time_s).map_err(|_| SandboxError::ClockTooFarBehind { needed_s: time_s, clock_s })?;
    let mut txdata = Vec::with_capacity(ids.len().saturating_add(1));
    let mut reward_sats = chain::subsidy_sats(height);
    let mined = mempool::blocks_mined(conn)?;
    txdata.push(coinbase(height, mined, customer.script(key_of_number(mined))));
    for id in ids {
        txdata.push(transactions::transaction(conn, *id)?);
        reward_sats = reward_sats.saturating_add(transactions::tx_by_id(conn, *id)?.fee_sats.unwrap_or(0));
    }
    let header = Header {
        version: Version::NO_SOFT_FORK_SIGNALLING,
        prev_blockhash: tip.hash,
        merkle_root: TxMerkleNode::all_zeros(),
        time,
        bits: CompactTarget::from_consensus(REGTEST_BITS),
        nonce: 0,
    };
    let mut block = Block { header, txdata };
    let commitment = commitment_script(&block)?;
    if let Some(coinbase) = block.txdata.first_mut() {
        if let Some(reward) = coinbase.output.first_mut() {
            reward.value = Amount::from_sat(reward_sats);
        }
        coinbase.output.push(TxOut { value: Amount::ZERO, script_pubkey: commitment });
    }
    block.header.merkle_root = block.compute_merkle_root().ok_or(SandboxError::InvalidBlock("no transactions"))?;
    find_proof_of_work(&mut block.header)?;
    conn.prepare_cached("UPDATE meta SET blocks_mined = blocks_mined + 1")?.execute([])?;
    chain::connect(conn, &block, ids)?;
    Ok(block.block_hash())
}

/// The mempool's transactions for the next block, best fee rate first. A transaction brings its unconfirmed ancestors
/// with it, so that a child can pay for its parent.
pub(crate) fn choose(conn: &Connection) -> Result<Vec<i64>, SandboxError> {
    let mut by_rate = conn.prepare_cached(
        "SELECT tx_id FROM transactions WHERE entered_ms IS NOT NULL ORDER BY fee_rate_sat_kvb DESC, tx_id",
    )?;
    let mut chosen = Vec::new();
    let mut taken: BTreeSet<i64> = BTreeSet::new();
    let (mut weight, mut sigop_cost, mut misfits) = (0u64, 0u64, 0u32);
    let mut rows = by_rate.query([])?;
    while let Some(row) = rows.next()? {
        let id: i64 = row.get(0)?;
        if taken.contains(&id) {
            continue;
        }
        let mut package = mempool::ancestors(conn, id)?;
        package.retain(|ancestor| !taken.contains(ancestor));
        package.push(id);
        let (more_weight, more_cost) = cost(conn, &package)?;
        if weight.saturating_add(more_weight) > MAX_TRANSACTIONS_WEIGHT
            || sigop_cost.saturating_add(more_cost) > MAX_SIGOP_COST
        {
            misfits = misfits.saturating_add(1);
            if misfits > MAX_MISFITS || weight.saturating_add(MIN_TRANSACTION_WEIGHT) > MAX_TRANSACTIONS_WEIGHT {
                break;
            }
            continue;
        }
        weight = weight.saturating_add(more_weight);
        sigop_cost = sigop_cost.saturating_add(more_cost);
        taken.extend(&package);
        chosen.extend(package);
    }
    Ok(chosen)
}

fn cost(conn: &Connection, ids: &[i64]) -> Result<(u64, u64), SandboxError> {
    let mut statement = conn.prepare_cached("SELECT weight, sigop_cost FROM transactions WHERE tx_id = ?1")?;
    ids.iter().try_fold((0u64, 0u64), |(weight, cost), id| {
        let (w, c): (u64, u64) = statement.query_row(params![id], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok((weight.saturating_add(w), cost.saturating_add(c)))
    })
}

/// Each block pays to another of the customer's scripts.
fn key_of_number(mined: i64) -> u32 {
    u32::try_from(mined.rem_euclid(i64::from(u32::MAX))).unwrap_or(0)
}

/// A coinbase without its amounts. The number of blocks ever mined makes it differ from every other of its height.
fn coinbase(height: u32, mined: i64, script: ScriptBuf) -> Transaction {
    let script_sig =
        Builder::new().push_int(i64::from(height)).push_slice(PushBytesBuf::from(mined.to_le_bytes())).into_script();
    let mut witness = Witness::new();
    witness.push([0u8; 32]);
    Transaction {
        version: transaction::Version::TWO,
        lock_time: LockTime::ZERO,
        input: vec![TxIn { previous_output: OutPoint::null(), script_sig, sequence: Sequence::MAX, witness }],
        output: vec![TxOut { value: Amount::ZERO, script_pubkey: script }],
    }
}

fn commitment_script(block: &Block) -> Result<ScriptBuf, SandboxError> {
    let root = block.witness_root().ok_or(SandboxError::InvalidBlock("no transactions"))?;
    let commitment = Block::compute_witness_commitment(&root, &[0u8; 32]);
    let mut push = [0u8; 36];
    push[..4].copy_from_slice(&COMMITMENT_HEADER);
    push[4..].copy_from_slice(commitment.as_byte_array());
    Ok(ScriptBuf::new_op_return(PushBytesBuf::from(push)))
}

/// On regtest every second nonce will do.
fn find_proof_of_work(header: &mut Header) -> Result<(), SandboxError> {
    for nonce in 0..=u32::MAX {
        header.nonce = nonce;
        if header.validate_pow(Target::MAX_ATTAINABLE_REGTEST).is_ok() {
            return Ok(());
        }
    }
    Err(SandboxError::InvalidBlock("no nonce gives a proof of work"))
}
