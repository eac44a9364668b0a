//! Looks at the chain before signing. The look must cover each coin that is spent and the next
//! change address.

use tillgate_chain::Sees;
use tillgate_domain::time::Timestamp;
use tillgate_store::StoreError;
use tillgate_store::keychains::Keychain;
use tillgate_told::Told as _;

use super::pass::Sender;
use crate::gateway::{Wait, WaitCause, Waits};
use crate::wallet::spend::UnsignedSpend;
use crate::watcher::{WatchError, Watcher};

/// Oldest look that is used to choose coins. A payment that another copy of the wallet sends after
/// that look is noticed too late.
const LOOKED_WITHIN_MS: i64 = 10_000;

/// Oldest look with which a signed transaction is stored. An older look means that the machine
/// slept while signing.
const STORED_WITHIN_MS: i64 = 60_000;

impl Sender {
    /// Looks, unless the last look is after `since` and young enough. Returns the reason if signing
    /// must wait.
    pub async fn look_unless_fresh(&self, watcher: &Watcher, since: Timestamp) -> Option<Wait> {
        let gateway = &self.gateway;
        if gateway.backend.last_look.is_fresh(since, gateway.time.now(), LOOKED_WITHIN_MS) {
            return None;
        }
        watcher.look_soon().await.err().map(not_looked)
    }

    /// Makes sure that the last look covers the coins and the change of a spend. Returns the reason
    /// if signing must wait.
    pub async fn look_at_coins(
        &self,
        watcher: &Watcher,
        spend: &UnsignedSpend,
        since: Timestamp,
    ) -> Result<Option<Wait>, StoreError> {
        let gateway = &self.gateway;
        let Some(wallet) = gateway.wallet.get() else { return Ok(None) };
        let of = |keychain, index| wallet.keychains.script(keychain, index).ok();
        let mut scripts: Vec<_> =
            spend.inputs.iter().filter_map(|coin| of(coin.keychain, coin.index)).collect();
        let (_, next_change) = gateway
            .store
            .read(|reader| reader.keychain(Keychain::Internal))?
            .ok_or(StoreError::BadValue("keychains"))?;
        scripts.extend(of(Keychain::Internal, next_change));
        // A backend that sees every transaction covers all scripts without a list of them.
        let sees_all = gateway.backend.chain.sees() == Sees::Everything;
        let is_covered = || {
            gateway.backend.last_look.is_fresh(since, gateway.time.now(), LOOKED_WITHIN_MS)
                && (sees_all || gateway.sending.to_sign.is_covered(&scripts))
        };
        if is_covered() {
            return Ok(None);
        }
        gateway.sending.to_sign.ask(scripts.clone());
        let looked = watcher.look_soon().await;
        let is_watched = matches!(looked, Ok(()) | Err(WatchError::Behind(_)));
        let why = match looked {
            Ok(()) => (!is_covered()).then(|| WaitCause::Chain.because(&Waits::NotCovered)),
            Err(error) => Some(not_looked(error)),
        };
        // While the look did not cover the scripts, later looks ask about them too.
        if why.is_none() || !is_watched {
            gateway.sending.to_sign.ask(Vec::new());
        }
        Ok(why)
    }

    /// Checks that a signed transaction may be stored: the last look began after `since` and is
    /// young enough.
    ///
    /// # Errors
    /// When the look is too old.
    pub fn check_view(&self, since: Timestamp) -> Result<(), Wait> {
        let (last_look, now) = (&self.gateway.backend.last_look, self.gateway.time.now());
        if last_look.is_fresh(since, now, STORED_WITHIN_MS) {
            return Ok(());
        }
        Err(WaitCause::Chain.because(&Waits::LookedTooLongAgo))
    }
}

/// The reason to sign nothing after a failed look.
fn not_looked(error: WatchError) -> Wait {
    match error {
        // The blocks that were not read yet may hold a payment of another copy.
        WatchError::Behind(catching_up) => WaitCause::Chain.because(&catching_up),
        error => WaitCause::Chain.because(&Waits::NotWatched(error.telling())),
    }
}
