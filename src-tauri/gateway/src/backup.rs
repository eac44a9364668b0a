//! Backups. A backup is one file, sealed with a passphrase, from which this environment can be
//! restored on another machine. It holds the database, the secrets, and the sandbox's chain if
//! there is one. Backups are made while the gateway runs: by command, or each night. Unsealed
//! copies exist only in the environment's own folder.

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

pub use error::BackupError;
pub use folder::mark_folder;
pub use key::shortest_passphrase;
pub use make::{KeySource, Place, make, make_nightly_since, set_passphrase};
pub use nightly::{NightlyFault, due_at, nightly_fault, run};
pub use restore::{Restore, Restored, check_free, restore};
pub use verify::{Tried, verify};
