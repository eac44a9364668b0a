//! The payments as a table for spreadsheets.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::narrowing::PaymentsNarrowing;
use crate::console::ask::{Ask, Asker};
use crate::console::btc::BtcView;
use crate::console::csv;
use crate::console::error::CommandError;
use crate::console::sums::FiatView;
use crate::store::payments::PaymentRow;

/// The most rows of a page, because the control socket limits the length of an answer.
const PAGE: u32 = 2_000;

const HEADER: [&str; 14] = [
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
    "paymentId",
];

/// Asks for a page of payments as CSV, the newest payment first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct PaymentsSheet {
    /// The payments of the table.
    #[serde(flatten)]
    pub narrowing: PaymentsNarrowing,
    /// The field `next` of the previous page; absent for the first page.
    #[serde(default)]
    #[ts(type = "number | null")]
    pub after: Option<i64>,
}

/// A page of payments as CSV. The first page begins with the line of headings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct PaymentsSheetPage {
    /// The lines, each with its end.
    pub csv: String,
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

async fn page(asked: PaymentsSheet, by: &Asker<'_>, limit: u32) -> Result<PaymentsSheetPage, CommandError> {
    let PaymentsSheet { narrowing, after } = asked;
    let filter = narrowing.filter().unwrap_or_default();
    let rows = by.read(move |_, reader| reader.payments_below(&filter, after, limit)).await?;
    let heading = after.is_none().then(|| csv::line(HEADER.map(str::to_owned)));
    let lines = rows.iter().map(|row| csv::line(cells(row)));
    let is_last = rows.len() < usize::try_from(limit).unwrap_or(usize::MAX);
    Ok(PaymentsSheetPage {
        csv: heading.into_iter().chain(lines).collect(),
        next: rows.last().map(|row| row.seq).filter(|_| !is_last),
    })
}

fn cells(row: &PaymentRow) -> [String; HEADER.len()] {
    let payment = &row.payment;
    let price = FiatView::of(payment.price_minor, payment.currency);
    [
        payment.created_at.iso_seconds(),
        payment.state.to_string(),
        price.text,
        price.currency,
        BtcView::of_sats(payment.amount_sats).text,
        BtcView::of_sats(payment.paid_sats).text,
        FiatView::of(payment.paid_minor(), payment.currency).text,
        payment.rate.format(),
        payment.confirmed_at.map(|at| at.iso_seconds()).unwrap_or_default(),
        row.merchant_transaction_id.clone(),
        row.message.clone(),
        row.label.clone(),
        row.address.clone(),
        payment.id.to_string(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::World;

    #[tokio::test]
    async fn pages_of_a_sheet_hold_each_payment_once_under_one_heading() {
        let world = World::new().await;
        for _ in 0..5 {
            world.payment().await;
        }
        let by = Asker { app: &world.app, actor: "panel:ann" };
        let (mut text, mut after) = (String::new(), None);
        for _ in 0..3 {
            let asked = PaymentsSheet { after, ..PaymentsSheet::default() };
            let PaymentsSheetPage { csv, next } = page(asked, &by, 2).await.unwrap();
            text.push_str(&csv);
            after = next;
            // A payment that is made meanwhile is newer than the first page, so no page holds it.
            world.payment().await;
        }
        assert_eq!(after, None, "the third page is the last one");
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!((lines.len(), lines[0]), (6, HEADER.join(",").as_str()), "{text}");
        let ids: std::collections::BTreeSet<_> = lines[1..].iter().map(|line| line.rsplit(',').next()).collect();
        assert_eq!(ids.len(), 5, "{text}");
        assert!(lines[1].contains(",NEW,10.00,USD,"), "{text}");
    }
}
