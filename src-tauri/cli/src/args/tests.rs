//! Command lines parse to the right commands, and wrong ones are refused.

use clap::{CommandFactory as _, Parser as _};
use tillgate_console::Command;
use tillgate_console::anomalies::RefundAnomaly;
use tillgate_console::keys::CreateKey;
use tillgate_console::limits::SetLimits;
use tillgate_console::payments::{CancelPayment, ListPayments, PaymentsNarrowing};
use tillgate_console::payouts::{
    AbandonPayout, ApprovePayout, BumpPayout, ListPayouts, RejectPayout, ReleaseSender, SendPayout,
};
use tillgate_console::settings::{ChangeSettings, SetSetting, SettingChange};
use tillgate_console::status::Status;
use tillgate_domain::payment::PaymentState;
use tillgate_domain::payout::PayoutState;

use super::{Form, Meaning, Tillgate};

fn parse(line: &str) -> Result<Command, clap::Error> {
    let words = std::iter::once("tillgate").chain(line.split(' '));
    match Tillgate::try_parse_from(words).and_then(Tillgate::checked)?.act.meaning() {
        Meaning::Ask(command) => Ok(command),
        Meaning::Serve(_) | Meaning::Restore(_) => panic!("{line} sends no command to a gateway"),
    }
}

#[test]
fn clap_finds_no_fault_in_the_grammar() {
    Tillgate::command().debug_assert();
}

#[test]
fn a_line_parses_to_its_command() {
    assert_eq!(parse("status --json").unwrap(), Status {}.into());
    assert_eq!(
        parse("keys create till --permissions full --notification-url-optional").unwrap(),
        CreateKey {
            name: "till".to_owned(),
            permissions: "full".to_owned(),
            notification_url_optional: true,
            own: false,
            notify_hosts: Vec::new()
        }
        .into()
    );
    assert_eq!(
        parse("keys create shop --own --notify-host a.example --notify-host b.example").unwrap(),
        CreateKey {
            name: "shop".to_owned(),
            permissions: "shop".to_owned(),
            notification_url_optional: false,
            own: true,
            notify_hosts: vec!["a.example".to_owned(), "b.example".to_owned()]
        }
        .into()
    );
    assert_eq!(
        parse("payments list --status NEW --status UNDERPAID --limit 3").unwrap(),
        ListPayments {
            limit: 3,
            offset: 0,
            narrowing: PaymentsNarrowing {
                states: vec![PaymentState::New, PaymentState::Underpaid],
                ..PaymentsNarrowing::default()
            }
        }
        .into()
    );
    assert_eq!(
        parse("settings set tolerancePerMille -1").unwrap(),
        SetSetting { name: "tolerancePerMille".to_owned(), value: "-1".to_owned() }.into(),
        "-1 parses; the settings table refuses it, with the bounds"
    );
}

#[test]
fn set_takes_a_name_and_a_value_or_several_pairs() {
    let pair = |name: &str, value: &str| SettingChange {
        name: name.to_owned(),
        value: Some(value.to_owned()),
    };
    for (line, changes) in [
        ("settings set batchSeconds=7", vec![pair("batchSeconds", "7")]),
        (
            "settings set backend=core backendUrl=https://a.example/?x=y",
            vec![pair("backend", "core"), pair("backendUrl", "https://a.example/?x=y")],
        ),
        (
            "settings set proxy= batchSeconds=-1",
            vec![pair("proxy", ""), pair("batchSeconds", "-1")],
        ),
    ] {
        assert_eq!(parse(line).unwrap(), ChangeSettings { changes }.into(), "{line}");
    }
    let one = SetSetting { name: "merchantName".to_owned(), value: "a=b".to_owned() };
    assert_eq!(parse("settings set merchantName a=b").unwrap(), one.into());
    for line in [
        "settings set",
        "settings set batchSeconds",
        "settings set batchSeconds 7 8",
        "settings set backend=core backendUrl",
        "settings set merchantName x merchantColor=#123456",
    ] {
        assert_eq!(parse(line).unwrap_err().exit_code(), 2, "{line}");
    }
}

#[test]
fn a_password_as_an_argument_is_refused_and_not_repeated() {
    for line in [
        "settings set backendPassword hunter2",
        "settings set backendPassword=hunter2",
        "settings set backendPassword=",
        "settings set backendUser=bob backendPassword=hunter2",
        "settings set backendPassword=hunter2 backendUser=bob",
        "settings set backendUser=bob backendUrl=http://a.example:1 backendPassword=hunter2",
    ] {
        let refused = parse(line).unwrap_err();
        let told = refused.to_string();
        assert_eq!(refused.exit_code(), 2, "{line}");
        assert!(told.contains("standard input") && !told.contains("hunter2"), "{told}");
    }
    for line in ["settings set backendPassword -", "settings set backendUser=bob backendPassword=-"]
    {
        parse(line).unwrap();
    }
    let name =
        SetSetting { name: "merchantName".to_owned(), value: "backendPassword=a".to_owned() };
    assert_eq!(parse("settings set merchantName backendPassword=a").unwrap(), name.into());
}

#[test]
fn a_line_about_payouts_parses_to_its_command() {
    let id = || "ab".to_owned();
    for (line, command) in [
        ("payouts approve ab", ApprovePayout { payout_id: id() }.into()),
        ("payouts reject ab", RejectPayout { payout_id: id(), reason: String::new() }.into()),
        (
            "payouts reject ab --reason dear",
            RejectPayout { payout_id: id(), reason: "dear".to_owned() }.into(),
        ),
        ("payments cancel ab", CancelPayment { payment_id: id() }.into()),
        (
            "payouts send ab --fee-rate 250 --force",
            SendPayout { payout_id: id(), fee_rate: 250, force: true, fee_at_most_sats: None }
                .into(),
        ),
        (
            "payouts bump ab",
            BumpPayout { payout_id: id(), fee_rate: None, force: false, fee_at_most_sats: None }
                .into(),
        ),
        (
            "payouts bump ab --fee-rate 12 --force",
            BumpPayout { payout_id: id(), fee_rate: Some(12), force: true, fee_at_most_sats: None }
                .into(),
        ),
        (
            "payouts abandon ab",
            AbandonPayout { payout_id: id(), all: false, fee_at_most_sats: None }.into(),
        ),
        (
            "payouts abandon ab --all",
            AbandonPayout { payout_id: id(), all: true, fee_at_most_sats: None }.into(),
        ),
        ("payouts release", ReleaseSender { reason: None, force: false }.into()),
        (
            "payouts release --reason twins --force",
            ReleaseSender { reason: Some("twins".to_owned()), force: true }.into(),
        ),
        (
            "payouts list --status NEW --limit 3",
            ListPayouts { limit: 3, offset: 0, states: vec![PayoutState::New], search: None }
                .into(),
        ),
        (
            "anomalies refund ab --address bc1q --currency EUR",
            RefundAnomaly {
                anomaly_id: id(),
                address: "bc1q".to_owned(),
                currency: Some("EUR".to_owned()),
                approve: false,
                although_paid: false,
            }
            .into(),
        ),
        (
            "limits set --daily 0.5",
            SetLimits { daily_btc: Some("0.5".to_owned()), minimum_btc: None }.into(),
        ),
    ] as [(&str, Command); 14]
    {
        assert_eq!(parse(line).unwrap(), command, "{line}");
    }
}

#[test]
fn json_and_format_choose_the_form_of_the_answer() {
    for (line, form) in [
        ("statement --currency USD", Form::Text),
        ("statement --currency USD --json", Form::Json),
        ("statement --currency USD --format json", Form::Json),
        ("statement --currency USD --format csv", Form::Table),
        ("statement --currency USD --format spreadsheet", Form::Table),
        ("payments list --format csv", Form::Table),
        ("payments list --format spreadsheet", Form::Table),
        ("payouts list", Form::Text),
        ("payouts list --json", Form::Json),
    ] {
        let words = std::iter::once("tillgate").chain(line.split(' '));
        assert_eq!(Tillgate::try_parse_from(words).unwrap().form(), form, "{line}");
    }
}

#[test]
fn a_logo_is_read_from_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("logo");
    std::fs::write(&file, b"\x89PNG\r\n\x1a\n").unwrap();
    let line = format!("settings set merchantLogo --file {}", file.display());
    let value = "data:image/png;base64,iVBORw0KGgo=".to_owned();
    assert_eq!(parse(&line).unwrap(), SetSetting { name: "merchantLogo".to_owned(), value }.into());
    let missing = format!("{line}.missing");
    for line in [&missing, "settings set merchantLogo", "settings set merchantLogo x --file y"] {
        assert_eq!(parse(line).unwrap_err().exit_code(), 2, "{line}");
    }
}

#[test]
fn wrong_usage_is_refused_by_the_grammar() {
    for line in [
        "keys",
        "keys create",
        "anomalies dismiss abc",
        "payments list --limit 501",
        "payments list --limit 5 --format csv",
        "payments list --status PAID",
        "payouts request --address a --currency USD",
        "payouts request --address a --currency USD --btc 1 --fiat 2",
        "payouts bump ab --fee-rate 0",
        "payouts send ab",
        "payouts send ab --fee-rate 0",
        "payouts send ab --fee-rate 10001",
        "payouts send ab --fee-rate 1.5",
        "payouts list --status PAID",
        "limits set",
        "anomalies refund ab",
        "statement",
        "statement --currency USD --format xml",
        "nonsense",
        "serve -x",
    ] {
        assert_eq!(parse(line).unwrap_err().exit_code(), 2, "{line}");
    }
}

#[test]
fn a_table_together_with_json_is_wrong_usage() {
    let line = |line: &str| {
        let words = std::iter::once("tillgate").chain(line.split(' '));
        Tillgate::try_parse_from(words).and_then(Tillgate::checked).map(|line| line.form())
    };
    for words in [
        "statement --currency USD --format csv --json",
        "payments list --format spreadsheet --json",
    ] {
        let refusal = line(words).unwrap_err();
        assert_eq!(
            (refusal.exit_code(), refusal.kind()),
            (2, clap::error::ErrorKind::ArgumentConflict),
            "{words}"
        );
    }
    assert_eq!(line("statement --currency USD --format json --json").unwrap(), Form::Json);
}
