//! Reorganisations: n blocks are replaced by n + 1 new ones. The old transactions return to the
//! mempool or are double-spent.

use bitcoin::{BlockHash, Transaction, TxOut};
use rusqlite::Connection;

use crate::blocks;
use crate::chain;
use crate::customer::Customer;
use crate::error::SandboxError;
use crate::given_block;
use crate::mempool;
use crate::miner;
use crate::script_check;
use crate::spending;
use crate::transactions::{self, COINBASE_MATURITY, Coin, NewTx, Position};
use crate::types::Tip;

/// A double-spend that is not in a block yet, and the first height at which it is valid.
struct DoubleSpend {
    id: i64,
    from_height: u32,
}

/// Replaces the last `depth` blocks. With `keep_transactions` the new blocks are empty, and the old
/// transactions are unconfirmed again. Without it, the new blocks hold only double-spends of the
/// customer's own transactions.
pub(crate) fn reorganise(
    conn: &Connection,
    customer: &Customer,
    depth: u32,
    keep_transactions: bool,
    now_ms: i64,
) -> Result<Vec<BlockHash>, SandboxError> {
    let (tip, fork_height) = tip_and_fork(conn, depth)?;
    let mut returned = chain::disconnect_to(conn, fork_height)?;
    let mut waiting = Vec::new();
    if !keep_transactions {
        let mut others = Vec::new();
        for id in returned {
            if transactions::tx_by_id(conn, id)?.is_own {
                waiting.extend(double_spend(conn, customer, id)?);
            } else {
                others.push(id);
            }
        }
        returned = others;
    }
    let clock_s = now_ms.div_euclid(1000);
    let mut hashes = Vec::new();
    for height in (fork_height..=tip.height).map(|parent| parent.saturating_add(1)) {
        let (ready, later): (Vec<_>, Vec<_>) =
            waiting.into_iter().partition(|spend| spend.from_height <= height);
        waiting = later;
        let ids: Vec<i64> = ready.iter().map(|spend| spend.id).collect();
        hashes.push(miner::mine_block(conn, customer, &ids, clock_s)?);
    }
    mempool::revalidate(conn, &returned, now_ms)?;
    log(&tip, fork_height, keep_transactions);
    Ok(hashes)
}

/// As [`reorganise`] with `keep_transactions`, but the first new block holds `txs`.
pub(crate) fn reorganise_holding(
    conn: &Connection,
    customer: &Customer,
    depth: u32,
    txs: &[Transaction],
    now_ms: i64,
) -> Result<Vec<BlockHash>, SandboxError> {
    let (tip, fork_height) = tip_and_fork(conn, depth)?;
    let returned = chain::disconnect_to(conn, fork_height)?;
    let mut hashes = vec![given_block::mine(conn, customer, txs, now_ms)?];
    for _ in 0..depth {
        hashes.push(miner::mine_block(conn, customer, &[], now_ms.div_euclid(1000))?);
    }
    mempool::revalidate(conn, &returned, now_ms)?;
    log(&tip, fork_height, true);
    Ok(hashes)
}

/// The tip, and the height of the last block that stays if `depth` blocks are replaced.
fn tip_and_fork(conn: &Connection, depth: u32) -> Result<(Tip, u32), SandboxError> {
    let tip = blocks::tip(conn)?;
    let max = tip.height.saturating_sub(blocks::initial_height(conn)?);
    if depth == 0 || depth > max {
        return Err(SandboxError::ReorgDepth { depth, max });
    }
    let fork_height = tip.height.saturating_sub(depth);
    Ok((tip, fork_height))
}

fn log(old: &Tip, fork_height: u32, keep_transactions: bool) {
    tracing::debug!(
        old_height = old.height,
        fork_height,
        keep_transactions,
        "the sandbox's chain was reorganised"
    );
}

/// Builds a transaction that spends the inputs of one of the customer's disconnected transactions
/// and pays the customer. An input that is not confirmed on the shortened chain is left out,
/// because the transaction that made it was disconnected too.
fn double_spend(
    conn: &Connection,
    customer: &Customer,
    id: i64,
) -> Result<Option<DoubleSpend>, SandboxError> {
    let mut coins: Vec<Coin> = Vec::new();
    let mut from_height = 0;
    for input in &transactions::transaction(conn, id)?.input {
        let coin = spending::known_coin(conn, &input.previous_output)?;
        let Position::Block { height, .. } = coin.position else { continue };
        if transactions::confirmed_spender(conn, &coin)?.is_none() {
            let ripe_after = if coin.is_coinbase { COINBASE_MATURITY } else { 1 };
            from_height = from_height.max(height.saturating_add(ripe_after));
            coins.push(coin);
        }
    }
    if coins.is_empty() {
        return Ok(None);
    }
    let tx = spending::double_spend(customer, &coins)?;
    let spent: Vec<TxOut> = coins.iter().map(Coin::tx_out).collect();
    script_check::verify(&tx, &spent)
        .map_err(|_| SandboxError::InvalidBlock("a double-spend's script is invalid"))?;
    let comes_in = coins.iter().fold(0u64, |sum, coin| sum.saturating_add(coin.amount_sats));
    let goes_out =
        tx.output.iter().fold(0u64, |sum, output| sum.saturating_add(output.value.to_sat()));
    let fee_sats = Some(comes_in.saturating_sub(goes_out));
    let sigop_cost = mempool::sigop_cost(&tx, &spent);
    let id = transactions::store_transaction(
        conn,
        &NewTx { tx: &tx, sigop_cost, fee_sats, spent: &coins },
    )?;
    Ok(Some(DoubleSpend { id, from_height }))
}
