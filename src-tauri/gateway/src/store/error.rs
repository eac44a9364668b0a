//! Why the database could not do what was asked, in terms a person can act on.

use std::path::PathBuf;

use rusqlite::ErrorCode;

/// A failure of the database.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The file was written by a newer program.
    #[error(
        "the database {file} has schema version {found}, newer than this program's {known}: install the newer Tillgate again"
    )]
    NewerSchema {
        /// The file.
        file: PathBuf,
        /// Its version.
        found: i64,
        /// The newest version this program knows.
        known: i64,
    },
    /// The file is something else.
    #[error("{file} is not a Tillgate database: move it away, or name another --data-dir")]
    NotOurs {
        /// The file.
        file: PathBuf,
    },
    /// The disk is full.
    #[error("the disk that holds the database is full: make room on it")]
    DiskFull,
    /// The file or its folder cannot be written.
    #[error("the database cannot be written: check the permissions of its folder and whether it is mounted read-only")]
    ReadOnly,
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

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => Self::DiskFull,
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied | ErrorCode::CannotOpen) => Self::ReadOnly,
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Locked,
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Self::Corrupt(error.to_string()),
            _ => Self::Sqlite(error),
        }
    }
}
