//! Makes a backup. The databases are copied into the environment's own folder, examined, and sealed
//! into a file with a temporary name in the backup's folder. After this file was read back without
//! an error, it gets its final name. So an interrupted backup leaves no file of the final name. The
//! next backup removes the remains.

use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tillgate_machine::secrets::SecretStore;
use tillgate_store::Store;

use tillgate_domain::time::Timestamp;
use tillgate_machine::clock::machine_now;
use tillgate_machine::data_dir::{DATABASE, SANDBOX};
use tillgate_machine::disk::free_bytes;
use tillgate_machine::fail_points::{self, Point};
use tillgate_machine::secrets::{Purpose, Secret};
use tillgate_store::StoreError;
use tillgate_store::backups::{BackupRow, BackupState, Failure};
use tillgate_store::copy::{copy_database, damage_of_copy};
use tillgate_told::Told as _;
use tokio::sync::MutexGuard;
use tokio_util::sync::CancellationToken;

use super::contents::{self, Manifest, Part, Secrets};
use super::error::BackupError;
use super::examine::{self, GoesOn, SealedFile};
use super::folder::known_mark;
use super::key::BackupKey;
use super::mark::Mark;
use super::place::{self, Scratch, on_disk};
use super::sealed::{FILE_ID_BYTES, FileId, Sealing};
use super::tidy;
use crate::gateway::{Backups, Gateway};

/// Room on the backup's disk beyond the databases, for headers, tags and the folder itself.
const MARGIN_BYTES: u64 = 10_000_000;

/// Longest wait for another backup. A gigabyte takes some ten seconds.
const TURN_WITHIN: Duration = Duration::from_secs(60);

/// The place of a new backup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// A file that does not exist yet.
    File(PathBuf),
    /// A new name in the folder of the setting `backupFolder`. The setting `backupKeep` decides
    /// when it is removed.
    Folder,
}

/// The source of a backup's key.
pub enum KeySource {
    /// A typed passphrase.
    Passphrase(Secret),
    /// The key in the secret store.
    Stored,
}

/// A finished backup that was read back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Made {
    pub path: PathBuf,
    pub size_bytes: u64,
    /// Time of the database's copy, by the machine's clock.
    pub made_at: Timestamp,
}

/// The inputs of one backup.
pub struct Job {
    pub gateway: Arc<Gateway>,
    pub path: PathBuf,
    pub key: KeySource,
    pub file_id: FileId,
    /// The mark that the folder of nightly backups must have; `None` for any other folder.
    pub mark: Option<Mark>,
}

/// Makes a backup on behalf of `actor`, while the gateway runs.
///
/// # Errors
/// The backup was not made, or the work after it failed: its record, or the removal of old backups.
pub async fn make(
    gateway: &Arc<Gateway>,
    place: Place,
    key: KeySource,
    actor: &str,
) -> Result<Made, BackupError> {
    let _turn = turn(&gateway.backups).await?;
    make_in_turn(gateway, place, key, actor).await
}

/// Makes a nightly backup, unless one that began at or after `since` is there already. The first
/// nightly backup begins by itself as soon as its passphrase is set, so a person who set it up
/// would get a second file at once.
///
/// # Errors
/// As for [`make`].
pub async fn make_nightly_since(
    gateway: &Arc<Gateway>,
    since: Timestamp,
    key: KeySource,
    actor: &str,
) -> Result<Made, BackupError> {
    // The other backup is there, or failed, once this one has its turn.
    let _turn = turn(&gateway.backups).await?;
    let (last, key_set_at) = gateway.store.read(|reader| {
        Ok::<_, StoreError>((
            reader.last_nightly_backup(BackupState::Good)?,
            reader.backup_passphrase_set_at()?,
        ))
    })?;
    let folder = gateway.settings.snapshot().backup_folder.clone();
    // A backup in a former folder, or with a former passphrase, is not the requested one.
    let is_requested = |last: &BackupRow| {
        last.begun_at >= since
            && key_set_at.is_none_or(|set_at| set_at <= last.begun_at)
            && folder.as_deref().map(Path::new) == Path::new(&last.path).parent()
    };
    if let Some(last) = last.filter(is_requested) {
        let size_bytes = last.size_bytes.unwrap_or(0);
        return Ok(Made { path: PathBuf::from(last.path), size_bytes, made_at: last.begun_at });
    }
    make_in_turn(gateway, Place::Folder, key, actor).await
}

/// Makes a backup. The caller holds the turn.
pub async fn make_in_turn(
    gateway: &Arc<Gateway>,
    place: Place,
    key: KeySource,
    actor: &str,
) -> Result<Made, BackupError> {
    tidy::settle_interrupted(gateway).await?;
    let is_nightly = place == Place::Folder;
    let (path, mark) = match place {
        Place::File(path) => (place::checked(path)?, None),
        Place::Folder => {
            let worker = Arc::clone(gateway);
            let path = on_disk(move || place::in_folder(&worker)).await?;
            let mark =
                path.parent().map(|folder| known_mark(&gateway.store, folder)).transpose()?;
            (path, mark.flatten())
        }
    };
    let is_unmarked = is_nightly && mark.is_none();
    check_key(&gateway.store, &key)?;
    let mut file_id = [0; FILE_ID_BYTES];
    gateway.machine.entropy.fill(&mut file_id)?;
    note_begun(gateway, &path, file_id, is_nightly, actor).await?;
    // If this future is dropped because the gateway stops, the guard stops the work.
    let stop = CancellationToken::new();
    let _stops = stop.clone().drop_guard();
    let job = Job { gateway: Arc::clone(gateway), path, key, file_id, mark };
    let work = tokio::task::spawn_blocking(move || job.work(&|| !stop.is_cancelled()));
    let made = work.await.unwrap_or(Err(BackupError::Panicked));
    note_ended(&gateway.store, file_id, is_nightly, &made).await?;
    gateway.signals.note_change();
    if let (true, Ok(made)) = (is_nightly, &made) {
        if is_unmarked && let Err(error) = mark_folder_of(gateway, &made.path).await {
            // The backup is good without a mark, and the next backup marks the folder.
            tracing::warn!(%error, "the folder of backups could not be marked");
        }
        tidy::remove_old(gateway).await?;
    }
    made
}

/// Marks a folder that has no mark, because an environment variable or an older version of the
/// program named it.
async fn mark_folder_of(gateway: &Gateway, file: &Path) -> Result<(), BackupError> {
    let Some(folder) = file.parent() else { return Ok(()) };
    let mark = Mark::new(folder.to_owned(), gateway.machine.entropy.as_ref())?;
    let row = mark.row()?;
    on_disk(move || mark.put()).await?;
    Ok(gateway.store.write(move |tx| tx.put_backup_folder(&row)).await?)
}

/// Derives a key from this passphrase and stores it as a secret. It seals all later backups without
/// a typed passphrase.
///
/// # Errors
/// When the passphrase is too short, or the key cannot be stored.
pub async fn set_passphrase(
    gateway: &Arc<Gateway>,
    passphrase: Secret,
    actor: &str,
) -> Result<(), BackupError> {
    let (worker, at) = (Arc::clone(gateway), machine_now());
    let stored = tokio::task::spawn_blocking(move || {
        let key = BackupKey::new(&passphrase, worker.environment, worker.machine.entropy.as_ref())?;
        worker.machine.secrets.set(Purpose::BackupKey, &key.to_stored()?)?;
        Ok(())
    });
    stored.await.unwrap_or(Err(BackupError::Panicked))?;
    let (actor, noted_at) = (actor.to_owned(), gateway.time.now());
    let note = gateway.store.write(move |tx| -> Result<(), StoreError> {
        tx.set_backup_passphrase_at(at)?;
        tx.audit(noted_at, &actor, "backup passphrase", "")
    });
    note.await?;
    gateway.backups.wake.notify_one();
    gateway.signals.note_change();
    Ok(())
}

/// Waits up to `TURN_WITHIN` for the end of another backup or check, which may be a nightly one.
pub async fn turn(backups: &Backups) -> Result<MutexGuard<'_, ()>, BackupError> {
    let turn = tokio::time::timeout(TURN_WITHIN, backups.turn.lock()).await;
    turn.map_err(|_| BackupError::Busy)
}

/// Refuses a backup without a passphrase if none was ever set. This is checked before the backup is
/// noted, because a missing key does not count as a failed backup.
fn check_key(store: &Store, key: &KeySource) -> Result<(), BackupError> {
    match key {
        KeySource::Passphrase(_) => Ok(()),
        KeySource::Stored => {
            let set_at = store.read(|reader| reader.backup_passphrase_set_at())?;
            set_at.map(drop).ok_or(BackupError::NoPassphrase)
        }
    }
}

/// The key in the secret store.
pub fn stored_key(secrets: &dyn SecretStore) -> Result<BackupKey, BackupError> {
    let stored = secrets.get(Purpose::BackupKey)?.ok_or(BackupError::NoPassphrase)?;
    BackupKey::from_stored(&stored)
}

async fn note_begun(
    gateway: &Gateway,
    path: &Path,
    file_id: FileId,
    is_nightly: bool,
    actor: &str,
) -> Result<(), BackupError> {
    let path = path.to_str().ok_or_else(|| BackupError::NotText(path.to_owned()))?.to_owned();
    let (actor, at, noted_at) = (actor.to_owned(), machine_now(), gateway.time.now());
    let note = gateway.store.write(move |tx| -> Result<(), StoreError> {
        tx.begin_backup(&file_id, &path, is_nightly, at)?;
        tx.audit(noted_at, &actor, "backup", &path)
    });
    Ok(note.await?)
}

async fn note_ended(
    store: &Store,
    file_id: FileId,
    is_nightly: bool,
    made: &Result<Made, BackupError>,
) -> Result<(), BackupError> {
    let at = machine_now();
    let (size, failure) = match made {
        Ok(made) => (made.size_bytes, None),
        Err(error) => {
            (0, Some(Failure { why: error.telling(), missing_mark: error.missing_mark() }))
        }
    };
    let note = store.write(move |tx| match failure {
        None => tx.finish_backup(&file_id, size, at),
        // The person who named a file has read the failure, so it is not stored.
        Some(_) if !is_nightly => tx.forget_backup(&file_id),
        Some(failure) => tx.fail_backup(&file_id, &failure, at),
    });
    Ok(note.await?)
}

impl Job {
    pub fn work(self, goes_on: GoesOn<'_>) -> Result<Made, BackupError> {
        let gateway = &self.gateway;
        if self.path.exists() {
            return Err(BackupError::Exists(self.path));
        }
        let folder = place::folder_of(&self.path)?;
        if let Some(mark) = &self.mark {
            mark.check()?;
        }
        let needed = self.check_room(folder)?;
        let key = match &self.key {
            KeySource::Passphrase(passphrase) => {
                BackupKey::new(passphrase, gateway.environment, gateway.machine.entropy.as_ref())?
            }
            KeySource::Stored => stored_key(gateway.machine.secrets.as_ref())?,
        };
        let scratch = Scratch::new(gateway.machine.data_dir.path(), &self.file_id)?;
        let (manifest, secrets) = self.copy(scratch.path(), goes_on)?;
        let damage = damage_of_copy(&scratch.path().join(DATABASE))?;
        if !damage.is_empty() {
            return Err(BackupError::DamagedSource(damage.join("; ")));
        }
        examine::fitting_wallet(&scratch.path().join(DATABASE), &secrets, gateway.environment)?;
        tracing::debug!(bytes = needed, "the databases are copied for a backup");

        let part = place::part_of(&self.path, &self.file_id);
        let sealed = self.seal(&part, &manifest, &secrets, scratch.path(), key, goes_on);
        let named = sealed.and_then(|size_bytes| {
            if !goes_on() {
                return Err(BackupError::Interrupted);
            }
            fail_points::pass(Point::BackupBefore);
            place::give_name(&part, &self.path)?;
            fail_points::pass(Point::BackupAfter);
            Ok(size_bytes)
        });
        let made_at = Timestamp::from_ms(manifest.made_at_ms);
        match named {
            Ok(size_bytes) => Ok(Made { path: self.path, size_bytes, made_at }),
            Err(error) => {
                // If the file cannot be removed now, the next backup removes it.
                let _ = std::fs::remove_file(&part);
                Err(error)
            }
        }
    }

    /// Refuses to start if the copies or the file would leave too little room. Returns the size of
    /// the copies in bytes.
    fn check_room(&self, folder: &Path) -> Result<u64, BackupError> {
        let gateway = &self.gateway;
        let size_of = |path: &Path| std::fs::metadata(path).map_or(0, |found| found.len());
        let log_of = |path: &Path| size_of(&PathBuf::from(format!("{}-wal", path.display())));
        let (database, sandbox) =
            (gateway.machine.data_dir.database(), gateway.machine.data_dir.sandbox());
        let needed = [size_of(&database), log_of(&database), size_of(&sandbox), log_of(&sandbox)]
            .iter()
            .sum::<u64>();
        let refuse = |folder: &Path, wanted: u64, free: Option<u64>| match free {
            Some(free) if free < wanted => Err(BackupError::NoRoom {
                folder: folder.to_owned(),
                needed_mb: wanted.div_ceil(1_000_000),
                free_mb: free / 1_000_000,
            }),
            Some(_) | None => Ok(()),
        };
        let disk = &gateway.machine.disk;
        let with_reserve = needed.saturating_add(disk.reserve_bytes());
        refuse(gateway.machine.data_dir.path(), with_reserve, disk.free_bytes())?;
        refuse(folder, needed.saturating_add(MARGIN_BYTES), free_bytes(folder))?;
        Ok(needed)
    }

    /// Copies the database before the sandbox's chain, so that the copied database knows no block
    /// that the copied chain lacks. The secrets are read last, so that they include each key that
    /// the database names.
    fn copy(
        &self,
        scratch: &Path,
        goes_on: GoesOn<'_>,
    ) -> Result<(Manifest, Secrets), BackupError> {
        let gateway = &self.gateway;
        let made_at_ms = machine_now().ms();
        let mut files =
            vec![copied(&gateway.machine.data_dir.database(), scratch, DATABASE, goes_on)?];
        if gateway.backend.sandbox.is_some() {
            files.push(copied(&gateway.machine.data_dir.sandbox(), scratch, SANDBOX, goes_on)?);
        }
        let mut secrets = Secrets::default();
        for purpose in Purpose::ALL {
            if let Some(secret) = gateway.machine.secrets.get(purpose)? {
                secrets.put(purpose, &secret);
            }
        }
        let manifest = Manifest {
            environment: gateway.environment.as_str().to_owned(),
            installation: gateway.installation.installation_id.to_string(),
            made_at_ms,
            program: env!("CARGO_PKG_VERSION").to_owned(),
            files,
        };
        Ok((manifest, secrets))
    }

    /// Seals the content into the file `part`, durably, and reads it back. Returns its size in
    /// bytes.
    fn seal(
        &self,
        part: &Path,
        manifest: &Manifest,
        secrets: &Secrets,
        scratch: &Path,
        key: BackupKey,
        goes_on: GoesOn<'_>,
    ) -> Result<u64, BackupError> {
        let file = contents::create_private(part).map_err(BackupError::at("creating", part))?;
        let mut sealing = Sealing::begin(BufWriter::new(file), &key, &self.file_id)?;
        contents::write_head(&mut sealing, manifest, secrets).map_err(BackupError::writing)?;
        for Part { name, bytes } in &manifest.files {
            contents::write_file(&mut sealing, &scratch.join(name), *bytes, goes_on)?;
        }
        let file = sealing.finish().map_err(BackupError::writing)?;
        let file = file.into_inner().map_err(|error| BackupError::writing(error.into_error()))?;
        file.sync_all().map_err(BackupError::at("writing", part))?;
        let size_bytes = file.metadata().map_err(BackupError::at("looking at", part))?.len();
        drop(file);
        let read_back = SealedFile::with_key(part, |_| Ok(key))?.read_through(goes_on)?;
        if read_back == *manifest { Ok(size_bytes) } else { Err(BackupError::Damaged) }
    }
}

fn copied(
    from: &Path,
    scratch: &Path,
    name: &str,
    goes_on: GoesOn<'_>,
) -> Result<Part, BackupError> {
    let to = scratch.join(name);
    drop::<File>(contents::create_private(&to).map_err(BackupError::at("creating", &to))?);
    if !copy_database(from, &to, goes_on)? {
        return Err(BackupError::Interrupted);
    }
    let bytes = std::fs::metadata(&to).map_err(BackupError::at("looking at", &to))?.len();
    Ok(Part { name: name.to_owned(), bytes })
}
