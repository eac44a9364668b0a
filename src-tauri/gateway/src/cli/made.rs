//! What a command made of the disk before it was refused or broken off: taken away again, where a wallet was to be made and
//! none was, or a setting was refused. A folder that stays would be in the way of a restore.

use std::fs;
use std::path::PathBuf;

use super::args::Common;
use crate::app::App;
use crate::console::Command;
use crate::machine::secrets::Purpose;

/// What a command may make of the disk: the environment's folder, which knows itself whether it was made, and the secrets file.
#[derive(Debug)]
pub(super) struct MadeByCommand {
    /// `None` where there was one before: it opens for the installation alone that it was made for.
    secrets_file: Option<PathBuf>,
}

impl MadeByCommand {
    /// What the command may make.
    pub(super) fn before(common: &Common) -> Self {
        Self { secrets_file: common.secrets_file.clone().filter(|path| path.symlink_metadata().is_err()) }
    }

    /// Takes all of it away, the environment's whole folder too, as far as it goes, unless there is a wallet, or words for one lie with
    /// the secrets. The gateway that holds the folder is open yet: nobody else has begun to use it.
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
        // What cannot be removed stays as it was made: nothing is lost by it.
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
