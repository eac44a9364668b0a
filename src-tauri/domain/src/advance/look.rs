//! The facts of a look that all payments share.

use crate::time::Timestamp;

/// One successful view of the chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    /// When it started.
    pub at: Timestamp,
    /// Height of the best block.
    pub tip_height: u32,
    /// Header time of the best block.
    pub tip_time: Timestamp,
    /// Whether the backend shows a mempool; without one a payment closes by block time.
    pub has_mempool: bool,
    /// Whether time alone may change states; if not, no payment expires at this look. False if the look missed coins
    /// that came to the address before it started, or if its clock may be wrong.
    pub time_decides: bool,
    /// With this look staff accepts the coins that came ([`super::may_accept`] said yes). If nothing is left to accept,
    /// `accepted_sats` stays as it was.
    pub staff_accepts: bool,
}
