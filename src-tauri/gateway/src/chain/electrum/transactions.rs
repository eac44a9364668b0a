//! Transactions from a server. Each must have the requested id. Those of a look must be in the block that the server
//! names. The place of a single one comes from the history of a script that it pays, and only decides whether its bytes
//! are kept.

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
use super::state::Lasting;
use crate::chain::checks::bounds::AnswerBudget;
use crate::chain::checks::errors::tip_changed;
use crate::chain::checks::merkle_proof::proves_inclusion;
use crate::chain::checks::token::BlockId;
use crate::chain::port::{ChainDown, RecentTransactions};

/// Transactions held at a time, read before the next check for room.
const BATCH: usize = 50;

#[derive(Debug, Deserialize)]
struct Proof {
    block_height: u32,
    /// The hashes beside the Merkle path, the deepest first.
    merkle: Vec<TxMerkleNode>,
    pos: u32,
}

/// Passes on those of these transactions that the server delivers.
pub(super) fn read_each(
    asker: &Asker<'_>,
    txids: &BTreeSet<Txid>,
    mut taken: impl FnMut(Txid, Transaction),
) -> Result<(), ChainDown> {
    let txids: Vec<Txid> = txids.iter().copied().collect();
    txids.chunks(BATCH).try_for_each(|batch| read_batch(asker, batch, &mut taken))
}

/// The same, a few at a time, since their sizes are unknown beforehand. If the server breaks off, the look fails. The
/// next look asks for fewer, and in the end skips a transaction that breaks off alone.
fn read_batch(asker: &Asker<'_>, batch: &[Txid], taken: &mut impl FnMut(Txid, Transaction)) -> Result<(), ChainDown> {
    let (height, batch_size) = (asker.best_height(), &asker.client.batch_size);
    let wanted: Vec<Txid> =
        batch.iter().filter(|txid| !batch_size.lock().is_backed_off(txid, height)).copied().collect();
    let at_once = batch_size.lock().current(height);
    for some in wanted.chunks(at_once) {
        let read = read_at_once(asker, some, taken);
        if read.is_err() && asker.connection.session.closed().is_some() {
            batch_size.lock().note_break(some, height);
            asker.client.excuse();
        }
        read?;
    }
    Ok(())
}

fn read_at_once(asker: &Asker<'_>, txids: &[Txid], taken: &mut impl FnMut(Txid, Transaction)) -> Result<(), ChainDown> {
    let calls: Vec<_> = txids.iter().map(|txid| call("blockchain.transaction.get", json!([txid]))).collect();
    for ((answer, txid), call) in asker.tries(&calls)?.into_iter().zip(txids).zip(&calls) {
        // Servers have many words for a missing transaction.
        let Ok(answer) = answer else { continue };
        let hex: String = typed(call.method, &answer)?;
        let tx = deserialize_hex::<Transaction>(&hex).ok().filter(|tx| tx.compute_txid() == *txid);
        let tx = tx.ok_or_else(|| {
            ChainDown(format!("what the server tells as transaction {txid} is another; do not trust this server"))
        })?;
        asker.client.batch_size.lock().note_delivered(txid);
        taken(*txid, tx);
    }
    Ok(())
}

/// Reads transactions in this order until the answer is full; all of them must exist. The rest is left out, and so is a
/// transaction that the server does not deliver even alone.
pub(super) fn read_within(
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

/// Proves that transactions are in blocks of these heights, none above the best one. Returns those that the server does
/// not deliver.
pub(super) fn prove_in_blocks(
    asker: &Asker<'_>,
    network: Network,
    known: &mut Lasting,
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

fn all_there(asker: &Asker<'_>, found: &BTreeMap<Txid, Transaction>, wanted: &[Txid]) -> Result<(), ChainDown> {
    match wanted.iter().find(|txid| !found.contains_key(*txid) && !asker.is_undeliverable(txid)) {
        None => Ok(()),
        Some(txid) => Err(ChainDown(format!(
            "the server has transaction {txid} in a history, and does not tell it; the next look asks again"
        ))),
    }
}

/// Proves that these transactions are in blocks of these heights, none above the best one.
pub(super) fn prove<'a>(
    asker: &Asker<'_>,
    network: Network,
    known: &mut Lasting,
    txs: impl IntoIterator<Item = (&'a Transaction, u32)>,
) -> Result<(), ChainDown> {
    let txs: Vec<(&Transaction, Txid, u32)> = txs.into_iter().map(|(tx, at)| (tx, tx.compute_txid(), at)).collect();
    known.headers.fetch_linked(asker, network, &txs.iter().map(|(_, _, height)| *height).collect())?;
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
    for ((answer, (tx, txid, block)), call) in asker.tries(&calls)?.into_iter().zip(open).zip(&calls) {
        let unproved = || {
            ChainDown(format!(
                "the server says that transaction {txid} is in block {}, and does not prove it; do not trust this server",
                block.height
            ))
        };
        let proof: Proof = typed(call.method, &answer.map_err(|_| unproved())?)?;
        let root = known.headers.at(block.height).ok_or_else(tip_changed)?.merkle_root;
        if proof.block_height != block.height || !proves_inclusion(tx, proof.pos, &proof.merkle, root) {
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

/// Outputs of a transaction whose scripts are asked about. Servers refuse scripts with many transactions.
const OUTPUTS_MAX: usize = 2;

/// The transactions among `txids` in the mempool or in blocks above a height. Scripts that were refused lately are put
/// off.
pub(super) fn recent(
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
            // 0 and below is the mempool.
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

/// The heights of these transactions in their scripts' histories.
fn heights(
    asker: &Asker<'_>,
    txs: &BTreeMap<Txid, Transaction>,
    backoff: &mut Backoff<ScriptHash>,
) -> Result<BTreeMap<Txid, i64>, ChainDown> {
    let now = asker.best_height();
    let payable = |tx: &Transaction| {
        let scripts = tx.output.iter().map(|output| &output.script_pubkey).filter(|script| !script.is_op_return());
        scripts.take(OUTPUTS_MAX).map(|script| ScriptHash::of(script)).collect::<Vec<_>>()
    };
    let hashes: BTreeSet<ScriptHash> = txs.values().flat_map(payable).collect();
    let hashes: Vec<ScriptHash> = hashes.into_iter().filter(|hash| !backoff.is_waiting(hash, now)).collect();
    let mut heights = BTreeMap::new();
    for batch in hashes.chunks(HISTORIES_AT_ONCE) {
        let calls: Vec<_> = batch.iter().map(|hash| calls::history(*hash, Owner::Others)).collect();
        let answers = asker.tries(&calls);
        if answers.is_err() {
            backoff.note_break(batch, now);
        }
        for (answer, (hash, call)) in answers?.into_iter().zip(batch.iter().zip(&calls)) {
            // After a refusal, another script may tell.
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
