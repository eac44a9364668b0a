//! Answers of commands as one JSON document for other programs: the view as received, or for some
//! commands the interface's record.

use serde_json::{Map, Value, json};
use tillgate_console::Command;
use tillgate_console::statement::{StatementItem, StatementTotal, StatementTotals};
use tillgate_console::wallet::WalletDescriptorView;

use super::render::parse_answer;

/// The answer to `command` as a JSON document.
///
/// # Errors
/// The view does not parse as the command's answer, because a gateway of another version sent it.
pub fn document(command: &Command, view: Value) -> Result<String, serde_json::Error> {
    Ok(match command {
        Command::ListPayouts(asked) => {
            let page = parse_answer(asked, view)?;
            let records: Vec<String> = page.items.into_iter().map(|item| item.record).collect();
            format!(r#"{{"items":[{}],"itemsCount":{}}}"#, records.join(","), page.items_count)
        }
        Command::ShowPayout(asked) => parse_answer(asked, view)?.item.record,
        Command::RequestPayout(asked) => parse_answer(asked, view)?.item.record,
        Command::ApprovePayout(asked) => parse_answer(asked, view)?.item.record,
        Command::RejectPayout(asked) => parse_answer(asked, view)?.item.record,
        Command::SendPayout(asked) => parse_answer(asked, view)?.payout.item.record,
        Command::BumpPayout(asked) => parse_answer(asked, view)?.payout.item.record,
        Command::AbandonPayout(asked) => parse_answer(asked, view)?.payout.item.record,
        Command::RefundAnomaly(asked) => parse_answer(asked, view)?.item.record,
        Command::ShowLimits(asked) => parse_answer(asked, view)?.record,
        Command::SetLimits(asked) => parse_answer(asked, view)?.record,
        Command::WalletInfo(asked) => parse_answer(asked, view)?.record,
        Command::WalletDescriptor(asked) => {
            // The QR code is for the window.
            let WalletDescriptorView { descriptor, external, internal, .. } =
                parse_answer(asked, view)?;
            json!({ "descriptor": descriptor, "external": external, "internal": internal })
                .to_string()
        }
        // Of a long list the view is one page; `sheet_pages`, `label_pages` and `statement_pages`
        // print the whole document.
        _ => in_english(view).to_string(),
    })
}

/// A view in which each sentence is its English text.
fn in_english(view: Value) -> Value {
    match view {
        Value::Object(members) => match telling(&members) {
            Some(message) => Value::from(message),
            None => members.into_iter().map(|(name, value)| (name, in_english(value))).collect(),
        },
        Value::Array(items) => items.into_iter().map(in_english).collect(),
        view @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) => view,
    }
}

/// The English text of a [`Telling`](tillgate_told::Telling); `None` for any other object.
fn telling(members: &Map<String, Value>) -> Option<String> {
    let has = |name| members.contains_key(name);
    let text = members.get("message").filter(|_| has("code") && has("values"))?;
    text.as_str().map(str::to_owned)
}

/// The beginning of the statement's document, before its first movement.
pub fn statement_begins(currency: &str) -> String {
    format!(r#"{{"currency":{},"items":["#, text(currency))
}

/// The end of the statement's document, after its last movement.
pub fn statement_ends(sums: &StatementTotals) -> String {
    let totals = |period: &str, totals: &[StatementTotal]| {
        totals.iter().map(|sum| total(period, sum)).collect::<Vec<_>>().join(",")
    };
    let (by_day, by_month) = (totals("day", &sums.by_day), totals("month", &sums.by_month));
    format!(r#"],"totals":{{"byDay":[{by_day}],"byMonth":[{by_month}]}}}}"#)
}

pub fn movement(item: &StatementItem) -> String {
    object([
        ("time", Some(text(&item.time))),
        ("kind", Some(text(&item.kind.to_string()))),
        ("btcAmount", Some(item.amount.text.clone())),
        ("fiatAmount", item.worth.as_ref().map(|worth| worth.text.clone())),
        ("exchangeRate", item.exchange_rate.clone()),
        ("feeBtc", item.fee.as_ref().map(|fee| fee.text.clone())),
        ("btcTxId", item.btc_tx_id.as_deref().map(text)),
        ("paymentId", item.payment_id.as_deref().map(text)),
        ("payoutId", item.payout_id.as_deref().map(text)),
        ("anomalyId", item.anomaly_id.as_deref().map(text)),
    ])
}

fn total(period: &str, total: &StatementTotal) -> String {
    object([
        (period, Some(text(&total.period))),
        ("btcAmount", Some(total.amount.text.clone())),
        ("fiatAmount", total.worth.as_ref().map(|worth| worth.text.clone())),
        ("feeBtc", Some(total.fee.text.clone())),
    ])
}

/// An object of the members that have a value. Values are JSON text already, so that numbers keep
/// their digits.
fn object<const N: usize>(members: [(&str, Option<String>); N]) -> String {
    let members = members
        .into_iter()
        .filter_map(|(name, json)| json.map(|json| format!(r#""{name}":{json}"#)));
    format!("{{{}}}", members.collect::<Vec<_>>().join(","))
}

fn text(text: &str) -> String {
    Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tillgate_console::settings::GetSetting;

    #[test]
    fn an_answer_without_its_own_form_is_printed_as_received() {
        let view = serde_json::json!({"name": "batchSeconds", "value": "30"});
        let asked = GetSetting { name: "batchSeconds".to_owned() };
        assert_eq!(document(&asked.into(), view.clone()).unwrap(), view.to_string());
    }

    #[test]
    fn a_sentence_is_printed_in_english() {
        let said = serde_json::json!({"code": "DISK_FULL", "values": {"file": "/b"}, "message": "/b is full"});
        let view = serde_json::json!({"ok": false, "checks": [{"name": "disk", "message": said}]});
        let printed =
            serde_json::json!({"ok": false, "checks": [{"name": "disk", "message": "/b is full"}]});
        assert_eq!(
            document(&tillgate_console::Command::Doctor(tillgate_console::doctor::Doctor {}), view)
                .unwrap(),
            printed.to_string()
        );
    }

    #[test]
    fn a_member_without_a_value_is_left_out() {
        let made = object([("a", Some("0.10".to_owned())), ("b", None), ("c", Some(text("q\"")))]);
        assert_eq!(made, r#"{"a":0.10,"c":"q\""}"#);
    }
}
