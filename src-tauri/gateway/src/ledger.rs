//! Adds a row to the ledger for each movement of the balance, in the database transaction of the
//! change that causes it (interface, section 4, "Ledger"). The balance is the sum of customers'
//! coins in blocks. Our own transactions change it from SENT on, as if they were confirmed.

use bitcoin::Txid;
use tillgate_store::StoreError;
use tillgate_store::ledger::{LedgerKind, NewEntry};

use crate::notifications::outbox::Outbox;

/// The transaction, payment and payout of a movement.
#[derive(Debug, Clone, Copy, Default)]
pub struct About {
    pub txid: Option<Txid>,
    pub payment_seq: Option<i64>,
    pub payout_seq: Option<i64>,
}

/// Adds a row with a change of the balance in satoshis, negative for a decrease, and the present
/// rates. For a change of zero no row is added.
pub fn book(
    outbox: &Outbox<'_>,
    kind: LedgerKind,
    sats: i64,
    about: About,
) -> Result<(), StoreError> {
    if sats == 0 {
        return Ok(());
    }
    let rates = outbox.gateway.market.rates.last_known_rates();
    let rates_seq = if rates.is_empty() {
        None
    } else {
        let rates: serde_json::Map<_, _> = rates
            .into_iter()
            .map(|(currency, rate)| (currency.code().to_owned(), rate.format().into()))
            .collect();
        Some(outbox.tx.rates_seq(outbox.now, &serde_json::Value::Object(rates).to_string())?)
    };
    let About { txid, payment_seq, payout_seq } = about;
    outbox.tx.add_entry(&NewEntry {
        at: outbox.now,
        kind,
        sats,
        txid,
        payment_seq,
        payout_seq,
        rates_seq,
    })
}

/// Adds rows for changes of a payment's coins in blocks: for each transaction, a row for the part
/// that counts for the payment and a row for the rest.
pub fn book_receipts(outbox: &Outbox<'_>, payment_seq: i64) -> Result<(), StoreError> {
    for unbooked in outbox.tx.unbooked_receipts(payment_seq)? {
        let about =
            About { txid: Some(unbooked.txid), payment_seq: Some(payment_seq), payout_seq: None };
        book(outbox, LedgerKind::Payment, unbooked.counted_sats, about)?;
        book(outbox, LedgerKind::Anomaly, unbooked.rest_sats, about)?;
        outbox.tx.book_receipt(payment_seq, &unbooked)?;
    }
    Ok(())
}
