//! The causes for which an approved payout waits. The panel and the command line have their own words for each cause.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::gateway::ObstacleCause;

/// The cause for which an approved payout waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[ts(export)]
pub enum WaitCause {
    /// The next batch is not due yet, or is being built.
    Turn,
    /// No gateway is running.
    Gateway,
    /// The sender is on hold until staff release it. This concerns all payouts.
    Hold,
    /// The sender of a restored copy is on hold. Staff must compare the waiting payouts with those that were really
    /// paid since the backup, and then release the sender. This concerns all payouts.
    HoldRestored,
    /// A restored wallet still looks through the chain. The wait ends with that look. This concerns all payouts.
    Restored,
    /// Staff stopped the look of a restored wallet, and must continue it. This concerns all payouts.
    RestoreStopped,
    /// The secret store refused the wallet's words. Staff may make the sender ask again. This concerns all payouts.
    Keyring,
    /// The spendable coins are too few. This concerns only payouts that are larger than these coins.
    Coins,
    /// Earlier payouts must be confirmed first. This concerns only payouts that spend their change.
    Block,
    /// The payout needs too many small coins for one transaction. This concerns only such payouts.
    SmallCoins,
    /// The network's fee rate is above the setting `feeCapSatVb`. This concerns all payouts.
    Fees,
    /// A look at the chain, or an answer of the backend, is awaited. This concerns all payouts.
    Chain,
    /// No node has accepted its stored transaction yet.
    Node,
    /// Another copy of the wallet pays a payout of its transaction, so the transaction is not broadcast. Staff must
    /// abandon the payout.
    OtherCopy,
    /// Another copy of the wallet may pay it, and a block must decide. This concerns only this payout.
    PaidByCopy,
    /// It was abandoned, and it is not decided yet whether it FAILED or was sent after all.
    GivenUp,
    /// Another cause. This concerns all payouts.
    Other,
}

impl From<ObstacleCause> for WaitCause {
    fn from(cause: ObstacleCause) -> Self {
        match cause {
            ObstacleCause::Coins => Self::Coins,
            ObstacleCause::Block => Self::Block,
            ObstacleCause::SmallCoins => Self::SmallCoins,
            ObstacleCause::Keyring => Self::Keyring,
            ObstacleCause::Fees => Self::Fees,
            ObstacleCause::Chain => Self::Chain,
            ObstacleCause::Hold => Self::Hold,
            ObstacleCause::Compared => Self::HoldRestored,
            ObstacleCause::Restored => Self::Restored,
            ObstacleCause::Stopped => Self::RestoreStopped,
            ObstacleCause::PaidByCopy => Self::PaidByCopy,
            ObstacleCause::Other => Self::Other,
        }
    }
}
