//! A transaction whose coins are chosen.

use bitcoin::FeeRate;

use super::error::SendError;
use crate::gateway::Gateway;
use crate::wallet::spend::{Draft, FeeWanted, Seed};

/// A chosen transaction, not signed yet.
pub struct Chosen {
    pub draft: Draft,
    /// Sequence numbers of its payouts, in the order of the draft's payees.
    pub payouts: Vec<i64>,
    pub fee: FeeWanted,
    pub cap: FeeRate,
}

/// Random bytes for the choice of coins.
pub fn seed(gateway: &Gateway) -> Result<Seed, SendError> {
    let mut seed = [0; 32];
    gateway.machine.entropy.fill(&mut seed)?;
    Ok(seed)
}
