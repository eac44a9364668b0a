//! Builds a block from given transactions: adds the coinbase and finds the proof of work.

use bitcoin::absolute::LockTime;
use bitcoin::block::{Header, Version};
use bitcoin::hashes::Hash;
use bitcoin::script::{Builder, PushBytesBuf};
use bitcoin::{
    Amount, Block, BlockHash, CompactTarget, OutPoint, ScriptBuf, Sequence, Target, Transaction,
    TxIn, TxMerkleNode, TxOut, Witness, transaction,
};
use rusqlite::Connection;

use crate::blocks;
use crate::chain;
use crate::customer::Customer;
use crate::error::SandboxError;
use crate::mempool;
use crate::transactions;

/// The target of every regtest block, in its compact form.
const REGTEST_BITS: u32 = 0x207f_ffff;
/// The first bytes of a witness commitment's script (BIP141).
const COMMITMENT_HEADER: [u8; 4] = [0xaa, 0x21, 0xa9, 0xed];

/// Mines a block with the given transactions, parents first, on the tip. Its subsidy and fees go to
/// the customer.
pub(crate) fn mine_block(
    conn: &Connection,
    customer: &Customer,
    ids: &[i64],
    clock_s: i64,
) -> Result<BlockHash, SandboxError> {
    let script = customer.script(key_of_number(mempool::blocks_mined(conn)?));
    mine_block_to(conn, script, ids, clock_s)
}

/// As [`mine_block`], but the subsidy and fees go to `script`.
pub(crate) fn mine_block_to(
    conn: &Connection,
    script: ScriptBuf,
    ids: &[i64],
    clock_s: i64,
) -> Result<BlockHash, SandboxError> {
    let tip = blocks::tip(conn)?;
    let height = tip.height.saturating_add(1);
    let time_s = chain::next_block_time_s(conn, &tip, clock_s)?;
    let time = u32::try_from(time_s)
        .map_err(|_| SandboxError::ClockTooFarBehind { needed_s: time_s, clock_s })?;
    let mut txdata = Vec::with_capacity(ids.len().saturating_add(1));
    let mut reward_sats = chain::subsidy_sats(height);
    let mined = mempool::blocks_mined(conn)?;
    txdata.push(coinbase(height, mined, script));
    for id in ids {
        txdata.push(transactions::transaction(conn, *id)?);
        reward_sats =
            reward_sats.saturating_add(transactions::tx_by_id(conn, *id)?.fee_sats.unwrap_or(0));
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
    block.header.merkle_root =
        block.compute_merkle_root().ok_or(SandboxError::InvalidBlock("no transactions"))?;
    find_proof_of_work(&mut block.header)?;
    conn.prepare_cached("UPDATE meta SET blocks_mined = blocks_mined + 1")?.execute([])?;
    chain::connect(conn, &block, ids)?;
    Ok(block.block_hash())
}

/// The customer's key for the next block's reward. Successive blocks use successive keys.
fn key_of_number(mined: i64) -> u32 {
    u32::try_from(mined.rem_euclid(i64::from(u32::MAX))).unwrap_or(0)
}

/// A coinbase without its amounts. It holds the number of blocks ever mined, so that coinbases at
/// the same height differ.
fn coinbase(height: u32, mined: i64, script: ScriptBuf) -> Transaction {
    let script_sig = Builder::new()
        .push_int(i64::from(height))
        .push_slice(PushBytesBuf::from(mined.to_le_bytes()))
        .into_script();
    let mut witness = Witness::new();
    witness.push([0u8; 32]);
    Transaction {
        version: transaction::Version::TWO,
        lock_time: LockTime::ZERO,
        input: vec![TxIn {
            previous_output: OutPoint::null(),
            script_sig,
            sequence: Sequence::MAX,
            witness,
        }],
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

/// On regtest about every second nonce meets the target.
fn find_proof_of_work(header: &mut Header) -> Result<(), SandboxError> {
    for nonce in 0..=u32::MAX {
        header.nonce = nonce;
        if header.validate_pow(Target::MAX_ATTAINABLE_REGTEST).is_ok() {
            return Ok(());
        }
    }
    Err(SandboxError::InvalidBlock("no nonce gives a proof of work"))
}
