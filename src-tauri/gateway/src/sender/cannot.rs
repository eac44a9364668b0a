//! Why nothing could be built: by its cause alone for records, which shops read.

use crate::gateway::{Cannot, Cause};
use crate::wallet::spend::DraftError;

/// What a record says of a payout that waited too long for this cause.
pub(super) const fn told(cause: Cause) -> &'static str {
    match cause {
        Cause::Coins => "it could not be sent in time: there were not enough coins",
        Cause::Keyring => "it could not be sent in time: the keyring was locked or missing",
        Cause::Fees => "it could not be sent in time: the fees of the network were above the cap",
        Cause::Chain => "it could not be sent in time: the chain was not watched",
        Cause::Hold | Cause::Compared | Cause::Restored | Cause::Stopped | Cause::CopyPays | Cause::Other => {
            "it could not be sent in time: it could not be built"
        }
    }
}

impl From<DraftError> for Cannot {
    fn from(error: DraftError) -> Self {
        let cause = match &error {
            DraftError::NotEnough { .. } | DraftError::TooHeavy => Cause::Coins,
            DraftError::Payee(_) | DraftError::Twice(_) | DraftError::FeeRate(_) => Cause::Other,
        };
        cause.because(error.to_string())
    }
}
