//! Aligned columns for people. Written by hand, because crates for tables do not print one list in
//! pages of steady widths, and do not escape invisible characters.

use tillgate_domain::plain::plain;

/// How a column is aligned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// Text.
    Left,
    /// Money and counts.
    Right,
}

/// A table of text.
#[derive(Debug)]
pub struct Table {
    columns: Vec<(&'static str, Align)>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// An empty table with these headings.
    pub fn new(columns: &[(&'static str, Align)]) -> Self {
        Self { columns: columns.to_vec(), rows: Vec::new() }
    }

    /// Adds a row, one cell for each column. Control characters are escaped, because text of others
    /// could move the terminal's cursor.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().map(|cell| plain(&cell)).collect());
    }

    /// The table as text; `nothing` if it is empty.
    pub fn render(&self, nothing: &str) -> String {
        self.render_on(nothing, &mut Vec::new())
    }

    /// One page of a longer table. `widths` are the columns' widths so far, empty before the first
    /// page. Only the first page has headings; without rows it is `nothing`.
    pub fn render_on(&self, nothing: &str, widths: &mut Vec<usize>) -> String {
        let is_first = widths.is_empty();
        if self.rows.is_empty() {
            return if is_first { format!("{}\n", nothing) } else { String::new() };
        }
        let headings: Vec<String> =
            self.columns.iter().map(|(heading, _)| (*heading).to_owned()).collect();
        widths.resize(self.columns.len(), 0);
        for row in std::iter::once(&headings).chain(&self.rows) {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.chars().count());
            }
        }
        std::iter::once(&headings)
            .filter(|_| is_first)
            .chain(&self.rows)
            .map(|row| self.line(row, widths))
            .collect()
    }

    fn line(&self, row: &[String], widths: &[usize]) -> String {
        let mut line = String::new();
        for ((cell, width), (_, align)) in row.iter().zip(widths).zip(&self.columns) {
            let gap = " ".repeat(width.saturating_sub(cell.chars().count()));
            let (before, after) = match align {
                Align::Left => ("", gap.as_str()),
                Align::Right => (gap.as_str(), ""),
            };
            line.push_str(before);
            line.push_str(cell);
            line.push_str(after);
            line.push_str("  ");
        }
        format!("{}\n", line.trim_end())
    }
}

/// Names and values, one to a line, the values aligned.
pub fn fields(fields: &[(&str, String)]) -> String {
    let width = fields.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    fields
        .iter()
        .map(|(name, value)| {
            let gap = " ".repeat(width.saturating_sub(name.chars().count()));
            format!("{}\n", format!("{name}{gap}  {}", plain(value)).trim_end())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_aligned_left_and_money_right() {
        let mut table = Table::new(&[("id", Align::Left), ("amount", Align::Right)]);
        table.row(["a".to_owned(), "1.00".to_owned()]);
        table.row(["bcd".to_owned(), "1000.00".to_owned()]);
        assert_eq!(table.render("none"), "id    amount\na       1.00\nbcd  1000.00\n");
    }

    #[test]
    fn a_table_in_pages_has_one_heading_and_steady_columns() {
        let mut widths = Vec::new();
        let mut page = |id: &str| {
            let mut table = Table::new(&[("id", Align::Left), ("amount", Align::Right)]);
            table.row([id.to_owned(), "1.00".to_owned()]);
            table.render_on("none", &mut widths)
        };
        assert_eq!(
            (page("abc"), page("d")),
            ("id   amount\nabc    1.00\n".to_owned(), "d      1.00\n".to_owned())
        );
        assert_eq!(Table::new(&[("id", Align::Left)]).render_on("none", &mut vec![2]), "");
    }

    #[test]
    fn an_empty_table_says_so() {
        assert_eq!(Table::new(&[("id", Align::Left)]).render("No payments."), "No payments.\n");
    }

    #[test]
    fn text_of_others_cannot_move_the_cursor() {
        let mut table = Table::new(&[("message", Align::Left)]);
        table.row(["a\u{1b}[2Jb\nc".to_owned()]);
        assert_eq!(table.render(""), "message\na\\u{1b}[2Jb\\nc\n");
    }

    #[test]
    fn the_values_of_fields_are_aligned() {
        assert_eq!(fields(&[("a", "1".to_owned()), ("long", String::new())]), "a     1\nlong\n");
    }
}
