//! Reasons why a backup fails, each with its remedy.

use std::io;
use std::path::{Path, PathBuf};

use crate::chain::backend::BackendError;
use crate::machine::data_dir::DataDirError;
use crate::machine::entropy::NoEntropy;
use crate::machine::environment::Environment;
use crate::machine::secrets::SecretError;
use crate::store::StoreError;
use crate::wallet::WalletError;

/// Why a backup was not made, is not good, or was not restored.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BackupError {
    #[error("the passphrase of a backup must have at least {0} characters")]
    ShortPassphrase(usize),
    #[error("backups without a passphrase need the stored one: `tillgate backup --set-passphrase`")]
    NoPassphrase,
    /// The backup was made with another passphrase than the stored one.
    #[error("the backup was made with another passphrase than the one that is stored: give it")]
    OtherKey,
    #[error("the stored key of backups is unreadable: set it anew with `tillgate backup --set-passphrase`")]
    BadStoredKey,
    #[error("no key could be made of the passphrase: {0}")]
    Key(String),
    #[error("the backup does not open: the passphrase is wrong, or the file was changed")]
    WrongPassphrase,
    #[error("the backup is damaged: it was changed or cut, and nothing of it is used; take another one")]
    Damaged,
    #[error("this is not a backup of Tillgate: name the right file")]
    NotABackup,
    #[error("the backup has a form that this program does not know: install the newer Tillgate")]
    NewerForm,
    /// The file asks for so much memory or time that the machine would stall.
    #[error("the backup asks for more memory or time than any of Tillgate's does: it was changed")]
    Greedy,
    #[error(
        "the backup is of the environment {found}, not of {wanted}: use it there (at the command line by --environment {found})"
    )]
    OtherEnvironment { found: Environment, wanted: Environment },
    /// The words open another wallet than the database's, in a backup or before one is made.
    #[error(
        "the wallet's words do not fit its database, and its coins could not be spent: put the right words back, or take another backup"
    )]
    OtherWords,
    #[error("the wallet's words are missing: a backup without them could not spend its coins; restore them first")]
    NoWords,
    #[error("the key that signs notifications is missing: make a new one first (`tillgate hmac-key rotate`)")]
    NoHmacKey,
    #[error("the backup is of another wallet than this installation's: it would not restore this one")]
    OtherWallet,
    #[error("this installation has no wallet yet that a backup could restore")]
    NoWallet,
    #[error("the database in the backup is damaged ({0}): take another one")]
    DamagedDatabase(String),
    #[error("the database is damaged ({0}), and no backup is made of it: restore the last good one")]
    DamagedSource(String),
    #[error("{} exists, and a backup writes over nothing: name another file", .0.display())]
    Exists(PathBuf),
    /// The path is not text, so the database cannot hold it.
    #[error("the path {} is not text in UTF-8: name another one", .0.display())]
    NotText(PathBuf),
    #[error("{} is not the absolute path of a file", .0.display())]
    NotAFile(PathBuf),
    #[error("no folder for backups is set: name a file, or set one with `tillgate settings set backupFolder FOLDER`")]
    NoFolder,
    #[error(
        "there is no folder {}: make it, or put the disk in that it is on, or name another one; of nightly backups it is the setting backupFolder", .0.display()
    )]
    NoSuchFolder(PathBuf),
    #[error("{} is no folder: name one", .0.display())]
    NotAFolder(PathBuf),
    /// The mark file is missing; the disk is probably not mounted.
    #[error(
        "{} is not the folder that was named, or its disk is not in: the file {mark} that Tillgate put there is missing. Put the disk in; if it is the right folder all the same, name it again: `tillgate settings set backupFolder \"{}\"`", .folder.display(), .folder.display()
    )]
    OtherFolder { folder: PathBuf, mark: String },
    #[error(
        "no file can be written to the folder {} ({source}): let the user who runs Tillgate write there, or name another one", .folder.display()
    )]
    TakesNoFiles { folder: PathBuf, source: io::Error },
    #[error("the disk of the folder {} did not answer: see that it is there and reachable, or name another folder", .0.display())]
    SilentDisk(PathBuf),
    #[error(
        "the disks of several folders that were named before still do not answer: start Tillgate again, then name another folder"
    )]
    SilentDisks,
    #[error("a backup needs {needed_mb} MB on the disk of {folder}, and {free_mb} MB are free: make room")]
    NoRoom { folder: PathBuf, needed_mb: u64, free_mb: u64 },
    #[error(
        "{} holds this environment already, and a restore writes over nothing: name another --data-dir, or move that folder away", .0.display()
    )]
    Occupied(PathBuf),
    #[error("the backup was broken off: the gateway stops")]
    BrokenOff,
    #[error("another backup is still being made or checked: try again when it is done")]
    Busy,
    #[error("file must be the whole path of a backup, and there is none at {}: see that it is written right, and its disk in", .0.display())]
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
    /// The refusal that a sealed stream gave, or a failed read.
    pub(super) fn reading(error: io::Error) -> Self {
        match error.downcast::<Self>() {
            Ok(refused) => refused,
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Self::Damaged,
            Err(source) => Self::Stream { action: "reading the backup", source },
        }
    }

    pub(super) fn writing(error: io::Error) -> Self {
        match error.downcast::<Self>() {
            Ok(refused) => refused,
            Err(source) => Self::Stream { action: "writing the backup", source },
        }
    }

    /// The name of the mark that the folder lacks.
    pub(super) fn missing_mark(&self) -> Option<String> {
        if let Self::OtherFolder { mark, .. } = self { Some(mark.clone()) } else { None }
    }

    pub(super) fn at(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::File { action, path, source }
    }
}
