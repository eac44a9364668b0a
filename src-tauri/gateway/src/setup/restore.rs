//! Restores a wallet from its words. The wallet exists at once, but gives addresses and sends only
//! after the scan, which is the look through the whole chain for its coins.

use std::sync::Arc;

use bitcoin::Network;
use tillgate_domain::restore::{looks_ahead, usual_run};
use tillgate_domain::time::Timestamp;
use tillgate_machine::secrets::{Purpose, Secret};
use tillgate_store::StoreError;
use tillgate_store::keychains::Keychain;
use tillgate_store::restore::{NewRestore, Restore, RestoreSource};

use super::error::SetupError;
use super::making::{Words, adopt};
use crate::gateway::Gateway;
use crate::wallet::Descriptors;

/// The largest `--gap`. The gap plus `restoreSkip` is the number of indices that are derived and
/// watched ahead.
pub const GAP_MAX: u32 = 100_000;

/// The first block of mainnet that can hold an output to a SegWit address: the activation height.
/// Taproot is later.
const FIRST_SEGWIT: u32 = 481_824;

/// An upper bound of heights, which no chain reaches within a hundred years.
const HEIGHTS_END: u32 = 10_000_000;

/// The earliest time of the wallet's first coin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Birthday {
    /// In the block of this height.
    Height(u32),
    /// On the day that begins at this time.
    Date(Timestamp),
}

/// A request to restore a wallet, and to scan the chain for its coins.
pub struct RestoreRequest {
    pub words: Secret,
    /// The start of the scan; `None` for the first block that can hold a coin of the wallet.
    pub birthday: Option<Birthday>,
    /// Longest run of given addresses without a coin; `None`: the usual run. The number in the
    /// setting `restoreSkip` is added to it.
    pub gap: Option<u32>,
    /// Whether another copy gave addresses that this copy does not know, for example because this
    /// copy's folder was restored by hand.
    pub beside_another: bool,
}

/// The result of a restore.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Restored {
    /// The wallet was made, and its scan begins.
    Made(Restore),
    /// The wallet existed, and its scan begins again.
    Again(Restore),
    /// The wallet existed, and its words were stored in the secret store again.
    WordsKept,
}

impl Birthday {
    /// Reads a height or a date. A number beyond all heights of this century is taken for a date
    /// without hyphens, and refused.
    pub fn parse(text: &str) -> Option<Self> {
        if let Ok(height) = text.parse() {
            let is_height = text.bytes().all(|byte| byte.is_ascii_digit()) && height < HEIGHTS_END;
            return is_height.then_some(Self::Height(height));
        }
        Timestamp::parse_iso(&format!("{text}T00:00:00Z")).ok().map(Self::Date)
    }
}

/// Restores a wallet from its words. If the wallet exists, its words are stored in the secret store
/// again. With a birthday, a gap or `beside_another` the chain is also scanned again.
///
/// # Errors
/// The wallet was not restored. The secret store may hold the words already.
pub async fn restore(
    gateway: &Arc<Gateway>,
    request: RestoreRequest,
    actor: &str,
) -> Result<Restored, SetupError> {
    let RestoreRequest { words, birthday, gap, beside_another } = request;
    let looks_again = birthday.is_some() || gap.is_some() || beside_another;
    let skip = gateway.settings.snapshot().restore_skip;
    let run = gap.unwrap_or_else(|| usual_run(skip).min(GAP_MAX));
    if !(1..=GAP_MAX).contains(&run) {
        return Err(SetupError::Gap(GAP_MAX));
    }
    let is_there = gateway.store.read(|reader| reader.has_wallet())?;
    let new = if !is_there || looks_again {
        let asking = Arc::clone(gateway);
        let birth = move || birth_height(&asking, birthday);
        let birth_height =
            tokio::task::spawn_blocking(birth).await.map_err(|_| SetupError::Interrupted)??;
        let (source, at) = (RestoreSource::Words, gateway.time.now());
        Some(NewRestore {
            source,
            at,
            birth_height: Some(birth_height),
            looks_ahead: looks_ahead(run, skip),
            skip,
            beside_another,
        })
    } else {
        None
    };
    if is_there {
        return again(gateway, words, new, actor).await;
    }
    let made = adopt(gateway, Words::Known(words), new, actor).await?;
    made.map(Restored::Made).ok_or(SetupError::Interrupted)
}

/// Restores a wallet that exists: changes only its words in the secret store and the progress of
/// its scan.
async fn again(
    gateway: &Arc<Gateway>,
    words: Secret,
    new: Option<NewRestore>,
    actor: &str,
) -> Result<Restored, SetupError> {
    let _one_at_a_time = gateway.wallet.setup.lock().await;
    let Some(wallet) = gateway.wallet.get() else { return Err(SetupError::Exists) };
    let derived = Descriptors::derive(&words, gateway.network, wallet.keychains.address_type())?;
    if derived != *wallet.keychains.descriptors() {
        return Err(SetupError::OtherWallet);
    }
    let other =
        Descriptors::derive(&words, gateway.network, wallet.keychains.address_type().other())?;
    let keeping = Arc::clone(gateway);
    let keep = move || match keeping.machine.secrets.get(Purpose::WalletMnemonic)? {
        Some(there) if there.reveal() == words.reveal() => Ok(()),
        // Other words in the secret store do not belong to this wallet, so they are overwritten.
        Some(_) | None => keeping.machine.secrets.set(Purpose::WalletMnemonic, &words),
    };
    tokio::task::spawn_blocking(keep).await.map_err(|_| SetupError::Interrupted)??;
    gateway.sending.note_keys_refused(None);
    let (now, actor) = (gateway.time.now(), actor.to_owned());
    let was_withheld = wallet.addresses.is_withheld();
    if new.is_some() {
        // Addresses are withheld from here on: the scan would miss an address that is given between
        // here and its start.
        wallet.withhold(true);
    }
    let begun = gateway
        .store
        .write(move |tx| {
            tx.audit(now, &actor, "wallet restore", "wallet")?;
            let Some(new) = new else { return Ok(None) };
            tx.look_at_other_type(&other.external, &other.internal)?;
            let begun = tx.begin_restore(&new)?;
            let next_index =
                |keychain| Ok::<_, StoreError>(tx.keychain(keychain)?.map_or(0, |(_, next)| next));
            Ok(Some((begun, next_index(Keychain::External)?, next_index(Keychain::Internal)?)))
        })
        .await
        .inspect_err(|_: &StoreError| wallet.withhold(was_withheld))?;
    if let Some((restore, next_address, next_change)) = &begun {
        wallet.apply_restore(restore, *next_address, *next_change)?;
        wallet.watch_other_type(&gateway.store, restore)?;
    }
    gateway.sending.wake.notify_one();
    gateway.signals.note_change();
    Ok(begun.map_or(Restored::WordsKept, |(restore, ..)| Restored::Again(restore)))
}

/// The height up to which blocks hold no coin of the wallet. Asks the backend, if there is one.
/// Blocks the thread.
fn birth_height(gateway: &Gateway, birthday: Option<Birthday>) -> Result<u32, SetupError> {
    // Addresses of both types are looked at.
    let first = if gateway.network == Network::Bitcoin { FIRST_SEGWIT } else { 0 };
    let from = match birthday {
        None => first,
        Some(Birthday::Height(height)) => height.max(first),
        Some(Birthday::Date(at)) if at > gateway.time.now() => return Err(SetupError::Birthday),
        Some(Birthday::Date(at)) => {
            gateway.backend.chain.height_before(at).map_err(SetupError::NoHeight)?.max(first)
        }
    };
    match (gateway.backend.chain.first_block(), gateway.backend.chain.tip()) {
        (Ok(kept_from), _) if kept_from > from => {
            return Err(SetupError::Pruned { first: kept_from, from });
        }
        (_, Ok(tip)) if from > tip.height => return Err(SetupError::Birthday),
        // If no backend answers yet, the scan begins later. It then reports a birthday that is
        // above the best block.
        (Ok(_) | Err(_), _) => {}
    }
    Ok(from.saturating_sub(1))
}

/// Stops the scan of a restored wallet. The wallet gives no addresses until a resumed or new scan
/// has ended.
///
/// # Errors
/// No scan is under way.
pub async fn stop(gateway: &Arc<Gateway>, actor: &str) -> Result<Restore, SetupError> {
    set_stopped(gateway, true, actor).await
}

/// Resumes the scan of a restored wallet.
///
/// # Errors
/// There is no stopped scan.
pub async fn continue_restore(gateway: &Arc<Gateway>, actor: &str) -> Result<Restore, SetupError> {
    set_stopped(gateway, false, actor).await
}

async fn set_stopped(
    gateway: &Arc<Gateway>,
    stopped: bool,
    actor: &str,
) -> Result<Restore, SetupError> {
    let (now, actor) = (gateway.time.now(), actor.to_owned());
    let act = if stopped { "wallet restore stop" } else { "wallet restore continue" };
    let changed = gateway
        .store
        .write(move |tx| {
            let changed = tx.stop_restore(stopped)?;
            if changed {
                tx.audit(now, &actor, act, "wallet")?;
            }
            Ok::<_, SetupError>(if changed { tx.restore()? } else { None })
        })
        .await?;
    gateway.signals.note_change();
    changed.ok_or(SetupError::NotLooking)
}
