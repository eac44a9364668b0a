//! Makes the wallet, or restores it from its words. The words are in the secret store, and shown,
//! before the database has a wallet. If the creation is interrupted, its words stay in the secret
//! store without any coins, and the next creation shows and uses them. Words of an unfinished
//! wallet are never overwritten.

mod error;
mod making;
mod restore;
mod words;
mod words_draft;

pub use error::SetupError;
pub use making::{CREATED, ensure, keep_words, make};
#[cfg(any(test, feature = "testing"))]
pub use making::{Words, adopt};
pub use restore::{Birthday, RestoreRequest, Restored, continue_restore, restore, stop};
pub use words::{Fit, fit, secrets_fit};
pub use words_draft::{DraftError, confirm, discard, draft};
