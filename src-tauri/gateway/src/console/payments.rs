//! Lists, shows, creates and accepts payments.

mod view;

use std::borrow::Cow;

use bitcoin::address::NetworkUnchecked;
use bitcoin::{Address, Txid};
use serde::{Deserialize, Serialize};
use tillgate_domain::id::Id;
use tillgate_domain::money::Currency;
use tillgate_domain::payment::PaymentState;
use ts_rs::TS;

use super::ask::{Ask, Asker, id};
use super::error::CommandError;
use super::page::{Page, page_size};
use crate::payments::{self, Author, Created, Draft};
use crate::store::notify_hosts::NotifyHosts;
use crate::store::payment_lists::PaymentFilter;
use crate::store::{Reader, StoreError};
pub(crate) use view::{PaymentItem, PaymentView};

/// Lists payments, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct ListPayments {
    /// Most payments to list, 1 to 500.
    pub limit: u32,
    /// Number of the newest payments to skip.
    pub offset: u32,
    /// Only payments in these states; empty for all.
    #[serde(default)]
    pub states: Vec<PaymentState>,
    /// A payment's id, its address, the id of a transaction that pays it, or the shop's own reference.
    #[serde(default)]
    pub search: Option<String>,
}

/// Shows one payment with transactions, history, deliveries and anomalies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
#[serde(rename_all = "camelCase")]
pub struct ShowPayment {
    pub payment_id: String,
}

/// Creates a payment from the fields of a form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
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
}

/// Accepts the coins that a payment received, as if they were in time and enough.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
#[serde(rename_all = "camelCase")]
pub struct AcceptPayment {
    pub payment_id: String,
    /// The sum that was shown to the person, in satoshis. If less would be accepted by now, the command is refused.
    #[serde(default)]
    #[ts(type = "number | null")]
    pub agreed_sats: Option<u64>,
}

/// Cancels a payment that is NEW and that no coins were seen for. It expires at once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
#[serde(rename_all = "camelCase")]
pub struct CancelPayment {
    pub payment_id: String,
}

impl Ask for ListPayments {
    type Answer = Page<PaymentItem>;

    async fn answer(self, by: &Asker<'_>) -> Result<Page<PaymentItem>, CommandError> {
        let filter = PaymentFilter { states: self.states, ..PaymentFilter::default() };
        let limit = page_size(self.limit)?;
        by.read(move |_, reader| list(reader, filter, self.search.as_deref(), limit, self.offset)).await
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

    /// Creates a payment without a notification URL, because no shop's program waits for it.
    async fn answer(self, by: &Asker<'_>) -> Result<PaymentView, CommandError> {
        // A price in an unknown currency stays as it is, because `payments::create` refuses the currency.
        let amount = match Currency::from_code(&self.currency) {
            Some(currency) => {
                currency.plain_amount(&self.amount).map_err(|error| CommandError::invalid("amount", &error))?
            }
            None => self.amount,
        };
        let draft = Draft {
            amount: Some(Cow::Owned(amount)),
            currency: Some(Cow::Owned(self.currency)),
            message: Some(Cow::Owned(self.message)),
            merchant_transaction_id: Some(Cow::Owned(self.merchant_transaction_id)),
            ..Draft::default()
        };
        let label = by.gateway().settings.snapshot().merchant_name.clone();
        let notify_hosts = NotifyHosts::default();
        let author = Author { key_id: None, label, notification_url_optional: true, notify_hosts };
        match payments::create(by.gateway(), author, draft, None).await? {
            Created::New { payment_id, .. } => show(by, payment_id).await,
            // Only a request with an idempotency key can be answered again.
            Created::Again(_) => Err(CommandError::internal()),
        }
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

async fn show(by: &Asker<'_>, id: Id) -> Result<PaymentView, CommandError> {
    let found = by.read(move |gateway, reader| PaymentView::find(gateway, reader, &id)).await?;
    found.ok_or_else(|| CommandError::not_found("payment", &id))
}

fn list(
    reader: &Reader<'_>,
    filter: PaymentFilter,
    search: Option<&str>,
    limit: u32,
    offset: u32,
) -> Result<Page<PaymentItem>, StoreError> {
    let search = search.map(str::trim).filter(|search| !search.is_empty());
    if let Some(row) = search.and_then(|search| search.parse::<Id>().ok()).map(|id| reader.payment(&id)).transpose()?
        && let Some(row) = row
    {
        let within = filter.states.is_empty() || filter.states.contains(&row.payment.state);
        let items = if within && offset == 0 { vec![PaymentItem::of(reader, &row)?] } else { Vec::new() };
        return Ok(Page { items, items_count: u64::from(within) });
    }
    let filter = match search {
        Some(search) => narrowed(filter, search),
        None => filter,
    };
    let rows = reader.payments(&filter, limit, u64::from(offset))?;
    let items = rows.iter().map(|row| PaymentItem::of(reader, row)).collect::<Result<_, _>>()?;
    Ok(Page { items, items_count: reader.payments_count(&filter)? })
}

fn narrowed(filter: PaymentFilter, search: &str) -> PaymentFilter {
    if let Ok(txid) = search.parse::<Txid>() {
        return PaymentFilter { txid: Some(txid), ..filter };
    }
    if let Ok(address) = search.parse::<Address<NetworkUnchecked>>() {
        // The address's network is not checked, because the search compares scripts.
        return PaymentFilter { script: Some(address.assume_checked().script_pubkey()), ..filter };
    }
    PaymentFilter { merchant_transaction_id: Some(search.to_owned()), ..filter }
}
