//! The errors of sending.

use bitcoin::Txid;
use tillgate_machine::entropy::NoEntropy;
use tillgate_store::StoreError;
use tillgate_told::Telling;

use crate::funds::NoFeeRate;
use crate::gateway::{Wait, WaitCause};
use crate::notifications::outbox::OutboxError;

/// The error that ended a pass early. The next pass does the remaining work.
#[derive(Debug, thiserror::Error, tillgate_told::Told)]
pub enum SendError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Outbox(#[from] OutboxError),
    #[error(transparent)]
    Entropy(#[from] NoEntropy),
    #[error("the pass was interrupted")]
    Interrupted,
}

/// The reason why no transaction of waiting payouts was stored.
#[derive(Debug)]
pub enum Unsent {
    /// The transaction could not be built, for this reason. Overdue payouts fail.
    Obstacle(Wait),
    /// The payouts wait, for this reason. No payout fails.
    Waits(Wait),
    /// The pass was not finished.
    Error(SendError),
}

/// Nothing is signed without a fee rate. That is no attempt, so no payout fails.
impl From<NoFeeRate> for Unsent {
    fn from(why: NoFeeRate) -> Self {
        match why {
            NoFeeRate::Silent => Self::Waits(WaitCause::Chain.because(&why)),
            NoFeeRate::NoEstimate => Self::Waits(WaitCause::NoEstimate.because(&why)),
        }
    }
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

/// The reason why the sender was not released.
#[derive(Debug, thiserror::Error, tillgate_told::Told)]
pub enum ReleaseError {
    /// The wallet was restored, and its first look at the chain has not ended.
    #[error("the sender cannot be released: {0}")]
    NotLooked(Telling),
    /// The sender now holds for a reason that staff have not read.
    #[error("the sender now holds for another reason: {0}; read it, then release the sender again")]
    Another(Telling),
    /// The mempool shows a transaction of another copy of the wallet.
    #[error(
        "transaction {0}, made by another copy of this wallet, is in the mempool: wait until a block holds it, or until it drops out"
    )]
    TwinWaits(Txid),
    #[error(transparent)]
    Store(#[from] StoreError),
}
