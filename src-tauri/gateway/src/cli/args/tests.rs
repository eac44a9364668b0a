//! What a line of words means.

use clap::{CommandFactory as _, Parser as _};
use tillgate_domain::payment::PaymentState;

use super::{Meaning, Tillgate};
use crate::console::Command;
use crate::console::keys::CreateKey;
use crate::console::payments::ListPayments;
use crate::console::settings::SetSetting;
use crate::console::status::Status;

fn parse(line: &str) -> Result<Command, clap::Error> {
    let words = std::iter::once("tillgate").chain(line.split(' '));
    match Tillgate::try_parse_from(words)?.act.meaning() {
        Meaning::Ask(command) => Ok(command),
        Meaning::Serve(_) => panic!("{line} serves"),
    }
}

#[test]
fn the_grammar_is_sound() {
    Tillgate::command().debug_assert();
}

#[test]
fn a_line_means_its_command() {
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
            states: vec![PaymentState::New.into(), PaymentState::Underpaid.into()],
            search: None
        }
        .into()
    );
    assert_eq!(
        parse("settings set tolerancePerMille -1").unwrap(),
        SetSetting { name: "tolerancePerMille".to_owned(), value: "-1".to_owned() }.into(),
        "the table refuses it with the bounds"
    );
}

#[test]
fn a_logo_is_taken_from_a_file() {
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
        "payments list --status PAID",
        "nonsense",
        "serve -x",
    ] {
        assert_eq!(parse(line).unwrap_err().exit_code(), 2, "{line}");
    }
}
