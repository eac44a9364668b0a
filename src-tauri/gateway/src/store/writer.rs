//! The one writer: a thread that commits in groups whatever waits.

use std::thread::{self, JoinHandle};

use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};

use super::{Reader, StoreError, Tx};
use crate::fail_points::{self, Point};

/// Writes that may wait; beyond it callers wait for room, which bounds memory.
const QUEUE_MAX: usize = 4_096;

/// Writes that share a commit at most, so that none waits long for its answer.
const GROUP_MAX: usize = 512;

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

/// When a write may fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Failing {
    /// At any time: where others share its commit, a savepoint undoes it alone.
    AnyTime,
    /// Before it has written anything, but for faults of the database; its whole group fails with it then.
    BeforeWriting,
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
    jobs: Option<mpsc::Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    pub(super) fn start(connection: Connection) -> Result<Self, StoreError> {
        let (jobs, waiting) = mpsc::channel(QUEUE_MAX);
        let thread = thread::Builder::new()
            .name("store-writer".to_owned())
            .spawn(move || run(&connection, waiting))
            .map_err(|source| StoreError::Io { action: "starting the database's writer", source })?;
        Ok(Self { jobs: Some(jobs), thread: Some(thread) })
    }

    pub(super) async fn write<T, E>(
        &self,
        failing: Failing,
        job: impl FnOnce(&Tx<'_>) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        let (to, answer) = oneshot::channel();
        let job: Job = Box::new(move |begun| {
            let guarded = failing == Failing::AnyTime && begun.as_ref().is_ok_and(|begun| !begun.alone);
            let result = match begun {
                Ok(Begun { connection, .. }) if guarded => in_savepoint(connection, job),
                Ok(Begun { connection, .. }) => job(&Tx { reader: Reader { connection } }),
                Err(reason) => Err(StoreError::CommitFailed(reason.to_owned()).into()),
            };
            Box::new(Pending { result, guarded, to })
        });
        let jobs = self.jobs.as_ref().ok_or(StoreError::Closed)?;
        jobs.send(job).await.map_err(|_| StoreError::Closed)?;
        answer.await.map_err(|_| StoreError::Closed)?
    }
}

impl Drop for Writer {
    /// Waits until the database is closed: the last connection to close moves the log into the file, so that a
    /// program that was stopped leaves one whole file behind.
    fn drop(&mut self) {
        drop(self.jobs.take());
        if let Some(thread) = self.thread.take()
            && thread.thread().id() != thread::current().id()
            && thread.join().is_err()
        {
            tracing::error!("the database's writer had failed");
        }
    }
}

fn run(connection: &Connection, mut waiting: mpsc::Receiver<Job>) {
    let mut group = Vec::with_capacity(GROUP_MAX);
    while waiting.blocking_recv_many(&mut group, GROUP_MAX) > 0 {
        commit_group(connection, &mut group);
    }
}

fn commit_group(connection: &Connection, group: &mut Vec<Job>) {
    let mut writable = run_sql(connection, "BEGIN IMMEDIATE").map_err(|error| error.to_string());
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
    let committed = writable.and_then(|()| commit(connection));
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
    for answer in answers {
        answer.send(committed.as_ref().copied().map_err(String::as_str));
    }
}

fn commit(connection: &Connection) -> Result<(), String> {
    fail_points::pass(Point::CommitBefore);
    if fail_points::commit_fails() {
        return Err("a test said so".to_owned());
    }
    let committed = run_sql(connection, "COMMIT").map_err(|error| error.to_string());
    fail_points::pass(Point::CommitAfter);
    committed
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
mod tests {
    use crate::store::{Store, StoreError};

    fn store() -> (tempfile::TempDir, Store) {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("gateway.db")).unwrap();
        (folder, store)
    }

    fn settings(store: &Store) -> Vec<(String, String)> {
        store
            .read(|reader| {
                let mut query = reader.connection.prepare("SELECT name, value FROM settings ORDER BY name")?;
                let rows = query.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
                Ok::<_, StoreError>(rows.collect::<Result<Vec<(String, String)>, _>>()?)
            })
            .unwrap()
    }

    fn set(tx: &crate::store::Tx<'_>, name: &str) -> Result<(), StoreError> {
        tx.connection.execute("INSERT INTO settings (name, value) VALUES (?1, 'x')", [name])?;
        Ok(())
    }

    #[tokio::test]
    async fn a_write_that_fails_is_undone_alone() {
        let (_folder, store) = store();
        let good = store.write(|tx| set(tx, "good"));
        let bad = store.write(|tx| {
            set(tx, "half")?;
            set(tx, "half")
        });
        let also_good = store.write(|tx| set(tx, "more"));
        let (good, bad, also_good) = tokio::join!(good, bad, also_good);
        assert!(good.is_ok() && also_good.is_ok());
        assert!(matches!(bad, Err(StoreError::Sqlite(_))), "the duplicate is refused: {bad:?}");
        let names: Vec<_> = settings(&store).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["good", "more"]);
    }

    #[tokio::test]
    async fn a_write_that_fails_alone_leaves_nothing_and_says_why() {
        let (_folder, store) = store();
        let half = |tx: &crate::store::Tx<'_>| {
            set(tx, "half")?;
            set(tx, "half")
        };
        assert!(matches!(store.write(half).await, Err(StoreError::Sqlite(_))));
        assert!(matches!(store.write_refusing_early(half).await, Err(StoreError::Sqlite(_))));
        assert!(settings(&store).is_empty());
        store.write(|tx| set(tx, "afterwards")).await.unwrap();
        assert_eq!(settings(&store).len(), 1);
    }

    #[tokio::test]
    async fn a_write_that_refuses_early_harms_no_other_and_one_that_breaks_its_word_leaves_nothing_behind() {
        let (_folder, store) = store();
        for breaks_its_word in [false, true] {
            let before = settings(&store).len();
            // While the first holds the writer in a commit of its own, the others come together.
            let (holding, held) = tokio::sync::oneshot::channel();
            let (release, released) = std::sync::mpsc::channel();
            let first = store.write(move |_| {
                let _ = holding.send(());
                released.recv().map_err(|_| StoreError::Closed)
            });
            let good = store.write_refusing_early(move |tx| set(tx, &format!("good {breaks_its_word}")));
            let bad = store.write_refusing_early(move |tx| {
                if breaks_its_word {
                    set(tx, "half")?;
                }
                Err::<(), _>(StoreError::BadValue("refused"))
            });
            let others = async {
                held.await.unwrap();
                tokio::join!(good, bad, async { release.send(()).unwrap() })
            };
            let (first, (good, bad, ())) = tokio::join!(first, others);
            assert!(first.is_ok() && matches!(bad, Err(StoreError::BadValue("refused"))), "{bad:?}");
            assert_eq!(good.is_ok(), !breaks_its_word);
            assert!(good.is_ok() || matches!(good, Err(StoreError::CommitFailed(_))), "{good:?}");
            assert_eq!(settings(&store).len(), before + usize::from(!breaks_its_word));
        }
    }

    #[tokio::test]
    async fn what_a_write_answered_is_seen_by_the_next_read() {
        let (_folder, store) = store();
        for number in 0..50 {
            store.write(move |tx| set(tx, &format!("{number:02}"))).await.unwrap();
            assert_eq!(settings(&store).len(), number + 1);
        }
    }

    #[tokio::test]
    async fn a_failed_commit_answers_every_write_of_its_group_and_stores_none() {
        let (_folder, store) = store();
        // A deferred foreign key lets the write itself pass and the commit fail.
        let deferred = store.write(|tx| {
            tx.connection.execute_batch(
                "PRAGMA defer_foreign_keys = ON; INSERT INTO payment_history VALUES (99, 1, 'NEW', 'NEW', 0, 'x');",
            )?;
            Ok::<_, StoreError>(())
        });
        let innocent = store.write(|tx| set(tx, "innocent"));
        let (deferred, innocent) = tokio::join!(deferred, innocent);
        assert!(matches!(deferred, Err(StoreError::CommitFailed(_))), "{deferred:?}");
        // Both shared the commit, or the second had one of its own: never a lie about which.
        assert_eq!(innocent.is_ok(), settings(&store).len() == 1);
        store.write(|tx| set(tx, "afterwards")).await.unwrap();
    }
}
