//! How much room is left on the disk that holds the data.

use std::path::{Path, PathBuf};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// With less room than this nothing new is made, so that what was promised can still be written (interface, "Errors").
pub(crate) const FREE_BYTES_MIN: u64 = 500_000_000;

/// The system is asked at most so often: a disk does not fill faster.
const ASK_EVERY: Duration = Duration::from_secs(1);

/// What room is left is for what was promised.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the disk is nearly full, so nothing new is made or sent again; all else goes on")]
pub struct DiskNearlyFull;

/// The disk of one folder.
#[derive(Debug)]
pub struct Disk {
    folder: PathBuf,
    last: Mutex<Option<(Instant, Option<u64>)>>,
    #[cfg(test)]
    pretended: std::sync::atomic::AtomicU64,
}

impl Disk {
    /// The disk that holds `folder`.
    #[must_use]
    pub fn of(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
            last: Mutex::new(None),
            #[cfg(test)]
            pretended: std::sync::atomic::AtomicU64::new(u64::MAX),
        }
    }

    /// The bytes that are free for us, a second old at most; `None` where the system does not tell.
    #[must_use]
    pub fn free_bytes(&self) -> Option<u64> {
        #[cfg(test)]
        match self.pretended.load(std::sync::atomic::Ordering::SeqCst) {
            u64::MAX => {}
            pretended => return Some(pretended),
        }
        let mut last = self.last.lock();
        match *last {
            Some((asked_at, free)) if asked_at.elapsed() < ASK_EVERY => free,
            _ => {
                let free = ask(&self.folder);
                *last = Some((Instant::now(), free));
                free
            }
        }
    }

    /// Refuses what only makes the data grow where too little room is left for what was promised.
    ///
    /// # Errors
    /// [`DiskNearlyFull`] below 500 MB; never where the system does not tell.
    pub fn check_room(&self) -> Result<(), DiskNearlyFull> {
        match self.free_bytes() {
            Some(free) if free < FREE_BYTES_MIN => Err(DiskNearlyFull),
            _ => Ok(()),
        }
    }

    /// From now on so many bytes are free.
    #[cfg(test)]
    pub(crate) fn pretend(&self, free_bytes: u64) {
        self.pretended.store(free_bytes, std::sync::atomic::Ordering::SeqCst);
    }
}

#[cfg(unix)]
fn ask(folder: &Path) -> Option<u64> {
    rustix::fs::statvfs(folder).ok().map(|stat| stat.f_bavail.saturating_mul(stat.f_frsize))
}

#[cfg(not(unix))]
fn ask(_: &Path) -> Option<u64> {
    None
}
