//! Errors of a look.

use bitcoin::BlockHash;
use tillgate_chain::ChainDown;
use tillgate_store::StoreError;
use tillgate_told::Told as _;

use crate::gateway::{CatchingUp, FailedLook};
use crate::notifications::outbox::OutboxError;
use crate::wallet::WalletError;

/// Why a look failed. The next look recovers.
#[derive(Debug, thiserror::Error, tillgate_told::Told)]
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
        "this data directory belongs to the network that begins with block {known}, but the backend is on the network that begins with block {found}: correct the backend's settings, or name another --data-dir"
    )]
    OtherNetwork {
        /// Genesis block of the network watched so far.
        known: BlockHash,
        /// Genesis block of the backend's network.
        found: BlockHash,
    },
    /// Staff stopped the scan of a restored wallet.
    #[error(
        "the restored wallet's look through the chain was stopped: resume it, or restore the wallet once more"
    )]
    Stopped,
    /// The birth height of a restored wallet is above the best block, so there is nothing to scan
    /// yet.
    #[error(
        "the wallet was restored with a birthday above the best block, {tip_height}: the look through the chain starts once the backend has block {birth_height}; if the birthday is wrong, restore the wallet once more with another"
    )]
    NotBorn {
        /// The block before the first scanned one.
        birth_height: u32,
        /// Height of the best block.
        tip_height: u32,
    },
    /// The backend shows less of the chain than a restored database knows.
    #[error(
        "the wallet was restored from a database that knows block {known_height}, but the best block of the backend is {tip_height}: the look through the chain starts once the backend has caught up"
    )]
    BehindBackup {
        /// Height of the best block in the database.
        known_height: u32,
        /// Height of the best block of the backend.
        tip_height: u32,
    },
    /// The look needs more answers than the caller waits for. The answers so far are stored.
    #[error("{0}")]
    Behind(CatchingUp),
    /// The wallet of the address type that the scan found coins at cannot be loaded.
    #[error(transparent)]
    Wallet(#[from] WalletError),
    /// The look was interrupted because the program is stopping.
    #[error("the look was interrupted")]
    Interrupted,
}

impl From<&WatchError> for FailedLook {
    fn from(error: &WatchError) -> Self {
        let is_for_storage = match error {
            WatchError::Store(error) | WatchError::Outbox(OutboxError::Store(error)) => {
                error.is_passing()
            }
            _ => false,
        };
        Self { reason: error.telling(), is_for_storage }
    }
}
