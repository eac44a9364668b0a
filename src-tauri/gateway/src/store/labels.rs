//! What each transaction, address and coin is for, read for other wallets' programs.

use std::collections::BTreeMap;

use bitcoin::OutPoint;
use rusqlite::Row;

use super::values::{self, Columns as _};
use super::{Reader, StoreError};

/// What a label is stuck on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LabelledKind {
    Transaction,
    Address,
    Output,
}

/// A label with what it is stuck on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Labelled {
    pub kind: LabelledKind,
    /// A transaction's id, an address, or an outpoint.
    pub reference: String,
    /// For people.
    pub label: String,
}

/// What is said of each thing: of one transaction there may be several payouts to tell of.
#[derive(Default)]
struct Labels(BTreeMap<(LabelledKind, String), Vec<String>>);

/// Coins with the payments that they came for. A payment without coins has no label: nobody else knows its address.
const OF_PAYMENTS: &str = "SELECT c.txid, c.vout, p.id, p.address, p.merchant_transaction_id AS said \
     FROM coins AS c JOIN payments AS p ON p.seq = c.payment_seq ORDER BY c.txid, c.vout";

/// The outputs of our own transactions that pay payouts.
const OF_PAYOUTS: &str = "SELECT o.txid, o.vout, p.id, p.address, ifnull(p.comment, '') AS said \
     FROM version_outputs AS o JOIN payouts AS p ON p.seq = o.payout_seq ORDER BY o.txid, o.vout";

const OF_ANOMALIES: &str = "SELECT id, kind, txids FROM anomalies ORDER BY seq";

const OF_CHANGE: &str = "SELECT txid, vout FROM coins WHERE keychain = 1 ORDER BY txid, vout";

impl Reader<'_> {
    /// All labels: of payments that got coins, of anomalies, of payouts that have a transaction, and of our change.
    pub fn labels(&self) -> Result<Vec<Labelled>, StoreError> {
        let mut labels = Labels::default();
        for (statement, what) in [(OF_PAYMENTS, "Payment"), (OF_PAYOUTS, "Payout")] {
            let mut query = self.connection.prepare_cached(statement)?;
            let mut rows = query.query([])?;
            while let Some(row) = rows.next()? {
                let (label, outpoint) = (sentence(row, what)?, outpoint(row)?);
                labels.add(LabelledKind::Transaction, outpoint.txid.to_string(), &label);
                labels.add(LabelledKind::Address, row.get("address")?, &label);
                labels.add(LabelledKind::Output, outpoint.to_string(), &label);
            }
        }
        let mut query = self.connection.prepare_cached(OF_ANOMALIES)?;
        let mut rows = query.query([])?;
        while let Some(row) = rows.next()? {
            let label = format!("Anomaly {} ({})", values::id(row, "id")?, row.value::<String>("kind")?);
            for txid in values::txids(row, "txids")? {
                labels.add(LabelledKind::Transaction, txid.to_string(), &label);
            }
        }
        let mut query = self.connection.prepare_cached(OF_CHANGE)?;
        let mut rows = query.query([])?;
        while let Some(row) = rows.next()? {
            labels.add(LabelledKind::Output, outpoint(row)?.to_string(), "Change");
        }
        Ok(labels.all())
    }
}

impl Labels {
    fn add(&mut self, kind: LabelledKind, reference: String, label: &str) {
        let said = self.0.entry((kind, reference)).or_default();
        if !said.iter().any(|one| one == label) {
            said.push(label.to_owned());
        }
    }

    fn all(self) -> Vec<Labelled> {
        let labelled =
            |((kind, reference), said): ((_, _), Vec<String>)| Labelled { kind, reference, label: said.join("; ") };
        self.0.into_iter().map(labelled).collect()
    }
}

/// `Payment c80af47a…: order-1`.
fn sentence(row: &Row<'_>, what: &str) -> Result<String, StoreError> {
    let (id, said) = (values::id(row, "id")?, row.value::<String>("said")?);
    Ok(if said.is_empty() { format!("{what} {id}") } else { format!("{what} {id}: {said}") })
}

fn outpoint(row: &Row<'_>) -> Result<OutPoint, StoreError> {
    Ok(OutPoint { txid: values::txid(row, "txid")?, vout: row.get("vout")? })
}
