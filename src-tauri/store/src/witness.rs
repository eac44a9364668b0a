//! Checks a transaction's witness against the outputs that it spends. Some of these outputs may be
//! unknown.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use bitcoin::{OutPoint, Transaction, TxOut, Txid};

use tillgate_domain::chain::Fact;

/// The spent outputs, in the order of the inputs. An output is `None` if `parent` does not find its
/// transaction.
pub fn spent_outputs<E>(
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
        spent.push(
            made_by.as_ref().and_then(|tx| tx.output.get(usize::try_from(vout).ok()?)).cloned(),
        );
    }
    Ok(spent)
}

/// Whether every input's witness is valid for the spent output. Unknown if no witness is invalid,
/// but an output is missing.
pub fn has_good_witness(tx: &Transaction, spent: &[Option<TxOut>]) -> Fact {
    let mut all = Fact::Yes;
    for fulfils in tillgate_sandbox::verify_each_script(tx, spent) {
        match fulfils {
            Some(false) => return Fact::No,
            Some(true) => {}
            None => all = Fact::Unknown,
        }
    }
    all
}
