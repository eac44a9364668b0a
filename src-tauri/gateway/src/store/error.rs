//! Why the database could not do what was asked, in terms a person can act on.

use std::path::{Path, PathBuf};

use rusqlite::{ErrorCode, ffi};

/// A failure of the database.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The file was written by a newer program.
    #[error(
        "the database {file} has schema version {found}, newer than this program's {known}: install the newer Tillgate again"
    )]
    NewerSchema {
        /// What was opened.
        file: PathBuf,
        /// Its version.
        found: i64,
        /// The newest version this program knows.
        known: i64,
    },
    /// The file is something else.
    #[error("{file} is not a Tillgate database: move it away, or name another --data-dir")]
    NotOurs {
        /// What was opened.
        file: PathBuf,
    },
    /// No room is left on the disk.
    #[error("the disk that holds the database is full: make room on it")]
    DiskFull,
    /// The file or its folder cannot be written.
    #[error("the database cannot be written: check the permissions of its folder and whether it is mounted read-only")]
    ReadOnly,
    /// The program has as many files open as it may.
    #[error("no more files can be opened: raise the limit of files that a program may open (ulimit -n, LimitNOFILE)")]
    OutOfFiles,
    /// More is read at the same time than may be.
    #[error("too much is read at this moment: try again")]
    TooManyReads,
    /// Another process holds the database.
    #[error("the database is locked by another process: close the program that uses it")]
    Locked,
    /// The content is damaged.
    #[error("the database is damaged ({0}): restore the last backup")]
    Corrupt(String),
    /// A row holds a value that the program cannot read: damage, or a hand-made change.
    #[error("the database holds an unreadable value in {0}: restore the last backup")]
    BadValue(&'static str),
    /// A file operation beside the database failed.
    #[error("{action} failed: {source}")]
    Io {
        /// What was tried.
        action: &'static str,
        /// Why it failed.
        source: std::io::Error,
    },
    /// The writer has stopped.
    #[error("the gateway is shutting down")]
    Closed,
    /// The commit that several writes shared failed; the reason is the first's.
    #[error("nothing was stored: {0}")]
    CommitFailed(String),
    /// Anything else that SQLite answered.
    #[error("the database failed: {0}")]
    Sqlite(rusqlite::Error),
}

impl StoreError {
    /// Whether the same may succeed later, with the database as it is: the disk, the system or another program stood in the
    /// way. The others need somebody who repairs the file, or this program.
    #[must_use]
    pub const fn is_passing(&self) -> bool {
        match self {
            Self::DiskFull
            | Self::ReadOnly
            | Self::OutOfFiles
            | Self::TooManyReads
            | Self::Locked
            | Self::Io { .. }
            | Self::Closed
            | Self::CommitFailed(_) => true,
            Self::NewerSchema { .. }
            | Self::NotOurs { .. }
            | Self::Corrupt(_)
            | Self::BadValue(_)
            | Self::Sqlite(_) => false,
        }
    }

    /// Why `file` could not be opened: SQLite does not tell whether the program may not open it, or nothing any more.
    pub(super) fn of_opening(error: rusqlite::Error, file: &Path) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::CannotOpen) => Self::of_file(std::fs::File::open(file).err()).unwrap_or(error.into()),
            _ => error.into(),
        }
    }

    /// The cause that the system names, where it is not the file's own.
    fn of_file(error: Option<std::io::Error>) -> Option<Self> {
        #[cfg(unix)]
        let out_of_files = [rustix::io::Errno::MFILE, rustix::io::Errno::NFILE].map(rustix::io::Errno::raw_os_error);
        #[cfg(not(unix))]
        let out_of_files = [];
        let number = error?.raw_os_error()?;
        out_of_files.contains(&number).then_some(Self::OutOfFiles)
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        // The index of the log is a file, too, and grows first: SQLite does not say that it was room that it lacked.
        if error.sqlite_error().is_some_and(|error| error.extended_code == ffi::SQLITE_IOERR_SHMSIZE) {
            return Self::DiskFull;
        }
        match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => Self::DiskFull,
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied | ErrorCode::CannotOpen) => Self::ReadOnly,
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Locked,
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Self::Corrupt(error.to_string()),
            _ => Self::Sqlite(error),
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::io;

    use super::*;

    #[test]
    fn a_program_that_may_open_no_more_files_is_told_so_and_not_that_it_may_not_write() {
        let of = |errno: rustix::io::Errno| StoreError::of_file(Some(io::Error::from(errno)));
        let told = of(rustix::io::Errno::MFILE).unwrap().to_string();
        assert!(told.contains("ulimit -n"), "{told}");
        assert!(of(rustix::io::Errno::ACCESS).is_none() && StoreError::of_file(None).is_none());
    }
}
