//! Read-only connections, one for each read that runs at the same time.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rusqlite::{Connection, TransactionBehavior};

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
        let mut connection = match self.take() {
            Some(connection) => connection,
            None => open::for_reading(&self.file)?,
        };
        let answer = {
            let snapshot =
                connection.transaction_with_behavior(TransactionBehavior::Deferred).map_err(StoreError::from)?;
            read(&Reader { connection: &snapshot })
        };
        self.put_back(connection);
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
