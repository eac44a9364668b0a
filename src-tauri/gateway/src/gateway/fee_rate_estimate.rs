//! Asks the backend for its fee rates.

use std::sync::Arc;
use std::time::Duration;

use tillgate_chain::{ChainDown, NodeFeeRates};

use super::fee_rates::KnownFeeRates;
use super::resources::Gateway;

/// Blocks within which a payout should be confirmed (interface, section 4). A payment accepted
/// without confirmation must pay the fee rate for the same number of blocks.
pub const SOON_BLOCKS: u16 = 6;

/// Age up to which offers use an estimate, or the fact that the backend was silent. Estimates do
/// not change faster.
pub const SERVES_OFFERS: Duration = Duration::from_secs(5);

/// Greatest age of an estimate for a signed transaction (interface, section 4, "Queue").
pub const SERVES_SIGNING: Duration = Duration::from_secs(60);

impl Gateway {
    /// The fee rates of offers: the backend's last answer, at most a few seconds old unless the
    /// backend is silent. `None` if it never answered.
    pub async fn fee_rates_of_offers(&self) -> Option<KnownFeeRates> {
        let (serves, ask) = self.fee_rate_question(SERVES_OFFERS);
        self.market.fee_rates.ask_briefly(serves, ask).await;
        self.market.fee_rates.last_known()
    }

    /// The backend's fee rates, at most a minute old; `None` while the backend is silent. Waits as
    /// long as a look does.
    pub async fn fee_rates_now(&self) -> Option<NodeFeeRates> {
        let (serves, ask) = self.fee_rate_question(SERVES_SIGNING);
        self.market.fee_rates.ask(serves, ask).await
    }

    /// The backend's last answer, however old. Asks no backend.
    pub fn fee_rates_known(&self) -> Option<KnownFeeRates> {
        self.market.fee_rates.last_known()
    }

    /// The greatest accepted age of an answer, and the function that asks the backend.
    fn fee_rate_question(
        &self,
        serves: Duration,
    ) -> (Duration, impl FnOnce() -> Result<NodeFeeRates, ChainDown> + Send + use<>) {
        // The sandbox answers at once, and its faults count at once.
        let serves = if self.backend.sandbox.is_some() { Duration::ZERO } else { serves };
        let chain = Arc::clone(&self.backend.chain);
        (serves, move || chain.fee_rates(SOON_BLOCKS))
    }
}
