//! The mempool: acceptance, replacement (BIP125 with full RBF) and eviction.

use std::collections::BTreeSet;

use bitcoin::{Transaction, TxOut};
use rusqlite::{Connection, OptionalExtension, params};

use crate::blocks;
use crate::error::{BroadcastRefusal, SandboxError};
use crate::rules::{self, MIN_RELAY_SAT_VB};
use crate::script_check;
use crate::store;
use crate::transactions::{self, COINBASE_MATURITY, Coin, NewTx, Position, TxRow};
use crate::types::{Broadcast, Tip};

/// The fee rate that a replacement pays for its own relay (Bitcoin Core's `-incrementalrelayfee`).
pub(crate) const INCREMENTAL_RELAY_SAT_VB: u64 = 1;
/// Most transactions that one replacement may drop (BIP125 rule 5).
const MAX_REPLACED: usize = 100;
/// Most ancestors, or descendants, of an unconfirmed transaction, itself included:
/// `-limitancestorcount` and `-limitdescendantcount` of Bitcoin Core before 31.0. Later versions
/// limit clusters to 64 transactions instead.
const MAX_FAMILY: usize = 25;
/// Largest total size of such ancestors or descendants in vB: `-limitancestorsize` and
/// `-limitdescendantsize`.
const MAX_FAMILY_VB: u64 = 101_000;

/// Accepts a transaction into the mempool if all rules allow, and drops those it replaces.
pub(crate) fn accept(
    conn: &Connection,
    tx: &Transaction,
    now_ms: i64,
) -> Result<Broadcast, BroadcastRefusal> {
    if let Some(known) = transactions::tx_by_txid(conn, &tx.compute_txid())? {
        if known.position != Position::Absent {
            return Ok(Broadcast::AlreadyKnown);
        }
        if known.evicted_after_blocks == Some(blocks_mined(conn)?) {
            return Err(BroadcastRefusal::Refused("it was evicted, and no block was mined since"));
        }
    }
    rules::check_form(tx)?;
    let tip = blocks::tip(conn)?;
    let coins = find_coins(conn, tx, &tip)?;
    check_locks(conn, tx, &coins, &tip)?;
    let fee_sats = fee_sats(tx, &coins)?;
    let spent: Vec<TxOut> = coins.iter().map(Coin::tx_out).collect();
    let sigop_cost = sigop_cost(tx, &spent);
    rules::check_standard(tx, sigop_cost)?;
    let vsize = tx.weight().to_wu().div_ceil(4);
    if fee_sats < vsize.saturating_mul(MIN_RELAY_SAT_VB) {
        return Err(BroadcastRefusal::Policy(format!(
            "it pays {fee_sats} satoshis for {vsize} vB, below {MIN_RELAY_SAT_VB} sat/vB"
        )));
    }
    let replaced = check_replacement(conn, &coins, fee_sats, vsize)?;
    script_check::verify(tx, &spent).map_err(|input| BroadcastRefusal::ScriptInvalid { input })?;

    // The new transaction enters before the replaced ones leave. `change_log::log_transaction` can
    // then skip those that were replaced earlier.
    let id = transactions::store_transaction(
        conn,
        &NewTx { tx, sigop_cost, fee_sats: Some(fee_sats), spent: &coins },
    )?;
    transactions::set_position(conn, id, Position::Mempool { entered_ms: now_ms })?;
    for id in replaced.iter().rev() {
        transactions::set_position(conn, *id, Position::Absent)?;
    }
    Ok(Broadcast::Accepted)
}

/// Accepts transactions one by one, parents first, up to the first refused one. Returns the answer
/// for the last one tried; those accepted before it stay in the mempool.
pub(crate) fn accept_package(
    conn: &Connection,
    package: &[Transaction],
    now_ms: i64,
) -> Result<Broadcast, BroadcastRefusal> {
    package.iter().try_fold(Broadcast::AlreadyKnown, |_, tx| accept(conn, tx, now_ms))
}

/// Drops a transaction and its descendants, and refuses it until the next block.
pub(crate) fn evict(conn: &Connection, row: &TxRow) -> Result<(), SandboxError> {
    drop_family(conn, row.id)?;
    transactions::mark_evicted(conn, row.id)
}

/// Drops the mempool's transactions that conflict with a transaction of a new block.
pub(crate) fn drop_conflicts(conn: &Connection, id: i64) -> Result<(), SandboxError> {
    let conflicts = store::ids(
        conn,
        "SELECT DISTINCT o.spender_tx_id FROM spends m
         JOIN spends o ON o.prev_tx_id = m.prev_tx_id AND o.prev_vout = m.prev_vout AND o.spender_tx_id <> ?1
         JOIN transactions t ON t.tx_id = o.spender_tx_id
         WHERE m.spender_tx_id = ?1 AND t.entered_ms IS NOT NULL",
        [id],
    )?;
    conflicts.into_iter().try_for_each(|conflict| drop_family(conn, conflict))
}

/// Checks, after a reorganisation, the mempool and the transactions `returned` from disconnected
/// blocks against the new tip. Valid ones are in the mempool afterwards, the others are absent.
pub(crate) fn revalidate(
    conn: &Connection,
    returned: &[i64],
    now_ms: i64,
) -> Result<(), SandboxError> {
    let mut candidates: BTreeSet<i64> =
        store::ids(conn, "SELECT tx_id FROM transactions WHERE entered_ms IS NOT NULL", [])?
            .into_iter()
            .collect();
    candidates.extend(returned);
    let tip = blocks::tip(conn)?;
    // Parents have smaller ids, so each is checked before its children.
    for id in candidates {
        let row = transactions::tx_by_id(conn, id)?;
        let valid = match recheck(conn, &transactions::transaction(conn, id)?, id, &tip) {
            Ok(()) => true,
            Err(BroadcastRefusal::Storage(error)) => return Err(*error),
            Err(_) => false,
        };
        match (row.position, valid) {
            (Position::Absent, true) => {
                transactions::set_position(conn, id, Position::Mempool { entered_ms: now_ms })?
            }
            (Position::Mempool { .. }, false) => {
                transactions::set_position(conn, id, Position::Absent)?
            }
            (Position::Absent, false)
            | (Position::Mempool { .. }, true)
            | (Position::Block { .. }, _) => {}
        }
    }
    Ok(())
}

/// The fees of a transaction and its descendants in the mempool. A replacement must pay them and
/// its own relay.
pub(crate) fn fees_with_descendants_sats(conn: &Connection, id: i64) -> Result<u64, SandboxError> {
    family(conn, id)?.iter().try_fold(0u64, |sum, id| {
        Ok(sum.saturating_add(transactions::tx_by_id(conn, *id)?.fee_sats.unwrap_or(0)))
    })
}

/// Number of blocks ever mined, including those reorganised away.
pub(crate) fn blocks_mined(conn: &Connection) -> Result<i64, SandboxError> {
    Ok(conn.prepare_cached("SELECT blocks_mined FROM meta")?.query_row([], |row| row.get(0))?)
}

/// The sigop cost of a transaction, as consensus and relay count it.
pub(crate) fn sigop_cost(tx: &Transaction, spent: &[TxOut]) -> u64 {
    let lookup = |outpoint: &bitcoin::OutPoint| {
        let index = tx.input.iter().position(|input| input.previous_output == *outpoint)?;
        spent.get(index).cloned()
    };
    u64::try_from(tx.total_sigop_cost(lookup)).unwrap_or(u64::MAX)
}

/// The mempool's descendants of a transaction, itself included, by id (parents first).
fn family(conn: &Connection, id: i64) -> Result<Vec<i64>, SandboxError> {
    store::ids(
        conn,
        "WITH RECURSIVE family(id) AS (
            SELECT ?1
            UNION SELECT s.spender_tx_id FROM family f JOIN spends s ON s.prev_tx_id = f.id
                JOIN transactions t ON t.tx_id = s.spender_tx_id WHERE t.entered_ms IS NOT NULL
         ) SELECT id FROM family ORDER BY id",
        [id],
    )
}

/// The mempool's ancestors of a transaction, itself excluded, parents first.
pub(crate) fn ancestors(conn: &Connection, id: i64) -> Result<Vec<i64>, SandboxError> {
    store::ids(
        conn,
        "WITH RECURSIVE line(id) AS (
            SELECT ?1
            UNION SELECT s.prev_tx_id FROM line l JOIN spends s ON s.spender_tx_id = l.id
                JOIN transactions t ON t.tx_id = s.prev_tx_id WHERE t.entered_ms IS NOT NULL
         ) SELECT id FROM line WHERE id <> ?1 ORDER BY id",
        [id],
    )
}

fn drop_family(conn: &Connection, id: i64) -> Result<(), SandboxError> {
    family(conn, id)?
        .into_iter()
        .rev()
        .try_for_each(|id| transactions::set_position(conn, id, Position::Absent))
}

/// The outputs that a transaction spends, in the order of its inputs. Each is in the chain or the
/// mempool, mature, and not spent in the chain.
fn find_coins(
    conn: &Connection,
    tx: &Transaction,
    tip: &Tip,
) -> Result<Vec<Coin>, BroadcastRefusal> {
    let next_height = tip.height.saturating_add(1);
    let mut coins = Vec::with_capacity(tx.input.len());
    for input in &tx.input {
        let outpoint = input.previous_output;
        let coin = transactions::coin(conn, &outpoint)?
            .ok_or(BroadcastRefusal::MissingInputs(outpoint))?;
        match coin.position {
            Position::Absent => return Err(BroadcastRefusal::MissingInputs(outpoint)),
            Position::Mempool { .. } => {}
            Position::Block { height, .. } => {
                let from_height = height.saturating_add(COINBASE_MATURITY);
                if coin.is_coinbase && next_height < from_height {
                    return Err(BroadcastRefusal::ImmatureCoinbase { outpoint, from_height });
                }
            }
        }
        if let Some(spender) = transactions::confirmed_spender(conn, &coin)? {
            let spender = transactions::tx_by_id(conn, spender)?.txid;
            return Err(BroadcastRefusal::InputSpent { outpoint, spender });
        }
        coins.push(coin);
    }
    Ok(coins)
}

fn check_locks(
    conn: &Connection,
    tx: &Transaction,
    coins: &[Coin],
    tip: &Tip,
) -> Result<(), BroadcastRefusal> {
    let next_height = tip.height.saturating_add(1);
    let median_s = blocks::median_time_s(conn, tip.height)?;
    if !rules::is_final(tx, next_height, median_s) {
        return Err(BroadcastRefusal::Locked("its lock time has not been reached"));
    }
    if !rules::relative_locks_passed(conn, tx, coins, next_height, median_s)? {
        return Err(BroadcastRefusal::Locked("a relative lock of an input has not passed"));
    }
    Ok(())
}

/// The fee of a transaction in satoshis.
pub(crate) fn fee_sats(tx: &Transaction, coins: &[Coin]) -> Result<u64, BroadcastRefusal> {
    // Neither sum saturates: the coins exist, and `rules::check_form` limits the outputs to 21
    // million bitcoins.
    let comes_in = coins.iter().fold(0u64, |sum, coin| sum.saturating_add(coin.amount_sats));
    let goes_out =
        tx.output.iter().fold(0u64, |sum, output| sum.saturating_add(output.value.to_sat()));
    comes_in
        .checked_sub(goes_out)
        .ok_or(BroadcastRefusal::Invalid("it pays out more than it spends"))
}

/// Checks a transaction that was valid on another tip against this tip.
fn recheck(
    conn: &Connection,
    tx: &Transaction,
    id: i64,
    tip: &Tip,
) -> Result<(), BroadcastRefusal> {
    let coins = find_coins(conn, tx, tip)?;
    for coin in &coins {
        if mempool_spender(conn, coin)?.is_some_and(|spender| spender != id) {
            return Err(BroadcastRefusal::Conflict(
                "another transaction in the mempool spends one of its inputs",
            ));
        }
    }
    check_locks(conn, tx, &coins, tip)
}

/// The transaction of the mempool that spends an output.
pub(crate) fn mempool_spender(conn: &Connection, coin: &Coin) -> Result<Option<i64>, SandboxError> {
    let mut statement = conn.prepare_cached(
        "SELECT s.spender_tx_id FROM spends s JOIN transactions t ON t.tx_id = s.spender_tx_id
         WHERE s.prev_tx_id = ?1 AND s.prev_vout = ?2 AND t.entered_ms IS NOT NULL",
    )?;
    Ok(statement.query_row(params![coin.tx_id, coin.outpoint.vout], |row| row.get(0)).optional()?)
}

/// Checks BIP125 with full RBF: replaced transactions need not signal. Also checks the family
/// limits. Returns all replaced transactions, parents first.
fn check_replacement(
    conn: &Connection,
    coins: &[Coin],
    fee_sats: u64,
    vsize: u64,
) -> Result<BTreeSet<i64>, BroadcastRefusal> {
    let mut direct = BTreeSet::new();
    for coin in coins {
        direct.extend(mempool_spender(conn, coin)?);
    }
    let mut replaced = BTreeSet::new();
    for id in &direct {
        replaced.extend(family(conn, *id)?);
    }
    if replaced.len() > MAX_REPLACED {
        return Err(BroadcastRefusal::Conflict("it would replace more than 100 transactions"));
    }
    let parents: BTreeSet<i64> = coins
        .iter()
        .filter(|coin| matches!(coin.position, Position::Mempool { .. }))
        .map(|coin| coin.tx_id)
        .collect();
    let mut line = parents.clone();
    for parent in &parents {
        line.extend(ancestors(conn, *parent)?);
    }
    if !line.is_disjoint(&replaced) {
        return Err(BroadcastRefusal::Conflict(
            "it spends an output of a transaction that it would replace",
        ));
    }
    check_family_size(conn, vsize, &line, &replaced)?;
    if direct.is_empty() {
        return Ok(replaced);
    }
    let mut known_parents = BTreeSet::new();
    let mut min_sats = vsize.saturating_mul(INCREMENTAL_RELAY_SAT_VB);
    for id in &replaced {
        min_sats =
            min_sats.saturating_add(transactions::tx_by_id(conn, *id)?.fee_sats.unwrap_or(0));
    }
    for id in &direct {
        let row = transactions::tx_by_id(conn, *id)?;
        known_parents.extend(ancestors(conn, *id)?);
        // The least fee that gives a higher fee rate than this replaced transaction has.
        let product = row.fee_sats.unwrap_or(0).saturating_mul(vsize);
        min_sats = min_sats.max((product / row.vsize().max(1)).saturating_add(1));
    }
    if fee_sats < min_sats {
        return Err(BroadcastRefusal::ReplacementFeeTooLow { fee_sats, min_sats });
    }
    if !parents.is_subset(&known_parents) {
        return Err(BroadcastRefusal::Conflict(
            "it has an unconfirmed parent that no replaced transaction has",
        ));
    }
    Ok(replaced)
}

/// Limits a transaction of `vsize` together with its unconfirmed ancestors (`line`), and each
/// ancestor together with its descendants. Replaced transactions do not count.
fn check_family_size(
    conn: &Connection,
    vsize: u64,
    line: &BTreeSet<i64>,
    replaced: &BTreeSet<i64>,
) -> Result<(), BroadcastRefusal> {
    let refuse = |what: &str| Err(BroadcastRefusal::Policy(what.into()));
    if line.len() >= MAX_FAMILY {
        return refuse("it has more than 24 unconfirmed ancestors");
    }
    if vsize.saturating_add(vsize_sum(conn, line)?) > MAX_FAMILY_VB {
        return refuse("together with its unconfirmed ancestors it is larger than 101 kvB");
    }
    for ancestor in line {
        let descendants =
            family(conn, *ancestor)?.into_iter().filter(|id| !replaced.contains(id)).collect();
        if vsize.saturating_add(vsize_sum(conn, &descendants)?) > MAX_FAMILY_VB {
            return refuse(
                "an unconfirmed ancestor would be larger than 101 kvB together with its descendants",
            );
        }
        if descendants.len() >= MAX_FAMILY {
            return refuse("an unconfirmed ancestor has 24 descendants already");
        }
    }
    Ok(())
}

fn vsize_sum(conn: &Connection, ids: &BTreeSet<i64>) -> Result<u64, SandboxError> {
    ids.iter().try_fold(0u64, |sum, id| {
        Ok(sum.saturating_add(transactions::tx_by_id(conn, *id)?.vsize()))
    })
}

/// The ids of all unconfirmed transactions, parents before children.
pub(crate) fn txids(conn: &Connection) -> Result<Vec<bitcoin::Txid>, SandboxError> {
    let mut statement = conn.prepare_cached(
        "SELECT txid FROM transactions INDEXED BY transactions_by_fee_rate WHERE entered_ms IS NOT NULL ORDER BY tx_id",
    )?;
    let rows = statement.query_map([], |row| store::txid_column(row, 0))?;
    Ok(rows.collect::<Result<_, _>>()?)
}
