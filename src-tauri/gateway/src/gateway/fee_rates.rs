//! The fee rate that the backend named last, for what is reckoned while it is silent.

use std::sync::Arc;
use std::time::Duration;

use bitcoin::FeeRate;
use parking_lot::Mutex as Lock;
use tokio::sync::Mutex;
use tokio::time::timeout;

use super::Gateway;

/// A payout is meant to be confirmed within so many blocks (interface, section 4).
const BLOCKS: u16 = 6;

/// A backend that takes longer than this is taken for silent.
const ASKED_FOR: Duration = Duration::from_secs(2);

/// What the backend says of fees.
#[derive(Default)]
pub(crate) struct FeeRates {
    last: Arc<Lock<Option<FeeRate>>>,
    /// Held while the backend is asked, so that however many ask, one thread waits for it.
    asking: Arc<Mutex<()>>,
}

impl Gateway {
    /// The backend's estimate for 6 blocks; the last one known while it is silent, and none before any.
    pub(crate) async fn fee_rate_estimate(&self) -> Option<FeeRate> {
        // Whoever waits in vain has the last one, too.
        let _ = timeout(ASKED_FOR, self.ask_fee_rate()).await;
        *self.fee_rates.last.lock()
    }

    async fn ask_fee_rate(&self) {
        let asking = Arc::clone(&self.fee_rates.asking).lock_owned().await;
        let (chain, last) = (Arc::clone(&self.chain), Arc::clone(&self.fee_rates.last));
        let asked = tokio::task::spawn_blocking(move || {
            let _asking = asking;
            match chain.fee_rate(BLOCKS) {
                Ok(rate) => *last.lock() = Some(rate),
                // The watcher tells of a silent chain.
                Err(error) => tracing::debug!(%error, "the backend names no fee rate"),
            }
        });
        if let Err(error) = asked.await {
            tracing::error!(%error, "the backend could not be asked for a fee rate");
        }
    }
}
