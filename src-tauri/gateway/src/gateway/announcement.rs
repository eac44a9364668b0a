//! Announces a commit, whether or not the caller still waits for its answer.

use std::sync::Weak;

use super::resources::Gateway;

/// Announces a committed change when dropped. A write returns it beside its result, and the caller
/// drops it after the commit. If the caller is gone (a client that hung up), the writer drops it. A
/// failed commit is announced too, which costs the listeners one needless read. The announcement
/// keeps no gateway alive, because an answer may outlive the gateway.
pub struct Announcement {
    gateway: Weak<Gateway>,
    has_queued: bool,
}

impl Announcement {
    /// Announces a change that the panel and the payment pages show.
    pub fn of_change(gateway: Weak<Gateway>) -> Self {
        Self { gateway, has_queued: false }
    }

    /// Announces such a change, and whether the commit queued notifications.
    pub fn of_outbox(gateway: Weak<Gateway>, has_queued: bool) -> Self {
        Self { gateway, has_queued }
    }
}

impl Drop for Announcement {
    fn drop(&mut self) {
        let Some(gateway) = self.gateway.upgrade() else { return };
        if self.has_queued {
            gateway.signals.notifier.notify_one();
        }
        gateway.signals.note_change();
    }
}
