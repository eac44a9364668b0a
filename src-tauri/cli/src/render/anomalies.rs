//! Anomalies, as text for people.

use tillgate_console::anomalies::AnomalyItem;

use super::name::name;
use crate::table::Align::{Left, Right};
use crate::table::{Table, fields};

pub fn anomalies(items: &[AnomalyItem]) -> String {
    let mut table = Table::new(&[
        ("anomaly", Left),
        ("kind", Left),
        ("resolution", Left),
        ("BTC", Right),
        ("worth", Right),
        ("", Left),
        ("time", Left),
        ("payment", Left),
        ("payout", Left),
    ]);
    for item in items {
        table.row([
            item.anomaly_id.clone(),
            item.anomaly_type.to_string(),
            name(item.resolution),
            item.paid.shown.clone(),
            item.worth.shown.clone(),
            item.worth.currency.clone(),
            item.time.clone(),
            item.payment_id.clone(),
            item.payout_id.clone().unwrap_or_default(),
        ]);
    }
    table.render("No anomalies.")
}

pub fn anomaly(item: &AnomalyItem) -> String {
    let mut shown = vec![
        ("anomaly", item.anomaly_id.clone()),
        ("kind", item.anomaly_type.to_string()),
        ("resolution", name(item.resolution)),
        ("coins", format!("{} BTC, {}", item.paid.shown, item.worth)),
        ("time", item.time.clone()),
        ("payment", item.payment_id.clone()),
        ("what", item.message.clone()),
    ];
    shown.extend(item.payout_id.clone().map(|payout| ("payout", payout)));
    if let Some(question) = &item.question {
        shown.push((
            "customer asked",
            format!("{}, on {}", question.asked_at, item.payment_page_url),
        ));
        let answered = question.address.clone().zip(question.answered_at.as_ref());
        shown.extend(
            answered.map(|(address, at)| {
                ("refund to", format!("{address}, given on that page at {at}"))
            }),
        );
    }
    shown.extend(item.dismissal_reason.clone().map(|reason| ("why dismissed", reason)));
    shown.extend(item.btc_tx_ids.iter().map(|txid| ("transaction", txid.clone())));
    fields(&shown)
}
