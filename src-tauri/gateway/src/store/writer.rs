//! The one writer: a thread that commits in groups whatever waits. A short write that comes alone is committed on its
//! caller's thread, with the same connection.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use super::checkpoints::Checkpoints;
use super::filing::{Committed, Filing};
use super::{Reader, StoreError, Tx, open};
use crate::fail_points::{self, Point};

/// Writes that may wait; beyond it callers wait for room, which bounds memory.
const QUEUE_MAX: usize = 4_096;

/// Writes that share a commit at most, so that none waits long for its answer.
const GROUP_MAX: usize = 512;

/// Takes the right to write at once, so that no write finds in its midst that another has it.
const BEGIN: &str = "BEGIN IMMEDIATE";

/// A disk that commits within this keeps a caller's thread no longer than its other work does.
const QUICK: Duration = Duration::from_millis(1);

/// What the writes of a group hear in which another failed and took the transaction with it.
const EARLIER_WRITE_FAILED: &str = "an earlier write of the same commit failed";

/// One write; what it leaves answers its caller once the commit's fate is known.
type Job = Box<dyn FnOnce(Result<Begun<'_>, &str>) -> Box<dyn Answer> + Send>;

/// The transaction that a write runs in.
struct Begun<'a> {
    connection: &'a Connection,
    /// No other write is in it.
    alone: bool,
}

/// What a write may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Anything: where others share its commit, a savepoint undoes it alone.
    Any,
    /// It takes a few milliseconds at most, and fails before it has written any, but for faults of the database: its whole group fails
    /// with it then.
    Short,
}

/// A caller's answer, kept until the commit succeeded or failed.
trait Answer {
    fn send(self: Box<Self>, committed: Result<(), &str>);
    /// Whether it failed in no savepoint of its own: what it wrote, if anything, is still there.
    fn failed_unguarded(&self) -> bool;
}

struct Pending<T, E> {
    result: Result<T, E>,
    guarded: bool,
    to: oneshot::Sender<Result<T, E>>,
}

impl<T, E: From<StoreError>> Answer for Pending<T, E> {
    fn send(self: Box<Self>, committed: Result<(), &str>) {
        let result = match committed {
            Ok(()) => self.result,
            // A refusal stands whatever became of the commit: it changed nothing.
            Err(reason) => self.result.and_then(|_| Err(StoreError::CommitFailed(reason.to_owned()).into())),
        };
        // The caller may have gone away; the change is committed all the same.
        let _ = self.to.send(result);
    }

    fn failed_unguarded(&self) -> bool {
        !self.guarded && self.result.is_err()
    }
}

pub(super) struct Writer {
    /// There until it is dropped.
    queue: Option<Queue>,
    thread: Option<JoinHandle<()>>,
    shared: Arc<Shared>,
    filing: Filing,
    _checkpoints: Checkpoints,
}

/// The way to the writer's thread.
#[derive(Clone)]
pub(super) struct Queue(mpsc::Sender<Job>);

/// What the thread and the callers share.
struct Shared {
    connection: Mutex<Connection>,
    /// Writes whose callers wait for their answers.
    under_way: AtomicUsize,
    /// The last commit was.
    quick: AtomicBool,
    committed: Committed,
}

impl Writer {
    pub(super) fn start(mut connection: Connection, file: &Path) -> Result<Self, StoreError> {
        let checkpoints = Checkpoints::start(&mut connection, file)?;
        let connection = Mutex::new(connection);
        let (committed, heard) = Committed::channel();
        let (under_way, quick) = (AtomicUsize::new(0), AtomicBool::new(false));
        let shared = Arc::new(Shared { connection, under_way, quick, committed: committed.clone() });
        let (jobs, waiting) = mpsc::channel(QUEUE_MAX);
        let queue = Queue(jobs);
        let filing = Filing::start(queue.clone(), file, committed, heard)?;
        let threads = Arc::clone(&shared);
        let thread = thread::Builder::new()
            .name("store-writer".to_owned())
            .spawn(move || threads.run(waiting))
            .map_err(|source| StoreError::Io { action: "starting the database's writer", source })?;
        Ok(Self { queue: Some(queue), thread: Some(thread), shared, filing, _checkpoints: checkpoints })
    }

    pub(super) async fn write<T, E>(
        &self,
        kind: Kind,
        job: impl FnOnce(&Tx<'_>) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        let (job, answer) = answered(kind, job);
        let under_way = UnderWay::one_more(&self.shared.under_way);
        let job = match kind {
            Kind::Short if under_way.alone => self.shared.commit_here(job),
            _ => Some(job),
        };
        if let Some(job) = job {
            let Queue(jobs) = self.queue.as_ref().ok_or(StoreError::Closed)?;
            jobs.send(job).await.map_err(|_| StoreError::Closed)?;
        }
        answer.await.map_err(|_| StoreError::Closed)?
    }
}

#[cfg(test)]
impl Writer {
    pub(super) fn queue(&self) -> Queue {
        self.queue.clone().unwrap()
    }
}

impl Queue {
    /// Has the writer's thread do a short job, and waits for it: not on a thread that others wait for.
    pub(super) fn wait_for<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Tx<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (job, answer) = answered(Kind::Short, job);
        self.0.blocking_send(job).map_err(|_| StoreError::Closed)?;
        answer.blocking_recv().map_err(|_| StoreError::Closed)?
    }
}

/// The job, and where its answer comes.
fn answered<T, E>(
    kind: Kind,
    job: impl FnOnce(&Tx<'_>) -> Result<T, E> + Send + 'static,
) -> (Job, oneshot::Receiver<Result<T, E>>)
where
    T: Send + 'static,
    E: From<StoreError> + Send + 'static,
{
    let (to, answer) = oneshot::channel();
    let job: Job = Box::new(move |begun| {
        let guarded = kind == Kind::Any && begun.as_ref().is_ok_and(|begun| !begun.alone);
        let result = match begun {
            Ok(Begun { connection, .. }) if guarded => in_savepoint(connection, job),
            Ok(Begun { connection, .. }) => job(&Tx { reader: Reader { connection } }),
            Err(reason) => Err(StoreError::CommitFailed(reason.to_owned()).into()),
        };
        Box::new(Pending { result, guarded, to })
    });
    (job, answer)
}

impl Drop for Writer {
    /// Waits until the database is closed: the last connection to close moves the log into the file, so that a
    /// program that was stopped leaves one whole file behind.
    fn drop(&mut self) {
        let thread = self.thread.take().filter(|thread| thread.thread().id() != thread::current().id());
        // On the writer's own thread nobody may wait for the thread that files: it may wait for this one.
        self.filing.stop(thread.is_some());
        drop(self.queue.take());
        if thread.is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("the database's writer had failed");
        }
    }
}

/// Counts a caller among those that wait for their answers.
struct UnderWay<'a> {
    count: &'a AtomicUsize,
    /// It was the only one when it came.
    alone: bool,
}

impl<'a> UnderWay<'a> {
    fn one_more(count: &'a AtomicUsize) -> Self {
        let alone = count.fetch_add(1, Ordering::Relaxed) == 0;
        Self { count, alone }
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.count.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Shared {
    fn run(&self, mut waiting: mpsc::Receiver<Job>) {
        let mut group = Vec::with_capacity(GROUP_MAX);
        while waiting.blocking_recv_many(&mut group, GROUP_MAX) > 0 {
            // A caller panicked in the midst of a transaction: what the connection holds is not known any more.
            let Ok(connection) = self.connection.lock() else { return };
            let begun = run_sql(&connection, BEGIN).map_err(|error| error.to_string());
            self.commit_group(&connection, begun, &mut group);
        }
    }

    /// Commits a write that came alone, unless that would keep the caller's thread waiting: it comes back then.
    fn commit_here(&self, job: Job) -> Option<Job> {
        if !self.quick.load(Ordering::Relaxed) {
            return Some(job);
        }
        let Ok(connection) = self.connection.try_lock() else { return Some(job) };
        match begin_at_once(&connection) {
            Ok(true) => {}
            Ok(false) => return Some(job),
            Err(error) => {
                tracing::debug!(%error, "a write goes to the writer's thread");
                return Some(job);
            }
        }
        self.commit_group(&connection, Ok(()), &mut vec![job]);
        None
    }

    fn commit_group(&self, connection: &Connection, begun: Result<(), String>, group: &mut Vec<Job>) {
        let mut writable = begun;
        let alone = group.len() == 1;
        let answers: Vec<_> = group
            .drain(..)
            .map(|job| {
                // SQLite ends the whole transaction by itself on some errors (a full disk among them).
                if writable.is_ok() && connection.is_autocommit() {
                    writable = Err(EARLIER_WRITE_FAILED.to_owned());
                }
                let changes = connection.total_changes();
                let answer = match &writable {
                    Ok(()) => job(Ok(Begun { connection, alone })),
                    Err(reason) => job(Err(reason)),
                };
                if writable.is_ok() && answer.failed_unguarded() && connection.total_changes() != changes {
                    writable = Err(EARLIER_WRITE_FAILED.to_owned());
                }
                answer
            })
            .collect();
        let committed = writable.and_then(|()| self.commit(connection));
        if let Err(reason) = &committed {
            // One that refuses after it wrote, alone in its transaction, is no fault.
            if !(alone && answers.iter().any(|answer| answer.failed_unguarded())) {
                tracing::error!(reason, "nothing could be stored");
            }
            if !connection.is_autocommit()
                && let Err(error) = run_sql(connection, "ROLLBACK")
            {
                tracing::error!(%error, "a failed transaction could not be rolled back");
            }
        }
        // One that failed alone committed nothing: told of it, whoever tries again would do so for ever.
        if committed.is_ok() && answers.iter().any(|answer| !answer.failed_unguarded()) {
            self.committed.tell();
        }
        for answer in answers {
            answer.send(committed.as_ref().copied().map_err(String::as_str));
        }
    }

    fn commit(&self, connection: &Connection) -> Result<(), String> {
        fail_points::pass(Point::CommitBefore);
        if fail_points::commit_fails() {
            return Err("a test said so".to_owned());
        }
        let started = Instant::now();
        let committed = run_sql(connection, "COMMIT").map_err(|error| error.to_string());
        self.quick.store(started.elapsed() < QUICK, Ordering::Relaxed);
        fail_points::pass(Point::CommitAfter);
        committed
    }
}

/// Begins a transaction unless another process has the database's lock.
fn begin_at_once(connection: &Connection) -> Result<bool, StoreError> {
    connection.busy_timeout(Duration::ZERO)?;
    let begun = run_sql(connection, BEGIN);
    open::wait_when_busy(connection)?;
    Ok(begun.is_ok())
}

fn in_savepoint<T, E: From<StoreError>>(
    connection: &Connection,
    job: impl FnOnce(&Tx<'_>) -> Result<T, E>,
) -> Result<T, E> {
    run_sql(connection, "SAVEPOINT job")?;
    let result = job(&Tx { reader: Reader { connection } });
    if result.is_err() {
        run_sql(connection, "ROLLBACK TO job")?;
    }
    run_sql(connection, "RELEASE job")?;
    result
}

fn run_sql(connection: &Connection, sql: &str) -> Result<(), StoreError> {
    connection.prepare_cached(sql)?.execute([])?;
    Ok(())
}

#[cfg(test)]
mod tests;
