//! Copies of a database in use, by SQLite's online backup.

use std::path::Path;

use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, OpenFlags};

use super::{Reader, StoreError, Tx, open};

/// Pages that are copied before `goes_on` is asked again (1 MiB).
const PAGES_AT_ONCE: i32 = 256;

/// Copies the database of `from`, which others may use meanwhile, as it is at one moment, to the new file `to`, which its
/// owner alone may read and which is there, empty. Nobody waits for it; the log of `from` is kept until it is done. False:
/// `goes_on` said no.
///
/// # Errors
/// When one of both files cannot be read or written.
pub(crate) fn copy_database(from: &Path, to: &Path, goes_on: &dyn Fn() -> bool) -> Result<bool, StoreError> {
    let source = open::for_reading(from)?;
    let mut copy =
        Connection::open_with_flags(to, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    // A copy that is not whole is thrown away: nothing has to be undone in it.
    copy.pragma_update(None, "journal_mode", "OFF")?;
    copy.pragma_update(None, "synchronous", "OFF")?;
    // One snapshot for all steps: without it each commit of the writer would begin the copy anew.
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
            // Nobody else has the copy, and a reader of a WAL waits for nobody.
            _ => return Err(StoreError::Locked),
        }
    }
    drop(backup);
    Ok(true)
}

/// What SQLite's own check finds wrong with a copy that nobody uses; empty where it is sound. Reads the whole file.
///
/// # Errors
/// When it cannot be read at all.
pub(crate) fn damage_of_copy(file: &Path) -> Result<Vec<String>, StoreError> {
    let connection = open::for_reading(file)?;
    match super::check::damage(&connection) {
        Err(StoreError::Corrupt(what)) => Ok(vec![what]),
        found => found,
    }
}

/// Brings a copy that nobody uses up to this program's schema.
///
/// # Errors
/// When it is none of ours, was written by a newer program, or cannot be written.
pub(crate) fn migrate_copy(file: &Path) -> Result<(), StoreError> {
    let connection = open::for_writing(file)?;
    super::migrate::migrate(&connection, file)
}

/// Reads a copy that nobody uses.
///
/// # Errors
/// What `read` answered, or why nothing could be read.
pub(crate) fn read_copy<T, E: From<StoreError>>(
    file: &Path,
    read: impl FnOnce(&Reader<'_>) -> Result<T, E>,
) -> Result<T, E> {
    let connection = open::for_reading(file)?;
    read(&Reader { connection: &connection })
}

/// Changes a copy that nobody uses, in one transaction, which is on the disk afterwards, as one file.
///
/// # Errors
/// What `change` answered, or why nothing could be written; nothing was changed then.
pub(crate) fn change_copy<T, E: From<StoreError>>(
    file: &Path,
    change: impl FnOnce(&Tx<'_>) -> Result<T, E>,
) -> Result<T, E> {
    let connection = open::for_writing(file)?;
    connection.execute_batch("BEGIN IMMEDIATE").map_err(StoreError::from)?;
    // What fails before the commit ends with the connection.
    let changed = change(&Tx::on(&connection))?;
    connection.execute_batch("COMMIT").map_err(StoreError::from)?;
    Ok(changed)
}
