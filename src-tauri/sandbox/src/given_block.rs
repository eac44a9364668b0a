//! Mines a block of exactly the transactions that a caller gives, as any miner may. They may be
//! unknown to the sandbox. Only the rules of consensus are checked, not those of the relay.

use bitcoin::{BlockHash, Transaction, TxOut};
use rusqlite::Connection;

use crate::customer::Customer;
use crate::error::{BroadcastRefusal, SandboxError};
use crate::mempool;
use crate::miner;
use crate::rules;
use crate::script_check;
use crate::transactions::{self, Coin, NewTx};

/// The consensus limit on a block's sigop cost.
const MAX_BLOCK_SIGOP_COST: u64 = 80_000;

/// Mines the transactions, parents first, on the tip. Conflicting transactions in the mempool are
/// dropped.
pub(crate) fn mine(
    conn: &Connection,
    customer: &Customer,
    txs: &[Transaction],
    now_ms: i64,
) -> Result<BlockHash, SandboxError> {
    let mut ids = Vec::with_capacity(txs.len());
    let mut sigop_cost = 0u64;
    for tx in txs {
        let (id, cost) = store(conn, tx)?;
        ids.push(id);
        sigop_cost = sigop_cost.saturating_add(cost);
    }
    if sigop_cost > MAX_BLOCK_SIGOP_COST {
        return Err(SandboxError::InvalidBlock("too many signature operations"));
    }
    miner::mine_block(conn, customer, &ids, now_ms.div_euclid(1000))
}

/// Checks all consensus rules that do not depend on the block, and stores the transaction. Returns
/// the id of its row and its sigop cost.
fn store(conn: &Connection, tx: &Transaction) -> Result<(i64, u64), SandboxError> {
    rules::check_form(tx).map_err(broken)?;
    let mut coins = Vec::with_capacity(tx.input.len());
    for input in &tx.input {
        let coin = transactions::coin(conn, &input.previous_output)?;
        coins.push(coin.ok_or(SandboxError::InvalidBlock("an input is unknown"))?);
    }
    let fee_sats = mempool::fee_sats(tx, &coins).map_err(broken)?;
    let spent: Vec<TxOut> = coins.iter().map(Coin::tx_out).collect();
    script_check::verify(tx, &spent).map_err(|_| {
        SandboxError::InvalidBlock("a transaction's script or signature is not valid")
    })?;
    let sigop_cost = mempool::sigop_cost(tx, &spent);
    let new = NewTx { tx, sigop_cost, fee_sats: Some(fee_sats), spent: &coins };
    Ok((transactions::store_transaction(conn, &new)?, sigop_cost))
}

fn broken(refusal: BroadcastRefusal) -> SandboxError {
    match refusal {
        BroadcastRefusal::Invalid(what) => SandboxError::InvalidBlock(what),
        other => other.into(),
    }
}
