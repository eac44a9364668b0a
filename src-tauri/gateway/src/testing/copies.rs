//! An older copy of the database in the place of the current one.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use tillgate_domain::time::Timestamp;
use tillgate_store::Store;
use tillgate_store::restore::{NewRestore, RestoreSource};

use super::World;

pub const SKIP: u32 = 1_000;

/// A copy of the database files.
pub struct Copy(TempDir);

fn database_files(folder: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(folder.join("test")).unwrap().map(|entry| entry.unwrap().path());
    files
        .filter(|file| file.file_name().unwrap().to_str().unwrap().starts_with("tillgate.db"))
        .collect()
}

/// Stops the gateway, copies its database, and starts it again.
pub async fn copied(world: World) -> (World, Copy) {
    let (gateway, folder) = world.into_gateway();
    drop(gateway);
    let copy = tempfile::tempdir().unwrap();
    for file in database_files(folder.path()) {
        fs::copy(&file, copy.path().join(file.file_name().unwrap())).unwrap();
    }
    (World::in_folder(folder).await, Copy(copy))
}

/// Stops the gateway, replaces its database by the copy, and starts it again.
pub async fn put_back(world: World, copy: Copy) -> World {
    World::in_folder(put_beside(world, copy)).await
}

/// Stops the gateway and replaces its database by the copy. The sandbox's chain is not changed.
pub fn put_beside(world: World, copy: Copy) -> TempDir {
    let (gateway, folder) = world.into_gateway();
    drop(gateway);
    database_files(folder.path()).into_iter().for_each(|file| fs::remove_file(file).unwrap());
    for file in fs::read_dir(copy.0.path()).unwrap().map(|entry| entry.unwrap().path()) {
        fs::copy(&file, folder.path().join("test").join(file.file_name().unwrap())).unwrap();
    }
    folder
}

pub async fn customer_pays_coin(world: &World) {
    let payment = world.payment_to_wallet().await;
    world.customer_pays(&payment, 1_000_000);
    world.mine(2).await;
}

/// Marks the database of a folder as restored and opens a gateway on it.
pub async fn restored(folder: TempDir) -> World {
    restored_at(folder, Timestamp::from_ms(1_768_219_580_000)).await
}

/// Like [`restored`], with this time as the time of the restore.
pub async fn restored_at(folder: TempDir, at: Timestamp) -> World {
    let store = Store::open(&folder.path().join("test").join("tillgate.db")).unwrap();
    let new = NewRestore {
        source: RestoreSource::Backup,
        at,
        birth_height: None,
        looks_ahead: 200,
        skip: SKIP,
        beside_another: false,
    };
    store.write(move |tx| tx.begin_restore(&new)).await.unwrap();
    drop(store);
    World::opened(folder).await
}
