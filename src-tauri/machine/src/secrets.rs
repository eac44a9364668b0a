//! Stores of secrets: the OS keyring, or a file in its place. A secret is never in the database or a log.

mod encrypted_file;
mod keyring;
mod location;
mod plain_file;
mod secret;
mod store;

pub use location::SecretsLocation;
pub use location::{Coins, check_for_new, open};
pub use secret::Purpose;
pub use secret::Secret;
pub use store::{SecretError, SecretStore};
