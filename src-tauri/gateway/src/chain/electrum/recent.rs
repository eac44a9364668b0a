//! Single transactions from a server, whoever they pay. Their place comes from the history of a script that they pay.
//! It only decides whether their bytes are kept.

use std::collections::{BTreeMap, BTreeSet};

use bitcoin::{Transaction, Txid};

use super::asker::Asker;
use super::call::{self, ScriptHash, Whose, typed};
use super::history::Entry;
use super::put_off::PutOff;
use super::transactions;
use crate::chain::port::ChainDown;
use crate::chain::port::RecentTransactions;

/// Histories requested at once.
const BATCH: usize = 35;

/// Outputs of a transaction whose scripts are asked about. Servers refuse scripts with many transactions.
const OUTPUTS_MAX: usize = 2;

/// The transactions among `txids` in the mempool or in blocks above a height. Scripts that were refused lately are put
/// off.
pub(super) fn recent(
    asker: &Asker<'_>,
    txids: &[Txid],
    above: u32,
    put_off: &mut PutOff<ScriptHash>,
) -> Result<RecentTransactions, ChainDown> {
    let asked: BTreeSet<Txid> = txids.iter().copied().collect();
    let mut found = BTreeMap::new();
    transactions::read_each(asker, &asked, |txid, tx| {
        found.insert(txid, tx);
    })?;
    let unknown = asked.into_iter().filter(|txid| !found.contains_key(txid)).collect();
    let heights = heights(asker, &found, put_off)?;
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
    put_off: &mut PutOff<ScriptHash>,
) -> Result<BTreeMap<Txid, i64>, ChainDown> {
    let now = asker.best_height();
    let payable = |tx: &Transaction| {
        let scripts = tx.output.iter().map(|output| &output.script_pubkey).filter(|script| !script.is_op_return());
        scripts.take(OUTPUTS_MAX).map(|script| ScriptHash::of(script)).collect::<Vec<_>>()
    };
    let hashes: BTreeSet<ScriptHash> = txs.values().flat_map(payable).collect();
    let hashes: Vec<ScriptHash> = hashes.into_iter().filter(|hash| !put_off.holds(hash, now)).collect();
    let mut heights = BTreeMap::new();
    for batch in hashes.chunks(BATCH) {
        let calls: Vec<_> = batch.iter().map(|hash| call::history(*hash, Whose::Others)).collect();
        let answers = asker.tries(&calls);
        if answers.is_err() {
            put_off.note_break(batch, now);
        }
        for (answer, (hash, call)) in answers?.into_iter().zip(batch.iter().zip(&calls)) {
            // After a refusal, another script may tell.
            let Ok(answer) = answer else {
                put_off.note(hash, now);
                continue;
            };
            put_off.forget(hash);
            let entries: Vec<Entry> = typed(call.method, &answer)?;
            let ours = entries.into_iter().filter(|entry| txs.contains_key(&entry.txid));
            heights.extend(ours.map(|entry| (entry.txid, entry.height)));
        }
    }
    Ok(heights)
}
