//! A receiver of notifications in the sandbox, in place of a shop's server. It keeps the last ones
//! in memory.

use std::collections::VecDeque;

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tillgate_domain::time::Timestamp;
use ts_rs::TS;

/// The most notifications that are kept.
const KEPT: usize = 20;

/// The last notifications that were received.
#[derive(Debug, Default)]
pub struct Receiver(Mutex<VecDeque<Received>>);

/// A notification that was received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Received {
    /// When it arrived, on the environment's clock.
    pub at: Timestamp,
    pub body: String,
    /// The header `X-BPG-Signature`.
    pub signature: Option<String>,
    pub check: SignatureCheck,
}

/// The result of checking a signature, as a shop would.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum SignatureCheck {
    /// There is none, because no signing key exists.
    Missing,
    /// The signing key made it for this body.
    Right,
    /// It does not fit the body.
    Wrong,
}

impl Receiver {
    /// Keeps a notification. The oldest one is dropped if there are too many.
    pub fn take(&self, received: Received) {
        let mut kept = self.0.lock();
        kept.push_front(received);
        kept.truncate(KEPT);
    }

    /// The kept notifications, the newest first.
    pub fn last(&self) -> Vec<Received> {
        self.0.lock().iter().cloned().collect()
    }
}
