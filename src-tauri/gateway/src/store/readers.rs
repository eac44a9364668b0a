//! Read-only connections, one for each read that runs at the same time.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rusqlite::Connection;

use super::{Reader, StoreError, open};

/// Idle connections kept open; more than the machine's cores never help.
const IDLE_MAX: usize = 8;

pub(super) struct Readers {
    file: PathBuf,
    idle: Mutex<Vec<Connection>>,
}

impl Readers {
    pub(super) fn new(file: &Path) -> Self {
        Self { file: file.to_owned(), idle: Mutex::new(Vec::new()) }
    }

    pub(super) fn read<T, E: From<StoreError>>(&self, read: impl FnOnce(&Reader<'_>) -> Result<T, E>) -> Result<T, E> {
        let connection = match self.take() {
            Some(connection) => connection,
            None => open::for_reading(&self.file)?,
        };
        // Prepared, unlike rusqlite's own transactions: a short read is hardly longer than what begins and ends it.
        run(&connection, "BEGIN")?;
        let answer = read(&Reader { connection: &connection });
        // A connection that keeps its snapshot would show old rows for ever; dropped, it ends it.
        match run(&connection, "COMMIT") {
            Ok(()) => self.put_back(connection),
            Err(error) => tracing::warn!(%error, "a read's snapshot could not be ended"),
        }
        answer
    }

    fn take(&self) -> Option<Connection> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }

    fn put_back(&self, connection: Connection) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < IDLE_MAX {
            idle.push(connection);
        }
    }
}

fn run(connection: &Connection, sql: &str) -> Result<(), StoreError> {
    connection.prepare_cached(sql)?.execute([])?;
    Ok(())
}
