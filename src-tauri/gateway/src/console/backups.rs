//! Backups: their state, making one, checking one, and the passphrase of the nightly ones.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tillgate_domain::time::Timestamp;
use ts_rs::TS;
use zeroize::Zeroize as _;

use super::ask::{Ask, Asker};
use super::error::CommandError;
use super::status::WarningKind;
use crate::backup::{self, BackupError, KeySource, Place, Tried};
use crate::gateway::Gateway;
use crate::machine::clock::machine_now;
use crate::machine::secrets::Secret;
use crate::store::backups::{BackupRow, BackupState};
use crate::store::{Reader, StoreError};

/// The `error_type` of a wrong backup passphrase. A shell that knows which passphrase was tried says so.
pub(crate) const WRONG_PASSPHRASE: &str = "WRONG_PASSPHRASE";

/// The passphrase of a backup: wiped when it is dropped, and never printed.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export, type = "string")]
pub struct Passphrase(String);

/// Asks for the state of the backups.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct ShowBackups {}

/// Makes a backup while the gateway goes on running.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct BackUp {
    /// The absolute path of the new file. If absent, the file goes into `backupFolder`, and is kept by the rule of
    /// nightly backups.
    #[serde(default)]
    pub file: Option<String>,
    /// Absent for the key that was stored for nightly backups.
    #[serde(default)]
    pub passphrase: Option<Passphrase>,
}

/// Checks that a backup would restore this installation's wallet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct VerifyBackup {
    /// The absolute path of the backup.
    pub file: String,
    /// Absent for the key that was stored for nightly backups.
    #[serde(default)]
    pub passphrase: Option<Passphrase>,
    /// The passphrase is tried only where the stored key is not the backup's.
    #[serde(default)]
    #[ts(as = "Option<bool>", optional)]
    pub stored_first: bool,
}

/// Stores the key of this passphrase with the secrets, for nightly backups.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct SetBackupPassphrase {
    /// At least 8 characters, in production 12.
    pub passphrase: Passphrase,
}

/// The state of the backups.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
#[serde(rename_all = "camelCase")]
pub struct BackupsView {
    /// The folder of nightly backups; absent if none are made.
    pub folder: Option<String>,
    /// The number of nightly backups that are kept.
    pub keep: u32,
    /// The time since which a key for nightly backups lies with the secrets, ISO 8601.
    pub passphrase_set_at: Option<String>,
    /// The newest good backup that this installation made, wherever it went.
    pub last: Option<BackupItem>,
    /// The nightly backups that are there, the newest first.
    pub nightly: Vec<BackupItem>,
    /// The time of the next nightly backup, ISO 8601.
    pub next_at: Option<String>,
    /// The trouble with nightly backups: a sentence with the remedy at the command line.
    pub trouble: Option<String>,
    /// The kind of the trouble.
    #[serde(default)]
    pub trouble_kind: Option<WarningKind>,
    /// The smallest number of characters of a backup's passphrase.
    #[serde(default)]
    pub passphrase_min: u32,
}

/// A backup.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
#[serde(rename_all = "camelCase")]
pub struct BackupItem {
    /// Its path.
    pub file: String,
    /// When it was begun, by the machine's clock, ISO 8601.
    pub made_at: String,
    /// Its length.
    #[ts(type = "number")]
    pub size_bytes: u64,
    /// When it was last read from end to end, ISO 8601.
    pub checked_at: Option<String>,
}

/// A backup that would restore this wallet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
#[serde(rename_all = "camelCase")]
pub struct VerifiedBackup {
    /// Always true: a backup that would not restore is an error.
    pub ok: bool,
    /// When it was made, ISO 8601.
    pub made_at: String,
    /// The version of the program that made it.
    pub program: String,
}

impl Passphrase {
    /// Takes over a passphrase.
    #[must_use]
    pub(crate) fn of(secret: &Secret) -> Self {
        Self(secret.reveal().to_owned())
    }

    fn secret(&self) -> Secret {
        Secret::new(self.0.clone())
    }
}

impl Drop for Passphrase {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl fmt::Debug for Passphrase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[REDACTED]")
    }
}

impl Ask for ShowBackups {
    type Answer = BackupsView;

    async fn answer(self, by: &Asker<'_>) -> Result<BackupsView, CommandError> {
        by.read(backups).await
    }
}

impl Ask for BackUp {
    type Answer = BackupItem;

    async fn answer(self, by: &Asker<'_>) -> Result<BackupItem, CommandError> {
        let place = self.file.map_or(Place::Folder, |file| Place::File(PathBuf::from(file)));
        let key = self.passphrase.map_or(KeySource::Stored, |given| KeySource::Passphrase(given.secret()));
        let made = backup::make(by.gateway(), place, key, by.actor).await?;
        Ok(BackupItem {
            file: display_path(&made.path),
            made_at: made.made_at.iso_seconds(),
            size_bytes: made.size_bytes,
            checked_at: Some(machine_now().iso_seconds()),
        })
    }
}

impl Ask for VerifyBackup {
    type Answer = VerifiedBackup;

    async fn answer(self, by: &Asker<'_>) -> Result<VerifiedBackup, CommandError> {
        let passphrase = self.passphrase.map(|given| given.secret());
        let tried = match passphrase {
            None => Tried::Stored,
            Some(passphrase) if self.stored_first => Tried::StoredFirst(passphrase),
            Some(passphrase) => Tried::Passphrase(passphrase),
        };
        let verified = backup::verify(by.gateway(), PathBuf::from(self.file), tried).await?;
        Ok(VerifiedBackup { ok: true, made_at: verified.made_at.iso_seconds(), program: verified.program })
    }
}

impl Ask for SetBackupPassphrase {
    type Answer = BackupsView;

    async fn answer(self, by: &Asker<'_>) -> Result<BackupsView, CommandError> {
        backup::set_passphrase(by.gateway(), self.passphrase.secret(), by.actor).await?;
        by.read(backups).await
    }
}

impl From<BackupError> for CommandError {
    fn from(error: BackupError) -> Self {
        use BackupError as E;
        match error {
            E::ShortPassphrase(_) | E::OtherKey => Self::at("passphrase", &error),
            E::WrongPassphrase => Self { field: Some("passphrase".to_owned()), ..Self::of(WRONG_PASSPHRASE, &error) },
            E::Exists(_) | E::NoSuchFile(_) | E::NotText(_) | E::NotAFile(_) => Self::at("file", &error),
            // Errors of the setting backupFolder alone.
            E::NotAFolder(_) | E::TakesNoFiles { .. } | E::SilentDisk(_) | E::SilentDisks => Self::at("value", &error),
            E::NoPassphrase | E::NoFolder => Self::of("BACKUP_NOT_SET_UP", &error),
            E::Busy => Self::of("BACKUP_BUSY", &error),
            E::Store(error) => error.into(),
            E::Secret(error) => Self::of("SECRETS_UNAVAILABLE", &error),
            E::Damaged | E::NotABackup | E::NewerForm | E::Greedy | E::OtherEnvironment { .. } => {
                Self::of("BACKUP_REFUSED", &error)
            }
            E::OtherWords | E::NoWords | E::NoHmacKey | E::OtherWallet | E::NoWallet | E::DamagedDatabase(_) => {
                Self::of("BACKUP_REFUSED", &error)
            }
            E::BadStoredKey
            | E::Key(_)
            | E::DamagedSource(_)
            | E::NoRoom { .. }
            | E::NoSuchFolder(_)
            | E::OtherFolder { .. }
            | E::Occupied(_)
            | E::BrokenOff
            | E::File { .. }
            | E::Stream { .. }
            | E::DataDir(_)
            | E::Wallet(_)
            | E::Backend(_)
            | E::Entropy(_)
            | E::Panicked => Self::of("BACKUP_FAILED", &error),
        }
    }
}

fn backups(gateway: &Gateway, reader: &Reader<'_>) -> Result<BackupsView, StoreError> {
    let now = machine_now();
    let settings = gateway.settings.snapshot();
    let trouble = backup::trouble(gateway, reader, now)?;
    Ok(BackupsView {
        folder: settings.backup_folder.clone(),
        keep: settings.backup_keep,
        passphrase_set_at: reader.backup_passphrase_set_at()?.map(Timestamp::iso_seconds),
        last: reader.last_backup(BackupState::Good)?.as_ref().map(item),
        nightly: reader.nightly_backups()?.iter().map(item).collect(),
        next_at: backup::due_at(gateway, reader, now)?.map(Timestamp::iso_seconds),
        trouble_kind: trouble.as_ref().map(WarningKind::from),
        trouble: trouble.map(|trouble| trouble.to_string()),
        passphrase_min: u32::try_from(backup::shortest_passphrase(gateway.environment)).unwrap_or(u32::MAX),
    })
}

fn item(row: &BackupRow) -> BackupItem {
    BackupItem {
        file: row.path.clone(),
        made_at: row.begun_at.iso_seconds(),
        size_bytes: row.size_bytes.unwrap_or(0),
        checked_at: row.checked_at.map(Timestamp::iso_seconds),
    }
}

fn display_path(path: &Path) -> String {
    path.display().to_string()
}
