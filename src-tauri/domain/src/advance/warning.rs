//! Messages for the panel.

use bitcoin::Txid;

/// A message for the panel that changes nothing in the payment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Warning {
    /// The mempool holds a conflict with a transaction on which a CONFIRMED payment rests, and pays
    /// less. Each look that sees the conflict repeats the warning.
    DoubleSpendAttempt {
        /// The transaction under attack.
        txid: Txid,
    },
    /// The coins behind an anomaly that people decided on have changed.
    DecidedAnomalyChanged {
        /// Its identifier.
        id: crate::id::Id,
    },
    /// The coins behind the anomaly have changed back to those that people decided on.
    DecidedAnomalyRestored {
        /// Its identifier.
        id: crate::id::Id,
    },
}
