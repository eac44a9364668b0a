//! Reasons why a backup fails, each with its remedy.

use std::io;
use std::path::{Path, PathBuf};

use tillgate_chain::backend::BackendError;
use tillgate_machine::data_dir::DataDirError;
use tillgate_machine::entropy::NoEntropy;
use tillgate_machine::environment::Environment;
use tillgate_machine::secrets::SecretError;
use tillgate_store::StoreError;

use crate::wallet::WalletError;

/// The reason why a backup was not made, did not pass its check, or was not restored.
#[derive(Debug, thiserror::Error, tillgate_told::Told)]
pub enum BackupError {
    #[error("the passphrase of a backup must have at least {0} characters")]
    ShortPassphrase(usize),
    #[error(
        "no passphrase is stored for backups: store one with `tillgate backup --set-passphrase`"
    )]
    NoPassphrase,
    #[error(
        "the backup was made with a passphrase other than the stored one: enter its passphrase"
    )]
    OtherKey,
    #[error(
        "the stored key of backups is unreadable: replace it with `tillgate backup --set-passphrase`"
    )]
    BadStoredKey,
    #[error("the key could not be derived from the passphrase: {0}")]
    Key(String),
    #[error("the backup does not open: the passphrase is wrong, or the file was changed")]
    WrongPassphrase,
    #[error(
        "the backup is damaged: bytes were changed or are missing, and no part of it is used; take another backup"
    )]
    Damaged,
    #[error("this is not a backup of Tillgate: name the right file")]
    NotABackup,
    #[error("the backup has a format that this version does not know: install a newer Tillgate")]
    NewerForm,
    /// The key's parameters in the file need so much memory or time that the machine would stall.
    #[error(
        "opening the backup needs more memory or time than Tillgate's backups do: the file was changed"
    )]
    Greedy,
    #[error(
        "the backup is of the environment {found}, not of {wanted}: restore or check it there (on the command line with --environment {found})"
    )]
    OtherEnvironment { found: Environment, wanted: Environment },
    /// The words and the database are of different wallets, in a backup or in the gateway that is
    /// to be backed up.
    #[error(
        "the wallet's words do not belong to its database, so its coins could not be spent: restore the right words, or take another backup"
    )]
    OtherWords,
    #[error(
        "the wallet's words are missing, and without them its coins could not be spent: restore the words first"
    )]
    NoWords,
    #[error(
        "the key that signs notifications is missing: make a new one first (`tillgate hmac-key rotate`)"
    )]
    NoHmacKey,
    #[error("the backup is of another wallet than this installation's")]
    OtherWallet,
    #[error("this installation has no wallet yet that a backup could restore")]
    NoWallet,
    #[error("the database in the backup is damaged ({0}): take another backup")]
    DamagedDatabase(String),
    #[error("the database is damaged ({0}), so it is not backed up: restore the last good backup")]
    DamagedSource(String),
    #[error("{} exists, and a backup never overwrites a file: name another file", .0.display())]
    Exists(PathBuf),
    /// The path is not text, so the database cannot hold it.
    #[error("the path {} is not text in UTF-8: name another path", .0.display())]
    NotText(PathBuf),
    #[error("{} is not the absolute path of a file", .0.display())]
    NotAFile(PathBuf),
    #[error(
        "no folder for backups is set: name a file, or set a folder with `tillgate settings set backupFolder FOLDER`"
    )]
    NoFolder,
    #[error(
        "there is no folder {}: make it, connect its disk, or name another folder (for nightly backups with the setting backupFolder)", .0.display()
    )]
    NoSuchFolder(PathBuf),
    #[error("{} is not a folder: name a folder", .0.display())]
    NotAFolder(PathBuf),
    /// The mark file is missing; the disk is probably not mounted.
    #[error(
        "{} is not the folder that was named, or its disk is not connected: the file {mark} that Tillgate wrote there is missing. Connect the disk; if it is the right folder nevertheless, name it again: `tillgate settings set backupFolder \"{}\"`", .folder.display(), .folder.display()
    )]
    OtherFolder { folder: PathBuf, mark: String },
    #[error(
        "no file can be written to the folder {} ({source}): let the user who runs Tillgate write there, or name another folder", .folder.display()
    )]
    TakesNoFiles { folder: PathBuf, source: io::Error },
    #[error("the disk of the folder {} did not answer: check that it is connected, or name another folder", .0.display())]
    SilentDisk(PathBuf),
    #[error(
        "the disks of several folders that were named earlier still do not answer: restart Tillgate, then name another folder"
    )]
    SilentDisks,
    #[error(
        "a backup needs {needed_mb} MB on the disk of {folder}, and {free_mb} MB are free: make room"
    )]
    NoRoom { folder: PathBuf, needed_mb: u64, free_mb: u64 },
    #[error(
        "{} holds this environment already, and a restore never overwrites it: name another --data-dir, or move that folder away", .0.display()
    )]
    Occupied(PathBuf),
    #[error("the backup was interrupted, because the gateway stops")]
    Interrupted,
    #[error("another backup is still being made or checked: try again later")]
    Busy,
    #[error("file must be the absolute path of a backup, and there is none at {}: check the spelling, and that its disk is connected", .0.display())]
    NoSuchFile(PathBuf),
    #[error("{action} {} failed: {source}", path.display())]
    File { action: &'static str, path: PathBuf, source: io::Error },
    #[error("{action} failed: {source}")]
    Stream { action: &'static str, source: io::Error },
    #[error(transparent)]
    DataDir(#[from] DataDirError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Secret(#[from] SecretError),
    #[error(transparent)]
    Wallet(#[from] WalletError),
    #[error(transparent)]
    Backend(#[from] BackendError),
    #[error(transparent)]
    Entropy(#[from] NoEntropy),
    #[error("the backup failed unexpectedly: see the log")]
    Panicked,
}

impl BackupError {
    /// Converts an error of a read. A [`BackupError`] inside it is returned as it is; an early end
    /// means damage.
    pub fn reading(error: io::Error) -> Self {
        match error.downcast::<Self>() {
            Ok(refused) => refused,
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Self::Damaged,
            Err(source) => Self::Stream { action: "reading the backup", source },
        }
    }

    pub fn writing(error: io::Error) -> Self {
        match error.downcast::<Self>() {
            Ok(refused) => refused,
            Err(source) => Self::Stream { action: "writing the backup", source },
        }
    }

    /// The file name of the mark that the folder lacks, for [`Self::OtherFolder`].
    pub fn missing_mark(&self) -> Option<String> {
        if let Self::OtherFolder { mark, .. } = self { Some(mark.clone()) } else { None }
    }

    pub fn at(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::File { action, path, source }
    }
}
