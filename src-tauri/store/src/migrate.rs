//! Numbered, forward-only migrations. The file is copied before a change; a newer schema is
//! refused.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, Transaction, TransactionBehavior};
use tillgate_machine::fail_points::{self, Point};

use super::error::StoreError;
use super::open;

/// The steps in their order. From the first release on, a step is never edited, and each change is
/// a new step.
const MIGRATIONS: &[&str] = &[include_str!("migrations/0001_initial.sql")];

/// "TILG": distinguishes our files from other SQLite databases (`PRAGMA application_id`).
const APPLICATION_ID: i64 = 0x5449_4c47;

pub(super) fn migrate(connection: &Connection, file: &Path) -> Result<(), StoreError> {
    let version: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    let application: i64 =
        connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
    let tables: i64 =
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    if (application != APPLICATION_ID && tables > 0) || version < 0 {
        return Err(StoreError::NotOurs { file: file.to_owned() });
    }
    migrate_by(MIGRATIONS, connection, file, version)
}

/// Migrates a file of schema `version` to the last of `migrations`.
fn migrate_by(
    migrations: &[&str],
    connection: &Connection,
    file: &Path,
    version: i64,
) -> Result<(), StoreError> {
    let known = migrations.len() as i64;
    if version > known {
        return Err(StoreError::NewerSchema { file: file.to_owned(), found: version, known });
    }
    if version > 0 && version < known {
        copy_before(connection, file, version)?;
    }
    // A referenced table can only be rebuilt while foreign keys are off. Inside a transaction the
    // pragma has no effect.
    connection.pragma_update(None, "foreign_keys", false)?;
    for (number, sql) in (1i64..).zip(migrations).skip_while(|(number, _)| *number <= version) {
        fail_points::pass(Point::CommitBefore);
        let step = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
        step.execute_batch(sql)?;
        check_references(&step)?;
        step.pragma_update(None, "application_id", APPLICATION_ID)?;
        step.pragma_update(None, "user_version", number)?;
        step.commit()?;
        fail_points::pass(Point::CommitAfter);
    }
    Ok(connection.pragma_update(None, "foreign_keys", true)?)
}

/// Refuses rows with broken references.
fn check_references(connection: &Connection) -> Result<(), StoreError> {
    let mut query =
        connection.prepare("SELECT \"table\", parent FROM pragma_foreign_key_check LIMIT 1")?;
    let mut broken = query.query([])?;
    match broken.next()? {
        None => Ok(()),
        Some(row) => {
            let (table, parent): (String, String) = (row.get(0)?, row.get(1)?);
            Err(StoreError::Corrupt(format!(
                "a row of {table} refers to a missing row of {parent}"
            )))
        }
    }
}

/// Copies the database. `VACUUM INTO` writes a consistent state, including the WAL. If the copy
/// fails, it is removed, since the disk may be full. A partial copy left by a crash is replaced:
/// the database still has the old schema.
fn copy_before(connection: &Connection, file: &Path, version: i64) -> Result<(), StoreError> {
    let copy = PathBuf::from(format!("{}.before-schema-{}", file.display(), version + 1));
    let failed = |action| move |source| StoreError::Io { action, source };
    if copy.exists() {
        std::fs::remove_file(&copy).map_err(failed("removing an old copy of the database"))?;
    }
    // SQLite would make the file readable for everybody.
    open::create_private(&copy)?;
    if let Err(error) = connection.execute("VACUUM INTO ?1", [copy.to_string_lossy()]) {
        // If the removal fails too, the next start removes the copy.
        let _ = std::fs::remove_file(&copy);
        return Err(error.into());
    }
    sync_folder(file).map_err(failed("syncing the folder of the database"))
}

/// A new file is durable once its folder is synced.
fn sync_folder(file: &Path) -> std::io::Result<()> {
    #[cfg(unix)]
    if let Some(folder) = file.parent() {
        std::fs::File::open(folder)?.sync_all()?;
    }
    #[cfg(not(unix))]
    let _ = file;
    Ok(())
}

#[cfg(test)]
mod tests;
