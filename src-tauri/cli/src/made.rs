//! Removes the files that a failed command created, unless they hold a wallet. A leftover folder
//! would prevent a restore.

use std::fs;
use std::path::PathBuf;

use tillgate_console::Command;
use tillgate_gateway::App;
use tillgate_machine::secrets::Purpose;

use super::args::Common;

/// The files that a command may create: the environment's folder and the secrets file.
/// `DataDir::made` tells whether the folder was created.
#[derive(Debug)]
pub struct MadeByCommand {
    /// `None` if a secrets file existed before.
    secrets_file: Option<PathBuf>,
}

impl MadeByCommand {
    /// The value before the command runs.
    pub fn before(common: &Common) -> Self {
        Self {
            secrets_file: common
                .secrets_file
                .clone()
                .filter(|path| path.symlink_metadata().is_err()),
        }
    }

    /// Removes the environment's folder and the secrets file, if the command created them. Keeps
    /// both if there is a wallet, or words of a wallet among the secrets. The gateway still locks
    /// the folder, so no other program uses the folder.
    pub fn take_back(&self, command: &Command, app: &App) {
        let begins = matches!(
            command,
            Command::CreateWallet(_)
                | Command::RestoreWallet(_)
                | Command::SetSetting(_)
                | Command::ChangeSettings(_)
        );
        let gateway = &app.gateway;
        let made = gateway.machine.data_dir.made();
        if !begins || !made.environment {
            return;
        }
        let has_wallet = gateway.store.read(|reader| reader.has_wallet());
        let words = gateway.machine.secrets.get(Purpose::WalletMnemonic);
        if !matches!((has_wallet, words), (Ok(false), Ok(None))) {
            return;
        }
        // Errors are ignored, because a file that stays loses no work.
        let env_dir = gateway.machine.data_dir.path();
        let _ = fs::remove_dir_all(env_dir);
        if let Some(file) = &self.secrets_file {
            let _ = fs::remove_file(file);
        }
        if let Some(base) = env_dir.parent().filter(|_| made.base) {
            let _ = fs::remove_dir(base);
        }
    }
}
