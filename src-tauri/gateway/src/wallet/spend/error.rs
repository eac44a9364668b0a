//! Reasons why there is no transaction.

use bitcoin::OutPoint;
use tillgate_domain::money::format_btc;
use tillgate_told::Sum;

use super::payee::BadPayee;

/// Reason why there is no transaction.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, tillgate_told::Told)]
// The database and the panel know the sentences by these codes.
#[told(codes = "DRAFT")]
pub enum SpendError {
    #[error(
        "the coins that can be spent now come to {} BTC, and {} BTC are needed with the fee",
        Sum(format_btc(*.available_sats)),
        Sum(format_btc(*.needed_sats))
    )]
    NotEnough {
        /// Amounts and fee.
        needed_sats: u64,
        /// Sum of all coins that are worth spending.
        available_sats: u64,
    },
    /// The coins suffice once their unconfirmed ancestors are mined. Until then the ancestors are
    /// too many or too large, or paying the fees that they lack costs too much.
    #[error("earlier payouts wait for a block; this one follows them")]
    WaitsForBlock,
    #[error("one transaction cannot spend so many small coins: the payout is too large for it")]
    TooHeavy,
    #[error(transparent)]
    Payee(#[from] BadPayee),
    #[error("the coin {0} is to be spent twice by one transaction")]
    Twice(OutPoint),
    #[error("a fee rate of {0} sat/vB is far above any real rate: check it")]
    FeeRate(u64),
}
