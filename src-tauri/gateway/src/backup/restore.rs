//! Restoring a backup where there is none of this environment. The file is read through before anything is made; then all is
//! laid out and judged in a folder beside its later place, and moved there at once. A restore that is killed leaves nothing of the
//! environment, and the same command makes up for it.
//!
//! The restored environment has an installation id of its own, so that it shares no entry of a keyring with the saved one. It
//! gives no address and signs nothing before it has looked through the chain (`store/restore.rs`).

use std::fs;
use std::path::{Path, PathBuf};

use tillgate_domain::id::Id;
use tillgate_domain::restore::{looks_ahead, usual_run};
use tillgate_domain::time::Timestamp;

use super::contents::{Manifest, Secrets};
use super::examine::{self, SealedFile};
use super::{BackupError, place};
use crate::machine::clock::machine_now;
use crate::machine::data_dir::{self, DATABASE, DataDir, LOCK, SANDBOX};
use crate::machine::entropy::{Entropy as _, SystemEntropy};
use crate::machine::environment::Environment;
use crate::machine::fail_points::{self, Point};
use crate::machine::secrets::{self, Coins, Purpose, Secret, SecretsLocation};
use crate::settings::RESTORE_SKIP_DEFAULT;
use crate::store::copy::change_copy;
use crate::store::restore::{NewRestore, RestoreSource};
use crate::store::{StoreError, Tx};

/// Keeps the new installation's id from one attempt to the next, so that no entry is left in a keyring that nobody looks for.
const INSTALLATION: &str = "installation";

/// The backup to restore, and its place.
pub(crate) struct Restore {
    /// The backup.
    pub file: PathBuf,
    pub passphrase: Secret,
    /// The folder that holds the environments' folders.
    pub base: PathBuf,
    pub environment: Environment,
    /// The place for the secrets.
    pub secrets: SecretsLocation,
    /// Who acts, for the audit.
    pub actor: String,
}

/// What was restored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Restored {
    /// The environment's folder.
    pub env_dir: PathBuf,
    /// When the backup was made, by the clock of the machine that made it.
    pub made_at: Timestamp,
    /// Whether a wallet came with it.
    pub has_wallet: bool,
}

/// An environment that lies ready beside its later place, without its secrets.
struct LaidOut {
    restored: Restored,
    kept: Secrets,
    /// The coins that the secrets open.
    coins: Coins,
    installation: Id,
}

/// Restores a backup. Blocks.
///
/// # Errors
/// Why nothing was restored; no environment is there then.
pub(crate) fn restore(restore: &Restore) -> Result<Restored, BackupError> {
    let Restore { base, environment, .. } = restore;
    check_free(base, *environment)?;
    let file = SealedFile::with_key(&restore.file, |recipe| recipe.key(&restore.passphrase))?;
    // Nothing is made for a file that was changed, cut, or is another environment's.
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
        folder.set_wallet_mark(restored.has_wallet)?;
        check_free(base, *environment)?;
        let env_dir = folder.settle(base, *environment)?;
        fail_points::pass(Point::RestoreAfter);
        // Only until here it mattered; one that stays does no harm.
        let _ = fs::remove_file(env_dir.join(INSTALLATION));
        Ok(Restored { env_dir, ..restored })
    });
    if restored.is_err() && path.exists() {
        // A failed attempt leaves nothing in the clear. The lock is held until it is gone. If secrets may lie in a keyring, their
        // id stays for the next attempt.
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

/// Refuses where something of the environment is there.
///
/// # Errors
/// [`BackupError::Occupied`], or why it cannot be told.
pub(crate) fn check_free(base: &Path, environment: Environment) -> Result<(), BackupError> {
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

/// Makes in `folder` all that the environment's folder is to hold.
fn lay_out(restore: &Restore, file: &SealedFile<'_>, folder: &Path) -> Result<LaidOut, BackupError> {
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
    // A backup of the sandbox has its chain.
    let coins = Coins::of(restore.environment, manifest.files.iter().any(|part| part.name == SANDBOX));
    Ok(LaidOut { restored, kept, coins, installation })
}

/// The id of the new installation: the one of an attempt that was cut short, all else of which is removed, else a new one.
fn installation_of_attempt(folder: &Path) -> Result<Id, BackupError> {
    let path = folder.join(INSTALLATION);
    remove_but_installation(folder)?;
    if let Some(id) = fs::read_to_string(&path).ok().and_then(|text| text.trim().parse().ok()) {
        return Ok(id);
    }
    let _ = fs::remove_file(&path);
    let id = SystemEntropy.id()?;
    let mut file = super::contents::create_private(&path).map_err(BackupError::at("creating", &path))?;
    let written = std::io::Write::write_all(&mut file, id.to_string().as_bytes()).and_then(|()| file.sync_all());
    written.map_err(BackupError::at("writing", &path))?;
    place::sync_folder(&path).map_err(BackupError::at("writing", &path))?;
    Ok(id)
}

/// Removes what an attempt left but the id of its installation.
fn remove_but_installation(folder: &Path) -> Result<(), BackupError> {
    for entry in fs::read_dir(folder).map_err(BackupError::at("reading the folder", folder))? {
        let entry = entry.map_err(BackupError::at("reading the folder", folder))?.path();
        if entry != folder.join(INSTALLATION) && entry != folder.join(LOCK) {
            let removed = if entry.is_dir() { fs::remove_dir_all(&entry) } else { fs::remove_file(&entry) };
            removed.map_err(BackupError::at("removing", &entry))?;
        }
    }
    Ok(())
}

/// The restored database stands for itself: what an older schema left beside it is the backup's own content.
fn remove_copies_of_migrations(folder: &Path) -> Result<(), BackupError> {
    for entry in fs::read_dir(folder).map_err(BackupError::at("reading the folder", folder))? {
        let path = entry.map_err(BackupError::at("reading the folder", folder))?.path();
        if path.to_string_lossy().contains(".before-schema-") {
            fs::remove_file(&path).map_err(BackupError::at("removing", &path))?;
        }
    }
    Ok(())
}

/// Makes the database another installation's: it wrote none of the backups, and has not looked through the chain.
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
            tx.begin_restore(&NewRestore { source, at, birth_height: None, looks_ahead, skip, beside_another: false })?;
        }
        tx.audit(at, &restore.actor, "restore", &made_at.iso_seconds())
    })?;
    Ok(())
}

/// How many addresses another copy of the wallet may have given since, as the merchant reckons.
fn restore_skip(tx: &Tx<'_>) -> Result<u32, StoreError> {
    let stored =
        tx.settings()?.into_iter().find(|(name, _)| name == "restoreSkip").and_then(|(_, value)| value.parse().ok());
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
