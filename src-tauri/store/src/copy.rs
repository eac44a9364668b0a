//! Copies of a database in use, made by SQLite's online backup.

use std::path::Path;

use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, OpenFlags};

use super::error::StoreError;
use super::open;
use super::reader::Reader;
use super::tx::Tx;

/// Pages copied between two calls of `goes_on` (1 MiB).
const PAGES_AT_ONCE: i32 = 256;

/// Copies the database `from` to the existing empty file `to`, which only its owner may read. The
/// copy is a snapshot. It blocks no other connection, but the WAL of `from` cannot restart until
/// the copy is done. Returns false if `goes_on` did.
pub fn copy_database(
    from: &Path,
    to: &Path,
    goes_on: &dyn Fn() -> bool,
) -> Result<bool, StoreError> {
    let source = open::for_reading(from)?;
    let mut copy = Connection::open_with_flags(
        to,
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )?;
    // The caller deletes an incomplete copy, so it needs no rollback.
    copy.pragma_update(None, "journal_mode", "OFF")?;
    copy.pragma_update(None, "synchronous", "OFF")?;
    // One snapshot for all steps: otherwise each commit of the writer would restart the copy.
    source.execute_batch("BEGIN")?;
    source.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
    let backup = Backup::new(&source, &mut copy)?;
    loop {
        if !goes_on() {
            return Ok(false);
        }
        match backup.step(PAGES_AT_ONCE)? {
            StepResult::Done => break,
            StepResult::More => {}
            // No other connection uses the copy, and a WAL reader never waits.
            _ => return Err(StoreError::Locked),
        }
    }
    drop(backup);
    Ok(true)
}

/// Damage that SQLite's own check finds in an unused copy; empty if there is none. Reads the whole
/// file.
pub fn damage_of_copy(file: &Path) -> Result<Vec<String>, StoreError> {
    let connection = open::for_reading(file)?;
    match super::check::damage(&connection) {
        Err(StoreError::Corrupt(what)) => Ok(vec![what]),
        found => found,
    }
}

/// Migrates an unused copy to this program's schema.
///
/// # Errors
/// Fails when the file is not ours, was written by a newer program, or cannot be written.
pub fn migrate_copy(file: &Path) -> Result<(), StoreError> {
    let connection = open::for_writing(file)?;
    super::migrate::migrate(&connection, file)
}

/// Reads an unused copy.
pub fn read_copy<T, E: From<StoreError>>(
    file: &Path,
    read: impl FnOnce(&Reader<'_>) -> Result<T, E>,
) -> Result<T, E> {
    let connection = open::for_reading(file)?;
    read(&Reader { connection: &connection })
}

/// Changes an unused copy in one transaction. Afterwards the change is on the disk, in a single
/// file.
///
/// # Errors
/// The error of `change`, or the reason why nothing could be written. The copy is unchanged then.
pub fn change_copy<T, E: From<StoreError>>(
    file: &Path,
    change: impl FnOnce(&Tx<'_>) -> Result<T, E>,
) -> Result<T, E> {
    let connection = open::for_writing(file)?;
    connection.execute_batch("BEGIN IMMEDIATE").map_err(StoreError::from)?;
    // Closing the connection undoes a change that was not committed.
    let changed = change(&Tx::on(&connection))?;
    connection.execute_batch("COMMIT").map_err(StoreError::from)?;
    Ok(changed)
}
