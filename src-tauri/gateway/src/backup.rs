//! Backups: one file, sealed with a passphrase, that makes this environment's gateway again on a bare machine. It holds
//! the database, the secrets, and in the sandbox the chain. Backups are made while the gateway runs and each night,
//! checked, and restored. Copies in the clear never leave the environment's own folder.

mod contents;
mod error;
mod examine;
mod folder;
mod key;
mod make;
mod mark;
mod nightly;
mod place;
mod restore;
mod schedule;
mod sealed;
#[cfg(test)]
mod tests;
mod tidy;
mod verify;

pub(crate) use error::BackupError;
pub(crate) use folder::mark_folder;
pub(crate) use key::shortest_passphrase;
pub(crate) use make::{KeySource, Place, make, set_passphrase};
pub(crate) use nightly::{Trouble, due_at, run, trouble};
pub(crate) use restore::{Restore, Restored, check_free, restore};
pub(crate) use verify::{Tried, verify};
