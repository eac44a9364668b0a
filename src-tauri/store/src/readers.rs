//! A bounded pool of read-only connections, one per concurrent read; each holds three files open.

use std::path::{Path, PathBuf};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use rusqlite::Connection;

use super::error::StoreError;
use super::job::run_sql;
use super::open;
use super::reader::Reader;

/// Most concurrent reads. More would be no faster, as machines have fewer cores. Their files stay
/// far below the lowest limit of open files that systems set. HTTP lists take fewer permits
/// (`http/read_permits.rs`), so that other reads never wait for them.
const READS_MAX: usize = 48;

/// Most idle connections kept open. More would rarely be used: machines run few reads at once.
const IDLE_MAX: usize = 8;

/// Longest wait of a read for a permit: as long as a write waits for another process.
const WAIT_MAX: Duration = Duration::from_secs(2);

pub(super) struct Readers {
    file: PathBuf,
    pool: Mutex<Pool>,
    /// Signalled when a permit is released.
    freed: Condvar,
    wait_max: Duration,
}

struct Pool {
    /// Free permits.
    free: usize,
    /// Connections without a read.
    idle: Vec<Connection>,
}

/// The right to read, released when dropped.
struct Permit<'a>(&'a Readers);

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        self.0.pool.lock().free += 1;
        self.0.freed.notify_one();
    }
}

impl Readers {
    pub(super) fn new(file: &Path) -> Self {
        Self::bounded(file, READS_MAX, WAIT_MAX)
    }

    fn bounded(file: &Path, most: usize, wait_max: Duration) -> Self {
        let pool = Mutex::new(Pool { free: most, idle: Vec::new() });
        Self { file: file.to_owned(), pool, freed: Condvar::new(), wait_max }
    }

    pub(super) fn read<T, E: From<StoreError>>(
        &self,
        read: impl FnOnce(&Reader<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let (_permit, idle) = self.take()?;
        let connection = match idle {
            Some(connection) => connection,
            None => open::for_reading(&self.file)?,
        };
        // `BEGIN` and `COMMIT` are prepared, unlike in rusqlite's transactions. Compiling them
        // takes as long as a short read.
        run_sql(&connection, "BEGIN")?;
        let answer = read(&Reader { connection: &connection });
        // A connection whose snapshot cannot be ended would read old rows for ever, so it is
        // dropped.
        match run_sql(&connection, "COMMIT") {
            Ok(()) => self.put_back(connection),
            Err(error) => tracing::warn!(%error, "a read's snapshot could not be ended"),
        }
        answer
    }

    fn take(&self) -> Result<(Permit<'_>, Option<Connection>), StoreError> {
        let mut pool = self.pool.lock();
        if self.freed.wait_while_for(&mut pool, |pool| pool.free == 0, self.wait_max).timed_out()
            && pool.free == 0
        {
            return Err(StoreError::TooManyReads);
        }
        pool.free -= 1;
        let idle = pool.idle.pop();
        drop(pool);
        Ok((Permit(self), idle))
    }

    fn put_back(&self, connection: Connection) {
        let mut pool = self.pool.lock();
        if pool.idle.len() < IDLE_MAX {
            pool.idle.push(connection);
        }
    }
}

#[cfg(any(test, feature = "testing"))]
#[allow(clippy::unwrap_used, reason = "only tests call this")]
impl Readers {
    /// Gives a test the connection of the next read.
    pub(super) fn prepare(&self, change: impl FnOnce(&mut Connection)) {
        self.read(|_| Ok::<_, StoreError>(())).unwrap();
        change(self.pool.lock().idle.last_mut().unwrap());
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;

    use super::*;
    use crate::Store;

    /// Readers of a database, with `most` permits.
    fn readers(most: usize, wait_max: Duration) -> (tempfile::TempDir, Store, Readers) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("gateway.db");
        let store = Store::open(&file).unwrap();
        (folder, store, Readers::bounded(&file, most, wait_max))
    }

    #[test]
    fn reads_beyond_the_permits_fail_with_the_reason() {
        let (_folder, _store, readers) = readers(2, Duration::ZERO);
        readers
            .read(|_| {
                readers.read(|_| {
                    let third = readers.read(|_| Ok::<_, StoreError>(()));
                    assert!(matches!(third, Err(StoreError::TooManyReads)), "{third:?}");
                    Ok::<_, StoreError>(())
                })
            })
            .unwrap();
        readers.read(|_| Ok::<_, StoreError>(())).unwrap();
    }

    #[test]
    fn a_waiting_read_gets_the_permit_of_a_panicked_one() {
        let (_folder, _store, readers) = readers(1, Duration::from_secs(60));
        let (reading, is_reading) = mpsc::channel();
        thread::scope(|scope| {
            let first = scope.spawn(|| {
                readers.read::<(), StoreError>(|_| {
                    reading.send(()).unwrap();
                    panic!("a read that panics")
                })
            });
            is_reading.recv().unwrap();
            readers.read(|_| Ok::<_, StoreError>(())).unwrap();
            assert!(first.join().is_err());
        });
    }
}
