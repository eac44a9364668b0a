//! The ballast: a file that reserves room on the disk. On a full disk the file is emptied, so that
//! the acts of staff can be written. A file shorter than [`BALLAST_BYTES`] was emptied; a missing
//! file was never made.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

use super::disk::{self, Disk};

/// The size of the ballast, enough for thousands of acts of staff.
const BALLAST_BYTES: u64 = 32 << 20;

/// The disk counts as full below this number of free bytes. An act of staff, with its whole commit,
/// takes less.
const ACT_BYTES: u64 = 4_000_000;

/// The file's name in an environment's folder.
const BALLAST: &str = "ballast";

/// Empties the ballast in `folder` if the disk is full. An error is only logged, because the write
/// that needs the room reports its own error.
pub fn give_up_if_full(folder: &Path) {
    if disk::free_bytes(folder).is_none_or(|free| free >= ACT_BYTES)
        || held_bytes(folder).unwrap_or(0) == 0
    {
        return;
    }
    match OpenOptions::new().write(true).open(folder.join(BALLAST)).and_then(|file| file.set_len(0))
    {
        Ok(()) => tracing::error!(
            "the disk is full, and the reserve of {} was freed for acts of staff: make room",
            megabytes()
        ),
        Err(error) => {
            tracing::error!(%error, "the disk is full, and the ballast cannot be emptied")
        }
    }
}

/// A sentence for staff while the ballast is empty.
pub fn given_up(folder: &Path) -> Option<ReserveFreed> {
    let is_given_up = held_bytes(folder).is_some_and(|bytes| bytes < BALLAST_BYTES);
    is_given_up.then(|| ReserveFreed { reserve: megabytes() })
}

/// The ballast is gone.
#[derive(Debug, PartialEq, Eq, thiserror::Error, tillgate_told::Told)]
#[error(
    "the disk was full, and the reserve of {reserve} was freed for acts of staff: make room for a new reserve"
)]
pub struct ReserveFreed {
    reserve: String,
}

/// Makes the ballast if the disk has room for it beside the reserve. An error is logged.
pub fn keep(disk: &Disk) {
    let wanted = disk.reserve_bytes().saturating_add(BALLAST_BYTES);
    if disk.free_bytes().is_some_and(|free| free >= wanted)
        && let Err(error) = make(disk.folder())
    {
        tracing::warn!(%error, "the ballast cannot be made: a full disk would hinder acts of staff");
    }
}

/// Makes the ballast unless it is whole.
fn make(folder: &Path) -> io::Result<()> {
    if held_bytes(folder) == Some(BALLAST_BYTES) {
        return Ok(());
    }
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(folder.join(BALLAST))?;
    // A partial ballast is emptied, because it takes room and reserves too little.
    occupy(&file).inspect_err(|_| drop(file.set_len(0)))
}

/// Allocates the blocks. A sparse file would reserve no room.
fn occupy(mut file: &File) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    if rustix::fs::fallocate(file, rustix::fs::FallocateFlags::empty(), 0, BALLAST_BYTES).is_ok() {
        return Ok(());
    }
    let block = vec![0; 1 << 20];
    for _ in 0..BALLAST_BYTES >> 20 {
        file.write_all(&block)?;
    }
    file.sync_all()
}

/// The length of the ballast; `None` if it was never made.
fn held_bytes(folder: &Path) -> Option<u64> {
    std::fs::metadata(folder.join(BALLAST)).ok().map(|found| found.len())
}

fn megabytes() -> String {
    format!("{} MB", BALLAST_BYTES >> 20)
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::MetadataExt as _;

    use super::*;
    use crate::environment::Environment;

    #[test]
    fn the_ballast_takes_real_room_and_only_its_owner_reads_it() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(given_up(folder.path()), None, "a ballast that was never made is not reported");
        make(folder.path()).unwrap();
        let made = std::fs::metadata(folder.path().join(BALLAST)).unwrap();
        assert_eq!((made.len(), made.mode() & 0o777), (BALLAST_BYTES, 0o600));
        assert!(made.blocks() * 512 >= BALLAST_BYTES, "{} blocks", made.blocks());
        assert_eq!(given_up(folder.path()), None);
    }

    #[test]
    fn a_ballast_is_made_if_it_leaves_the_reserve_free() {
        let folder = tempfile::tempdir().unwrap();
        let disk = Disk::new(folder.path(), Environment::Production);
        disk.set_free_bytes(disk.reserve_bytes() + BALLAST_BYTES - 1);
        keep(&disk);
        assert_eq!(held_bytes(folder.path()), None);
        disk.set_free_bytes(disk.reserve_bytes() + BALLAST_BYTES);
        keep(&disk);
        assert_eq!(held_bytes(folder.path()), Some(BALLAST_BYTES));
    }

    #[test]
    fn a_ballast_is_kept_while_the_disk_has_room() {
        let folder = tempfile::tempdir().unwrap();
        make(folder.path()).unwrap();
        give_up_if_full(folder.path());
        assert_eq!(held_bytes(folder.path()), Some(BALLAST_BYTES));
    }

    #[test]
    fn an_empty_ballast_is_reported_and_made_again() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(BALLAST), "").unwrap();
        assert!(given_up(folder.path()).unwrap().to_string().contains("make room"));
        make(folder.path()).unwrap();
        assert_eq!(
            (held_bytes(folder.path()), given_up(folder.path())),
            (Some(BALLAST_BYTES), None)
        );
    }
}
