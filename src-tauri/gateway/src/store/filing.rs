//! Filing: making the entries of new payments in the indexes that lists go by, for many payments at once, on a thread that
//! asks the writer for it when it rests. With one payment at a time each index is a page more to write and to sync.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender, TryRecvError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rusqlite::Connection;

use super::writer::{Kind, Queue};
use super::{Reader, StoreError, open};
use crate::fail_points;

/// So many payments are worth a commit, once the writer rests.
const ENOUGH: i64 = 128;

/// After so many times [`ENOUGH`] payments are filed though the writer does not rest: lists look through all that are
/// not (8,192, a few milliseconds).
const TIMES_WITHOUT_REST: i64 = 64;

/// Filed in one commit at most, so that no other write waits for long (about 2 ms).
const CHUNK: i64 = 256;

/// The writer rests when it has committed nothing for so long.
const REST: Duration = Duration::from_millis(10);

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
    pub(super) fn start(queue: Queue, file: &Path, committed: Committed, heard: Heard) -> Result<Self, StoreError> {
        Self::start_at(fail_points::file_after(ENOUGH), queue, file, committed, heard)
    }

    fn start_at(
        enough: i64,
        queue: Queue,
        file: &Path,
        committed: Committed,
        Heard(heard): Heard,
    ) -> Result<Self, StoreError> {
        let reader = open::for_reading(file)?;
        let new = Reader { connection: &reader };
        let filed = new.last_payment()? - new.unfiled_payments()?;
        let stopping = Arc::new(AtomicBool::new(false));
        let clerk = Clerk { enough, filed, queue, reader, heard, stopping: Arc::clone(&stopping), failed: false };
        let thread = thread::Builder::new()
            .name("filing".to_owned())
            .spawn(move || clerk.work())
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
    queue: Queue,
    reader: Connection,
    heard: Receiver<()>,
    stopping: Arc<AtomicBool>,
    /// What was last tried.
    failed: bool,
}

impl Clerk {
    fn work(mut self) {
        while self.heard.recv().is_ok() {
            loop {
                thread::sleep(REST);
                let rests = match self.heard.try_recv() {
                    Ok(()) => false,
                    Err(TryRecvError::Empty) => true,
                    Err(TryRecvError::Disconnected) => return,
                };
                if self.stopping.load(Ordering::Relaxed) {
                    return;
                }
                if !self.file_some(rests) && rests {
                    break;
                }
            }
        }
    }

    /// Files some payments, if there are enough; whether it did.
    fn file_some(&mut self, rests: bool) -> bool {
        let enough = if rests { self.enough } else { self.enough.saturating_mul(TIMES_WITHOUT_REST) };
        let before = self.filed;
        let result = Reader { connection: &self.reader }.last_payment().and_then(|last| {
            if last - before >= enough {
                self.filed = self.queue.wait_for(Kind::Short, move |tx| tx.file_payments(before, CHUNK))?;
            }
            Ok(())
        });
        if let Err(error) = &result
            && !self.failed
        {
            tracing::warn!(%error, "new payments could not be filed, so lists take longer; it is tried again");
        }
        self.failed = result.is_err();
        self.filed > before
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
    async fn new_payments_are_filed_when_the_writer_rests_and_after_a_start() {
        let (folder, store) = store();
        insert_many(&store, 0..600).await;
        wait_until_filed(&store, ENOUGH - 1).await;
        insert_many(&store, 600..600 + 2 * CHUNK as u32).await;
        drop(store);
        let store = Store::open(&folder.path().join("gateway.db")).unwrap();
        wait_until_filed(&store, ENOUGH - 1).await;
    }

    #[tokio::test]
    async fn while_the_writer_does_not_rest_only_many_are_filed_and_a_chunk_at_a_time() {
        let (folder, store) = store();
        let (_committed, Heard(heard)) = Committed::channel();
        let mut clerk = Clerk {
            enough: 2,
            filed: 0,
            queue: store.queue(),
            reader: open::for_reading(&folder.path().join("gateway.db")).unwrap(),
            heard,
            stopping: Arc::default(),
            failed: false,
        };
        // Fewer than the store's own thread files.
        insert_many(&store, 0..2).await;
        let (clerk, did) = tokio::task::spawn_blocking(move || {
            let did = [clerk.file_some(false), clerk.file_some(true), clerk.file_some(true)];
            (clerk, did)
        })
        .await
        .unwrap();
        assert_eq!((did, unfiled(&store), clerk.filed), ([false, true, false], 0, 2));
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
