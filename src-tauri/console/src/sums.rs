//! Sums for people: amounts of money, and the effect of accepting coins. The panel shows them
//! without computing anything.

use std::fmt;

use serde::{Deserialize, Serialize};
use tillgate_domain::advance::may_accept;
use tillgate_domain::anomaly::Anomaly;
use tillgate_domain::money::Currency;
use tillgate_domain::receipt::Receipt;
use tillgate_gateway::gateway::Gateway;
use tillgate_store::payments::PaymentRow;
use ts_rs::TS;

use super::btc::BtcView;

/// A sum of money in a currency.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct FiatView {
    /// The amount in minor units of the currency, such as cents. A difference may be negative.
    #[ts(type = "number")]
    pub minor: i64,
    /// In plain decimals: `1234.50`.
    pub text: String,
    /// For people, with thousands separators: `1,234.50`.
    pub shown: String,
    /// The ISO code of the currency.
    pub currency: String,
}

impl FiatView {
    /// The view of a number of minor units.
    #[must_use]
    pub fn from_minor(minor: i64, currency: Currency) -> Self {
        Self {
            minor,
            text: currency.format_minor(minor),
            shown: currency.show_minor(minor),
            currency: currency.code().to_owned(),
        }
    }

    /// The worth of satoshis at the present rate, rounded half-even like the worth of a payout;
    /// `None` without a fresh rate.
    pub fn today(gateway: &Gateway, sats: u64, currency: Currency) -> Option<Self> {
        let market = gateway.market.rates.rate_for(currency, gateway.time.now()).ok()?;
        Some(Self::from_minor(market.rate.sats_to_minor_half_even(sats, currency)?, currency))
    }
}

impl fmt::Display for FiatView {
    /// For people: `1,234.50 USD`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.shown, self.currency)
    }
}

/// The effect of accepting the coins that came for a payment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct Acceptance {
    /// The sum of all coins that would count.
    pub coins: BtcView,
    /// The worth of that sum at the payment's rate.
    pub worth: FiatView,
    pub price: FiatView,
    /// The price minus the worth; absent if the worth is not less.
    pub short: Option<FiatView>,
    /// The worth minus the price; absent unless the coins are too much.
    pub over: Option<FiatView>,
    /// Whether the shop is notified of the acceptance; false if the payment has no
    /// `notificationUrl`.
    pub notified: bool,
}

impl Acceptance {
    /// The effect of accepting the coins; `None` if staff may not accept, or if no coins came.
    #[must_use]
    pub fn new(row: &PaymentRow, receipts: &[Receipt], anomalies: &[Anomaly]) -> Option<Self> {
        let sats = may_accept(&row.payment, receipts, anomalies).ok()?;
        let mut accepted = row.payment.clone();
        accepted.paid_sats = sats;
        let fiat = |minor| FiatView::from_minor(minor, accepted.currency);
        let missing = accepted.remaining_minor();
        Some(Self {
            coins: BtcView::from_sats(sats),
            worth: fiat(accepted.paid_minor()),
            price: fiat(accepted.price_minor),
            short: (missing > 0).then(|| fiat(missing)),
            over: (accepted.surplus_sats() > 0).then(|| fiat(missing.saturating_neg())),
            notified: row.notification_url.is_some(),
        })
    }
}

#[cfg(test)]
mod tests;
