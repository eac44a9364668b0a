//! What a command made of the disk before it was refused or broken off: taken away again, where a wallet was to be made and
//! none was. A folder that stays would be in the way of a restore.

use std::fs;
use std::path::PathBuf;

use super::args::Common;
use crate::app::App;
use crate::console::Command;
use crate::machine::data_dir::{self, DataDirError};
use crate::machine::secrets::Purpose;

/// What was not there before a command.
#[derive(Debug)]
pub(super) struct Made {
    env_dir: PathBuf,
    /// The folder of all environments, where that was not there either.
    base: Option<PathBuf>,
    /// The secrets file: it opens for the installation alone that it was made for.
    secrets_file: Option<PathBuf>,
}

impl Made {
    /// What the command is about to make; `None` where the environment's folder is there, whatever it holds.
    pub(super) fn by(common: &Common) -> Result<Option<Self>, DataDirError> {
        let is_new = |path: &PathBuf| path.symlink_metadata().is_err();
        let base = data_dir::base(common.data_dir.as_deref())?;
        let env_dir = data_dir::env_dir(&base, common.environment);
        let secrets_file = common.secrets_file.clone().filter(is_new);
        Ok(is_new(&env_dir).then(|| Self { env_dir, base: Some(base).filter(is_new), secrets_file }))
    }

    /// Takes it away, as far as it goes, unless there is a wallet, or words for one lie with the secrets. The gateway that holds the
    /// folder is open yet: nobody else has begun to use it.
    pub(super) fn take_back(&self, command: &Command, app: &App) {
        if !matches!(command, Command::CreateWallet(_) | Command::RestoreWallet(_)) {
            return;
        }
        let gateway = &app.gateway;
        let has_wallet = gateway.store.read(|reader| reader.has_wallet());
        let words = gateway.secrets.get(Purpose::WalletMnemonic);
        if !matches!((has_wallet, words), (Ok(false), Ok(None))) {
            return;
        }
        // What cannot be removed stays as it was made: nothing is lost by it.
        let _ = fs::remove_dir_all(&self.env_dir);
        if let Some(file) = &self.secrets_file {
            let _ = fs::remove_file(file);
        }
        if let Some(base) = &self.base {
            let _ = fs::remove_dir(base);
        }
    }
}
