//! The Anomaly record.

use tillgate_domain::anomaly::{AnomalyKind, Resolution};
use tillgate_domain::money::format_btc;
use tillgate_domain::receipt::Receipt;
use tillgate_store::anomalies::AnomalyRow;

use super::context::{RecordContext, mark_environment};
use super::object::Object;
use super::transaction::transaction;

/// The Anomaly record of `row`. `receipts` are its receipts, each with its full amount.
#[must_use]
pub fn anomaly_record(
    row: &AnomalyRow,
    receipts: &[Receipt],
    context: &RecordContext<'_>,
) -> String {
    let anomaly = &row.anomaly;
    let mut record = Object::new();
    record.text("anomalyId", &anomaly.id.to_string());
    record.text("paymentId", &row.payment_id.to_string());
    record.text("merchantTransactionId", &row.merchant_transaction_id);
    record.text("anomalyType", anomaly.kind.as_str());
    record.text("address", &row.address);
    record.raw("paidBtc", &format_btc(anomaly.paid_sats));
    record.raw("fiatAmount", &row.currency.format_minor(row.worth_minor()));
    record.text("currency", row.currency.code());
    record.raw("exchangeRate", &row.rate.format());
    record.text("time", &row.created_at.iso_seconds());
    record.text("currentTime", &row.current_at.iso_millis());
    record.array(
        "btcTransactions",
        receipts.iter().map(|receipt| {
            transaction(&receipt.txid, receipt.amount_sats, receipt, context.tip_height)
        }),
    );
    record.text("message", &anomaly_message(row));
    record.text("resolution", anomaly.resolution.as_str());
    record.optional_text("payoutId", row.payout_id.map(|id| id.to_string()).as_deref());
    record.text("notificationType", "ANOMALY");
    mark_environment(&mut record, context.environment);
    record.finish()
}

/// The anomaly's event and its outcome, in a sentence for people.
pub fn anomaly_message(row: &AnomalyRow) -> String {
    let paid = format_btc(row.anomaly.paid_sats);
    let happened = match row.anomaly.kind {
        AnomalyKind::LatePayment if row.came_in_time => {
            format!("{paid} BTC arrived in time, but was seen too late: the payment had closed.")
        }
        AnomalyKind::LatePayment => format!("{paid} BTC came after the payment had closed."),
        AnomalyKind::ExtraPayment => {
            format!("{paid} BTC came on top of a payment that was already paid.")
        }
        AnomalyKind::Overpayment => format!("The customer paid too much: {paid} BTC."),
        AnomalyKind::Underpayment => {
            format!("The customer paid too little, {paid} BTC, before the payment closed.")
        }
        AnomalyKind::ReversedPayment => {
            format!("{paid} BTC on which a confirmed payment rested were taken back.")
        }
    };
    match (row.anomaly.resolution, &row.dismissal_reason) {
        (Resolution::DismissedByStaff | Resolution::DismissedBySystem, Some(reason)) => {
            format!("{happened} Dismissed: {reason}")
        }
        _ => happened,
    }
}
