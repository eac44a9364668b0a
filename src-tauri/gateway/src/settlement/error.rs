//! Why something could not be settled.

use crate::machine::entropy::NoEntropy;
use crate::notifications::outbox::OutboxError;
use crate::store::StoreError;

/// Why something could not be settled. The transaction of the look is undone.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SettleError {
    /// The database cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// No identifier could be generated for a new record.
    #[error(transparent)]
    Entropy(#[from] NoEntropy),
    /// A notification could not be queued.
    #[error(transparent)]
    Outbox(#[from] OutboxError),
}
