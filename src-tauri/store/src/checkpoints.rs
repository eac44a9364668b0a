//! Checkpoints the WAL on a separate thread while the writer is idle, since copying and syncing
//! keep the disk busy.
//!
//! SQLite restarts the WAL once it is fully checkpointed and has no reader. Under load new commits
//! arrive meanwhile, so this never happens. The thread therefore checkpoints twice, which leaves
//! few pages. The next commit checkpoints these pages itself.

use std::ffi::c_int;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::time::Duration;

use rusqlite::hooks::Wal;
use rusqlite::wal::CheckpointMode;
use rusqlite::{Connection, ErrorCode, MAIN_DB};
use tillgate_machine::disk::PRODUCTION_RESERVE_BYTES;
use tillgate_machine::fail_points;
use tillgate_machine::threads::{Thread, Threads};

use super::error::StoreError;
use super::open;

/// Pages of the WAL after which it is checkpointed once the writer is idle (16 MiB).
const PAGES: u32 = 4_096;

/// Multiples of [`PAGES`] after which the WAL is checkpointed even under load (128 MiB). By then
/// most pages are older copies of later ones, and only the last copy is written.
const TIMES_WITHOUT_IDLE: u32 = 8;

/// Multiples of [`PAGES`] after which the commit itself checkpoints (256 MiB): the thread is stuck
/// or has ended.
const TIMES_AT_MOST: u32 = 16;

/// At this size the WAL leaves most of the reserved space free.
const _: () =
    assert!(TIMES_AT_MOST as u64 * PAGES as u64 * 4_096 <= PRODUCTION_RESERVE_BYTES - 200_000_000);

/// The writer counts as idle after this time without a commit.
const IDLE: Duration = Duration::from_millis(10);

/// The checkpointing thread; it ends when this is dropped.
pub(super) struct Checkpoints {
    asks: SyncSender<Request>,
    thread: Thread,
}

enum Request {
    /// Checkpoint the WAL once the writer is idle, or at once on a second request.
    Checkpoint,
    Stop,
}

impl Checkpoints {
    /// Replaces SQLite's own checkpoints, which run within the commit that makes the WAL a thousand
    /// pages long.
    pub(super) fn start(
        writer: &mut Connection,
        file: &Path,
        threads: &Threads,
    ) -> Result<Self, StoreError> {
        Self::start_at(fail_points::checkpoint_pages(PAGES), writer, file, threads)
    }

    fn start_at(
        pages: u32,
        writer: &mut Connection,
        file: &Path,
        threads: &Threads,
    ) -> Result<Self, StoreError> {
        let connection = open::for_checkpoints(file)?;
        let (asks, asked) = mpsc::sync_channel(1);
        let shared =
            Arc::new(Shared { pages: AtomicU32::new(0), nearly_done: AtomicBool::new(false) });
        let mut growing =
            GrowingWal { asks: asks.clone(), shared: Arc::clone(&shared), due: Due::new(pages) };
        writer.wal_hook(Some(move |wal: &mut Wal, count| {
            growing.grown_to(count, wal);
            Ok(())
        }))?;
        let work = move || {
            let mut failed = false;
            while matches!(asked.recv(), Ok(Request::Checkpoint)) && shared.wait_until_idle(&asked)
            {
                failed = !checkpoint(&connection, failed);
                shared.nearly_done.store(!failed, Ordering::Relaxed);
            }
        };
        let thread = threads.start("the checkpointing of the WAL", "checkpoints", work).map_err(
            |source| StoreError::Io {
                action: "starting the thread that checkpoints the WAL",
                source,
            },
        )?;
        Ok(Self { asks, thread })
    }
}

impl Drop for Checkpoints {
    /// Waits until the thread's connection is closed.
    fn drop(&mut self) {
        // Sending fails only if the thread has ended already.
        let _ = self.asks.send(Request::Stop);
        self.thread.join();
    }
}

/// State shared by the thread and the writer's commits.
struct Shared {
    /// Pages of the WAL after the last commit.
    pages: AtomicU32,
    /// Whether the thread has just left few pages.
    nearly_done: AtomicBool,
}

impl Shared {
    /// Waits until the writer is idle, or until a second request; false means stop.
    fn wait_until_idle(&self, asked: &Receiver<Request>) -> bool {
        let mut before = None;
        loop {
            let pages = self.pages.load(Ordering::Relaxed);
            if before == Some(pages) {
                return true;
            }
            before = Some(pages);
            match asked.recv_timeout(IDLE) {
                Ok(Request::Checkpoint) => return true,
                Ok(Request::Stop) | Err(RecvTimeoutError::Disconnected) => return false,
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }
}

/// The WAL as it grows with the writer's commits.
struct GrowingWal {
    asks: SyncSender<Request>,
    shared: Arc<Shared>,
    due: Due,
}

impl GrowingWal {
    /// Called after each commit; an error here does not affect the commit.
    fn grown_to(&mut self, pages: c_int, wal: &mut Wal) {
        let pages = u32::try_from(pages).unwrap_or(0);
        let is_restarted = pages < self.shared.pages.swap(pages, Ordering::Relaxed);
        let due = self.due.at(pages, is_restarted);
        // The pages that the thread left belonged to the WAL before its restart.
        let nearly_done = self.shared.nearly_done.swap(false, Ordering::Relaxed) && !is_restarted;
        if nearly_done || self.due.is_overdue(pages) {
            // A busy database means that the thread is already checkpointing.
            if let Err(error) = wal.checkpoint()
                && error.sqlite_error_code() != Some(ErrorCode::DatabaseBusy)
            {
                tracing::warn!(%error, "the WAL was not checkpointed");
            }
        } else if due {
            // If the channel is full, a request is pending already.
            let _ = self.asks.try_send(Request::Checkpoint);
        }
    }
}

/// Decides when a growing WAL is checkpointed.
struct Due {
    /// Pages of the first checkpoint after a restart of the WAL.
    pages: u32,
    /// Pages of the next checkpoint.
    next: u32,
}

impl Due {
    const fn new(pages: u32) -> Self {
        Self { pages, next: pages }
    }

    /// Whether to ask the thread when the WAL has `pages` pages; `is_restarted` says that the WAL
    /// was restarted.
    fn at(&mut self, pages: u32, is_restarted: bool) -> bool {
        if is_restarted {
            self.next = self.pages;
        }
        let due = pages >= self.next;
        if due {
            let without_idle = self.pages.saturating_mul(TIMES_WITHOUT_IDLE);
            self.next =
                (pages / without_idle.max(1)).saturating_add(1).saturating_mul(without_idle);
        }
        due
    }

    const fn is_overdue(&self, pages: u32) -> bool {
        pages >= self.pages.saturating_mul(TIMES_AT_MOST)
    }
}

/// Checkpoints the WAL twice, the second time for new commits. Returns whether it succeeded.
/// `failed` is the result of the last call: a repeated failure is not logged again.
fn checkpoint(connection: &Connection, failed: bool) -> bool {
    for _ in 0..2 {
        if let Err(error) = connection.wal_checkpoint_v2(Some(MAIN_DB), CheckpointMode::PASSIVE) {
            if !failed {
                tracing::warn!(%error, "the WAL cannot be checkpointed; it is tried again");
            }
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::thread;

    use super::*;

    const PAGE_BYTES: u64 = 4_096;

    #[test]
    fn checkpoints_are_due_again_after_a_restart_of_the_wal() {
        let mut due = Due::new(8);
        let times = |due: &mut Due| {
            (1..=150).filter(|pages| due.at(*pages, *pages == 1)).collect::<Vec<_>>()
        };
        assert_eq!(times(&mut due), [8, 64, 128]);
        assert_eq!(times(&mut due), [8, 64, 128]);
        assert!(!due.is_overdue(127) && due.is_overdue(128));
    }

    /// A database that is checkpointed at eight pages, and at 64 under load.
    fn database() -> (tempfile::TempDir, PathBuf, Connection, Checkpoints) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("gateway.db");
        let mut writer = open::for_writing(&file).unwrap();
        writer.execute_batch("CREATE TABLE rows (value BLOB) STRICT").unwrap();
        let checkpoints =
            Checkpoints::start_at(8, &mut writer, &file, &Threads::default()).unwrap();
        (folder, file, writer, checkpoints)
    }

    fn commit(writer: &Connection) {
        writer.execute("INSERT INTO rows VALUES (randomblob(3000))", []).unwrap();
    }

    fn pages(file: &Path) -> u64 {
        std::fs::metadata(file).map_or(0, |metadata| metadata.len() / PAGE_BYTES)
    }

    #[test]
    fn the_wal_is_checkpointed_while_the_writer_is_idle() {
        let (_folder, file, writer, _checkpoints) = database();
        for _ in 0..20 {
            commit(&writer);
        }
        while pages(&file) < 10 {
            thread::yield_now();
        }
    }

    #[test]
    fn the_wal_stays_short_under_load_and_is_gone_at_the_end() {
        let (_folder, file, writer, checkpoints) = database();
        let wal = file.with_extension("db-wal");
        for _ in 0..2_000 {
            commit(&writer);
            assert!(
                pages(&wal) < 1_000,
                "the WAL is checkpointed: each commit adds at least one page"
            );
        }
        drop(writer);
        drop(checkpoints);
        assert!(!wal.exists() && pages(&file) > 2_000);
    }

    #[test]
    fn a_wal_grows_during_a_read_and_restarts_after_it() {
        let (_folder, file, writer, _checkpoints) = database();
        let reader = open::for_reading(&file).unwrap();
        reader.execute_batch("BEGIN; SELECT count(*) FROM rows").unwrap();
        for _ in 0..500 {
            commit(&writer);
        }
        let wal = file.with_extension("db-wal");
        let longest = pages(&wal);
        assert!(longest > 500, "the WAL keeps the pages that the reader sees");
        reader.execute_batch("COMMIT").unwrap();
        for _ in 0..longest {
            commit(&writer);
        }
        assert!(pages(&wal) < 2 * longest, "the WAL was restarted");
    }
}
