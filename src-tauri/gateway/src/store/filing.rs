//! Filing: making the entries of new payments in the indexes that lists go by, for many payments at once, on a thread that
//! asks the writer for it when there is no rush. With one payment at a time each index is a page more to write and to sync.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rusqlite::Connection;

use super::writer::Queue;
use super::{Reader, StoreError, open};
use crate::fail_points;

/// So many payments are worth a commit.
const ENOUGH: i64 = 128;

/// In a rush it is put off until there are so many times [`ENOUGH`] (8,192): lists look through all that are not filed,
/// for a few milliseconds then.
const TIMES_IN_A_RUSH: i64 = 64;

/// So many new payments between two looks are a rush (a thousand in a second).
const RUSH: i64 = 10;

/// Filed in one commit: a part of what waits, so that filing keeps up however many come, and no other write waits for long
/// (2 ms for the least, 16 for the most).
const CHUNK_PART: i64 = 16;
const CHUNK_MIN: i64 = 256;
const CHUNK_MAX: i64 = 2_048;

/// Between two looks.
const PAUSE: Duration = Duration::from_millis(10);

/// The thread.
pub(super) struct Filing {
    stopping: Arc<AtomicBool>,
    committed: Committed,
    thread: Option<JoinHandle<()>>,
}

/// Tells the thread of commits.
#[derive(Clone)]
pub(super) struct Committed(SyncSender<()>);

/// What the thread hears.
pub(super) struct Heard(Receiver<()>);

impl Committed {
    pub(super) fn channel() -> (Self, Heard) {
        let (told, heard) = mpsc::sync_channel(1);
        (Self(told), Heard(heard))
    }

    /// Something was committed.
    pub(super) fn tell(&self) {
        // One that was not heard yet will do.
        let _ = self.0.try_send(());
    }
}

impl Filing {
    /// Begins with what an earlier run of the program left.
    pub(super) fn start(
        queue: Queue,
        file: &Path,
        committed: Committed,
        Heard(heard): Heard,
    ) -> Result<Self, StoreError> {
        let enough = fail_points::file_after(ENOUGH);
        let reader = open::for_reading(file)?;
        let now = Reader { connection: &reader };
        let (filed, seen) = (now.last_filed_payment()?, now.last_payment()?);
        let clerk = Clerk { reader, queue, enough, filed, seen, failed: false };
        let stopping = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stopping);
        let thread = thread::Builder::new()
            .name("filing".to_owned())
            .spawn(move || clerk.work(&heard, &stopped))
            .map_err(|source| StoreError::Io { action: "starting the thread that files payments", source })?;
        committed.tell();
        Ok(Self { stopping, committed, thread: Some(thread) })
    }

    /// Lets the thread end, and waits for that if told so.
    pub(super) fn stop(&mut self, waits: bool) {
        self.stopping.store(true, Ordering::Relaxed);
        self.committed.tell();
        if let Some(thread) = self.thread.take().filter(|_| waits)
            && thread.join().is_err()
        {
            tracing::error!("the thread that files payments had failed");
        }
    }
}

/// Who files.
struct Clerk {
    /// Closed before the way to the writer: the last connection to close, the writer's, moves the log.
    reader: Connection,
    queue: Queue,
    enough: i64,
    /// The number of the last payment that is filed.
    filed: i64,
    /// The number of the last payment that was there at the last look.
    seen: i64,
    /// The last try.
    failed: bool,
}

/// When the clerk looks again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    /// At once: more wait than shall.
    Now,
    /// After a pause: more wait, or come.
    Soon,
    /// After the next commit: too few wait, or filing failed.
    AfterACommit,
}

impl Clerk {
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
                next = self.look();
            }
        }
    }

    fn look(&mut self) -> Next {
        let next = self.file_some();
        if let Err(error) = &next
            && !self.failed
        {
            tracing::warn!(%error, "new payments could not be filed, so lists take longer; it is tried again");
        }
        self.failed = next.is_err();
        next.unwrap_or(Next::AfterACommit)
    }

    fn file_some(&mut self) -> Result<Next, StoreError> {
        let last = Reader { connection: &self.reader }.last_payment()?;
        let rush = last - self.seen >= RUSH;
        self.seen = last;
        let most = self.enough.saturating_mul(TIMES_IN_A_RUSH);
        let (filed, waiting) = (self.filed, last - self.filed);
        if waiting < if rush { most } else { self.enough } {
            return Ok(if rush { Next::Soon } else { Next::AfterACommit });
        }
        let chunk = (waiting / CHUNK_PART).clamp(CHUNK_MIN, CHUNK_MAX);
        self.filed = self.queue.wait_for(move |tx| tx.file_payments(filed, chunk))?;
        Ok(if last - self.filed >= most { Next::Now } else { Next::Soon })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Store;
    use crate::store::payment_lists::tests::{insert, store};

    const PATIENCE: Duration = Duration::from_secs(60);

    /// How many are not filed.
    fn unfiled(store: &Store) -> i64 {
        store.read(|reader| Ok::<_, StoreError>(reader.last_payment()? - reader.last_filed_payment()?)).unwrap()
    }

    async fn insert_many(store: &Store, numbers: std::ops::Range<u32>) {
        store.write(move |tx| numbers.clone().try_for_each(|number| insert(tx, number))).await.unwrap();
    }

    async fn wait_until_filed(store: &Store) {
        let filed = async {
            while unfiled(store) >= ENOUGH {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(PATIENCE, filed).await.expect("nothing was filed");
    }

    /// A clerk beside the store's own, which has nothing to do with fewer than [`ENOUGH`].
    fn clerk(folder: &tempfile::TempDir, store: &Store, enough: i64) -> Clerk {
        let reader = open::for_reading(&folder.path().join("gateway.db")).unwrap();
        Clerk { reader, queue: store.queue(), enough, filed: 0, seen: 0, failed: false }
    }

    async fn look(mut clerk: Clerk) -> (Next, Clerk) {
        tokio::task::spawn_blocking(move || (clerk.look(), clerk)).await.unwrap()
    }

    #[tokio::test]
    async fn new_payments_are_filed_and_those_of_an_earlier_run_too() {
        let (folder, store) = store();
        insert_many(&store, 0..600).await;
        wait_until_filed(&store).await;
        insert_many(&store, 600..1_100).await;
        drop(store);
        let store = Store::open(&folder.path().join("gateway.db")).unwrap();
        wait_until_filed(&store).await;
    }

    #[tokio::test]
    async fn in_a_rush_only_many_are_filed() {
        let (folder, store) = store();
        let mut clerk = clerk(&folder, &store, 1);
        let few = u32::try_from(RUSH).unwrap();
        let many = u32::try_from(TIMES_IN_A_RUSH).unwrap();
        let mut found = Vec::new();
        for numbers in [0..few - 1, few - 1..2 * few, 0..0, 2 * few..3 * few + many] {
            insert_many(&store, numbers).await;
            let looked = look(clerk).await;
            found.push((looked.0, unfiled(&store)));
            clerk = looked.1;
        }
        assert_eq!(found, [(Next::Soon, 0), (Next::Soon, RUSH + 1), (Next::Soon, 0), (Next::Soon, 0)]);
        assert_eq!(look(clerk).await.0, Next::AfterACommit);
    }

    #[tokio::test]
    async fn what_cannot_be_filed_waits_for_a_commit() {
        let (folder, store) = store();
        let other = Connection::open(folder.path().join("gateway.db")).unwrap();
        let refuse = "CREATE TRIGGER refuse BEFORE UPDATE OF filed ON payments BEGIN SELECT RAISE(ABORT, 'no'); END";
        other.execute_batch(refuse).unwrap();
        insert_many(&store, 0..300).await;
        let (next, mut clerk) = look(clerk(&folder, &store, 1)).await;
        assert!(next == Next::AfterACommit && clerk.failed && unfiled(&store) == 300);
        other.execute_batch("DROP TRIGGER refuse").unwrap();
        insert_many(&store, 300..301).await;
        wait_until_filed(&store).await;
        clerk.filed = store.read(|reader| reader.last_filed_payment()).unwrap();
        assert_eq!(look(clerk).await.0, Next::Soon);
        assert_eq!(unfiled(&store), 0);
    }
}
