//! Why nothing could be built: in full for people, and by its cause alone for records, which shops read.

use crate::wallet::spend::DraftError;

/// What kept an attempt from building a transaction.
#[derive(Debug)]
pub(super) struct Cannot {
    pub cause: Cause,
    /// In full, for people; it may name balances, paths and what a backend said.
    pub details: String,
}

/// Why payouts could not be sent, as far as it concerns who asked for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cause {
    Coins,
    Keyring,
    Fees,
    Chain,
    Other,
}

impl Cause {
    /// For a record.
    pub(super) const fn told(self) -> &'static str {
        match self {
            Self::Coins => "it could not be sent in time: there were not enough coins",
            Self::Keyring => "it could not be sent in time: the keyring was locked or missing",
            Self::Fees => "it could not be sent in time: the fees of the network were above the cap",
            Self::Chain => "it could not be sent in time: the chain was not watched",
            Self::Other => "it could not be sent in time: it could not be built",
        }
    }

    pub(super) fn because(self, details: impl Into<String>) -> Cannot {
        Cannot { cause: self, details: details.into() }
    }
}

impl From<DraftError> for Cannot {
    fn from(error: DraftError) -> Self {
        let cause = match &error {
            DraftError::NotEnough { .. } => Cause::Coins,
            DraftError::TooHeavy | DraftError::Payee(_) | DraftError::Twice(_) | DraftError::FeeRate(_) => Cause::Other,
        };
        cause.because(error.to_string())
    }
}
