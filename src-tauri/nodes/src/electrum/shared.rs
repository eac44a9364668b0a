//! The state that all connections of a server share.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tillgate_sandbox::Sandbox;

use super::fault::ElectrumFault;
use super::index::Index;
use crate::clock::Clock;
use crate::counted::Counted;

/// The clock, and the state behind a lock.
pub(super) struct Shared {
    pub(super) clock: Clock,
    pub(super) inner: Mutex<Inner>,
}

pub(super) struct Inner {
    pub(super) sandbox: Arc<Sandbox>,
    pub(super) index: Index,
    pub(super) fault: Option<ElectrumFault>,
    /// The newest protocol version that the server offers.
    pub(super) newest: &'static str,
    pub(super) counted: Counted,
    pub(super) connections: u64,
    /// Connections that are still open.
    pub(super) open: u64,
}

impl Shared {
    pub(super) fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    /// Reads the sandbox's changes, except under the fault [`ElectrumFault::StandsStill`].
    pub(super) fn refresh(&mut self) {
        if self.fault != Some(ElectrumFault::StandsStill) {
            // A failed read is repeated at the next call.
            let _ = self.index.refresh(&self.sandbox);
        }
    }
}
