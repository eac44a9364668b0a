//! Views are printed as text for people. `INSTA_UPDATE=always cargo test` writes changed texts into
//! `snapshots/`.

use insta::assert_snapshot;
use serde_json::{Value, json};
use tillgate_console::doctor::Doctor;
use tillgate_console::keys::{ListKeys, RevokeKey};
use tillgate_console::payments::{ListPayments, ShowPayment};
use tillgate_console::settings::{GetSetting, ListSettings, SetSetting};
use tillgate_console::status::Status;

use super::render;

/// A sum in a view: `text` for programs, `shown` for people.
fn sum(text: &str, shown: &str) -> Value {
    json!({"sats": 0, "minor": 0, "text": text, "shown": shown, "currency": "USD"})
}

/// A payment with the price 80,000 USD, as a list shows it.
fn listed_payment(why_invalid: &str) -> Value {
    json!({"paymentId": "c80af47a", "state": "INVALID", "amount": sum("1.23076924", "1.23076924"),
        "paid": sum("1234.50000000", "1,234.50000000"), "label": "shop",
        "message": "", "merchantTransactionId": "1", "creationTime": "2026-01-12T12:06:20Z",
        "expirationTime": "2026-01-12T12:36:20Z", "openAnomalies": 1, "price": sum("80000.00", "80,000.00"),
        "paidWorth": sum("80242500.00", "80,242,500.00"), "differenceWorth": sum("80162500.00", "80,162,500.00"),
        "whyInvalid": why_invalid, "confirmations": 0,
        "confirmationsWanted": 1})
}

/// [`listed_payment`] with all its fields.
fn payment_view(why_invalid: &str, still_due: Value, overpaid_by: Value) -> Value {
    let mut view = listed_payment(why_invalid);
    let rest = json!({"address": "bcrt1q", "addressIndex": 7, "addressPath": "m/84'/1'/0'/0/7",
        "exchangeRate": "65000.0000", "paymentAddress": "bitcoin:bcrt1q",
        "paymentPageUrl": "http://127.0.0.1/pay/c80af47a", "stillDue": still_due,
        "overpaidBy": overpaid_by,
        "exchangeRateShown": "65,000", "qrSvg": "", "paymentTime": null,
        "notificationUrl": null, "anomalyNotificationUrl": null, "acceptance": null, "sandboxAmounts": null,
        "transactions": [], "deliveries": [], "anomalies": [],
        "history": [{"time": "2026-01-12T12:40:20.000Z", "from": "UNDERPAID", "to": "INVALID",
            "paid": sum("1.00000000", "1.00000000"), "cause": "time", "whyInvalid": why_invalid}]});
    view.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
    view
}

/// The line that begins with this name.
fn line<'a>(text: &'a str, name: &str) -> &'a str {
    text.lines()
        .find(|line| line.starts_with(name))
        .unwrap_or_else(|| panic!("no line {name} in {text}"))
}

#[test]
fn an_invalid_payment_says_why() {
    for (why, said) in [
        ("SHORT_PAID", "INVALID (Short paid)"),
        ("OVERPAID", "INVALID (Overpaid)"),
        ("REVERSED", "INVALID (Reversed)"),
        ("WITHDRAWN", "INVALID (Coins withdrawn)"),
    ] {
        let list = ListPayments { limit: 10, ..ListPayments::default() };
        let text =
            render(&list.into(), json!({"items": [listed_payment(why)], "itemsCount": 1})).unwrap();
        assert!(text.contains(said), "{text}");
        let show = ShowPayment { payment_id: "c80af47a".to_owned() };
        let text =
            render(&show.into(), payment_view(why, sum("0.10000000", "0.10000000"), Value::Null))
                .unwrap();
        assert!(line(&text, "state").ends_with(said), "{text}");
        assert!(line(&text, "2026-01-12T12:40:20.000Z").contains(said), "{text}");
    }
}

#[test]
fn sums_have_separators_and_a_surplus_is_not_negative() {
    let show = || ShowPayment { payment_id: "c80af47a".to_owned() }.into();
    let surplus = sum("1233.26923076", "1,233.26923076");
    let overpaid = render(&show(), payment_view("OVERPAID", Value::Null, surplus)).unwrap();
    assert_snapshot!("overpaid_payment", overpaid);
    let rest = sum("0.10000000", "0.10000000");
    let short = render(&show(), payment_view("SHORT_PAID", rest, Value::Null)).unwrap();
    assert_snapshot!("short_paid_payment", short);
}

/// A sentence as a view holds it.
fn said(message: &str) -> Value {
    json!({"code": "", "values": {}, "message": message})
}

/// A status without problems: the gateway serves, and its sandbox was looked at.
fn status_view() -> Value {
    json!({"environment": "test", "version": "1", "serving": true, "api": null, "pages": null,
        "clock": "2026-01-12T12:06:20.000Z", "backend": {"kind": "sandbox", "servers": [], "zmq": null},
        "chainHeight": 7, "chainLookedAt": "2026-01-12T12:06:19.000Z", "chainError": null, "rates": [], "rateSources": [],
        "openPayments": 0, "openAnomalies": 0, "waitingNotifications": 0, "hmacKey": true, "sandbox": true,
        "hasWallet": true, "secrets": "keyring", "warnings": [], "currencies": [], "openReversals": 0,
        "failingNotifications": 0, "failingServers": [], "offersWaiting": 0, "payoutsQueued": 0, "senderWaitsFor": null,
        "senderWaitCause": null, "senderHold": null, "balance": sum("0.00000000", "0.00000000")})
}

/// The text of [`status_view`] with these members replaced.
fn status_with(told: Value) -> String {
    let mut view = status_view();
    view.as_object_mut().unwrap().extend(told.as_object().unwrap().clone());
    render(&Status {}.into(), view).unwrap()
}

#[test]
fn the_status_says_whether_the_chain_is_watched() {
    assert_snapshot!("status", status_with(json!({})));
    for (name, told) in [
        ("status_without_wallet", json!({"hasWallet": false})),
        ("status_not_served", json!({"serving": false})),
        ("status_never_served", json!({"serving": false, "chainLookedAt": null, "chainHeight": 0})),
        (
            "status_without_backend",
            json!({"serving": false, "chainLookedAt": null, "backend": null, "sandbox": false}),
        ),
    ] {
        assert_snapshot!(name, status_with(told));
    }
}

#[test]
fn the_status_names_the_servers_that_show_the_chain() {
    let backend = |kind: &str, servers: Value, zmq: Value| {
        let text = status_with(
            json!({"backend": {"kind": kind, "servers": servers, "zmq": zmq}, "sandbox": false}),
        );
        line(&text, "backend").to_owned()
    };
    let told = backend("core", json!(["127.0.0.1:8332"]), Value::Null);
    assert!(told.ends_with("Bitcoin Core at 127.0.0.1:8332, without ZMQ"), "{told}");
    let told = backend("core", json!(["127.0.0.1:8332"]), json!("127.0.0.1:28332"));
    assert!(
        told.ends_with("Bitcoin Core at 127.0.0.1:8332, notifies by ZMQ at 127.0.0.1:28332"),
        "{told}"
    );
    let told = backend("electrum", json!(["a.example:50002", "b.example:50002"]), Value::Null);
    assert!(told.ends_with("Electrum at a.example:50002, then b.example:50002"), "{told}");
}

#[test]
fn the_status_shows_reversals_failures_and_waiting_payouts() {
    let text = status_with(json!({
        "rates": [{"currency": "USD", "rate": "65000.0000", "fresh": true, "shown": "65,000"}],
        "rateSources": [{"name": "kraken", "answeredAt": "2026-01-12T12:06:02Z", "ageSeconds": 18},
            {"name": "mempool", "error": said("the server answered 502")}],
        "openReversals": 2, "failingNotifications": 5, "failingServers": ["a.example", "b.example:8443"],
        "offersWaiting": 3, "payoutsQueued": 1, "senderWaitsFor": said("the network asks for 300 sat/vB"),
        "senderWaitCause": "FEES", "balance": sum("0.50000000", "0.50000000")}));
    assert_snapshot!("status_with_troubles", text);
}

#[test]
fn the_status_says_why_payouts_wait_if_any_wait() {
    let told = |told: Value| {
        let text = status_with(told);
        assert!(!text.contains("wait for"), "{text}");
        line(&text, "payouts to send").trim_end().to_owned()
    };
    assert!(told(json!({})).ends_with(" 0"));
    assert!(
        told(json!({"payoutsQueued": 2}))
            .ends_with("2: each is sent in its turn, or once a node accepts its transaction")
    );
    assert!(
        told(json!({"payoutsQueued": 2, "serving": false})).ends_with("2: see the line “sender”")
    );
    let held = json!({"payoutsQueued": 2, "senderHold": said("a copy"), "senderWaitsFor": said("a copy"), "senderWaitCause": "HOLD"});
    assert!(told(held).ends_with("2: see the line “sender”"));
}

#[test]
fn a_list_shows_the_number_of_all_items() {
    let item = json!({"name": "shop", "permissions": ["payments.read"], "notificationUrlOptional": false,
        "own": true, "notifyHosts": ["a.example", "b.example"], "created": "2026-01-12T12:06:20Z", "revoked": null});
    let list = |view: Value| render(&ListKeys {}.into(), view).unwrap();
    assert_snapshot!("keys", list(json!({"items": [item], "itemsCount": 3})));
    assert_snapshot!("no_keys", list(json!({"items": [], "itemsCount": 0})));
}

#[test]
fn revoking_a_key_names_its_payouts_and_how_to_find_them() {
    let revoked = |payouts_new: u64, payouts_queued: u64| {
        let view = json!({"name": "till", "permissions": ["payouts.create"], "notificationUrlOptional": false, "own": true,
            "notifyHosts": [], "created": "2026-01-12T12:06:20Z", "revoked": "2026-01-12T12:07:20Z",
            "payoutsNew": payouts_new, "payoutsQueued": payouts_queued});
        render(&RevokeKey { name: "till".to_owned() }.into(), view).unwrap()
    };
    assert_eq!(revoked(0, 0), "The key till is revoked: it is refused from now on.\n");
    assert_snapshot!("revoked_key_with_payouts", revoked(1, 2));
}

#[test]
fn the_doctor_marks_failed_checks() {
    let view = json!({"ok": false, "checks": [
        {"name": "disk", "ok": true, "message": "fine"}, {"name": "ports", "ok": false, "message": "in use"}]});
    assert_snapshot!("doctor", render(&Doctor {}.into(), view).unwrap());
}

#[test]
fn a_view_that_does_not_parse_is_an_error() {
    assert!(render(&Status {}.into(), json!({"environment": "test"})).is_err());
}

#[test]
fn a_logo_is_shortened_in_lists_and_whole_when_asked_for() {
    let value = format!("data:image/png;base64,{}", "A".repeat(40_000));
    let view = json!({"name": "merchantLogo", "value": value, "default": "", "about": "The logo."});
    let name = || "merchantLogo".to_owned();
    let set = SetSetting { name: name(), value: value.clone() };
    let text = render(&set.into(), view.clone()).unwrap();
    assert!(
        text.starts_with("merchantLogo = data:image/png;base64,AAA") && text.len() < 80,
        "{text}"
    );
    let hosts = format!("{}.example", "a".repeat(60));
    let hosts_view =
        json!({"name": "allowedHosts", "value": hosts, "default": "", "about": "Names."});
    let set = SetSetting { name: "allowedHosts".to_owned(), value: hosts.clone() };
    assert_eq!(
        render(&set.into(), hosts_view).unwrap(),
        format!("allowedHosts = {hosts}\n"),
        "only an image is shortened"
    );
    let get = GetSetting { name: name() };
    assert_eq!(render(&get.into(), view).unwrap(), format!("{value}\n"));
}

#[test]
fn a_stored_password_does_not_look_unset() {
    let item =
        |name: &str| json!({"name": name, "value": "", "default": "", "about": "What it is."});
    for (is_set, told) in [(true, "(set, not shown)\n"), (false, "(not set)\n")] {
        let mut item = item("backendPassword");
        item["isSet"] = json!(is_set);
        let get = GetSetting { name: "backendPassword".to_owned() };
        assert_eq!(render(&get.into(), item).unwrap(), told);
    }
    let other = SetSetting { name: "publicUrl".to_owned(), value: String::new() };
    assert_eq!(render(&other.into(), item("publicUrl")).unwrap(), "publicUrl = \n");
    let mut stored = item("backendPassword");
    stored["isSet"] = json!(true);
    let list = json!({"items": [stored], "itemsCount": 1});
    assert!(
        line(&render(&ListSettings {}.into(), list).unwrap(), "backendPassword")
            .contains("(set, not shown)")
    );
}
