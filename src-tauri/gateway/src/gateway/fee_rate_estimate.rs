//! Asks the backend for the fee rate.

use std::sync::Arc;
use std::time::Duration;

use bitcoin::FeeRate;

use super::resources::Gateway;
use crate::chain::ChainDown;

/// Blocks within which a payout should be confirmed (interface, section 4). A payment accepted without confirmation
/// must pay the fee rate for the same number of blocks.
pub(crate) const SOON_BLOCKS: u16 = 6;

/// Age up to which offers use an estimate, or the fact that the backend was silent. Estimates do not change faster.
pub(super) const SERVES_OFFERS: Duration = Duration::from_secs(5);

/// Greatest age of an estimate for a signed transaction (interface, section 4, "Queue").
pub(super) const SERVES_SIGNING: Duration = Duration::from_secs(60);

impl Gateway {
    /// The backend's estimate for 6 blocks, at most a few seconds old. While the backend is silent, returns the last
    /// known estimate, or `None` if there is none.
    pub(crate) async fn fee_rate_estimate(&self) -> Option<FeeRate> {
        let (serves, ask) = self.fee_rate_question(SERVES_OFFERS);
        self.fee_rates.ask_briefly(serves, ask).await.or_else(|| self.fee_rates.last_known())
    }

    /// The backend's estimate for 6 blocks, at most a minute old; `None` while the backend is silent. Waits as long as
    /// a look does.
    pub(crate) async fn fee_rate_now(&self) -> Option<FeeRate> {
        let (serves, ask) = self.fee_rate_question(SERVES_SIGNING);
        self.fee_rates.ask(serves, ask).await
    }

    /// The last estimate for 6 blocks, however old. Asks no backend.
    pub(crate) fn fee_rate_known(&self) -> Option<FeeRate> {
        self.fee_rates.last_known()
    }

    /// The greatest accepted age of an answer, and the function that asks the backend.
    fn fee_rate_question(
        &self,
        serves: Duration,
    ) -> (Duration, impl FnOnce() -> Result<FeeRate, ChainDown> + Send + use<>) {
        // The sandbox answers at once, and its faults count at once.
        let serves = if self.sandbox.is_some() { Duration::ZERO } else { serves };
        let chain = Arc::clone(&self.chain);
        let last = self.fee_rates.last_known();
        // Without an estimate the last one is used, or else zero, so that the floor of the settings applies.
        (serves, move || Ok(chain.fee_rate(SOON_BLOCKS)?.or(last).unwrap_or(FeeRate::ZERO)))
    }
}
