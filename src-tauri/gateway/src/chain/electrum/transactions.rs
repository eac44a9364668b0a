//! Transactions from a server. Each must have the requested id, and be in the block that the server names.

use std::collections::{BTreeMap, BTreeSet};

use bitcoin::consensus::encode::deserialize_hex;
use bitcoin::{Network, Transaction, TxMerkleNode, Txid};
use serde::Deserialize;
use serde_json::json;

use super::asker::Asker;
use super::call::{call, typed};
use super::headers::{Headers, forged};
use super::state::Lasting;
use crate::chain::checks::bounds::AnswerRoom;
use crate::chain::checks::errors::tip_changed;
use crate::chain::checks::merkle_proof::leads;
use crate::chain::checks::token::BlockId;
use crate::chain::port::ChainDown;

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
    let (height, gets) = (asker.best_height(), &asker.client.gets);
    let wanted: Vec<Txid> = batch.iter().filter(|txid| !gets.lock().is_put_off(txid, height)).copied().collect();
    let at_once = gets.lock().at_once(height);
    for some in wanted.chunks(at_once) {
        let read = read_at_once(asker, some, taken);
        if read.is_err() && asker.connection.session.closed().is_some() {
            gets.lock().note_break(some, height);
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
        asker.client.gets.lock().note_told(txid);
        taken(*txid, tx);
    }
    Ok(())
}

/// Reads transactions in this order until the answer is full; all of them must exist. The rest is left out, and so is a
/// transaction that the server does not deliver even alone.
pub(super) fn read_while_there_is_room(
    asker: &Asker<'_>,
    txids: &[Txid],
    room: &mut AnswerRoom,
) -> Result<BTreeMap<Txid, Transaction>, ChainDown> {
    let mut found = BTreeMap::new();
    for batch in txids.chunks(BATCH) {
        if room.is_spent() && !found.is_empty() {
            break;
        }
        read_batch(asker, batch, &mut |txid, tx| {
            room.note_tx(&tx);
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
    match wanted.iter().find(|txid| !found.contains_key(*txid) && !asker.does_not_tell(txid)) {
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
    known.headers.make_sure(asker, network, &txs.iter().map(|(_, _, height)| *height).collect())?;
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
        if proof.block_height != block.height || !leads(tx, proof.pos, &proof.merkle, root) {
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
