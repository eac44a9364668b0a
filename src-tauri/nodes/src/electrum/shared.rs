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
    /// The newest version that is spoken.
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
    /// Takes in the changes, unless the fault is to stand still.
    pub(super) fn refresh(&mut self) {
        if self.fault != Some(ElectrumFault::StandsStill) {
            // A failed read is repeated the next time.
            let _ = self.index.refresh(&self.sandbox);
        }
    }
}
