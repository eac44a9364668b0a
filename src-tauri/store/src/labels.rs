//! Labels of transactions, addresses and coins, to be exported to other wallet programs.

use std::collections::BTreeMap;

use bitcoin::OutPoint;
use bitcoin::hashes::Hash as _;
use rusqlite::{Row, params};

use super::error::StoreError;
use super::reader::Reader;
use super::values::{self, Columns as _};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LabelledKind {
    Transaction,
    Address,
    Output,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Labelled {
    pub kind: LabelledKind,
    /// A txid, an address, or an outpoint.
    pub reference: String,
    pub label: String,
}

/// Start of a page of labels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LabelsFrom {
    /// Labels of transactions after this txid, with their outputs and the addresses of payments.
    Transactions(Vec<u8>),
    /// Labels of payout addresses after this script.
    PayoutAddresses(Vec<u8>),
    /// Imported labels after this number.
    Imported(i64),
}

impl LabelledKind {
    const ALL: [Self; 3] = [Self::Transaction, Self::Address, Self::Output];

    /// The type in BIP329.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Transaction => "tx",
            Self::Address => "addr",
            Self::Output => "output",
        }
    }

    /// The kind of this type.
    pub fn named(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text)
    }
}

/// The labels of each transaction, address or output. A transaction of several payouts has several
/// labels.
#[derive(Default)]
struct Labels(BTreeMap<(LabelledKind, String), Vec<String>>);

/// The last transaction of a page of `?2` outputs, and the number of outputs. The page has all
/// outputs of this transaction.
const LAST_TXID: &str = "SELECT max(txid) AS last, count(*) AS outputs FROM (SELECT txid FROM coins WHERE txid > ?1 \
     UNION ALL SELECT txid FROM version_outputs WHERE txid > ?1 ORDER BY txid LIMIT ?2)";

/// Coins with their payments. A payment without coins has no label, since its address is in no
/// transaction. The address is labelled together with the payment's lowest txid.
const OF_PAYMENTS: &str = "SELECT c.txid, c.vout, p.id, p.address, p.merchant_transaction_id AS said, \
     NOT EXISTS (SELECT 1 FROM receipts AS r WHERE r.payment_seq = p.seq AND r.txid < c.txid) AS is_first \
     FROM coins AS c JOIN payments AS p ON p.seq = c.payment_seq WHERE c.txid > ?1 AND c.txid <= ?2 \
     ORDER BY c.txid, c.vout";

/// Outputs of our transactions that pay payouts.
const OF_PAYOUTS: &str = "SELECT o.txid, o.vout, p.id, p.address, ifnull(p.comment, '') AS said, 0 AS is_first \
     FROM version_outputs AS o JOIN payouts AS p ON p.seq = o.payout_seq WHERE o.txid > ?1 AND o.txid <= ?2 \
     ORDER BY o.txid, o.vout";

const OF_ANOMALIES: &str = "SELECT id, kind, payment_seq, txids FROM anomalies ORDER BY seq";

/// Coins of a payment in one transaction.
const COINS_OF: &str =
    "SELECT txid, vout FROM coins WHERE txid = ?1 AND payment_seq = ?2 ORDER BY vout";

const OF_CHANGE: &str = "SELECT txid, vout FROM coins WHERE keychain = 1 AND txid > ?1 AND txid <= ?2 ORDER BY txid, vout";

/// Payouts with a transaction; those of one address are adjacent.
const OF_PAYOUT_ADDRESSES: &str = "SELECT script, id, address, ifnull(comment, '') AS said FROM payouts \
     WHERE script > ?1 AND script <= ?2 AND batch_seq IS NOT NULL ORDER BY script, created_at, seq";

const LAST_SCRIPT: &str = "SELECT max(script) AS last, count(*) AS outputs FROM (SELECT script FROM payouts \
     WHERE script > ?1 AND batch_seq IS NOT NULL ORDER BY script LIMIT ?2)";

/// Most characters of a label, by BIP329.
const LABEL_MAX: usize = 255;

/// Sorts after every txid and every script.
const BEHIND_ALL: [u8; 33] = [0xff; 33];

impl Reader<'_> {
    /// Labels of `limit` outputs or payouts, and the start of the next page. An imported label
    /// takes the place of our own.
    pub fn labels(
        &self,
        from: &LabelsFrom,
        limit: u32,
    ) -> Result<(Vec<Labelled>, Option<LabelsFrom>), StoreError> {
        if let LabelsFrom::Imported(after) = from {
            let labels = self.imported_labels(*after, limit)?;
            let is_full = u32::try_from(labels.len()).is_ok_and(|count| count == limit);
            let next =
                labels.last().filter(|_| is_full).map(|(number, _)| LabelsFrom::Imported(*number));
            return Ok((labels.into_iter().map(|(_, labelled)| labelled).collect(), next));
        }
        let (own, next) = self.own_labels(from, limit)?;
        let mut labels = Vec::with_capacity(own.len());
        for labelled in own {
            if self.imported_label(labelled.kind, &labelled.reference)?.is_none() {
                labels.push(labelled);
            }
        }
        Ok((labels, next.or(Some(LabelsFrom::Imported(0)))))
    }

    /// Our own labels of `limit` outputs or payouts, and the start of the next page. They cover
    /// payments with coins, anomalies, payouts with a transaction, and our change.
    pub fn own_labels(
        &self,
        from: &LabelsFrom,
        limit: u32,
    ) -> Result<(Vec<Labelled>, Option<LabelsFrom>), StoreError> {
        match from {
            LabelsFrom::Transactions(after) => {
                let (last, is_end) = self.last_of_page(LAST_TXID, after, limit)?;
                let labels = self.labels_of_transactions(after, &last)?;
                let next = if is_end {
                    LabelsFrom::PayoutAddresses(Vec::new())
                } else {
                    LabelsFrom::Transactions(last)
                };
                Ok((labels.all(), Some(next)))
            }
            LabelsFrom::PayoutAddresses(after) => {
                let (last, is_end) = self.last_of_page(LAST_SCRIPT, after, limit)?;
                let mut labels = Labels::default();
                let mut query = self.connection.prepare_cached(OF_PAYOUT_ADDRESSES)?;
                let mut rows = query.query(params![after, last])?;
                while let Some(row) = rows.next()? {
                    labels.add(
                        LabelledKind::Address,
                        row.get("address")?,
                        &sentence(row, "Payout")?,
                    );
                }
                Ok((labels.all(), (!is_end).then_some(LabelsFrom::PayoutAddresses(last))))
            }
            LabelsFrom::Imported(_) => Ok((Vec::new(), None)),
        }
    }

    /// The last key of a page, and whether the page is the last one.
    fn last_of_page(
        &self,
        statement: &str,
        after: &[u8],
        limit: u32,
    ) -> Result<(Vec<u8>, bool), StoreError> {
        let mut query = self.connection.prepare_cached(statement)?;
        let (last, outputs): (Option<Vec<u8>>, u32) = query
            .query_row(params![after, limit], |row| Ok((row.get("last")?, row.get("outputs")?)))?;
        Ok(last
            .filter(|_| outputs == limit)
            .map_or((BEHIND_ALL.to_vec(), true), |last| (last, false)))
    }

    fn labels_of_transactions(&self, after: &[u8], last: &[u8]) -> Result<Labels, StoreError> {
        let mut labels = Labels::default();
        for (statement, what) in [(OF_PAYMENTS, "Payment"), (OF_PAYOUTS, "Payout")] {
            let mut query = self.connection.prepare_cached(statement)?;
            let mut rows = query.query(params![after, last])?;
            while let Some(row) = rows.next()? {
                let (label, outpoint) = (sentence(row, what)?, outpoint(row)?);
                labels.add(LabelledKind::Transaction, outpoint.txid.to_string(), &label);
                if row.get("is_first")? {
                    labels.add(LabelledKind::Address, row.get("address")?, &label);
                }
                labels.add(LabelledKind::Output, outpoint.to_string(), &label);
            }
        }
        let mut query = self.connection.prepare_cached(OF_ANOMALIES)?;
        let mut rows = query.query([])?;
        while let Some(row) = rows.next()? {
            let label =
                format!("Anomaly {} ({})", values::id(row, "id")?, row.value::<String>("kind")?);
            let txids = values::txids(row, "txids")?;
            for txid in txids.into_iter().filter(|txid| {
                txid.as_byte_array()[..] > *after && txid.as_byte_array()[..] <= *last
            }) {
                labels.add(LabelledKind::Transaction, txid.to_string(), &label);
                let mut coins = self.connection.prepare_cached(COINS_OF)?;
                let mut coins = coins
                    .query(params![txid.as_byte_array(), row.get::<_, i64>("payment_seq")?])?;
                while let Some(coin) = coins.next()? {
                    labels.add(LabelledKind::Output, outpoint(coin)?.to_string(), &label);
                }
            }
        }
        let mut query = self.connection.prepare_cached(OF_CHANGE)?;
        let mut rows = query.query(params![after, last])?;
        while let Some(row) = rows.next()? {
            labels.add(LabelledKind::Output, outpoint(row)?.to_string(), "Change");
        }
        Ok(labels)
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
        let labelled = |((kind, reference), said): ((_, _), Vec<String>)| Labelled {
            kind,
            reference,
            label: shortened(said.join("; ")),
        };
        self.0.into_iter().map(labelled).collect()
    }
}

/// A label as long as BIP329 allows. A dropped end is marked.
pub fn shortened(label: String) -> String {
    if label.chars().count() <= LABEL_MAX {
        return label;
    }
    label.chars().take(LABEL_MAX.saturating_sub(1)).chain(['\u{2026}']).collect()
}

/// For example `Payment c80af47a…: order-1`.
fn sentence(row: &Row<'_>, what: &str) -> Result<String, StoreError> {
    let (id, said) = (values::id(row, "id")?, row.value::<String>("said")?);
    Ok(if said.is_empty() { format!("{what} {id}") } else { format!("{what} {id}: {said}") })
}

fn outpoint(row: &Row<'_>) -> Result<OutPoint, StoreError> {
    Ok(OutPoint { txid: values::txid(row, "txid")?, vout: row.get("vout")? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_has_at_most_255_characters() {
        let mut labels = Labels::default();
        (0..9).for_each(|number| {
            labels.add(
                LabelledKind::Transaction,
                "t".to_owned(),
                &format!("{number}{}", "ü".repeat(30)),
            )
        });
        labels.add(LabelledKind::Address, "a".to_owned(), &"x".repeat(255));
        let labels = labels.all();
        assert_eq!(labels[0].label.chars().count(), 255);
        assert!(labels[0].label.ends_with('\u{2026}') && labels[0].label.starts_with("0ü"));
        assert_eq!(labels[1].label, "x".repeat(255));
    }
}
