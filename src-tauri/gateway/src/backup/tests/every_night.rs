//! Tests of the nightly backups.

use super::*;

fn fault_of(world: &World, now: Timestamp) -> String {
    let gateway = &world.gateway;
    gateway
        .store
        .read(|reader| nightly_fault(&gateway.settings, reader, now))
        .unwrap()
        .map(|told| told.to_string())
        .unwrap_or_default()
}

#[tokio::test]
async fn only_the_oldest_nightly_backups_are_removed() {
    let (world, folder) = nightly_world().await;
    set(&world, "backupKeep", "2").await;
    let foreign = folder.path().join("tillgate-test-2020-01-01.backup");
    fs::write(&foreign, "somebody else's").unwrap();
    made(&world, &folder.path().join("own.backup")).await.unwrap();
    let mut now = machine_now_of_a_test();
    for _ in 0..3 {
        nightly::once(&world.gateway, now).await;
        nightly::once(&world.gateway, now).await;
        now = now.plus_ms(2 * DAY_MS);
    }
    let rows = world.gateway.store.read(|reader| reader.nightly_backups()).unwrap();
    assert_eq!(rows.len(), 2, "{rows:?}");
    assert!(rows.iter().all(|row| Path::new(&row.path).exists()));
    assert_eq!(
        names(folder.path()).len(),
        4,
        "two nightly backups, a person's backup and another file: {:?}",
        names(folder.path())
    );
    assert_eq!(fault_of(&world, machine_now_of_a_test()), "");

    // Another file with the name of one of our backups is kept.
    let replaced = PathBuf::from(&rows[1].path);
    fs::write(&replaced, "put there by somebody").unwrap();
    nightly::once(&world.gateway, now).await;
    assert_eq!(fs::read_to_string(&replaced).unwrap(), "put there by somebody");
    assert_eq!(fs::read_to_string(&foreign).unwrap(), "somebody else's");
}

#[tokio::test]
async fn a_failed_nightly_backup_is_reported_and_tried_again() {
    let (world, folder) = nightly_world().await;
    set(&world, "backupKeep", "1").await;
    let now = machine_now_of_a_test();
    nightly::once(&world.gateway, now).await;
    let good = names(folder.path());
    assert_eq!((good.len(), fault_of(&world, now)), (1, String::new()));
    assert!(fault_of(&world, now.plus_ms(3 * DAY_MS)).contains("no backup was made last night"));

    let elsewhere = folder.path().join("unplugged");
    set(&world, "backupFolder", elsewhere.to_str().unwrap()).await;
    let tomorrow = now.plus_ms(2 * DAY_MS);
    nightly::once(&world.gateway, tomorrow).await;
    let told = fault_of(&world, now);
    assert!(told.contains("unplugged") && told.contains("the last good backup is of"), "{told}");
    assert_eq!(names(folder.path()), good, "a failed backup removed the good one");

    fs::create_dir(&elsewhere).unwrap();
    nightly::once(&world.gateway, now.plus_ms(60_000)).await;
    assert!(names(&elsewhere).is_empty(), "it was tried again before an hour had passed");
    nightly::once(&world.gateway, tomorrow).await;
    assert_eq!((names(&elsewhere).len(), fault_of(&world, now)), (1, String::new()));
}

#[tokio::test]
async fn the_mount_point_of_an_unplugged_disk_takes_no_backup() {
    let (world, base) = nightly_world().await;
    let (folder, in_the_drawer) = (base.path().join("usb stick"), base.path().join("drawer"));
    fs::create_dir(&folder).unwrap();
    name_folder(&world, &folder).await;
    let night = |number: i64| machine_now_of_a_test().plus_ms(2 * number * DAY_MS);
    nightly::once(&world.gateway, night(0)).await;
    assert_eq!((names(&folder).len(), fault_of(&world, night(0))), (1, String::new()));

    // The stick is unplugged. Its mount point is a folder on this computer's own disk.
    fs::rename(&folder, &in_the_drawer).unwrap();
    fs::create_dir(&folder).unwrap();
    nightly::once(&world.gateway, night(1)).await;
    assert_eq!(
        names(&folder),
        Vec::<String>::new(),
        "a backup was written to the computer's own disk"
    );
    let told = fault_of(&world, night(0));
    assert!(
        told.contains("its disk is not connected") && told.contains("the last good backup is of"),
        "{told}"
    );
    let kind = world
        .gateway
        .store
        .read(|reader| nightly_fault(&world.gateway.settings, reader, night(0)))
        .unwrap();
    assert!(matches!(kind, Some(NightlyFault::Failed { is_other_folder: true, .. })), "{kind:?}");
    let told = fault_of(&world, night(0));
    assert!(
        told.contains(&format!("set backupFolder \"{}\"`", folder.display())),
        "the path needs quotes in a shell: {told}"
    );
    let asked = make(&world.gateway, Place::Folder, KeySource::Stored, "cli:ann").await;
    assert!(
        matches!(asked, Err(BackupError::OtherFolder { .. })),
        "a requested backup was written to the mount point: {asked:?}"
    );

    // The stick is plugged in again.
    fs::remove_dir(&folder).unwrap();
    fs::rename(&in_the_drawer, &folder).unwrap();
    nightly::once(&world.gateway, night(2)).await;
    assert_eq!((names(&folder).len(), fault_of(&world, night(0))), (2, String::new()));

    // Another stick in its place takes no backup until it is named. Afterwards the former stick
    // takes none.
    fs::rename(&folder, &in_the_drawer).unwrap();
    fs::create_dir(&folder).unwrap();
    nightly::once(&world.gateway, night(3)).await;
    assert_eq!(names(&folder), Vec::<String>::new());
    name_folder(&world, &folder).await;
    let kind = world
        .gateway
        .store
        .read(|reader| nightly_fault(&world.gateway.settings, reader, night(0)))
        .unwrap();
    assert!(
        matches!(kind, Some(NightlyFault::Failed { is_other_folder: false, .. })),
        "a folder that was just named is reported as another folder: {kind:?}"
    );
    name_folder(&world, &folder).await;
    assert_eq!(
        fs::read_dir(&folder).unwrap().count(),
        1,
        "a folder that was named twice has one mark"
    );
    nightly::once(&world.gateway, night(4)).await;
    assert_eq!((names(&folder).len(), fault_of(&world, night(0))), (1, String::new()));
    fs::remove_dir_all(&folder).unwrap();
    fs::rename(&in_the_drawer, &folder).unwrap();
    nightly::once(&world.gateway, night(5)).await;
    assert!(fault_of(&world, night(0)).contains("its disk is not connected"));
}

#[tokio::test]
async fn a_folder_without_a_mark_is_marked_by_its_next_backup() {
    let (world, base) = nightly_world().await;
    let now = machine_now_of_a_test();
    nightly::once(&world.gateway, now).await;
    assert_eq!((names(base.path()).len(), fault_of(&world, now)), (1, String::new()));
    let is_mark = |path: &PathBuf| path.extension().is_none();
    let mark = fs::read_dir(base.path())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(is_mark)
        .unwrap();
    assert!(fs::read_to_string(&mark).unwrap().contains("Keep it"));
    nightly::once(&world.gateway, now.plus_ms(2 * DAY_MS)).await;
    assert_eq!(names(base.path()).len(), 2);
    fs::remove_file(mark).unwrap();
    nightly::once(&world.gateway, now.plus_ms(4 * DAY_MS)).await;
    assert_eq!(names(base.path()).len(), 2);
}

#[tokio::test]
async fn a_folder_without_a_passphrase_gives_a_warning_and_no_backup() {
    let (world, folder) = world().await;
    let now = machine_now_of_a_test();
    nightly::once(&world.gateway, now).await;
    assert_eq!(fault_of(&world, now), "");
    set(&world, "backupFolder", folder.path().to_str().unwrap()).await;
    nightly::once(&world.gateway, now).await;
    assert!(names(folder.path()).is_empty() && fault_of(&world, now).contains("--set-passphrase"));
    set_passphrase(&world.gateway, passphrase(), "cli:ann").await.unwrap();
    nightly::once(&world.gateway, now).await;
    assert_eq!((names(folder.path()).len(), fault_of(&world, now)), (1, String::new()));
    // The backup opens with the passphrase on a machine without a stored key.
    let base = tempfile::tempdir().unwrap();
    restored(&folder.path().join(&names(folder.path())[0]), base.path()).unwrap();
}

#[tokio::test]
async fn the_first_nightly_backup_is_one_file() {
    for is_nightly_first in [true, false] {
        let (world, folder) = nightly_world().await;
        let now = machine_now_of_a_test();
        let by_night = nightly::once(&world.gateway, now);
        let by_person = make_nightly_since(&world.gateway, now, KeySource::Stored, "panel:ann");
        let made = match is_nightly_first {
            true => tokio::join!(by_night, by_person).1.unwrap(),
            false => tokio::join!(by_person, by_night).0.unwrap(),
        };
        let named = made.path.file_name().unwrap().to_str().unwrap();
        assert_eq!(
            names(folder.path()),
            [named],
            "the nightly backup was first: {is_nightly_first}"
        );
    }
}
