//! Looking at the chain before something is signed: at a view that covers each coin that is spent and the next change.

use tillgate_domain::time::Timestamp;

use super::{LOOKED_WITHIN_MS, Sender};
use crate::chain::Sees;
use crate::gateway::{Cannot, Cause};
use crate::store::StoreError;
use crate::store::keychains::Keychain;
use crate::wallet::spend::Draft;
use crate::watcher::{WatchError, Watcher};

/// A transaction that was made by an older view is not stored. Longer than slow backends and keyrings take; the machine may have
/// slept.
const STORED_WITHIN_MS: i64 = 60_000;

/// Nothing is stored that was made by an old view.
const LOOKED_TOO_LONG_AGO: &str =
    "the chain was last looked at too long ago when the transaction was signed; it is looked at again, and made anew";

/// A server that a look does not finish with is asked again by the next pass.
const NOT_COVERED: &str = "the backend has not told yet of all coins that would be spent: it is asked again";

/// Why nothing may be signed.
#[derive(Debug)]
pub(super) enum Unseen {
    /// The next looks will tell.
    NotYet(Cannot),
    /// The chain is not watched.
    Silent(Cannot),
}

impl Sender {
    /// Looks where no look since `since` is young enough. Answers why nothing may be signed all the same.
    pub(super) async fn look_first(&self, watcher: &Watcher, since: Timestamp) -> Option<Unseen> {
        let gateway = &self.gateway;
        if gateway.last_look.is_fresh(since, gateway.clock.now(), LOOKED_WITHIN_MS) {
            return None;
        }
        look(watcher).await
    }

    /// The same for a draft: the last look covered the coins that it spends and its change.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub(super) async fn look_for(
        &self,
        watcher: &Watcher,
        draft: &Draft,
        since: Timestamp,
    ) -> Result<Option<Unseen>, StoreError> {
        let gateway = &self.gateway;
        let Some(wallet) = gateway.wallet.get() else { return Ok(None) };
        let of = |keychain, index| wallet.keychains.script(keychain, index).ok();
        let mut scripts: Vec<_> = draft.inputs.iter().filter_map(|coin| of(coin.keychain, coin.index)).collect();
        let (_, next_change) = gateway
            .store
            .read(|reader| reader.keychain(Keychain::Internal))?
            .ok_or(StoreError::BadValue("keychains"))?;
        scripts.extend(of(Keychain::Internal, next_change));
        // A backend that is shown every transaction goes by what it was told until a moment ago, and names no scripts then.
        let sees_all = gateway.chain.sees() == Sees::Everything;
        let is_covered = || {
            gateway.last_look.is_fresh(since, gateway.clock.now(), LOOKED_WITHIN_MS)
                && (sees_all || gateway.to_sign.is_covered(&scripts))
        };
        if is_covered() {
            return Ok(None);
        }
        gateway.to_sign.ask(scripts.clone());
        let unseen = look(watcher).await;
        let unseen = unseen.or_else(|| (!is_covered()).then(|| Unseen::NotYet(Cause::Chain.because(NOT_COVERED))));
        // What is not told yet is asked about until it is.
        if !matches!(unseen, Some(Unseen::NotYet(_))) {
            gateway.to_sign.ask(Vec::new());
        }
        Ok(unseen)
    }

    /// Whether the view that a transaction was made by, of a look since `since`, is young enough for it to be stored.
    ///
    /// # Errors
    /// Why it is not.
    pub(super) fn check_view(&self, since: Timestamp) -> Result<(), Cannot> {
        let (last_look, now) = (&self.gateway.last_look, self.gateway.clock.now());
        if last_look.is_fresh(since, now, STORED_WITHIN_MS) {
            return Ok(());
        }
        Err(Cause::Chain.because(LOOKED_TOO_LONG_AGO))
    }
}

async fn look(watcher: &Watcher) -> Option<Unseen> {
    match watcher.look_soon().await {
        Ok(()) => None,
        // What another copy paid meanwhile may be in the blocks that are left.
        Err(WatchError::Behind(catching_up)) => Some(Unseen::NotYet(Cause::Chain.because(catching_up.to_string()))),
        Err(error) => {
            let why = format!("the chain is not watched: {error}");
            Some(Unseen::Silent(Cause::Chain.because(why)))
        }
    }
}
