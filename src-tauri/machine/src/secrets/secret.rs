//! A secret and its purpose.

use std::fmt;

use zeroize::Zeroizing;

/// The purpose of a secret, which is part of its entry's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// The BIP39 mnemonic.
    WalletMnemonic,
    /// The HMAC key that signs notifications, with its predecessors, as JSON.
    HmacKeys,
    /// The gateway's password for the Bitcoin backend.
    BackendPassword,
    /// A second entry for the backend's password. The settings name the entry in effect, and a new
    /// password is written to the other entry. So a new password is never used before its settings
    /// are stored.
    SecondBackendPassword,
    /// The key of nightly backups, which are made without a typed passphrase.
    BackupKey,
}

impl Purpose {
    /// All purposes. A backup holds the secret of each.
    pub const ALL: [Self; 5] = [
        Self::WalletMnemonic,
        Self::HmacKeys,
        Self::BackendPassword,
        Self::SecondBackendPassword,
        Self::BackupKey,
    ];

    /// The name of the secret in a store.
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
    #[must_use]
    pub fn new(text: String) -> Self {
        Self(Zeroizing::new(text))
    }

    /// The secret's text. The caller must neither print nor log it.
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
