//! A transaction whose coins are chosen.

use bitcoin::FeeRate;
use tillgate_machine::entropy::Entropy;

use super::error::SendError;
use crate::wallet::spend::{FeeWanted, Seed, UnsignedSpend};

/// A chosen transaction, not signed yet.
pub struct Chosen {
    pub spend: UnsignedSpend,
    /// Sequence numbers of its payouts, in the order of the spend's payees.
    pub payouts: Vec<i64>,
    pub fee: FeeWanted,
    pub cap: FeeRate,
}

/// Random bytes for the choice of coins.
pub fn seed(entropy: &dyn Entropy) -> Result<Seed, SendError> {
    let mut seed = [0; 32];
    entropy.fill(&mut seed)?;
    Ok(seed)
}
