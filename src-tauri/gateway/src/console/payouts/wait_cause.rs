//! The cause for which an approved payout waits, so that each shell finds its own words.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::gateway::Cause;

/// The cause for which an approved payout waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[ts(export)]
pub enum WaitCause {
    /// Its turn: the batch is not due yet, or is being built.
    Turn,
    /// A gateway that runs.
    Gateway,
    /// Staff must release a sender that holds. This concerns all payouts.
    Hold,
    /// Staff must compare the waiting payouts of a restored copy with what was really paid since, and then release
    /// it. This concerns all payouts.
    HoldRestored,
    /// A restored wallet's look through the chain must end, which it does by itself. This concerns all payouts.
    Restored,
    /// Staff must continue that look, which was stopped. This concerns all payouts.
    RestoreStopped,
    /// The secret store refused the wallet's words; staff may have it asked again. This concerns all payouts.
    Keyring,
    /// Coins are short. This concerns only the payouts that wait for them.
    Coins,
    /// A block that holds earlier payouts: it concerns those that spend their change, and no other.
    Block,
    /// Fewer or larger coins: it concerns payouts that are too large for one transaction, and no other.
    SmallCoins,
    /// A lower fee rate of the network: it concerns all.
    Fees,
    /// A look at the chain, or an answer of the backend, is awaited. This concerns all payouts.
    Chain,
    /// A node must accept its stored transaction.
    Node,
    /// Staff must give it up: another copy of the wallet pays a payout of its transaction, so the transaction is
    /// not broadcast.
    OtherCopy,
    /// A block must decide, because another copy of the wallet may pay it. This concerns only this payout.
    CopyPays,
    /// It is being given up.
    GivenUp,
    /// Any other cause. This concerns all payouts.
    Other,
}

impl From<Cause> for WaitCause {
    fn from(cause: Cause) -> Self {
        match cause {
            Cause::Coins => Self::Coins,
            Cause::Block => Self::Block,
            Cause::SmallCoins => Self::SmallCoins,
            Cause::Keyring => Self::Keyring,
            Cause::Fees => Self::Fees,
            Cause::Chain => Self::Chain,
            Cause::Hold => Self::Hold,
            Cause::Compared => Self::HoldRestored,
            Cause::Restored => Self::Restored,
            Cause::Stopped => Self::RestoreStopped,
            Cause::CopyPays => Self::CopyPays,
            Cause::Other => Self::Other,
        }
    }
}
