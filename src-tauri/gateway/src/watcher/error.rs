//! Errors of a look.

use bitcoin::BlockHash;

use crate::chain::ChainDown;
use crate::gateway::{CatchingUp, FailedLook};
use crate::notifications::outbox::OutboxError;
use crate::store::StoreError;

/// Why a look failed. The next look recovers.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// The backend does not answer.
    #[error(transparent)]
    Chain(#[from] ChainDown),
    /// The database cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A notification could not be queued.
    #[error(transparent)]
    Outbox(#[from] OutboxError),
    /// The backend is on another network than the database.
    #[error(
        "this data directory belongs to the network that begins with block {known}, and the backend shows the one that begins with {found}: set the backend right, or name another --data-dir"
    )]
    OtherNetwork {
        /// Genesis block of the network watched so far.
        known: BlockHash,
        /// Genesis block of the backend's network.
        found: BlockHash,
    },
    /// Staff stopped the scan of a restored wallet.
    #[error("the restored wallet's look through the chain was stopped: let it go on, or restore the wallet once more")]
    Stopped,
    /// The birth height of a restored wallet is above the best block, so there is nothing to scan yet.
    #[error(
        "the wallet was restored with a birthday above the best block, {tip_height}: it is looked for once the backend has come to block {birth_height}; if the birthday is wrong, restore the wallet once more with another"
    )]
    NotBorn {
        /// The block before the first scanned one.
        birth_height: u32,
        /// Height of the best block.
        tip_height: u32,
    },
    /// The backend shows less of the chain than a restored database knows.
    #[error(
        "the wallet was restored from a database that knows block {known_height}, and the best block of the backend is {tip_height}: it is looked for once the backend has caught up"
    )]
    BehindBackup {
        /// Height of the best block in the database.
        known_height: u32,
        /// Height of the best block of the backend.
        tip_height: u32,
    },
    /// The chain has more to read than the caller waits for. The part read so far is stored.
    #[error("{0}")]
    Behind(CatchingUp),
    /// The look was interrupted because the program is stopping.
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
