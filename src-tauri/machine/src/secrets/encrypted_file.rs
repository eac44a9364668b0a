//! Secrets in a file encrypted with a passphrase, for servers without a keyring.
//!
//! Argon2id derives the key from the passphrase, and XChaCha20-Poly1305 encrypts all secrets
//! together. The parameters, installation and environment are in the file and authenticated. So a
//! file of another installation does not open, and neither does a file with weakened parameters.
//! Only the key stays in memory: each use of a secret decrypts the file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use argon2::{Algorithm, Argon2, Params, Version};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use chacha20poly1305::aead::{Aead as _, Payload};
use chacha20poly1305::{KeyInit as _, XChaCha20Poly1305};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tillgate_domain::id::Id;
use zeroize::{Zeroize, Zeroizing};

use super::secret::{Purpose, Secret};
use super::store::{SecretError, SecretStore};
use crate::environment::Environment;
use crate::private_file;

const VERSION: u32 = 1;

/// RFC 9106, section 4, second recommendation: 64 MiB, 3 passes, 4 lanes.
const MEMORY_KIB: u32 = 64 * 1_024;
const PASSES: u32 = 3;
const LANES: u32 = 4;

/// Upper bounds of the parameters in a file, far above Tillgate's own. Larger parameters would
/// stall the machine.
const MEMORY_KIB_MAX: u32 = 1_024 * 1_024;
const PASSES_MAX: u32 = 100;

const SALT_BYTES: usize = 16;
const KEY_BYTES: usize = 32;
const NONCE_BYTES: usize = 24;

pub(super) struct EncryptedFile {
    file: PathBuf,
    header: Header,
    key: Zeroizing<[u8; KEY_BYTES]>,
    /// Held while the file is read, changed and written.
    changing: Mutex<()>,
}

/// The part of the file that is authenticated and not encrypted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Header {
    tillgate_secrets: u32,
    installation: String,
    environment: String,
    kdf: String,
    memory_kib: u32,
    passes: u32,
    lanes: u32,
    salt: String,
    cipher: String,
}

/// The file as JSON.
#[derive(Serialize, Deserialize)]
struct Sealed {
    #[serde(flatten)]
    header: Header,
    nonce: String,
    sealed: String,
}

/// Secrets by the name of their purpose, wiped when dropped.
#[derive(Default, Serialize, Deserialize)]
#[serde(transparent)]
struct Secrets(BTreeMap<String, String>);

impl Drop for Secrets {
    fn drop(&mut self) {
        self.0.values_mut().for_each(Zeroize::zeroize);
    }
}

impl EncryptedFile {
    /// Opens the file, or creates a missing one.
    pub(super) fn open(
        file: &Path,
        passphrase: &Secret,
        installation: &Id,
        environment: Environment,
    ) -> Result<Self, SecretError> {
        if passphrase.reveal().is_empty() {
            return Err(SecretError(
                "the passphrase of the secrets file is empty: set TILLGATE_PASSPHRASE".to_owned(),
            ));
        }
        match load(file)? {
            Some(sealed) => Self::unseal(file, sealed, passphrase, installation, environment),
            None => Self::create(file, passphrase, installation, environment),
        }
    }

    fn create(
        file: &Path,
        passphrase: &Secret,
        installation: &Id,
        environment: Environment,
    ) -> Result<Self, SecretError> {
        let header = Header {
            tillgate_secrets: VERSION,
            installation: installation.to_string(),
            environment: environment.as_str().to_owned(),
            kdf: "argon2id".to_owned(),
            memory_kib: MEMORY_KIB,
            passes: PASSES,
            lanes: LANES,
            salt: BASE64.encode(random::<SALT_BYTES>()?),
            cipher: "xchacha20poly1305".to_owned(),
        };
        let key = header.key(file, passphrase)?;
        let made = Self { file: file.to_owned(), header, key, changing: Mutex::default() };
        // The file is written at once, so that an unwritable place is an error at the start.
        made.write(&Secrets::default())?;
        Ok(made)
    }

    fn unseal(
        file: &Path,
        sealed: Sealed,
        passphrase: &Secret,
        installation: &Id,
        environment: Environment,
    ) -> Result<Self, SecretError> {
        let header = &sealed.header;
        if header.tillgate_secrets != VERSION
            || header.kdf != "argon2id"
            || header.cipher != "xchacha20poly1305"
        {
            return Err(wrong(
                file,
                "has a form that this program does not know: install the newer Tillgate again",
            ));
        }
        if header.installation != installation.to_string()
            || header.environment != environment.as_str()
        {
            return Err(wrong(
                file,
                "holds the secrets of another installation or environment: name the right file",
            ));
        }
        let key = header.key(file, passphrase)?;
        let opened = Self {
            file: file.to_owned(),
            header: sealed.header.clone(),
            key,
            changing: Mutex::default(),
        };
        opened.opened(&sealed)?;
        Ok(opened)
    }

    fn secrets(&self) -> Result<Secrets, SecretError> {
        let sealed =
            load(&self.file)?.ok_or_else(|| wrong(&self.file, "is missing: restore it"))?;
        if sealed.header != self.header {
            return Err(wrong(
                &self.file,
                "was replaced by another file: put the former file back, or start Tillgate again",
            ));
        }
        self.opened(&sealed)
    }

    fn opened(&self, sealed: &Sealed) -> Result<Secrets, SecretError> {
        let file = &self.file;
        let nonce: [u8; NONCE_BYTES] =
            decoded(&sealed.nonce).ok_or_else(|| wrong(file, "is damaged"))?;
        let bytes = BASE64.decode(&sealed.sealed).map_err(|_| wrong(file, "is damaged"))?;
        let payload = Payload { msg: &bytes, aad: &self.header.bytes(file)? };
        let opened = cipher(&self.key).decrypt(&nonce.into(), payload).map_err(|_| {
            wrong(file, "does not open: the passphrase is wrong, or the file was changed")
        })?;
        serde_json::from_slice(&Zeroizing::new(opened)).map_err(|_| wrong(file, "is damaged"))
    }

    fn write(&self, secrets: &Secrets) -> Result<(), SecretError> {
        let text = Zeroizing::new(
            serde_json::to_vec(secrets)
                .map_err(|error| failed(&self.file, "cannot be written", &error))?,
        );
        // A nonce of 192 random bits never repeats.
        let nonce = random::<NONCE_BYTES>()?;
        let payload = Payload { msg: &text, aad: &self.header.bytes(&self.file)? };
        let sealed = cipher(&self.key)
            .encrypt(&nonce.into(), payload)
            .map_err(|_| wrong(&self.file, "cannot be encrypted: it is too large"))?;
        let sealed = Sealed {
            header: self.header.clone(),
            nonce: BASE64.encode(nonce),
            sealed: BASE64.encode(sealed),
        };
        let json = serde_json::to_vec_pretty(&sealed)
            .map_err(|error| failed(&self.file, "cannot be written", &error))?;
        private_file::replace(&self.file, &json)
            .map_err(|error| failed(&self.file, "cannot be written", &error))
    }
}

impl SecretStore for EncryptedFile {
    fn get(&self, purpose: Purpose) -> Result<Option<Secret>, SecretError> {
        Ok(self.secrets()?.0.remove(purpose.as_str()).map(Secret::new))
    }

    fn set(&self, purpose: Purpose, secret: &Secret) -> Result<(), SecretError> {
        let _one_at_a_time = self.changing.lock();
        let mut secrets = self.secrets()?;
        if let Some(mut old) =
            secrets.0.insert(purpose.as_str().to_owned(), secret.reveal().to_owned())
        {
            old.zeroize();
        }
        self.write(&secrets)
    }

    fn describe(&self) -> String {
        format!("the encrypted file {}", self.file.display())
    }
}

impl Header {
    /// The authenticated bytes, in the order of the struct's fields.
    fn bytes(&self, file: &Path) -> Result<Vec<u8>, SecretError> {
        serde_json::to_vec(self).map_err(|error| failed(file, "cannot be written", &error))
    }

    fn key(
        &self,
        file: &Path,
        passphrase: &Secret,
    ) -> Result<Zeroizing<[u8; KEY_BYTES]>, SecretError> {
        if self.memory_kib > MEMORY_KIB_MAX || self.passes > PASSES_MAX {
            return Err(wrong(
                file,
                "needs more memory or time to open than any file of Tillgate does",
            ));
        }
        let salt: [u8; SALT_BYTES] =
            decoded(&self.salt).ok_or_else(|| wrong(file, "is damaged"))?;
        let params = Params::new(self.memory_kib, self.passes, self.lanes, Some(KEY_BYTES))
            .map_err(|_| wrong(file, "is damaged"))?;
        let mut key = Zeroizing::new([0; KEY_BYTES]);
        Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
            .hash_password_into(passphrase.reveal().as_bytes(), &salt, key.as_mut())
            .map_err(|error| failed(file, "cannot be opened with this passphrase", &error))?;
        Ok(key)
    }
}

/// Reads and parses the file; `None` if there is no file.
fn load(file: &Path) -> Result<Option<Sealed>, SecretError> {
    let text = private_file::read(file).map_err(|error| failed(file, "cannot be read", &error))?;
    let sealed = |text: Zeroizing<String>| serde_json::from_str(&text);
    text.map(sealed)
        .transpose()
        .map_err(|_| wrong(file, "is not a file of Tillgate's secrets, or damaged"))
}

fn cipher(key: &[u8; KEY_BYTES]) -> XChaCha20Poly1305 {
    XChaCha20Poly1305::new(key.into())
}

fn random<const N: usize>() -> Result<[u8; N], SecretError> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|_| {
        SecretError("the operating system gave no random bytes to encrypt secrets with".to_owned())
    })?;
    Ok(bytes)
}

fn decoded<const N: usize>(text: &str) -> Option<[u8; N]> {
    BASE64.decode(text).ok()?.try_into().ok()
}

fn wrong(file: &Path, what: &str) -> SecretError {
    SecretError(format!("the secrets file {} {what}", file.display()))
}

fn failed(file: &Path, what: &str, why: &dyn std::fmt::Display) -> SecretError {
    SecretError(format!("the secrets file {} {what}: {why}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OURS: Id = Id::from_bytes([1; 20]);

    fn passphrase(text: &str) -> Secret {
        Secret::new(text.to_owned())
    }

    fn open(file: &Path, words: &str) -> Result<EncryptedFile, SecretError> {
        EncryptedFile::open(file, &passphrase(words), &OURS, Environment::Production)
    }

    #[test]
    fn secrets_are_read_only_with_the_passphrase() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("secrets");
        let store = open(&file, "right").unwrap();
        store.set(Purpose::WalletMnemonic, &Secret::new("abandon ability".to_owned())).unwrap();
        store.set(Purpose::HmacKeys, &Secret::new("whsec_x".to_owned())).unwrap();
        assert_eq!(store.get(Purpose::HmacKeys).unwrap().unwrap().reveal(), "whsec_x");

        let again = open(&file, "right").unwrap();
        assert_eq!(
            again.get(Purpose::WalletMnemonic).unwrap().unwrap().reveal(),
            "abandon ability"
        );
        let refusal = open(&file, "wrong").err().unwrap().to_string();
        assert!(refusal.contains("passphrase is wrong"), "{refusal}");
        assert!(open(&file, "").err().unwrap().to_string().contains("TILLGATE_PASSPHRASE"));
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(!text.contains("abandon") && !text.contains("whsec"), "{text}");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        }
    }

    #[test]
    fn a_file_of_others_or_with_changed_content_does_not_open() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("secrets");
        open(&file, "right").unwrap();
        let text = std::fs::read_to_string(&file).unwrap();
        let theirs = Id::from_bytes([2; 20]);
        for (installation, environment) in
            [(&theirs, Environment::Production), (&OURS, Environment::Test)]
        {
            let refusal =
                EncryptedFile::open(&file, &passphrase("right"), installation, environment)
                    .err()
                    .unwrap();
            assert!(refusal.to_string().contains("another installation"), "{refusal}");
        }
        for (from, to, says) in [
            ("\"passes\": 3", "\"passes\": 2", "does not open"),
            ("\"memoryKib\": 65536", "\"memoryKib\": 4294967295", "more memory"),
            ("\"tillgateSecrets\": 1", "\"tillgateSecrets\": 2", "does not know"),
            ("\"sealed\": \"", "\"sealed\": \"AAAA", "does not open"),
            ("{", "", "damaged"),
        ] {
            let changed = text.replacen(from, to, 1);
            assert_ne!(changed, text);
            std::fs::write(&file, changed).unwrap();
            let refusal = open(&file, "right").err().unwrap().to_string();
            assert!(refusal.contains(says), "{from}: {refusal}");
        }
    }

    #[test]
    fn a_place_that_cannot_be_written_is_found_at_the_start() {
        let folder = tempfile::tempdir().unwrap();
        let refusal =
            open(&folder.path().join("missing/secrets"), "right").err().unwrap().to_string();
        assert!(refusal.contains("cannot be written"), "{refusal}");
    }
}
