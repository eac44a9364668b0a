//! Read-only connections, one for each read that runs at the same time, in bounded number: each keeps three files open.

use std::path::{Path, PathBuf};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use rusqlite::Connection;

use super::job::run_sql;
use super::{Reader, StoreError, open};

/// Reads at the same time. Far more than the machine's cores never help; with their files, far fewer than the least that
/// systems let a program open. Lists over HTTP take fewer (`http/read_permits.rs`), so that the others never wait for those.
const READS_MAX: usize = 48;

/// Idle connections kept open; more than the machine's cores never help.
const IDLE_MAX: usize = 8;

/// How long a read waits for its place: as long as a write waits for another process.
const WAIT_MAX: Duration = Duration::from_secs(2);

pub(super) struct Readers {
    file: PathBuf,
    places: Mutex<Places>,
    /// Told when a place is free again.
    freed: Condvar,
    wait_max: Duration,
}

struct Places {
    free: usize,
    /// Connections that nobody reads with.
    idle: Vec<Connection>,
}

/// The right to read, given back when it is dropped.
struct Place<'a>(&'a Readers);

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.places.lock().free += 1;
        self.0.freed.notify_one();
    }
}

impl Readers {
    pub(super) fn new(file: &Path) -> Self {
        Self::bounded(file, READS_MAX, WAIT_MAX)
    }

    fn bounded(file: &Path, most: usize, wait_max: Duration) -> Self {
        let places = Mutex::new(Places { free: most, idle: Vec::new() });
        Self { file: file.to_owned(), places, freed: Condvar::new(), wait_max }
    }

    pub(super) fn read<T, E: From<StoreError>>(&self, read: impl FnOnce(&Reader<'_>) -> Result<T, E>) -> Result<T, E> {
        let (_place, idle) = self.take()?;
        let connection = match idle {
            Some(connection) => connection,
            None => open::for_reading(&self.file)?,
        };
        // Prepared, unlike rusqlite's own transactions: a short read is hardly longer than what begins and ends it.
        run_sql(&connection, "BEGIN")?;
        let answer = read(&Reader { connection: &connection });
        // A connection that keeps its snapshot would show old rows for ever; dropped, it ends it.
        match run_sql(&connection, "COMMIT") {
            Ok(()) => self.put_back(connection),
            Err(error) => tracing::warn!(%error, "a read's snapshot could not be ended"),
        }
        answer
    }

    fn take(&self) -> Result<(Place<'_>, Option<Connection>), StoreError> {
        let mut places = self.places.lock();
        if self.freed.wait_while_for(&mut places, |places| places.free == 0, self.wait_max).timed_out()
            && places.free == 0
        {
            return Err(StoreError::TooManyReads);
        }
        places.free -= 1;
        let idle = places.idle.pop();
        drop(places);
        Ok((Place(self), idle))
    }

    fn put_back(&self, connection: Connection) {
        let mut places = self.places.lock();
        if places.idle.len() < IDLE_MAX {
            places.idle.push(connection);
        }
    }
}

#[cfg(test)]
impl Readers {
    /// Shows a test the connection that is read with next.
    pub(super) fn prepare(&self, change: impl FnOnce(&mut Connection)) {
        self.read(|_| Ok::<_, StoreError>(())).unwrap();
        change(self.places.lock().idle.last_mut().unwrap());
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;

    use super::*;
    use crate::store::Store;

    /// Readers of a database, with so many places.
    fn readers(most: usize, wait_max: Duration) -> (tempfile::TempDir, Store, Readers) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("gateway.db");
        let store = Store::open(&file).unwrap();
        (folder, store, Readers::bounded(&file, most, wait_max))
    }

    #[test]
    fn no_more_are_read_at_the_same_time_than_there_are_places_and_who_waits_in_vain_hears_why() {
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
    fn who_waits_has_the_next_place_even_if_the_read_before_panicked() {
        let (_folder, _store, readers) = readers(1, Duration::from_secs(60));
        let (reading, is_reading) = mpsc::channel();
        thread::scope(|scope| {
            let first = scope.spawn(|| {
                readers.read::<(), StoreError>(|_| {
                    reading.send(()).unwrap();
                    panic!("as the test wants it")
                })
            });
            is_reading.recv().unwrap();
            readers.read(|_| Ok::<_, StoreError>(())).unwrap();
            assert!(first.join().is_err());
        });
    }
}
