//! The port of all stores of secrets.

use super::secret::{Purpose, Secret};

/// Reason why a secret cannot be read or stored: a sentence with the remedy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
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

    /// Its name for `doctor` and the log ("the OS keyring", "a file").
    fn describe(&self) -> String;
}
