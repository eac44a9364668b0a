//! Opens the sandbox's file, creates or upgrades its schema, and reads its columns.

use std::path::Path;
use std::time::Duration;

use bitcoin::Txid;
use bitcoin::hashes::Hash;
use rusqlite::{Connection, Row, TransactionBehavior};

use crate::error::SandboxError;

/// Each step upgrades the schema by one version. Released steps are never edited.
const STEPS: [&str; 2] = [include_str!("schema.sql"), include_str!("schema_2.sql")];
/// The version of the schema that this program writes.
const SCHEMA_VERSION: i64 = 2;
/// Marks the file as a sandbox's ("TgSb").
const APPLICATION_ID: i64 = 0x5467_5362;
/// Time to wait for another process that reads the file, such as a backup.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// More than the number of distinct statements.
const STATEMENT_CACHE: usize = 96;

/// Opens the file, and upgrades an older one to this program's schema. The second value says
/// whether the file is new and needs its initial chain.
pub(crate) fn open(file: &Path) -> Result<(Connection, bool), SandboxError> {
    create_private(file)?;
    let mut conn = Connection::open(file)?;
    conn.busy_timeout(BUSY_TIMEOUT)?;
    conn.set_prepared_statement_cache_capacity(STATEMENT_CACHE);
    let version: i64 = conn.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    let application: i64 = conn.query_row("PRAGMA application_id", [], |row| row.get(0))?;
    let tables: i64 = conn.query_row("SELECT count(*) FROM sqlite_master", [], |row| row.get(0))?;
    if tables > 0 && application != APPLICATION_ID {
        return Err(SandboxError::NotASandbox);
    }
    if version > SCHEMA_VERSION {
        return Err(SandboxError::NewerSchema { found: version, supported: SCHEMA_VERSION });
    }
    conn.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?;
    conn.execute_batch("PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;")?;
    if tables > 0 && version < SCHEMA_VERSION {
        let upgrade = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
        take_steps(&upgrade, version)?;
        upgrade.commit()?;
    }
    Ok((conn, tables == 0))
}

/// Creates the schema in an empty file, within the transaction that mines the initial chain.
pub(crate) fn create_schema(conn: &Connection) -> Result<(), SandboxError> {
    conn.pragma_update(None, "application_id", APPLICATION_ID)?;
    take_steps(conn, 0)
}

/// Upgrades the schema from a version to this program's.
fn take_steps(conn: &Connection, from: i64) -> Result<(), SandboxError> {
    let done = usize::try_from(from).unwrap_or(0);
    STEPS.iter().skip(done).try_for_each(|step| conn.execute_batch(step))?;
    conn.pragma_update(None, "user_version", SCHEMA_VERSION)?;
    Ok(())
}

/// Creates the file, readable only by its owner, before it has content. SQLite gives its log the
/// same mode.
fn create_private(file: &Path) -> Result<(), SandboxError> {
    let mut options = std::fs::OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(file)?;
    Ok(())
}

/// Reads a 32-byte column as a transaction's id.
pub(crate) fn txid_column(row: &Row<'_>, column: usize) -> rusqlite::Result<Txid> {
    Ok(Txid::from_byte_array(row.get::<_, [u8; 32]>(column)?))
}

/// Runs a query whose rows are ids of transactions.
pub(crate) fn ids(
    conn: &Connection,
    sql: &str,
    params: impl rusqlite::Params,
) -> Result<Vec<i64>, SandboxError> {
    let mut statement = conn.prepare_cached(sql)?;
    let rows = statement.query_map(params, |row| row.get(0))?;
    Ok(rows.collect::<Result<_, _>>()?)
}
