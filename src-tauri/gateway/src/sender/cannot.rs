//! The reason that a failed payout's record shows. Shops read records, so the reason names only the cause, without
//! amounts or rates.

use crate::gateway::{Cannot, Cause};
use crate::wallet::spend::DraftError;

/// The `failureReason` of a payout that waited too long. While the chain is not watched, no payout fails.
pub(super) const fn failure_reason(cause: Cause) -> &'static str {
    match cause {
        Cause::Coins => "it could not be sent in time: there were not enough coins",
        Cause::Block => "it could not be sent in time: earlier payouts waited for a block",
        Cause::SmallCoins => "it could not be sent in time: it needs more coins than one transaction can spend",
        Cause::Keyring => "it could not be sent in time: the keyring was locked or missing",
        Cause::Fees => "it could not be sent in time: the fees of the network were above the cap",
        Cause::Chain
        | Cause::Hold
        | Cause::Compared
        | Cause::Restored
        | Cause::Stopped
        | Cause::CopyPays
        | Cause::Other => "it could not be sent in time: its transaction could not be made",
    }
}

impl From<DraftError> for Cannot {
    fn from(error: DraftError) -> Self {
        let cause = match &error {
            DraftError::NotEnough { .. } => Cause::Coins,
            DraftError::WaitsForBlock => Cause::Block,
            DraftError::TooHeavy => Cause::SmallCoins,
            DraftError::Payee(_) | DraftError::Twice(_) | DraftError::FeeRate(_) => Cause::Other,
        };
        cause.because(error.to_string())
    }
}
