//! The free room on the disk that holds the data.

use std::path::{Path, PathBuf};

use super::environment::Environment;

/// Kept free in production beside the room for open payments, so that existing records can still
/// change (interface, "Errors").
pub const PRODUCTION_RESERVE_BYTES: u64 = 500_000_000;

/// The refusal of a new record, because the remaining room is kept for existing ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error, tillgate_told::Told)]
#[error("the disk is nearly full: new records and resends are refused; everything else continues")]
pub struct DiskNearlyFull;

/// The disk of an environment's folder.
#[derive(Debug)]
pub struct Disk {
    folder: PathBuf,
    reserve_bytes: u64,
    #[cfg(any(test, feature = "testing"))]
    test_free_bytes: std::sync::atomic::AtomicU64,
}

impl Disk {
    /// The disk that holds the folder of `environment`.
    #[must_use]
    pub fn new(folder: &Path, environment: Environment) -> Self {
        Self {
            folder: folder.to_owned(),
            reserve_bytes: reserve_bytes(environment),
            #[cfg(any(test, feature = "testing"))]
            test_free_bytes: std::sync::atomic::AtomicU64::new(u64::MAX),
        }
    }

    /// The bytes that are free for this user now; `None` if the system does not tell.
    #[must_use]
    pub fn free_bytes(&self) -> Option<u64> {
        #[cfg(any(test, feature = "testing"))]
        match self.test_free_bytes.load(std::sync::atomic::Ordering::SeqCst) {
            u64::MAX => {}
            test_free_bytes => return Some(test_free_bytes),
        }
        free_bytes(&self.folder)
    }

    /// The free bytes that new records never use.
    #[must_use]
    pub const fn reserve_bytes(&self) -> u64 {
        self.reserve_bytes
    }

    /// Whether new records may be made, if `kept_bytes` must stay free.
    ///
    /// # Errors
    /// [`DiskNearlyFull`]; never if the system does not tell how much is free.
    pub fn check_room(&self, kept_bytes: u64) -> Result<(), DiskNearlyFull> {
        match self.free_bytes() {
            Some(free) if free < kept_bytes => Err(DiskNearlyFull),
            _ => Ok(()),
        }
    }

    /// The folder of the environment's files.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Makes [`Self::free_bytes`] return this number from now on.
    #[cfg(any(test, feature = "testing"))]
    pub fn set_free_bytes(&self, free_bytes: u64) {
        self.test_free_bytes.store(free_bytes, std::sync::atomic::Ordering::SeqCst);
    }
}

/// The reserve is larger for test, because test may share production's disk and must not use up its
/// room.
const fn reserve_bytes(environment: Environment) -> u64 {
    match environment {
        Environment::Production => PRODUCTION_RESERVE_BYTES,
        Environment::Test => 2 * PRODUCTION_RESERVE_BYTES,
    }
}

/// The bytes that are free for this user on the disk of `folder`; `None` if the system does not
/// tell.
#[cfg(unix)]
#[must_use]
pub fn free_bytes(folder: &Path) -> Option<u64> {
    rustix::fs::statvfs(folder).ok().map(|stat| stat.f_bavail.saturating_mul(stat.f_frsize))
}

/// Always `None`: the free room is unknown on this system.
#[cfg(not(unix))]
pub fn free_bytes(_: &Path) -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_stops_at_twice_productions_reserve() {
        for (environment, least) in
            [(Environment::Production, 500_000_000), (Environment::Test, 1_000_000_000)]
        {
            let disk = Disk::new(Path::new("."), environment);
            let check = || disk.check_room(disk.reserve_bytes());
            disk.set_free_bytes(least);
            check().unwrap();
            disk.set_free_bytes(least - 1);
            assert_eq!(check(), Err(DiskNearlyFull), "{environment}");
        }
    }
}
