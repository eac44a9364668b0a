//! The codes and values that `Told` derives.

use std::collections::BTreeMap;

use tillgate_told::{Sentences, Sum, Telling, TellingValue, Time, Told};

const MOST: u32 = 3;

#[derive(Debug, thiserror::Error, Told)]
enum DiskError {
    #[error("the disk is full")]
    Full,
}

#[derive(Debug, thiserror::Error, Told)]
enum SaveError {
    #[error("{path} holds {:?}, more than {MOST}: {cause}", name.trim())]
    Held { path: String, name: String, cause: DiskError },
    #[error("{} is {{wrong}}", .0.to_uppercase())]
    Wrong(String),
    #[error("{} is not {}; {} is {}", .0, .1, .0, .0.to_uppercase())]
    Twice(String, u8),
    #[error(transparent)]
    Disk(#[from] DiskError),
    #[error("{0}")]
    Words(String),
}

#[derive(Debug, thiserror::Error, Told)]
enum BillError {
    #[error("{sum} BTC of {reference} are due until {due}, with a fee of {} BTC", Sum(fee.to_string()))]
    Due { sum: Sum, reference: String, due: Time, fee: u32 },
    #[error("{} BTC at {at}, and {:?}", .sum, .sum, at = Time(at.clone()))]
    Borrowed { sum: Sum, at: String },
    #[error("{0}")]
    Alone(Sum),
}

#[derive(Debug, thiserror::Error, Told)]
#[told(codes = "LORRY")]
enum TruckError {
    #[error("the truck is empty")]
    Empty,
}

fn text(telling: &Telling, name: &str) -> String {
    match &telling.values[name] {
        TellingValue::Text(text) => text.clone(),
        TellingValue::Sum { sum } => format!("sum {sum}"),
        TellingValue::Time { time } => format!("time {time}"),
        TellingValue::Telling(within) => format!("<{}>", within.code),
    }
}

#[test]
fn a_sentence_has_the_code_and_values_of_its_text() {
    let held =
        SaveError::Held { path: "/b".to_owned(), name: " a ".to_owned(), cause: DiskError::Full }
            .telling();
    assert_eq!(held.code, "SAVE_HELD");
    assert_eq!(held.message, "/b holds \"a\", more than 3: the disk is full");
    let values = ["path", "name", "most", "cause"].map(|name| text(&held, name));
    assert_eq!(values, ["/b", "\"a\"", "3", "<DISK_FULL>"]);
    let wrong = SaveError::Wrong("x".to_owned()).telling();
    assert_eq!(text(&wrong, "_0"), "X");
}

#[test]
fn two_values_of_one_field_have_two_names() {
    let twice = SaveError::Twice("x".to_owned(), 7).telling();
    assert_eq!(["_0", "_0_2", "_1"].map(|name| text(&twice, name)), ["x", "X", "7"]);
    assert_eq!(twice.message, "x is not 7; x is X");
}

#[test]
fn a_transparent_error_is_told_as_its_cause() {
    assert_eq!(SaveError::from(DiskError::Full).telling().code, "DISK_FULL");
    assert_eq!(SaveError::Words("as said".to_owned()).telling().code, "SAVE_WORDS");
}

#[test]
fn all_sentences_of_a_type_are_listed_with_their_places() {
    let mut all = Sentences::default();
    SaveError::sentences(&mut all);
    let expected = [
        ("DISK_FULL", "the disk is full"),
        ("SAVE_HELD", "{path} holds {name}, more than {most}: {cause}"),
        ("SAVE_TWICE", "{_0} is not {_1}; {_0} is {_0_2}"),
        ("SAVE_WORDS", "{_0}"),
        ("SAVE_WRONG", "{_0} is {wrong}"),
    ];
    assert_eq!(all.0.into_iter().collect::<Vec<_>>(), expected);
}

fn due() -> Telling {
    let (sum, due) = (Sum("0.50".to_owned()), Time("2026-01-01T00:00:00Z".to_owned()));
    BillError::Due { sum, reference: "29.4".to_owned(), due, fee: 3 }.telling()
}

#[test]
fn a_sum_and_a_time_keep_their_kind_and_a_text_that_looks_like_one_is_a_text() {
    let due = due();
    assert_eq!(
        due.message,
        "0.50 BTC of 29.4 are due until 2026-01-01T00:00:00Z, with a fee of 3 BTC"
    );
    let values = ["sum", "reference", "due", "fee"].map(|name| text(&due, name));
    assert_eq!(values, ["sum 0.50", "29.4", "time 2026-01-01T00:00:00Z", "sum 3"]);
}

#[test]
fn an_expression_keeps_its_kind_and_a_form_makes_a_text() {
    let borrowed =
        BillError::Borrowed { sum: Sum("1.5".to_owned()), at: "12:00".to_owned() }.telling();
    let values = ["sum", "at", "sum_2"].map(|name| text(&borrowed, name));
    assert_eq!(values, ["sum 1.5", "time 12:00", "Sum(\"1.5\")"]);
    let alone = BillError::Alone(Sum("1.5".to_owned())).telling();
    assert_eq!((alone.code.as_str(), text(&alone, "_0").as_str()), ("BILL_ALONE", "sum 1.5"));
}

#[test]
fn the_values_are_read_again_as_they_were_written() {
    let nested = Telling {
        values: BTreeMap::from([("why".to_owned(), TellingValue::Telling(Box::new(due())))]),
        ..due()
    };
    let written = serde_json::to_value(&nested).unwrap();
    let within = &written["values"]["why"]["values"];
    assert_eq!(within["sum"], serde_json::json!({ "sum": "0.50" }));
    assert_eq!(within["due"], serde_json::json!({ "time": "2026-01-01T00:00:00Z" }));
    assert_eq!(within["reference"], "29.4");
    assert_eq!(serde_json::from_value::<Telling>(written).unwrap(), nested);
}

#[test]
fn a_row_from_before_sums_had_a_kind_is_read() {
    let row = r#"{ "code": "WAITS_TURN", "values": { "at": "2026-01-01T00:00:00Z" }, "message": "it waits" }"#;
    assert_eq!(text(&serde_json::from_str(row).unwrap(), "at"), "2026-01-01T00:00:00Z");
}

#[test]
fn a_type_can_name_its_codes() {
    assert_eq!(TruckError::Empty.telling().code, "LORRY_EMPTY");
}
