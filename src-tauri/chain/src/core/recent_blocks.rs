//! Looks up single transactions, ours or not, in a node's mempool and last blocks. Needs no
//! transaction index.

use std::collections::BTreeSet;

use bitcoin::consensus::encode::deserialize_hex;
use bitcoin::{BlockHash, Transaction, Txid};
use serde_json::json;

use super::results::BlockIds;
use super::rpc::{Rpc, call, typed};
use super::{blocks, mempool};
use crate::port::{ChainDown, RecentTransactions};

/// Most blocks whose transaction ids are read for one answer. The ids of a block have some 200 kB.
const BLOCKS_MAX: u32 = 20;

pub fn recent(rpc: &Rpc, txids: &[Txid], above: u32) -> Result<RecentTransactions, ChainDown> {
    let mut open: BTreeSet<Txid> = txids.iter().copied().collect();
    let waiting = mempool::in_mempool(rpc, &open)?;
    let mut recent = RecentTransactions {
        txs: mempool::transactions(rpc, &waiting)?,
        ..RecentTransactions::default()
    };
    open.retain(|txid| !recent.txs.contains_key(txid));
    if open.is_empty() {
        return Ok(recent);
    }
    let tip_height = blocks::info(rpc)?.blocks;
    let lowest =
        above.saturating_add(1).max(tip_height.saturating_sub(BLOCKS_MAX.saturating_sub(1)));
    let hashes = blocks::hashes(rpc, lowest..=tip_height)?;
    for hash in hashes.into_iter().rev() {
        let ids = hash.map(|hash| ids(rpc, hash)).transpose()?.flatten();
        let (Some(hash), Some(ids)) = (hash, ids) else {
            // A pruned or reorganised block: a transaction may be in it.
            recent.unknown.append(&mut open);
            return Ok(recent);
        };
        let held: Vec<Txid> = open.intersection(&ids).copied().collect();
        read(rpc, hash, &held, &mut recent)?;
        open.retain(|txid| !ids.contains(txid));
        if open.is_empty() {
            break;
        }
    }
    Ok(recent)
}

/// The ids of a block's transactions; `None` if the node no longer has the block.
fn ids(rpc: &Rpc, hash: BlockHash) -> Result<Option<BTreeSet<Txid>>, ChainDown> {
    match rpc.try_ask(call("getblock", json!([hash, 1])))? {
        Ok(told) => Ok(Some(typed::<BlockIds>("getblock", &told)?.tx.into_iter().collect())),
        Err(_) => Ok(None),
    }
}

/// Reads transactions of a block. A transaction with a wrong id counts as unknown.
fn read(
    rpc: &Rpc,
    hash: BlockHash,
    txids: &[Txid],
    recent: &mut RecentTransactions,
) -> Result<(), ChainDown> {
    let calls: Vec<_> =
        txids.iter().map(|txid| call("getrawtransaction", json!([txid, 0, hash]))).collect();
    for (reply, txid) in rpc.batch(&calls)?.into_iter().zip(txids) {
        let hex = reply.ok().map(|hex| typed::<String>("getrawtransaction", &hex)).transpose()?;
        let tx = hex.and_then(|hex| deserialize_hex::<Transaction>(&hex).ok());
        match tx.filter(|tx| tx.compute_txid() == *txid) {
            Some(tx) => {
                recent.txs.insert(*txid, tx);
            }
            None => {
                recent.unknown.insert(*txid);
            }
        }
    }
    Ok(())
}
