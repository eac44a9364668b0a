//! Payments as the panel and the command line show them. This code only queries and formats.

use serde::{Deserialize, Serialize};
use tillgate_domain::advance::waits_for_block;
use tillgate_domain::bip21::{payment_uri, qr_uri};
use tillgate_domain::id::Id;
use tillgate_domain::payment::{self, ConflictChange, Payment, PaymentState, WhyInvalid};
use tillgate_domain::receipt::{Receipt, least_confirmations};
use tillgate_domain::time::Timestamp;
use tillgate_gateway::gateway::Gateway;
use tillgate_gateway::records::qr;
use tillgate_store::keychains::Keychain;
use tillgate_store::{Reader, StoreError};
use ts_rs::TS;

use crate::anomalies::{AboutPayment, AnomalyItem};
use crate::btc::BtcView;
use crate::certificates::CertificateView;
use crate::deliveries::DeliveryItem;
use crate::sale::SaleView;
use crate::sums::{Acceptance, FiatView};
use crate::transaction_position::TransactionPosition;

/// Most deliveries shown with one payment; `deliveries list` shows more.
const DELIVERIES_OF_PAYMENT: u32 = 100;

/// A payment in the list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct PaymentItem {
    pub payment_id: String,
    /// The number of its sale; absent unless it was made at the till.
    #[serde(default)]
    pub sale_number: Option<u32>,
    pub state: PaymentState,
    /// The amount to pay.
    pub amount: BtcView,
    /// The sum that counts.
    pub paid: BtcView,
    /// The sum paid beyond the amount; absent unless that is too much.
    pub overpaid_by: Option<BtcView>,
    /// The name of the API key that created it, or the merchant's name for a payment created by a
    /// person.
    pub label: String,
    /// The message for the customer.
    pub message: String,
    /// The shop's own reference.
    pub merchant_transaction_id: String,
    /// The time of creation, ISO 8601.
    pub creation_time: String,
    /// The deadline for the customer, ISO 8601.
    pub expiration_time: String,
    /// Whether staff cancelled it, so that its deadline came early.
    #[serde(default)]
    pub is_cancelled: bool,
    /// Whether another transaction is taking back coins on which the CONFIRMED payment rests.
    #[serde(default)]
    pub conflict_seen: bool,
    /// The number of its OPEN anomalies.
    pub open_anomalies: u32,
    pub price: FiatView,
    /// The worth of the sum that counts.
    pub paid_worth: FiatView,
    /// The worth of the sum that is still to pay, or that was paid beyond the amount.
    pub difference_worth: FiatView,
    /// The reason why it is INVALID; absent in every other state.
    pub why_invalid: Option<WhyInvalid>,
    /// The fewest confirmations of a transaction that counts, while the payment is UNCONFIRMED;
    /// otherwise 0.
    pub confirmations: u32,
    /// The number of confirmations that make it CONFIRMED; 0 while its coins may be accepted before
    /// a block holds them.
    pub confirmations_wanted: u32,
}

/// One payment with all details.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct PaymentView {
    /// The payment's item in the list.
    #[serde(flatten)]
    pub item: PaymentItem,
    /// The content of its sale; absent unless it was made at the till.
    #[serde(default)]
    pub sale: Option<SaleView>,
    /// The address to pay to.
    pub address: String,
    /// Whether the address has more transactions than the server reports, so that its coins are not
    /// seen.
    #[serde(default)]
    pub is_unreported: bool,
    /// The derivation index of the address in the external keychain.
    pub address_index: u32,
    /// The path from the wallet's master key to the address's key, `m/84'/0'/0'/0/17`; absent
    /// without a wallet.
    pub address_path: Option<String>,
    /// The payment's exchange rate, with 4 decimals.
    pub exchange_rate: String,
    /// The BIP21 URI with address, amount, label and message.
    pub payment_address: String,
    /// The URL of the payment page for the customer.
    pub payment_page_url: String,
    /// The sum still to pay; absent if nothing remains.
    pub still_due: Option<BtcView>,
    /// The rate for people: `64,210.55`.
    pub exchange_rate_shown: String,
    /// The quotes from which the rate was computed; absent if they were not stored.
    pub certificate: Option<CertificateView>,
    /// The QR code of address and amount, an SVG document.
    pub qr_svg: String,
    /// When it first became CONFIRMED, ISO 8601; absent before.
    pub payment_time: Option<String>,
    pub notification_url: Option<String>,
    pub anomaly_notification_url: Option<String>,
    /// The effect of accepting the coins that came; absent if staff may not accept them.
    pub acceptance: Option<Acceptance>,
    /// The coins at its address that do not count as paid; absent if all of them count.
    #[serde(default)]
    pub uncounted: Option<Uncounted>,
    /// Sums that the sandbox's customer could pay; absent outside the sandbox.
    pub sandbox_amounts: Option<SandboxAmounts>,
    /// The labels that staff imported for its address, its transactions and their outputs.
    #[serde(default)]
    pub labels: Vec<String>,
    /// All transactions that pay its address, including those that do not count.
    pub transactions: Vec<TransactionItem>,
    /// Its changes, oldest first.
    pub history: Vec<HistoryItem>,
    /// The attempts to send its notifications, newest first.
    pub deliveries: Vec<DeliveryItem>,
    /// Its anomalies, newest first.
    pub anomalies: Vec<AnomalyItem>,
}

/// Coins at a payment's address that do not count as paid.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct Uncounted {
    /// The sum of these coins.
    pub coins: BtcView,
    /// The worth of that sum at the payment's rate.
    pub worth: FiatView,
}

/// The sums of the sandbox buttons that pay a payment. They are computed here, because the panel
/// computes no sums.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct SandboxAmounts {
    /// The sum still to pay; absent if nothing remains.
    pub exact: Option<BtcView>,
    /// Half of the sum still to pay; absent if that half is below the dust limit.
    pub part: Option<BtcView>,
    /// The sum still to pay, and half of the payment's amount in addition.
    pub too_much: BtcView,
}

/// A transaction that pays a payment's address.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct TransactionItem {
    pub btc_tx_id: String,
    /// The sum of its outputs to the address.
    pub amount: BtcView,
    /// The part of that sum that counts as paid.
    pub counted: BtcView,
    pub confirmations: u32,
    /// Whether it is in a block, in the mempool or in neither.
    pub position: TransactionPosition,
    /// When a look first showed it, ISO 8601 with milliseconds.
    pub time: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum ChangeCause {
    /// The chain or the mempool showed something new.
    Chain,
    /// The chain or the mempool showed that coins which had counted are gone.
    Withdrawn,
    /// Time passed, for example until the deadline.
    Time,
    /// Staff accepted the coins that came.
    Staff,
}

impl ChangeCause {
    /// The cause of a change. `is_withdrawal` means that coins which had counted were gone after
    /// it.
    pub const fn new(cause: payment::Cause, is_withdrawal: bool) -> Self {
        match cause {
            _ if is_withdrawal => Self::Withdrawn,
            payment::Cause::Chain => Self::Chain,
            payment::Cause::Time => Self::Time,
            payment::Cause::Staff => Self::Staff,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct HistoryItem {
    /// The time of the change, ISO 8601 with milliseconds.
    pub time: String,
    /// The state before the change.
    pub from: PaymentState,
    /// The state after the change.
    pub to: PaymentState,
    /// The sum that counted after the change.
    pub paid: BtcView,
    pub cause: ChangeCause,
    /// Whether a conflict with its coins came or went; absent for every other change.
    pub conflict: Option<ConflictChange>,
    /// The reason why the payment was INVALID after the change; absent for every other state.
    pub why_invalid: Option<WhyInvalid>,
}

impl PaymentItem {
    pub fn from_row(
        reader: &Reader<'_>,
        row: &tillgate_store::payments::PaymentRow,
        now: Timestamp,
    ) -> Result<Self, StoreError> {
        let payment = &row.payment;
        let (confirmations, waits_for_block) = match payment.state {
            PaymentState::Unconfirmed => {
                let receipts = reader.receipts(row.seq)?;
                let confirmations = least_confirmations(&receipts, reader.tip_height()?);
                (confirmations, waits_for_block(payment, &receipts, now))
            }
            PaymentState::New
            | PaymentState::Underpaid
            | PaymentState::Confirmed
            | PaymentState::Expired
            | PaymentState::Invalid => (0, false),
        };
        Ok(Self {
            is_cancelled: payment.is_cancelled(),
            conflict_seen: payment.conflict_seen,
            payment_id: payment.id.to_string(),
            sale_number: reader.sale_number(row.seq)?,
            state: payment.state,
            amount: BtcView::from_sats(payment.amount_sats),
            paid: BtcView::from_sats(payment.paid_sats),
            overpaid_by: (payment.surplus_sats() > 0)
                .then(|| BtcView::from_sats(payment.surplus_sats())),
            label: row.label.clone(),
            message: row.message.clone(),
            merchant_transaction_id: row.merchant_transaction_id.clone(),
            creation_time: payment.created_at.iso_seconds(),
            expiration_time: payment.expires_at.iso_seconds(),
            open_anomalies: u32::try_from(reader.open_anomalies_count(Some(row.seq))?)
                .unwrap_or(u32::MAX),
            price: FiatView::from_minor(payment.price_minor, payment.currency),
            paid_worth: FiatView::from_minor(payment.paid_minor(), payment.currency),
            difference_worth: FiatView::from_minor(
                payment.remaining_minor().saturating_abs(),
                payment.currency,
            ),
            why_invalid: payment.why_invalid(),
            confirmations,
            confirmations_wanted: payment.policy.confirmations.max(waits_for_block.into()),
        })
    }
}

impl PaymentView {
    /// The view of the payment with this id; `None` if the id is unknown.
    pub fn find(
        gateway: &Gateway,
        reader: &Reader<'_>,
        id: &Id,
    ) -> Result<Option<Self>, StoreError> {
        let Some(row) = reader.payment(id)? else { return Ok(None) };
        let payment = &row.payment;
        let receipts = reader.receipts(row.seq)?;
        let anomalies = reader.anomalies_of_payment(row.seq)?;
        let item = PaymentItem::from_row(reader, &row, gateway.time.now())?;
        let about = AboutPayment::new(&row, item.sale_number, &receipts, &anomalies);
        let deliveries = reader.deliveries_of(id, DELIVERIES_OF_PAYMENT)?;
        let tip_height = reader.tip_height()?;
        let remaining = payment.remaining_sats();
        let txids: Vec<_> = receipts.iter().map(|receipt| receipt.txid).collect();
        Ok(Some(Self {
            item,
            sale: reader
                .sale_of_payment(row.seq)?
                .map(|sale| SaleView::new(&sale, payment.currency)),
            address: row.address.clone(),
            is_unreported: gateway.backend.last_look.is_unreported(&payment.id),
            address_index: row.derivation_index,
            address_path: gateway
                .wallet
                .get()
                .map(|wallet| wallet.keychains.path(Keychain::External, row.derivation_index)),
            exchange_rate: payment.rate.format(),
            payment_address: payment_uri(
                &row.address,
                payment.amount_sats,
                &row.label,
                &row.message,
            ),
            payment_page_url: gateway.page_of(&payment.id),
            still_due: (remaining > 0).then(|| BtcView::from_signed_sats(remaining)),
            exchange_rate_shown: payment.rate.show(),
            certificate: reader.rate_of_payment(row.seq)?.map(CertificateView::from),
            qr_svg: qr::svg(&qr_uri(&row.address, payment.asked_sats())),
            payment_time: payment.confirmed_at.map(|at| at.iso_seconds()),
            notification_url: row.notification_url.clone(),
            anomaly_notification_url: row.anomaly_notification_url.clone(),
            acceptance: about.acceptance.clone(),
            uncounted: Uncounted::new(payment, &receipts),
            sandbox_amounts: gateway
                .backend
                .sandbox
                .is_some()
                .then(|| SandboxAmounts::for_payment(payment)),
            labels: reader.labels_of_payment(row.seq, &row.address, &txids)?,
            transactions: receipts
                .iter()
                .map(|receipt| TransactionItem::from_receipt(receipt, tip_height))
                .collect(),
            history: HistoryItem::all(payment.too_much_sats(), &reader.payment_history(row.seq)?),
            deliveries: deliveries.iter().map(DeliveryItem::from).collect(),
            anomalies: anomalies
                .iter()
                .map(|row| AnomalyItem::from_row(gateway, row, &about))
                .collect(),
        }))
    }
}

impl Uncounted {
    /// The coins that do not count; `None` if all coins at the payment's address count.
    fn new(payment: &Payment, receipts: &[Receipt]) -> Option<Self> {
        let there = receipts.iter().filter(|receipt| !receipt.gone);
        let uncounted =
            there.map(|receipt| receipt.amount_sats.saturating_sub(receipt.counted_sats));
        let sats = uncounted.fold(0, u64::saturating_add);
        let worth = Payment { paid_sats: sats, ..payment.clone() }.paid_minor();
        (sats > 0).then(|| Self {
            coins: BtcView::from_sats(sats),
            worth: FiatView::from_minor(worth, payment.currency),
        })
    }
}

impl SandboxAmounts {
    /// Computes the sums. None is below the dust limit, because nodes do not relay such an output.
    fn for_payment(payment: &Payment) -> Self {
        let dust_limit_sats = payment.dust_limit_sats;
        let owed_sats = payment.amount_sats.saturating_sub(payment.paid_sats);
        let half_sats = owed_sats / 2;
        Self {
            exact: (owed_sats > 0).then(|| BtcView::from_sats(payment.asked_sats())),
            part: (half_sats >= dust_limit_sats).then(|| BtcView::from_sats(half_sats)),
            too_much: BtcView::from_sats(
                owed_sats.saturating_add((payment.amount_sats / 2).max(dust_limit_sats)),
            ),
        }
    }
}

impl TransactionItem {
    fn from_receipt(receipt: &Receipt, tip_height: u32) -> Self {
        Self {
            btc_tx_id: receipt.txid.to_string(),
            amount: BtcView::from_sats(receipt.amount_sats),
            counted: BtcView::from_sats(receipt.counted_sats),
            confirmations: receipt.confirmations(tip_height),
            position: receipt.into(),
            time: receipt.first_seen_at.iso_millis(),
        }
    }
}

impl HistoryItem {
    /// The changes of a payment, oldest first. From `too_much_sats` on its coins are too much.
    fn all(too_much_sats: u64, changes: &[tillgate_store::history::HistoryRow]) -> Vec<Self> {
        let mut paid_before = 0;
        let mut was_confirmed = false;
        let mut rows = Vec::with_capacity(changes.len());
        for change in changes {
            let withdrawn = change.cause.is_withdrawal(paid_before, change.paid_sats);
            rows.push(Self {
                time: change.at.iso_millis(),
                from: change.from,
                to: change.to,
                paid: BtcView::from_sats(change.paid_sats),
                cause: ChangeCause::new(change.cause, withdrawn),
                conflict: change.conflict,
                why_invalid: payment::WhyInvalid::in_state(
                    change.to,
                    was_confirmed,
                    too_much_sats,
                    change.paid_sats,
                ),
            });
            paid_before = change.paid_sats;
            was_confirmed |= change.to == PaymentState::Confirmed;
        }
        rows
    }
}

#[cfg(test)]
mod tests {
    use tillgate_domain::money::{Currency, Rate};
    use tillgate_domain::payment::Price;
    use tillgate_domain::policy::PolicySettings;
    use tillgate_domain::time::Timestamp;

    use super::*;
    use tillgate_gateway::testing::{HALF_AN_HOUR_MS, World};

    /// The sums `exact`, `part` and `too_much` for a payment of `amount_sats` that received
    /// `paid_sats`.
    fn offered(amount_sats: u64, paid_sats: u64) -> (Option<i64>, Option<i64>, i64) {
        let rate = Rate::parse("65000").unwrap();
        let price = Price {
            minor: 1_000,
            currency: Currency::USD,
            rate,
            amount_sats,
            dust_limit_sats: 294,
        };
        let now = Timestamp::from_ms(0);
        let opened = Payment::open(
            Id::from_bytes([1; 20]),
            &price,
            &PolicySettings::default(),
            None,
            None,
            now,
        );
        let amounts = SandboxAmounts::for_payment(&Payment { paid_sats, ..opened });
        (amounts.exact.map(|sum| sum.sats), amounts.part.map(|sum| sum.sats), amounts.too_much.sats)
    }

    #[tokio::test]
    async fn late_coins_are_shown_until_they_are_gone() {
        let world = World::new().await;
        let payment = world.payment().await;
        world.advance_clock_ms(HALF_AN_HOUR_MS + 1);
        world.look().await;
        let uncounted = || {
            let find = |reader: &Reader<'_>| {
                PaymentView::find(&world.gateway, reader, &payment.payment.id)
            };
            let view = world.gateway.store.read(find).unwrap().unwrap();
            view.uncounted.map(|coins| (coins.coins.sats, coins.worth.text))
        };
        assert_eq!(uncounted(), None);
        let sats = payment.payment.amount_sats;
        world.pay(&payment, sats).await;
        let late = Some((i64::try_from(sats).unwrap(), "10.00".to_owned()));
        assert_eq!(uncounted(), late);
        world.mine(2).await;
        assert_eq!(uncounted(), late, "coins of an anomaly still do not count");
        world.sandbox().reorg(2, false, world.now_ms()).unwrap();
        world.look().await;
        assert_eq!(uncounted(), None, "coins that are gone are not shown");
    }

    #[test]
    fn the_sandbox_offers_the_sum_due_half_of_it_and_more_than_it() {
        assert_eq!(offered(10_001, 0), (Some(10_001), Some(5_000), 15_001));
        assert_eq!(offered(10_000, 6_000), (Some(4_000), Some(2_000), 9_000));
    }

    #[test]
    fn the_sandbox_never_offers_dust() {
        assert_eq!(offered(10_000, 9_900), (Some(294), None, 5_100));
        assert_eq!(offered(10_000, 10_000), (None, None, 5_000));
        assert_eq!(offered(400, 500), (None, None, 294));
    }
}
