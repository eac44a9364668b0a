//! The place of an environment's secrets.
//!
//! A marker in the environment's folder records the place of the first secret, and later secrets
//! are looked for only there. A keyring that is missing for a while must not look like an
//! installation without secrets, or a second wallet would be made.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tillgate_domain::id::Id;

use super::encrypted_file::EncryptedFile;
use super::keyring::Keyring;
use super::plain_file::PlainFile;
use super::secret::{Purpose, Secret};
use super::store::{SecretError, SecretStore};
use crate::environment::Environment;
use crate::private_file;

/// The marker's name in the environment's folder.
const MARKER: &str = "secrets.place";

/// The name of the plain file of secrets in the environment's folder, used by the sandbox.
const PLAIN_FILE: &str = "secrets.json";

/// The place that the caller chose for the secrets.
#[derive(Debug, Clone)]
pub enum SecretsLocation {
    /// The OS keyring; the sandbox falls back to a file in its folder.
    Keyring,
    /// A file encrypted with a passphrase.
    File {
        /// The file, created if missing.
        file: PathBuf,
        /// The passphrase, which must not be empty.
        passphrase: Secret,
    },
    /// A plain file in the environment's folder, even if there is a keyring. For the sandbox only.
    SandboxFile,
}

/// The coins that the secrets can spend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coins {
    /// The sandbox's worthless coins. Without a keyring their secrets may be stored unencrypted.
    Sandbox,
    /// Coins of a public or shared test chain.
    Test,
    /// Real money.
    Production,
}

/// The place of an installation's secrets, as the marker records it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Location {
    Keyring,
    PlainFile,
    EncryptedFile,
}

impl Coins {
    /// The coins of an environment; `is_sandbox` tells whether its chain is the sandbox's.
    pub const fn in_environment(environment: Environment, is_sandbox: bool) -> Self {
        match environment {
            Environment::Production => Self::Production,
            Environment::Test if is_sandbox => Self::Sandbox,
            Environment::Test => Self::Test,
        }
    }

    const fn environment(self) -> Environment {
        match self {
            Self::Sandbox | Self::Test => Environment::Test,
            Self::Production => Environment::Production,
        }
    }
}

impl Location {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Keyring => "keyring",
            Self::PlainFile => "file",
            Self::EncryptedFile => "secrets-file",
        }
    }
}

/// A store of secrets that writes its marker before its first secret.
struct Marked {
    store: Box<dyn SecretStore>,
    location: Location,
    /// Whether the words of a new wallet must not be stored in this store.
    takes_no_words: bool,
    folder: PathBuf,
}

impl SecretStore for Marked {
    fn get(&self, purpose: Purpose) -> Result<Option<Secret>, SecretError> {
        self.store.get(purpose)
    }

    fn set(&self, purpose: Purpose, secret: &Secret) -> Result<(), SecretError> {
        if self.takes_no_words && purpose == Purpose::WalletMnemonic {
            return Err(SecretError(
                "the secrets of this installation are stored in a plain file, which may hold a wallet's words for the sandbox alone: \
                 begin in another --data-dir, with an OS keyring, or with --secrets-file FILE and its passphrase in TILLGATE_PASSPHRASE"
                    .to_owned(),
            ));
        }
        // The marker is written first, because a secret without a marker would be overlooked. A
        // marker without a secret is harmless.
        if read_marker(&self.folder)?.is_none() {
            let marker = self.folder.join(MARKER);
            private_file::replace(&marker, self.location.as_str().as_bytes()).map_err(|error| {
                SecretError(format!("{} cannot be written: {error}", marker.display()))
            })?;
        }
        self.store.set(purpose, secret)
    }

    fn describe(&self) -> String {
        self.store.describe()
    }
}

/// Opens the secret store of one installation and environment; `folder` is the environment's. The
/// call may block while a keyring waits for a person's password.
///
/// # Errors
/// When no store can be used for the environment, or the wanted store does not hold its secrets;
/// with the remedy.
pub fn open(
    wanted: &SecretsLocation,
    coins: Coins,
    installation: &Id,
    folder: &Path,
) -> Result<Arc<dyn SecretStore>, SecretError> {
    let (marker, environment) = (read_marker(folder)?, coins.environment());
    let mut takes_no_words = false;
    let (location, store): (Location, Box<dyn SecretStore>) = match wanted {
        SecretsLocation::File { file, passphrase } => (
            Location::EncryptedFile,
            Box::new(encrypted(marker, file, passphrase, installation, environment)?),
        ),
        SecretsLocation::SandboxFile => match (environment, marker) {
            (Environment::Test, None | Some(Location::PlainFile)) => {
                (Location::PlainFile, Box::new(PlainFile::new(folder.join(PLAIN_FILE))))
            }
            (Environment::Test, Some(elsewhere)) => return Err(stored_elsewhere(elsewhere)),
            (Environment::Production, _) => return Err(no_plain_file()),
        },
        SecretsLocation::Keyring => {
            let keyring = Keyring::new(installation, environment);
            let location = keyring_or_fallback(
                marker,
                coins,
                folder,
                || keyring.reach(),
                || keyring.try_out(),
            )?;
            match location {
                Location::PlainFile => {
                    takes_no_words = coins != Coins::Sandbox;
                    (location, Box::new(PlainFile::new(folder.join(PLAIN_FILE))))
                }
                Location::Keyring | Location::EncryptedFile => {
                    (Location::Keyring, Box::new(keyring))
                }
            }
        }
    };
    Ok(Arc::new(Marked { store, location, takes_no_words, folder: folder.to_owned() }))
}

/// Checks that a new installation could keep its secrets in the wanted place, before any file is
/// made. `trial` is an unused installation id. The check may block as [`open`] does.
///
/// # Errors
/// As [`open`], with the remedy.
pub fn check_for_new(
    wanted: &SecretsLocation,
    coins: Coins,
    trial: &Id,
) -> Result<(), SecretError> {
    let environment = coins.environment();
    match (wanted, coins) {
        (SecretsLocation::Keyring, Coins::Sandbox)
        | (SecretsLocation::SandboxFile, Coins::Sandbox | Coins::Test) => Ok(()),
        (SecretsLocation::SandboxFile, Coins::Production) => Err(no_plain_file()),
        (SecretsLocation::Keyring, Coins::Test | Coins::Production) => {
            Keyring::new(trial, environment).try_out().map_err(|error| no_keyring(coins, &error))
        }
        // An existing file belongs to another installation, whose secrets are left alone.
        (SecretsLocation::File { file, passphrase }, _) if file.exists() => {
            EncryptedFile::open(file, passphrase, trial, environment).map(drop)
        }
        (SecretsLocation::File { file, .. }, _) => match file.parent() {
            Some(folder) if folder.as_os_str().is_empty() || folder.is_dir() => Ok(()),
            Some(_) | None => Err(SecretError(format!(
                "the secrets file {} is in a folder that does not exist: make the folder, or name another file",
                file.display()
            ))),
        },
    }
}

fn encrypted(
    marker: Option<Location>,
    file: &Path,
    passphrase: &Secret,
    installation: &Id,
    environment: Environment,
) -> Result<EncryptedFile, SecretError> {
    match marker {
        None => {}
        Some(Location::EncryptedFile) if file.exists() => {}
        Some(Location::EncryptedFile) => {
            return Err(SecretError(format!(
                "the secrets file {} is missing: restore it, or name the right one with --secrets-file",
                file.display()
            )));
        }
        Some(elsewhere) => return Err(stored_elsewhere(elsewhere)),
    }
    EncryptedFile::open(file, passphrase, installation, environment)
}

/// The place if the caller named no file: the keyring, or for the sandbox the plain file if no
/// keyring works. `reach` only contacts the keyring; `try_out` also stores a secret in it.
fn keyring_or_fallback(
    marker: Option<Location>,
    coins: Coins,
    folder: &Path,
    reach: impl FnOnce() -> Result<(), SecretError>,
    try_out: impl FnOnce() -> Result<(), SecretError>,
) -> Result<Location, SecretError> {
    match (marker, coins) {
        (Some(Location::EncryptedFile), _) => Err(stored_elsewhere(Location::EncryptedFile)),
        (Some(Location::PlainFile), Coins::Sandbox) => Ok(Location::PlainFile),
        (Some(Location::PlainFile), Coins::Test) => {
            // The existing secrets are in this file, so it stays in use.
            tracing::warn!(
                "the secrets of this installation are stored in a plain file, which is for the sandbox alone"
            );
            Ok(Location::PlainFile)
        }
        (Some(Location::PlainFile), Coins::Production) => {
            Err(stored_elsewhere(Location::PlainFile))
        }
        (Some(Location::Keyring), _) => {
            if let Err(error) = reach() {
                let sentence = format!(
                    "the secrets of this installation are stored in the OS keyring. {error}"
                );
                match coins {
                    Coins::Production => return Err(SecretError(sentence)),
                    // Payments need no secret. Payouts fail with the same sentence until the
                    // keyring works.
                    Coins::Sandbox | Coins::Test => tracing::error!("{sentence}"),
                }
            }
            Ok(Location::Keyring)
        }
        (None, _) => match (try_out(), coins) {
            (Ok(()), _) => Ok(Location::Keyring),
            (Err(error), Coins::Sandbox) => {
                tracing::warn!(
                    file = %folder.join(PLAIN_FILE).display(),
                    "no OS keyring can be used ({error}); the secrets of the sandbox's worthless coins are stored in a plain file"
                );
                Ok(Location::PlainFile)
            }
            (Err(error), Coins::Test | Coins::Production) => Err(no_keyring(coins, &error)),
        },
    }
}

fn no_keyring(coins: Coins, error: &SecretError) -> SecretError {
    let who = match coins {
        Coins::Production => "production",
        Coins::Sandbox | Coins::Test => "a test environment on a chain other than the sandbox's",
    };
    SecretError(format!(
        "{who} keeps its secrets in the OS keyring, and none can be used. {error}; \
         or keep them in an encrypted file: --secrets-file FILE, with the passphrase in TILLGATE_PASSPHRASE"
    ))
}

fn no_plain_file() -> SecretError {
    SecretError(
        "production never keeps its secrets in a plain file: use the OS keyring, or --secrets-file FILE".to_owned(),
    )
}

fn stored_elsewhere(location: Location) -> SecretError {
    SecretError(
        match location {
            Location::Keyring => "the secrets of this installation are stored in the OS keyring: start without --secrets-file",
            Location::PlainFile => {
                "the secrets of this installation are stored in a plain file in its folder: start it as the sandbox, without --secrets-file"
            }
            Location::EncryptedFile => {
                "the secrets of this installation are stored in an encrypted file: name it with --secrets-file FILE"
            }
        }
        .to_owned(),
    )
}

fn read_marker(folder: &Path) -> Result<Option<Location>, SecretError> {
    let marker = folder.join(MARKER);
    let text = private_file::read(&marker)
        .map_err(|error| SecretError(format!("{} cannot be read: {error}", marker.display())))?;
    let Some(text) = text else { return Ok(None) };
    [Location::Keyring, Location::PlainFile, Location::EncryptedFile]
        .into_iter()
        .find(|location| location.as_str() == text.trim())
        .map(Some)
        .ok_or_else(|| {
            SecretError(format!(
                "{} is damaged: write into it where the secrets are stored: keyring, file or secrets-file",
                marker.display()
            ))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    const OURS: Id = Id::from_bytes([1; 20]);

    fn works() -> Result<(), SecretError> {
        Ok(())
    }

    fn fails() -> Result<(), SecretError> {
        Err(SecretError("the keyring sleeps".to_owned()))
    }

    fn decide(
        marker: Option<Location>,
        coins: Coins,
        keyring: fn() -> Result<(), SecretError>,
    ) -> Result<Location, String> {
        keyring_or_fallback(marker, coins, Path::new("/folder"), keyring, keyring)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn a_working_keyring_is_used_unless_secrets_are_elsewhere() {
        for coins in [Coins::Sandbox, Coins::Test, Coins::Production] {
            for marker in [None, Some(Location::Keyring)] {
                assert_eq!(decide(marker, coins, works), Ok(Location::Keyring));
            }
            let refusal = decide(Some(Location::EncryptedFile), coins, works).unwrap_err();
            assert!(refusal.contains("--secrets-file FILE"), "{refusal}");
        }
        assert_eq!(
            decide(Some(Location::PlainFile), Coins::Sandbox, works),
            Ok(Location::PlainFile)
        );
    }

    #[test]
    fn without_a_keyring_only_the_sandbox_falls_back_to_a_file() {
        assert_eq!(decide(None, Coins::Sandbox, fails), Ok(Location::PlainFile));
        for (coins, who) in
            [(Coins::Production, "production"), (Coins::Test, "a chain other than the sandbox's")]
        {
            let refusal = decide(None, coins, fails).unwrap_err();
            assert!(
                refusal.contains("the keyring sleeps") && refusal.contains("--secrets-file"),
                "{refusal}"
            );
            assert!(refusal.contains(who), "{refusal}");
        }
    }

    #[test]
    fn a_file_never_replaces_a_keyring_that_is_missing_for_a_while() {
        assert_eq!(decide(Some(Location::Keyring), Coins::Sandbox, fails), Ok(Location::Keyring));
        let refusal = decide(Some(Location::Keyring), Coins::Production, fails).unwrap_err();
        assert!(
            refusal.contains("are stored in the OS keyring") && refusal.contains("sleeps"),
            "{refusal}"
        );
    }

    fn opened(wanted: &SecretsLocation, folder: &Path) -> Result<Arc<dyn SecretStore>, String> {
        open(wanted, Coins::Sandbox, &OURS, folder).map_err(|error| error.to_string())
    }

    #[test]
    fn the_first_secret_fixes_the_location() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("encrypted");
        let encrypted = SecretsLocation::File {
            file: file.clone(),
            passphrase: Secret::new("words".to_owned()),
        };
        opened(&encrypted, folder.path()).unwrap();
        let plain =
            opened(&SecretsLocation::SandboxFile, folder.path()).expect("no secret was stored yet");
        plain.set(Purpose::HmacKeys, &Secret::new("keys".to_owned())).unwrap();
        let refusal = opened(&encrypted, folder.path()).err().unwrap();
        assert!(refusal.contains("plain file"), "{refusal}");
        let again = opened(&SecretsLocation::SandboxFile, folder.path()).unwrap();
        assert_eq!(again.get(Purpose::HmacKeys).unwrap().unwrap().reveal(), "keys");
    }

    #[test]
    fn words_of_other_chains_never_go_into_an_existing_plain_file() {
        let folder = tempfile::tempdir().unwrap();
        let opened = |coins| open(&SecretsLocation::Keyring, coins, &OURS, folder.path()).unwrap();
        let words = Secret::new("words".to_owned());
        std::fs::write(folder.path().join(MARKER), Location::PlainFile.as_str()).unwrap();
        let store = opened(Coins::Test);
        store.set(Purpose::HmacKeys, &Secret::new("keys".to_owned())).unwrap();
        let refusal = store.set(Purpose::WalletMnemonic, &words).unwrap_err().to_string();
        assert!(refusal.contains("--secrets-file FILE"), "{refusal}");
        assert!(store.get(Purpose::WalletMnemonic).unwrap().is_none());
        opened(Coins::Sandbox).set(Purpose::WalletMnemonic, &words).unwrap();
        assert!(
            opened(Coins::Test).get(Purpose::WalletMnemonic).unwrap().is_some(),
            "existing words in the plain file can be read"
        );
    }

    #[test]
    fn a_missing_secrets_file_is_not_created_again() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("encrypted");
        let wanted = SecretsLocation::File {
            file: file.clone(),
            passphrase: Secret::new("words".to_owned()),
        };
        opened(&wanted, folder.path())
            .unwrap()
            .set(Purpose::HmacKeys, &Secret::new("keys".to_owned()))
            .unwrap();
        assert!(opened(&wanted, folder.path()).unwrap().get(Purpose::HmacKeys).unwrap().is_some());
        for other in [SecretsLocation::SandboxFile, SecretsLocation::Keyring] {
            let refusal = opened(&other, folder.path()).err().unwrap();
            assert!(refusal.contains("encrypted file"), "{refusal}");
        }
        std::fs::remove_file(&file).unwrap();
        let refusal = opened(&wanted, folder.path()).err().unwrap();
        assert!(refusal.contains("missing") && !file.exists(), "{refusal}");
    }

    #[test]
    fn production_never_uses_the_plain_file() {
        let folder = tempfile::tempdir().unwrap();
        assert!(
            open(&SecretsLocation::SandboxFile, Coins::Production, &OURS, folder.path()).is_err()
        );
    }

    #[test]
    fn a_misplaced_or_foreign_file_is_refused_before_any_is_made() {
        let folder = tempfile::tempdir().unwrap();
        let named = |file: &str| SecretsLocation::File {
            file: folder.path().join(file),
            passphrase: Secret::new("words".to_owned()),
        };
        let check = |wanted: &SecretsLocation| {
            check_for_new(wanted, Coins::Production, &Id::from_bytes([2; 20]))
                .map_err(|error| error.to_string())
        };
        assert_eq!(check(&named("new")), Ok(()));
        assert!(!folder.path().join("new").exists());
        opened(&named("used"), folder.path()).unwrap();
        assert!(check(&named("used")).unwrap_err().contains("another installation"));
        assert!(check(&named("nowhere/new")).unwrap_err().contains("a folder that does not exist"));
        assert!(check(&SecretsLocation::SandboxFile).unwrap_err().contains("plain file"));
    }

    #[test]
    fn a_damaged_marker_is_named() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(MARKER), "somewhere").unwrap();
        let refusal = opened(&SecretsLocation::SandboxFile, folder.path()).err().unwrap();
        assert!(refusal.contains("secrets.place is damaged"), "{refusal}");
    }
}
