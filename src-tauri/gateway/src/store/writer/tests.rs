use std::thread::ThreadId;

use super::*;
use crate::store::Store;

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
    assert!(matches!(store.write_short(half).await, Err(StoreError::Sqlite(_))));
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
        let good = store.write_short(move |tx| set(tx, &format!("good {breaks_its_word}")));
        let bad = store.write_short(move |tx| {
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

/// The thread on which a short write is done.
async fn thread_of_short_write(store: &Store, quick: bool) -> ThreadId {
    store.writer.shared.quick.store(quick, Ordering::Relaxed);
    store.write_short(|_| Ok::<_, StoreError>(thread::current().id())).await.unwrap()
}

#[tokio::test]
async fn a_short_write_that_comes_alone_is_done_on_its_callers_thread_where_the_disk_is_quick() {
    let here = thread::current().id();
    assert_eq!(thread_of_short_write(&store().1, true).await, here);
    assert_ne!(thread_of_short_write(&store().1, false).await, here);
}

#[tokio::test]
async fn another_process_that_has_the_lock_keeps_no_caller_waiting() {
    let (folder, store) = store();
    let other = rusqlite::Connection::open(folder.path().join("gateway.db")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    store.writer.shared.quick.store(true, Ordering::Relaxed);
    // Were the caller's thread kept, nothing could end the other's transaction.
    let (stored, ()) = tokio::join!(store.write_short(|tx| set(tx, "patient")), async {
        other.execute_batch("ROLLBACK").unwrap();
    });
    stored.unwrap();
    assert_eq!(settings(&store).len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn writes_from_everywhere_are_each_stored_once() {
    let (_folder, store) = store();
    let store = Arc::new(store);
    let mut under_way = tokio::task::JoinSet::new();
    for caller in 0..8 {
        let store = Arc::clone(&store);
        under_way.spawn(async move {
            for number in 0..100 {
                let name = format!("{caller} {number}");
                store.writer.shared.quick.store(true, Ordering::Relaxed);
                let done = match (caller + number) % 3 {
                    0 => store.write(move |tx| set(tx, &name)).await,
                    1 => store.write_short(move |tx| set(tx, &name)).await,
                    _ => store.write_short(|_| Err(StoreError::BadValue("refused"))).await,
                };
                assert_eq!(done.is_ok(), (caller + number) % 3 < 2, "{done:?}");
            }
        });
    }
    under_way.join_all().await;
    let stored = (0..8).flat_map(|caller| (0..100).map(move |number| caller + number)).filter(|sum| sum % 3 < 2);
    assert_eq!(settings(&store).len(), stored.count());
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
