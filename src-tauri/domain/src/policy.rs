//! The merchant's rules for a payment, frozen at its creation. A later change of a setting does not
//! affect existing payments.

mod price_bound;
mod tiers;
mod usd;

use std::str::FromStr;

use rust_decimal::Decimal;

pub use price_bound::PriceBound;
pub use tiers::{ConfirmationTiers, MAX_CONFIRMATIONS, MAX_TIERS, TiersError};

/// The effect of an overpayment by a single transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OverpaymentRule {
    /// The payment is treated as paid; an anomaly reports the surplus.
    Confirm,
    /// The payment becomes INVALID instead of CONFIRMED.
    Invalidate,
}

/// The rules of one payment, frozen at its creation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// Confirmations that counting coins need; with 0 they may be accepted unconfirmed.
    pub confirmations: u32,
    /// With `confirmations` 0: time after the first sight of a transaction and after its last
    /// conflict, before which the transaction is not accepted; in milliseconds.
    pub zero_conf_quiet_ms: i64,
    /// The permitted shortfall, per mille of the amount, rounded down (0 to 100).
    pub tolerance_per_mille: u16,
    /// The effect of a single overpaying transaction.
    pub overpayment: OverpaymentRule,
    /// Confirmations that the coins of an anomaly need before it is raised.
    pub anomaly_confirmations: u32,
    /// Time after the deadline in which coins are still in time, if the closing look finds them; in
    /// milliseconds.
    pub offline_grace_ms: i64,
}

/// The merchant's settings that a payment freezes at its creation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicySettings {
    /// `confirmationTiers`.
    pub confirmation_tiers: ConfirmationTiers,
    /// `zeroConfUpTo`: the highest price that needs no confirmation.
    pub zero_conf_up_to: PriceBound,
    /// `zeroConfQuietSeconds`.
    pub zero_conf_quiet_seconds: u32,
    /// `tolerancePerMille`.
    pub tolerance_per_mille: u16,
    /// `overpayment`.
    pub overpayment: OverpaymentRule,
    /// `anomalyConfirmations`.
    pub anomaly_confirmations: u32,
    /// `offlineGraceMinutes`.
    pub offline_grace_minutes: u32,
}

impl Default for PolicySettings {
    fn default() -> Self {
        Self {
            confirmation_tiers: ConfirmationTiers::default(),
            zero_conf_up_to: PriceBound::usd(0),
            zero_conf_quiet_seconds: 3,
            tolerance_per_mille: 0,
            overpayment: OverpaymentRule::Confirm,
            anomaly_confirmations: 2,
            offline_grace_minutes: 60,
        }
    }
}

impl Policy {
    /// The rules for a payment. `in_usd` is its price in US dollars, and `in_small` that in the
    /// currency of `zero_conf_up_to`. If the first is unknown, the highest tier applies. If the
    /// second is unknown, unconfirmed coins are not accepted.
    #[must_use]
    pub fn freeze(
        settings: &PolicySettings,
        in_usd: Option<Decimal>,
        in_small: Option<Decimal>,
    ) -> Self {
        let confirmations = if settings.zero_conf_up_to.covers(in_small) {
            0
        } else {
            settings.confirmation_tiers.confirmations_for(in_usd)
        };
        Self {
            confirmations,
            zero_conf_quiet_ms: i64::from(settings.zero_conf_quiet_seconds) * 1_000,
            tolerance_per_mille: settings.tolerance_per_mille,
            overpayment: settings.overpayment,
            anomaly_confirmations: settings.anomaly_confirmations,
            offline_grace_ms: i64::from(settings.offline_grace_minutes) * 60_000,
        }
    }
}

impl OverpaymentRule {
    /// Its name as a setting and in the database.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Confirm => "confirm",
            Self::Invalidate => "invalidate",
        }
    }
}

/// A text that is not a rule for overpayments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error, tillgate_told::Told)]
#[error("must be confirm or invalidate")]
pub struct NotAnOverpaymentRule;

impl FromStr for OverpaymentRule {
    type Err = NotAnOverpaymentRule;

    fn from_str(text: &str) -> Result<Self, NotAnOverpaymentRule> {
        match text {
            "confirm" => Ok(Self::Confirm),
            "invalidate" => Ok(Self::Invalidate),
            _ => Err(NotAnOverpaymentRule),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usd(text: &str) -> Option<Decimal> {
        Some(Decimal::from_str_exact(text).unwrap())
    }

    #[test]
    fn zero_conf_needs_a_known_price_within_the_bound() {
        let settings =
            PolicySettings { zero_conf_up_to: PriceBound::usd(50), ..PolicySettings::default() };
        for (price, confirmations) in [(usd("50"), 0), (usd("50.01"), 1), (None, 6)] {
            assert_eq!(Policy::freeze(&settings, price, price).confirmations, confirmations);
        }
        assert_eq!(
            Policy::freeze(&PolicySettings::default(), usd("0.01"), usd("0.01")).confirmations,
            1
        );
    }

    #[test]
    fn a_bound_in_euros_is_compared_with_the_price_in_euros() {
        let bound = PriceBound::parse("20 EUR").unwrap();
        let settings = PolicySettings { zero_conf_up_to: bound, ..PolicySettings::default() };
        for (euros, confirmations) in [(usd("20.00"), 0), (usd("20.01"), 1), (None, 1)] {
            let policy = Policy::freeze(&settings, usd("22"), euros);
            assert_eq!(policy.confirmations, confirmations);
        }
    }

    #[test]
    fn settings_are_frozen_in_milliseconds() {
        let policy = Policy::freeze(&PolicySettings::default(), usd("10"), None);
        assert_eq!((policy.zero_conf_quiet_ms, policy.offline_grace_ms), (3_000, 3_600_000));
        assert_eq!((policy.tolerance_per_mille, policy.anomaly_confirmations), (0, 2));
    }

    #[test]
    fn a_rule_for_overpayments_reads_back_its_name() {
        for rule in [OverpaymentRule::Confirm, OverpaymentRule::Invalidate] {
            assert_eq!(rule.as_str().parse(), Ok(rule));
        }
        assert_eq!("CONFIRM".parse::<OverpaymentRule>(), Err(NotAnOverpaymentRule));
    }
}
