//! Reasons why no wallet was made or restored.

use tillgate_chain::ChainDown;
use tillgate_machine::data_dir::DataDirError;
use tillgate_machine::entropy::NoEntropy;
use tillgate_machine::secrets::SecretError;
use tillgate_store::StoreError;

use crate::wallet::WalletError;
use crate::wallet::words::BadWords;

/// Why no wallet was made or restored, as a sentence with the remedy. No data was changed.
#[derive(Debug, thiserror::Error, tillgate_told::Told)]
pub enum SetupError {
    /// There is a wallet already.
    #[error(
        "there is a wallet already, and an environment never has another: for a second wallet name another --data-dir"
    )]
    Exists,
    /// There is a wallet already, with other words.
    #[error(
        "these words belong to another wallet than this installation's: for a second wallet name another --data-dir"
    )]
    OtherWallet,
    /// The secret store holds words other than those to restore.
    #[error(
        "{0} holds other words for this installation, of a wallet whose making was interrupted: `tillgate wallet create` shows and uses them; to restore these words name another --data-dir"
    )]
    OtherWords(String),
    /// The secret store holds no words.
    #[error("there are no words to make a wallet from: `tillgate wallet create` makes them")]
    NoWords,
    /// The text is not a list of words.
    #[error(transparent)]
    Words(#[from] BadWords),
    /// The birthday is neither a height nor a date.
    #[error(
        "birthday must be the height of a block, or a date like 2024-05-31, and not in the future"
    )]
    Birthday,
    /// The gap is out of bounds.
    #[error("the gap must be from 1 to {0}")]
    Gap(u32),
    /// The height of a date is unknown.
    #[error("the block of a birthday's date is looked up by the Bitcoin backend, which does not answer ({}): set the backend first, or name a height", .0.0)]
    NoHeight(ChainDown),
    /// The node lacks blocks that must be looked at.
    #[error(
        "the node has pruned all blocks below {first}, but the wallet's coins are searched from block {from} on: let the node download the chain again (-reindex) without pruning, use another backend, or name a later birthday if you are sure"
    )]
    Pruned {
        /// The height of the node's first block.
        first: u32,
        /// The height of the first block that is needed.
        from: u32,
    },
    /// There is no scan to stop or resume.
    #[error("there is no scan of a restored wallet to stop or to continue")]
    NotLooking,
    /// The wallet cannot be derived or loaded.
    #[error(transparent)]
    Wallet(#[from] WalletError),
    /// The secret store failed.
    #[error(transparent)]
    Secret(#[from] SecretError),
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// There are no random bytes.
    #[error(transparent)]
    Entropy(#[from] NoEntropy),
    /// The mark of the wallet cannot be put into the data directory.
    #[error(transparent)]
    DataDir(#[from] DataDirError),
    /// The program is stopping.
    #[error("the program is stopping: start it again, and look whether the wallet was made")]
    Interrupted,
}
