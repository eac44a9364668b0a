//! What those share who make backups.

use std::sync::Arc;

use tokio::sync::{Mutex, Notify, Semaphore};

/// So many threads at most wait for the disks of folders that somebody named.
const FOLDER_LOOKS_MAX: usize = 4;

/// The making of backups.
pub(crate) struct Backups {
    /// Held while one is made or checked.
    pub turn: Mutex<()>,
    /// Told (`notify_one`) when a nightly one that could not be made may be possible now.
    pub wake: Notify,
    /// What a look at a folder that somebody named takes.
    pub folder_looks: Arc<Semaphore>,
}

impl Default for Backups {
    fn default() -> Self {
        let folder_looks = Arc::new(Semaphore::new(FOLDER_LOOKS_MAX));
        Self { turn: Mutex::default(), wake: Notify::default(), folder_looks }
    }
}
