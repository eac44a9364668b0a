//! How the sending of payouts goes, for use cases and people. Held in memory: a restart finds out anew.

use parking_lot::Mutex;
use tillgate_domain::time::Timestamp;

/// What is remembered between two passes of the sender.
#[derive(Default)]
pub struct Sending {
    inner: Mutex<Inner>,
}

/// The wallet's words could not be had, or were another wallet's.
#[derive(Debug, Clone)]
pub(crate) struct KeysRefused {
    pub at: Timestamp,
    /// For people.
    pub reason: String,
}

#[derive(Default)]
struct Inner {
    waits_for: Option<String>,
    keys_refused: Option<KeysRefused>,
}

impl Sending {
    /// Why approved payouts wait, for people; `None` where none does, or only for its turn.
    #[must_use]
    pub fn waits_for(&self) -> Option<String> {
        self.inner.lock().waits_for.clone()
    }

    /// Notes why they wait, and answers whether that is new.
    pub(crate) fn set_waits_for(&self, reason: Option<String>) -> bool {
        let mut inner = self.inner.lock();
        let is_new = inner.waits_for != reason;
        if let Some(reason) = reason.as_ref().filter(|_| is_new) {
            tracing::warn!(reason, "payouts wait");
        }
        inner.waits_for = reason;
        is_new
    }

    /// The last refusal of the wallet's words, where they were not had since.
    pub(crate) fn keys_refused(&self) -> Option<KeysRefused> {
        self.inner.lock().keys_refused.clone()
    }

    /// Remembers that the words were refused, or forgets it.
    pub(crate) fn note_keys_refused(&self, refused: Option<KeysRefused>) {
        self.inner.lock().keys_refused = refused;
    }
}
