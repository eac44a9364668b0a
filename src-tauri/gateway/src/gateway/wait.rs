//! The causes for which an approved payout waits, and the words for each.
//! `console/payouts/waiting.rs` decides which cause a payout shows.

use bitcoin::Txid;
use serde::{Deserialize, Serialize};
use tillgate_store::sender_hold::HoldCause;
use tillgate_told::{Sum, Telling, Time, Told};
use ts_rs::TS;

use super::failure_reason::FailureReason;
use crate::wallet::spend::SpendError;

/// The reason for which approved payouts wait.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wait {
    pub cause: WaitCause,
    /// The reason without the remedy. It may name balances, paths and the backend's answer.
    pub reason: Telling,
}

/// The reasons of waits that no other error tells.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Told)]
pub enum Waits {
    #[error("the wallet is not set up")]
    NoWallet,
    #[error("no payout waits for a transaction any more")]
    NoPayout,
    #[error("coins changed during signing; a new transaction is made")]
    CoinsChanged,
    #[error("the network asks for {estimate} sat/vB now; payouts pay {cap} at most")]
    FeesAboveCap { estimate: u64, cap: u64 },
    #[error("the Bitcoin backend has not reported the state of all coins yet; it is asked again")]
    NotCovered,
    #[error("signing took so long that the chain may have changed; the transaction is made again")]
    LookedTooLongAgo,
    #[error("the chain is not watched: {0}")]
    NotWatched(Telling),
    #[error("a signed transaction did not pass its check: {0}")]
    NotPassed(String),
    #[error(
        "another copy of this wallet pays this payout, and replacing its transaction costs {fee_sats} satoshis, more than the payout: it waits for the end of that transaction"
    )]
    ReplacingCosts { fee_sats: u64 },
    #[error(
        "another copy of this wallet made transaction {txid} (noticed {noticed_at}), which pays {amount} BTC to {address} and is in no block: the payout waits until a block holds that transaction or rules it out"
    )]
    CopyPays { txid: Txid, noticed_at: Time, amount: Sum, address: String },
    #[error(
        "it is being cancelled: after 6 blocks, in about an hour, it has failed, or it was sent after all"
    )]
    GivenUp,
    #[error(
        "it is signed, but no node has accepted it yet: it is broadcast again after each block"
    )]
    NoNode,
    #[error(
        "it is not broadcast, because another copy of this wallet pays it, or pays a payout of the same or an earlier transaction"
    )]
    OtherCopy,
    #[error("the sender is on hold: {0}")]
    Held(Telling),
    #[error("no gateway is running")]
    NoGateway,
    #[error("it is sent at about {at}")]
    Turn { at: Time },
    #[error(
        "the coins that can be spent now come to {spendable} BTC, and the approved payouts that wait need {needed} BTC with the fee"
    )]
    AllNeed { spendable: Sum, needed: Sum },
    #[error(
        "the coins that can be spent now come to {spendable} BTC, and this payout needs {needed} BTC with the fee"
    )]
    ThisNeeds { spendable: Sum, needed: Sum },
    #[error("the keyring is locked, as a fault that was set in the sandbox")]
    LockedInSandbox,
    #[error("the wallet's words are not in {place}: `tillgate wallet restore` puts them back")]
    NoWords { place: String },
}

/// The cause for which an approved payout waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum WaitCause {
    /// The next batch is not due yet, or is being built.
    Turn,
    /// No gateway is running.
    Gateway,
    /// The sender is on hold until staff release it. This concerns all payouts.
    Hold,
    /// The sender of a restored copy is on hold. Staff must compare the waiting payouts with those
    /// that were really paid since the backup, and then release the sender. This concerns all
    /// payouts.
    HoldRestored,
    /// A restored wallet still looks through the chain. The wait ends with that look. This concerns
    /// all payouts.
    Restored,
    /// Staff stopped the look of a restored wallet, and must continue it. This concerns all
    /// payouts.
    RestoreStopped,
    /// The secret store refused the wallet's words. Staff may make the sender ask again. This
    /// concerns all payouts.
    Keyring,
    /// The spendable coins are too few. This concerns only payouts that are larger than these
    /// coins.
    Coins,
    /// Earlier payouts must be confirmed first. This concerns only payouts that spend their change.
    Block,
    /// The payout needs too many small coins for one transaction. This concerns only such payouts.
    SmallCoins,
    /// The network's fee rate is above the setting `feeCapSatVb`. This concerns all payouts.
    Fees,
    /// The backend has no estimate of the fee rate, and the setting `feeFallbackSatVb` names none.
    /// This concerns all payouts.
    NoEstimate,
    /// A look at the chain, or an answer of the backend, is awaited. This concerns all payouts.
    Chain,
    /// No node has accepted its stored transaction yet.
    Node,
    /// Another copy of the wallet pays a payout of its transaction, so the transaction is not
    /// broadcast. Staff must abandon the payout.
    OtherCopy,
    /// Another copy of the wallet may pay it, and a block must decide. This concerns only this
    /// payout.
    PaidByCopy,
    /// It was abandoned, and it is not decided yet whether it FAILED or was sent after all.
    GivenUp,
    /// Another cause. This concerns all payouts.
    Other,
}

impl WaitCause {
    pub fn because(self, reason: &impl Told) -> Wait {
        Wait { cause: self, reason: reason.telling() }
    }

    /// Whether the sender holds all payouts.
    pub const fn is_hold(self) -> bool {
        matches!(self, Self::Hold | Self::HoldRestored | Self::Restored | Self::RestoreStopped)
    }

    /// The remedy at the command line, a clause that follows the reason after a semicolon.
    pub const fn remedy_at_the_command_line(self) -> Option<&'static str> {
        match self {
            Self::Gateway => Some("`tillgate serve` starts one"),
            Self::Hold => Some("`tillgate payouts release` ends the hold"),
            Self::HoldRestored => Some(
                "if another copy of this wallet still runs, stop it first; `tillgate payouts list --status QUEUED` shows the \
                 waiting payouts, `tillgate payouts abandon` cancels one that was cancelled or paid in another way, \
                 `tillgate payouts release` sends the others",
            ),
            Self::RestoreStopped => Some("`tillgate wallet restore --continue` continues it"),
            Self::Keyring => Some("`tillgate payouts retry` asks the secret store again at once"),
            Self::Fees => Some(
                "wait, or raise the cap with `tillgate settings set feeCapSatVb`; `tillgate payouts send ID --fee-rate N` sends one payout at once",
            ),
            Self::NoEstimate => Some(
                "`tillgate settings set feeFallbackSatVb N` names a rate for all payouts, \
                 `tillgate payouts send ID --fee-rate N` sends one of them",
            ),
            Self::Chain => Some("`tillgate doctor` checks the backend"),
            Self::SmallCoins => {
                Some("`tillgate payouts abandon` cancels it; then request smaller payouts")
            }
            Self::OtherCopy => Some(
                "`tillgate payouts abandon --all` cancels it; then request the payouts again that are not paid",
            ),
            Self::Turn
            | Self::Restored
            | Self::Coins
            | Self::Block
            | Self::Node
            | Self::PaidByCopy
            | Self::GivenUp
            | Self::Other => None,
        }
    }

    /// The reason, followed by the remedy at the command line if there is one.
    pub fn at_the_command_line(self, reason: &impl std::fmt::Display) -> String {
        match self.remedy_at_the_command_line() {
            Some(remedy) => format!("{reason}; {remedy}"),
            None => reason.to_string(),
        }
    }

    /// The `failureReason` of a payout that waited too long. While the chain is not watched, no
    /// payout fails.
    pub const fn failure_reason(self) -> FailureReason {
        match self {
            Self::Coins => FailureReason::Coins,
            Self::Block => FailureReason::Block,
            Self::SmallCoins => FailureReason::SmallCoins,
            Self::Keyring => FailureReason::Keyring,
            Self::Fees => FailureReason::Fees,
            Self::Turn
            | Self::Gateway
            | Self::Hold
            | Self::HoldRestored
            | Self::Restored
            | Self::RestoreStopped
            | Self::NoEstimate
            | Self::Chain
            | Self::Node
            | Self::OtherCopy
            | Self::PaidByCopy
            | Self::GivenUp
            | Self::Other => FailureReason::Other,
        }
    }
}

impl From<HoldCause> for WaitCause {
    fn from(cause: HoldCause) -> Self {
        match cause {
            HoldCause::UntilReleased => Self::Hold,
            HoldCause::UntilCompared => Self::HoldRestored,
            HoldCause::Restored => Self::Restored,
            HoldCause::Stopped => Self::RestoreStopped,
        }
    }
}

impl From<SpendError> for Wait {
    fn from(error: SpendError) -> Self {
        let cause = match &error {
            SpendError::NotEnough { .. } => WaitCause::Coins,
            SpendError::WaitsForBlock => WaitCause::Block,
            SpendError::TooHeavy => WaitCause::SmallCoins,
            SpendError::Payee(_) | SpendError::Twice(_) | SpendError::FeeRate(_) => {
                WaitCause::Other
            }
        };
        cause.because(&error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fee_above_the_cap_has_a_remedy() {
        let told = WaitCause::Fees.at_the_command_line(&"the network asks for 300 sat/vB now");
        assert!(told.ends_with("sends one payout at once"), "{told}");
        assert_eq!(
            WaitCause::Coins.at_the_command_line(&"the coins are too few"),
            "the coins are too few"
        );
    }
}
