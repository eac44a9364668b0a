//! Texts of other people, made harmless for a line that somebody reads.

/// The text with its invisible characters escaped (`\u{202e}`), because they could move the cursor
/// or reorder the line.
#[must_use]
pub fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for character in text.chars() {
        if is_invisible(character) {
            plain.extend(character.escape_default());
        } else {
            plain.push(character);
        }
    }
    plain
}

/// Control characters, line and paragraph separators, and the marks that change the direction of
/// writing.
fn is_invisible(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_others_cannot_change_the_writing_direction() {
        let text = "pay \u{202e}09.9\u{202c} to \u{2066}me\u{2069}\u{200f}\u{61c}\u{2028}";
        assert_eq!(
            plain(text),
            "pay \\u{202e}09.9\\u{202c} to \\u{2066}me\\u{2069}\\u{200f}\\u{61c}\\u{2028}"
        );
        for ordinary in ["Café Genève", "שלום", "👩‍🚀", "日本"] {
            assert_eq!(plain(ordinary), ordinary);
        }
    }
}
