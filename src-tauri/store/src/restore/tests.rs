use bitcoin::BlockHash;
use bitcoin::hashes::Hash as _;
use tillgate_domain::chain::{Identity, Tip};

use super::*;
use crate::Store;
use crate::chain::{Cursor, WatchedChain};

const AT: Timestamp = Timestamp::from_ms(1_768_219_580_000);

fn new(birth_height: Option<u32>) -> NewRestore {
    NewRestore {
        source: RestoreSource::Words,
        at: AT,
        birth_height,
        looks_ahead: 50,
        skip: 10,
        beside_another: false,
    }
}

fn scanned(tx: &Tx<'_>, height: u32) -> Result<(), StoreError> {
    tx.scan_restore()?;
    tx.note_scanned_blocks(height)
}

/// A database whose wallet was watched up to block 700.
async fn store() -> (tempfile::TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join("tillgate.db")).unwrap();
    let hash = BlockHash::from_byte_array([7; 32]);
    let watched = WatchedChain {
        cursor: Cursor { chain: Identity { genesis: hash, instance: None }, token: vec![1, 2, 3] },
        tip: Tip { height: 700, hash, time: AT },
        looked_at: AT,
        begun_anew_at: None,
    };
    store
        .write(move |tx| {
            tx.save_watched_chain(&watched)?;
            tx.insert_keychain(Keychain::External, "wpkh(external)")?;
            tx.insert_keychain(Keychain::Internal, "wpkh(internal)")
        })
        .await
        .unwrap();
    (folder, store)
}

#[tokio::test]
async fn a_restored_copy_begins_at_its_birth_and_stays_on_its_network() {
    let (_folder, store) = store().await;
    let restore = store.write(|tx| tx.begin_restore(&new(Some(300)))).await.unwrap();
    assert_eq!(
        (restore.state, restore.birth_height, restore.looks_ahead),
        (RestoreState::Awaited, 300, 50)
    );
    assert_eq!(store.read(|reader| reader.birth_height()).unwrap(), Some(300));
    let cursor = store.read(|reader| reader.watched_chain()).unwrap().unwrap().cursor;
    assert!(cursor.token.is_empty(), "the next look starts at the birth, not after the last look");
    assert_eq!(cursor.chain.genesis, BlockHash::from_byte_array([7; 32]));
}

#[tokio::test]
async fn a_backup_without_addresses_is_scanned_from_its_last_look() {
    let (_folder, store) = store().await;
    assert_eq!(store.write(|tx| tx.begin_restore(&new(None))).await.unwrap().birth_height, 700);
    store.write(|tx| tx.begin_restore(&new(Some(20)))).await.unwrap();
    assert_eq!(
        store.write(|tx| tx.begin_restore(&new(None))).await.unwrap().birth_height,
        20,
        "the stored birth height stays"
    );
}

#[tokio::test]
async fn a_restored_copy_is_dangerous_until_its_scan_ended() {
    let (_folder, store) = store().await;
    assert_eq!(store.read(|reader| reader.restore()).unwrap(), None);
    store.write(|tx| tx.begin_restore(&new(Some(0)))).await.unwrap();
    assert!(store.write(|tx| tx.finish_restore(AT, 10)).await.is_err(), "the scan has not started");
    assert_eq!(
        store.read(|reader| reader.keychain(Keychain::External)).unwrap().unwrap().1,
        0,
        "the failed write changed nothing"
    );
    store.write(|tx| scanned(tx, 100)).await.unwrap();
    store.write(|tx| scanned(tx, 200)).await.unwrap();
    let scanning = store.read(|reader| reader.dangerous_restore()).unwrap().unwrap();
    assert_eq!((scanning.state, scanning.scanned_height), (RestoreState::Scanning, Some(200)));
    let looked = store.write(|tx| tx.finish_restore(AT, 10)).await.unwrap();
    assert_eq!((looked.state, looked.first_given), (RestoreState::Looked, Some(10)));
    assert_eq!(store.read(|reader| reader.dangerous_restore()).unwrap(), None);
    assert_eq!(store.read(|reader| reader.sender_hold()).unwrap(), None);
    assert_eq!(store.read(|reader| reader.skipped_addresses()).unwrap(), [(0, 9)]);
    assert!(
        !store.write(|tx| tx.count_unknown()).await.unwrap(),
        "a transaction after the scan is not counted"
    );
}

#[tokio::test]
async fn indices_unknown_to_a_backup_are_skipped_once() {
    let (_folder, store) = store().await;
    store.write(|tx| tx.skip_addresses_to(49)).await.unwrap();
    let next = |store: &Store| {
        store.read(|reader| reader.keychain(Keychain::External)).unwrap().unwrap().1
    };
    let from = |source| NewRestore { source, ..new(None) };
    store.write(move |tx| tx.begin_restore(&from(RestoreSource::Backup))).await.unwrap();
    assert_eq!(next(&store), 60, "ten indices are skipped that the other copy may have given");
    // The copy is restored from its words, before and after the end of its scan.
    for _ in 0..2 {
        store.write(move |tx| tx.begin_restore(&from(RestoreSource::Words))).await.unwrap();
        store.write(|tx| scanned(tx, 1)).await.unwrap();
        assert_eq!(
            store.write(|tx| tx.finish_restore(AT, 10)).await.unwrap().first_given,
            Some(60)
        );
    }
    store.write(move |tx| tx.begin_restore(&from(RestoreSource::Backup))).await.unwrap();
    assert_eq!(next(&store), 70, "a backup of this copy skips ten more indices");
    let beside_another = NewRestore { beside_another: true, ..from(RestoreSource::Words) };
    store.write(move |tx| tx.begin_restore(&beside_another)).await.unwrap();
    assert_eq!(next(&store), 80, "a copy beside another copy skips ten more indices");
}

#[tokio::test]
async fn a_stored_reason_to_hold_returns_after_the_scan() {
    let (_folder, store) = store().await;
    store.write(|tx| tx.hold_sender(AT, &tillgate_told::Telling::of_text("a twin"))).await.unwrap();
    store.write(|tx| tx.begin_restore(&new(Some(0)))).await.unwrap();
    store
        .write(|tx| tx.hold_sender(AT, &tillgate_told::Telling::of_text("a second twin")))
        .await
        .unwrap();
    let held = store.read(|reader| reader.sender_hold()).unwrap().unwrap();
    assert_eq!(held.cause, crate::sender_hold::HoldCause::Restored);
    store.write(|tx| scanned(tx, 1)).await.unwrap();
    store.write(|tx| tx.finish_restore(AT, 0)).await.unwrap();
    assert_eq!(
        store.read(|reader| reader.sender_hold()).unwrap().unwrap().reason.message,
        "a twin; a second twin"
    );
}

#[tokio::test]
async fn a_stopped_scan_resumes_in_its_earlier_state() {
    let (_folder, store) = store().await;
    assert!(!store.write(|tx| tx.stop_restore(true)).await.unwrap(), "there is no restore");
    store.write(|tx| tx.begin_restore(&new(Some(0)))).await.unwrap();
    for (height, goes_on) in [(None, RestoreState::Awaited), (Some(5), RestoreState::Scanning)] {
        if let Some(height) = height {
            store.write(move |tx| scanned(tx, height)).await.unwrap();
        }
        assert!(store.write(|tx| tx.stop_restore(true)).await.unwrap());
        assert!(!store.write(|tx| tx.stop_restore(true)).await.unwrap(), "it is stopped already");
        assert!(store.write(|tx| tx.stop_restore(false)).await.unwrap());
        assert_eq!(store.read(|reader| reader.restore()).unwrap().unwrap().state, goes_on);
    }
}

#[tokio::test]
async fn adjacent_ranges_of_skipped_addresses_are_merged() {
    let (_folder, store) = store().await;
    for index in [0, 1, 5, 6] {
        store.write(move |tx| tx.skip_addresses_to(index)).await.unwrap();
    }
    assert_eq!(store.read(|reader| reader.skipped_addresses()).unwrap(), [(0, 6)]);
}

#[tokio::test]
async fn an_index_is_skipped_only_if_a_range_holds_it() {
    let (_folder, store) = store().await;
    let skipped = |index| store.read(|reader| reader.is_skipped_address(index)).unwrap();
    assert!(!skipped(0));
    store.write(|tx| tx.skip_addresses_to(2)).await.unwrap();
    // Three indices in between are given to payments.
    let give = "UPDATE keychains SET next_index = 6 WHERE keychain = 0";
    store.write(move |tx| Ok::<_, StoreError>(tx.connection.execute(give, [])?)).await.unwrap();
    store.write(|tx| tx.skip_addresses_to(9)).await.unwrap();
    assert_eq!(store.read(|reader| reader.skipped_addresses()).unwrap(), [(0, 2), (6, 9)]);
    let all: Vec<u32> = (0..12).filter(|index| skipped(*index)).collect();
    assert_eq!(all, [0, 1, 2, 6, 7, 8, 9]);
}

#[test]
fn an_unknown_source_of_a_restore_is_an_error() {
    for source in [RestoreSource::Words, RestoreSource::Backup] {
        assert_eq!(RestoreSource::of_column(source.as_str()).unwrap(), source);
    }
    for other in ["", "Words", "phone"] {
        let refused = RestoreSource::of_column(other);
        assert!(matches!(refused, Err(StoreError::BadValue("source"))), "{other}: {refused:?}");
    }
}
