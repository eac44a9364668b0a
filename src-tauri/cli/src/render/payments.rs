//! Payments, as text for people.

use tillgate_console::payments::{PaymentItem, PaymentSums, PaymentView};
use tillgate_domain::payment::{PaymentState, WhyInvalid};

use super::anomalies::anomalies;
use super::certificates::certificate;
use super::deliveries::deliveries;
use super::labels::quoted;
use super::name::name;
use crate::remedy::as_given;
use crate::table::Align::{Left, Right};
use crate::table::{Table, fields};

pub fn payments(items: &[PaymentItem]) -> String {
    let mut table = Table::new(&[
        ("payment", Left),
        ("state", Left),
        ("amount BTC", Right),
        ("paid BTC", Right),
        ("price", Right),
        ("", Left),
        ("created", Left),
        ("key", Left),
        ("reference", Left),
        ("open anomalies", Right),
    ]);
    for item in items {
        table.row([
            item.payment_id.clone(),
            state_of(item),
            item.amount.shown.clone(),
            item.paid.shown.clone(),
            item.price.shown.clone(),
            item.price.currency.clone(),
            item.creation_time.clone(),
            item.label.clone(),
            item.merchant_transaction_id.clone(),
            if item.open_anomalies == 0 { String::new() } else { item.open_anomalies.to_string() },
        ]);
    }
    table.render("No payments.")
}

/// The line with the sums of a filtered list.
pub fn payment_sums(sums: Option<PaymentSums>) -> String {
    let Some(PaymentSums { confirmed, paid }) = sums else { return String::new() };
    let confirmed: Vec<_> = confirmed.iter().map(ToString::to_string).collect();
    let confirmed = if confirmed.is_empty() { "nothing".to_owned() } else { confirmed.join(", ") };
    format!("Confirmed: {confirmed}; {} BTC.\n", paid.shown)
}

/// A payment's state, with the alarm of a conflict.
fn state_of(item: &PaymentItem) -> String {
    if item.conflict_seen {
        return format!("{} (Stop: the customer is taking the money back)", item.state);
    }
    state(item.state, item.why_invalid)
}

/// A payment's state, with the reason if it is INVALID.
fn state(state: PaymentState, why_invalid: Option<WhyInvalid>) -> String {
    let Some(why) = why_invalid else { return state.to_string() };
    let why = match why {
        WhyInvalid::ShortPaid => "Short paid",
        WhyInvalid::Overpaid => "Overpaid",
        WhyInvalid::Reversed => "Reversed",
        WhyInvalid::Withdrawn => "Coins withdrawn",
    };
    format!("{state} ({why})")
}

pub fn payment(view: &PaymentView) -> String {
    let mut text = fields(&rows(view));
    let mut transactions = Table::new(&[
        ("transaction", Left),
        ("pays BTC", Right),
        ("credited BTC", Right),
        ("confirmations", Right),
        ("position", Left),
        ("first seen", Left),
    ]);
    for one in &view.transactions {
        transactions.row([
            one.btc_tx_id.clone(),
            one.amount.shown.clone(),
            one.counted.shown.clone(),
            one.confirmations.to_string(),
            name(one.position),
            one.time.clone(),
        ]);
    }
    let mut history = Table::new(&[
        ("time", Left),
        ("from", Left),
        ("to", Left),
        ("paid BTC", Right),
        ("cause", Left),
    ]);
    for one in &view.history {
        history.row([
            one.time.clone(),
            one.from.to_string(),
            state(one.to, one.why_invalid),
            one.paid.shown.clone(),
            one.conflict
                .map_or_else(|| name(one.cause), |conflict| format!("conflict {}", name(conflict))),
        ]);
    }
    for section in [
        transactions.render("No transactions."),
        history.render("No changes."),
        certificate(view.certificate.as_ref()),
        deliveries(&view.deliveries),
        anomalies(&view.anomalies),
    ] {
        text.push('\n');
        text.push_str(&section);
    }
    if view.acceptance.is_some() {
        let accept = as_given(&format!("`tillgate payments accept {}`", view.item.payment_id));
        text.push_str(&format!("\nTo accept the received coins: {accept}\n"));
    }
    text
}

/// A payment's address, with a note if its coins are not seen.
fn address(view: &PaymentView) -> String {
    let note = if view.is_unreported {
        " (its coins are not seen: too many transactions for the server)"
    } else {
        ""
    };
    format!("{}{note}", view.address)
}

/// The facts of a payment that have one value, each with its name.
fn rows(view: &PaymentView) -> Vec<(&'static str, String)> {
    let item = &view.item;
    let none = || "–".to_owned();
    let mut rows = vec![
        ("payment", item.payment_id.clone()),
        ("state", state_of(item)),
        ("price", item.price.to_string()),
        (
            "amount",
            format!(
                "{} BTC at {} {}",
                item.amount.shown, view.exchange_rate_shown, item.price.currency
            ),
        ),
        ("paid", format!("{} BTC, {}", item.paid.shown, item.paid_worth)),
    ];
    let due = view.still_due.as_ref().map(|sum| ("remaining", sum));
    let surplus = item.overpaid_by.as_ref().map(|sum| ("overpaid", sum));
    rows.extend(
        due.or(surplus).map(|(name, sum)| {
            (name, format!("{} BTC, {}", sum.shown, view.item.difference_worth))
        }),
    );
    rows.extend([
        ("confirmations", format!("{} wanted", item.confirmations_wanted)),
        ("address", address(view)),
        ("path", view.address_path.clone().unwrap_or_else(|| format!("…/{}", view.address_index))),
        ("page", view.payment_page_url.clone()),
        ("created", item.creation_time.clone()),
        ("expires", item.expiration_time.clone()),
        ("confirmed", view.payment_time.clone().unwrap_or_else(none)),
        ("key", item.label.clone()),
        ("message", item.message.clone()),
        ("reference", item.merchant_transaction_id.clone()),
        ("label", quoted(&view.labels)),
        ("notifies", view.notification_url.clone().unwrap_or_else(none)),
        ("anomalies to", view.anomaly_notification_url.clone().unwrap_or_else(none)),
    ]);
    rows
}
