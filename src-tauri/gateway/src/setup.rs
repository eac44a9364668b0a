//! Making the wallet, and restoring it from its words. The words are with the secrets before the database says that there is
//! a wallet, and told before it does: a making that is cut short leaves words that nothing was ever received with, and the
//! next one tells and uses them. Words that lie there are never overwritten by others.

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

/// Why no wallet was made or restored; each is a sentence with the remedy. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// There is one.
    #[error("there is a wallet already, and an environment has one for good: for another name another --data-dir")]
    Exists,
    /// There is one, of other words.
    #[error("these words are another wallet's than the one that is there: for a second wallet name another --data-dir")]
    OtherWallet,
    /// Other words than those that are to be restored lie with the secrets.
    #[error(
        "other words lie in {0} for this installation, of a wallet that was being made: `tillgate wallet create` shows and uses them; to restore others name another --data-dir"
    )]
    OtherWords(String),
    /// No words lie with the secrets of which one could be made.
    #[error("there are no words of which a wallet could be made: `tillgate wallet create` makes some")]
    NoWords,
    /// The text is no wallet's words.
    #[error(transparent)]
    Words(#[from] BadWords),
    /// The birthday is no height and no date.
    #[error("birthday must be the height of a block, or a date like 2024-05-31, and not lie ahead")]
    Birthday,
    /// The gap is out of bounds.
    #[error("the gap must be from 1 to {0}")]
    Gap(u32),
    /// The height of a date is not known.
    #[error("birthday cannot be a date before the Bitcoin backend answers, which is asked for its block ({}): set the backend first, or name a height", .0.0)]
    NoHeight(ChainDown),
    /// The node has not all the blocks that must be looked at.
    #[error(
        "the node has pruned all blocks below {first}, and the wallet's coins are looked for from block {from} on: let it download the chain again (-reindex) without pruning, use another backend, or name a later birthday if you are sure"
    )]
    Pruned {
        /// The first that it has.
        first: u32,
        /// The first that is needed.
        from: u32,
    },
    /// There is nothing to stop, or to let go on.
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
    /// No random bytes.
    #[error(transparent)]
    Entropy(#[from] NoEntropy),
    /// The mark of the wallet cannot be put into the data directory.
    #[error(transparent)]
    DataDir(#[from] DataDirError),
    /// The program is stopping.
    #[error("it was broken off: the program is stopping")]
    BrokenOff,
}

/// Puts new words with the secrets and answers them, to be told to a person before [`make`] makes the wallet of them. Words of
/// a making that was cut short are answered once more, however many they are.
///
/// # Errors
/// Why not.
pub(crate) async fn keep_words(gateway: &Arc<Gateway>, count: WordCount) -> Result<Secret, SetupError> {
    let _one_at_a_time = gateway.wallet_setup.lock().await;
    refuse_second(gateway)?;
    let words = mnemonic::new(gateway.entropy.as_ref(), count)?;
    let keeping = Arc::clone(gateway);
    let keep = move || keep(&keeping, Words::New(words));
    tokio::task::spawn_blocking(keep).await.map_err(|_| SetupError::BrokenOff)?
}

/// Makes the wallet of the words that lie with the secrets.
///
/// # Errors
/// Why not.
pub(crate) async fn make(gateway: &Arc<Gateway>, actor: &str) -> Result<(), SetupError> {
    adopt(gateway, Words::Kept, None, actor).await.map(drop)
}

/// Makes the wallet where there is none yet.
///
/// # Errors
/// Why not.
pub(crate) async fn ensure(gateway: &Arc<Gateway>) -> Result<(), SetupError> {
    if gateway.wallet.get().is_some() {
        return Ok(());
    }
    keep_words(gateway, WordCount::default()).await?;
    make(gateway, "serve").await
}

/// Words that a wallet is made of.
enum Words {
    /// New ones: any that lie there already take their place.
    New(Secret),
    /// Those that lie there.
    Kept,
    /// Those of a person, who knows them: no others take their place.
    Known(Secret),
}

/// Keeps the words, then makes the wallet in one transaction, and lets the gateway that runs have it.
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

/// Puts the words with the secrets, unless they or others lie there, and answers those that do. Blocks.
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

/// Lets all loops of the gateway find the wallet that the database holds.
async fn take_into_use(gateway: &Arc<Gateway>) -> Result<(), SetupError> {
    let loading = Arc::clone(gateway);
    let skip = loading.settings.snapshot().restore_skip;
    let load = move || Wallet::load(&loading.store, loading.network, skip);
    let wallet = tokio::task::spawn_blocking(load).await.map_err(|_| SetupError::BrokenOff)??;
    if let Some(wallet) = wallet {
        // One at a time makes it, and only where there is none.
        let _ = gateway.wallet.set(Arc::new(wallet));
    }
    gateway.sender_wake.notify_one();
    gateway.note_change();
    Ok(())
}

#[cfg(test)]
mod tests;
