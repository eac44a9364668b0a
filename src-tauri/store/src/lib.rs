//! The database: one SQLite file, one writer thread, read-only connections beside it.
//!
//! Of the rooms only this crate names `rusqlite`. Each table has a file with its row type and its
//! SQL. Reads are methods of [`Reader`], writes are methods of [`Tx`].

pub mod alarms;
pub mod ancestors;
pub mod anomalies;
pub mod api_keys;
pub mod audit;
pub mod backups;
pub mod batches;
pub mod books;
pub mod chain;
pub mod coins;
pub mod copy;
pub mod deliveries;
pub mod history;
pub mod hmac_key;
pub mod idempotency;
pub mod keychains;
pub mod labels;
pub mod ledger;
pub mod news;
pub mod notifications;
pub mod notify_hosts;
pub mod other_type;
pub mod payment_lists;
mod payment_warnings;
pub mod payments;
pub mod payout_lists;
pub mod payouts;
pub mod products;
pub mod rates;
pub mod receipts;
pub mod restore;
pub mod sales;
pub mod scripts;
pub mod sender_hold;
pub mod takings;
pub mod times;
pub mod transactions;
pub mod twins;
pub mod witness;

mod check;
mod checkpoints;
mod deferred_indexing;
mod error;
mod imported_labels;
mod installation;
mod job;
mod migrate;
mod open;
mod reader;
mod readers;
mod settings;
mod telling;
#[cfg(any(test, feature = "testing"))]
#[allow(clippy::unwrap_used, reason = "only tests call this")]
mod testing;
mod tx;
mod values;
mod writer;

pub use error::StoreError;
pub use installation::Installation;
pub use reader::Reader;
pub use tx::Tx;

use std::path::Path;

use tillgate_machine::threads::Threads;

/// The database of one environment.
pub struct Store {
    readers: readers::Readers,
    writer: writer::Writer,
    threads: Threads,
}

impl Store {
    /// Opens `file`, creating and migrating it as needed. The caller holds the data directory's
    /// lock, so a single process writes the database.
    ///
    /// # Errors
    /// Fails when the file cannot be opened, is not ours, is corrupt, or was written by a newer
    /// program.
    pub fn open(file: &Path) -> Result<Self, StoreError> {
        let connection = open::for_writing(file)?;
        migrate::migrate(&connection, file)?;
        let threads = Threads::default();
        let writer = writer::Writer::start(connection, file, &threads)?;
        Ok(Self { readers: readers::Readers::new(file), writer, threads })
    }

    /// Waits until one of the store's threads ends, and returns its name. No thread ends in normal
    /// operation, so the gateway must then end.
    pub async fn ended(&self) -> &'static str {
        self.threads.ended().await
    }

    /// Runs `job` in the writer's next transaction. Returns once the commit is on the disk.
    /// Concurrent jobs share a commit, each in its own savepoint, so that only a failed job is
    /// undone. `job` must wait for nothing but the database.
    ///
    /// # Errors
    /// The error of `job`, or the reason why nothing could be stored.
    pub async fn write<T, E>(
        &self,
        job: impl FnOnce(&Tx<'_>) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        self.writer.write(job::any(job)).await
    }

    /// Like [`Self::write`] for a few rows, in two steps without a savepoint. `check` only reads
    /// and may refuse. `apply` writes the plan of `check`. If `apply` fails, the whole shared
    /// commit fails, so only the database may make it fail.
    ///
    /// With no other write and a quick disk, the job runs on the caller's thread: two thread
    /// switches would take a sixth of a payment's time.
    ///
    /// # Errors
    /// The error of `check`, or the reason why nothing could be stored.
    pub async fn write_short<P, T, E>(
        &self,
        check: impl FnOnce(&Reader<'_>) -> Result<P, E> + Send + 'static,
        apply: impl FnOnce(&Tx<'_>, P) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        self.writer.write_short(job::short(check, apply)).await
    }

    /// Runs `read` on a snapshot. It is meant for short reads: call it from
    /// `tokio::task::spawn_blocking` if it may take more than a few milliseconds.
    ///
    /// # Errors
    /// The error of `read`, or the reason why nothing could be read.
    pub fn read<T, E: From<StoreError>>(
        &self,
        read: impl FnOnce(&Reader<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        self.readers.read(read)
    }

    #[cfg(test)]
    fn queue(&self) -> job::Queue {
        self.writer.queue()
    }
}
