//! Coins that do not fit a payment (interface, section 3).

use bitcoin::Txid;

use crate::id::Id;

/// What kind of misfit it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AnomalyKind {
    /// Coins that do not count; the payment is EXPIRED or INVALID. One per transaction.
    LatePayment,
    /// Coins that do not count; the payment is UNCONFIRMED or CONFIRMED. One per transaction.
    ExtraPayment,
    /// More than the amount counts. One per payment.
    Overpayment,
    /// The payment is EXPIRED or INVALID, and something counts that is not enough. One per payment.
    Underpayment,
    /// The chain took a confirmed payment back. One per payment.
    ReversedPayment,
}

/// What became of an anomaly.
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
    /// Staff set it aside.
    DismissedByStaff,
    /// Its ground is gone; the system set it aside and says why.
    DismissedBySystem,
}

/// An anomaly as the rules see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Anomaly {
    /// Its identifier.
    pub id: Id,
    /// What kind it is; stays.
    pub kind: AnomalyKind,
    /// The transaction, for the kinds that exist once per transaction.
    pub txid: Option<Txid>,
    /// The sum of the coins concerned.
    pub paid_sats: u64,
    /// What became of it.
    pub resolution: Resolution,
}

/// The coins concerned by an anomaly: which part of which transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Coins {
    /// The sum.
    pub paid_sats: u64,
    /// The transactions that it rests on, in the receipts' order.
    pub txids: Vec<Txid>,
}

/// What a look makes of a payment's anomalies. Each is notified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnomalyChange {
    /// A new one, OPEN.
    Raise {
        /// Its kind.
        kind: AnomalyKind,
        /// Its transaction, for the kinds that exist once per transaction.
        txid: Option<Txid>,
        /// What it is about.
        coins: Coins,
    },
    /// Still OPEN, about other coins than before.
    Follow {
        /// Which.
        id: Id,
        /// What it is about now.
        coins: Coins,
    },
    /// Its ground is gone: `DismissedBySystem`.
    Dismiss {
        /// Which.
        id: Id,
        /// Why, a sentence for people.
        reason: &'static str,
    },
    /// Its ground is back: OPEN again.
    Reopen {
        /// Which.
        id: Id,
        /// What it is about now.
        coins: Coins,
    },
    /// Staff accepted its coins as payment.
    Accept {
        /// Which.
        id: Id,
    },
}
