//! The wallet's scripts far beyond the next index, which another copy of the wallet may use. They
//! are too many to subscribe to, so looks ask about each script once in ten minutes. This module
//! writes nothing.

use bitcoin::ScriptBuf;
use tillgate_domain::time::Timestamp;
use tillgate_store::keychains::Keychain;
use tillgate_store::{Reader, StoreError};

use crate::wallet::Wallet;

/// Number of indices of each keychain, from the next index on, that every look covers.
pub const NEAR: u32 = 200;

/// Time for one round over all scripts far ahead: below ten minutes, since a look may fail.
const ROUND_MS: u64 = 8 * 60_000;

/// Most of these scripts in one look. With very many scripts ahead, a round takes longer.
const AT_ONCE: u64 = 100;

/// Position of the round over the scripts far ahead.
#[derive(Debug, Clone, Copy)]
pub struct LookaheadRound {
    keychain: Keychain,
    index: u32,
    /// Time of the last look that took scripts; `None` before the first look.
    at: Option<Timestamp>,
}

impl Default for LookaheadRound {
    fn default() -> Self {
        Self { keychain: Keychain::External, index: 0, at: None }
    }
}

impl LookaheadRound {
    /// The scripts whose turn is at `now`, and the position after them. The round covers `skip`
    /// scripts of each keychain, the setting `restoreSkip`.
    pub fn take(
        self,
        reader: &Reader<'_>,
        wallet: &Wallet,
        skip: u32,
        now: Timestamp,
    ) -> Result<(Vec<ScriptBuf>, Self), StoreError> {
        let passed_ms =
            self.at.map_or(0, |at| u64::try_from(now.ms().saturating_sub(at.ms())).unwrap_or(0));
        let count =
            (u64::from(skip).saturating_mul(2).saturating_mul(passed_ms) / ROUND_MS).min(AT_ONCE);
        // If the clock was set back, the time since the last turn starts over.
        if count == 0 && self.at.is_some_and(|at| at <= now) {
            return Ok((Vec::new(), self));
        }
        let (mut scripts, mut round) = (Vec::new(), Self { at: Some(now), ..self });
        for _ in 0..count {
            let next = reader.keychain(round.keychain)?.map_or(0, |(_, next)| next);
            let near = next.saturating_add(NEAR);
            let index = round.index.max(near);
            if index >= near.saturating_add(skip) {
                round = Self { keychain: round.keychain.other(), index: 0, ..round };
                continue;
            }
            // An index beyond the end of the keychain has no script.
            scripts.extend(wallet.keychains.script(round.keychain, index).ok());
            round.index = index.saturating_add(1);
        }
        Ok((scripts, round))
    }
}
