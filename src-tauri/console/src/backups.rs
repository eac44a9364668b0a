//! Shows the state of the backups, makes and checks a backup, and sets the passphrase of nightly
//! backups.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tillgate_domain::time::Timestamp;
use tillgate_gateway::backup::{self, BackupError, KeySource, Place, Tried};
use tillgate_gateway::gateway::Gateway;
use tillgate_machine::clock::machine_now;
use tillgate_machine::secrets::Secret;
use tillgate_store::backups::{BackupRow, BackupState};
use tillgate_store::{Reader, StoreError};
use tillgate_told::{Telling, Told as _};
use ts_rs::TS;
use zeroize::Zeroize as _;

use super::ask::{Ask, Asker};
use super::error::CommandError;
use super::status::WarningKind;
use super::wallet::SheetView;
use crate::refusal::ArgumentFault;

/// The `error_type` of a wrong backup passphrase. The command line may add which passphrase was
/// tried.
pub const WRONG_PASSPHRASE: &str = "WRONG_PASSPHRASE";

/// The passphrase of a backup: wiped when it is dropped, and never printed.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(type = "string")]
pub struct Passphrase(String);

/// Asks for the state of the backups.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct ShowBackups {}

/// Makes a backup while the gateway keeps running.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct BackUp {
    /// The absolute path of the new file. If absent, the backup is written to `backupFolder` and
    /// counts as a nightly backup.
    #[serde(default)]
    pub file: Option<String>,
    /// If absent, the stored key of the nightly backups is used.
    #[serde(default)]
    pub passphrase: Option<Passphrase>,
    /// If a nightly backup that began at or after this time is complete, it is the answer, and no
    /// other one is made. ISO 8601; without effect for a `file`.
    #[serde(default)]
    #[ts(optional)]
    pub unless_since: Option<String>,
}

/// Checks that a backup would restore this installation's wallet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct VerifyBackup {
    /// The absolute path of the backup.
    pub file: String,
    /// If absent, the stored key of the nightly backups is used.
    #[serde(default)]
    pub passphrase: Option<Passphrase>,
    /// Whether to try the stored key first, and the passphrase only if that key does not open the
    /// backup.
    #[serde(default)]
    #[ts(as = "Option<bool>", optional)]
    pub stored_first: bool,
}

/// Derives the key of nightly backups from a passphrase, and stores that key with the secrets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct SetBackupPassphrase {
    /// At least 8 characters; at least 12 in production.
    pub passphrase: Passphrase,
}

/// The state of the backups.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct BackupsView {
    /// The folder of nightly backups; absent if none are made.
    pub folder: Option<String>,
    /// The number of nightly backups that are kept.
    pub keep: u32,
    /// When the present key of nightly backups was stored with the secrets, ISO 8601.
    pub passphrase_set_at: Option<String>,
    /// The newest complete backup that this installation made, in any folder.
    pub last: Option<BackupItem>,
    /// The nightly backups that are kept, the newest first.
    pub nightly: Vec<BackupItem>,
    /// The time of the next nightly backup, ISO 8601.
    pub next_at: Option<String>,
    /// The fault of the nightly backups, with the remedy at the command line.
    pub trouble: Option<Telling>,
    /// The kind of the fault.
    #[serde(default)]
    pub trouble_kind: Option<WarningKind>,
    /// The smallest number of characters of a backup's passphrase.
    #[serde(default)]
    pub passphrase_min: u32,
    /// The facts that belong beside the words; absent without a wallet.
    #[serde(default)]
    pub sheet: Option<SheetView>,
}

/// A backup that this installation made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct BackupItem {
    /// The file's path.
    pub file: String,
    /// When the backup began, by the machine's clock, ISO 8601.
    pub made_at: String,
    #[ts(type = "number")]
    pub size_bytes: u64,
    /// When the whole file was last read and checked, ISO 8601.
    pub checked_at: Option<String>,
}

/// A backup that would restore this wallet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct VerifiedBackup {
    /// Always true: a backup that would not restore is an error.
    pub ok: bool,
    /// When the backup began, ISO 8601.
    pub made_at: String,
    /// The version of the program that made it.
    pub program: String,
}

impl Passphrase {
    #[must_use]
    pub fn from_secret(secret: &Secret) -> Self {
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
        let key = self
            .passphrase
            .map_or(KeySource::Stored, |given| KeySource::Passphrase(given.secret()));
        let since = self.unless_since.as_deref().map(Timestamp::parse_iso).transpose();
        let since =
            since.map_err(|_| CommandError::invalid("unlessSince", &ArgumentFault::Time))?;
        let made = match (place, since) {
            (Place::Folder, Some(since)) => {
                backup::make_nightly_since(by.gateway(), since, key, by.actor).await?
            }
            (place, _) => backup::make(by.gateway(), place, key, by.actor).await?,
        };
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
        Ok(VerifiedBackup {
            ok: true,
            made_at: verified.made_at.iso_seconds(),
            program: verified.program,
        })
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
            E::WrongPassphrase => Self {
                field: Some("passphrase".to_owned()),
                ..Self::told(WRONG_PASSPHRASE, &error)
            },
            E::Exists(_) | E::NoSuchFile(_) | E::NotText(_) | E::NotAFile(_) => {
                Self::at("file", &error)
            }
            // Only a change of the setting `backupFolder` causes these errors.
            E::NotAFolder(_) | E::TakesNoFiles { .. } | E::SilentDisk(_) | E::SilentDisks => {
                Self::at("value", &error)
            }
            E::NoPassphrase | E::NoFolder => Self::told("BACKUP_NOT_SET_UP", &error),
            E::NoSuchFolder(_) | E::OtherFolder { .. } => {
                Self::told("BACKUP_FOLDER_MISSING", &error)
            }
            E::Busy => Self::told("BACKUP_BUSY", &error),
            E::Store(error) => error.into(),
            E::Secret(error) => Self::told("SECRETS_UNAVAILABLE", &error),
            E::Damaged | E::NotABackup | E::NewerForm | E::Greedy | E::OtherEnvironment { .. } => {
                Self::told("BACKUP_REFUSED", &error)
            }
            E::OtherWords
            | E::NoWords
            | E::NoHmacKey
            | E::OtherWallet
            | E::NoWallet
            | E::DamagedDatabase(_) => Self::told("BACKUP_REFUSED", &error),
            E::BadStoredKey
            | E::Key(_)
            | E::DamagedSource(_)
            | E::NoRoom { .. }
            | E::Occupied(_)
            | E::Interrupted
            | E::File { .. }
            | E::Stream { .. }
            | E::DataDir(_)
            | E::Wallet(_)
            | E::Backend(_)
            | E::Entropy(_)
            | E::Panicked => Self::told("BACKUP_FAILED", &error),
        }
    }
}

fn backups(gateway: &Gateway, reader: &Reader<'_>) -> Result<BackupsView, StoreError> {
    let now = machine_now();
    let settings = gateway.settings.snapshot();
    let fault = backup::nightly_fault(&gateway.settings, reader, now)?;
    Ok(BackupsView {
        folder: settings.backup_folder.clone(),
        keep: settings.backup_keep,
        passphrase_set_at: reader.backup_passphrase_set_at()?.map(Timestamp::iso_seconds),
        last: reader.last_backup(BackupState::Good)?.as_ref().map(item),
        nightly: reader.nightly_backups()?.iter().map(item).collect(),
        next_at: backup::due_at(&gateway.settings, reader, now)?.map(Timestamp::iso_seconds),
        trouble_kind: fault.as_ref().map(WarningKind::from),
        trouble: fault.map(|fault| fault.telling()),
        passphrase_min: u32::try_from(backup::shortest_passphrase(gateway.environment))
            .unwrap_or(u32::MAX),
        sheet: SheetView::load(gateway, reader)?,
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
