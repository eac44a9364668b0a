//! Removes the files that a failed command created: when a wallet was to be made and none was, or when a setting was
//! refused. A folder that stays would prevent a restore.

use std::fs;
use std::path::PathBuf;

use super::args::Common;
use crate::app::App;
use crate::console::Command;
use crate::machine::secrets::Purpose;

/// The files that a command may create: the environment's folder and the secrets file. The folder itself knows whether
/// it was created.
#[derive(Debug)]
pub(super) struct MadeByCommand {
    /// `None` if a secrets file existed before.
    secrets_file: Option<PathBuf>,
}

impl MadeByCommand {
    /// The files that the command may create.
    pub(super) fn before(common: &Common) -> Self {
        Self { secrets_file: common.secrets_file.clone().filter(|path| path.symlink_metadata().is_err()) }
    }

    /// Removes these files as far as possible, with the environment's whole folder. It does not if there is a wallet,
    /// or words for one among the secrets. The gateway that holds the folder is still open, so no other program uses
    /// it yet.
    pub(super) fn take_back(&self, command: &Command, app: &App) {
        let begins = matches!(
            command,
            Command::CreateWallet(_) | Command::RestoreWallet(_) | Command::SetSetting(_) | Command::ChangeSettings(_)
        );
        let gateway = &app.gateway;
        let made = gateway.data_dir.made();
        if !begins || !made.environment {
            return;
        }
        let has_wallet = gateway.store.read(|reader| reader.has_wallet());
        let words = gateway.secrets.get(Purpose::WalletMnemonic);
        if !matches!((has_wallet, words), (Ok(false), Ok(None))) {
            return;
        }
        // A file that cannot be removed stays; no work is lost by that.
        let env_dir = gateway.data_dir.path();
        let _ = fs::remove_dir_all(env_dir);
        if let Some(file) = &self.secrets_file {
            let _ = fs::remove_file(file);
        }
        if let Some(base) = env_dir.parent().filter(|_| made.base) {
            let _ = fs::remove_dir(base);
        }
    }
}
