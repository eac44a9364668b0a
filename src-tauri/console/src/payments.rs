//! Lists, shows, creates and accepts payments.

mod narrowing;
mod sheet;
mod view;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use tillgate_domain::id::Id;
use tillgate_domain::money::Currency;
use tillgate_domain::time::Timestamp;
use ts_rs::TS;

use super::ask::{Ask, Asker, id};
use super::btc::BtcView;
use super::error::CommandError;
use super::page::page_size;
use super::sums::FiatView;
use crate::refusal::NotFound;
pub use narrowing::PaymentsNarrowing;
pub use sheet::PaymentsSheet;
use tillgate_gateway::payments::{self, Author, Created, PaymentRequest};
use tillgate_store::notify_hosts::NotifyHosts;
use tillgate_store::payment_lists::PaymentFilter;
use tillgate_store::payments::PaymentRow;
use tillgate_store::{Reader, StoreError};
pub use view::{PaymentItem, PaymentView};

/// Lists payments, newest first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct ListPayments {
    /// Most payments to list, 1 to 500.
    pub limit: u32,
    /// Number of the newest payments to skip.
    pub offset: u32,
    #[serde(flatten)]
    pub narrowing: PaymentsNarrowing,
}

/// Some payments, the number of all that match, and their sums.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct PaymentsPage {
    pub items: Vec<PaymentItem>,
    /// The number of payments on all pages together.
    #[ts(type = "number")]
    pub items_count: u64,
    /// The sums of the payments on all pages; absent if no filter is set.
    pub sums: Option<PaymentSums>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct PaymentSums {
    /// The prices of the CONFIRMED payments, one sum for each currency.
    pub confirmed: Vec<FiatView>,
    /// The coins that pay those payments, without any beyond an amount.
    pub paid: BtcView,
}

/// Shows one payment with transactions, history, deliveries and anomalies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ShowPayment {
    pub payment_id: String,
}

/// Creates a payment from the fields of a form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct CreatePayment {
    /// The price, as the person typed it.
    pub amount: String,
    /// The ISO code of the price's currency.
    pub currency: String,
    /// The message for the customer; may be empty.
    #[serde(default)]
    pub message: String,
    /// The merchant's own reference; may be empty.
    #[serde(default)]
    pub merchant_transaction_id: String,
    /// The URL to notify of its changes.
    #[serde(default)]
    #[ts(optional)]
    pub notification_url: Option<String>,
}

/// Accepts the coins that a payment received, as if they were in time and enough.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct AcceptPayment {
    pub payment_id: String,
    /// The sum that was shown to the person, in satoshis. If less would be accepted by now, the
    /// command is refused.
    #[serde(default)]
    #[ts(type = "number | null")]
    pub agreed_sats: Option<u64>,
}

/// Cancels a payment that is NEW and that no coins were seen for. It expires at once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct CancelPayment {
    pub payment_id: String,
}

impl Ask for ListPayments {
    type Answer = PaymentsPage;

    async fn answer(self, by: &Asker<'_>) -> Result<PaymentsPage, CommandError> {
        let limit = page_size(self.limit)?;
        let offset = u64::from(self.offset);
        let filter = self.narrowing.filter();
        let now = by.gateway().time.now();
        by.read(move |_, reader| match filter {
            Some(filter) => list_matching(reader, &filter, limit, offset, now),
            None => {
                let all = PaymentFilter::default();
                let rows = reader.payments(&all, limit, offset)?;
                Ok(PaymentsPage {
                    items: items(reader, &rows, now)?,
                    items_count: reader.payments_count(&all)?,
                    sums: None,
                })
            }
        })
        .await
    }
}

impl Ask for ShowPayment {
    type Answer = PaymentView;

    async fn answer(self, by: &Asker<'_>) -> Result<PaymentView, CommandError> {
        show(by, id("paymentId", &self.payment_id)?).await
    }
}

impl Ask for CreatePayment {
    type Answer = PaymentView;

    /// Creates a payment. It needs no notification URL, because no shop's program waits for it.
    async fn answer(self, by: &Asker<'_>) -> Result<PaymentView, CommandError> {
        // A price in an unknown currency stays as it is, because `payments::create` refuses the
        // currency.
        let amount = match Currency::from_code(&self.currency) {
            Some(currency) => currency
                .plain_amount(&self.amount)
                .map_err(|error| CommandError::invalid("amount", &error))?,
            None => self.amount,
        };
        let request = PaymentRequest {
            amount: Some(Cow::Owned(amount)),
            currency: Some(Cow::Owned(self.currency)),
            message: Some(Cow::Owned(self.message)),
            merchant_transaction_id: Some(Cow::Owned(self.merchant_transaction_id)),
            notification_url: self.notification_url.map(Cow::Owned),
            ..PaymentRequest::default()
        };
        create(by, request).await
    }
}

impl Ask for AcceptPayment {
    type Answer = PaymentView;

    async fn answer(self, by: &Asker<'_>) -> Result<PaymentView, CommandError> {
        let payment_id = id("paymentId", &self.payment_id)?;
        by.app.watcher.accept(payment_id, self.agreed_sats, by.actor).await?;
        show(by, payment_id).await
    }
}

impl Ask for CancelPayment {
    type Answer = PaymentView;

    async fn answer(self, by: &Asker<'_>) -> Result<PaymentView, CommandError> {
        let payment_id = id("paymentId", &self.payment_id)?;
        by.app.watcher.cancel(payment_id, by.actor).await?;
        show(by, payment_id).await
    }
}

/// Creates a payment in the merchant's name.
pub async fn create(
    by: &Asker<'_>,
    request: PaymentRequest<'_>,
) -> Result<PaymentView, CommandError> {
    let label = by.gateway().settings.snapshot().merchant_name.clone();
    let notify_hosts = NotifyHosts::default();
    let author = Author { key_id: None, label, notification_url_optional: true, notify_hosts };
    match payments::create(by.gateway(), author, request, None).await? {
        Created::New { payment_id, .. } => show(by, payment_id).await,
        // Only a request with an idempotency key can be answered again.
        Created::Again(_) => Err(CommandError::internal()),
    }
}

async fn show(by: &Asker<'_>, id: Id) -> Result<PaymentView, CommandError> {
    let found = by.read(move |gateway, reader| PaymentView::find(gateway, reader, &id)).await?;
    found.ok_or_else(|| CommandError::not_found(&NotFound::Payment(id)))
}

fn list_matching(
    reader: &Reader<'_>,
    filter: &PaymentFilter,
    limit: u32,
    offset: u64,
    now: Timestamp,
) -> Result<PaymentsPage, StoreError> {
    let matches = reader.matching_payments(filter)?;
    let first = usize::try_from(offset).unwrap_or(usize::MAX);
    let page = matches.seqs.iter().skip(first).take(usize::try_from(limit).unwrap_or(usize::MAX));
    let rows = page
        .filter_map(|seq| reader.payment_by_seq(*seq).transpose())
        .collect::<Result<Vec<_>, _>>()?;
    let confirmed = matches
        .confirmed_minor
        .iter()
        .filter_map(|(code, minor)| Some(FiatView::from_minor(*minor, Currency::from_code(code)?)));
    Ok(PaymentsPage {
        items: items(reader, &rows, now)?,
        items_count: u64::try_from(matches.seqs.len()).unwrap_or(u64::MAX),
        sums: Some(PaymentSums {
            confirmed: confirmed.collect(),
            paid: BtcView::from_sats(matches.paid_sats),
        }),
    })
}

fn items(
    reader: &Reader<'_>,
    rows: &[PaymentRow],
    now: Timestamp,
) -> Result<Vec<PaymentItem>, StoreError> {
    rows.iter().map(|row| PaymentItem::from_row(reader, row, now)).collect()
}
