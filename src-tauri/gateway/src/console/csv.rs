//! Tables as CSV (RFC 4180). A crate for CSV would only replace the line that quotes a cell; the mark of formulas would
//! still be needed.

/// A line of a table, with its end.
pub(crate) fn line(cells: impl IntoIterator<Item = String>) -> String {
    let cells: Vec<String> = cells.into_iter().map(|text| cell(&text)).collect();
    cells.join(",") + "\r\n"
}

/// The first characters of a formula, in a Latin or an East Asian width.
const FORMULA: [char; 8] = ['=', '+', '-', '@', '＝', '＋', '－', '＠'];

/// The text as a cell. An apostrophe marks a text that a spreadsheet would run as a formula; numbers stay numbers. Line
/// breaks and tabs become blanks. Many spreadsheets split a line at each `;`, so the text after one is marked too.
fn cell(text: &str) -> String {
    let is_number =
        !text.is_empty() && text.trim_start_matches('-').bytes().all(|it| it.is_ascii_digit() || it == b'.');
    if is_number {
        return text.to_owned();
    }
    let one_line = text.replace(char::is_control, " ");
    let text = one_line.split(';').map(marked).collect::<Vec<_>>().join(";");
    if text.contains(['"', ',', ';']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text }
}

/// A part of a text, with an apostrophe before a formula.
fn marked(part: &str) -> String {
    let bare = part.trim_start_matches([' ', '"']);
    if bare.starts_with(FORMULA) { format!("'{part}") } else { part.to_owned() }
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
            ("\t=1", "' =1"),
            ("A-17;=1+1;b", "\"A-17;'=1+1;b\""),
            ("B-18\r\n=cmd", "B-18  =cmd"),
            ("A; \"-1", "\"A;' \"\"-1\""),
            ("＝1", "'＝1"),
        ] {
            assert_eq!(cell(text), written, "{text:?}");
        }
    }
}
