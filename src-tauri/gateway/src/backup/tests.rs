//! Tests of backups of a real gateway with its own folder.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use tillgate_domain::time::Timestamp;
use tillgate_machine::environment::Environment;
use tillgate_machine::secrets::{Purpose, Secret, SecretsLocation};
use tillgate_store::StoreError;
use tillgate_store::backups::BackupState;

mod every_night;

use super::key::BackupKey;
use super::make::Job;
use super::restore::{Restore, restore};
use super::sealed::FILE_ID_BYTES;
use super::*;
use crate::settings::{Act, Beside};
use crate::testing::World;

const DAY_MS: i64 = 24 * 3_600_000;

fn passphrase() -> Secret {
    Secret::new("correct horse".to_owned())
}

/// A gateway with a wallet, and a folder for its backups.
async fn world() -> (World, TempDir) {
    let world = World::new().await;
    world.make_wallet().await;
    (world, tempfile::tempdir().unwrap())
}

async fn set(world: &World, name: &str, value: &str) {
    let act = Act { actor: "cli:ann", at: world.gateway.time.now() };
    world.gateway.settings.set(&world.gateway.store, name, value, act).await.unwrap();
}

/// A gateway with a wallet, and the folder of its nightly backups.
async fn nightly_world() -> (World, TempDir) {
    let (world, folder) = world().await;
    set(&world, "backupFolder", folder.path().to_str().unwrap()).await;
    let secret = BackupKey::cheap("correct horse").to_stored().unwrap();
    world.gateway.machine.secrets.set(Purpose::BackupKey, &secret).unwrap();
    world
        .gateway
        .store
        .write(|tx| tx.set_backup_passphrase_at(Timestamp::from_ms(1)))
        .await
        .unwrap();
    (world, folder)
}

/// The files in a folder, without its mark.
fn names(folder: &Path) -> Vec<String> {
    let is_mark =
        |name: &String| name.strip_prefix(".tillgate-").is_some_and(|id| !id.contains('.'));
    let all = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = all.filter(|name| !is_mark(name)).collect();
    names.sort();
    names
}

/// Sets the folder as staff do.
async fn name_folder(world: &World, folder: &Path) {
    let act = Act { actor: "panel:ann", at: world.gateway.time.now() };
    let marked = mark_folder(&world.gateway, folder.to_owned()).await.unwrap();
    let beside = Beside { backup_folder: Some(marked), ..Beside::default() };
    let changes = [("backupFolder", folder.to_str())];
    world.gateway.settings.change_with(&world.gateway.store, &changes, beside, act).await.unwrap();
}

/// Checks that a failed backup left neither a file nor an unsealed copy.
fn nothing_is_left(world: &World, folder: &Path) {
    assert_eq!(names(folder), Vec::<String>::new());
    let left = names(world.gateway.machine.data_dir.path());
    assert!(!left.iter().any(|name| name.starts_with("backing-up")), "{left:?}");
}

async fn made(world: &World, path: &Path) -> Result<(), BackupError> {
    let key = KeySource::Passphrase(passphrase());
    make(&world.gateway, Place::File(path.to_owned()), key, "cli:ann").await.map(|_| ())
}

fn restored(file: &Path, base: &Path) -> Result<restore::Restored, BackupError> {
    restore(&Restore {
        file: file.to_owned(),
        passphrase: passphrase(),
        base: base.to_owned(),
        environment: Environment::Test,
        secrets: SecretsLocation::SandboxFile,
        actor: "cli:ann".to_owned(),
    })
}

#[tokio::test]
async fn a_restore_has_all_rows_and_secrets_and_a_new_installation() {
    let (world, folder) = world().await;
    let payment = world.payment_to_wallet().await;
    world.pay(&payment, payment.payment.amount_sats).await;
    world.mine(1).await;
    let file = folder.path().join("till.backup");
    made(&world, &file).await.unwrap();
    #[cfg(unix)]
    assert_eq!(
        std::os::unix::fs::PermissionsExt::mode(&fs::metadata(&file).unwrap().permissions())
            & 0o777,
        0o600
    );

    let base = tempfile::tempdir().unwrap();
    restored(&file, base.path()).unwrap();
    assert_eq!(names(base.path()), ["test"]);
    let copy = World::opened(base).await;
    for table in [
        "payments",
        "receipts",
        "coins",
        "ledger",
        "notifications",
        "settings",
        "api_keys",
        "payouts",
    ] {
        let rows =
            |world: &World| world.gateway.store.read(|reader| reader.rows_of(table)).unwrap();
        assert_eq!(rows(&copy), rows(&world), "{table}");
    }
    assert_ne!(
        copy.gateway.installation.installation_id,
        world.gateway.installation.installation_id
    );
    assert_eq!(copy.gateway.installation.merchant_id, world.gateway.installation.merchant_id);
    let words = |world: &World| {
        world
            .gateway
            .machine
            .secrets
            .get(Purpose::WalletMnemonic)
            .unwrap()
            .unwrap()
            .reveal()
            .to_owned()
    };
    assert_eq!(words(&copy), words(&world));
    let store = &copy.gateway.store;
    assert!(
        store.read(|reader| reader.dangerous_restore()).unwrap().is_some(),
        "the restored copy has not looked yet"
    );
    assert!(store.read(|reader| reader.last_backup(BackupState::Writing)).unwrap().is_none());
    copy.look().await;
    assert!(
        store.read(|reader| reader.dangerous_restore()).unwrap().is_none(),
        "the restored copy has looked"
    );
}

#[tokio::test]
async fn a_refused_backup_or_restore_writes_nothing() {
    let (world, folder) = world().await;
    let file = folder.path().join("till.backup");
    made(&world, &file).await.unwrap();
    assert!(
        matches!(made(&world, &file).await, Err(BackupError::Exists(_))),
        "an existing file is not overwritten"
    );
    let whole = fs::read(&file).unwrap();
    let (cut, changed) = (folder.path().join("cut"), folder.path().join("changed"));
    fs::write(&cut, &whole[..whole.len() - 1]).unwrap();
    let mut other = whole.clone();
    let middle = other.len() / 2;
    other[middle] ^= 1;
    fs::write(&changed, other).unwrap();
    let nowhere = folder.path().join("data");
    for (file, wanted) in [
        (&cut, "damaged"),
        (&changed, "damaged"),
        (&folder.path().join("none"), "there is none at"),
    ] {
        let why = restored(file, &nowhere).unwrap_err().to_string();
        assert!(why.contains(wanted), "{why}");
        assert!(!nowhere.exists(), "a refused restore made its folder");
    }
    let of_production = Restore {
        file: file.clone(),
        passphrase: passphrase(),
        base: nowhere.clone(),
        environment: Environment::Production,
        secrets: SecretsLocation::Keyring,
        actor: "cli:ann".to_owned(),
    };
    let why = restore(&of_production).unwrap_err().to_string();
    assert!(why.contains("--environment test") && !nowhere.exists(), "{why}");
    let before = fs::read(world.gateway.machine.data_dir.path().join("secrets.json")).unwrap();
    assert!(matches!(restored(&file, world.folder.path()), Err(BackupError::Occupied(_))));
    assert_eq!(
        fs::read(world.gateway.machine.data_dir.path().join("secrets.json")).unwrap(),
        before
    );
    // A folder of that name with other files is not overwritten either.
    fs::create_dir_all(nowhere.join("test")).unwrap();
    fs::write(nowhere.join("test").join("diary"), "dear diary").unwrap();
    assert!(matches!(restored(&file, &nowhere), Err(BackupError::Occupied(_))));
    assert_eq!(names(&nowhere.join("test")), ["diary"]);
}

#[tokio::test]
async fn a_failed_backup_leaves_no_file_and_no_unsealed_copy() {
    let (world, folder) = world().await;
    let file = folder.path().join("till.backup");
    world.gateway.machine.disk.set_free_bytes(1_000_000);
    let why = made(&world, &file).await.unwrap_err().to_string();
    assert!(why.contains("make room"), "{why}");
    world.gateway.machine.disk.set_free_bytes(u64::MAX);
    nothing_is_left(&world, folder.path());

    let why = made(&world, &folder.path().join("none").join("till.backup"))
        .await
        .unwrap_err()
        .to_string();
    assert!(why.contains("none"), "{why}");
    assert!(made(&world, Path::new("till.backup")).await.is_err(), "not an absolute path");

    // The gateway stops during the backup.
    let key = KeySource::Passphrase(passphrase());
    let job = Job {
        gateway: world.gateway.clone(),
        path: file.clone(),
        key,
        file_id: [1; FILE_ID_BYTES],
        mark: None,
    };
    let steps = std::cell::Cell::new(0);
    let interrupted = job.work(&|| {
        steps.set(steps.get() + 1);
        steps.get() < 4
    });
    assert!(matches!(interrupted, Err(BackupError::Interrupted)), "{interrupted:?}");
    nothing_is_left(&world, folder.path());

    // The words were changed by another program.
    let other = "abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon about";
    world
        .gateway
        .machine
        .secrets
        .set(Purpose::WalletMnemonic, &Secret::new(other.to_owned()))
        .unwrap();
    assert!(matches!(made(&world, &file).await, Err(BackupError::OtherWords)));
    nothing_is_left(&world, folder.path());
    assert!(world.gateway.store.read(|reader| reader.backups_being_written()).unwrap().is_empty());
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_pipe_in_the_place_of_an_old_backup_blocks_no_backup() {
    use rustix::fs::{CWD, FileType, Mode, mknodat};

    let (world, _folder) = nightly_world().await;
    set(&world, "backupKeep", "1").await;
    let now = machine_now_of_a_test();
    nightly::once(&world.gateway, now).await;
    let old = PathBuf::from(
        &world.gateway.store.read(|reader| reader.nightly_backups()).unwrap()[0].path,
    );
    fs::remove_file(&old).unwrap();
    // The pipe has no writer.
    mknodat(CWD, &old, FileType::Fifo, Mode::RWXU, 0).unwrap();
    nightly::once(&world.gateway, now.plus_ms(2 * DAY_MS)).await;
    let rows = world.gateway.store.read(|reader| reader.nightly_backups()).unwrap();
    assert!(rows.len() == 1 && rows[0].path != old.to_str().unwrap(), "{rows:?}");
    assert!(old.exists(), "a pipe that somebody made was removed");
    let verified = verify(&world.gateway, old, Tried::Passphrase(passphrase())).await;
    assert!(matches!(verified, Err(BackupError::NotABackup)), "{verified:?}");
}

/// The machine's real clock. Each night of a test is two days later.
fn machine_now_of_a_test() -> Timestamp {
    tillgate_machine::clock::machine_now()
}

#[tokio::test]
async fn the_name_of_a_removed_backup_is_never_used_again() {
    let (world, folder) = nightly_world().await;
    set(&world, "backupKeep", "1").await;
    let mut given = Vec::new();
    for _ in 0..3 {
        let made = make(&world.gateway, Place::Folder, KeySource::Stored, "cli:ann").await.unwrap();
        assert!(
            !given.contains(&made.path),
            "{} was the name of another backup",
            made.path.display()
        );
        assert_eq!(names(folder.path()).len(), 1);
        given.push(made.path);
    }
    // The number of a file that a person moved away is not used again either.
    fs::rename(&given[2], folder.path().join("in the safe")).unwrap();
    let made = make(&world.gateway, Place::Folder, KeySource::Stored, "cli:ann").await.unwrap();
    assert!(!given.contains(&made.path), "{}", made.path.display());
}

#[tokio::test]
async fn remains_of_a_crash_are_removed_and_a_whole_backup_counts() {
    let (world, folder) = nightly_world().await;
    let whole = folder.path().join("whole.backup");
    made(&world, &whole).await.unwrap();
    let file_id = examine::file_id(&whole).unwrap();
    let (half_id, half) =
        ([3; FILE_ID_BYTES], folder.path().join("tillgate-test-2026-01-12.backup"));
    let (path, whole_path) =
        (half.to_str().unwrap().to_owned(), whole.to_str().unwrap().to_owned());
    let note = world.gateway.store.write(move |tx| -> Result<(), StoreError> {
        tx.forget_all_backups()?;
        tx.begin_backup(&file_id, &whole_path, true, Timestamp::from_ms(5))?;
        tx.begin_backup(&half_id, &path, true, Timestamp::from_ms(6))
    });
    note.await.unwrap();
    fs::write(place::part_of(&half, &half_id), "half").unwrap();
    drop(fs::create_dir(world.gateway.machine.data_dir.path().join("backing-up-0303030303030303")));
    tidy::settle_interrupted(&world.gateway).await.unwrap();
    assert_eq!(names(folder.path()), ["whole.backup"]);
    assert!(
        !names(world.gateway.machine.data_dir.path())
            .iter()
            .any(|name| name.starts_with("backing-up"))
    );
    let (good, failed) = world
        .gateway
        .store
        .read(|reader| {
            let last = |state| reader.last_backup(state);
            Ok::<_, StoreError>((last(BackupState::Good)?, last(BackupState::Failed)?))
        })
        .unwrap();
    assert_eq!((good.unwrap().file_id, failed.unwrap().file_id), (file_id, half_id));
}

#[tokio::test]
async fn a_check_needs_the_files_key_and_this_wallet() {
    let (world, folder) = world().await;
    let file = folder.path().join("till.backup");
    made(&world, &file).await.unwrap();
    let proof = |world: &World, tried| {
        let (gateway, file) = (world.gateway.clone(), file.clone());
        async move { verify(&gateway, file, tried).await }
    };
    let other = || Secret::new("another one".to_owned());
    proof(&world, Tried::Passphrase(passphrase())).await.unwrap();
    proof(&world, Tried::StoredFirst(passphrase())).await.unwrap();
    let wrong = proof(&world, Tried::Passphrase(other())).await;
    assert!(matches!(wrong, Err(BackupError::WrongPassphrase)), "{wrong:?}");
    assert!(
        matches!(proof(&world, Tried::Stored).await, Err(BackupError::NoPassphrase)),
        "no key is stored yet"
    );
    set_passphrase(&world.gateway, passphrase(), "cli:ann").await.unwrap();
    assert!(
        matches!(proof(&world, Tried::Stored).await, Err(BackupError::OtherKey)),
        "the stored key has another salt than the file's"
    );
    let own = folder.path().join("own.backup");
    make(&world.gateway, Place::File(own.clone()), KeySource::Stored, "cli:ann").await.unwrap();
    verify(&world.gateway, own.clone(), Tried::StoredFirst(other())).await.unwrap();
    let wrong = verify(&world.gateway, own, Tried::Passphrase(other())).await;
    assert!(
        matches!(wrong, Err(BackupError::WrongPassphrase)),
        "a wrong passphrase passed, because the stored key fits: {wrong:?}"
    );
    let (other, _) = self::world().await;
    assert!(matches!(
        proof(&other, Tried::Passphrase(passphrase())).await,
        Err(BackupError::OtherWallet)
    ));
    let left = names(world.gateway.machine.data_dir.path());
    assert!(!left.iter().any(|name| name.starts_with("backing-up")), "{left:?}");
}

#[tokio::test]
async fn a_backup_waits_for_the_end_of_another() {
    let (world, folder) = nightly_world().await;
    let turn = world.gateway.backups.turn.lock().await;
    let works_in = world.gateway.machine.data_dir.path().join("backing-up-0303030303030303");
    fs::create_dir(&works_in).unwrap();
    let mut asked = Box::pin(make(&world.gateway, Place::Folder, KeySource::Stored, "cli:ann"));
    tokio::select! {
        biased;
        made = &mut asked => panic!("it did not wait for the other backup: {made:?}"),
        () = std::future::ready(()) => {}
    }
    assert!(works_in.exists(), "a waiting backup removed the folder of the one in progress");
    drop(turn);
    assert!(asked.await.unwrap().path.starts_with(folder.path()));
}

#[tokio::test]
async fn a_backup_refused_without_a_passphrase_delays_no_later_one() {
    let (world, folder) = world().await;
    set(&world, "backupFolder", folder.path().to_str().unwrap()).await;
    let refused = make(&world.gateway, Place::Folder, KeySource::Stored, "cli:ann").await;
    assert!(matches!(refused, Err(BackupError::NoPassphrase)), "{refused:?}");
    assert!(
        world
            .gateway
            .store
            .read(|reader| reader.last_backup(BackupState::Failed))
            .unwrap()
            .is_none()
    );
    set_passphrase(&world.gateway, passphrase(), "cli:ann").await.unwrap();
    nightly::once(&world.gateway, machine_now_of_a_test()).await;
    assert_eq!(names(folder.path()).len(), 1);
}
