//! Warnings that staff should see at once.

use bitcoin::Txid;
use tillgate_domain::advance::Warning;
use tillgate_domain::id::Id;

/// A warning that staff should see at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StaffWarning {
    /// The mempool holds a conflict with a transaction on which a CONFIRMED payment rests.
    DoubleSpendAttempt {
        payment_id: Id,
        /// The attacked transaction.
        txid: Txid,
    },
    /// The facts behind an anomaly that people decided have changed.
    DecidedAnomalyChanged { payment_id: Id, anomaly_id: Id },
    /// A FAILED payout was sent after all.
    FailedPayoutWasSent { payout_id: Id },
    /// Two transactions paid a payout, and at least one was not made here.
    PayoutPaidTwice { payout_id: Id },
    /// A transaction of another copy of this wallet sent a payout.
    PayoutSentByCopy { payout_id: Id },
    /// Another copy of this wallet works.
    TwinWallet {
        /// Its transaction.
        txid: Txid,
    },
    /// The backend does not tell all of a restored wallet's script, because it has too much history.
    TooLong {
        /// A script of our change, not a customer's.
        is_change: bool,
        /// Derivation index of the script.
        index: u32,
    },
}

impl StaffWarning {
    /// Whether the database holds the warning until its cause ends or staff dismiss it. People then read it from there.
    pub(crate) const fn is_stored(&self) -> bool {
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

    /// The warning of the rules about a payment; `None` if it says that an earlier one is over.
    pub(crate) const fn of_payment(payment_id: Id, warning: &Warning) -> Option<Self> {
        match *warning {
            Warning::DoubleSpendAttempt { txid } => Some(Self::DoubleSpendAttempt { payment_id, txid }),
            Warning::DecidedAnomalyChanged { id } => Some(Self::DecidedAnomalyChanged { payment_id, anomaly_id: id }),
            Warning::DecidedAnomalyRestored { .. } => None,
        }
    }
}

impl std::fmt::Display for StaffWarning {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::DoubleSpendAttempt { payment_id, txid } => write!(
                f,
                "somebody tries to spend the coins of transaction {txid} again, on which confirmed payment {payment_id} rests"
            ),
            Self::DecidedAnomalyChanged { payment_id, anomaly_id } => {
                write!(f, "the coins of anomaly {anomaly_id} of payment {payment_id} changed after you decided on it")
            }
            Self::FailedPayoutWasSent { payout_id } => write!(
                f,
                "payout {payout_id} had FAILED, and was sent all the same: if you paid it in another way meanwhile, it is paid twice"
            ),
            Self::PayoutPaidTwice { payout_id } => write!(
                f,
                "payout {payout_id} was paid twice, and at least one of the transactions was not made here: if another copy of this wallet made it, stop that, and ask the payee for one of the two"
            ),
            Self::PayoutSentByCopy { payout_id } => write!(
                f,
                "payout {payout_id} was sent by another copy of this wallet: if that copy still runs, stop it; if it paid something else, ask for the payout anew"
            ),
            Self::TwinWallet { txid } => write!(
                f,
                "transaction {txid} spends or pays coins of this wallet, and nothing here knows of it: another copy of the wallet works; no payout is sent until you release them"
            ),
            Self::TooLong { is_change, index } => write!(
                f,
                "the Bitcoin backend does not tell all transactions of the restored wallet's {} of index {index}, for they are too many: coins at it may be missing until it tells them; a node of your own as backend tells all, and the wallet can then be restored once more",
                if *is_change { "change" } else { "address" }
            ),
        }
    }
}
