//! Connects blocks to the best chain under the rules of consensus, and disconnects them. `template`
//! chooses the transactions.

use bitcoin::hashes::Hash;
use bitcoin::script::Builder;
use bitcoin::{Amount, Block, Target, TxMerkleNode, Weight};
use rusqlite::Connection;

use crate::blocks;
use crate::change_log;
use crate::error::SandboxError;
use crate::mempool;
use crate::rules;
use crate::store;
use crate::transactions::{self, COINBASE_MATURITY, Coin, NewTx, Position};
use crate::types::Tip;

/// Blocks between two halvings of the subsidy on regtest.
const HALVING_INTERVAL: u32 = 150;
/// New coins of a block before the first halving, in satoshis.
const SUBSIDY_SATS: u64 = 50 * 100_000_000;
/// The most that a block's time may be ahead of the clock.
const MAX_FUTURE_SECONDS: i64 = 2 * 60 * 60;

/// New coins of a block at a height, without fees.
pub(crate) fn subsidy_sats(height: u32) -> u64 {
    SUBSIDY_SATS.checked_shr(height / HALVING_INTERVAL).unwrap_or(0)
}

/// The time of the next block in seconds: the clock's time, or the earliest valid time if that is
/// later. Fails if that time is more than [`MAX_FUTURE_SECONDS`] ahead of the clock.
pub(crate) fn next_block_time_s(
    conn: &Connection,
    tip: &Tip,
    clock_s: i64,
) -> Result<i64, SandboxError> {
    let needed_s = blocks::median_time_s(conn, tip.height)?.saturating_add(1);
    if needed_s > clock_s.saturating_add(MAX_FUTURE_SECONDS) {
        return Err(SandboxError::ClockTooFarBehind { needed_s, clock_s });
    }
    Ok(needed_s.max(clock_s))
}

/// Connects a block to the tip. `ids` are the rows of its transactions after the coinbase; their
/// scripts were checked when they were stored. Conflicting transactions in the mempool are dropped.
pub(crate) fn connect(conn: &Connection, block: &Block, ids: &[i64]) -> Result<(), SandboxError> {
    let tip = blocks::tip(conn)?;
    let height = tip.height.saturating_add(1);
    check_block(conn, block, &tip)?;
    blocks::insert_header(conn, height, &block.header)?;
    let coinbase = block.txdata.first().ok_or(SandboxError::InvalidBlock("no coinbase"))?;
    let new = NewTx { tx: coinbase, sigop_cost: 0, fee_sats: None, spent: &[] };
    let coinbase_id = transactions::store_transaction(conn, &new)?;
    transactions::set_position(conn, coinbase_id, Position::Block { height, index: 0 })?;

    let median_s = blocks::median_time_s(conn, tip.height)?;
    let mut fees_sats: u64 = 0;
    for (index, (id, tx)) in (1u32..).zip(ids.iter().zip(block.txdata.iter().skip(1))) {
        if !rules::is_final(tx, height, median_s) {
            return Err(SandboxError::InvalidBlock(
                "a transaction's lock time has not been reached",
            ));
        }
        let mut coins = Vec::with_capacity(tx.input.len());
        for input in &tx.input {
            let coin = transactions::coin(conn, &input.previous_output)?;
            coins.push(coin.ok_or(SandboxError::InvalidBlock("an input is unknown"))?);
        }
        for coin in &coins {
            check_spend(conn, coin, height)?;
        }
        if !rules::relative_locks_passed(conn, tx, &coins, height, median_s)? {
            return Err(SandboxError::InvalidBlock("a relative lock has not passed"));
        }
        let fee = transactions::tx_by_id(conn, *id)?
            .fee_sats
            .ok_or(SandboxError::InvalidBlock("a second coinbase"))?;
        fees_sats = fees_sats.saturating_add(fee);
        mempool::drop_conflicts(conn, *id)?;
        transactions::set_position(conn, *id, Position::Block { height, index })?;
    }
    let claimed: Amount = coinbase.output.iter().map(|output| output.value).sum();
    if claimed.to_sat() > subsidy_sats(height).saturating_add(fees_sats) {
        return Err(SandboxError::InvalidBlock("the coinbase claims too much"));
    }
    Ok(())
}

/// Checks the consensus rules on the block as a whole.
fn check_block(conn: &Connection, block: &Block, tip: &Tip) -> Result<(), SandboxError> {
    let refuse = |what| Err(SandboxError::InvalidBlock(what));
    let height = i64::from(tip.height) + 1;
    if block.header.prev_blockhash != tip.hash {
        return refuse("it does not follow the tip");
    }
    if block.header.validate_pow(Target::MAX_ATTAINABLE_REGTEST).is_err() {
        return refuse("no proof of work");
    }
    if i64::from(block.header.time) <= blocks::median_time_s(conn, tip.height)? {
        return refuse("its time is not after the median of the last blocks");
    }
    if block.compute_merkle_root() != Some(block.header.merkle_root)
        || block.header.merkle_root == TxMerkleNode::all_zeros()
    {
        return refuse("a wrong merkle root");
    }
    if !block.check_witness_commitment() {
        return refuse("a wrong witness commitment");
    }
    if block.weight() > Weight::MAX_BLOCK {
        return refuse("too heavy");
    }
    // BIP34 as Bitcoin Core writes it: heights 1 to 16 are OP_1 to OP_16, which
    // `Block::bip34_block_height` refuses.
    let height_push = Builder::new().push_int(height).into_script();
    let has_height = block.coinbase().and_then(|tx| tx.input.first()).is_some_and(|input| {
        (2..=100).contains(&input.script_sig.len())
            && input.script_sig.as_bytes().starts_with(height_push.as_bytes())
    });
    if !has_height {
        return refuse("a coinbase without its height");
    }
    Ok(())
}

/// Checks the consensus rules on an output that a block at `height` spends.
fn check_spend(conn: &Connection, coin: &Coin, height: u32) -> Result<(), SandboxError> {
    let Position::Block { height: made_at, .. } = coin.position else {
        return Err(SandboxError::InvalidBlock("an input is not in the chain"));
    };
    if coin.is_coinbase && height < made_at.saturating_add(COINBASE_MATURITY) {
        return Err(SandboxError::InvalidBlock("an immature coinbase is spent"));
    }
    if transactions::confirmed_spender(conn, coin)?.is_some() {
        return Err(SandboxError::InvalidBlock("an output is spent twice"));
    }
    Ok(())
}

/// Disconnects all blocks above `fork_height`. Their transactions are absent afterwards. Returns
/// the ids of those that are not coinbases, in block order.
pub(crate) fn disconnect_to(conn: &Connection, fork_height: u32) -> Result<Vec<i64>, SandboxError> {
    let all = store::ids(
        conn,
        "SELECT tx_id FROM transactions WHERE block_height > ?1 ORDER BY block_height, block_index",
        [fork_height],
    )?;
    let mut returned = Vec::with_capacity(all.len());
    for id in &all {
        if transactions::tx_by_id(conn, *id)?.fee_sats.is_some() {
            returned.push(*id);
        }
        transactions::set_position(conn, *id, Position::Absent)?;
    }
    conn.prepare_cached("DELETE FROM blocks WHERE height > ?1")?.execute([fork_height])?;
    change_log::log_reorg(conn, fork_height)?;
    Ok(returned)
}
