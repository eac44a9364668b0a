//! Opens the file with the pragmas that durability depends on.

use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};
use tillgate_machine::fail_points;

use super::error::StoreError;

/// Time to wait for the database's lock. It is longer than any commit of ours, so a process that
/// holds the lock longer is faulty. A shop gets the error before its own timeout.
const BUSY_TIMEOUT: Duration = Duration::from_secs(2);

/// Most prepared statements that each connection keeps: more than any part of the program uses.
const STATEMENT_CACHE: usize = 128;

/// Page cache of the writer. It is large because new rows change random pages of the indexes on ids
/// and scripts.
const WRITER_CACHE_KIB: i64 = 16 * 1_024;

/// Page cache of each reader. The system's cache holds the file too, and idle readers keep theirs.
const READER_CACHE_KIB: i64 = 512;

pub(super) fn for_writing(file: &Path) -> Result<Connection, StoreError> {
    create_private(file)?;
    let connection = Connection::open_with_flags(
        file,
        OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX
            | OpenFlags::SQLITE_OPEN_URI,
    )?;
    prepare_once(&connection)?;
    wait_when_busy(&connection)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    // FULL syncs the WAL at every commit, so that an acknowledged write survives a power cut.
    connection.pragma_update(None, "synchronous", fail_points::synchronous("FULL"))?;
    // Savepoint data stays in memory; some jobs would write it to a temporary file.
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    connection.pragma_update(None, "cache_size", -WRITER_CACHE_KIB)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.pragma_update(None, "trusted_schema", false)?;
    Ok(connection)
}

pub(super) fn for_reading(file: &Path) -> Result<Connection, StoreError> {
    try_for_reading(file).map_err(|error| StoreError::of_opening(error, file))
}

fn try_for_reading(file: &Path) -> Result<Connection, rusqlite::Error> {
    let connection = Connection::open_with_flags(
        file,
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )?;
    prepare_once(&connection)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.pragma_update(None, "cache_size", -READER_CACHE_KIB)?;
    connection.pragma_update(None, "query_only", true)?;
    // Also opens the WAL, which SQLite would otherwise delay until the first read.
    connection.pragma_query_value(None, "schema_version", |_| Ok(()))?;
    Ok(connection)
}

/// Opens the file for checkpoints of the WAL, which need memory for one page at a time.
pub(super) fn for_checkpoints(file: &Path) -> Result<Connection, StoreError> {
    let connection = Connection::open_with_flags(
        file,
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )?;
    wait_when_busy(&connection)?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    Ok(connection)
}

/// Waits up to [`BUSY_TIMEOUT`] for another process that holds the database's lock.
pub(super) fn wait_when_busy(connection: &Connection) -> Result<(), StoreError> {
    Ok(connection.busy_timeout(BUSY_TIMEOUT)?)
}

/// Keeps statements and their plans. Without stable plans, SQLite prepares some statements again
/// for each new bound value, which took four tenths of the watcher's time.
fn prepare_once(connection: &Connection) -> Result<(), rusqlite::Error> {
    connection.set_prepared_statement_cache_capacity(STATEMENT_CACHE);
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(())
}

/// Creates the file with access for its owner only, before SQLite can create it with access for
/// everybody. SQLite gives the WAL and the shared-memory file the same mode.
pub(super) fn create_private(file: &Path) -> Result<(), StoreError> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(file) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::StorageFull => Err(StoreError::DiskFull),
        Err(error)
            if matches!(
                error.kind(),
                std::io::ErrorKind::PermissionDenied | std::io::ErrorKind::ReadOnlyFilesystem
            ) =>
        {
            Err(StoreError::ReadOnly)
        }
        Err(source) => Err(StoreError::Io { action: "creating the database file", source }),
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::StatementStatus;

    use crate::{Store, StoreError};

    #[test]
    fn a_statement_is_prepared_once_whatever_values_are_bound() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("gateway.db")).unwrap();
        let prepared_again = store.read(|reader| {
            // For this statement, SQLite compares the expressions of indexes with the bound values.
            let mut query = reader.connection.prepare(
                "SELECT a.txid FROM anomalies AS a JOIN payments AS p ON p.seq = a.payment_seq \
                 WHERE a.payment_seq = ?1 ORDER BY a.seq",
            )?;
            for seq in 0..10 {
                assert!(!query.exists([seq])?);
            }
            Ok::<_, StoreError>(query.get_status(StatementStatus::RePrepare))
        });
        assert_eq!(prepared_again.unwrap(), 0);
    }
}
