//! Stores of secrets: the OS keyring, or a file in its place. A secret is never in the database or
//! a log.

mod encrypted_file;
mod keyring;
mod location;
mod plain_file;
mod secret;
mod store;

pub use keyring::LOG_TARGET as KEYRING_LOG_TARGET;
pub use location::{Coins, SecretsLocation, check_for_new, open};
pub use secret::{Purpose, Secret};
pub use store::{SecretError, SecretStore};
