//! Adds new payments to the indexes of lists, later and many at once. A separate thread asks the
//! writer for this outside bursts. Indexing each payment in its own commit would write and sync one
//! more page per index.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread;
use std::time::Duration;

use rusqlite::Connection;
use tillgate_machine::fail_points;
use tillgate_machine::threads::{Thread, Threads};

use super::error::StoreError;
use super::job::Queue;
use super::open;
use super::reader::Reader;

/// Unindexed payments that are worth a commit.
const ENOUGH: i64 = 128;

/// Multiple of [`ENOUGH`] (8,192 payments) that starts indexing during a burst. Until then lists
/// scan all unindexed payments, which takes a few milliseconds.
const TIMES_IN_A_BURST: i64 = 64;

/// New payments between two checks that count as a burst (a thousand in a second).
const BURST: i64 = 10;

/// A commit indexes one of this many parts of the waiting payments, within the limits below. So
/// indexing keeps up with any load, and no other write waits long (2 ms at the minimum, 16 ms at
/// the maximum).
const CHUNK_PART: i64 = 16;
const CHUNK_MIN: i64 = 256;
const CHUNK_MAX: i64 = 2_048;

/// Time between two checks for unindexed payments.
const PAUSE: Duration = Duration::from_millis(10);

pub(super) struct DeferredIndexing {
    stopping: Arc<AtomicBool>,
    committed: Committed,
    thread: Thread,
}

/// Notifies the thread of commits.
#[derive(Clone)]
pub(super) struct Committed(SyncSender<()>);

/// The thread's receiver of the notifications from [`Committed`].
pub(super) struct Heard(Receiver<()>);

impl Committed {
    pub(super) fn channel() -> (Self, Heard) {
        let (told, heard) = mpsc::sync_channel(1);
        (Self(told), Heard(heard))
    }

    pub(super) fn tell(&self) {
        // If the channel is full, a notification is pending already.
        let _ = self.0.try_send(());
    }
}

impl DeferredIndexing {
    /// Starts the thread. It begins with payments that an earlier run left unindexed.
    pub(super) fn start(
        queue: Queue,
        file: &Path,
        committed: Committed,
        Heard(heard): Heard,
        threads: &Threads,
    ) -> Result<Self, StoreError> {
        let enough = fail_points::index_after(ENOUGH);
        let reader = open::for_reading(file)?;
        let now = Reader { connection: &reader };
        let (indexed, found) = (now.last_indexed_payment()?, now.last_payment()?);
        let indexer = Indexer { reader, queue, enough, indexed, found, failed: false };
        let stopping = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stopping);
        let thread = threads
            .start("the indexing of payments", "indexing", move || indexer.work(&heard, &stopped))
            .map_err(|source| StoreError::Io {
                action: "starting the thread that indexes payments",
                source,
            })?;
        committed.tell();
        Ok(Self { stopping, committed, thread })
    }

    /// Stops the thread, and joins it if `waits`.
    pub(super) fn stop(&mut self, waits: bool) {
        self.stopping.store(true, Ordering::Relaxed);
        self.committed.tell();
        if waits {
            self.thread.join();
        }
    }
}

struct Indexer {
    /// Dropped before `queue`, so that the writer's connection closes last and checkpoints the WAL.
    reader: Connection,
    queue: Queue,
    enough: i64,
    /// `seq` of the last indexed payment.
    indexed: i64,
    /// `seq` of the last payment at the last check.
    found: i64,
    failed: bool,
}

/// Time of the indexer's next check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    /// At once: too many payments wait.
    Now,
    /// After a pause: more payments wait or arrive.
    Soon,
    /// After the next commit: too few payments wait, or indexing failed.
    AfterACommit,
}

impl Indexer {
    fn work(mut self, heard: &Receiver<()>, stopping: &AtomicBool) {
        while heard.recv().is_ok() {
            let mut next = Next::Soon;
            while next != Next::AfterACommit {
                if next == Next::Soon {
                    thread::sleep(PAUSE);
                }
                if stopping.load(Ordering::Relaxed) {
                    return;
                }
                next = self.check();
            }
        }
    }

    fn check(&mut self) -> Next {
        let next = self.index_some();
        if let Err(error) = &next
            && !self.failed
        {
            tracing::warn!(%error, "new payments could not be indexed, so lists are slower; the next commit tries again");
        }
        self.failed = next.is_err();
        next.unwrap_or(Next::AfterACommit)
    }

    fn index_some(&mut self) -> Result<Next, StoreError> {
        let last = Reader { connection: &self.reader }.last_payment()?;
        let burst = last - self.found >= BURST;
        self.found = last;
        let most = self.enough.saturating_mul(TIMES_IN_A_BURST);
        let (indexed, waiting) = (self.indexed, last - self.indexed);
        if waiting < if burst { most } else { self.enough } {
            return Ok(if burst { Next::Soon } else { Next::AfterACommit });
        }
        let chunk = (waiting / CHUNK_PART).clamp(CHUNK_MIN, CHUNK_MAX);
        self.indexed = self.queue.wait_for(move |tx| tx.index_payments(indexed, chunk))?;
        Ok(if last - self.indexed >= most { Next::Now } else { Next::Soon })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Store;
    use crate::payment_lists::tests::{insert, store};

    const PATIENCE: Duration = Duration::from_secs(60);

    fn unindexed(store: &Store) -> i64 {
        store
            .read(|reader| {
                Ok::<_, StoreError>(reader.last_payment()? - reader.last_indexed_payment()?)
            })
            .unwrap()
    }

    async fn insert_many(store: &Store, numbers: std::ops::Range<u32>) {
        store
            .write(move |tx| numbers.clone().try_for_each(|number| insert(tx, number)))
            .await
            .unwrap();
    }

    async fn wait_until_indexed(store: &Store) {
        let indexed = async {
            while unindexed(store) >= ENOUGH {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(PATIENCE, indexed).await.expect("payments are still unindexed");
    }

    /// An indexer beside the store's own, which is idle below [`ENOUGH`] payments.
    fn indexer(folder: &tempfile::TempDir, store: &Store, enough: i64) -> Indexer {
        let reader = open::for_reading(&folder.path().join("gateway.db")).unwrap();
        Indexer { reader, queue: store.queue(), enough, indexed: 0, found: 0, failed: false }
    }

    async fn check(mut indexer: Indexer) -> (Next, Indexer) {
        tokio::task::spawn_blocking(move || (indexer.check(), indexer)).await.unwrap()
    }

    #[tokio::test]
    async fn new_payments_are_indexed_and_those_of_an_earlier_run_too() {
        let (folder, store) = store();
        insert_many(&store, 0..600).await;
        wait_until_indexed(&store).await;
        insert_many(&store, 600..1_100).await;
        drop(store);
        let store = Store::open(&folder.path().join("gateway.db")).unwrap();
        wait_until_indexed(&store).await;
    }

    #[tokio::test]
    async fn during_a_burst_only_many_waiting_payments_are_indexed() {
        let (folder, store) = store();
        let mut indexer = indexer(&folder, &store, 1);
        let few = u32::try_from(BURST).unwrap();
        let many = u32::try_from(TIMES_IN_A_BURST).unwrap();
        let mut found = Vec::new();
        for numbers in [0..few - 1, few - 1..2 * few, 0..0, 2 * few..3 * few + many] {
            insert_many(&store, numbers).await;
            let checked = check(indexer).await;
            found.push((checked.0, unindexed(&store)));
            indexer = checked.1;
        }
        assert_eq!(
            found,
            [(Next::Soon, 0), (Next::Soon, BURST + 1), (Next::Soon, 0), (Next::Soon, 0)]
        );
        assert_eq!(check(indexer).await.0, Next::AfterACommit);
    }

    #[tokio::test]
    async fn failed_indexing_is_tried_again_after_a_commit() {
        let (folder, store) = store();
        let other = Connection::open(folder.path().join("gateway.db")).unwrap();
        let refuse = "CREATE TRIGGER refuse BEFORE UPDATE OF is_indexed ON payments BEGIN SELECT RAISE(ABORT, 'no'); END";
        other.execute_batch(refuse).unwrap();
        insert_many(&store, 0..300).await;
        let (next, mut indexer) = check(indexer(&folder, &store, 1)).await;
        assert!(next == Next::AfterACommit && indexer.failed && unindexed(&store) == 300);
        other.execute_batch("DROP TRIGGER refuse").unwrap();
        insert_many(&store, 300..301).await;
        wait_until_indexed(&store).await;
        indexer.indexed = store.read(|reader| reader.last_indexed_payment()).unwrap();
        assert_eq!(check(indexer).await.0, Next::Soon);
        assert_eq!(unindexed(&store), 0);
    }
}
