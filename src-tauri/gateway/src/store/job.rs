//! One write on its way through the writer: what it does to the transaction, and the answer that its caller hears once the
//! transaction's fate is known.

use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};

use super::{Reader, StoreError, Tx};

/// One write; what it leaves answers its caller.
pub(super) type Job = Box<dyn FnOnce(Result<Begun<'_>, &str>) -> Box<dyn Answer> + Send>;

/// The transaction that a write runs in.
#[derive(Clone, Copy)]
pub(super) struct Begun<'a> {
    pub(super) connection: &'a Connection,
    /// No other write is in it.
    pub(super) alone: bool,
    /// Writes before it are in it: what it reads may be theirs, and goes with them if the commit fails.
    pub(super) after_others: bool,
}

/// What a write left in its transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    /// All that it was to write.
    Whole,
    /// Nothing: it refused before it wrote, or was undone alone.
    Nothing,
    /// It failed midway, and nothing but the end of the whole transaction undoes what it wrote.
    Half,
}

/// A caller's answer, held back until the commit succeeded or failed.
pub(super) trait Answer {
    fn send(self: Box<Self>, committed: Result<(), &str>);
    fn effect(&self) -> Effect;
}

struct Pending<T, E> {
    result: Result<T, E>,
    effect: Effect,
    /// The result may rest on what other writes of the same transaction wrote.
    after_others: bool,
    to: oneshot::Sender<Result<T, E>>,
}

impl<T, E: From<StoreError>> Answer for Pending<T, E> {
    fn send(self: Box<Self>, committed: Result<(), &str>) {
        let result = match committed {
            Ok(()) => self.result,
            // A refusal that rests on nothing but what was committed before stands: it changed nothing.
            Err(_) if self.result.is_err() && !self.after_others => self.result,
            Err(reason) => Err(StoreError::CommitFailed(reason.to_owned()).into()),
        };
        // The caller may have gone away; the change is committed all the same.
        let _ = self.to.send(result);
    }

    fn effect(&self) -> Effect {
        self.effect
    }
}

/// A write of any kind, and where its answer comes. Where others share its transaction, a savepoint undoes it alone.
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

/// A write of a few rows in two steps: `check` may refuse, and can only read; `apply` writes, and fails only
/// if the database does. So it needs no savepoint.
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
            Err(reason) => (Err(StoreError::CommitFailed(reason.to_owned()).into()), Effect::Nothing, false),
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
        // Nothing undid it alone, so its transaction must not be committed.
        (Err(_), Err(refusal)) => (Err(refusal), Effect::Half),
        (Err(error), Ok(_)) => (Err(error.into()), Effect::Half),
    }
}

pub(super) fn run_sql(connection: &Connection, sql: &str) -> Result<(), StoreError> {
    connection.prepare_cached(sql)?.execute([])?;
    Ok(())
}

/// The way to the writer's thread.
#[derive(Clone)]
pub(super) struct Queue(pub(super) mpsc::Sender<Job>);

impl Queue {
    /// Has the writer's thread do `job`, whose answer comes otherwise.
    pub(super) async fn send(&self, job: Job) -> Result<(), StoreError> {
        self.0.send(job).await.map_err(|_| StoreError::Closed)
    }

    /// Has the writer's thread write a few rows, and waits for it: not on a thread that others wait for.
    pub(super) fn wait_for<T: Send + 'static>(
        &self,
        apply: impl FnOnce(&Tx<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (job, answer) = short(|_| Ok(()), move |tx, ()| apply(tx));
        self.0.blocking_send(job).map_err(|_| StoreError::Closed)?;
        answer.blocking_recv().map_err(|_| StoreError::Closed)?
    }
}
