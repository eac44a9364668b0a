//! The statement as a table.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::ask::{Ask, Asker};
use super::error::CommandError;
use super::sheet::{Cell, Sheet};
use super::statement::{PAGE_MAX, Statement, StatementItem, StatementPlace};

const HEADING: [&str; 11] = [
    "time",
    "kind",
    "btcAmount",
    "currency",
    "fiatAmount",
    "exchangeRate",
    "feeBtc",
    "btcTxId",
    "paymentId",
    "payoutId",
    "anomalyId",
];

/// Asks for a page of the statement as a table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct StatementSheet {
    /// The page of the statement; 5000 rows if it has no limit.
    #[serde(flatten)]
    pub statement: Statement,
    /// The locale whose spreadsheets read the table, such as `de-AT`; absent for plain CSV.
    #[serde(default)]
    pub locale: Option<String>,
}

/// A page of the statement as a table. The first page begins with the line of headings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct StatementSheetPage {
    /// The lines, each with its end.
    pub text: String,
    /// The number of movements in `text`.
    pub rows: u32,
    /// The value of `after` for the next page; absent on the last page.
    pub next: Option<StatementPlace>,
}

impl Ask for StatementSheet {
    type Answer = StatementSheetPage;

    async fn answer(self, by: &Asker<'_>) -> Result<StatementSheetPage, CommandError> {
        let Self { statement, locale } = self;
        let (currency, is_first) = (statement.currency.clone(), statement.after.is_none());
        let limit = statement.limit.or(Some(PAGE_MAX));
        let page = Statement { limit, ..statement }.answer(by).await?;
        let sheet = Sheet::for_locale(locale.as_deref());
        let rows = u32::try_from(page.items.len()).unwrap_or(u32::MAX);
        let heading = is_first.then(|| sheet.heading(HEADING));
        let lines = page.items.into_iter().map(|item| sheet.line(cells(&currency, item)));
        let text = heading.into_iter().chain(lines).collect();
        Ok(StatementSheetPage { text, rows, next: page.next })
    }
}

fn cells(currency: &str, item: StatementItem) -> [Cell; HEADING.len()] {
    let number = |number: Option<String>| Cell::Number(number.unwrap_or_default());
    let id = |id: Option<String>| Cell::Word(id.unwrap_or_default());
    [
        Cell::Word(item.time),
        Cell::Word(item.kind.to_string()),
        Cell::Number(item.amount.text),
        Cell::Word(currency.to_owned()),
        number(item.worth.map(|worth| worth.text)),
        number(item.exchange_rate),
        number(item.fee.map(|fee| fee.text)),
        id(item.btc_tx_id),
        id(item.payment_id),
        id(item.payout_id),
        id(item.anomaly_id),
    ]
}
