//! The reason that a failed payout's record shows. Shops read records, so the reason names only the cause, without
//! amounts or rates.

use crate::gateway::{Obstacle, ObstacleCause};
use crate::wallet::spend::DraftError;

/// The `failureReason` of a payout that waited too long. While the chain is not watched, no payout fails.
pub(super) const fn failure_reason(cause: ObstacleCause) -> &'static str {
    match cause {
        ObstacleCause::Coins => "it could not be sent in time: there were not enough coins",
        ObstacleCause::Block => "it could not be sent in time: earlier payouts waited for a block",
        ObstacleCause::SmallCoins => "it could not be sent in time: it needs more coins than one transaction can spend",
        ObstacleCause::Keyring => "it could not be sent in time: the keyring was locked or missing",
        ObstacleCause::Fees => "it could not be sent in time: the fees of the network were above the cap",
        ObstacleCause::Chain
        | ObstacleCause::Hold
        | ObstacleCause::Compared
        | ObstacleCause::Restored
        | ObstacleCause::Stopped
        | ObstacleCause::PaidByCopy
        | ObstacleCause::Other => "it could not be sent in time: its transaction could not be made",
    }
}

impl From<DraftError> for Obstacle {
    fn from(error: DraftError) -> Self {
        let cause = match &error {
            DraftError::NotEnough { .. } => ObstacleCause::Coins,
            DraftError::WaitsForBlock => ObstacleCause::Block,
            DraftError::TooHeavy => ObstacleCause::SmallCoins,
            DraftError::Payee(_) | DraftError::Twice(_) | DraftError::FeeRate(_) => ObstacleCause::Other,
        };
        cause.because(error.to_string())
    }
}
