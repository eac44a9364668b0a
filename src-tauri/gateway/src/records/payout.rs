//! The Payout record.

use tillgate_domain::money::{Currency, Rate, format_btc};
use tillgate_store::payouts::PayoutRow;

use super::context::{RecordContext, mark_environment};
use super::object::Object;

#[must_use]
pub fn payout_record(row: &PayoutRow, context: &RecordContext<'_>) -> String {
    let currency = row.currency;
    let mut record = Object::new();
    record.text("payoutId", &row.id.to_string());
    record.text("address", &row.address);
    record.raw("btcAmount", &format_btc(row.amount_sats));
    record.text("currency", currency.code());
    record.raw("fiatAmount", &currency.format_minor(row.fiat_minor));
    record.raw("fiatTotalAmount", &currency.format_minor(row.fiat_total_minor));
    record.raw("networkFeeBtc", &format_btc(row.network_fee_sats));
    record.raw("exchangeRate", &row.rate.format());
    record.text("merchantId", &context.merchant_id.to_string());
    record.text("merchantName", &row.merchant_name);
    record.optional_text("comment", row.comment.as_deref());
    record.optional_text("notificationUrl", row.notification_url.as_deref());
    record.text("time", &row.created_at.iso_seconds());
    record.text("expirationTime", &row.expires_at.iso_seconds());
    record.optional_text("approvalTime", row.approved_at.map(|at| at.iso_seconds()).as_deref());
    record.optional_text("approvedBy", row.approved_by.as_deref());
    record.optional_text("sentTime", row.sent_at.map(|at| at.iso_seconds()).as_deref());
    record.optional_text("btcTxId", row.txid.map(|txid| txid.to_string()).as_deref());
    record.text("status", row.state.as_str());
    record.optional_text(
        "failureReason",
        row.failure_reason.as_ref().map(|reason| reason.message.as_str()),
    );
    if row.balance_short {
        record.raw("balanceShort", "true");
    }
    record.optional_text("anomalyId", row.anomaly.map(|(_, id)| id.to_string()).as_deref());
    record.text("currentTime", &row.current_at.iso_millis());
    record.text("notificationType", "PAYOUT");
    mark_environment(&mut record, context.environment);
    record.finish()
}

/// The limit record in `currency`: the used and the available part of the day's limit, and the
/// smallest payout.
#[must_use]
pub fn limit_record(currency: &str, [used, available, minimum]: [&str; 3]) -> String {
    let mut record = Object::new();
    record.raw("used", used);
    record.raw("available", available);
    record.raw("minPayoutAmount", minimum);
    record.text("currency", currency);
    record.finish()
}

/// The sums that a payout would have.
#[derive(Debug, Clone, Copy)]
pub struct Estimate {
    pub amount_sats: u64,
    pub currency: Currency,
    /// The amount's worth.
    pub fiat_minor: i64,
    /// The worth of amount and network fee.
    pub fiat_total_minor: i64,
    pub network_fee_sats: u64,
    pub rate: Rate,
}

#[must_use]
pub fn estimate_record(estimate: &Estimate) -> String {
    let currency = estimate.currency;
    let mut record = Object::new();
    record.raw("btcAmount", &format_btc(estimate.amount_sats));
    record.text("currency", currency.code());
    record.raw("fiatAmount", &currency.format_minor(estimate.fiat_minor));
    record.raw("fiatTotalAmount", &currency.format_minor(estimate.fiat_total_minor));
    record.raw("networkFeeBtc", &format_btc(estimate.network_fee_sats));
    record.raw("exchangeRate", &estimate.rate.format());
    record.finish()
}
