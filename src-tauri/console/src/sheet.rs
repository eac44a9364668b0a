//! Tables as text: CSV for programs (RFC 4180), and a form for the spreadsheets of a locale. A
//! crate for CSV would only replace the line that quotes a cell.

use fixed_decimal::Decimal;
use icu_decimal::DecimalFormatter;
use icu_locale_core::Locale;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// The first bytes of a table for spreadsheets. Without them Excel takes UTF-8 for the machine's
/// old encoding.
const BYTE_ORDER_MARK: &str = "\u{feff}";

/// Regions whose spreadsheets separate by semicolons although their decimal mark is a point.
const POINTS_AND_SEMICOLONS: [&str; 2] = ["CH", "LI"];

/// The first characters of a formula, in a Latin or an East Asian width.
const FORMULA: [char; 8] = ['=', '+', '-', '@', '＝', '＋', '－', '＠'];

/// A cell of a table.
#[derive(Debug)]
pub enum Cell {
    /// A number with a decimal point: `-0.10000000`.
    Number(String),
    /// Words of a shop or of staff, such as the reference `00123`.
    Text(String),
    /// An id, an address, a time or a word of this program. No spreadsheet takes it for another
    /// value.
    Word(String),
}

/// A whole table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct Table {
    /// The lines, each with its end. The first line has the headings.
    pub text: String,
    /// The number of lines below the headings.
    pub rows: u32,
}

/// How a table is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sheet {
    separator: char,
    decimal_mark: char,
    is_for_people: bool,
}

impl Sheet {
    /// CSV for programs.
    const CSV: Self = Self { separator: ',', decimal_mark: '.', is_for_people: false };

    /// A table for the spreadsheets of a locale such as `de-AT`; CSV without a locale.
    pub fn for_locale(locale: Option<&str>) -> Self {
        let Some(tag) = locale else { return Self::CSV };
        let locale = Locale::try_from_str(tag).unwrap_or(Locale::UNKNOWN);
        let region = locale.id.region;
        let has_comma = has_decimal_comma(locale);
        let has_semicolon =
            has_comma || region.is_some_and(|it| POINTS_AND_SEMICOLONS.contains(&it.as_str()));
        Self {
            separator: if has_semicolon { ';' } else { ',' },
            decimal_mark: if has_comma { ',' } else { '.' },
            is_for_people: true,
        }
    }

    /// The beginning of the table: the line of headings.
    pub fn heading<S: Into<String>>(self, names: impl IntoIterator<Item = S>) -> String {
        let mark = if self.is_for_people { BYTE_ORDER_MARK } else { "" };
        let names = names.into_iter().map(|name| Cell::Word(name.into()));
        format!("{mark}{}", self.line(names))
    }

    /// A line of the table, with its end.
    pub fn line(self, cells: impl IntoIterator<Item = Cell>) -> String {
        let cells: Vec<String> = cells.into_iter().map(|cell| self.cell(cell)).collect();
        cells.join(&self.separator.to_string()) + "\r\n"
    }

    fn cell(self, cell: Cell) -> String {
        match cell {
            Cell::Number(number) => number.replace('.', &self.decimal_mark.to_string()),
            Cell::Word(word) => self.quoted(word),
            Cell::Text(text) => self.text(&text),
        }
    }

    /// A text that no spreadsheet takes for a formula. Line breaks and tabs become blanks. A
    /// program with the other separator splits the cell, so a formula behind that separator gets an
    /// apostrophe.
    ///
    /// For people a tab stands before a text with a digit, because a spreadsheet would take
    /// `00123`, `1E5` and `MAR-2` for other values. In CSV a plain number stays as it is, and an
    /// apostrophe stands before a formula.
    fn text(self, text: &str) -> String {
        if !self.is_for_people && is_plain_number(text) {
            return text.to_owned();
        }
        let one_line = text.replace(char::is_control, " ");
        let other = if self.separator == ',' { ';' } else { ',' };
        let mut parts = one_line.split(other);
        let first = parts.next().unwrap_or_default();
        let first = match self.is_for_people {
            true if is_formula(first) || text.contains(char::is_numeric) => format!("\t{first}"),
            true => first.to_owned(),
            false => marked(first),
        };
        let parts: Vec<String> = std::iter::once(first).chain(parts.map(marked)).collect();
        self.quoted(parts.join(&other.to_string()))
    }

    /// The text in quotes where its characters need them.
    fn quoted(self, text: String) -> String {
        if text.contains(['"', ',', ';', '\t']) {
            format!("\"{}\"", text.replace('"', "\"\""))
        } else {
            text
        }
    }
}

/// Whether a locale writes 0.5 with a comma.
fn has_decimal_comma(locale: Locale) -> bool {
    match (
        Decimal::try_from_str("0.5"),
        DecimalFormatter::try_new(locale.into(), Default::default()),
    ) {
        (Ok(half), Ok(formatter)) => formatter.format(&half).to_string().contains(','),
        (Err(_), _) | (_, Err(_)) => false,
    }
}

fn is_plain_number(text: &str) -> bool {
    !text.is_empty()
        && text.trim_start_matches('-').bytes().all(|it| it.is_ascii_digit() || it == b'.')
}

fn is_formula(text: &str) -> bool {
    text.trim_start_matches([' ', '"']).starts_with(FORMULA)
}

/// A part of a text, with an apostrophe before a formula.
fn marked(part: &str) -> String {
    if is_formula(part) { format!("'{part}") } else { part.to_owned() }
}

#[cfg(test)]
mod tests;
