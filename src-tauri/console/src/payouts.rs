//! Lists, shows, requests, approves, sends, bumps and abandons payouts.

mod abandon;
mod bump;
mod estimate;
mod fee_rate;
mod replaced;
mod send;
mod sender;
mod steps;
mod stuck;
mod twins;
mod typed;
mod view;
mod waiting;

use std::borrow::Cow;

use bitcoin::address::NetworkUnchecked;
use bitcoin::{Address, Txid};
use serde::{Deserialize, Serialize};
use tillgate_domain::id::Id;
use tillgate_domain::money::parse_btc;
use tillgate_domain::payout::PayoutState;
use ts_rs::TS;

use super::ask::{Ask, Asker, id};
use super::error::CommandError;
use super::page::{Page, page_size};
pub use abandon::{AbandonEstimateView, AbandonPayout, AbandonedView, EstimateAbandon};
pub use bump::{BumpEstimateView, BumpPayout, BumpedView, EstimateBump};
pub use estimate::{AnomalyAlike, EstimatePayout, EstimateView, PaidBefore};
pub use replaced::BackendRefusal;
pub use replaced::RefusalView;
pub use send::{EstimateSend, SendEstimateView, SendPayout, SentAloneView};
pub use sender::{ReleaseSender, RetrySender, SenderView};
pub use stuck::StuckItem;
pub use stuck::StuckPayouts;
pub use stuck::StuckSentence;
use tillgate_gateway::access::record_scope::RecordScope;
use tillgate_gateway::gateway::Gateway;
use tillgate_gateway::payouts::{
    self, Approver, OfferRequest, Offered, PayoutRequest, Permit, Requester,
};
use tillgate_store::notify_hosts::NotifyHosts;
use tillgate_store::payout_lists::PayoutFilter;
use tillgate_store::{Reader, StoreError};
pub use twins::HeldFor;
pub use twins::TwinItem;
pub use typed::plain_btc;
use typed::{plain_fiat, typed};
pub use view::HighFee;
use view::PayoutItems;
pub use view::{PayoutItem, PayoutView, VersionItem};
pub use view::{queued, show};
pub use waiting::Waiting;

/// Lists payouts, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct ListPayouts {
    /// Most payouts to list, 1 to 500.
    pub limit: u32,
    /// Number of the newest payouts to skip.
    pub offset: u32,
    /// Only payouts in these states; empty for all.
    #[serde(default)]
    pub states: Vec<PayoutState>,
    /// A payout's id, its address, the id of its transaction, its amount in BTC, or the requester's
    /// name.
    #[serde(default)]
    pub search: Option<String>,
}

/// Shows one payout with its transactions, history and deliveries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ShowPayout {
    pub payout_id: String,
}

/// Requests a payout from the fields of a form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct RequestPayout {
    pub address: String,
    /// The amount in BTC. Exactly one of the two amounts is required.
    #[serde(default)]
    pub btc_amount: Option<String>,
    /// The amount in `currency`.
    #[serde(default)]
    pub fiat_amount: Option<String>,
    /// The ISO code of the payout's currency.
    pub currency: String,
    /// A note for the merchant's own use.
    #[serde(default)]
    pub comment: Option<String>,
    /// The URL that is notified when the payout is SENT or FAILED.
    #[serde(default)]
    pub notification_url: Option<String>,
    /// Whether to approve the payout in the same step.
    #[serde(default)]
    pub approve: bool,
    /// Whether to request the payout although another copy of the wallet paid this address.
    #[serde(default)]
    pub again: bool,
}

/// Approves an offer. The sender then sends the payout.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ApprovePayout {
    pub payout_id: String,
}

/// Rejects a shop's offer, or withdraws an offer of staff. Nothing is sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct RejectPayout {
    pub payout_id: String,
    /// The reason, which the record shows to the shop; may be empty.
    #[serde(default)]
    pub reason: String,
}

impl Ask for ListPayouts {
    type Answer = Page<PayoutItem>;

    async fn answer(self, by: &Asker<'_>) -> Result<Page<PayoutItem>, CommandError> {
        let filter = PayoutFilter { states: self.states, ..PayoutFilter::default() };
        let limit = page_size(self.limit)?;
        by.read(move |gateway, reader| {
            list(gateway, reader, filter, self.search.as_deref(), (limit, self.offset))
        })
        .await
    }
}

impl Ask for ShowPayout {
    type Answer = PayoutView;

    async fn answer(self, by: &Asker<'_>) -> Result<PayoutView, CommandError> {
        StuckPayouts::learn_wanted_rate(by.gateway()).await;
        show(by, id("payoutId", &self.payout_id)?).await
    }
}

impl Ask for RequestPayout {
    type Answer = PayoutView;

    async fn answer(self, by: &Asker<'_>) -> Result<PayoutView, CommandError> {
        let fiat_amount =
            typed(self.fiat_amount).map(|text| plain_fiat(&self.currency, text)).transpose()?;
        let payout = PayoutRequest {
            btc_amount: typed(self.btc_amount).map(plain_btc).map(Cow::Owned),
            fiat_amount: fiat_amount.map(Cow::Owned),
            currency: Some(Cow::Owned(self.currency)),
            address: Some(Cow::Owned(self.address.trim().to_owned())),
            comment: typed(self.comment).map(Cow::Owned),
            notification_url: typed(self.notification_url).map(Cow::Owned),
            refund_sats: None,
            field_errors: Vec::new(),
        };
        let requester = Requester {
            key_id: None,
            name: by.actor.to_owned(),
            notify_hosts: NotifyHosts::default(),
        };
        let (is_approved, again) = (self.approve, self.again);
        let request = OfferRequest {
            requester,
            payout,
            is_approved,
            once: None,
            permit: Permit::none(),
            again,
        };
        by.refresh_rates_if_unserved().await?;
        match payouts::offer(by.gateway(), request).await? {
            Offered::New { payout_id, .. } => show(by, payout_id).await,
            // Only a request with an idempotency key can be answered again.
            Offered::Again(_) => Err(CommandError::internal()),
        }
    }
}

impl Ask for ApprovePayout {
    type Answer = PayoutView;

    async fn answer(self, by: &Asker<'_>) -> Result<PayoutView, CommandError> {
        let payout_id = id("payoutId", &self.payout_id)?;
        let approver =
            Approver { name: by.actor.to_owned(), scope: RecordScope::Everything, is_person: true };
        payouts::approve(by.gateway(), payout_id, approver).await?;
        show(by, payout_id).await
    }
}

impl Ask for RejectPayout {
    type Answer = PayoutView;

    async fn answer(self, by: &Asker<'_>) -> Result<PayoutView, CommandError> {
        let payout_id = id("payoutId", &self.payout_id)?;
        payouts::reject(by.gateway(), payout_id, &self.reason, by.actor).await?;
        show(by, payout_id).await
    }
}

fn list(
    gateway: &Gateway,
    reader: &Reader<'_>,
    filter: PayoutFilter,
    search: Option<&str>,
    (limit, offset): (u32, u32),
) -> Result<Page<PayoutItem>, StoreError> {
    let pages_base = gateway.pages_base();
    let payout_items = PayoutItems::load(gateway, reader, &pages_base)?;
    let search = search.map(str::trim).filter(|search| !search.is_empty());
    if let Some(row) = search
        .and_then(|search| search.parse::<Id>().ok())
        .map(|id| reader.payout(&id))
        .transpose()?
        && let Some(row) = row
    {
        let within = filter.states.is_empty() || filter.states.contains(&row.state);
        let items = if within && offset == 0 { vec![payout_items.item(&row)?] } else { Vec::new() };
        return Ok(Page { items, items_count: u64::from(within) });
    }
    let filter = match search {
        Some(search) => narrowed(filter, search),
        None => filter,
    };
    let rows = reader.payouts(&filter, limit, u64::from(offset))?;
    let items = rows.iter().map(|row| payout_items.item(row)).collect::<Result<_, _>>()?;
    Ok(Page { items, items_count: reader.payouts_count(&filter)? })
}

fn narrowed(filter: PayoutFilter, search: &str) -> PayoutFilter {
    if let Ok(txid) = search.parse::<Txid>() {
        return PayoutFilter { txid: Some(txid), ..filter };
    }
    if let Ok(address) = search.parse::<Address<NetworkUnchecked>>() {
        // The address's network is not checked, because the search compares scripts.
        return PayoutFilter { script: Some(address.assume_checked().script_pubkey()), ..filter };
    }
    match parse_btc(search) {
        Ok(amount_sats) => PayoutFilter { amount_sats: Some(amount_sats), ..filter },
        Err(_) => PayoutFilter { requested_by: Some(search.to_owned()), ..filter },
    }
}
