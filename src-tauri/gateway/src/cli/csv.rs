//! The statement as CSV.

use crate::console::csv::line;
use crate::console::statement::StatementItem;

const HEADER: [&str; 11] = [
    "time",
    "kind",
    "btcAmount",
    "currency",
    "fiatAmount",
    "exchangeRate",
    "feeBtc",
    "btcTxId",
    "paymentId",
    "payoutId",
    "anomalyId",
];

/// The line of headings.
pub(super) fn header() -> String {
    line(HEADER.map(str::to_owned))
}

/// The line of a movement.
pub(super) fn row(currency: &str, item: &StatementItem) -> String {
    line(cells(currency, item))
}

fn cells(currency: &str, item: &StatementItem) -> [String; HEADER.len()] {
    let id = |id: &Option<String>| id.clone().unwrap_or_default();
    [
        item.time.clone(),
        item.kind.to_string(),
        item.amount.text.clone(),
        currency.to_owned(),
        item.worth.as_ref().map(|worth| worth.text.clone()).unwrap_or_default(),
        item.exchange_rate.clone().unwrap_or_default(),
        item.fee.as_ref().map(|fee| fee.text.clone()).unwrap_or_default(),
        id(&item.btc_tx_id),
        id(&item.payment_id),
        id(&item.payout_id),
        id(&item.anomaly_id),
    ]
}
