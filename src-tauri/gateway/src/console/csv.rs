//! Tables as CSV (RFC 4180). A crate for CSV would only replace the line that quotes a cell; the mark of formulas would
//! still be needed.

/// A line of a table, with its end.
pub(crate) fn line(cells: impl IntoIterator<Item = String>) -> String {
    let cells: Vec<String> = cells.into_iter().map(|text| cell(&text)).collect();
    cells.join(",") + "\r\n"
}

/// The text as a cell. An apostrophe marks a text that a spreadsheet would run as a formula; numbers stay numbers.
fn cell(text: &str) -> String {
    let is_number =
        !text.is_empty() && text.trim_start_matches('-').bytes().all(|it| it.is_ascii_digit() || it == b'.');
    let is_formula = !is_number && text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let text = if is_formula { format!("'{text}") } else { text.to_owned() };
    if text.contains(['"', ',', '\r', '\n']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text }
}

#[cfg(test)]
mod tests {
    use super::cell;

    #[test]
    fn cells_are_quoted_and_formulas_are_marked_as_text() {
        for (text, written) in [
            ("", ""),
            ("-0.10000000", "-0.10000000"),
            ("1500", "1500"),
            ("SENT", "SENT"),
            ("a,b", "\"a,b\""),
            ("say \"x\"", "\"say \"\"x\"\"\""),
            ("=1+1", "'=1+1"),
            ("-x", "'-x"),
            ("@SUM(A1)", "'@SUM(A1)"),
            ("+1,2", "\"'+1,2\""),
            ("\ttab", "'\ttab"),
        ] {
            assert_eq!(cell(text), written, "{text:?}");
        }
    }
}
