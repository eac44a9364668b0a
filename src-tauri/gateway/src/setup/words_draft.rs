//! A draft of a wallet: its words were shown, but no wallet was made. They stay in memory only
//! until the user has repeated two of them.

use std::sync::Arc;

use tillgate_machine::secrets::Purpose;
use tokio::time::Instant;

use super::error::SetupError;
use super::making::{Words, adopt, refuse_second};
use crate::gateway::{Gateway, WalletSlot};
use crate::wallet::words::{self as mnemonic, WordCount};
use crate::wallet::{DRAFT_KEPT_FOR, WordsDraft};

/// Why the wallet of a draft was not made.
#[derive(Debug, thiserror::Error, tillgate_told::Told)]
pub enum DraftError {
    /// The draft expired, was used or replaced, or never existed.
    #[error(
        "these words are no longer kept: they were used, replaced by others, or shown more than 15 minutes ago; begin again, and write down the new ones"
    )]
    Gone,
    /// A word differs from the shown word at its place.
    #[error("word {0} does not match: look at what you wrote down")]
    Wrong(usize),
    /// [`adopt`] failed.
    #[error(transparent)]
    Setup(#[from] SetupError),
}

/// Makes new words and keeps them for 15 minutes, in memory only. An earlier draft is forgotten. If
/// the secret store has words of an interrupted making, they are shown instead.
///
/// # Errors
/// There is a wallet already, there are no random bytes, or the secret store refuses.
pub async fn draft(gateway: &Arc<Gateway>, count: WordCount) -> Result<WordsDraft, SetupError> {
    refuse_second(&gateway.store)?;
    let asking = Arc::clone(gateway);
    let kept = move || asking.machine.secrets.get(Purpose::WalletMnemonic);
    let kept = tokio::task::spawn_blocking(kept).await.map_err(|_| SetupError::Interrupted)??;
    let words = match kept {
        Some(words) => words,
        None => mnemonic::new(gateway.machine.entropy.as_ref(), count)?,
    };
    let id = gateway.machine.entropy.id()?;
    let many = words.reveal().split(' ').count();
    // The two different places come from bytes of the id, which are random.
    let [first, second, ..] = *id.as_bytes();
    let first = usize::from(first) % many;
    let second = (first + 1 + usize::from(second) % (many - 1)) % many;
    let asked = [first.min(second) + 1, first.max(second) + 1];
    let draft = WordsDraft { id: id.to_string(), words, asked };
    gateway.wallet.drafts.put(draft.clone(), Instant::now());
    let (wiping, id) = (Arc::downgrade(gateway), draft.id.clone());
    tokio::spawn(async move {
        tokio::time::sleep(DRAFT_KEPT_FOR).await;
        if let Some(gateway) = wiping.upgrade() {
            gateway.wallet.drafts.forget(&id);
        }
    });
    Ok(draft)
}

/// Makes the wallet of a draft, once the user has repeated the two words correctly.
///
/// # Errors
/// The wallet was not made. After a wrong word the draft stays usable.
pub async fn confirm(
    gateway: &Arc<Gateway>,
    id: &str,
    told: [&str; 2],
    actor: &str,
) -> Result<(), DraftError> {
    let draft = gateway.wallet.drafts.get(id, Instant::now()).ok_or(DraftError::Gone)?;
    for (place, told) in draft.asked.into_iter().zip(told) {
        let word = draft.words.reveal().split(' ').nth(place.saturating_sub(1));
        if word.is_none_or(|word| !word.eq_ignore_ascii_case(told.trim())) {
            return Err(DraftError::Wrong(place));
        }
    }
    adopt(gateway, Words::Known(draft.words), None, actor).await?;
    gateway.wallet.drafts.forget(id);
    Ok(())
}

/// Wipes the words of a draft that is no longer needed.
pub fn discard(wallet: &WalletSlot, id: &str) {
    wallet.drafts.forget(id);
}
