//! The facts of a look that all payments share.

use bitcoin::FeeRate;

use crate::time::Timestamp;

/// The transactions that a look accepts unconfirmed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ZeroConf {
    /// None, because the look asked for no estimate of the fee rate. A payment that waits for one
    /// is due at once.
    NotAsked,
    /// None, because there is no estimate, or because the backend stands still
    /// ([`crate::closing`]).
    Never,
    /// Those with at least this fee rate.
    From(FeeRate),
}

impl ZeroConf {
    /// Whether a transaction with this [`crate::receipt::Receipt::zero_conf_rate`] is accepted.
    pub(super) fn accepts(self, rate: Option<FeeRate>) -> bool {
        match self {
            Self::NotAsked | Self::Never => false,
            Self::From(least) => rate.is_some_and(|rate| rate >= least),
        }
    }
}

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
    /// The transactions that are accepted unconfirmed.
    pub zero_conf: ZeroConf,
    /// Whether time alone may change states; if not, no payment expires at this look. False if the
    /// look may have missed earlier coins of the address, or may not close the payment
    /// ([`crate::closing`]).
    pub time_decides: bool,
    /// Whether staff accepts the received coins with this look, after [`super::may_accept`] allowed
    /// it. If no coins are left to accept, `accepted_sats` is unchanged.
    pub staff_accepts: bool,
}
