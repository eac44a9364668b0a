//! Single transactions, whoever they pay, as a server tells them. Where one stands is in the history of a script that it
//! pays; nothing rests on that but whether its bytes are kept.

use std::collections::{BTreeMap, BTreeSet};

use bitcoin::{Transaction, Txid};
use serde_json::json;

use super::asker::Asker;
use super::call::{ScriptHash, call, typed};
use super::history::Entry;
use super::transactions;
use crate::chain::{ChainDown, Recent};

/// Histories that are asked for at once.
const BATCH: usize = 50;

/// Outputs of a transaction whose scripts are asked about: servers refuse those with many transactions.
const OUTPUTS_MAX: usize = 2;

/// What the server has of these transactions in its mempool and in blocks above a height.
pub(super) fn recent(asker: &Asker<'_>, txids: &[Txid], above: u32) -> Result<Recent, ChainDown> {
    let asked: BTreeSet<Txid> = txids.iter().copied().collect();
    let mut found = BTreeMap::new();
    transactions::read_each(asker, &asked, |txid, tx| {
        found.insert(txid, tx);
    })?;
    let unknown = asked.into_iter().filter(|txid| !found.contains_key(txid)).collect();
    let heights = heights(asker, &found)?;
    let mut recent = Recent { unknown, ..Recent::default() };
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

/// The heights at which histories show these transactions.
fn heights(asker: &Asker<'_>, txs: &BTreeMap<Txid, Transaction>) -> Result<BTreeMap<Txid, i64>, ChainDown> {
    let payable = |tx: &Transaction| {
        let scripts = tx.output.iter().map(|output| &output.script_pubkey).filter(|script| !script.is_op_return());
        scripts.take(OUTPUTS_MAX).map(|script| ScriptHash::of(script)).collect::<Vec<_>>()
    };
    let hashes: Vec<ScriptHash> =
        txs.values().flat_map(payable).collect::<BTreeSet<ScriptHash>>().into_iter().collect();
    let mut heights = BTreeMap::new();
    for batch in hashes.chunks(BATCH) {
        let asked = |hash: &ScriptHash| call("blockchain.scripthash.get_history", json!([hash.to_string()]));
        let calls: Vec<_> = batch.iter().map(asked).collect();
        for (answer, call) in asker.tries(&calls)?.into_iter().zip(&calls) {
            // Whatever it refuses, another script may tell.
            let Ok(answer) = answer else { continue };
            let entries: Vec<Entry> = typed(call.method, &answer)?;
            let ours = entries.into_iter().filter(|entry| txs.contains_key(&entry.txid));
            heights.extend(ours.map(|entry| (entry.txid, entry.height)));
        }
    }
    Ok(heights)
}
