//! Tests of the details of a [`CommandError`].

use super::*;

#[test]
fn sqlites_message_is_in_the_details_and_the_displayed_error() {
    let error = CommandError::from(StoreError::Sqlite(rusqlite::Error::InvalidQuery));
    assert!(!error.message.contains("query"), "{}", error.message);
    assert_eq!(error.details.as_deref(), Some("Query is not read-only"));
    assert!(error.to_string().ends_with("try again (Query is not read-only)"), "{error}");
}
