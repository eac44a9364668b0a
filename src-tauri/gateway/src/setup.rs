//! Makes the wallet, or restores it from its words. The words are in the secret store, and shown, before the database
//! has a wallet. An interrupted making leaves words without any coins; the next making shows and uses them. Words in
//! the secret store are never overwritten by others.

mod draft;
mod restore;
mod words;

use std::sync::Arc;

use crate::chain::ChainDown;
use crate::gateway::Gateway;
use crate::machine::data_dir::DataDirError;
use crate::machine::entropy::NoEntropy;
use crate::machine::fail_points::{self, Point};
use crate::machine::secrets::{Purpose, Secret, SecretError};
use crate::store::StoreError;
use crate::store::keychains::Keychain;
use crate::store::restore::{NewRestore, Restore};
use crate::wallet::words::{BadWords, WordCount};
use crate::wallet::{Descriptors, Wallet, WalletError, words as mnemonic};

pub(crate) use draft::{DraftError, confirm, discard, draft};
pub(crate) use restore::{Birthday, RestoreRequest, Restored, go_on, restore, stop};
pub(crate) use words::{Fit, fit, secrets_fit};

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

/// Puts new words into the secret store and returns them; the caller shows them before [`make`] makes the wallet. Words
/// of an interrupted making are returned instead, however many they are.
///
/// # Errors
/// The reason why not.
pub(crate) async fn keep_words(gateway: &Arc<Gateway>, count: WordCount) -> Result<Secret, SetupError> {
    let _one_at_a_time = gateway.wallet_setup.lock().await;
    refuse_second(gateway)?;
    let words = mnemonic::new(gateway.entropy.as_ref(), count)?;
    let keeping = Arc::clone(gateway);
    let keep = move || keep(&keeping, Words::New(words));
    tokio::task::spawn_blocking(keep).await.map_err(|_| SetupError::BrokenOff)?
}

/// Makes the wallet from the words in the secret store.
///
/// # Errors
/// The reason why not.
pub(crate) async fn make(gateway: &Arc<Gateway>, actor: &str) -> Result<(), SetupError> {
    adopt(gateway, Words::Kept, None, actor).await.map(drop)
}

/// Makes the wallet if there is none yet.
///
/// # Errors
/// The reason why not.
pub(crate) async fn ensure(gateway: &Arc<Gateway>) -> Result<(), SetupError> {
    if gateway.wallet.get().is_some() {
        return Ok(());
    }
    keep_words(gateway, WordCount::default()).await?;
    make(gateway, "serve").await
}

/// The words for a wallet.
enum Words {
    /// New words; existing words are used instead.
    New(Secret),
    /// The words in the secret store.
    Kept,
    /// Words that a person gave; existing words are not used instead.
    Known(Secret),
}

/// Keeps the words, makes the wallet in one transaction, and gives it to the running gateway.
async fn adopt(
    gateway: &Arc<Gateway>,
    words: Words,
    restore: Option<NewRestore>,
    actor: &str,
) -> Result<Option<Restore>, SetupError> {
    let _one_at_a_time = gateway.wallet_setup.lock().await;
    refuse_second(gateway)?;
    let keeping = Arc::clone(gateway);
    let keep = move || keep(&keeping, words);
    let words = tokio::task::spawn_blocking(keep).await.map_err(|_| SetupError::BrokenOff)??;
    let address_type = gateway.settings.snapshot().address_type;
    let descriptors = Descriptors::derive(&words, gateway.network, address_type)?;
    let (now, actor) = (gateway.clock.now(), actor.to_owned());
    gateway.data_dir.mark_wallet()?;
    fail_points::pass(Point::WalletBefore);
    let made = gateway
        .store
        .write(move |tx| -> Result<Option<Restore>, SetupError> {
            tx.insert_keychain(Keychain::External, &descriptors.external)?;
            tx.insert_keychain(Keychain::Internal, &descriptors.internal)?;
            let (act, restored) = match restore {
                Some(new) => ("wallet restore", Some(tx.begin_restore(&new)?)),
                None => ("wallet create", None),
            };
            tx.audit(now, &actor, act, "wallet")?;
            Ok(restored)
        })
        .await?;
    fail_points::pass(Point::WalletAfter);
    take_into_use(gateway).await?;
    Ok(made)
}

fn refuse_second(gateway: &Gateway) -> Result<(), SetupError> {
    if gateway.store.read(|reader| reader.has_wallet())? { Err(SetupError::Exists) } else { Ok(()) }
}

/// Puts the words into the secret store, unless it holds some already; returns the words in use. Blocks the thread.
fn keep(gateway: &Gateway, words: Words) -> Result<Secret, SetupError> {
    let there = gateway.secrets.get(Purpose::WalletMnemonic)?;
    match (there, words) {
        (Some(there), Words::New(_) | Words::Kept) => Ok(there),
        (None, Words::Kept) => Err(SetupError::NoWords),
        (Some(there), Words::Known(words)) if there.reveal() == words.reveal() => Ok(words),
        (Some(_), Words::Known(_)) => Err(SetupError::OtherWords(gateway.secrets.describe())),
        (None, Words::New(words) | Words::Known(words)) => {
            gateway.secrets.set(Purpose::WalletMnemonic, &words)?;
            Ok(words)
        }
    }
}

/// Loads the wallet from the database, and gives it to all loops of the gateway.
async fn take_into_use(gateway: &Arc<Gateway>) -> Result<(), SetupError> {
    let loading = Arc::clone(gateway);
    let skip = loading.settings.snapshot().restore_skip;
    let load = move || Wallet::load(&loading.store, loading.network, skip);
    let wallet = tokio::task::spawn_blocking(load).await.map_err(|_| SetupError::BrokenOff)??;
    if let Some(wallet) = wallet {
        // Only one caller at a time makes the wallet, and only if there is none.
        let _ = gateway.wallet.set(Arc::new(wallet));
    }
    gateway.sender_wake.notify_one();
    gateway.note_change();
    Ok(())
}

#[cfg(test)]
mod tests;
