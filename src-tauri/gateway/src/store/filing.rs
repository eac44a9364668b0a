//! Filing: making the entries of new payments in the indexes that lists go by, for many payments at once, on a thread that
//! asks the writer for it when there is no rush. With one payment at a time each index is a page more to write and to sync.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rusqlite::Connection;

use super::writer::{Kind, Queue};
use super::{Reader, StoreError, open};
use crate::fail_points;

/// So many payments are worth a commit.
const ENOUGH: i64 = 128;

/// In a rush it is put off until there are so many times [`ENOUGH`] (8,192): lists look through all that are not filed,
/// for a few milliseconds then.
const TIMES_IN_A_RUSH: i64 = 64;

/// So many new payments between two looks are a rush (a thousand in a second).
const RUSH: i64 = 10;

/// Filed in one commit at most, so that no other write waits for long (about 2 ms).
const CHUNK: i64 = 256;

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
        let new = Reader { connection: &reader };
        let seen = new.last_payment()?;
        let filed = seen - new.unfiled_payments()?;
        let clerk = Clerk { enough, filed, seen, queue, reader, failed: false };
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
    enough: i64,
    /// The number of the last payment that is filed.
    filed: i64,
    /// The number of the last payment that was there at the last look.
    seen: i64,
    queue: Queue,
    reader: Connection,
    /// What was last tried.
    failed: bool,
}

/// What the clerk finds to do.
#[derive(Debug, PartialEq, Eq)]
enum Found {
    /// It filed some.
    Work,
    /// Too few to file, but more come.
    Rush,
    /// Nothing that is worth it, or it failed.
    Nothing,
}

impl Clerk {
    fn work(mut self, heard: &Receiver<()>, stopping: &AtomicBool) {
        while heard.recv().is_ok() {
            loop {
                thread::sleep(PAUSE);
                if stopping.load(Ordering::Relaxed) {
                    return;
                }
                if self.look() == Found::Nothing {
                    break;
                }
            }
        }
    }

    fn look(&mut self) -> Found {
        let found = self.file_some();
        if let Err(error) = &found
            && !self.failed
        {
            tracing::warn!(%error, "new payments could not be filed, so lists take longer; it is tried again");
        }
        self.failed = found.is_err();
        found.unwrap_or(Found::Nothing)
    }

    fn file_some(&mut self) -> Result<Found, StoreError> {
        let last = Reader { connection: &self.reader }.last_payment()?;
        let rush = last - self.seen >= RUSH;
        self.seen = last;
        let enough = if rush { self.enough.saturating_mul(TIMES_IN_A_RUSH) } else { self.enough };
        let filed = self.filed;
        if last - filed < enough {
            return Ok(if rush { Found::Rush } else { Found::Nothing });
        }
        self.filed = self.queue.wait_for(Kind::Short, move |tx| tx.file_payments(filed, CHUNK))?;
        Ok(Found::Work)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Store;
    use crate::store::payment_lists::tests::{insert, store};

    fn unfiled(store: &Store) -> i64 {
        store.read(|reader| reader.unfiled_payments()).unwrap()
    }

    async fn insert_many(store: &Store, numbers: std::ops::Range<u32>) {
        store.write(move |tx| numbers.clone().try_for_each(|number| insert(tx, number))).await.unwrap();
    }

    async fn wait_until_filed(store: &Store, at_most: i64) {
        while unfiled(store) > at_most {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn new_payments_are_filed_and_those_of_an_earlier_run_too() {
        let (folder, store) = store();
        insert_many(&store, 0..600).await;
        wait_until_filed(&store, ENOUGH - 1).await;
        insert_many(&store, 600..600 + 2 * CHUNK as u32).await;
        drop(store);
        let store = Store::open(&folder.path().join("gateway.db")).unwrap();
        wait_until_filed(&store, ENOUGH - 1).await;
    }

    #[tokio::test]
    async fn in_a_rush_only_many_are_filed_and_a_chunk_at_a_time() {
        let (folder, store) = store();
        let mut clerk = Clerk {
            enough: 1,
            filed: 0,
            seen: 0,
            queue: store.queue(),
            reader: open::for_reading(&folder.path().join("gateway.db")).unwrap(),
            failed: false,
        };
        let look =
            |mut clerk: Clerk| async { tokio::task::spawn_blocking(move || (clerk.look(), clerk)).await.unwrap() };
        let few = u32::try_from(RUSH).unwrap();
        let many = u32::try_from(TIMES_IN_A_RUSH).unwrap();
        // Fewer than the store's own thread files.
        let mut found = Vec::new();
        for numbers in [0..few - 1, few - 1..2 * few, 0..0, 2 * few..3 * few + many] {
            insert_many(&store, numbers).await;
            let looked = look(clerk).await;
            found.push((looked.0, unfiled(&store)));
            clerk = looked.1;
        }
        let in_rush = i64::from(few) + 1;
        assert_eq!(found, [(Found::Work, 0), (Found::Rush, in_rush), (Found::Work, 0), (Found::Work, 0)]);
        assert_eq!(look(clerk).await.0, Found::Nothing);
    }

    #[tokio::test]
    async fn what_cannot_be_filed_now_is_filed_later() {
        let (folder, store) = store();
        let other = rusqlite::Connection::open(folder.path().join("gateway.db")).unwrap();
        let refuse = "CREATE TRIGGER refuse BEFORE UPDATE OF filed ON payments BEGIN SELECT RAISE(ABORT, 'no'); END";
        other.execute_batch(refuse).unwrap();
        insert_many(&store, 0..300).await;
        let queue = store.queue();
        let refused = tokio::task::spawn_blocking(move || queue.wait_for(Kind::Short, |tx| tx.file_payments(0, CHUNK)));
        assert!(refused.await.unwrap().is_err());
        assert_eq!(unfiled(&store), 300);
        other.execute_batch("DROP TRIGGER refuse").unwrap();
        insert_many(&store, 300..301).await;
        wait_until_filed(&store, ENOUGH - 1).await;
    }
}
