//! The file: opening it, its schema, and what reads its columns. It knows no table's meaning.

use std::path::Path;
use std::time::Duration;

use bitcoin::Txid;
use bitcoin::hashes::Hash;
use rusqlite::{Connection, Row};

use crate::error::SandboxError;

/// The schema that this program writes.
const SCHEMA_VERSION: i64 = 1;
/// Marks the file as a sandbox's ("TgSb").
const APPLICATION_ID: i64 = 0x5467_5362;
/// How long to wait for another process that reads the file, such as a backup.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// More than the number of distinct statements here.
const STATEMENT_CACHE: usize = 96;

/// Opens the file and its schema. The second value says whether the file is new and needs its initial chain.
pub(crate) fn open(file: &Path) -> Result<(Connection, bool), SandboxError> {
    create_private(file)?;
    let conn = Connection::open(file)?;
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
    Ok((conn, tables == 0))
}

/// Lays out an empty file; belongs into the transaction that mines the initial chain.
pub(crate) fn create_schema(conn: &Connection) -> Result<(), SandboxError> {
    conn.execute_batch(include_str!("schema.sql"))?;
    conn.pragma_update(None, "application_id", APPLICATION_ID)?;
    conn.pragma_update(None, "user_version", SCHEMA_VERSION)?;
    Ok(())
}

/// Makes the file readable by its owner alone before anything is in it; SQLite gives its log the same mode.
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
pub(crate) fn ids(conn: &Connection, sql: &str, params: impl rusqlite::Params) -> Result<Vec<i64>, SandboxError> {
    let mut statement = conn.prepare_cached(sql)?;
    let rows = statement.query_map(params, |row| row.get(0))?;
    Ok(rows.collect::<Result<_, _>>()?)
}
