//! Where secrets lie: the OS keyring, or the file that stands in for it. Never the database, and never a log.

mod encrypted_file;
mod keyring;
mod location;
mod plain_file;

use std::fmt;

use zeroize::Zeroizing;

pub use location::SecretsLocation;
pub(crate) use location::{Coins, check_for_new, open};

/// What a secret is for; part of its entry's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// The BIP39 mnemonic.
    WalletMnemonic,
    /// The HMAC key that signs notifications, and those it replaced, as JSON.
    HmacKeys,
    /// The password with which the gateway signs in at the Bitcoin backend.
    BackendPassword,
    /// The same, where the settings say that it lies there: two take turns, so that a new one never stands in for the one
    /// in effect before the settings beside it are stored.
    SecondBackendPassword,
    /// The key that seals backups which are made while nobody is there to give a passphrase.
    BackupKey,
}

impl Purpose {
    /// All that there are: what a backup takes along.
    pub(crate) const ALL: [Self; 5] =
        [Self::WalletMnemonic, Self::HmacKeys, Self::BackendPassword, Self::SecondBackendPassword, Self::BackupKey];

    /// Its name in a store of secrets.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::WalletMnemonic => "walletMnemonic",
            Self::HmacKeys => "hmacKeys",
            Self::BackendPassword => "backendPassword",
            Self::SecondBackendPassword => "backendPassword2",
            Self::BackupKey => "backupKey",
        }
    }
}

/// A secret's text, wiped when dropped and never printed.
#[derive(Clone)]
pub struct Secret(Zeroizing<String>);

impl Secret {
    /// Takes over a text.
    #[must_use]
    pub fn new(text: String) -> Self {
        Self(Zeroizing::new(text))
    }

    /// The text itself.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[REDACTED]")
    }
}

/// Why a secret cannot be had, a sentence with the remedy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SecretError(pub String);

/// Where the secrets of one installation and environment lie. Calls block.
pub trait SecretStore: Send + Sync {
    /// The secret, if there is one.
    ///
    /// # Errors
    /// When the store is locked or missing.
    fn get(&self, purpose: Purpose) -> Result<Option<Secret>, SecretError>;

    /// Stores a secret, durably.
    ///
    /// # Errors
    /// When the store is locked or missing.
    fn set(&self, purpose: Purpose, secret: &Secret) -> Result<(), SecretError>;

    /// What it is, for `doctor` and the log ("the OS keyring", "a file").
    fn describe(&self) -> String;
}
