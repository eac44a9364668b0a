//! State shared by all that make backups.

use std::sync::Arc;

use tokio::sync::{Mutex, Notify, Semaphore};

/// Most threads that wait for the disks of named folders.
const FOLDER_LOOKS_MAX: usize = 4;

pub(crate) struct Backups {
    /// Held while a backup is made or checked.
    pub turn: Mutex<()>,
    /// Notified (`notify_one`) when a nightly backup that had failed may be possible.
    pub wake: Notify,
    /// Permits to look at a named folder.
    pub folder_looks: Arc<Semaphore>,
}

impl Default for Backups {
    fn default() -> Self {
        let folder_looks = Arc::new(Semaphore::new(FOLDER_LOOKS_MAX));
        Self { turn: Mutex::default(), wake: Notify::default(), folder_looks }
    }
}
