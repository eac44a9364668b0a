//! The reasons of FAILED payouts and ended offers. Shops read them, so they name no balance and no
//! rate.

use tillgate_told::Told;

/// Why a payout FAILED, or why staff ended an offer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Told)]
pub enum FailureReason {
    #[error("it could not be sent in time: there were not enough coins")]
    Coins,
    #[error("it could not be sent in time: earlier payouts waited for a block")]
    Block,
    #[error("it could not be sent in time: it needs more coins than one transaction can spend")]
    SmallCoins,
    #[error("it could not be sent in time: the keyring was locked or missing")]
    Keyring,
    #[error("it could not be sent in time: the fees of the network were above the cap")]
    Fees,
    #[error("it could not be sent in time: its transaction could not be made")]
    Other,
    #[error("it was cancelled by staff")]
    Cancelled,
    #[error("it was cancelled, and the coins went back to the wallet")]
    GivenUp,
    #[error(
        "another transaction spent its coins and has 6 confirmations: nothing was sent to the address"
    )]
    RuledOut,
    #[error("it was rejected by staff")]
    Rejected,
    #[error("it was rejected by staff: {reason}")]
    RejectedFor { reason: String },
    #[error("it was withdrawn by staff")]
    Withdrawn,
    #[error("it was withdrawn by staff: {reason}")]
    WithdrawnFor { reason: String },
}
