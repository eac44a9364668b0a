//! Why a look failed.

use bitcoin::BlockHash;

use crate::chain::ChainDown;
use crate::gateway::{CatchingUp, FailedLook};
use crate::machine::entropy::NoEntropy;
use crate::notifications::outbox::OutboxError;
use crate::settlement::SettleError;
use crate::store::StoreError;

/// Why a look failed. The next one makes up for it.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// The backend does not answer.
    #[error(transparent)]
    Chain(#[from] ChainDown),
    /// The database cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A new record could not be given an identifier.
    #[error(transparent)]
    Entropy(#[from] NoEntropy),
    /// A notification could not be queued.
    #[error(transparent)]
    Outbox(#[from] OutboxError),
    /// The backend shows another network than the one that the database belongs to.
    #[error(
        "this data directory belongs to the network that begins with block {known}, and the backend shows the one that begins with {found}: set the backend right, or name another --data-dir"
    )]
    OtherNetwork {
        /// First block of the network that was watched.
        known: BlockHash,
        /// First block of the backend's.
        found: BlockHash,
    },
    /// Staff stopped the look of a restored wallet.
    #[error("the restored wallet's look through the chain was stopped: let it go on, or restore the wallet once more")]
    Stopped,
    /// A restored wallet is said to be born in a block that is not there: nothing can be looked through.
    #[error(
        "the wallet was restored with a birthday above the best block, {tip_height}: it is looked for once the backend has come to block {birth_height}; if the birthday is wrong, restore the wallet once more with another"
    )]
    NotBorn {
        /// The block before the first that is looked at.
        birth_height: u32,
        /// The best block's.
        tip_height: u32,
    },
    /// There is more to read than whoever asked for the look waits for; what was read is stored.
    #[error("{0}")]
    Behind(CatchingUp),
    /// The look was broken off: the program is stopping.
    #[error("the look was broken off")]
    BrokenOff,
}

impl From<&WatchError> for FailedLook {
    fn from(error: &WatchError) -> Self {
        let is_for_storage = match error {
            WatchError::Store(error) | WatchError::Outbox(OutboxError::Store(error)) => error.is_passing(),
            _ => false,
        };
        Self { reason: error.to_string(), is_for_storage }
    }
}

impl From<SettleError> for WatchError {
    fn from(error: SettleError) -> Self {
        match error {
            SettleError::Store(error) => error.into(),
            SettleError::Entropy(error) => error.into(),
            SettleError::Outbox(error) => error.into(),
        }
    }
}
