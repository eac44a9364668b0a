//! The errors of sending.

use bitcoin::Txid;

use crate::gateway::Cannot;
use crate::machine::entropy::NoEntropy;
use crate::notifications::outbox::OutboxError;
use crate::store::StoreError;

pub(super) const NO_FEE_RATE: &str = "the Bitcoin backend did not say what fee the network asks for";

/// Why a pass was not finished. The next makes up for it.
#[derive(Debug, thiserror::Error)]
pub enum SendError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Outbox(#[from] OutboxError),
    #[error(transparent)]
    Entropy(#[from] NoEntropy),
    #[error("the pass was broken off")]
    BrokenOff,
}

/// Why no transaction of waiting payouts was stored.
#[derive(Debug)]
pub(super) enum Unsent {
    /// Nothing could be built, for this reason. Overdue payouts fail.
    Cannot(Cannot),
    /// The payouts wait, for this reason. No payout fails.
    Waits(Cannot),
    /// The pass was not finished.
    Error(SendError),
}

impl From<SendError> for Unsent {
    fn from(error: SendError) -> Self {
        Self::Error(error)
    }
}

impl From<StoreError> for Unsent {
    fn from(error: StoreError) -> Self {
        Self::Error(error.into())
    }
}

/// Why the sender was not released.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReleaseError {
    /// The sender holds until a restored copy of the wallet has looked.
    #[error("the sender cannot be released: {0}")]
    NotLooked(String),
    /// The sender now holds for a reason that staff have not read.
    #[error("the sender now holds for another reason: {0}; read it, then release the sender again")]
    Another(String),
    /// The mempool shows a transaction of another copy of the wallet.
    #[error(
        "transaction {0}, made by another copy of this wallet, is in the mempool: wait until a block holds it, or until it drops out"
    )]
    TwinWaits(Txid),
    #[error(transparent)]
    Store(#[from] StoreError),
}
