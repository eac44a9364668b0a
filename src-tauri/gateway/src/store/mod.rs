//! The database: one SQLite file, one writer thread, read-only connections beside it.
//!
//! This is the only module that names `rusqlite`. SQL stands beside the row type of its table,
//! one file each. Reads are methods of [`Reader`], writes of [`Tx`].

pub mod anomalies;
pub mod api_keys;
pub mod audit;
pub mod chain;
pub mod deliveries;
pub mod history;
pub mod hmac_key;
pub mod idempotency;
pub mod keychains;
pub mod notifications;
pub mod payment_lists;
pub mod payments;
pub mod rates;
pub mod receipts;

mod check;
mod checkpoints;
mod error;
mod filing;
mod installation;
mod migrate;
mod open;
mod readers;
mod settings;
#[cfg(test)]
mod testing;
mod values;
mod writer;

pub use error::StoreError;
pub use installation::Installation;

use std::ops::Deref;
use std::path::Path;

use rusqlite::Connection;

use writer::Kind;

/// The database of one environment.
pub struct Store {
    readers: readers::Readers,
    writer: writer::Writer,
}

/// A consistent view of the database.
pub struct Reader<'a> {
    connection: &'a Connection,
}

/// A transaction of the one writer: all that is done through it is committed together or not at
/// all. Reads see what it wrote.
pub struct Tx<'a> {
    reader: Reader<'a>,
}

impl<'a> Deref for Tx<'a> {
    type Target = Reader<'a>;

    fn deref(&self) -> &Reader<'a> {
        &self.reader
    }
}

impl Store {
    /// Opens `file`, creating and migrating it as needed. The caller holds the data directory's
    /// lock: one process alone ever writes the database.
    ///
    /// # Errors
    /// When the file cannot be opened, is not ours, is corrupt, or was written by a newer program.
    pub fn open(file: &Path) -> Result<Self, StoreError> {
        let connection = open::for_writing(file)?;
        migrate::migrate(&connection, file)?;
        Ok(Self { readers: readers::Readers::new(file), writer: writer::Writer::start(connection, file)? })
    }

    /// Runs `job` in the writer's next transaction and answers once that is durably committed.
    /// Jobs that wait at the same time share a commit, each in a savepoint of its own, so that one
    /// that fails is undone alone. `job` must not block on anything but the database.
    ///
    /// # Errors
    /// What `job` answered, or why nothing could be stored.
    pub async fn write<T, E>(&self, job: impl FnOnce(&Tx<'_>) -> Result<T, E> + Send + 'static) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        self.writer.write(Kind::Any, job).await
    }

    /// The same for a short job: it writes a few rows, and refuses, if it does, before it writes, which spares it the
    /// savepoint. One that fails later all the same (a fault of the database) takes all that shares its commit along.
    /// Where nobody else writes and the disk is quick, it is done on the caller's thread: to wake another and to be
    /// woken by it would take a sixth of a payment's time.
    ///
    /// # Errors
    /// As [`Store::write`].
    pub async fn write_short<T, E>(&self, job: impl FnOnce(&Tx<'_>) -> Result<T, E> + Send + 'static) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        self.writer.write(Kind::Short, job).await
    }

    /// Runs `read` on a snapshot. It is meant for short reads: call it from
    /// `tokio::task::spawn_blocking` where it may take more than a few milliseconds.
    ///
    /// # Errors
    /// What `read` answered, or why nothing could be read.
    pub fn read<T, E: From<StoreError>>(&self, read: impl FnOnce(&Reader<'_>) -> Result<T, E>) -> Result<T, E> {
        self.readers.read(read)
    }

    #[cfg(test)]
    fn queue(&self) -> writer::Queue {
        self.writer.queue()
    }
}
