//! The contents of a payment page as texts and numbers; no markup.

use tillgate_domain::anomaly::{AnomalyKind, Resolution};
use tillgate_domain::bip21;
use tillgate_domain::money::{Currency, format_btc};
use tillgate_domain::payment::{Payment, PaymentState};
use tillgate_domain::receipt::{Receipt, least_confirmations};
use tillgate_domain::time::Timestamp;
use tillgate_gateway::payments::RedirectKind;
use tillgate_gateway::settings::Settings;
use tillgate_machine::environment::Environment;
use tillgate_store::anomalies::AnomalyRow;
use tillgate_store::payments::PaymentRow;
use tillgate_store::{Reader, StoreError};

use super::brand::Color;

/// The contents of a payment's page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct View {
    pub merchant: Merchant,
    pub is_test: bool,
    pub state: PageState,
    /// The `status` of the payment's record, for a page that frames this one.
    pub status: PaymentState,
    pub price_minor: i64,
    pub currency: Currency,
    pub message: String,
    /// The shop's own reference.
    pub reference: String,
    /// The URL to which the page moves on in this state.
    pub redirect: Option<String>,
    pub refund: Option<Refund>,
}

/// The question where to send a refund.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refund {
    /// Staff ask for an address.
    Asked,
    /// A customer gave this address, and staff decide.
    Given(String),
}

impl Refund {
    /// The question of a payment's anomalies. One that waits for an answer comes first.
    fn from_anomalies(
        reader: &Reader<'_>,
        anomalies: &[AnomalyRow],
    ) -> Result<Option<Self>, StoreError> {
        if anomalies.iter().any(AnomalyRow::awaits_answer) {
            return Ok(Some(Self::Asked));
        }
        for row in anomalies {
            let Some(answer) = &row.answer else { continue };
            if row.is_asked() || Self::goes_to(reader, row, &answer.address)? {
                return Ok(Some(Self::Given(answer.address.clone())));
            }
        }
        Ok(None)
    }

    /// Whether the refund that is under way pays the customer's address. Staff may have sent it
    /// elsewhere.
    fn goes_to(reader: &Reader<'_>, row: &AnomalyRow, address: &str) -> Result<bool, StoreError> {
        let under_way = row.payout_id.filter(|_| row.anomaly.resolution == Resolution::Refunding);
        let Some(payout_id) = under_way else { return Ok(false) };
        Ok(reader.payout(&payout_id)?.is_some_and(|payout| payout.address == address))
    }
}

/// The merchant's name, colour and logo, from the settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Merchant {
    pub name: String,
    pub color: Option<Color>,
    /// An image as a `data:` URL.
    pub logo: Option<String>,
}

/// The payment's state as the customer sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PageState {
    /// To be paid.
    Payable(Payable),
    /// The deadline has passed, and the closing look is still to come.
    TimeUp,
    /// Paid, with fewer confirmations than wanted.
    Unconfirmed {
        /// `None` if the database is too busy to read them.
        confirmations: Option<u32>,
        wanted: u32,
    },
    Confirmed {
        /// The sum of all received coins, if it is too much for the payment's amount.
        too_much_sats: Option<u64>,
    },
    /// Confirmed, but another transaction spends its unconfirmed coins.
    TakingBack,
    /// Staff cancelled it, and no coins came.
    Cancelled,
    /// No coins came in time.
    Expired,
    /// It was not completed. The page says no more while the database is too busy to read whether
    /// coins came.
    Invalid,
    /// The received coins do not make the payment paid. The customer must not pay again.
    Held { received_sats: u64, because: HeldBecause },
    /// The payment was confirmed, and then a reorg or a double spend took these coins back.
    TakenBack {
        taken_sats: u64,
        /// The sum of the received coins that remain.
        left_sats: Option<u64>,
    },
}

/// Why the received coins do not make a payment paid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeldBecause {
    Late,
    TooLittle,
    TooMuch,
}

/// The received coins of a payment.
#[derive(Debug, Clone)]
pub struct Came {
    /// The fewest confirmations among the transactions that count.
    confirmations: u32,
    /// The sum of all coins at the payment's address that are not gone.
    there_sats: u64,
    /// Whether some of them do not count.
    has_uncounted: bool,
    /// The sum of the coins that had confirmed the payment, if they were taken back.
    taken_back_sats: Option<u64>,
    refund: Option<Refund>,
}

impl Came {
    /// Reads all transactions of the payment, whose number has no limit.
    pub fn load(reader: &Reader<'_>, row: &PaymentRow) -> Result<Self, StoreError> {
        let receipts = reader.receipts(row.seq)?;
        let there = || receipts.iter().filter(|receipt| !receipt.gone);
        let is_reversal = |kind, resolution| {
            kind == AnomalyKind::ReversedPayment && resolution != Resolution::DismissedBySystem
        };
        let anomalies = reader.anomalies_of_payment(row.seq)?;
        let reversal =
            anomalies.iter().find(|row| is_reversal(row.anomaly.kind, row.anomaly.resolution));
        Ok(Self {
            confirmations: least_confirmations(&receipts, reader.tip_height()?),
            there_sats: there()
                .fold(0, |sum, receipt: &Receipt| sum.saturating_add(receipt.amount_sats)),
            has_uncounted: there().any(|receipt| receipt.counted_sats < receipt.amount_sats),
            taken_back_sats: reversal.map(|row| row.anomaly.paid_sats),
            refund: Refund::from_anomalies(reader, &anomalies)?,
        })
    }
}

/// The data that a customer needs to pay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Payable {
    pub address: String,
    /// The amount to pay now: the remaining sum, but at least the dust limit.
    pub amount_btc: String,
    /// The sum received so far; absent if it is 0.
    pub paid_sats: Option<u64>,
    /// The text of the QR code: address and amount only, because a message can be too long for a QR
    /// code.
    pub qr_uri: String,
    /// The link for a wallet on the same device: with label and message.
    pub wallet_uri: String,
    pub seconds_left: i64,
}

impl View {
    /// The page of a payment at `now`. `came` is `None` if the state needs no coins, or if the
    /// database is too busy to read them.
    pub fn new(
        row: &PaymentRow,
        came: Option<Came>,
        now: Timestamp,
        environment: Environment,
        settings: &Settings,
    ) -> Self {
        let payment = &row.payment;
        let refund = came.as_ref().and_then(|came| came.refund.clone());
        let state = match payment.state {
            PaymentState::New | PaymentState::Underpaid if now < payment.expires_at => {
                PageState::Payable(Payable::new(row, now))
            }
            PaymentState::New if payment.is_cancelled() => PageState::Cancelled,
            PaymentState::New | PaymentState::Underpaid => PageState::TimeUp,
            PaymentState::Unconfirmed => PageState::Unconfirmed {
                confirmations: came.map(|came| came.confirmations),
                wanted: payment.policy.confirmations,
            },
            PaymentState::Confirmed if payment.conflict_seen => PageState::TakingBack,
            PaymentState::Confirmed => PageState::Confirmed {
                too_much_sats: came
                    .map(|came| came.there_sats)
                    .filter(|sats| *sats >= payment.too_much_sats()),
            },
            PaymentState::Expired | PaymentState::Invalid => match came {
                None => PageState::Invalid,
                Some(came) => PageState::unpaid(payment, &came),
            },
        };
        Self {
            merchant: Merchant {
                name: settings.merchant_name.clone(),
                color: settings.merchant_color.as_deref().and_then(Color::parse),
                logo: settings.merchant_logo.clone(),
            },
            is_test: environment == Environment::Test,
            redirect: redirect(payment, row.redirect_urls.as_deref()),
            refund,
            state,
            status: payment.state,
            price_minor: payment.price_minor,
            currency: payment.currency,
            message: row.message.clone(),
            reference: row.merchant_transaction_id.clone(),
        }
    }

    /// Whether the page goes to the shop by itself. After a late payment the page stays, because
    /// the shop's page would say “start again”. A page that asks the customer stays too.
    pub const fn moves_on(&self) -> bool {
        self.refund.is_none()
            && !matches!(self.state, PageState::Held { because: HeldBecause::Late, .. })
    }

    /// Equal for two views that differ only in the time left.
    pub fn fingerprint(&self) -> String {
        let mut still = self.clone();
        if let PageState::Payable(payable) = &mut still.state {
            payable.seconds_left = 0;
        }
        format!("{still:?}")
    }
}

impl PageState {
    /// The state of a payment that is EXPIRED or INVALID.
    fn unpaid(payment: &Payment, came: &Came) -> Self {
        let left_sats = (came.there_sats > 0).then_some(came.there_sats);
        let because = if came.has_uncounted {
            HeldBecause::Late
        } else if let Some(taken_sats) = came.taken_back_sats {
            return Self::TakenBack { taken_sats, left_sats };
        } else if came.there_sats >= payment.too_much_sats() {
            HeldBecause::TooMuch
        } else {
            HeldBecause::TooLittle
        };
        match left_sats {
            Some(received_sats) => Self::Held { received_sats, because },
            None if payment.is_cancelled() => Self::Cancelled,
            None if payment.state == PaymentState::Expired => Self::Expired,
            None => Self::Invalid,
        }
    }
}

impl Payable {
    fn new(row: &PaymentRow, now: Timestamp) -> Self {
        let payment = &row.payment;
        let amount_sats = payment.asked_sats();
        let left_ms = payment.expires_at.ms().saturating_sub(now.ms());
        Self {
            address: row.address.clone(),
            amount_btc: format_btc(amount_sats),
            paid_sats: (payment.paid_sats > 0).then_some(payment.paid_sats),
            qr_uri: bip21::qr_uri(&row.address, amount_sats),
            wallet_uri: bip21::payment_uri(&row.address, amount_sats, &row.label, &row.message),
            // Rounded up: the last second is shown until it is over.
            seconds_left: left_ms.saturating_add(999) / 1_000,
        }
    }
}

/// The URL to which a payment's page moves on, with the payment's id filled in. While the customer
/// takes the money back, no page of the shop fits.
fn redirect(payment: &Payment, urls: Option<&str>) -> Option<String> {
    let kind = match payment.state {
        PaymentState::New | PaymentState::Underpaid => return None,
        PaymentState::Unconfirmed => RedirectKind::Unconfirmed,
        PaymentState::Confirmed if payment.conflict_seen => return None,
        PaymentState::Confirmed => RedirectKind::Confirmed,
        PaymentState::Expired => RedirectKind::Expired,
        PaymentState::Invalid => RedirectKind::Invalid,
    };
    let urls: serde_json::Value = serde_json::from_str(urls?).ok()?;
    let url = urls.get(kind.as_str())?.as_str()?;
    // The URL was validated when the payment was made. The check is repeated, so that a page links
    // only to http and https.
    let (scheme, _) = url.split_once("://")?;
    let is_web = scheme.eq_ignore_ascii_case("https") || scheme.eq_ignore_ascii_case("http");
    // A URL library writes the braces as `%7B` and `%7D`.
    let id = payment.id.to_string();
    is_web.then(|| url.replace("{paymentId}", &id).replace("%7BpaymentId%7D", &id))
}
