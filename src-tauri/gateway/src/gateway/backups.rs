//! What those share who make backups.

use tokio::sync::{Mutex, Notify};

/// The making of backups.
#[derive(Default)]
pub(crate) struct Backups {
    /// Held while one is made or checked.
    pub turn: Mutex<()>,
    /// Told (`notify_one`) when a nightly one that could not be made may be possible now.
    pub wake: Notify,
}
