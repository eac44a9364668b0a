//! What commands answer, for people. Shows views as they are; computes nothing.

use serde_json::Value;

use super::table::Align::{Left, Right};
use super::table::{Table, fields, plain};
use crate::console::Command;
use crate::console::anomalies::AnomalyRow;
use crate::console::ask::Ask;
use crate::console::deliveries::DeliveryRow;
use crate::console::doctor::DoctorView;
use crate::console::keys::{KeyRow, NewHmacKey, NewKey};
use crate::console::page::Page;
use crate::console::payments::{PaymentRow, PaymentView};
use crate::console::settings::SettingRow;
use crate::console::states::PaymentState;
use crate::console::status::StatusView;
use crate::console::sums::WhyInvalid;

/// The answer to `command` as text.
///
/// # Errors
/// When the view is not of the command's form: a gateway of another version answered.
pub(super) fn render(command: &Command, view: Value) -> Result<String, serde_json::Error> {
    Ok(match command {
        Command::Status(asked) => status(&read(asked, view)?),
        Command::ListPayments(asked) => page(&read(asked, view)?, payments),
        Command::ShowPayment(asked) => payment(&read(asked, view)?),
        Command::CreatePayment(asked) => payment(&read(asked, view)?),
        Command::AcceptPayment(asked) => payment(&read(asked, view)?),
        Command::ListAnomalies(asked) => page(&read(asked, view)?, anomalies),
        Command::ShowAnomaly(asked) => anomaly(&read(asked, view)?),
        Command::DismissAnomaly(asked) => anomaly(&read(asked, view)?),
        Command::ListDeliveries(asked) => page(&read(asked, view)?, deliveries),
        Command::Resend(asked) => match read(asked, view)?.queued {
            0 => "Nothing to send: there is no URL to notify, or nothing to tell yet.\n".to_owned(),
            1 => "1 notification is queued.\n".to_owned(),
            queued => format!("{queued} notifications are queued.\n"),
        },
        Command::ListKeys(asked) => page(&read(asked, view)?, keys),
        Command::CreateKey(asked) => new_key(&read(asked, view)?),
        Command::RevokeKey(asked) => {
            format!("The key {} is revoked: it is refused from now on.\n", read(asked, view)?.name)
        }
        Command::RotateHmacKey(asked) => new_hmac_key(&read(asked, view)?),
        Command::ListSettings(asked) => page(&read(asked, view)?, settings),
        Command::GetSetting(asked) => format!("{}\n", plain(&read(asked, view)?.value)),
        Command::SetSetting(asked) => setting(&read(asked, view)?),
        Command::UnsetSetting(asked) => setting(&read(asked, view)?),
        Command::Doctor(asked) => doctor(&read(asked, view)?),
        Command::Sandbox(_) => format!("{view}\n"),
    })
}

/// The answer, of the type that belongs to what was asked.
fn read<A: Ask>(_asked: &A, view: Value) -> Result<A::Answer, serde_json::Error> {
    serde_json::from_value(view)
}

fn page<T>(page: &Page<T>, list: fn(&[T]) -> String) -> String {
    let more = page.items_count.saturating_sub(u64::try_from(page.items.len()).unwrap_or(u64::MAX));
    let note = if more > 0 && !page.items.is_empty() {
        format!("{} of {}; --offset and --limit show others.\n", page.items.len(), page.items_count)
    } else {
        String::new()
    };
    list(&page.items) + &note
}

fn payments(rows: &[PaymentRow]) -> String {
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
    for row in rows {
        table.row([
            row.payment_id.clone(),
            state(row.state, row.why_invalid),
            row.amount.shown.clone(),
            row.paid.shown.clone(),
            row.price.shown.clone(),
            row.currency.clone(),
            row.creation_time.clone(),
            row.label.clone(),
            row.merchant_transaction_id.clone(),
            if row.open_anomalies == 0 { String::new() } else { row.open_anomalies.to_string() },
        ]);
    }
    table.render("No payments.")
}

/// A payment's state, and beside INVALID the reason.
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

fn payment(view: &PaymentView) -> String {
    let row = &view.row;
    let none = || "–".to_owned();
    let (difference, sum) =
        view.overpaid_by.as_ref().map_or(("remaining", &view.remaining), |surplus| ("overpaid", surplus));
    let mut text = fields(&[
        ("payment", row.payment_id.clone()),
        ("state", state(row.state, row.why_invalid)),
        ("price", format!("{} {}", row.price.shown, row.currency)),
        ("amount", format!("{} BTC at {} {}", row.amount.shown, view.exchange_rate_shown, row.currency)),
        ("paid", format!("{} BTC, {} {}", row.paid.shown, row.paid_worth.shown, row.currency)),
        (difference, format!("{} BTC, {} {}", sum.shown, view.difference_worth.shown, row.currency)),
        ("confirmations", format!("{} wanted", row.confirmations_wanted)),
        ("address", view.address.clone()),
        ("page", view.payment_page_url.clone()),
        ("created", row.creation_time.clone()),
        ("expires", row.expiration_time.clone()),
        ("confirmed", view.payment_time.clone().unwrap_or_else(none)),
        ("key", row.label.clone()),
        ("message", row.message.clone()),
        ("reference", row.merchant_transaction_id.clone()),
        ("notifies", view.notification_url.clone().unwrap_or_else(none)),
        ("anomalies to", view.anomaly_notification_url.clone().unwrap_or_else(none)),
    ]);
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
            one.position.to_string(),
            one.time.clone(),
        ]);
    }
    let mut history = Table::new(&[("time", Left), ("from", Left), ("to", Left), ("paid BTC", Right), ("cause", Left)]);
    for one in &view.history {
        history.row([
            one.time.clone(),
            one.from.to_string(),
            state(one.to, one.why_invalid),
            one.paid.shown.clone(),
            one.cause.clone(),
        ]);
    }
    for section in [
        transactions.render("No transactions."),
        history.render("No changes."),
        deliveries(&view.deliveries),
        anomalies(&view.anomalies),
    ] {
        text.push('\n');
        text.push_str(&section);
    }
    if view.acceptance.is_some() {
        text.push_str(&format!("\nTo take what came: tillgate payments accept {}\n", row.payment_id));
    }
    text
}

fn anomalies(rows: &[AnomalyRow]) -> String {
    let mut table = Table::new(&[
        ("anomaly", Left),
        ("kind", Left),
        ("resolution", Left),
        ("BTC", Right),
        ("worth", Right),
        ("", Left),
        ("time", Left),
        ("payment", Left),
    ]);
    for row in rows {
        table.row([
            row.anomaly_id.clone(),
            row.anomaly_type.to_string(),
            row.resolution.to_string(),
            row.paid.shown.clone(),
            row.worth.shown.clone(),
            row.currency.clone(),
            row.time.clone(),
            row.payment_id.clone(),
        ]);
    }
    table.render("No anomalies.")
}

fn anomaly(row: &AnomalyRow) -> String {
    let mut shown = vec![
        ("anomaly", row.anomaly_id.clone()),
        ("kind", row.anomaly_type.to_string()),
        ("resolution", row.resolution.to_string()),
        ("coins", format!("{} BTC, {} {}", row.paid.shown, row.worth.shown, row.currency)),
        ("time", row.time.clone()),
        ("payment", row.payment_id.clone()),
        ("what", row.message.clone()),
    ];
    shown.extend(row.dismissal_reason.clone().map(|reason| ("why dismissed", reason)));
    shown.extend(row.btc_tx_ids.iter().map(|txid| ("transaction", txid.clone())));
    fields(&shown)
}

fn deliveries(rows: &[DeliveryRow]) -> String {
    let mut table = Table::new(&[
        ("delivery", Left),
        ("time", Left),
        ("attempt", Right),
        ("status", Right),
        ("ms", Right),
        ("state", Left),
        ("of", Left),
        ("to", Left),
        ("error", Left),
    ]);
    for row in rows {
        table.row([
            row.delivery_id.clone(),
            row.time.clone(),
            row.attempt.to_string(),
            row.status_code.map(|code| code.to_string()).unwrap_or_default(),
            row.duration_ms.to_string(),
            row.notification_state.to_string(),
            format!("{} {}", row.subject_kind, row.subject_id),
            row.url.clone(),
            row.error.clone().unwrap_or_default(),
        ]);
    }
    table.render("No deliveries.")
}

fn keys(rows: &[KeyRow]) -> String {
    let mut table = Table::new(&[
        ("key", Left),
        ("permissions", Left),
        ("sees", Left),
        ("notifies", Left),
        ("created", Left),
        ("revoked", Left),
    ]);
    for row in rows {
        table.row([
            row.name.clone(),
            row.permissions.join(","),
            if row.own { "its own" } else { "all" }.to_owned(),
            if row.notify_hosts.is_empty() { "any host".to_owned() } else { row.notify_hosts.join(",") },
            row.created.clone(),
            row.revoked.clone().unwrap_or_default(),
        ]);
    }
    table.render("No keys: make one with `tillgate keys create NAME`.")
}

fn new_key(key: &NewKey) -> String {
    fields(&[
        ("name", key.name.clone()),
        ("secret", key.secret.clone()),
        ("permissions", key.permissions.join(",")),
        ("", "The secret is shown this once: keep it in the shop's configuration.".to_owned()),
    ])
}

fn new_hmac_key(key: &NewHmacKey) -> String {
    fields(&[
        ("key", key.key.clone()),
        ("", "It is shown this once. The key before it signs beside it for 24 hours.".to_owned()),
    ])
}

fn settings(rows: &[SettingRow]) -> String {
    /// A logo would fill the screen.
    const VALUE_MAX: usize = 48;
    let mut table = Table::new(&[("setting", Left), ("value", Left), ("default", Left), ("about", Left)]);
    for row in rows {
        let mut value: String = row.value.chars().take(VALUE_MAX).collect();
        if value != row.value {
            value.push('…');
        }
        // The form that follows is said where a value is refused, and in the JSON form.
        let about = row.about.split(" Must be ").next().unwrap_or_default();
        table.row([row.name.clone(), value, row.default.clone(), about.to_owned()]);
    }
    table.render("No settings.")
}

fn setting(row: &SettingRow) -> String {
    format!("{} = {}\n", row.name, plain(&row.value))
}

fn doctor(view: &DoctorView) -> String {
    let mut table = Table::new(&[("", Left), ("check", Left), ("finding", Left)]);
    for check in &view.checks {
        let mark = if check.ok { "ok" } else { "!!" };
        table.row([mark.to_owned(), check.name.clone(), check.message.clone()]);
    }
    table.render("Nothing was checked.") + if view.ok { "All is well.\n" } else { "" }
}

fn status(view: &StatusView) -> String {
    let none = || "–".to_owned();
    let failing = match view.failing_servers.as_slice() {
        [] => view.failing_notifications.to_string(),
        servers => format!("{}, to {}", view.failing_notifications, servers.join(", ")),
    };
    let backend = if view.sandbox { "built-in sandbox" } else { "Bitcoin backend" };
    let mut text = fields(&[
        ("environment", view.environment.clone()),
        ("version", view.version.clone()),
        ("serving", if view.serving { "yes".to_owned() } else { "no: `tillgate serve` starts it".to_owned() }),
        ("API", view.api.clone().unwrap_or_else(none)),
        ("pages", view.pages.clone().unwrap_or_else(none)),
        ("clock", view.clock.clone()),
        ("backend", format!("{backend}, height {}", view.chain_height)),
        ("last look", view.chain_looked_at.clone().unwrap_or_else(none)),
        ("chain", view.chain_error.clone().map_or("answers".to_owned(), |error| format!("DOWN: {error}"))),
        ("open payments", view.open_payments.to_string()),
        ("open anomalies", view.open_anomalies.to_string()),
        ("open reversals", view.open_reversals.to_string()),
        ("waiting notifications", view.waiting_notifications.to_string()),
        ("failing notifications", failing),
        (
            "notifications signed",
            if view.hmac_key { "yes" } else { "no: `tillgate hmac-key rotate` makes a key" }.to_owned(),
        ),
        ("secrets", view.secrets.clone()),
    ]);
    let mut rates = Table::new(&[("currency", Left), ("rate", Right), ("", Left)]);
    for rate in &view.rates {
        let fresh = if rate.fresh { "fresh" } else { "stale" };
        rates.row([rate.currency.clone(), rate.shown.clone(), fresh.to_owned()]);
    }
    text.push('\n');
    text.push_str(&rates.render("No exchange rates."));
    for warning in &view.warnings {
        text.push_str(&format!("\nWarning: {}\n", plain(warning)));
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::console::doctor::Doctor;
    use crate::console::keys::ListKeys;
    use crate::console::payments::{ListPayments, ShowPayment};
    use crate::console::status::Status;

    /// A sum as a view has it, for programs and for people.
    fn sum(text: &str, shown: &str) -> Value {
        json!({"sats": 0, "minor": 0, "text": text, "shown": shown, "currency": "USD"})
    }

    /// A payment of 80,000 dollars in a list.
    fn payment_row(why_invalid: &str) -> Value {
        json!({"paymentId": "c80af47a", "state": "INVALID", "amount": sum("1.23076924", "1.23076924"),
            "paid": sum("1234.50000000", "1,234.50000000"), "fiatAmount": "80000.00", "currency": "USD", "label": "shop",
            "message": "", "merchantTransactionId": "1", "creationTime": "2026-01-12T12:06:20Z",
            "expirationTime": "2026-01-12T12:36:20Z", "openAnomalies": 1, "price": sum("80000.00", "80,000.00"),
            "paidWorth": sum("80242500.00", "80,242,500.00"), "whyInvalid": why_invalid, "confirmations": 0,
            "confirmationsWanted": 1})
    }

    /// The same payment, whole.
    fn payment_view(why_invalid: &str, remaining: &str, overpaid_by: Value) -> Value {
        let mut view = payment_row(why_invalid);
        let rest = json!({"address": "bcrt1q", "exchangeRate": "65000.0000", "paymentAddress": "bitcoin:bcrt1q",
            "paymentPageUrl": "http://127.0.0.1/pay/c80af47a", "remaining": sum(remaining, remaining), "stillDue": null,
            "overpaidBy": overpaid_by, "differenceWorth": sum("80162500.00", "80,162,500.00"),
            "exchangeRateShown": "65,000", "paidFiat": "80242500.00", "qrSvg": "", "paymentTime": null,
            "notificationUrl": null, "anomalyNotificationUrl": null, "acceptance": null, "sandboxAmounts": null,
            "transactions": [], "deliveries": [], "anomalies": [],
            "history": [{"time": "2026-01-12T12:40:20.000Z", "from": "UNDERPAID", "to": "INVALID",
                "paid": sum("1.00000000", "1.00000000"), "cause": "time", "whyInvalid": why_invalid}]});
        view.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        view
    }

    /// The line that begins with this name.
    fn line<'a>(text: &'a str, name: &str) -> &'a str {
        text.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("no line {name} in {text}"))
    }

    #[test]
    fn an_invalid_payment_says_why() {
        for (why, said) in [
            ("SHORT_PAID", "INVALID (Short paid)"),
            ("OVERPAID", "INVALID (Overpaid)"),
            ("REVERSED", "INVALID (Reversed)"),
            ("WITHDRAWN", "INVALID (Coins withdrawn)"),
        ] {
            let list = ListPayments { limit: 10, offset: 0, states: Vec::new(), search: None };
            let text = render(&list.into(), json!({"items": [payment_row(why)], "itemsCount": 1})).unwrap();
            assert!(text.contains(said), "{text}");
            let show = ShowPayment { payment_id: "c80af47a".to_owned() };
            let text = render(&show.into(), payment_view(why, "0.10000000", Value::Null)).unwrap();
            assert!(line(&text, "state").ends_with(said), "{text}");
            assert!(line(&text, "2026-01-12T12:40:20.000Z").contains(said), "{text}");
        }
    }

    #[test]
    fn sums_are_for_people_and_a_surplus_is_no_negative_remainder() {
        let show = || ShowPayment { payment_id: "c80af47a".to_owned() }.into();
        let surplus = sum("1233.26923076", "1,233.26923076");
        let text = render(&show(), payment_view("OVERPAID", "-1233.26923076", surplus)).unwrap();
        assert!(line(&text, "overpaid").ends_with("1,233.26923076 BTC, 80,162,500.00 USD"), "{text}");
        assert!(!text.contains("remaining") && !text.contains("-1233"), "{text}");
        assert!(line(&text, "price").ends_with("80,000.00 USD"), "{text}");
        assert!(line(&text, "amount").ends_with("at 65,000 USD"), "{text}");
        assert!(line(&text, "paid").ends_with("1,234.50000000 BTC, 80,242,500.00 USD"), "{text}");
        let text = render(&show(), payment_view("SHORT_PAID", "0.10000000", Value::Null)).unwrap();
        assert!(line(&text, "remaining").contains("0.10000000 BTC") && !text.contains("overpaid"), "{text}");
    }

    #[test]
    fn the_status_tells_of_reversals_and_of_what_shops_do_not_hear() {
        let view = json!({"environment": "test", "version": "1", "serving": true, "api": null, "pages": null,
            "clock": "2026-01-12T12:06:20.000Z", "chainHeight": 7, "chainLookedAt": null, "chainError": null,
            "rates": [{"currency": "USD", "rate": "65000.0000", "fresh": true, "shown": "65,000"}], "openPayments": 1,
            "openAnomalies": 4, "waitingNotifications": 9, "hmacKey": true, "sandbox": true, "secrets": "keyring",
            "warnings": [], "currencies": ["USD"], "openReversals": 2, "failingNotifications": 5,
            "failingServers": ["a.example", "b.example:8443"]});
        let text = render(&Status {}.into(), view).unwrap();
        assert!(line(&text, "open reversals").contains('2'), "{text}");
        assert!(line(&text, "failing notifications").ends_with("5, to a.example, b.example:8443"), "{text}");
        assert!(line(&text, "USD").contains("65,000  fresh"), "{text}");
    }

    #[test]
    fn a_list_shows_how_much_there_is_beyond_it() {
        let item = json!({"name": "shop", "permissions": ["payments.read"], "notificationUrlOptional": false,
            "own": true, "notifyHosts": ["a.example", "b.example"], "created": "2026-01-12T12:06:20Z", "revoked": null});
        let text = render(&ListKeys {}.into(), json!({"items": [item], "itemsCount": 3})).unwrap();
        assert!(text.contains("shop") && text.contains("1 of 3"), "{text}");
        assert!(text.contains("its own") && text.contains("a.example,b.example"), "{text}");
        let text = render(&ListKeys {}.into(), json!({"items": [], "itemsCount": 0})).unwrap();
        assert!(text.starts_with("No keys"), "{text}");
    }

    #[test]
    fn a_doctor_marks_what_is_wrong() {
        let view = json!({"ok": false, "checks": [
            {"name": "disk", "ok": true, "message": "fine"}, {"name": "ports", "ok": false, "message": "in use"}]});
        let text = render(&Doctor {}.into(), view).unwrap();
        assert!(text.contains("ok  disk   fine") && text.contains("!!  ports  in use"), "{text}");
    }

    #[test]
    fn a_view_of_another_form_is_an_error() {
        assert!(render(&Status {}.into(), json!({"environment": "test"})).is_err());
    }
}
