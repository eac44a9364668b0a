//! Taking a view of the chain and finding the payments that it concerns. Blocks; writes nothing.

use std::collections::BTreeMap;
use std::sync::Arc;

use bitcoin::{Transaction, Txid};
use tillgate_domain::time::Timestamp;

use super::WatchError;
use crate::chain::{Tip, TxFacts};
use crate::gateway::Gateway;
use crate::store::{Reader, StoreError};

/// Due payments in one look; those beyond have their turn in the next, the longest overdue first.
const DUE_MAX: u32 = 100_000;

/// What one look saw.
pub(super) struct Seen {
    pub cursor: i64,
    pub tip: Tip,
    /// By number.
    pub payments: BTreeMap<i64, Concerned>,
}

/// Why a payment is computed afresh, and the transactions of it that moved.
#[derive(Debug)]
pub(super) struct Concerned {
    pub cause: Cause,
    /// By id, in an order of no meaning.
    pub paying: BTreeMap<Txid, Paying>,
}

/// What led to a look at a payment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cause {
    /// Its transactions or their confirmations.
    Chain,
    /// Time alone.
    Time,
}

/// What one transaction pays to one payment's address.
#[derive(Debug)]
pub(super) struct Paying {
    pub facts: Arc<TxFacts>,
    pub derivation_index: u32,
    /// Output number and satoshis.
    pub outputs: Vec<(u32, u64)>,
}

/// Asks the backend for all that changed since `since`, and the database for what is due.
pub(super) fn take(gateway: &Gateway, since: i64, at: Timestamp) -> Result<Seen, WatchError> {
    let mut payments = BTreeMap::new();
    let mut view = gateway.chain.view(since)?;
    loop {
        let txs = std::mem::take(&mut view.txs);
        gateway.store.read(|reader| match_payments(reader, txs, &mut payments))?;
        if !view.more {
            break;
        }
        view = gateway.chain.view(view.cursor)?;
    }
    gateway.store.read(|reader| add_due(reader, at, view.tip.height, &mut payments))?;
    Ok(Seen { cursor: view.cursor, tip: view.tip, payments })
}

/// A later page knows better: what it says of a transaction replaces what an earlier one said.
fn match_payments(
    reader: &Reader<'_>,
    txs: Vec<TxFacts>,
    payments: &mut BTreeMap<i64, Concerned>,
) -> Result<(), StoreError> {
    for facts in txs {
        let found = outputs_to_us(reader, &facts.tx)?;
        if found.is_empty() {
            continue;
        }
        let txid = facts.tx.compute_txid();
        let facts = Arc::new(facts);
        for (seq, (derivation_index, outputs)) in found {
            let paying = Paying { facts: Arc::clone(&facts), derivation_index, outputs };
            payments.entry(seq).or_insert_with(|| Concerned::by(Cause::Chain)).paying.insert(txid, paying);
        }
    }
    Ok(())
}

type Outputs = BTreeMap<i64, (u32, Vec<(u32, u64)>)>;

fn outputs_to_us(reader: &Reader<'_>, tx: &Transaction) -> Result<Outputs, StoreError> {
    let mut found = Outputs::new();
    for (vout, output) in (0u32..).zip(&tx.output) {
        // An output of nothing pays nothing.
        if output.value == bitcoin::Amount::ZERO {
            continue;
        }
        if let Some((seq, derivation_index)) = reader.payment_of_script(&output.script_pubkey)? {
            let entry = found.entry(seq).or_insert_with(|| (derivation_index, Vec::new()));
            entry.1.push((vout, output.value.to_sat()));
        }
    }
    Ok(found)
}

fn add_due(
    reader: &Reader<'_>,
    at: Timestamp,
    tip_height: u32,
    payments: &mut BTreeMap<i64, Concerned>,
) -> Result<(), StoreError> {
    for seq in reader.payments_due_by_height(tip_height, DUE_MAX)? {
        payments.entry(seq).or_insert_with(|| Concerned::by(Cause::Chain));
    }
    for seq in reader.payments_due_by_time(at, DUE_MAX)? {
        payments.entry(seq).or_insert_with(|| Concerned::by(Cause::Time));
    }
    Ok(())
}

impl Concerned {
    /// Concerned without a transaction that moved.
    pub(super) fn by(cause: Cause) -> Self {
        Self { cause, paying: BTreeMap::new() }
    }
}
