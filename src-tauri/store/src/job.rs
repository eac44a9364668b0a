//! A write for the writer's thread: it makes its changes in a transaction, and sends the result to
//! the caller after the commit or rollback.

use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};

use super::error::StoreError;
use super::reader::Reader;
use super::tx::Tx;

/// One write. It runs in a begun transaction, or learns why there is none, and returns its
/// [`Answer`].
pub(super) type Job = Box<dyn FnOnce(Result<Begun<'_>, &str>) -> Box<dyn Answer> + Send>;

/// The transaction of a write.
#[derive(Clone, Copy)]
pub(super) struct Begun<'a> {
    pub(super) connection: &'a Connection,
    /// No other write shares the transaction.
    pub(super) alone: bool,
    /// Earlier writes share the transaction: rows that this write reads may be theirs, and vanish
    /// if the commit fails.
    pub(super) after_others: bool,
}

/// The effect of a write on its transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    /// All of its changes.
    Whole,
    /// No change: it refused before writing, or was undone alone.
    Nothing,
    /// A part of its changes: only a rollback of the whole transaction undoes them.
    Half,
}

/// A caller's answer, held back until the commit succeeds or fails.
pub(super) trait Answer {
    fn send(self: Box<Self>, committed: Result<(), &str>);
    fn effect(&self) -> Effect;
}

struct Pending<T, E> {
    result: Result<T, E>,
    effect: Effect,
    /// The result may depend on rows of other writes in the same transaction.
    after_others: bool,
    to: oneshot::Sender<Result<T, E>>,
}

impl<T, E: From<StoreError>> Answer for Pending<T, E> {
    fn send(self: Box<Self>, committed: Result<(), &str>) {
        let result = match committed {
            Ok(()) => self.result,
            // A refusal that read only committed rows stays valid.
            Err(_) if self.result.is_err() && !self.after_others => self.result,
            Err(reason) => Err(StoreError::CommitFailed(reason.to_owned()).into()),
        };
        // The caller may no longer wait; the change is committed anyway.
        let _ = self.to.send(result);
    }

    fn effect(&self) -> Effect {
        self.effect
    }
}

/// A write of any kind, and the receiver of its answer. In a shared transaction it runs in a
/// savepoint, so that a failure undoes only this write.
pub(super) fn any<T, E>(
    work: impl FnOnce(&Tx<'_>) -> Result<T, E> + Send + 'static,
) -> (Job, oneshot::Receiver<Result<T, E>>)
where
    T: Send + 'static,
    E: From<StoreError> + Send + 'static,
{
    answered(move |Begun { connection, alone, .. }| {
        if !alone {
            return in_savepoint(connection, work);
        }
        let result = work(&Tx::on(connection));
        let effect = if result.is_ok() { Effect::Whole } else { Effect::Half };
        (result, effect)
    })
}

/// A write of a few rows in two steps. `check` only reads and may refuse; `apply` writes and fails
/// only if the database does. So the write needs no savepoint.
pub(super) fn short<P, T, E>(
    check: impl FnOnce(&Reader<'_>) -> Result<P, E> + Send + 'static,
    apply: impl FnOnce(&Tx<'_>, P) -> Result<T, StoreError> + Send + 'static,
) -> (Job, oneshot::Receiver<Result<T, E>>)
where
    T: Send + 'static,
    E: From<StoreError> + Send + 'static,
{
    answered(move |begun| {
        let tx = Tx::on(begun.connection);
        match check(&tx).map(|plan| apply(&tx, plan)) {
            Ok(Ok(done)) => (Ok(done), Effect::Whole),
            Ok(Err(error)) => (Err(error.into()), Effect::Half),
            Err(refusal) => (Err(refusal), Effect::Nothing),
        }
    })
}

fn answered<T, E>(
    run: impl FnOnce(Begun<'_>) -> (Result<T, E>, Effect) + Send + 'static,
) -> (Job, oneshot::Receiver<Result<T, E>>)
where
    T: Send + 'static,
    E: From<StoreError> + Send + 'static,
{
    let (to, answer) = oneshot::channel();
    let job: Job = Box::new(move |begun| {
        let (result, effect, after_others) = match begun {
            Ok(begun) => {
                let (result, effect) = run(begun);
                (result, effect, begun.after_others)
            }
            Err(reason) => {
                (Err(StoreError::CommitFailed(reason.to_owned()).into()), Effect::Nothing, false)
            }
        };
        Box::new(Pending { result, effect, after_others, to })
    });
    (job, answer)
}

fn in_savepoint<T, E: From<StoreError>>(
    connection: &Connection,
    work: impl FnOnce(&Tx<'_>) -> Result<T, E>,
) -> (Result<T, E>, Effect) {
    if let Err(error) = run_sql(connection, "SAVEPOINT job") {
        return (Err(error.into()), Effect::Nothing);
    }
    let result = work(&Tx::on(connection));
    let undone = if result.is_err() { run_sql(connection, "ROLLBACK TO job") } else { Ok(()) };
    match (undone.and_then(|()| run_sql(connection, "RELEASE job")), result) {
        (Ok(()), Ok(done)) => (Ok(done), Effect::Whole),
        (Ok(()), Err(refusal)) => (Err(refusal), Effect::Nothing),
        // The savepoint did not undo the changes, so the transaction must not be committed.
        (Err(_), Err(refusal)) => (Err(refusal), Effect::Half),
        (Err(error), Ok(_)) => (Err(error.into()), Effect::Half),
    }
}

pub(super) fn run_sql(connection: &Connection, sql: &str) -> Result<(), StoreError> {
    connection.prepare_cached(sql)?.execute([])?;
    Ok(())
}

/// The queue to the writer's thread.
#[derive(Clone)]
pub(super) struct Queue(pub(super) mpsc::Sender<Job>);

impl Queue {
    /// Sends `job` to the writer's thread; the answer comes separately.
    pub(super) async fn send(&self, job: Job) -> Result<(), StoreError> {
        self.0.send(job).await.map_err(|_| StoreError::Closed)
    }

    /// Writes a few rows on the writer's thread and blocks until they are committed. Never call
    /// this from async code.
    pub(super) fn wait_for<T: Send + 'static>(
        &self,
        apply: impl FnOnce(&Tx<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (job, answer) = short(|_| Ok(()), move |tx, ()| apply(tx));
        self.0.blocking_send(job).map_err(|_| StoreError::Closed)?;
        answer.blocking_recv().map_err(|_| StoreError::Closed)?
    }
}
