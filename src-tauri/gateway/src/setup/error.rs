//! Reasons why no wallet was made or restored.

use crate::chain::ChainDown;
use crate::machine::data_dir::DataDirError;
use crate::machine::entropy::NoEntropy;
use crate::machine::secrets::SecretError;
use crate::store::StoreError;
use crate::wallet::WalletError;
use crate::wallet::words::BadWords;

/// Why no wallet was made or restored; each is a sentence with the remedy. All data stays as it was.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// There is a wallet already.
    #[error("there is a wallet already, and an environment has one for good: for another name another --data-dir")]
    Exists,
    /// There is a wallet already, with other words.
    #[error("these words are another wallet's than the one that is there: for a second wallet name another --data-dir")]
    OtherWallet,
    /// The secret store holds other words than those to restore.
    #[error(
        "other words lie in {0} for this installation, of a wallet that was being made: `tillgate wallet create` shows and uses them; to restore others name another --data-dir"
    )]
    OtherWords(String),
    /// The secret store holds no words.
    #[error("there are no words of which a wallet could be made: `tillgate wallet create` makes some")]
    NoWords,
    /// The text is not a list of words.
    #[error(transparent)]
    Words(#[from] BadWords),
    /// The birthday is neither a height nor a date.
    #[error("birthday must be the height of a block, or a date like 2024-05-31, and not lie ahead")]
    Birthday,
    /// The gap is out of bounds.
    #[error("the gap must be from 1 to {0}")]
    Gap(u32),
    /// The height of a date is unknown.
    #[error("birthday cannot be a date before the Bitcoin backend answers, which is asked for its block ({}): set the backend first, or name a height", .0.0)]
    NoHeight(ChainDown),
    /// The node lacks blocks that must be looked at.
    #[error(
        "the node has pruned all blocks below {first}, and the wallet's coins are looked for from block {from} on: let it download the chain again (-reindex) without pruning, use another backend, or name a later birthday if you are sure"
    )]
    Pruned {
        /// The first block that it has.
        first: u32,
        /// The first block that is needed.
        from: u32,
    },
    /// There is no look to stop or resume.
    #[error("no restored wallet looks through the chain now")]
    NotLooking,
    /// The wallet cannot be derived or loaded.
    #[error(transparent)]
    Wallet(#[from] WalletError),
    /// The secret store refuses.
    #[error(transparent)]
    Secret(#[from] SecretError),
    /// The database refuses.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// There are no random bytes.
    #[error(transparent)]
    Entropy(#[from] NoEntropy),
    /// The mark of the wallet cannot be put into the data directory.
    #[error(transparent)]
    DataDir(#[from] DataDirError),
    /// The program is stopping.
    #[error("it was broken off: the program is stopping")]
    BrokenOff,
}
