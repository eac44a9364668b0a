//! The Payment record.

use tillgate_domain::bip21::payment_uri;
use tillgate_domain::money::{format_btc, format_btc_signed};
use tillgate_domain::receipt::Receipt;
use tillgate_store::payments::PaymentRow;

use super::context::{RecordContext, mark_environment};
use super::object::Object;
use super::transaction::transaction;

/// The Payment record of `row`. `receipts` are all its receipts; the record lists those whose coins
/// count.
#[must_use]
pub fn payment_record(
    row: &PaymentRow,
    receipts: &[Receipt],
    context: &RecordContext<'_>,
) -> String {
    let payment = &row.payment;
    let currency = payment.currency;
    let id = payment.id.to_string();
    let amount = format_btc(payment.amount_sats);
    let remaining = format_btc_signed(payment.remaining_sats());
    let mut record = Object::new();
    record.text("paymentId", &id);
    record.text("transactionId", &id);
    record.text("address", &row.address);
    record.raw("amount", &amount);
    record.raw("amountBtc", &amount);
    record.raw("fiatAmount", &currency.format_minor(payment.price_minor));
    record.text("currency", currency.code());
    record.text("status", payment.state.as_str());
    record.raw("remainingToPay", &currency.format_minor(payment.remaining_minor()));
    record.raw("remainingToPayBtc", &remaining);
    record.raw("paid", &currency.format_minor(payment.paid_minor()));
    record.raw("paidBtc", &format_btc(payment.paid_sats));
    record.raw("exchangeRate", &payment.rate.format());
    record.optional_text("paymentTime", payment.confirmed_at.map(|at| at.iso_seconds()).as_deref());
    record.text("creationTime", &payment.created_at.iso_seconds());
    record.text("expirationTime", &payment.expires_at.iso_seconds());
    record.text("currentTime", &row.current_at.iso_millis());
    record.text("label", &row.label);
    record.text("message", &row.message);
    record.text("merchantTransactionId", &row.merchant_transaction_id);
    record.optional_text("notificationUrl", row.notification_url.as_deref());
    record.optional_text("anomalyNotificationUrl", row.anomaly_notification_url.as_deref());
    if let Some(redirect_urls) = &row.redirect_urls {
        record.raw("redirectUrls", redirect_urls);
    }
    if payment.conflict_seen {
        record.raw("conflictSeen", "true");
    }
    record.text(
        "paymentAddress",
        &payment_uri(&row.address, payment.amount_sats, &row.label, &row.message),
    );
    record.text("paymentPageUrl", &format!("{}/{id}", context.pages_base));
    record.array("btcTransactions", counting(receipts, context.tip_height));
    record.text("notificationType", "REGULAR");
    mark_environment(&mut record, context.environment);
    record.finish()
}

/// The counted part of each transaction; their sum is `paidBtc`.
fn counting(receipts: &[Receipt], tip_height: u32) -> impl Iterator<Item = String> {
    receipts
        .iter()
        .filter(|receipt| receipt.counted_sats > 0)
        .map(move |receipt| transaction(&receipt.txid, receipt.counted_sats, receipt, tip_height))
}
