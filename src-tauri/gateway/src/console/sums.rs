//! Sums and states as people read them: money with thousands separated, what accepting coins would mean, why a
//! payment is invalid. The panel shows these as they are and computes nothing.

use serde::{Deserialize, Serialize};
use tillgate_domain::advance::may_accept;
use tillgate_domain::anomaly::Anomaly;
use tillgate_domain::money::Currency;
use tillgate_domain::payment;
use tillgate_domain::receipt::Receipt;
use ts_rs::TS;

use super::btc::BtcView;
use crate::store::payments::PaymentRow;

/// A sum of money in a currency.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct FiatView {
    /// Whole minor units; negative for a difference.
    #[ts(type = "number")]
    pub minor: i64,
    /// In plain decimals: `1234.50`.
    pub text: String,
    /// For people, with thousands separators: `1,234.50`.
    pub shown: String,
    /// ISO code.
    pub currency: String,
}

impl FiatView {
    /// The view of so many minor units.
    #[must_use]
    pub fn of(minor: i64, currency: Currency) -> Self {
        Self {
            minor,
            text: currency.format_minor(minor),
            shown: currency.show_minor(minor),
            currency: currency.code().to_owned(),
        }
    }
}

/// The effect of accepting the coins that came for a payment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct Acceptance {
    /// All coins that would count.
    pub coins: BtcView,
    /// Their worth at the payment's rate.
    pub worth: FiatView,
    /// The price of the payment.
    pub price: FiatView,
    /// The difference to the price, if the worth is less.
    pub short: Option<FiatView>,
    /// The difference to the price, if the worth is more.
    pub over: Option<FiatView>,
    /// Whether the shop is notified of it; false if the payment has no `notificationUrl`.
    pub notified: bool,
}

impl Acceptance {
    /// `None` if staff may not accept, or if no coins came.
    #[must_use]
    pub fn of(row: &PaymentRow, receipts: &[Receipt], anomalies: &[Anomaly]) -> Option<Self> {
        let sats = may_accept(&row.payment, receipts, anomalies).ok()?;
        let mut accepted = row.payment.clone();
        accepted.paid_sats = sats;
        let fiat = |minor| FiatView::of(minor, accepted.currency);
        let missing = accepted.remaining_minor();
        Some(Self {
            coins: BtcView::of_sats(sats),
            worth: fiat(accepted.paid_minor()),
            price: fiat(accepted.price_minor),
            short: (missing > 0).then(|| fiat(missing)),
            over: (missing < 0).then(|| fiat(missing.saturating_neg())),
            notified: row.notification_url.is_some(),
        })
    }
}

/// Why a payment is INVALID.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum WhyInvalid {
    /// Too little came before it closed.
    ShortPaid,
    /// One transaction paid too much, which the merchant does not take.
    Overpaid,
    /// It was confirmed, and the chain took the coins back.
    Reversed,
    /// The coins were double-spent, or missed for 14 days, before they were confirmed.
    Withdrawn,
}

impl From<payment::WhyInvalid> for WhyInvalid {
    fn from(why: payment::WhyInvalid) -> Self {
        match why {
            payment::WhyInvalid::ShortPaid => Self::ShortPaid,
            payment::WhyInvalid::Overpaid => Self::Overpaid,
            payment::WhyInvalid::Reversed => Self::Reversed,
            payment::WhyInvalid::Withdrawn => Self::Withdrawn,
        }
    }
}

#[cfg(test)]
mod tests;
