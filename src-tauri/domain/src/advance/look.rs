//! The facts of a look that all payments share.

use crate::time::Timestamp;

/// One successful view of the chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LookFacts {
    /// Start of the look.
    pub at: Timestamp,
    /// Height of the best block.
    pub tip_height: u32,
    /// Header time of the best block.
    pub tip_time: Timestamp,
    /// Whether the backend shows a mempool; without one a payment closes by block time.
    pub has_mempool: bool,
    /// Whether time alone may change states; if not, no payment expires at this look. False if the look may have missed
    /// earlier coins of the address, or may not close the payment ([`crate::closing`]).
    pub time_decides: bool,
    /// Whether staff accepts the received coins with this look, after [`super::may_accept`] allowed it. If no coins are
    /// left to accept, `accepted_sats` is unchanged.
    pub staff_accepts: bool,
}
