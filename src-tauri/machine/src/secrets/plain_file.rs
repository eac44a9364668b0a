//! An unencrypted file that only its owner may read. It holds the secrets of the sandbox, whose
//! coins are worthless, and never the secrets of production.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

use parking_lot::Mutex;
use zeroize::{Zeroize, Zeroizing};

use super::secret::{Purpose, Secret};
use super::store::{SecretError, SecretStore};
use crate::private_file;

/// Secrets in a file: a JSON object of purpose and secret.
pub(super) struct PlainFile {
    file: PathBuf,
    /// Held while the file is read, changed and written.
    changing: Mutex<()>,
}

impl PlainFile {
    pub(super) fn new(file: PathBuf) -> Self {
        Self { file, changing: Mutex::new(()) }
    }

    fn load(&self) -> Result<BTreeMap<String, String>, SecretError> {
        let text = private_file::read(&self.file).map_err(|error| {
            SecretError(format!("{} cannot be read: {error}", self.file.display()))
        })?;
        let Some(text) = text else { return Ok(BTreeMap::new()) };
        serde_json::from_str(&text).map_err(|_| {
            SecretError(format!(
                "{} does not hold the sandbox's secrets any more: restore it",
                self.file.display()
            ))
        })
    }

    fn write(&self, secrets: &BTreeMap<String, String>) -> io::Result<()> {
        private_file::replace(&self.file, &Zeroizing::new(serde_json::to_vec(secrets)?))
    }
}

impl SecretStore for PlainFile {
    fn get(&self, purpose: Purpose) -> Result<Option<Secret>, SecretError> {
        let mut secrets = self.load()?;
        let found = secrets.remove(purpose.as_str()).map(Secret::new);
        secrets.values_mut().for_each(Zeroize::zeroize);
        Ok(found)
    }

    fn set(&self, purpose: Purpose, secret: &Secret) -> Result<(), SecretError> {
        let _one_at_a_time = self.changing.lock();
        let mut secrets = self.load()?;
        if let Some(mut old) =
            secrets.insert(purpose.as_str().to_owned(), secret.reveal().to_owned())
        {
            old.zeroize();
        }
        let written = self.write(&secrets);
        secrets.values_mut().for_each(Zeroize::zeroize);
        written.map_err(|error| {
            SecretError(format!("{} cannot be written: {error}", self.file.display()))
        })
    }

    fn describe(&self) -> String {
        format!("the file {}, unencrypted", self.file.display())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn secrets_survive_a_restart_and_only_their_owner_reads_them() {
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
