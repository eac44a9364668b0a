//! Coins that do not fit a payment (interface, section 3). [`crate::advance`] raises and changes
//! anomalies.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use bitcoin::Txid;

use crate::id::Id;

/// The kind of an anomaly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "views", derive(serde::Serialize, serde::Deserialize, ts_rs::TS))]
#[cfg_attr(feature = "views", serde(rename_all = "SCREAMING_SNAKE_CASE"))]
pub enum AnomalyKind {
    /// Coins that do not count; the payment is EXPIRED or INVALID. One per transaction.
    LatePayment,
    /// Coins that do not count; the payment is UNCONFIRMED or CONFIRMED. One per transaction.
    ExtraPayment,
    /// The counted coins are too much for the amount. One per payment.
    Overpayment,
    /// The payment is EXPIRED or INVALID, and the counted coins are too few. One per payment.
    Underpayment,
    /// The chain took a confirmed payment back. One per payment.
    ReversedPayment,
}

/// The state of an anomaly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Resolution {
    /// Waits for a decision.
    Open,
    /// A refund is offered, approved or on its way.
    Refunding,
    /// The coins were sent back.
    Refunded,
    /// Staff took the coins as payment.
    Accepted,
    /// Staff dismissed it.
    DismissedByStaff,
    /// Dismissed by the system, because its coins are gone or count now, or because the payment is
    /// CONFIRMED again.
    DismissedBySystem,
}

/// Every change of an anomaly's state: by the system, by staff, and by the payout that sends its
/// coins back.
pub const TRANSITIONS: &[(Resolution, Resolution)] = {
    use Resolution::{Accepted, DismissedByStaff, DismissedBySystem, Open, Refunded, Refunding};
    &[
        (Open, DismissedBySystem),
        (DismissedBySystem, Open),
        (Open, Accepted),
        (Open, DismissedByStaff),
        (Open, Refunding),
        (Refunding, Refunded),
        // The payout is EXPIRED or FAILED.
        (Refunding, Open),
        (Refunded, Open),
        // A FAILED payout was mined after all.
        (Open, Refunded),
        (DismissedBySystem, Refunded),
    ]
};

/// A text that is not a kind of anomaly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error, tillgate_told::Told)]
#[error(
    "an anomaly's type is LATE_PAYMENT, EXTRA_PAYMENT, OVERPAYMENT, UNDERPAYMENT or REVERSED_PAYMENT"
)]
pub struct NotAnAnomalyKind;

/// A text that is not a stored resolution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error, tillgate_told::Told)]
#[error(
    "a stored resolution is OPEN, REFUNDING, REFUNDED, ACCEPTED, DISMISSED_BY_STAFF or DISMISSED_BY_SYSTEM"
)]
pub struct NotAResolution;

impl AnomalyKind {
    /// All values.
    pub const ALL: [Self; 5] = [
        Self::LatePayment,
        Self::ExtraPayment,
        Self::Overpayment,
        Self::Underpayment,
        Self::ReversedPayment,
    ];

    /// Its name in the interface and in the database.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::LatePayment => "LATE_PAYMENT",
            Self::ExtraPayment => "EXTRA_PAYMENT",
            Self::Overpayment => "OVERPAYMENT",
            Self::Underpayment => "UNDERPAYMENT",
            Self::ReversedPayment => "REVERSED_PAYMENT",
        }
    }

    /// Whether a payment has an anomaly of this kind for each transaction. It has at most one of
    /// any other kind.
    #[must_use]
    pub const fn is_per_transaction(self) -> bool {
        match self {
            Self::LatePayment | Self::ExtraPayment => true,
            Self::Overpayment | Self::Underpayment | Self::ReversedPayment => false,
        }
    }
}

impl Resolution {
    /// All values.
    pub const ALL: [Self; 6] = [
        Self::Open,
        Self::Refunding,
        Self::Refunded,
        Self::Accepted,
        Self::DismissedByStaff,
        Self::DismissedBySystem,
    ];

    /// Its name in the interface, which does not show who dismissed it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Open => "OPEN",
            Self::Refunding => "REFUNDING",
            Self::Refunded => "REFUNDED",
            Self::Accepted => "ACCEPTED",
            Self::DismissedByStaff | Self::DismissedBySystem => "DISMISSED",
        }
    }

    /// Its name in the database, which [`Resolution::from_str`] reads back.
    #[must_use]
    pub const fn stored_str(self) -> &'static str {
        match self {
            Self::DismissedByStaff => "DISMISSED_BY_STAFF",
            Self::DismissedBySystem => "DISMISSED_BY_SYSTEM",
            Self::Open | Self::Refunding | Self::Refunded | Self::Accepted => self.as_str(),
        }
    }

    /// Whether staff decided on it. From then on only the payout of its refund changes the state.
    #[must_use]
    pub const fn is_decided_by_people(self) -> bool {
        match self {
            Self::Refunding | Self::Refunded | Self::Accepted | Self::DismissedByStaff => true,
            Self::Open | Self::DismissedBySystem => false,
        }
    }

    /// Whether its coins were sent back or are about to be.
    #[must_use]
    pub const fn is_refund(self) -> bool {
        match self {
            Self::Refunding | Self::Refunded => true,
            Self::Open | Self::Accepted | Self::DismissedByStaff | Self::DismissedBySystem => false,
        }
    }
}

impl fmt::Display for AnomalyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for AnomalyKind {
    type Err = NotAnAnomalyKind;

    fn from_str(text: &str) -> Result<Self, NotAnAnomalyKind> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text).ok_or(NotAnAnomalyKind)
    }
}

impl FromStr for Resolution {
    type Err = NotAResolution;

    fn from_str(text: &str) -> Result<Self, NotAResolution> {
        Self::ALL
            .into_iter()
            .find(|resolution| resolution.stored_str() == text)
            .ok_or(NotAResolution)
    }
}

/// An anomaly as the rules see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Anomaly {
    /// Its identifier.
    pub id: Id,
    /// Its kind; never changes.
    pub kind: AnomalyKind,
    /// The transaction, for the kinds that exist once per transaction.
    pub txid: Option<Txid>,
    /// The sum of the coins concerned.
    pub paid_sats: u64,
    /// The transactions that hold its coins.
    pub txids: Vec<Txid>,
    /// Its state.
    pub resolution: Resolution,
}

impl Anomaly {
    /// Whether the anomaly is about these coins: the same sum of the same transactions, in any
    /// order.
    #[must_use]
    pub fn rests_on(&self, coins: &Coins) -> bool {
        let set = |txids: &[Txid]| txids.iter().copied().collect::<BTreeSet<_>>();
        self.paid_sats == coins.paid_sats && set(&self.txids) == set(&coins.txids)
    }
}

/// The coins that an anomaly is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Coins {
    /// Their sum in satoshis.
    pub paid_sats: u64,
    /// The transactions that hold them, in the receipts' order.
    pub txids: Vec<Txid>,
}

/// A change that a look makes to a payment's anomalies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnomalyChange {
    /// A new anomaly, OPEN.
    Raise {
        /// Its kind.
        kind: AnomalyKind,
        /// Its transaction, for the kinds that exist once per transaction.
        txid: Option<Txid>,
        /// The coins it is about.
        coins: Coins,
    },
    /// The anomaly stays OPEN, about other coins than before.
    Follow {
        /// Its identifier.
        id: Id,
        /// The coins it is about now.
        coins: Coins,
        /// Whether the change is notified. It is not if other transactions make the same sum.
        notify: bool,
    },
    /// The anomaly becomes `DismissedBySystem`, because its cause is gone.
    Dismiss {
        /// Its identifier.
        id: Id,
        /// The reason, a sentence for people.
        reason: &'static str,
    },
    /// The anomaly is OPEN again, because its cause is back.
    Reopen {
        /// Its identifier.
        id: Id,
        /// The coins it is about now.
        coins: Coins,
    },
    /// Staff accepted its coins as payment.
    Accept {
        /// Its identifier.
        id: Id,
    },
}

impl AnomalyChange {
    /// Whether the change is notified: every change except other transactions of the same sum.
    #[must_use]
    pub const fn is_notified(&self) -> bool {
        match self {
            Self::Follow { notify, .. } => *notify,
            Self::Raise { .. }
            | Self::Dismiss { .. }
            | Self::Reopen { .. }
            | Self::Accept { .. } => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_reads_back_its_name() {
        for kind in AnomalyKind::ALL {
            assert_eq!(kind.to_string().parse(), Ok(kind));
        }
        assert_eq!("LATE".parse::<AnomalyKind>(), Err(NotAnAnomalyKind));
    }

    #[test]
    fn who_dismissed_is_stored_but_not_shown() {
        for resolution in Resolution::ALL {
            assert_eq!(resolution.stored_str().parse(), Ok(resolution));
        }
        assert_eq!("DISMISSED".parse::<Resolution>(), Err(NotAResolution));
        for resolution in [Resolution::DismissedByStaff, Resolution::DismissedBySystem] {
            assert_eq!(resolution.as_str(), "DISMISSED");
        }
    }
}
