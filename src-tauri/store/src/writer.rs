//! The only writer: a thread that commits all waiting writes in groups. If no other write waits, a
//! short write may be committed on its caller's thread, with the same connection.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode};
use tillgate_machine::fail_points::{self, Point};
use tillgate_machine::threads::{Thread, Threads};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use super::checkpoints::Checkpoints;
use super::deferred_indexing::{Committed, DeferredIndexing};
use super::error::StoreError;
use super::job::{Answer, Begun, Effect, Job, Queue, run_sql};
use super::open;

/// Name of the thread in reports of its end.
const THREAD: &str = "the database's writer";

/// Most writes in the queue; further callers wait for room, which bounds memory.
const QUEUE_MAX: usize = 4_096;

/// Most writes in one commit, so that no write waits long for its answer.
const GROUP_MAX: usize = 512;

/// Takes the write lock at the start, so that no transaction fails later because another process
/// has the lock.
const BEGIN: &str = "BEGIN IMMEDIATE";

/// A commit faster than this may run on a caller's thread: it blocks the thread no longer than
/// other work does.
const QUICK: Duration = Duration::from_millis(1);

/// Error for the writes of a group after another write ended its transaction.
const EARLIER_WRITE_FAILED: &str = "an earlier write of the same commit failed";

pub(super) struct Writer {
    /// `Some` until dropped.
    queue: Option<Queue>,
    thread: Thread,
    shared: Arc<Shared>,
    deferred_indexing: DeferredIndexing,
    _checkpoints: Checkpoints,
}

/// State shared by the thread and the callers.
struct Shared {
    connection: Mutex<Connection>,
    /// Number of callers that wait for answers.
    waiting_callers: AtomicUsize,
    /// Whether the last commit took less than [`QUICK`].
    quick: AtomicBool,
    committed: Committed,
    threads: Threads,
}

/// Why a group was not committed.
struct Failed {
    reason: String,
    /// Whether the WAL may hold the whole group, which would then reappear after a crash.
    may_survive: bool,
}

impl Failed {
    fn for_sure(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), may_survive: false }
    }
}

impl Writer {
    pub(super) fn start(
        mut connection: Connection,
        file: &Path,
        threads: &Threads,
    ) -> Result<Self, StoreError> {
        let checkpoints = Checkpoints::start(&mut connection, file, threads)?;
        let connection = Mutex::new(connection);
        let (committed, heard) = Committed::channel();
        let shared = Arc::new(Shared {
            connection,
            waiting_callers: AtomicUsize::new(0),
            quick: AtomicBool::new(false),
            committed: committed.clone(),
            threads: threads.clone(),
        });
        let (jobs, waiting) = mpsc::channel(QUEUE_MAX);
        let queue = Queue(jobs);
        let deferred_indexing =
            DeferredIndexing::start(queue.clone(), file, committed, heard, threads)?;
        let writer = Arc::clone(&shared);
        let thread = threads.start(THREAD, "store-writer", move || writer.run(waiting)).map_err(
            |source| StoreError::Io { action: "starting the database's writer", source },
        )?;
        Ok(Self {
            queue: Some(queue),
            thread,
            shared,
            deferred_indexing,
            _checkpoints: checkpoints,
        })
    }

    /// Runs a write on the writer's thread and waits for its answer.
    pub(super) async fn write<T, E>(
        &self,
        (job, answer): (Job, oneshot::Receiver<Result<T, E>>),
    ) -> Result<T, E>
    where
        E: From<StoreError>,
    {
        let _waiting = WaitingCaller::one_more(&self.shared.waiting_callers);
        self.on_writer_thread(job, answer).await
    }

    /// Like [`Self::write`], for a short write, which may run on its caller's thread.
    pub(super) async fn write_short<T, E>(
        &self,
        (job, answer): (Job, oneshot::Receiver<Result<T, E>>),
    ) -> Result<T, E>
    where
        E: From<StoreError>,
    {
        let waiting = WaitingCaller::one_more(&self.shared.waiting_callers);
        match if waiting.alone { self.shared.commit_here(job) } else { Some(job) } {
            Some(job) => self.on_writer_thread(job, answer).await,
            None => answer.await.map_err(|_| StoreError::Closed)?,
        }
    }

    async fn on_writer_thread<T, E>(
        &self,
        job: Job,
        answer: oneshot::Receiver<Result<T, E>>,
    ) -> Result<T, E>
    where
        E: From<StoreError>,
    {
        self.queue.as_ref().ok_or(StoreError::Closed)?.send(job).await?;
        answer.await.map_err(|_| StoreError::Closed)?
    }
}

#[cfg(test)]
impl Writer {
    pub(super) fn queue(&self) -> Queue {
        self.queue.clone().unwrap()
    }
}

#[cfg(any(test, feature = "testing"))]
#[allow(clippy::unwrap_used, reason = "only tests call this")]
impl Writer {
    /// The only writing connection.
    pub(super) fn connection(&self) -> std::sync::MutexGuard<'_, Connection> {
        self.shared.connection.lock().unwrap()
    }
}

impl Drop for Writer {
    /// Waits until the database is closed. The last connection to close checkpoints the WAL, so
    /// that a stopped program leaves a single complete file.
    fn drop(&mut self) {
        let waits = !self.thread.is_current();
        // The writer's thread must not wait for the indexing thread, which may wait for the
        // writer's thread.
        self.deferred_indexing.stop(waits);
        drop(self.queue.take());
        if waits {
            self.thread.join();
        }
    }
}

/// A caller that waits for its answer, counted while it waits.
struct WaitingCaller<'a> {
    count: &'a AtomicUsize,
    /// Whether no other caller waited when this one came.
    alone: bool,
}

impl<'a> WaitingCaller<'a> {
    fn one_more(count: &'a AtomicUsize) -> Self {
        let alone = count.fetch_add(1, Ordering::Relaxed) == 0;
        Self { count, alone }
    }
}

impl Drop for WaitingCaller<'_> {
    fn drop(&mut self) {
        self.count.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Shared {
    fn run(&self, mut waiting: mpsc::Receiver<Job>) {
        let mut group = Vec::with_capacity(GROUP_MAX);
        while waiting.blocking_recv_many(&mut group, GROUP_MAX) > 0 {
            // A caller panicked within a transaction, so the state of the connection is unknown.
            let Ok(connection) = self.connection.lock() else { return };
            let begun = run_sql(&connection, BEGIN).map_err(|error| error.to_string());
            // Writes that came while another process held the lock have waited, too. They fail with
            // this group and do not wait again.
            while begun.is_err()
                && group.len() < QUEUE_MAX
                && let Ok(job) = waiting.try_recv()
            {
                group.push(job);
            }
            self.commit_group(&connection, begun, &mut group);
        }
    }

    /// Commits a single write on this thread, or returns it if this thread would have to wait.
    fn commit_here(&self, job: Job) -> Option<Job> {
        if !self.quick.load(Ordering::Relaxed) {
            return Some(job);
        }
        let Ok(connection) = self.connection.try_lock() else { return Some(job) };
        match begin_at_once(&connection) {
            Ok(true) => {}
            Ok(false) => return Some(job),
            Err(error) => {
                tracing::debug!(%error, "a write is passed to the writer's thread");
                return Some(job);
            }
        }
        self.commit_group(&connection, Ok(()), &mut vec![job]);
        None
    }

    fn commit_group(
        &self,
        connection: &Connection,
        begun: Result<(), String>,
        group: &mut Vec<Job>,
    ) {
        let mut writable = begun.map_err(Failed::for_sure);
        let alone = group.len() == 1;
        let mut answers: Vec<Box<dyn Answer>> = Vec::with_capacity(group.len());
        let mut after_others = false;
        for job in group.drain(..) {
            // SQLite ends the whole transaction by itself on some errors, such as a full disk.
            if writable.is_ok() && connection.is_autocommit() {
                writable = Err(Failed::for_sure(EARLIER_WRITE_FAILED));
            }
            let answer = match &writable {
                Ok(()) => job(Ok(Begun { connection, alone, after_others })),
                Err(failed) => job(Err(&failed.reason)),
            };
            match answer.effect() {
                Effect::Whole => after_others = true,
                Effect::Nothing => {}
                Effect::Half => writable = Err(Failed::for_sure(EARLIER_WRITE_FAILED)),
            }
            answers.push(answer);
        }
        if writable.is_ok() && connection.is_autocommit() {
            writable = Err(Failed::for_sure(EARLIER_WRITE_FAILED));
        }
        let committed = writable.and_then(|()| self.commit(connection));
        if let Err(failed) = &committed {
            // A write that fails alone reports its own error.
            if !(alone && answers.iter().any(|answer| answer.effect() == Effect::Half)) {
                tracing::error!(reason = failed.reason, "nothing could be stored");
            }
            if !connection.is_autocommit()
                && let Err(error) = run_sql(connection, "ROLLBACK")
            {
                tracing::error!(%error, "a failed transaction could not be rolled back");
            }
            if failed.may_survive
                && let Err(error) = overwrite(connection)
            {
                tracing::error!(%error, "a failed commit stays in the WAL: only a restart shows whether it is stored");
                // The callers must not be told that nothing was stored. They get no answer, and the
                // program ends.
                std::mem::forget(answers);
                return self.threads.end(THREAD);
            }
        } else if after_others {
            // A commit without changes is not announced: a listener that retries after each commit
            // would never stop.
            self.committed.tell();
        }
        for answer in answers {
            answer.send(committed.as_ref().copied().map_err(|failed| failed.reason.as_str()));
        }
    }

    fn commit(&self, connection: &Connection) -> Result<(), Failed> {
        fail_points::pass(Point::CommitBefore);
        if fail_points::commit_fails() {
            return Err(Failed::for_sure("a fail point refused the commit"));
        }
        let started = Instant::now();
        let committed =
            connection.prepare_cached("COMMIT").and_then(|mut commit| commit.execute([]));
        self.quick.store(started.elapsed() < QUICK, Ordering::Relaxed);
        fail_points::pass(Point::CommitAfter);
        committed.map(|_| ()).map_err(|error| Failed {
            // A full disk leaves an incomplete commit in the WAL, and a busy database leaves none.
            may_survive: !matches!(
                error.sqlite_error_code(),
                Some(ErrorCode::DiskFull | ErrorCode::DatabaseBusy)
            ),
            reason: StoreError::from(error).to_string(),
        })
    }
}

/// Removes the remains of a failed commit from the WAL. A new commit overwrites their first page.
/// The later pages become invalid, because the checksum of each page of the WAL covers the pages
/// before it.
fn overwrite(connection: &Connection) -> Result<(), StoreError> {
    let version: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    // Writes one page without changing it.
    Ok(connection.pragma_update(None, "user_version", version)?)
}

/// Begins a transaction unless another process holds the database's lock.
fn begin_at_once(connection: &Connection) -> Result<bool, StoreError> {
    connection.busy_timeout(Duration::ZERO)?;
    let begun = run_sql(connection, BEGIN);
    open::wait_when_busy(connection)?;
    Ok(begun.is_ok())
}

#[cfg(test)]
mod tests;
