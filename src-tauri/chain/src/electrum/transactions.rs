//! Transactions from a server. Each must have the requested txid. A transaction of a look must be
//! proved to be in the block that the server names. [`recent`] takes positions without proof from
//! the histories of paid scripts. They only decide whether raw transactions are kept.

use std::collections::{BTreeMap, BTreeSet};

use bitcoin::consensus::encode::deserialize_hex;
use bitcoin::{Network, Transaction, TxMerkleNode, Txid};
use serde::Deserialize;
use serde_json::json;

use super::backoff::Backoff;
use super::calls::{self, Owner, ScriptHash, call, typed};
use super::connection::Asker;
use super::header_chain::{Headers, forged};
use super::histories::Entry;
use super::state::Retained;
use crate::checks::bounds::AnswerBudget;
use crate::checks::errors::tip_changed;
use crate::checks::merkle_proof::proves_inclusion;
use crate::checks::token::BlockId;
use crate::port::{ChainDown, RecentTransactions};

/// Transactions held in memory at once, and read before the budget is checked again.
const BATCH: usize = 50;

#[derive(Debug, Deserialize)]
struct Proof {
    block_height: u32,
    /// The sibling hashes on the Merkle path, the deepest first.
    merkle: Vec<TxMerkleNode>,
    pos: u32,
}

/// Passes each transaction that the server delivers to `taken`.
pub fn read_each(
    asker: &Asker<'_>,
    txids: &BTreeSet<Txid>,
    mut taken: impl FnMut(Txid, Transaction),
) -> Result<(), ChainDown> {
    let txids: Vec<Txid> = txids.iter().copied().collect();
    txids.chunks(BATCH).try_for_each(|batch| read_batch(asker, batch, &mut taken))
}

/// Requests a few transactions at a time, since their sizes are unknown beforehand. If the server
/// hangs up, the look fails. The next look requests fewer at a time, and in the end skips a
/// transaction that fails alone.
fn read_batch(
    asker: &Asker<'_>,
    batch: &[Txid],
    taken: &mut impl FnMut(Txid, Transaction),
) -> Result<(), ChainDown> {
    let (height, batch_size) = (asker.best_height(), &asker.client.batch_size);
    let wanted: Vec<Txid> = batch
        .iter()
        .filter(|txid| !batch_size.lock().is_backed_off(txid, height))
        .copied()
        .collect();
    let at_once = batch_size.lock().current(height);
    for some in wanted.chunks(at_once) {
        let read = read_at_once(asker, some, taken);
        if read.is_err() && asker.connection.session.closed().is_some() {
            batch_size.lock().note_break(some, height);
            asker.client.note_customers_fault();
        }
        read?;
    }
    Ok(())
}

fn read_at_once(
    asker: &Asker<'_>,
    txids: &[Txid],
    taken: &mut impl FnMut(Txid, Transaction),
) -> Result<(), ChainDown> {
    let calls: Vec<_> =
        txids.iter().map(|txid| call("blockchain.transaction.get", json!([txid]))).collect();
    for ((answer, txid), call) in asker.tries(&calls)?.into_iter().zip(txids).zip(&calls) {
        // Servers refuse an unknown transaction with many different texts.
        let Ok(answer) = answer else { continue };
        let hex: String = typed(call.method, &answer)?;
        let tx = deserialize_hex::<Transaction>(&hex).ok().filter(|tx| tx.compute_txid() == *txid);
        let tx = tx.ok_or_else(|| {
            ChainDown::of_text(format!(
                "the server sent another transaction as {txid}; do not trust this server"
            ))
        })?;
        asker.client.batch_size.lock().note_delivered(txid);
        taken(*txid, tx);
    }
    Ok(())
}

/// Reads transactions in this order until the budget is spent, and leaves out the rest. Fails if
/// the server lacks a transaction, but leaves out a transaction that it did not deliver even in a
/// request of its own.
pub fn read_within(
    asker: &Asker<'_>,
    txids: &[Txid],
    budget: &mut AnswerBudget,
) -> Result<BTreeMap<Txid, Transaction>, ChainDown> {
    let mut found = BTreeMap::new();
    for batch in txids.chunks(BATCH) {
        if budget.is_spent() && !found.is_empty() {
            break;
        }
        read_batch(asker, batch, &mut |txid, tx| {
            budget.note_tx(&tx);
            found.insert(txid, tx);
        })?;
        all_there(asker, &found, batch)?;
    }
    Ok(found)
}

/// Proves that transactions are in blocks of these heights, none above the tip. Returns the
/// transactions that the server does not deliver.
pub fn prove_in_blocks(
    asker: &Asker<'_>,
    network: Network,
    known: &mut Retained,
    said: &BTreeMap<Txid, u32>,
) -> Result<BTreeSet<Txid>, ChainDown> {
    let mut unsure = BTreeSet::new();
    let said: Vec<(Txid, u32)> = said.iter().map(|(txid, height)| (*txid, *height)).collect();
    for batch in said.chunks(BATCH) {
        let txids: Vec<Txid> = batch.iter().map(|(txid, _)| *txid).collect();
        let mut found = BTreeMap::new();
        read_batch(asker, &txids, &mut |txid, tx| {
            found.insert(txid, tx);
        })?;
        all_there(asker, &found, &txids)?;
        unsure.extend(txids.into_iter().filter(|txid| !found.contains_key(txid)));
        let txs = batch.iter().filter_map(|(txid, height)| Some((found.get(txid)?, *height)));
        prove(asker, network, known, txs)?;
    }
    Ok(unsure)
}

fn all_there(
    asker: &Asker<'_>,
    found: &BTreeMap<Txid, Transaction>,
    wanted: &[Txid],
) -> Result<(), ChainDown> {
    match wanted.iter().find(|txid| !found.contains_key(*txid) && !asker.is_undeliverable(txid)) {
        None => Ok(()),
        Some(txid) => Err(ChainDown::of_text(format!(
            "the server lists transaction {txid} in a history, and does not deliver it; the next look asks again"
        ))),
    }
}

/// Proves that these transactions are in blocks of these heights, none above the tip.
pub fn prove<'a>(
    asker: &Asker<'_>,
    network: Network,
    known: &mut Retained,
    txs: impl IntoIterator<Item = (&'a Transaction, u32)>,
) -> Result<(), ChainDown> {
    let txs: Vec<(&Transaction, Txid, u32)> =
        txs.into_iter().map(|(tx, at)| (tx, tx.compute_txid(), at)).collect();
    known.headers.fetch_linked(
        asker,
        network,
        &txs.iter().map(|(_, _, height)| *height).collect(),
    )?;
    let mut open = Vec::new();
    for (tx, txid, height) in txs {
        let block = id(&known.headers, height)?;
        if known.proved.get(&txid) != Some(&block) {
            open.push((tx, txid, block));
        }
    }
    let asked = |(_, txid, block): &(&Transaction, Txid, BlockId)| {
        call("blockchain.transaction.get_merkle", json!([txid, block.height]))
    };
    let calls: Vec<_> = open.iter().map(asked).collect();
    for ((answer, (tx, txid, block)), call) in
        asker.tries(&calls)?.into_iter().zip(open).zip(&calls)
    {
        let unproved = || {
            ChainDown::of_text(format!(
                "the server says that transaction {txid} is in block {}, and does not prove it; do not trust this server",
                block.height
            ))
        };
        let proof: Proof = typed(call.method, &answer.map_err(|_| unproved())?)?;
        let root = known.headers.at(block.height).ok_or_else(tip_changed)?.merkle_root;
        if proof.block_height != block.height
            || !proves_inclusion(tx, proof.pos, &proof.merkle, root)
        {
            return Err(unproved());
        }
        known.note_proved(txid, block);
    }
    Ok(())
}

fn id(headers: &Headers, height: u32) -> Result<BlockId, ChainDown> {
    let hash = headers.hash_at(height).ok_or_else(|| forged(height, "it is in no chain"))?;
    Ok(BlockId { height, hash })
}

/// Histories requested at once.
const HISTORIES_AT_ONCE: usize = 35;

/// Outputs of a transaction whose scripts are asked about. One may not suffice, since servers
/// refuse scripts with many transactions.
const OUTPUTS_MAX: usize = 2;

/// The transactions among `txids` in the mempool or in blocks above a height. Scripts in backoff
/// are not asked about.
pub fn recent(
    asker: &Asker<'_>,
    txids: &[Txid],
    above: u32,
    backoff: &mut Backoff<ScriptHash>,
) -> Result<RecentTransactions, ChainDown> {
    let asked: BTreeSet<Txid> = txids.iter().copied().collect();
    let mut found = BTreeMap::new();
    read_each(asker, &asked, |txid, tx| {
        found.insert(txid, tx);
    })?;
    let unknown = asked.into_iter().filter(|txid| !found.contains_key(txid)).collect();
    let heights = heights(asker, &found, backoff)?;
    let mut recent = RecentTransactions { unknown, ..RecentTransactions::default() };
    while let Some((txid, tx)) = found.pop_first() {
        match heights.get(&txid) {
            // A height of 0 or below means the mempool.
            Some(height) if *height > 0 && *height <= i64::from(above) => {}
            Some(_) => {
                recent.txs.insert(txid, tx);
            }
            None => {
                recent.unknown.insert(txid);
            }
        }
    }
    Ok(recent)
}

/// The heights of these transactions according to the histories of their outputs' scripts.
fn heights(
    asker: &Asker<'_>,
    txs: &BTreeMap<Txid, Transaction>,
    backoff: &mut Backoff<ScriptHash>,
) -> Result<BTreeMap<Txid, i64>, ChainDown> {
    let now = asker.best_height();
    let payable = |tx: &Transaction| {
        let scripts = tx
            .output
            .iter()
            .map(|output| &output.script_pubkey)
            .filter(|script| !script.is_op_return());
        scripts.take(OUTPUTS_MAX).map(|script| ScriptHash::from_script(script)).collect::<Vec<_>>()
    };
    let hashes: BTreeSet<ScriptHash> = txs.values().flat_map(payable).collect();
    let hashes: Vec<ScriptHash> =
        hashes.into_iter().filter(|hash| !backoff.is_waiting(hash, now)).collect();
    let mut heights = BTreeMap::new();
    for batch in hashes.chunks(HISTORIES_AT_ONCE) {
        let calls: Vec<_> = batch.iter().map(|hash| calls::history(*hash, Owner::Others)).collect();
        let answers = asker.tries(&calls);
        if answers.is_err() {
            backoff.note_break(batch, now);
        }
        for (answer, (hash, call)) in answers?.into_iter().zip(batch.iter().zip(&calls)) {
            // The history of another output may still show the height.
            let Ok(answer) = answer else {
                backoff.note_failure(hash, now);
                continue;
            };
            backoff.forget(hash);
            let entries: Vec<Entry> = typed(call.method, &answer)?;
            let ours = entries.into_iter().filter(|entry| txs.contains_key(&entry.txid));
            heights.extend(ours.map(|entry| (entry.txid, entry.height)));
        }
    }
    Ok(heights)
}
