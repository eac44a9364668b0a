//! The trait that all stores of secrets implement.

use super::secret::{Purpose, Secret};

/// Reason why a secret cannot be read or stored: a sentence with the remedy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, tillgate_told::Told)]
#[error("{0}")]
pub struct SecretError(pub String);

/// The secrets of one installation and environment. Calls block.
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

    /// The store's name for `doctor` and the log, like "the OS keyring".
    fn describe(&self) -> String;
}
