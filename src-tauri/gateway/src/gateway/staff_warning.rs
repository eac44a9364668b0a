//! Warnings that staff should see at once.

use bitcoin::Txid;
use tillgate_domain::advance::Warning;
use tillgate_domain::id::Id;

/// A warning that staff should see at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error, tillgate_told::Told)]
pub enum StaffWarning {
    /// A transaction in the mempool conflicts with a transaction that pays a CONFIRMED payment.
    #[error(
        "another transaction tries to spend the coins of transaction {txid}, which pays confirmed payment {payment_id}"
    )]
    DoubleSpendAttempt {
        payment_id: Id,
        /// The transaction that pays the payment.
        txid: Txid,
    },
    /// The coins of an anomaly changed after staff decided on it.
    #[error(
        "the coins of anomaly {anomaly_id} of payment {payment_id} changed after you decided on it"
    )]
    DecidedAnomalyChanged { payment_id: Id, anomaly_id: Id },
    /// The transaction of a FAILED payout was confirmed.
    #[error(
        "payout {payout_id} had FAILED, but was sent after all: if you paid it in another way meanwhile, it is paid twice"
    )]
    FailedPayoutWasSent { payout_id: Id },
    /// Two transactions paid a payout, and at least one was made by another installation.
    #[error(
        "payout {payout_id} was paid twice, and at least one of the transactions was made by another installation: if that is another copy of this wallet, stop it, and ask the payee to return one of the two"
    )]
    PayoutPaidTwice { payout_id: Id },
    /// A transaction of another copy of this wallet sent a payout.
    #[error(
        "payout {payout_id} was sent by another copy of this wallet: if that copy still runs, stop it; if it paid something else, request the payout again"
    )]
    PayoutSentByCopy { payout_id: Id },
    /// Another copy of this wallet is in use.
    #[error(
        "transaction {txid} was not made here, but spends coins of this wallet or pays to an address that was never given: another copy of the wallet is in use; no payout is sent until you release the sender"
    )]
    TwinWallet {
        /// The transaction of the other copy.
        txid: Txid,
    },
    /// A script of the restored wallet has more history than the backend reports.
    #[error(
        "the Bitcoin backend does not report all transactions of the restored wallet's {} of index {index}, because they are too many: its coins may be missing; a node of your own reports all of them, and the wallet can then be restored again",
        if *.is_change { "change address" } else { "address" }
    )]
    TooLong {
        /// Whether the script is of the change keychain.
        is_change: bool,
        /// Derivation index of the script.
        index: u32,
    },
}

impl StaffWarning {
    /// Whether the database holds the warning until its cause ends or staff dismiss it. Views then
    /// read it from there.
    pub const fn is_stored(&self) -> bool {
        match self {
            Self::FailedPayoutWasSent { .. }
            | Self::PayoutPaidTwice { .. }
            | Self::PayoutSentByCopy { .. }
            | Self::TwinWallet { .. }
            | Self::DoubleSpendAttempt { .. }
            | Self::DecidedAnomalyChanged { .. } => true,
            Self::TooLong { .. } => false,
        }
    }

    /// Converts a warning of the payment rules; `None` for the end of an earlier warning.
    pub const fn of_payment(payment_id: Id, warning: &Warning) -> Option<Self> {
        match *warning {
            Warning::DoubleSpendAttempt { txid } => {
                Some(Self::DoubleSpendAttempt { payment_id, txid })
            }
            Warning::DecidedAnomalyChanged { id } => {
                Some(Self::DecidedAnomalyChanged { payment_id, anomaly_id: id })
            }
            Warning::DecidedAnomalyRestored { .. } => None,
        }
    }
}
