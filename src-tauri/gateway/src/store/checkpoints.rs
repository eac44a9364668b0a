//! Moving the log into the database, on a thread of its own, when the writer rests: while it copies and syncs, the disk is
//! busy with that.
//!
//! The log starts anew once all of it was moved and nobody reads it, which under load is never so: while it is moved, the
//! next commits come in. So the thread moves it twice, and the second time leaves next to nothing; then the commit that
//! follows moves that little itself.

use std::ffi::c_int;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rusqlite::hooks::Wal;
use rusqlite::wal::CheckpointMode;
use rusqlite::{Connection, ErrorCode, MAIN_DB};

use super::{StoreError, open};
use crate::fail_points;

/// Pages of the log after which they are moved once the writer rests (16 MiB).
const PAGES: u32 = 4_096;

/// Moved after so many times [`PAGES`] though the writer does not rest (128 MiB). Then most are older copies of pages that
/// come again further on, of which only the last has to be moved.
const TIMES_WITHOUT_REST: u32 = 8;

/// Moved by the commit itself after so many times [`PAGES`]: the thread does not get on, or is not there.
const TIMES_AT_MOST: u32 = 32;

/// The writer rests when it has committed nothing for so long.
const REST: Duration = Duration::from_millis(10);

/// The thread; it ends when this is dropped.
pub(super) struct Checkpoints {
    asks: SyncSender<Ask>,
    thread: Option<JoinHandle<()>>,
}

/// What the thread is asked for.
enum Ask {
    /// To move the log once the writer rests; asked twice, at once.
    Move,
    Stop,
}

impl Checkpoints {
    /// Takes over from SQLite, which would move the log within the commit that makes it a thousand pages long.
    pub(super) fn start(writer: &mut Connection, file: &Path) -> Result<Self, StoreError> {
        Self::start_at(fail_points::checkpoint_pages(PAGES), writer, file)
    }

    fn start_at(pages: u32, writer: &mut Connection, file: &Path) -> Result<Self, StoreError> {
        let connection = open::for_checkpoints(file)?;
        let (asks, asked) = mpsc::sync_channel(1);
        let shared = Arc::new(Shared { pages: AtomicU32::new(0), nearly_done: AtomicBool::new(false) });
        let mut log = Log { asks: asks.clone(), shared: Arc::clone(&shared), due: Due::new(pages) };
        writer.wal_hook(Some(move |wal: &mut Wal, count| {
            log.grown_to(count, wal);
            Ok(())
        }))?;
        let thread = thread::Builder::new()
            .name("checkpoints".to_owned())
            .spawn(move || {
                let mut failed = false;
                while matches!(asked.recv(), Ok(Ask::Move)) && shared.wait_for_rest(&asked) {
                    failed = !moved(&connection, failed);
                    shared.nearly_done.store(!failed, Ordering::Relaxed);
                }
            })
            .map_err(|source| StoreError::Io { action: "starting the thread that moves the log", source })?;
        Ok(Self { asks, thread: Some(thread) })
    }
}

impl Drop for Checkpoints {
    /// Waits until its connection is closed.
    fn drop(&mut self) {
        // Refused only where the thread has ended already.
        let _ = self.asks.send(Ask::Stop);
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the thread that moves the log had failed");
        }
    }
}

/// What the thread and the writer's commits share.
struct Shared {
    /// The log's, after the last commit.
    pages: AtomicU32,
    /// The thread has left next to nothing.
    nearly_done: AtomicBool,
}

impl Shared {
    /// Waits until the writer rests, or somebody asks again; false when it is to stop.
    fn wait_for_rest(&self, asked: &Receiver<Ask>) -> bool {
        let mut before = None;
        loop {
            let pages = self.pages.load(Ordering::Relaxed);
            if before == Some(pages) {
                return true;
            }
            before = Some(pages);
            match asked.recv_timeout(REST) {
                Ok(Ask::Move) => return true,
                Ok(Ask::Stop) | Err(RecvTimeoutError::Disconnected) => return false,
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }
}

/// The log as the writer's commits see it.
struct Log {
    asks: SyncSender<Ask>,
    shared: Arc<Shared>,
    due: Due,
}

impl Log {
    /// After each commit; what goes wrong here is no fault of the commit.
    fn grown_to(&mut self, pages: c_int, wal: &mut Wal) {
        let pages = u32::try_from(pages).unwrap_or(0);
        let anew = pages < self.shared.pages.swap(pages, Ordering::Relaxed);
        let due = self.due.at(pages, anew);
        // One that started anew has nothing left of what the thread moved.
        let nearly_done = self.shared.nearly_done.swap(false, Ordering::Relaxed) && !anew;
        if nearly_done || self.due.is_overdue(pages) {
            // Busy is the thread, at the same work.
            if let Err(error) = wal.checkpoint()
                && error.sqlite_error_code() != Some(ErrorCode::DatabaseBusy)
            {
                tracing::warn!(%error, "the log was not moved into the database");
            }
        } else if due {
            // One that is asked for already will do.
            let _ = self.asks.try_send(Ask::Move);
        }
    }
}

/// When a log that grows is to be moved.
struct Due {
    /// For the first time, since it started anew, when it has so many.
    pages: u32,
    /// The next time.
    next: u32,
}

impl Due {
    const fn new(pages: u32) -> Self {
        Self { pages, next: pages }
    }

    /// Whether the thread is to be asked now that the log, which may have started anew, has grown to `pages`.
    fn at(&mut self, pages: u32, anew: bool) -> bool {
        if anew {
            self.next = self.pages;
        }
        let due = pages >= self.next;
        if due {
            let without_rest = self.pages.saturating_mul(TIMES_WITHOUT_REST);
            self.next = (pages / without_rest.max(1)).saturating_add(1).saturating_mul(without_rest);
        }
        due
    }

    const fn is_overdue(&self, pages: u32) -> bool {
        pages >= self.pages.saturating_mul(TIMES_AT_MOST)
    }
}

/// Moves what is there, and what came meanwhile; `failed` before, it says so no more.
fn moved(connection: &Connection, failed: bool) -> bool {
    for _ in 0..2 {
        if let Err(error) = connection.wal_checkpoint_v2(Some(MAIN_DB), CheckpointMode::PASSIVE) {
            if !failed {
                tracing::warn!(%error, "the log cannot be moved into the database; it is tried again");
            }
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    const PAGE_BYTES: u64 = 4_096;

    #[test]
    fn a_log_is_moved_at_rest_and_later_without_and_from_the_start_again_when_it_is_short() {
        let mut due = Due::new(8);
        let times = |due: &mut Due| (1..=150).filter(|pages| due.at(*pages, *pages == 1)).collect::<Vec<_>>();
        assert_eq!(times(&mut due), [8, 64, 128]);
        assert_eq!(times(&mut due), [8, 64, 128]);
        assert!(!due.is_overdue(255) && due.is_overdue(256));
    }

    /// A database whose log is moved when it has grown to eight pages, and to 64 under load.
    fn database() -> (tempfile::TempDir, PathBuf, Connection, Checkpoints) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("gateway.db");
        let mut writer = open::for_writing(&file).unwrap();
        writer.execute_batch("CREATE TABLE rows (value BLOB) STRICT").unwrap();
        let checkpoints = Checkpoints::start_at(8, &mut writer, &file).unwrap();
        (folder, file, writer, checkpoints)
    }

    fn commit(writer: &Connection) {
        writer.execute("INSERT INTO rows VALUES (randomblob(3000))", []).unwrap();
    }

    fn pages(file: &Path) -> u64 {
        std::fs::metadata(file).map_or(0, |metadata| metadata.len() / PAGE_BYTES)
    }

    #[test]
    fn the_log_is_moved_while_the_writer_rests() {
        let (_folder, file, writer, _checkpoints) = database();
        for _ in 0..20 {
            commit(&writer);
        }
        while pages(&file) < 10 {
            thread::yield_now();
        }
    }

    #[test]
    fn the_log_stays_short_however_much_is_written_and_is_gone_in_the_end() {
        let (_folder, file, writer, checkpoints) = database();
        let log = file.with_extension("db-wal");
        for _ in 0..2_000 {
            commit(&writer);
            assert!(pages(&log) < 1_000, "each commit adds a page at least");
        }
        drop(writer);
        drop(checkpoints);
        assert!(!log.exists() && pages(&file) > 2_000);
    }

    #[test]
    fn a_log_that_somebody_reads_grows_and_is_short_again_afterwards() {
        let (_folder, file, writer, _checkpoints) = database();
        let reader = open::for_reading(&file).unwrap();
        reader.execute_batch("BEGIN; SELECT count(*) FROM rows").unwrap();
        for _ in 0..500 {
            commit(&writer);
        }
        let log = file.with_extension("db-wal");
        let longest = pages(&log);
        assert!(longest > 500, "what is read stays readable");
        reader.execute_batch("COMMIT").unwrap();
        for _ in 0..longest {
            commit(&writer);
        }
        assert!(pages(&log) < 2 * longest, "it started anew");
    }
}
