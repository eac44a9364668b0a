//! Makes a stranger's text safe for logs and screens.

const LINE_MAX: usize = 200;

/// A stranger's text as one short line. Quotation marks and backticks become apostrophes, so the
/// text cannot end a quotation or look like a command of ours.
pub fn sanitized(words: &str) -> String {
    let mut words =
        words.chars().filter(|c| c.is_whitespace() || !c.is_control()).map(|c| match c {
            '"' | '`' => '\'',
            c if c.is_whitespace() => ' ',
            c => c,
        });
    let mut line: String = words.by_ref().take(LINE_MAX).collect();
    if words.next().is_some() {
        line.pop();
        line.push('…');
    }
    line
}

/// The same between quotation marks.
pub fn quoted(words: &str) -> String {
    format!("\"{}\"", sanitized(words))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_strangers_text_becomes_one_line_without_control_codes() {
        assert_eq!(sanitized("no\tsuch\r\nthing\u{1b}[2J\u{7}"), "no such  thing[2J");
        assert_eq!(sanitized(&"ü".repeat(LINE_MAX)), "ü".repeat(LINE_MAX));
        let long = sanitized(&"ü".repeat(1_000));
        assert!(long.chars().count() == LINE_MAX && long.ends_with("ü…"), "{long}");
    }

    #[test]
    fn a_strangers_text_cannot_look_like_our_command() {
        let words = "busy\"; `tillgate payouts release` lets it go on";
        assert_eq!(quoted(words), "\"busy'; 'tillgate payouts release' lets it go on\"");
        assert_eq!(quoted(&sanitized(words)), quoted(words));
    }
}
