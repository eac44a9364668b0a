//! A file of its owner's alone, unencrypted: the sandbox's place for secrets, whose coins are worth nothing. Never used
//! in production.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use zeroize::{Zeroize as _, Zeroizing};

use super::{Purpose, Secret, SecretError, SecretStore};

/// Secrets in a file: a JSON object of purpose and secret.
pub(super) struct PlainFile {
    file: PathBuf,
    /// Held over reading, changing and writing the file.
    changing: Mutex<()>,
}

impl PlainFile {
    pub(super) fn new(file: PathBuf) -> Self {
        Self { file, changing: Mutex::new(()) }
    }

    fn read(&self) -> Result<BTreeMap<String, String>, SecretError> {
        match fs::read_to_string(&self.file).map(Zeroizing::new) {
            Ok(text) => serde_json::from_str(&text).map_err(|_| {
                SecretError(format!("{} does not hold the sandbox's secrets any more: restore it", self.file.display()))
            }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(BTreeMap::new()),
            Err(error) => Err(SecretError(format!("{} cannot be read: {error}", self.file.display()))),
        }
    }

    /// Written whole beside the old file and put in its place, so that a crash leaves the one or the other.
    fn write(&self, secrets: &BTreeMap<String, String>) -> io::Result<()> {
        let text = Zeroizing::new(serde_json::to_vec(secrets)?);
        let beside = self.file.with_extension("new");
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut open = options.open(&beside)?;
        open.write_all(&text)?;
        open.sync_all()?;
        fs::rename(&beside, &self.file)?;
        sync_folder(&self.file)
    }
}

impl SecretStore for PlainFile {
    fn get(&self, purpose: Purpose) -> Result<Option<Secret>, SecretError> {
        let mut secrets = self.read()?;
        let found = secrets.remove(name(purpose)).map(Secret::new);
        secrets.values_mut().for_each(zeroize::Zeroize::zeroize);
        Ok(found)
    }

    fn set(&self, purpose: Purpose, secret: &Secret) -> Result<(), SecretError> {
        let _one_at_a_time = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut secrets = self.read()?;
        if let Some(mut old) = secrets.insert(name(purpose).to_owned(), secret.reveal().to_owned()) {
            old.zeroize();
        }
        let written = self.write(&secrets);
        secrets.values_mut().for_each(zeroize::Zeroize::zeroize);
        written.map_err(|error| SecretError(format!("{} cannot be written: {error}", self.file.display())))
    }

    fn describe(&self) -> String {
        format!("the file {}, unencrypted", self.file.display())
    }
}

fn name(purpose: Purpose) -> &'static str {
    match purpose {
        Purpose::WalletMnemonic => "walletMnemonic",
        Purpose::HmacKeys => "hmacKeys",
    }
}

/// A rename is durable once its folder is.
fn sync_folder(file: &Path) -> io::Result<()> {
    #[cfg(unix)]
    if let Some(folder) = file.parent() {
        fs::File::open(folder)?.sync_all()?;
    }
    #[cfg(not(unix))]
    let _ = file;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_survive_a_restart_in_a_file_of_their_owner_alone() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("secrets.json");
        let store = PlainFile::new(file.clone());
        assert!(store.get(Purpose::WalletMnemonic).unwrap().is_none());
        store.set(Purpose::WalletMnemonic, &Secret::new("words".to_owned())).unwrap();
        store.set(Purpose::HmacKeys, &Secret::new("keys".to_owned())).unwrap();
        let again = PlainFile::new(file.clone());
        assert_eq!(again.get(Purpose::WalletMnemonic).unwrap().unwrap().reveal(), "words");
        assert_eq!(again.get(Purpose::HmacKeys).unwrap().unwrap().reveal(), "keys");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        }
    }

    #[test]
    fn a_file_that_holds_something_else_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("secrets.json");
        fs::write(&file, "nothing").unwrap();
        let error = PlainFile::new(file).get(Purpose::HmacKeys).unwrap_err().to_string();
        assert!(error.contains("secrets.json"), "{error}");
    }
}
