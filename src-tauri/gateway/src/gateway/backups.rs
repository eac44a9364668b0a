//! State that nightly and manual backups share.

use std::sync::Arc;

use tokio::sync::{Mutex, Notify, Semaphore};

/// Limit of threads that wait for the disk of a folder. A disconnected disk may block them for
/// minutes.
const FOLDER_LOOKS_MAX: usize = 4;

pub struct Backups {
    /// Held while a backup is made or checked.
    pub turn: Mutex<()>,
    /// Notified (`notify_one`) when a failed nightly backup may be possible now.
    pub wake: Notify,
    /// Permits to read a folder.
    pub folder_looks: Arc<Semaphore>,
}

impl Default for Backups {
    fn default() -> Self {
        let folder_looks = Arc::new(Semaphore::new(FOLDER_LOOKS_MAX));
        Self { turn: Mutex::default(), wake: Notify::default(), folder_looks }
    }
}
