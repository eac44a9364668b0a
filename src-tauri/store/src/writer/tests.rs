use std::thread::{self, ThreadId};

use super::*;
use crate::{Reader, Store};

fn store() -> (tempfile::TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join("gateway.db")).unwrap();
    (folder, store)
}

fn settings(store: &Store) -> Vec<(String, String)> {
    store
        .read(|reader| {
            let mut query =
                reader.connection.prepare("SELECT name, value FROM settings ORDER BY name")?;
            let rows = query.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
            Ok::<_, StoreError>(rows.collect::<Result<Vec<(String, String)>, _>>()?)
        })
        .unwrap()
}

fn set(tx: &crate::Tx<'_>, name: &str) -> Result<(), StoreError> {
    tx.connection.execute("INSERT INTO settings (name, value) VALUES (?1, 'x')", [name])?;
    Ok(())
}

#[tokio::test]
async fn only_the_write_that_fails_is_undone() {
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
async fn a_failed_single_write_stores_nothing_and_returns_its_error() {
    let (_folder, store) = store();
    let half = |tx: &crate::Tx<'_>| {
        set(tx, "half")?;
        set(tx, "half")
    };
    assert!(matches!(store.write(half).await, Err(StoreError::Sqlite(_))));
    assert!(matches!(
        store.write_short(|_| Ok(()), move |tx, ()| half(tx)).await,
        Err(StoreError::Sqlite(_))
    ));
    assert!(settings(&store).is_empty());
    store.write(|tx| set(tx, "afterwards")).await.unwrap();
    assert_eq!(settings(&store).len(), 1);
}

/// The empty check of a short write.
fn unchecked(_: &Reader<'_>) -> Result<(), StoreError> {
    Ok(())
}

/// Runs `others` while a first write keeps the writer busy in its own commit, so that they share
/// the next commit.
async fn together<T>(store: &Store, others: impl Future<Output = T>) -> T {
    let (holding, held) = tokio::sync::oneshot::channel();
    let (release, released) = std::sync::mpsc::channel();
    let first = store.write(move |_| {
        let _ = holding.send(());
        released.recv().map_err(|_| StoreError::Closed)
    });
    let others = async {
        held.await.unwrap();
        tokio::join!(others, async { release.send(()).unwrap() }).0
    };
    let (first, others) = tokio::join!(first, others);
    first.unwrap();
    others
}

#[tokio::test]
async fn only_a_failed_short_write_fails_the_shared_commit() {
    let (_folder, store) = store();
    for fails in [false, true] {
        let before = settings(&store).len();
        let good = store.write_short(unchecked, move |tx, ()| set(tx, &format!("good {fails}")));
        let refuses =
            move |_: &Reader<'_>| if fails { Ok(()) } else { Err(StoreError::BadValue("refused")) };
        let bad = store.write_short(refuses, move |tx, ()| {
            set(tx, "half")?;
            set(tx, "half")
        });
        let (good, bad) = together(&store, async { tokio::join!(good, bad) }).await;
        assert_eq!(good.is_ok(), !fails, "{good:?}");
        match (fails, bad) {
            (false, bad) => assert!(matches!(bad, Err(StoreError::BadValue("refused"))), "{bad:?}"),
            (true, bad) => assert!(matches!(bad, Err(StoreError::CommitFailed(_))), "{bad:?}"),
        }
        assert_eq!(settings(&store).len(), before + usize::from(!fails));
    }
}

/// Makes the commit with this number fail, counted from now on.
fn fail_commit(store: &Store, number: u32) {
    let mut commits = 0;
    let refuse = move || {
        commits += 1;
        commits == number
    };
    store.writer.connection().commit_hook(Some(refuse)).unwrap();
}

#[tokio::test]
async fn a_refusal_based_on_rows_of_a_failed_commit_fails_with_it() {
    let (_folder, store) = store();
    store.write(|tx| set(tx, "taken")).await.unwrap();
    // Commit 1 is that of the first write in `together`.
    fail_commit(&store, 2);
    let refuse = |reader: &Reader<'_>, name: &str| {
        let known = "SELECT EXISTS (SELECT 1 FROM settings WHERE name = ?1)";
        let known: bool = reader.connection.query_row(known, [name], |row| row.get(0))?;
        if known { Err(StoreError::BadValue("taken")) } else { Ok(()) }
    };
    let before = store.write_short(move |reader| refuse(reader, "taken"), |_, ()| Ok(()));
    let first = store.write(|tx| set(tx, "new"));
    let second = store.write_short(move |reader| refuse(reader, "new"), |_, ()| Ok(()));
    let whole = store.write(move |tx| refuse(tx, "new"));
    let all = async { tokio::join!(before, first, second, whole) };
    let (before, first, second, whole) = together(&store, all).await;
    assert!(
        matches!(before, Err(StoreError::BadValue("taken"))),
        "it is based on committed rows: {before:?}"
    );
    for failed in [first, second, whole] {
        assert!(matches!(failed, Err(StoreError::CommitFailed(_))), "{failed:?}");
    }
}

/// Copies a database and its WAL as a crash leaves them.
fn crashed(folder: &tempfile::TempDir) -> (tempfile::TempDir, std::path::PathBuf) {
    let copy = tempfile::tempdir().unwrap();
    for file in ["gateway.db", "gateway.db-wal"] {
        std::fs::copy(folder.path().join(file), copy.path().join(file)).unwrap();
    }
    let file = copy.path().join("gateway.db");
    (copy, file)
}

fn names(file: &Path) -> Vec<String> {
    let connection = Connection::open(file).unwrap();
    let mut query = connection.prepare("SELECT name FROM settings ORDER BY name").unwrap();
    query.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap()
}

/// Offset and bytes of the WAL pages that a commit of `name` adds, found on a copy of the database.
fn pages_that_store(name: &str, folder: &tempfile::TempDir) -> (u64, Vec<u8>) {
    let (copy, file) = crashed(folder);
    let log = copy.path().join("gateway.db-wal");
    let before = std::fs::metadata(&log).unwrap().len();
    let connection = Connection::open(&file).unwrap();
    connection.execute("INSERT INTO settings (name, value) VALUES (?1, 'x')", [name]).unwrap();
    let added = std::fs::read(&log).unwrap().split_off(usize::try_from(before).unwrap());
    (before, added)
}

/// Makes the next `times` commits fail, like a disk that writes the WAL and then reports a sync
/// error. The WAL then holds the pages that store `name`.
fn fail_sync_after_storing(name: &str, store: &Store, folder: &tempfile::TempDir, times: u32) {
    use std::os::unix::fs::FileExt as _;
    let (at, pages) = pages_that_store(name, folder);
    let log =
        std::fs::OpenOptions::new().write(true).open(folder.path().join("gateway.db-wal")).unwrap();
    let mut failed = 0;
    let fail = move || {
        failed += 1;
        if failed == 1 {
            log.write_all_at(&pages, at).unwrap();
        }
        failed <= times
    };
    store.writer.connection().commit_hook(Some(fail)).unwrap();
}

#[tokio::test]
async fn a_failed_commit_does_not_reappear_after_a_crash() {
    let (folder, store) = store();
    store.write(|tx| set(tx, "before")).await.unwrap();
    fail_sync_after_storing("lost", &store, &folder, 1);
    let refused = store.write(|tx| set(tx, "lost")).await;
    assert!(matches!(refused, Err(StoreError::CommitFailed(_))), "{refused:?}");
    // The program crashes here, after the caller was told that nothing was changed.
    assert_eq!(names(&crashed(&folder).1), ["before"]);
    store.write(|tx| set(tx, "after")).await.unwrap();
    assert_eq!(names(&crashed(&folder).1), ["after", "before"]);
}

#[tokio::test]
async fn a_failed_commit_that_may_survive_ends_the_program() {
    for quick in [false, true] {
        let (folder, store) = store();
        store.write(|tx| set(tx, "before")).await.unwrap();
        fail_sync_after_storing("lost", &store, &folder, 2);
        store.writer.shared.quick.store(quick, Ordering::Relaxed);
        tokio::select! {
            biased;
            answer = store.write_short(unchecked, |tx, ()| set(tx, "lost")) => panic!("{answer:?}"),
            ended = store.ended() => assert_eq!(ended, THREAD),
        }
        assert_eq!(names(&crashed(&folder).1), ["before", "lost"]);
    }
}

/// The thread that runs a short write.
async fn thread_of_short_write(store: &Store, quick: bool) -> ThreadId {
    store.writer.shared.quick.store(quick, Ordering::Relaxed);
    store.write_short(unchecked, |_, ()| Ok(thread::current().id())).await.unwrap()
}

#[tokio::test]
async fn a_lone_short_write_uses_the_callers_thread_on_a_quick_disk() {
    let here = thread::current().id();
    assert_eq!(thread_of_short_write(&store().1, true).await, here);
    assert_ne!(thread_of_short_write(&store().1, false).await, here);
}

#[tokio::test]
async fn a_lock_of_another_process_blocks_no_callers_thread() {
    let (folder, store) = store();
    let other = rusqlite::Connection::open(folder.path().join("gateway.db")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    store.writer.shared.quick.store(true, Ordering::Relaxed);
    // If the caller's thread were blocked, nothing could end the other transaction.
    let (stored, ()) =
        tokio::join!(store.write_short(unchecked, |tx, ()| set(tx, "patient")), async {
            other.execute_batch("ROLLBACK").unwrap();
        });
    stored.unwrap();
    assert_eq!(settings(&store).len(), 1);
}

#[tokio::test]
async fn writes_wait_two_seconds_for_a_lock_of_another_process() {
    let (_folder, store) = store();
    for quick in [false, true] {
        thread_of_short_write(&store, quick).await;
        let waits_ms: i64 = store
            .writer
            .connection()
            .pragma_query_value(None, "busy_timeout", |row| row.get(0))
            .unwrap();
        assert_eq!(waits_ms, 2_000);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_writes_are_each_stored_once() {
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
                    1 => store.write_short(unchecked, move |tx, ()| set(tx, &name)).await,
                    _ => {
                        let refuse = |_: &Reader<'_>| Err::<(), _>(StoreError::BadValue("refused"));
                        store.write_short(refuse, |_, ()| Ok(())).await
                    }
                };
                assert_eq!(done.is_ok(), (caller + number) % 3 < 2, "{done:?}");
            }
        });
    }
    under_way.join_all().await;
    let stored = (0..8)
        .flat_map(|caller| (0..100).map(move |number| caller + number))
        .filter(|sum| sum % 3 < 2);
    assert_eq!(settings(&store).len(), stored.count());
}

#[tokio::test]
async fn a_returned_write_is_seen_by_the_next_read() {
    let (_folder, store) = store();
    for number in 0..50 {
        store.write(move |tx| set(tx, &format!("{number:02}"))).await.unwrap();
        assert_eq!(settings(&store).len(), number + 1);
    }
}

#[tokio::test]
async fn a_failed_commit_fails_all_its_writes_and_stores_none() {
    let (_folder, store) = store();
    // A deferred foreign key lets the write pass and the commit fail.
    let deferred = store.write(|tx| {
        tx.connection.execute_batch(
            "PRAGMA defer_foreign_keys = ON; INSERT INTO payment_history VALUES (99, 1, 'NEW', 'NEW', 0, 'x', NULL);",
        )?;
        Ok::<_, StoreError>(())
    });
    let innocent = store.write(|tx| set(tx, "innocent"));
    let (deferred, innocent) = tokio::join!(deferred, innocent);
    assert!(matches!(deferred, Err(StoreError::CommitFailed(_))), "{deferred:?}");
    // The second write shared the commit or had its own commit: its answer must match the stored
    // rows.
    assert_eq!(innocent.is_ok(), settings(&store).len() == 1);
    store.write(|tx| set(tx, "afterwards")).await.unwrap();
}
