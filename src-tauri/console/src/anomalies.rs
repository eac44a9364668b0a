//! Lists, shows, dismisses and refunds anomalies.

use std::collections::HashMap;
use tillgate_gateway::error_type::ErrorType;

use serde::{Deserialize, Serialize};
use tillgate_domain::anomaly::{self, AnomalyKind};
use tillgate_domain::id::Id;
use tillgate_domain::receipt::Receipt;
use tillgate_gateway::anomalies::{self, RefundError, RefundRequest};
use tillgate_gateway::gateway::Gateway;
use tillgate_gateway::payouts::Offered;
use tillgate_gateway::records::anomaly_message;
use tillgate_store::anomalies::AnomalyFilter;
use tillgate_store::{Reader, StoreError};
use ts_rs::TS;

use super::ask::{Ask, Asker, id};
use super::btc::BtcView;
use super::error::CommandError;
use super::page::{Page, page_size};
use super::payouts::{self, PayoutView};
use super::sums::{Acceptance, FiatView};
use crate::refusal::{NotFound, RefundedByPayout};

/// The state of an anomaly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Resolution {
    /// Staff have not decided yet.
    Open,
    /// The payout of its refund is NEW or QUEUED.
    Refunding,
    /// The coins were sent back.
    Refunded,
    /// Staff accepted the coins as payment.
    Accepted,
    /// Staff dismissed it, or the system did, because its coins are gone or count after all.
    Dismissed,
}

impl From<anomaly::Resolution> for Resolution {
    fn from(resolution: anomaly::Resolution) -> Self {
        match resolution {
            anomaly::Resolution::Open => Self::Open,
            anomaly::Resolution::Refunding => Self::Refunding,
            anomaly::Resolution::Refunded => Self::Refunded,
            anomaly::Resolution::Accepted => Self::Accepted,
            anomaly::Resolution::DismissedByStaff | anomaly::Resolution::DismissedBySystem => {
                Self::Dismissed
            }
        }
    }
}

/// Lists anomalies, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct ListAnomalies {
    /// Only OPEN anomalies.
    #[serde(default)]
    pub open: bool,
    /// Most anomalies to list, 1 to 500.
    pub limit: u32,
    /// Number of the newest anomalies to skip.
    pub offset: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ShowAnomaly {
    pub anomaly_id: String,
}

/// Dismisses an OPEN anomaly.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct DismissAnomaly {
    pub anomaly_id: String,
    /// The reason, stored with the anomaly.
    pub reason: String,
}

/// Offers a payout of all coins of an anomaly, to send them back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct RefundAnomaly {
    pub anomaly_id: String,
    /// The address to pay the coins to.
    pub address: String,
    /// The ISO code of the payout's currency; absent for the payment's currency.
    #[serde(default)]
    pub currency: Option<String>,
    /// Whether the payout is approved at once.
    #[serde(default)]
    pub approve: bool,
    /// Whether to refund although an earlier payout sent the same sum to this address.
    #[serde(default)]
    pub although_paid: bool,
}

/// Asks the customer on the payment page for the address of an anomaly's refund. A former answer is
/// forgotten.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct AskRefundAddress {
    pub anomaly_id: String,
}

/// The question on the payment page where to send a refund, and the customer's answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct RefundQuestion {
    /// When staff asked, ISO 8601.
    pub asked_at: String,
    /// The address that somebody with the page's link gave.
    pub address: Option<String>,
    /// When the address was given, ISO 8601.
    pub answered_at: Option<String>,
}

impl RefundQuestion {
    fn from_row(row: &tillgate_store::anomalies::AnomalyRow) -> Option<Self> {
        let asked_at = row.asked_at?.iso_seconds();
        let (address, answered_at) = row
            .answer
            .as_ref()
            .map(|answer| (answer.address.clone(), answer.given_at.iso_seconds()))
            .unzip();
        Some(Self { asked_at, address, answered_at })
    }
}

/// An anomaly as lists and views show it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct AnomalyItem {
    pub anomaly_id: String,
    pub payment_id: String,
    pub anomaly_type: AnomalyKind,
    /// The sum of the coins concerned.
    pub paid: BtcView,
    /// Whether the coins of a late payment arrived in time and were seen too late.
    #[serde(default)]
    pub came_in_time: bool,
    /// The worth of that sum at the rate of `time`.
    pub worth: FiatView,
    /// The worth of that sum at the present rate; absent without a fresh rate.
    #[serde(default)]
    pub worth_today: Option<FiatView>,
    /// When the anomaly was raised, ISO 8601.
    pub time: String,
    /// The event, in a sentence for people.
    pub message: String,
    /// The state of the anomaly.
    pub resolution: Resolution,
    pub dismissal_reason: Option<String>,
    /// The transactions that hold its coins.
    pub btc_tx_ids: Vec<String>,
    /// The shop's own reference of its payment.
    pub merchant_transaction_id: String,
    /// The number of its payment's sale; absent unless the payment was made at the till.
    #[serde(default)]
    pub sale_number: Option<u32>,
    pub price: FiatView,
    /// Whether the shop is notified of changes; false without an `anomalyNotificationUrl`.
    pub notified: bool,
    /// The effect of accepting the coins that came for its payment; absent if staff may not accept.
    pub acceptance: Option<Acceptance>,
    /// The payout that refunds the coins, sent or not.
    pub payout_id: Option<String>,
    /// The question to the customer; absent if staff did not ask.
    #[serde(default)]
    pub question: Option<RefundQuestion>,
    pub payment_page_url: String,
}

/// The facts about a payment that the views of its anomalies show.
pub struct AboutPayment {
    /// The number of its sale; `None` unless it was made at the till.
    pub sale_number: Option<u32>,
    pub price: FiatView,
    /// The effect of accepting the payment's coins; `None` if staff may not accept.
    pub acceptance: Option<Acceptance>,
}

impl AboutPayment {
    pub fn new(
        row: &tillgate_store::payments::PaymentRow,
        sale_number: Option<u32>,
        receipts: &[Receipt],
        anomalies: &[tillgate_store::anomalies::AnomalyRow],
    ) -> Self {
        let anomalies: Vec<anomaly::Anomaly> =
            anomalies.iter().map(|row| row.anomaly.clone()).collect();
        Self {
            sale_number,
            price: FiatView::from_minor(row.payment.price_minor, row.payment.currency),
            acceptance: Acceptance::new(row, receipts, &anomalies),
        }
    }

    /// `None` if there is no such payment.
    fn load(reader: &Reader<'_>, payment_id: &Id) -> Result<Option<Self>, StoreError> {
        let Some(row) = reader.payment(payment_id)? else { return Ok(None) };
        let (receipts, anomalies) =
            (reader.receipts(row.seq)?, reader.anomalies_of_payment(row.seq)?);
        Ok(Some(Self::new(&row, reader.sale_number(row.seq)?, &receipts, &anomalies)))
    }
}

impl AnomalyItem {
    pub fn from_row(
        gateway: &Gateway,
        row: &tillgate_store::anomalies::AnomalyRow,
        about: &AboutPayment,
    ) -> Self {
        Self {
            anomaly_id: row.anomaly.id.to_string(),
            payment_id: row.payment_id.to_string(),
            anomaly_type: row.anomaly.kind,
            paid: BtcView::from_sats(row.anomaly.paid_sats),
            came_in_time: row.came_in_time,
            worth: FiatView::from_minor(row.worth_minor(), row.currency),
            worth_today: FiatView::today(gateway, row.anomaly.paid_sats, row.currency),
            time: row.created_at.iso_seconds(),
            message: anomaly_message(row),
            resolution: row.anomaly.resolution.into(),
            dismissal_reason: row.dismissal_reason.clone(),
            btc_tx_ids: row.anomaly.txids.iter().map(ToString::to_string).collect(),
            merchant_transaction_id: row.merchant_transaction_id.clone(),
            sale_number: about.sale_number,
            price: about.price.clone(),
            notified: row.notification_url.is_some(),
            acceptance: about.acceptance.clone(),
            payout_id: row.payout_id.map(|id| id.to_string()),
            question: RefundQuestion::from_row(row),
            payment_page_url: gateway.page_of(&row.payment_id),
        }
    }
}

impl Ask for ListAnomalies {
    type Answer = Page<AnomalyItem>;

    async fn answer(self, by: &Asker<'_>) -> Result<Page<AnomalyItem>, CommandError> {
        let resolution = self.open.then_some(anomaly::Resolution::Open);
        let filter = AnomalyFilter { resolution, ..AnomalyFilter::default() };
        let limit = page_size(self.limit)?;
        by.read(move |gateway, reader| {
            let rows = reader.anomalies(&filter, limit, u64::from(self.offset))?;
            // A payment with many anomalies is read once.
            let mut payments: HashMap<Id, AboutPayment> = HashMap::new();
            let mut items = Vec::with_capacity(rows.len());
            for row in &rows {
                if !payments.contains_key(&row.payment_id)
                    && let Some(about) = AboutPayment::load(reader, &row.payment_id)?
                {
                    payments.insert(row.payment_id, about);
                }
                items.extend(
                    payments
                        .get(&row.payment_id)
                        .map(|about| AnomalyItem::from_row(gateway, row, about)),
                );
            }
            Ok(Page { items, items_count: reader.anomalies_count(&filter)? })
        })
        .await
    }
}

impl Ask for ShowAnomaly {
    type Answer = AnomalyItem;

    async fn answer(self, by: &Asker<'_>) -> Result<AnomalyItem, CommandError> {
        show(by, id("anomalyId", &self.anomaly_id)?).await
    }
}

impl Ask for DismissAnomaly {
    type Answer = AnomalyItem;

    async fn answer(self, by: &Asker<'_>) -> Result<AnomalyItem, CommandError> {
        let anomaly_id = id("anomalyId", &self.anomaly_id)?;
        anomalies::dismiss(by.gateway(), anomaly_id, &self.reason, by.actor).await?;
        show(by, anomaly_id).await
    }
}

impl Ask for AskRefundAddress {
    type Answer = AnomalyItem;

    async fn answer(self, by: &Asker<'_>) -> Result<AnomalyItem, CommandError> {
        let anomaly_id = id("anomalyId", &self.anomaly_id)?;
        anomalies::ask(by.gateway(), anomaly_id, by.actor).await?;
        show(by, anomaly_id).await
    }
}

impl Ask for RefundAnomaly {
    type Answer = PayoutView;

    async fn answer(self, by: &Asker<'_>) -> Result<PayoutView, CommandError> {
        let anomaly_id = id("anomalyId", &self.anomaly_id)?;
        let mut request = RefundRequest::of_staff(anomaly_id, self.address.trim(), by.actor);
        request.offer.payout.currency =
            self.currency.filter(|currency| !currency.is_empty()).map(Into::into);
        request.offer.is_approved = self.approve;
        request.offer.again = self.although_paid;
        by.refresh_rates_if_unserved().await?;
        match anomalies::refund(by.gateway(), request).await {
            Ok(Offered::New { payout_id, .. }) => payouts::show(by, payout_id).await,
            // Only a request with an idempotency key can be answered again.
            Ok(Offered::Again(_)) => Err(CommandError::internal()),
            Err(error @ RefundError::NotOpen(_)) => Err(not_open(by, anomaly_id, error).await?),
            Err(error) => Err(error.into()),
        }
    }
}

/// The refusal of a second refund, which names the payout of the first one.
async fn not_open(
    by: &Asker<'_>,
    anomaly_id: Id,
    error: RefundError,
) -> Result<CommandError, CommandError> {
    Ok(match show(by, anomaly_id).await?.payout_id {
        Some(payout_id) => {
            let refusal = RefundedByPayout { refusal: error, payout_id };
            CommandError::told(ErrorType::AnomalyNotOpen, &refusal)
        }
        None => error.into(),
    })
}

async fn show(by: &Asker<'_>, id: Id) -> Result<AnomalyItem, CommandError> {
    let find = move |gateway: &Gateway, reader: &Reader<'_>| {
        let Some(row) = reader.anomaly(&id)? else { return Ok(None) };
        Ok(AboutPayment::load(reader, &row.payment_id)?
            .map(|about| AnomalyItem::from_row(gateway, &row, &about)))
    };
    by.read(find).await?.ok_or_else(|| CommandError::not_found(&NotFound::Anomaly(id)))
}
