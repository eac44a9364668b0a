//! Restores a backup to a place where its environment does not exist. The whole file is read before
//! anything is written. Then its content is unpacked and examined in a temporary folder, which a
//! rename makes the environment's folder. A restore that was killed leaves no environment, and can
//! be repeated.
//!
//! The restored environment gets a new installation id, so that it shares no keyring entry with the
//! backed-up one. It gives no address and signs nothing before it has looked through the chain
//! (`store/restore.rs`).

use std::fs;
use std::path::{Path, PathBuf};

use tillgate_domain::id::Id;
use tillgate_domain::restore::{looks_ahead, usual_run};
use tillgate_domain::time::Timestamp;
use tillgate_machine::clock::machine_now;
use tillgate_machine::data_dir::{self, DATABASE, DataDir, LOCK, SANDBOX};
use tillgate_machine::entropy::{Entropy as _, SystemEntropy};
use tillgate_machine::environment::Environment;
use tillgate_machine::fail_points::{self, Point};
use tillgate_machine::secrets::{self, Coins, Purpose, Secret, SecretsLocation};
use tillgate_store::copy::change_copy;
use tillgate_store::restore::{NewRestore, RestoreSource};
use tillgate_store::{StoreError, Tx};

use super::contents::{Manifest, Secrets};
use super::error::BackupError;
use super::examine::{self, SealedFile};
use super::place;
use crate::settings::RESTORE_SKIP_DEFAULT;
use crate::wallet::mark;

/// File with the new installation's id. A repeated attempt uses the same id, so that no keyring
/// entry is orphaned.
const INSTALLATION: &str = "installation";

/// The backup to restore, and its place.
pub struct Restore {
    pub file: PathBuf,
    pub passphrase: Secret,
    /// The folder of all environments.
    pub base: PathBuf,
    pub environment: Environment,
    /// The location of the secrets after the restore.
    pub secrets: SecretsLocation,
    /// The actor in the audit.
    pub actor: String,
}

/// The outcome of a restore.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    pub env_dir: PathBuf,
    /// Time of the backup, by the clock of the machine that made it.
    pub made_at: Timestamp,
    /// Whether the backup holds a wallet.
    pub has_wallet: bool,
}

/// An environment in its temporary folder, without its secrets.
struct LaidOut {
    restored: Restored,
    kept: Secrets,
    /// The kind of coins that the secrets can spend.
    coins: Coins,
    installation: Id,
}

/// Restores a backup. Blocks.
///
/// # Errors
/// The reason why nothing was restored. Then no environment was made.
pub fn restore(restore: &Restore) -> Result<Restored, BackupError> {
    let Restore { base, environment, .. } = restore;
    check_free(base, *environment)?;
    let file = SealedFile::with_key(&restore.file, |recipe| recipe.key(&restore.passphrase))?;
    // A damaged file, or one of another environment, is refused before anything is written.
    let manifest = file.read_through(&|| true)?;
    examine::check_environment(&manifest, *environment)?;
    let had_base = base.exists();
    let mut folder = DataDir::restoring(base, *environment)?;
    let path = folder.path().to_owned();
    let laid_out = lay_out(restore, &file, &path);
    let keeps_secrets = laid_out.is_ok();
    let restored = laid_out.and_then(|LaidOut { restored, kept, coins, installation }| {
        keep_secrets(restore, &kept, coins, &installation, &path)?;
        fail_points::pass(Point::RestoreBefore);
        mark::set(&folder, restored.has_wallet)?;
        check_free(base, *environment)?;
        let env_dir = folder.settle(base, *environment)?;
        fail_points::pass(Point::RestoreAfter);
        // The file is no longer needed. If it cannot be removed, it is harmless.
        let _ = fs::remove_file(env_dir.join(INSTALLATION));
        Ok(Restored { env_dir, ..restored })
    });
    if restored.is_err() && path.exists() {
        // A failed attempt leaves no unsealed copies, which are removed before the lock is
        // released. If the secrets may be in the keyring, the file with their installation id is
        // kept for the next attempt.
        if keeps_secrets {
            let _ = remove_but_installation(&path);
        } else {
            let _ = fs::remove_dir_all(&path);
        }
        if !had_base {
            let _ = fs::remove_dir(base);
        }
    }
    drop(folder);
    restored
}

/// Refuses a place that holds any part of the environment.
///
/// # Errors
/// [`BackupError::Occupied`], or the reason why the folder cannot be read.
pub fn check_free(base: &Path, environment: Environment) -> Result<(), BackupError> {
    let env_dir = data_dir::env_dir(base, environment);
    if data_dir::exists(base, environment)? {
        return Err(BackupError::Occupied(env_dir));
    }
    match fs::read_dir(&env_dir) {
        Ok(mut entries) => match entries.next() {
            Some(_) => Err(BackupError::Occupied(env_dir)),
            None => Ok(()),
        },
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(BackupError::at("reading the folder", &env_dir)(error)),
    }
}

/// Unpacks and examines the content of the environment's folder in the temporary `folder`.
fn lay_out(
    restore: &Restore,
    file: &SealedFile<'_>,
    folder: &Path,
) -> Result<LaidOut, BackupError> {
    let installation = installation_of_attempt(folder)?;
    fail_points::pass(Point::RestoreBefore);
    let (manifest, kept) = file.unpack(folder, &|| true)?;
    fail_points::pass(Point::RestoreAfter);
    let wallet = examine::examine(folder, &manifest, &kept, restore.environment)?;
    remove_copies_of_migrations(folder)?;
    fail_points::pass(Point::RestoreBefore);
    make_it_a_copy(restore, &manifest, &folder.join(DATABASE), installation, wallet.is_some())?;
    fail_points::pass(Point::RestoreAfter);
    let restored = Restored {
        env_dir: folder.to_owned(),
        made_at: Timestamp::from_ms(manifest.made_at_ms),
        has_wallet: wallet.is_some(),
    };
    // Only a backup of the sandbox holds a chain.
    let coins = Coins::in_environment(
        restore.environment,
        manifest.files.iter().any(|part| part.name == SANDBOX),
    );
    Ok(LaidOut { restored, kept, coins, installation })
}

/// The id of the new installation: the id of an earlier attempt, or a new one. All other remains of
/// that attempt are removed.
fn installation_of_attempt(folder: &Path) -> Result<Id, BackupError> {
    let path = folder.join(INSTALLATION);
    remove_but_installation(folder)?;
    if let Some(id) = fs::read_to_string(&path).ok().and_then(|text| text.trim().parse().ok()) {
        return Ok(id);
    }
    let _ = fs::remove_file(&path);
    let id = SystemEntropy.id()?;
    let mut file =
        super::contents::create_private(&path).map_err(BackupError::at("creating", &path))?;
    let written = std::io::Write::write_all(&mut file, id.to_string().as_bytes())
        .and_then(|()| file.sync_all());
    written.map_err(BackupError::at("writing", &path))?;
    place::sync_folder(&path).map_err(BackupError::at("writing", &path))?;
    Ok(id)
}

/// Removes all remains of an attempt except the installation's id.
fn remove_but_installation(folder: &Path) -> Result<(), BackupError> {
    for entry in fs::read_dir(folder).map_err(BackupError::at("reading the folder", folder))? {
        let entry = entry.map_err(BackupError::at("reading the folder", folder))?.path();
        if entry != folder.join(INSTALLATION) && entry != folder.join(LOCK) {
            let removed =
                if entry.is_dir() { fs::remove_dir_all(&entry) } else { fs::remove_file(&entry) };
            removed.map_err(BackupError::at("removing", &entry))?;
        }
    }
    Ok(())
}

/// Removes the copies that a migration made of the database with its older schema. The backup has
/// that content.
fn remove_copies_of_migrations(folder: &Path) -> Result<(), BackupError> {
    for entry in fs::read_dir(folder).map_err(BackupError::at("reading the folder", folder))? {
        let path = entry.map_err(BackupError::at("reading the folder", folder))?.path();
        if path.to_string_lossy().contains(".before-schema-") {
            fs::remove_file(&path).map_err(BackupError::at("removing", &path))?;
        }
    }
    Ok(())
}

/// Makes the database that of the new installation, which has made no backup and has not looked
/// through the chain.
fn make_it_a_copy(
    restore: &Restore,
    manifest: &Manifest,
    database: &Path,
    installation: Id,
    has_wallet: bool,
) -> Result<(), BackupError> {
    let at = machine_now();
    let made_at = Timestamp::from_ms(manifest.made_at_ms);
    change_copy(database, |tx| -> Result<(), StoreError> {
        tx.move_to_installation(&installation)?;
        tx.forget_all_backups()?;
        if has_wallet {
            let skip = restore_skip(tx)?;
            let (source, looks_ahead) = (RestoreSource::Backup, looks_ahead(usual_run(skip), skip));
            tx.begin_restore(&NewRestore {
                source,
                at,
                birth_height: None,
                looks_ahead,
                skip,
                beside_another: false,
            })?;
        }
        tx.audit(at, &restore.actor, "restore", &made_at.iso_seconds())
    })?;
    Ok(())
}

/// The setting `restoreSkip`: the number of addresses that another copy of the wallet may have
/// given since the backup.
fn restore_skip(tx: &Tx<'_>) -> Result<u32, StoreError> {
    let stored = tx
        .settings()?
        .into_iter()
        .find(|(name, _)| name == "restoreSkip")
        .and_then(|(_, value)| value.parse().ok());
    Ok(stored.unwrap_or(RESTORE_SKIP_DEFAULT))
}

fn keep_secrets(
    restore: &Restore,
    kept: &Secrets,
    coins: Coins,
    installation: &Id,
    folder: &Path,
) -> Result<(), BackupError> {
    let store = secrets::open(&restore.secrets, coins, installation, folder)?;
    for purpose in Purpose::ALL {
        if let Some(secret) = kept.get(purpose) {
            store.set(purpose, &secret)?;
        }
    }
    Ok(())
}
