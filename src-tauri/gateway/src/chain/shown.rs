//! What others wrote, in logs and on screens.

/// More of it helps nobody.
const SHOWN_MAX: usize = 200;

/// Somebody else's words, as far as they are fit for a log and a screen.
pub(super) fn shown(words: &str) -> String {
    let words = words.chars().map(|c| if c.is_whitespace() { ' ' } else { c });
    words.filter(|c| !c.is_control()).take(SHOWN_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_words_are_one_short_line_that_moves_no_cursor() {
        assert_eq!(shown("no\tsuch\r\nthing\u{1b}[2J\u{7}"), "no such  thing[2J");
        assert_eq!(shown(&"ü".repeat(1_000)).chars().count(), SHOWN_MAX);
    }
}
