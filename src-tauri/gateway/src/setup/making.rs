//! Makes the wallet from new, kept or known words.

use std::sync::Arc;
use tillgate_machine::secrets::SecretStore;
use tillgate_store::Store;

use tillgate_machine::fail_points::{self, Point};
use tillgate_machine::secrets::{Purpose, Secret};
use tillgate_store::keychains::Keychain;
use tillgate_store::restore::{NewRestore, Restore};

use super::error::SetupError;
use crate::gateway::Gateway;
use crate::wallet::words::{self as mnemonic, WordCount};
use crate::wallet::{Descriptors, Wallet, mark};

/// The act in the audit log by which a wallet of new words was made.
pub const CREATED: &str = "wallet create";

/// Puts new words into the secret store and returns them; the caller shows them before [`make`]
/// makes the wallet. Words that an interrupted setup left in the store are returned instead, even
/// if their number is not `count`.
///
/// # Errors
/// There is a wallet already, or the secret store failed.
pub async fn keep_words(gateway: &Arc<Gateway>, count: WordCount) -> Result<Secret, SetupError> {
    let _one_at_a_time = gateway.wallet.setup.lock().await;
    refuse_second(&gateway.store)?;
    let words = mnemonic::new(gateway.machine.entropy.as_ref(), count)?;
    let storing = Arc::clone(gateway);
    let store = move || store_words(storing.machine.secrets.as_ref(), Words::New(words));
    tokio::task::spawn_blocking(store).await.map_err(|_| SetupError::Interrupted)?
}

/// Makes the wallet from the words in the secret store.
///
/// # Errors
/// There is a wallet already or there are no words, or a store failed.
pub async fn make(gateway: &Arc<Gateway>, actor: &str) -> Result<(), SetupError> {
    adopt(gateway, Words::Kept, None, actor).await.map(drop)
}

/// Makes the wallet if there is none yet.
///
/// # Errors
/// The secret store or the database failed.
pub async fn ensure(gateway: &Arc<Gateway>) -> Result<(), SetupError> {
    if gateway.wallet.get().is_some() {
        return Ok(());
    }
    keep_words(gateway, WordCount::default()).await?;
    make(gateway, "serve").await
}

/// The words for a wallet.
pub enum Words {
    /// New words. Words that exist in the secret store are used instead.
    New(Secret),
    /// The words in the secret store.
    Kept,
    /// Words that a person gave. Other words in the secret store are an error.
    Known(Secret),
}

/// Stores the words, makes the wallet in one transaction, and loads it into the running gateway.
pub async fn adopt(
    gateway: &Arc<Gateway>,
    words: Words,
    restore: Option<NewRestore>,
    actor: &str,
) -> Result<Option<Restore>, SetupError> {
    let _one_at_a_time = gateway.wallet.setup.lock().await;
    refuse_second(&gateway.store)?;
    let storing = Arc::clone(gateway);
    let store = move || store_words(storing.machine.secrets.as_ref(), words);
    let words = tokio::task::spawn_blocking(store).await.map_err(|_| SetupError::Interrupted)??;
    let address_type = gateway.settings.snapshot().address_type;
    let descriptors = Descriptors::derive(&words, gateway.network, address_type)?;
    let other = Descriptors::derive(&words, gateway.network, address_type.other())?;
    let (now, actor) = (gateway.time.now(), actor.to_owned());
    mark::write(&gateway.machine.data_dir)?;
    fail_points::pass(Point::WalletBefore);
    let made = gateway
        .store
        .write(move |tx| -> Result<Option<Restore>, SetupError> {
            tx.insert_keychain(Keychain::External, &descriptors.external)?;
            tx.insert_keychain(Keychain::Internal, &descriptors.internal)?;
            let (act, restored) = match restore {
                Some(new) => {
                    tx.look_at_other_type(&other.external, &other.internal)?;
                    ("wallet restore", Some(tx.begin_restore(&new)?))
                }
                None => (CREATED, None),
            };
            tx.audit(now, &actor, act, "wallet")?;
            Ok(restored)
        })
        .await?;
    fail_points::pass(Point::WalletAfter);
    take_into_use(gateway).await?;
    Ok(made)
}

pub fn refuse_second(store: &Store) -> Result<(), SetupError> {
    if store.read(|reader| reader.has_wallet())? { Err(SetupError::Exists) } else { Ok(()) }
}

/// Puts the words into the secret store, unless it holds words already; returns the words to use.
/// Blocks the thread.
fn store_words(secrets: &dyn SecretStore, words: Words) -> Result<Secret, SetupError> {
    let there = secrets.get(Purpose::WalletMnemonic)?;
    match (there, words) {
        (Some(there), Words::New(_) | Words::Kept) => Ok(there),
        (None, Words::Kept) => Err(SetupError::NoWords),
        (Some(there), Words::Known(words)) if there.reveal() == words.reveal() => Ok(words),
        (Some(_), Words::Known(_)) => Err(SetupError::OtherWords(secrets.describe())),
        (None, Words::New(words) | Words::Known(words)) => {
            secrets.set(Purpose::WalletMnemonic, &words)?;
            Ok(words)
        }
    }
}

/// Loads the wallet from the database into the gateway, and wakes the sender.
async fn take_into_use(gateway: &Arc<Gateway>) -> Result<(), SetupError> {
    let loading = Arc::clone(gateway);
    let skip = loading.settings.snapshot().restore_skip;
    let load = move || Wallet::load(&loading.store, loading.network, skip);
    let wallet = tokio::task::spawn_blocking(load).await.map_err(|_| SetupError::Interrupted)??;
    if let Some(wallet) = wallet {
        gateway.wallet.set(Arc::new(wallet));
    }
    gateway.sending.wake.notify_one();
    gateway.signals.note_change();
    Ok(())
}
