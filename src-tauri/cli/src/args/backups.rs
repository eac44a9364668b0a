//! The commands of backups. A passphrase is never an argument, because other users can list a
//! process's arguments.

use std::path::{Path, PathBuf};

use clap::Args;
use tillgate_console::Command;
use tillgate_console::backups::{BackUp, Passphrase, SetBackupPassphrase, ShowBackups};

/// Make a backup, or show and set up the nightly ones.
#[derive(Debug, Args)]
pub struct Backup {
    /// The file to create
    /// [default: a new file in the folder of the setting backupFolder, with the stored passphrase].
    #[arg(value_name = "FILE")]
    file: Option<String>,
    /// Set the passphrase of nightly backups; a key made from it is stored with the secrets.
    #[arg(long, conflicts_with = "file")]
    set_passphrase: bool,
    /// Show the state of backups. JSON: {"folder", "keep", "passphraseSetAt", "last", "nightly",
    /// "nextAt", "trouble"}.
    #[arg(long, conflicts_with_all = ["file", "set_passphrase"])]
    show: bool,
}

/// The backup to restore.
#[derive(Debug, Clone, Args)]
pub struct Restore {
    /// The file of the backup.
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
}

impl Backup {
    /// The command for these arguments.
    pub fn command(self) -> Command {
        if self.show {
            return ShowBackups {}.into();
        }
        if self.set_passphrase {
            return SetBackupPassphrase { passphrase: Passphrase::default() }.into();
        }
        BackUp { file: self.file.map(|file| absolute(&file)), passphrase: None, unless_since: None }
            .into()
    }
}

/// The absolute path, because the gateway may run in another folder.
pub fn absolute(file: &str) -> String {
    let path = std::path::absolute(Path::new(file)).ok();
    path.and_then(|path| path.to_str().map(str::to_owned)).unwrap_or_else(|| file.to_owned())
}
