//! The payments as a table.

use bitcoin::Txid;
use serde::{Deserialize, Serialize};
use tillgate_store::payments::PaymentRow;
use ts_rs::TS;

use super::narrowing::PaymentsNarrowing;
use crate::ask::{Ask, Asker};
use crate::btc::BtcView;
use crate::error::CommandError;
use crate::sheet::{Cell, Sheet};
use crate::sums::FiatView;

/// The most rows of a page, because the control socket limits the length of an answer.
const PAGE: u32 = 2_000;

/// The most transactions in a cell. A spreadsheet's cell has room for 500.
const TRANSACTIONS_MAX: u32 = 100;

const HEADING: [&str; 16] = [
    "creationTime",
    "state",
    "price",
    "currency",
    "btcAmount",
    "btcPaid",
    "fiatPaid",
    "exchangeRate",
    "paymentTime",
    "merchantTransactionId",
    "message",
    "key",
    "address",
    "btcTxIds",
    "conflictSeen",
    "paymentId",
];

/// Asks for a page of payments as a table, the newest payment first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct PaymentsSheet {
    /// The payments of the table.
    #[serde(flatten)]
    pub narrowing: PaymentsNarrowing,
    /// The locale whose spreadsheets read the table, such as `de-AT`; absent for plain CSV.
    #[serde(default)]
    pub locale: Option<String>,
    /// The field `next` of the previous page; absent for the first page.
    #[serde(default)]
    #[ts(type = "number | null")]
    pub after: Option<i64>,
}

/// A page of payments as a table. The first page begins with the line of headings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct PaymentsSheetPage {
    /// The lines, each with its end.
    pub text: String,
    /// The number of payments in `text`.
    pub rows: u32,
    /// The value of `after` for the next page; absent on the last page.
    #[ts(type = "number | null")]
    pub next: Option<i64>,
}

impl Ask for PaymentsSheet {
    type Answer = PaymentsSheetPage;

    async fn answer(self, by: &Asker<'_>) -> Result<PaymentsSheetPage, CommandError> {
        page(self, by, PAGE).await
    }
}

async fn page(
    asked: PaymentsSheet,
    by: &Asker<'_>,
    limit: u32,
) -> Result<PaymentsSheetPage, CommandError> {
    let PaymentsSheet { narrowing, locale, after } = asked;
    let filter = narrowing.filter().unwrap_or_default();
    let sheet = Sheet::for_locale(locale.as_deref());
    by.read(move |_, reader| {
        let rows = reader.payments_below(&filter, after, limit)?;
        let mut text = if after.is_none() { sheet.heading(HEADING) } else { String::new() };
        for row in &rows {
            let txids = reader.counted_txids(row.seq, TRANSACTIONS_MAX)?;
            text.push_str(&sheet.line(cells(row, &txids)));
        }
        let is_last = rows.len() < usize::try_from(limit).unwrap_or(usize::MAX);
        Ok(PaymentsSheetPage {
            text,
            next: rows.last().map(|row| row.seq).filter(|_| !is_last),
            rows: u32::try_from(rows.len()).unwrap_or(limit),
        })
    })
    .await
}

fn cells(row: &PaymentRow, txids: &[Txid]) -> [Cell; HEADING.len()] {
    let payment = &row.payment;
    let price = FiatView::from_minor(payment.price_minor, payment.currency);
    let txids: Vec<String> = txids.iter().map(Txid::to_string).collect();
    [
        Cell::Word(payment.created_at.iso_seconds()),
        Cell::Word(payment.state.to_string()),
        Cell::Number(price.text),
        Cell::Word(price.currency),
        Cell::Number(BtcView::from_sats(payment.amount_sats).text),
        Cell::Number(BtcView::from_sats(payment.paid_sats).text),
        Cell::Number(FiatView::from_minor(payment.paid_minor(), payment.currency).text),
        Cell::Number(payment.rate.format()),
        Cell::Word(payment.confirmed_at.map(|at| at.iso_seconds()).unwrap_or_default()),
        Cell::Text(row.merchant_transaction_id.clone()),
        Cell::Text(row.message.clone()),
        Cell::Text(row.label.clone()),
        Cell::Word(row.address.clone()),
        Cell::Word(txids.join(" ")),
        Cell::Word(payment.conflict_seen.to_string()),
        Cell::Word(payment.id.to_string()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use tillgate_gateway::testing::World;

    #[tokio::test]
    async fn pages_of_a_sheet_hold_each_payment_once_under_one_heading() {
        let world = World::new().await;
        for _ in 0..5 {
            world.payment().await;
        }
        let by = Asker { app: &world.app, actor: "panel:ann" };
        let (mut all, mut after) = (String::new(), None);
        for _ in 0..3 {
            let asked = PaymentsSheet { after, ..PaymentsSheet::default() };
            let PaymentsSheetPage { text, next, .. } = page(asked, &by, 2).await.unwrap();
            all.push_str(&text);
            after = next;
            // A payment that is made meanwhile is newer than the first page, so no page holds it.
            world.payment().await;
        }
        assert_eq!(after, None, "the third page is the last one");
        let lines: Vec<&str> = all.lines().collect();
        assert_eq!((lines.len(), lines[0]), (6, HEADING.join(",").as_str()), "{all}");
        let ids: std::collections::BTreeSet<_> =
            lines[1..].iter().map(|line| line.rsplit(',').next()).collect();
        assert_eq!(ids.len(), 5, "{all}");
        assert!(lines[1].contains(",NEW,10.00,USD,"), "{all}");
    }

    #[tokio::test]
    async fn a_sheet_names_the_transactions_of_each_payment() {
        let world = World::new().await;
        let (unpaid, paid) = (world.payment().await, world.payment().await);
        let txids = [1_000, 2_000].map(|sats| world.customer_pays(&paid, sats).to_string());
        world.look().await;
        let by = Asker { app: &world.app, actor: "panel:ann" };
        let table = page(PaymentsSheet::default(), &by, PAGE).await.unwrap().text;
        let line_of = |id: &str| table.lines().find(|line| line.ends_with(id)).unwrap().to_owned();
        let paid = line_of(&paid.payment.id.to_string());
        assert!(txids.iter().all(|txid| paid.contains(txid.as_str())), "{table}");
        assert_eq!(
            paid.split(',').nth(13).unwrap().len(),
            2 * 64 + 1,
            "a blank separates them: {paid}"
        );
        let unpaid = unpaid.payment.id.to_string();
        assert!(line_of(&unpaid).ends_with(&format!(",,false,{unpaid}")), "{table}");
    }

    #[tokio::test]
    async fn a_german_sheet_has_commas_in_its_sums() {
        let world = World::new().await;
        world.payment().await;
        let by = Asker { app: &world.app, actor: "panel:ann" };
        let asked = PaymentsSheet { locale: Some("de-DE".to_owned()), ..PaymentsSheet::default() };
        let table = page(asked, &by, PAGE).await.unwrap().text;
        assert!(table.starts_with(&format!("\u{feff}{}\r\n", HEADING.join(";"))), "{table}");
        assert!(table.contains(";NEW;10,00;USD;"), "{table}");
    }
}
