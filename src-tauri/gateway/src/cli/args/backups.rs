//! The commands of backups. Passphrases are no arguments, because other users can list the machine's processes.

use std::path::{Path, PathBuf};

use clap::Args;

use crate::console::Command;
use crate::console::backups::{BackUp, Passphrase, SetBackupPassphrase, ShowBackups};

/// Make a backup, or show and set up the nightly ones.
#[derive(Debug, Args)]
pub(in crate::cli) struct Backup {
    /// The new file; without it one is made in the folder of the setting backupFolder, with the stored passphrase.
    #[arg(value_name = "FILE")]
    file: Option<String>,
    /// Store the key of a passphrase with the secrets, for the backups that are made each night.
    #[arg(long, conflicts_with = "file")]
    set_passphrase: bool,
    /// Tell how backups stand. JSON: {"folder", "keep", "passphraseSetAt", "last", "nightly", "nextAt", "trouble"}.
    #[arg(long, conflicts_with_all = ["file", "set_passphrase"])]
    show: bool,
}

/// What to restore.
#[derive(Debug, Clone, Args)]
pub(in crate::cli) struct Restore {
    /// The backup.
    #[arg(value_name = "FILE")]
    pub(in crate::cli) file: PathBuf,
}

impl Backup {
    /// The command for these arguments.
    pub(super) fn command(self) -> Command {
        if self.show {
            return ShowBackups {}.into();
        }
        if self.set_passphrase {
            return SetBackupPassphrase { passphrase: Passphrase::default() }.into();
        }
        BackUp { file: self.file.map(|file| absolute(&file)), passphrase: None }.into()
    }
}

/// A path as a gateway in another folder understands it.
pub(super) fn absolute(file: &str) -> String {
    let path = std::path::absolute(Path::new(file)).ok();
    path.and_then(|path| path.to_str().map(str::to_owned)).unwrap_or_else(|| file.to_owned())
}
