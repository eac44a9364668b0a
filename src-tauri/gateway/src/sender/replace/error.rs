//! The reasons why nothing was replaced.

use tillgate_domain::id::Id;
use tillgate_domain::money::format_btc;
use tillgate_domain::payout::PayoutState;
use tillgate_store::StoreError;
use tillgate_store::sender_hold::{Hold, HoldCause};
use tillgate_told::{Sum, Telling};

use crate::notifications::outbox::OutboxError;
use crate::sender::error::SendError;

/// Reason why nothing was replaced. Each shell adds the remedy in its own words.
#[derive(Debug, thiserror::Error, tillgate_told::Told)]
pub enum ReplaceError {
    #[error("there is no payout {0}")]
    NoSuchPayout(Id),
    #[error("the payout is {0}: {1}")]
    State(PayoutState, NotReplaceable),
    #[error("{} payouts share the transaction or spend its change, and all would be cancelled: {}", .0.len(), list(.0))]
    Shared(Vec<Id>),
    #[error("the replacement must pay {needed} sat/vB, above the allowed maximum of {cap} sat/vB")]
    AboveCap {
        /// In sat/vB, rounded up.
        needed: u64,
        /// In sat/vB.
        cap: u64,
    },
    /// The fee is higher than the sum that the transaction pays out.
    #[error("the fee would be {} BTC, more than the {} BTC that the transaction pays out", Sum(format_btc(*.fee_sats)), Sum(format_btc(*.pays_sats)))]
    AbovePayout {
        fee_sats: u64,
        /// The sum of the payouts.
        pays_sats: u64,
    },
    #[error("the fee is now {} BTC, more than the {} BTC that were agreed to: check it again", Sum(format_btc(*.fee_sats)), Sum(format_btc(*.agreed_sats)))]
    AboveAgreed {
        fee_sats: u64,
        /// The highest fee that staff agreed to.
        agreed_sats: u64,
    },
    #[error("the sender is on hold: {0}")]
    Held(Telling),
    /// The wallet was restored, and its first look at the chain has not ended.
    #[error("the sender is on hold: {0}")]
    NotLooked(Telling),
    #[error(
        "nothing is signed until a look at the chain shows the payments of other copies of the wallet: {0}"
    )]
    Unseen(Telling),
    #[error("the transaction cannot be replaced now: {0}")]
    Obstacle(Telling),
    #[error("the payout changed meanwhile: look at it again")]
    Stale,
    #[error(transparent)]
    Send(#[from] SendError),
}

/// Why a payout's transaction cannot be replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error, tillgate_told::Told)]
pub enum NotReplaceable {
    #[error("no transaction was signed for it yet")]
    NothingStored,
    #[error("its transaction is in a block")]
    Confirmed,
    #[error("it is being cancelled already")]
    GivenUp,
    #[error("it was never approved")]
    NotApproved,
    #[error("nothing more will be sent")]
    Over,
    #[error("it was paid by a transaction that was not made here")]
    SentElsewhere,
    #[error(
        "another copy of this wallet pays a payout of this transaction, or of an unconfirmed transaction before it: cancel this payout, then request the unpaid payouts again"
    )]
    PaidOtherwise,
    #[error("a block holds another transaction that spends its coins: no replacement can be mined")]
    RuledOut,
    #[error(
        "a payout whose transaction spends its change is being cancelled: wait until a block holds that transaction or its replacement, or cancel this payout as well"
    )]
    ChangeGivenUp,
    #[error(
        "its transaction spends the change of a payout that is being cancelled, and it is cancelled too"
    )]
    GivenUpWith,
}

impl From<Hold> for ReplaceError {
    fn from(hold: Hold) -> Self {
        match hold.cause {
            HoldCause::UntilReleased | HoldCause::UntilCompared => Self::Held(hold.reason),
            HoldCause::Restored | HoldCause::Stopped => Self::NotLooked(hold.reason),
        }
    }
}

impl From<StoreError> for ReplaceError {
    fn from(error: StoreError) -> Self {
        Self::Send(error.into())
    }
}

impl From<OutboxError> for ReplaceError {
    fn from(error: OutboxError) -> Self {
        Self::Send(error.into())
    }
}

fn list(ids: &[Id]) -> String {
    ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
