//! State of payout sending, for use cases and people. It is kept in memory: the first pass after a
//! restart sets it again.

use parking_lot::Mutex;
use tillgate_domain::time::Timestamp;
use tillgate_told::Telling;
use tokio::sync::Notify;

use super::to_sign::ToSign;
use super::wait::Wait;

/// The sender's memory between passes.
#[derive(Default)]
pub struct Sending {
    /// Notified (`notify_one`) after each commit that gives the sender work: an approval, a
    /// release, a bump.
    pub wake: Notify,
    /// The scripts that a look must cover before the sender signs.
    pub to_sign: ToSign,
    inner: Mutex<Inner>,
}

/// A refusal of the wallet's words by the secret store, or words of another wallet.
#[derive(Debug, Clone)]
pub struct KeysRefused {
    pub at: Timestamp,
    pub reason: Telling,
}

#[derive(Default)]
struct Inner {
    waits_for: Option<Wait>,
    keys_refused: Option<KeysRefused>,
}

impl Sending {
    /// Why approved payouts wait; `None` if they wait only for the next pass.
    #[must_use]
    pub fn waits_for(&self) -> Option<Wait> {
        self.inner.lock().waits_for.clone()
    }

    /// Stores why approved payouts wait. Returns whether the reason changed.
    pub fn set_waits_for(&self, obstacle: Option<Wait>) -> bool {
        let mut inner = self.inner.lock();
        let is_new = inner.waits_for != obstacle;
        if let Some(obstacle) = obstacle.as_ref().filter(|_| is_new) {
            tracing::warn!(reason = %obstacle.reason, "payouts wait");
        }
        inner.waits_for = obstacle;
        is_new
    }

    /// The last refusal of the wallet's words; `None` after the words were read.
    pub fn keys_refused(&self) -> Option<KeysRefused> {
        self.inner.lock().keys_refused.clone()
    }

    pub fn note_keys_refused(&self, refused: Option<KeysRefused>) {
        self.inner.lock().keys_refused = refused;
    }
}
