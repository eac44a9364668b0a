//! Database errors in terms that a person can act on.

use std::path::{Path, PathBuf};

use rusqlite::{ErrorCode, ffi};

/// Why the database could not be opened, read or written.
#[derive(Debug, thiserror::Error, tillgate_told::Told)]
pub enum StoreError {
    /// The file was written by a newer program.
    #[error(
        "the database {file} has schema version {found}, newer than this program's {known}: install the newer Tillgate again"
    )]
    NewerSchema {
        /// The opened file.
        file: PathBuf,
        /// Schema version of the file.
        found: i64,
        /// The newest version that this program knows.
        known: i64,
    },
    /// The file is no Tillgate database.
    #[error("{file} is not a Tillgate database: move it away, or name another --data-dir")]
    NotOurs {
        /// The opened file.
        file: PathBuf,
    },
    #[error("the disk that holds the database is full: make room on it")]
    DiskFull,
    /// The file or its folder cannot be written.
    #[error(
        "the database cannot be written: check the permissions of its folder and whether it is mounted read-only"
    )]
    ReadOnly,
    /// The limit of open files is reached.
    #[error(
        "no more files can be opened: raise the limit of files that a program may open (ulimit -n, LimitNOFILE)"
    )]
    OutOfFiles,
    /// The limit of concurrent reads is reached.
    #[error("too many database reads run at this moment: try again")]
    TooManyReads,
    /// Another process holds the database.
    #[error("the database is locked by another process: close the program that uses it")]
    Locked,
    /// The file is damaged.
    #[error("the database is damaged ({0}): restore the last backup")]
    Corrupt(String),
    /// A row holds an unreadable value, after damage or a manual change.
    #[error("the database holds an unreadable value in {0}: restore the last backup")]
    BadValue(&'static str),
    /// A file operation beside the database failed.
    #[error("{action} failed: {source}")]
    Io {
        /// The attempted operation.
        action: &'static str,
        /// The error of the operation.
        source: std::io::Error,
    },
    /// The writer has stopped.
    #[error("the gateway is shutting down")]
    Closed,
    /// A commit shared by several writes failed; the text is the first reason.
    #[error("nothing was stored: {0}")]
    CommitFailed(String),
    /// Any other SQLite error.
    #[error("the database failed: {0}")]
    Sqlite(rusqlite::Error),
}

impl StoreError {
    /// Whether the same call may succeed later with the database unchanged: the disk, the system or
    /// another program prevented it. Other errors need a repair of the file or of this program.
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

    /// The error of opening `file`. SQLite reports a missing permission and a lack of file handles
    /// with the same code.
    pub(super) fn of_opening(error: rusqlite::Error, file: &Path) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::CannotOpen) => {
                Self::of_file(std::fs::File::open(file).err()).unwrap_or(error.into())
            }
            _ => error.into(),
        }
    }

    /// [`Self::OutOfFiles`], if the system gives this reason.
    fn of_file(error: Option<std::io::Error>) -> Option<Self> {
        #[cfg(unix)]
        let out_of_files = [rustix::io::Errno::MFILE, rustix::io::Errno::NFILE]
            .map(rustix::io::Errno::raw_os_error);
        #[cfg(not(unix))]
        let out_of_files = [];
        let number = error?.raw_os_error()?;
        out_of_files.contains(&number).then_some(Self::OutOfFiles)
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        // The WAL's index (`-shm`) is also a file, and grows first. For its lack of space SQLite
        // has a separate code.
        if error
            .sqlite_error()
            .is_some_and(|error| error.extended_code == ffi::SQLITE_IOERR_SHMSIZE)
        {
            return Self::DiskFull;
        }
        match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => Self::DiskFull,
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied | ErrorCode::CannotOpen) => {
                Self::ReadOnly
            }
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Locked,
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
                Self::Corrupt(error.to_string())
            }
            _ => Self::Sqlite(error),
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::io;

    use super::*;

    #[test]
    fn a_lack_of_file_handles_is_not_reported_as_read_only() {
        let of = |errno: rustix::io::Errno| StoreError::of_file(Some(io::Error::from(errno)));
        let told = of(rustix::io::Errno::MFILE).unwrap().to_string();
        assert!(told.contains("ulimit -n"), "{told}");
        assert!(of(rustix::io::Errno::ACCESS).is_none() && StoreError::of_file(None).is_none());
    }
}
