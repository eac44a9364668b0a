//! The states and kinds in views, each a closed set of names: a union in the panel's language, so that a screen which
//! forgets one does not compile.

use std::fmt;

use serde::{Deserialize, Serialize};
use tillgate_domain::receipt::{Position, Receipt};
use tillgate_domain::{anomaly, batch, notification, payment, payout};
use ts_rs::TS;

use crate::backup::Trouble;
use crate::gateway::Cause;
use crate::store::ledger::LedgerKind;

/// An enum whose values are these names on the wire.
macro_rules! names {
    ($($(#[$about:meta])* $name:ident { $($(#[$what:meta])* $variant:ident = $text:tt,)+ })+) => {$(
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
        #[ts(export)]
        pub enum $name {
            $($(#[$what])* #[serde(rename = $text)] $variant,)+
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self { $(Self::$variant => $text,)+ })
            }
        }
    )+};
}

names! {
    /// The state of a payment.
    PaymentState {
        /// No coins count yet.
        New = "NEW",
        /// Coins count, not enough.
        Underpaid = "UNDERPAID",
        /// Enough counts, not yet confirmed as wanted.
        Unconfirmed = "UNCONFIRMED",
        /// Enough counts and is confirmed as wanted.
        Confirmed = "CONFIRMED",
        /// Closed with nothing that counts.
        Expired = "EXPIRED",
        /// Closed with too little, overpaid under `invalidate`, or reversed by the chain.
        Invalid = "INVALID",
    }

    /// The state of a payout.
    PayoutState {
        /// An offer: it waits for approval.
        New = "NEW",
        /// Nobody approved it in time.
        Expired = "EXPIRED",
        /// Approved, and not sent yet.
        Queued = "QUEUED",
        /// A backend took a transaction that pays it.
        Sent = "SENT",
        /// It will not be paid.
        Failed = "FAILED",
    }

    /// A step in the life of a payout.
    PayoutStep {
        /// It was asked for.
        Offered = "offered",
        /// It was approved.
        Approved = "approved",
        /// Nobody approved it in time.
        Expired = "expired",
        /// Its first transaction was signed and stored.
        Signed = "signed",
        /// A transaction with a higher fee was stored in place of the last.
        Bumped = "bumped",
        /// A transaction that pays ourselves was stored in place of the last.
        Abandoned = "abandoned",
        /// A backend took a transaction that pays it.
        Sent = "sent",
        /// It was given up.
        Failed = "failed",
    }

    /// The cause for which an approved payout waits.
    WaitCause {
        /// Its turn: the batch is not due yet, or is being built.
        Turn = "TURN",
        /// A gateway that runs.
        Gateway = "GATEWAY",
        /// Staff must release a sender that holds. This concerns all payouts.
        Hold = "HOLD",
        /// Staff must compare the waiting payouts of a restored copy with what was really paid since, and then release
        /// it. This concerns all payouts.
        HoldRestored = "HOLD_RESTORED",
        /// A restored wallet's look through the chain must end, which it does by itself. This concerns all payouts.
        Restored = "RESTORED",
        /// Staff must continue that look, which was stopped. This concerns all payouts.
        RestoreStopped = "RESTORE_STOPPED",
        /// The secret store refused the wallet's words; staff may have it asked again. This concerns all payouts.
        Keyring = "KEYRING",
        /// Coins are short. This concerns only the payouts that wait for them.
        Coins = "COINS",
        /// The network's fee rate must fall. This concerns all payouts.
        Fees = "FEES",
        /// A look at the chain, or an answer of the backend, is awaited. This concerns all payouts.
        Chain = "CHAIN",
        /// A node must accept its stored transaction.
        Node = "NODE",
        /// Staff must give it up: another copy of the wallet pays a payout of its transaction, so the transaction is
        /// not broadcast.
        OtherCopy = "OTHER_COPY",
        /// A block must decide, because another copy of the wallet may pay it. This concerns only this payout.
        CopyPays = "COPY_PAYS",
        /// It is being given up.
        GivenUp = "GIVEN_UP",
        /// Any other cause. This concerns all payouts.
        Other = "OTHER",
    }

    /// The kind of the chain backend.
    BackendName {
        /// A chain inside the program, whose coins are worth nothing.
        Sandbox = "sandbox",
        /// A node of Bitcoin Core.
        Core = "core",
        /// Electrum servers.
        Electrum = "electrum",
    }

    /// Why a payout does not arrive.
    StuckReason {
        /// It was sent long ago, and no block holds its transaction.
        Unconfirmed = "UNCONFIRMED",
        /// The backend refused its transaction, which is offered again.
        Refused = "REFUSED",
        /// A block holds another transaction that spends its coins.
        RuledOut = "RULED_OUT",
    }

    /// The subject of a warning, if a shell may have its own words for it.
    WarningKind {
        /// No passphrase is set for nightly backups.
        BackupPassphrase = "BACKUP_PASSPHRASE",
        /// The last nightly backup failed.
        BackupFailed = "BACKUP_FAILED",
        /// The last nightly backup failed, because its folder is not the one that was named.
        BackupFolder = "BACKUP_FOLDER",
        /// No nightly backup was made for long.
        BackupLate = "BACKUP_LATE",
        /// A node does not tell of payments by itself, as it is set to.
        Zmq = "ZMQ",
        /// The secret store does not give the key that signs notifications.
        Keyring = "KEYRING",
        /// Notifications were given up.
        GivenUp = "GIVEN_UP",
        /// Anything else: its sentence names no command.
        Other = "OTHER",
    }

    /// The kind of movement in a line of the statement.
    MovementKind {
        /// A customer's coins that count for a payment were confirmed, or taken back.
        Payment = "PAYMENT",
        /// The same for coins that do not count.
        Anomaly = "ANOMALY",
        /// A payout was sent, or failed after it.
        Payout = "PAYOUT",
        /// The fee that a payout's offer named.
        Fee = "FEE",
        /// The difference between a payout's share of the fee and the fee that its offer named.
        FeeDifference = "FEE_DIFFERENCE",
        /// All else.
        Other = "OTHER",
    }

    /// The type of an anomaly.
    AnomalyKind {
        /// Coins that came after the payment was closed.
        LatePayment = "LATE_PAYMENT",
        /// Coins that came although enough was there.
        ExtraPayment = "EXTRA_PAYMENT",
        /// More than the amount counts.
        Overpayment = "OVERPAYMENT",
        /// A closed payment got something, and not enough.
        Underpayment = "UNDERPAYMENT",
        /// The chain took a confirmed payment back.
        ReversedPayment = "REVERSED_PAYMENT",
    }

    /// The state of an anomaly.
    Resolution {
        /// It waits for a decision.
        Open = "OPEN",
        /// A refund is offered, approved or on its way.
        Refunding = "REFUNDING",
        /// The coins were sent back.
        Refunded = "REFUNDED",
        /// Staff took the coins as payment.
        Accepted = "ACCEPTED",
        /// Staff set it aside, or the system because its basis is gone.
        Dismissed = "DISMISSED",
    }

    /// The state of a notification.
    NotificationState {
        /// It waits for its first attempt or its next one.
        Waiting = "WAITING",
        /// The merchant's server took it.
        Delivered = "DELIVERED",
        /// A newer one of its record took its place.
        Superseded = "SUPERSEDED",
        /// Three days of attempts failed.
        GivenUp = "GIVEN_UP",
    }

    /// The kind of a notification's record.
    SubjectKind {
        /// A payment.
        Payment = "payment",
        /// An anomaly.
        Anomaly = "anomaly",
        /// A payout.
        Payout = "payout",
    }

    /// The place of a transaction that pays a payment.
    TransactionPosition {
        /// It waits for a block.
        Mempool = "mempool",
        /// It is in a block.
        Block = "block",
        /// It was seen and is in neither now; it may come back.
        Missing = "missing",
        /// It will not come back.
        Gone = "gone",
    }

    /// The cause of a payment's change.
    ChangeCause {
        /// The chain or the mempool showed something new.
        Chain = "chain",
        /// The chain or the mempool showed that coins which had counted are gone.
        Withdrawn = "withdrawn",
        /// A moment came, such as the deadline.
        Time = "time",
        /// Staff accepted the coins that came.
        Staff = "staff",
    }
}

impl ChangeCause {
    /// The cause of a change; `is_withdrawal` says that coins which had counted are gone by it.
    pub(super) const fn of(cause: payment::Cause, is_withdrawal: bool) -> Self {
        match cause {
            _ if is_withdrawal => Self::Withdrawn,
            payment::Cause::Chain => Self::Chain,
            payment::Cause::Time => Self::Time,
            payment::Cause::Staff => Self::Staff,
        }
    }
}

impl From<payment::PaymentState> for PaymentState {
    fn from(state: payment::PaymentState) -> Self {
        match state {
            payment::PaymentState::New => Self::New,
            payment::PaymentState::Underpaid => Self::Underpaid,
            payment::PaymentState::Unconfirmed => Self::Unconfirmed,
            payment::PaymentState::Confirmed => Self::Confirmed,
            payment::PaymentState::Expired => Self::Expired,
            payment::PaymentState::Invalid => Self::Invalid,
        }
    }
}

impl From<PaymentState> for payment::PaymentState {
    fn from(state: PaymentState) -> Self {
        match state {
            PaymentState::New => Self::New,
            PaymentState::Underpaid => Self::Underpaid,
            PaymentState::Unconfirmed => Self::Unconfirmed,
            PaymentState::Confirmed => Self::Confirmed,
            PaymentState::Expired => Self::Expired,
            PaymentState::Invalid => Self::Invalid,
        }
    }
}

impl From<payout::PayoutState> for PayoutState {
    fn from(state: payout::PayoutState) -> Self {
        match state {
            payout::PayoutState::New => Self::New,
            payout::PayoutState::Expired => Self::Expired,
            payout::PayoutState::Queued => Self::Queued,
            payout::PayoutState::Sent => Self::Sent,
            payout::PayoutState::Failed => Self::Failed,
        }
    }
}

impl From<PayoutState> for payout::PayoutState {
    fn from(state: PayoutState) -> Self {
        match state {
            PayoutState::New => Self::New,
            PayoutState::Expired => Self::Expired,
            PayoutState::Queued => Self::Queued,
            PayoutState::Sent => Self::Sent,
            PayoutState::Failed => Self::Failed,
        }
    }
}

impl From<Cause> for WaitCause {
    fn from(cause: Cause) -> Self {
        match cause {
            Cause::Coins => Self::Coins,
            Cause::Keyring => Self::Keyring,
            Cause::Fees => Self::Fees,
            Cause::Chain => Self::Chain,
            Cause::Hold => Self::Hold,
            Cause::Compared => Self::HoldRestored,
            Cause::Restored => Self::Restored,
            Cause::Stopped => Self::RestoreStopped,
            Cause::CopyPays => Self::CopyPays,
            Cause::Other => Self::Other,
        }
    }
}

impl From<&Trouble> for WarningKind {
    fn from(trouble: &Trouble) -> Self {
        match trouble {
            Trouble::NoPassphrase => Self::BackupPassphrase,
            Trouble::Failed { is_other_folder: true, .. } => Self::BackupFolder,
            Trouble::Failed { is_other_folder: false, .. } => Self::BackupFailed,
            Trouble::Late { .. } => Self::BackupLate,
        }
    }
}

impl From<LedgerKind> for MovementKind {
    fn from(kind: LedgerKind) -> Self {
        match kind {
            LedgerKind::Payment => Self::Payment,
            LedgerKind::Anomaly => Self::Anomaly,
            LedgerKind::Payout => Self::Payout,
            LedgerKind::Fee => Self::Fee,
            LedgerKind::FeeDifference => Self::FeeDifference,
            LedgerKind::Other => Self::Other,
        }
    }
}

impl From<anomaly::AnomalyKind> for AnomalyKind {
    fn from(kind: anomaly::AnomalyKind) -> Self {
        match kind {
            anomaly::AnomalyKind::LatePayment => Self::LatePayment,
            anomaly::AnomalyKind::ExtraPayment => Self::ExtraPayment,
            anomaly::AnomalyKind::Overpayment => Self::Overpayment,
            anomaly::AnomalyKind::Underpayment => Self::Underpayment,
            anomaly::AnomalyKind::ReversedPayment => Self::ReversedPayment,
        }
    }
}

impl From<anomaly::Resolution> for Resolution {
    fn from(resolution: anomaly::Resolution) -> Self {
        match resolution {
            anomaly::Resolution::Open => Self::Open,
            anomaly::Resolution::Refunding => Self::Refunding,
            anomaly::Resolution::Refunded => Self::Refunded,
            anomaly::Resolution::Accepted => Self::Accepted,
            anomaly::Resolution::DismissedByStaff | anomaly::Resolution::DismissedBySystem => Self::Dismissed,
        }
    }
}

impl From<notification::NotificationState> for NotificationState {
    fn from(state: notification::NotificationState) -> Self {
        match state {
            notification::NotificationState::Waiting => Self::Waiting,
            notification::NotificationState::Delivered => Self::Delivered,
            notification::NotificationState::Superseded => Self::Superseded,
            notification::NotificationState::GivenUp => Self::GivenUp,
        }
    }
}

impl From<notification::SubjectKind> for SubjectKind {
    fn from(kind: notification::SubjectKind) -> Self {
        match kind {
            notification::SubjectKind::Payment => Self::Payment,
            notification::SubjectKind::Anomaly => Self::Anomaly,
            notification::SubjectKind::Payout => Self::Payout,
        }
    }
}

impl From<&Receipt> for TransactionPosition {
    fn from(receipt: &Receipt) -> Self {
        match receipt.position {
            _ if receipt.gone => Self::Gone,
            Position::Block { .. } => Self::Block,
            Position::Mempool => Self::Mempool,
            Position::Absent { .. } => Self::Missing,
        }
    }
}

impl From<batch::Position> for TransactionPosition {
    fn from(position: batch::Position) -> Self {
        match position {
            batch::Position::Block { .. } => Self::Block,
            batch::Position::Mempool => Self::Mempool,
            batch::Position::Absent => Self::Missing,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on_the_wire(state: impl Serialize) -> String {
        serde_json::to_value(state).unwrap().as_str().unwrap().to_owned()
    }

    #[test]
    fn the_panel_reads_the_names_that_the_interface_has() {
        for state in payment::PaymentState::ALL {
            assert_eq!(on_the_wire(PaymentState::from(state)), state.as_str());
            assert_eq!(PaymentState::from(state).to_string(), state.as_str());
            assert_eq!(payment::PaymentState::from(PaymentState::from(state)), state);
        }
        for state in payout::PayoutState::ALL {
            assert_eq!(on_the_wire(PayoutState::from(state)), state.as_str());
            assert_eq!(payout::PayoutState::from(PayoutState::from(state)), state);
        }
        for kind in LedgerKind::ALL {
            assert_eq!(on_the_wire(MovementKind::from(kind)), kind.as_str());
        }
        for kind in anomaly::AnomalyKind::ALL {
            assert_eq!(on_the_wire(AnomalyKind::from(kind)), kind.as_str());
        }
        for resolution in anomaly::Resolution::ALL {
            assert_eq!(on_the_wire(Resolution::from(resolution)), resolution.as_str());
        }
    }
}
