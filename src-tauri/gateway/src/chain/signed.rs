//! Whether a transaction that no block holds can be one. No work was done for it, so that a server could make it up; but what
//! spends an output must fulfil its script, and the outputs of what is stored are known here.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap};

use bitcoin::{OutPoint, Transaction, TxOut, Txid};

use super::{ChainDown, Fact, TxPosition, View, WatchList, refusals};

/// The outputs that a transaction spends, in the order of its inputs, as far as `parent` knows the transactions that make them.
pub(crate) fn spent_outputs<E>(
    tx: &Transaction,
    mut parent: impl FnMut(&Txid) -> Result<Option<Transaction>, E>,
) -> Result<Vec<Option<TxOut>>, E> {
    let mut parents: BTreeMap<Txid, Option<Transaction>> = BTreeMap::new();
    let mut spent = Vec::with_capacity(tx.input.len());
    for OutPoint { txid, vout } in tx.input.iter().map(|input| input.previous_output) {
        let made_by = match parents.entry(txid) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(unknown) => unknown.insert(parent(&txid)?),
        };
        spent.push(made_by.as_ref().and_then(|tx| tx.output.get(usize::try_from(vout).ok()?)).cloned());
    }
    Ok(spent)
}

/// Of each input whether it fulfils the script of what it spends, in their order; `None` where that is not known.
pub(crate) fn judge(tx: &Transaction, spent: &[Option<TxOut>]) -> impl Iterator<Item = Option<bool>> {
    tillgate_sandbox::verify_each_script(tx, spent)
}

/// Whether the witness of a transaction is one by the outputs that it spends: unknown where not all of them are known.
pub(crate) fn has_good_witness(tx: &Transaction, spent: &[Option<TxOut>]) -> Fact {
    let mut all = Fact::Yes;
    for fulfils in judge(tx, spent) {
        match fulfils {
            Some(false) => return Fact::No,
            Some(true) => {}
            None => all = Fact::Unknown,
        }
    }
    all
}

/// Refuses a view that tells of a transaction in the mempool which nobody signed who may spend what it spends: no honest server
/// does, for no node takes it.
pub(super) fn check(view: View, watch: &dyn WatchList, who: &str) -> Result<View, ChainDown> {
    let told: HashMap<Txid, &Transaction> = view.txs.iter().map(|facts| (facts.tx.compute_txid(), &facts.tx)).collect();
    let waiting = view.txs.iter().filter(|facts| matches!(facts.position, TxPosition::Mempool { .. }));
    for tx in waiting.map(|facts| &facts.tx) {
        let parent = |txid: &Txid| {
            let found = told.get(txid).map(|tx| (*tx).clone()).or_else(|| watch.stored(txid));
            Ok::<_, ChainDown>(found)
        };
        let spent = spent_outputs(tx, parent)?;
        if has_good_witness(tx, &spent) == Fact::No {
            let txid = tx.compute_txid();
            // One that is stored may have its witness from another server, for no id covers that: told as it is stored, it is that
            // one's; and stored with a witness that holds, it is no invention.
            let holds = |stored: &Transaction| stored == tx || has_good_witness(stored, &spent) != Fact::No;
            if !watch.stored(&txid).as_ref().is_some_and(holds) {
                return Err(refusals::unsigned(who, &txid));
            }
        }
    }
    Ok(view)
}
