//! The takings of a period as a table, with the taxes of each part.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use tillgate_domain::money::Currency;
use tillgate_domain::sale::SalesTaxes;
use tillgate_gateway::books::{self, PartBooks};
use ts_rs::TS;

use super::ask::{Ask, Asker};
use super::books::bounds;
use super::btc::BtcView;
use super::error::CommandError;
use super::refusal::ArgumentFault;
use super::sheet::{Cell, Sheet, Table};
use super::statement::moment;

/// Asks for the takings of consecutive periods as a table, with a line for each period and
/// currency.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct BooksSheet {
    /// The beginning of each period, the oldest first, and then the end of the last period, in
    /// milliseconds since 1970.
    #[ts(type = "Array<number>")]
    pub bounds: Vec<i64>,
    /// The first day of each period, such as `2026-01-12`. The gateway knows no time zone.
    pub days: Vec<String>,
    /// The locale whose spreadsheets read the table, such as `de-AT`; absent for plain CSV.
    #[serde(default)]
    pub locale: Option<String>,
}

impl Ask for BooksSheet {
    type Answer = Table;

    async fn answer(self, by: &Asker<'_>) -> Result<Table, CommandError> {
        let bounds = bounds(self.bounds)?;
        let days = dates(self.days, bounds.periods().count())?;
        let sheet = Sheet::for_locale(self.locale.as_deref());
        by.read(move |_, reader| Ok(table(sheet, &days, &books::by_part(reader, &bounds)?))).await
    }
}

/// Days in the form `2026-01-12`, one for each period.
fn dates(days: Vec<String>, count: usize) -> Result<Vec<String>, CommandError> {
    if days.len() != count {
        let fault = ArgumentFault::Entries { least: count, most: count };
        return Err(CommandError::invalid("days", &fault));
    }
    for day in &days {
        let midnight = format!("{day}T00:00:00Z");
        moment("days", Some(&midnight))?;
    }
    Ok(days)
}

fn table(sheet: Sheet, days: &[String], books: &[PartBooks]) -> Table {
    let rates: BTreeSet<u16> = books
        .iter()
        .flat_map(|one| &one.parts)
        .flat_map(|(_, taxes)| taxes.by_rate().map(|taxed| taxed.per_mille))
        .collect();
    let of_rate =
        |rate: &u16| ["net", "tax", "gross"].map(|sum| format!("{sum} {}%", shown(*rate)));
    let fixed = ["from", "currency", "payments", "price", "btcPaid"].map(str::to_owned);
    let last = ["withoutTaxRate", "withoutLines"].map(str::to_owned);
    let mut text =
        sheet.heading(fixed.into_iter().chain(rates.iter().flat_map(of_rate)).chain(last));
    let mut rows = 0;
    for one in books {
        for (day, (row, taxes)) in days.iter().zip(&one.parts) {
            if row.payments == 0 {
                continue;
            }
            let sum = |minor| Cell::Number(one.currency.format_minor(minor));
            let without_lines = books::without_lines_minor(row, taxes);
            let fixed = [
                Cell::Word(day.clone()),
                Cell::Word(one.currency.code().to_owned()),
                Cell::Number(row.payments.to_string()),
                sum(row.price_minor),
                Cell::Number(BtcView::from_sats(row.paid_sats).text),
            ];
            let taxed = rates.iter().flat_map(|rate| cells(taxes, *rate, one.currency));
            let last = [sum(taxes.untaxed_minor()), sum(without_lines)];
            text.push_str(&sheet.line(fixed.into_iter().chain(taxed).chain(last)));
            rows += 1;
        }
    }
    Table { text, rows }
}

/// The net sum, the tax and the gross sum of a rate.
fn cells(taxes: &SalesTaxes, rate: u16, currency: Currency) -> [Cell; 3] {
    let found = taxes.by_rate().find(|taxed| taxed.per_mille == rate);
    let sums = found.map_or([0; 3], |it| [it.net_minor, it.tax_minor, it.gross_minor]);
    sums.map(|minor| Cell::Number(currency.format_minor(minor)))
}

/// A rate per mille in percent: `7` or `5.5`.
fn shown(per_mille: u16) -> String {
    match per_mille % 10 {
        0 => (per_mille / 10).to_string(),
        tenths => format!("{}.{tenths}", per_mille / 10),
    }
}
