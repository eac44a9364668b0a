//! Transactions as a server tells them: each must be the one that was asked for, and in the block in which it is said to be.

use std::collections::{BTreeMap, BTreeSet};

use bitcoin::consensus::encode::deserialize_hex;
use bitcoin::{Network, Transaction, TxMerkleNode, Txid};
use serde::Deserialize;
use serde_json::json;

use super::asker::Asker;
use super::call::{call, typed};
use super::headers::{Headers, forged};
use super::state::Lasting;
use crate::chain::ChainDown;
use crate::chain::core::mempool::tip_changed;
use crate::chain::proof::leads;
use crate::chain::token::BlockId;

/// Transactions in one go: at the largest that nodes relay, 400 kB each, they are less than may be read at a time.
const BATCH: usize = 50;

/// What a server tells for a proof.
#[derive(Debug, Deserialize)]
struct Proof {
    block_height: u32,
    /// The hashes beside the way, the deepest first.
    merkle: Vec<TxMerkleNode>,
    pos: u32,
}

/// Those of these transactions that the server has.
pub(super) fn read(asker: &Asker<'_>, txids: &BTreeSet<Txid>) -> Result<BTreeMap<Txid, Transaction>, ChainDown> {
    let mut found = BTreeMap::new();
    let txids: Vec<Txid> = txids.iter().copied().collect();
    for batch in txids.chunks(BATCH) {
        let calls: Vec<_> = batch.iter().map(|txid| call("blockchain.transaction.get", json!([txid]))).collect();
        for ((answer, txid), call) in asker.tries(&calls)?.into_iter().zip(batch).zip(&calls) {
            // Servers have many words for what they do not have.
            let Ok(answer) = answer else { continue };
            let hex: String = typed(call.method, &answer)?;
            let tx = deserialize_hex::<Transaction>(&hex).ok().filter(|tx| tx.compute_txid() == *txid);
            let tx = tx.ok_or_else(|| {
                ChainDown(format!("what the server tells as transaction {txid} is another; do not trust this server"))
            })?;
            found.insert(*txid, tx);
        }
    }
    Ok(found)
}

/// The same where all of them must be there.
pub(super) fn read_all(asker: &Asker<'_>, txids: &BTreeSet<Txid>) -> Result<BTreeMap<Txid, Transaction>, ChainDown> {
    let found = read(asker, txids)?;
    match txids.iter().find(|txid| !found.contains_key(*txid)) {
        None => Ok(found),
        Some(txid) => Err(ChainDown(format!(
            "the server has transaction {txid} in a history, and does not tell it; the next look asks again"
        ))),
    }
}

/// Makes sure that these transactions are in blocks of these heights, none of which may be above the best one.
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
