//! The codes and values that `Told` derives.
#![allow(missing_docs)]

use tillgate_told::{Sentences, Telling, TellingValue, Told};

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

fn text(telling: &Telling, name: &str) -> String {
    match &telling.values[name] {
        TellingValue::Text(text) => text.clone(),
        TellingValue::Telling(within) => format!("<{}>", within.code),
    }
}

#[test]
fn a_sentence_has_the_code_and_values_of_its_text() {
    let held = SaveError::Held { path: "/b".to_owned(), name: " a ".to_owned(), cause: DiskError::Full }.telling();
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
