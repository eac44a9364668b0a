//! What an error says to people.

use super::*;

#[test]
fn what_sqlite_says_stands_in_the_details_and_behind_the_sentence_of_a_command_line() {
    let error = CommandError::from(StoreError::Sqlite(rusqlite::Error::InvalidQuery));
    assert!(!error.message.contains("query"), "{}", error.message);
    assert_eq!(error.details.as_deref(), Some("Query is not read-only"));
    assert!(error.to_string().ends_with("try again (Query is not read-only)"), "{error}");
}
