//! What commands answer, for people. Shows views as they are; computes nothing.

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::table::Align::{Left, Right};
use super::table::{Table, fields, plain};
use crate::console::Command;
use crate::console::views::{
    AnomalyRow, DeliveryRow, DoctorView, KeyRow, NewHmacKey, NewKey, Page, PaymentRow, PaymentView, Resent, SettingRow,
    StatusView,
};

/// The answer to `command` as text.
///
/// # Errors
/// When the view is not of the command's form: a gateway of another version answered.
pub fn render(command: &Command, view: Value) -> Result<String, serde_json::Error> {
    Ok(match command {
        Command::Status => status(&read(view)?),
        Command::ListPayments { .. } => page(&read(view)?, payments),
        Command::ShowPayment { .. } | Command::CreatePayment { .. } | Command::AcceptPayment { .. } => {
            payment(&read(view)?)
        }
        Command::ListAnomalies { .. } => page(&read(view)?, anomalies),
        Command::ShowAnomaly { .. } | Command::DismissAnomaly { .. } => anomaly(&read(view)?),
        Command::ListDeliveries { .. } => page(&read(view)?, deliveries),
        Command::Resend { .. } => match read::<Resent>(view)?.queued {
            0 => "Nothing to send: there is no URL to notify, or nothing to tell yet.\n".to_owned(),
            1 => "1 notification is queued.\n".to_owned(),
            queued => format!("{queued} notifications are queued.\n"),
        },
        Command::ListKeys => page(&read(view)?, keys),
        Command::CreateKey { .. } => new_key(&read(view)?),
        Command::RevokeKey { .. } => {
            format!("The key {} is revoked: it is refused from now on.\n", read::<KeyRow>(view)?.name)
        }
        Command::RotateHmacKey => new_hmac_key(&read(view)?),
        Command::ListSettings => page(&read(view)?, settings),
        Command::GetSetting { .. } => format!("{}\n", plain(&read::<SettingRow>(view)?.value)),
        Command::SetSetting { .. } | Command::UnsetSetting { .. } => {
            let setting: SettingRow = read(view)?;
            format!("{} = {}\n", setting.name, plain(&setting.value))
        }
        Command::Doctor => doctor(&read(view)?),
        Command::Sandbox { .. } => format!("{view}\n"),
    })
}

fn read<T: DeserializeOwned>(view: Value) -> Result<T, serde_json::Error> {
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
            row.state.clone(),
            row.amount.text.clone(),
            row.paid.text.clone(),
            row.fiat_amount.clone(),
            row.currency.clone(),
            row.creation_time.clone(),
            row.label.clone(),
            row.merchant_transaction_id.clone(),
            if row.open_anomalies == 0 { String::new() } else { row.open_anomalies.to_string() },
        ]);
    }
    table.render("No payments.")
}

fn payment(view: &PaymentView) -> String {
    let row = &view.row;
    let none = || "–".to_owned();
    let mut text = fields(&[
        ("payment", row.payment_id.clone()),
        ("state", row.state.clone()),
        ("price", format!("{} {}", row.fiat_amount, row.currency)),
        ("amount", format!("{} BTC at {} {}", row.amount.text, view.exchange_rate, row.currency)),
        ("paid", format!("{} BTC, {} {}", row.paid.text, view.paid_fiat, row.currency)),
        ("remaining", format!("{} BTC", view.remaining.text)),
        ("confirmations", format!("{} wanted", view.confirmations_wanted)),
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
        ("counts BTC", Right),
        ("confirmations", Right),
        ("position", Left),
        ("first seen", Left),
    ]);
    for one in &view.transactions {
        transactions.row([
            one.btc_tx_id.clone(),
            one.amount.text.clone(),
            one.counted.text.clone(),
            one.confirmations.to_string(),
            one.position.clone(),
            one.time.clone(),
        ]);
    }
    let mut history = Table::new(&[("time", Left), ("from", Left), ("to", Left), ("paid BTC", Right), ("cause", Left)]);
    for one in &view.history {
        history.row([one.time.clone(), one.from.clone(), one.to.clone(), one.paid.text.clone(), one.cause.clone()]);
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
    if view.acceptable {
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
            row.anomaly_type.clone(),
            row.resolution.clone(),
            row.paid.text.clone(),
            row.fiat_amount.clone(),
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
        ("kind", row.anomaly_type.clone()),
        ("resolution", row.resolution.clone()),
        ("coins", format!("{} BTC, {} {}", row.paid.text, row.fiat_amount, row.currency)),
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
            row.notification_state.clone(),
            format!("{} {}", row.subject_kind, row.subject_id),
            row.url.clone(),
            row.error.clone().unwrap_or_default(),
        ]);
    }
    table.render("No deliveries.")
}

fn keys(rows: &[KeyRow]) -> String {
    let mut table = Table::new(&[("key", Left), ("permissions", Left), ("created", Left), ("revoked", Left)]);
    for row in rows {
        table.row([
            row.name.clone(),
            row.permissions.join(","),
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
        ("waiting notifications", view.waiting_notifications.to_string()),
        (
            "notifications signed",
            if view.hmac_key { "yes" } else { "no: `tillgate hmac-key rotate` makes a key" }.to_owned(),
        ),
        ("secrets", view.secrets.clone()),
    ]);
    let mut rates = Table::new(&[("currency", Left), ("rate", Right), ("", Left)]);
    for rate in &view.rates {
        let fresh = if rate.fresh { "fresh" } else { "stale" };
        rates.row([rate.currency.clone(), rate.rate.clone(), fresh.to_owned()]);
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

    #[test]
    fn a_list_shows_how_much_there_is_beyond_it() {
        let item = json!({"name": "shop", "permissions": ["payments.read"], "notificationUrlOptional": false,
            "created": "2026-01-12T12:06:20Z", "revoked": null});
        let text = render(&Command::ListKeys, json!({"items": [item], "itemsCount": 3})).unwrap();
        assert!(text.contains("shop") && text.contains("1 of 3"), "{text}");
        let text = render(&Command::ListKeys, json!({"items": [], "itemsCount": 0})).unwrap();
        assert!(text.starts_with("No keys"), "{text}");
    }

    #[test]
    fn a_doctor_marks_what_is_wrong() {
        let view = json!({"ok": false, "checks": [
            {"name": "disk", "ok": true, "message": "fine"}, {"name": "ports", "ok": false, "message": "in use"}]});
        let text = render(&Command::Doctor, view).unwrap();
        assert!(text.contains("ok  disk   fine") && text.contains("!!  ports  in use"), "{text}");
    }

    #[test]
    fn a_view_of_another_form_is_an_error() {
        assert!(render(&Command::Status, json!({"environment": "test"})).is_err());
    }
}
