//! The stored form of a sentence: JSON with its code and values. A row of an older version holds
//! the English text alone.

use tillgate_told::Telling;

/// The sentence as a column holds it.
pub(super) fn written(telling: &Telling) -> String {
    serde_json::to_string(telling).unwrap_or_else(|_| telling.message.clone())
}

/// The sentence of a column.
pub(super) fn from_column(column: String) -> Telling {
    serde_json::from_str(&column).unwrap_or_else(|_| Telling::of_text(column))
}

#[cfg(test)]
mod tests {
    use tillgate_machine::field_errors::Fault;
    use tillgate_told::Told as _;

    use super::*;

    #[test]
    fn a_sentence_is_read_as_it_was_written_and_an_old_text_stays() {
        let telling = Fault::TooManyCharacters { most: 12 }.telling();
        assert_eq!(from_column(written(&telling)), telling);
        assert_eq!(
            from_column("it was cancelled by staff".to_owned()),
            Telling::of_text("it was cancelled by staff")
        );
    }
}
