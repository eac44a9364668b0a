//! Telling of a commit, whoever waits for its answer.

use std::sync::Weak;

use super::Gateway;

/// Tells of a committed change when it is dropped. A write answers it beside its result: whoever asked for the write drops
/// it after the commit, and where that one has gone meanwhile (a client that hung up), the writer does. Of a commit that
/// failed it tells too, which costs those who hear it one look for nothing. A gateway that ends meanwhile is not kept: an
/// answer may live longer than it.
pub(crate) struct Announcement {
    gateway: Weak<Gateway>,
    has_queued: bool,
}

impl Announcement {
    /// Of a change that people look at.
    pub(crate) fn of_change(gateway: Weak<Gateway>) -> Self {
        Self { gateway, has_queued: false }
    }

    /// Of a change that people look at, with notifications that were queued in the same commit or none.
    pub(crate) fn of_outbox(gateway: Weak<Gateway>, has_queued: bool) -> Self {
        Self { gateway, has_queued }
    }
}

impl Drop for Announcement {
    fn drop(&mut self) {
        let Some(gateway) = self.gateway.upgrade() else { return };
        if self.has_queued {
            gateway.notifier_wake.notify_one();
        }
        gateway.note_change();
    }
}
