//! The fee rate that the backend named last, for what is reckoned while it is silent.

use std::sync::Arc;
use std::time::Duration;

use bitcoin::FeeRate;
use parking_lot::Mutex as Lock;
use tokio::sync::Mutex;
use tokio::task::JoinError;
use tokio::time::{Instant, timeout};

use super::Gateway;
use crate::chain::ChainDown;

/// A payout is meant to be confirmed within so many blocks (interface, section 4), and whoever is accepted without confirmation
/// must pay for one within as many.
pub(crate) const SOON_BLOCKS: u16 = 6;

/// A backend that takes longer than this is taken for silent.
const ASKED_FOR: Duration = Duration::from_secs(2);

/// So long one answer serves all offers and estimates, and so long a silent backend is not waited for again: an estimate of
/// the next blocks does not change faster.
const SERVES: Duration = Duration::from_secs(5);

/// What the backend says of fees.
#[derive(Default)]
pub(crate) struct FeeRates {
    last: Arc<Lock<Option<Answer>>>,
    /// Since when it is silent; `None` from an answer on.
    silent_since: Arc<Lock<Option<Instant>>>,
    /// Held while the backend is asked, so that however many ask, one thread waits for it.
    asking: Arc<Mutex<()>>,
}

/// An answer of the backend.
#[derive(Clone, Copy)]
struct Answer {
    rate: FeeRate,
    at: Instant,
}

impl Gateway {
    /// The backend's estimate for 6 blocks, a few seconds old at most; the last one known while it is silent, and none
    /// before any.
    pub(crate) async fn fee_rate_estimate(&self) -> Option<FeeRate> {
        // The sandbox answers at once, and its faults count at once.
        let serves = if self.sandbox.is_some() { Duration::ZERO } else { SERVES };
        self.ask_fee_rate(serves).await.or_else(|| self.fee_rates.last_known())
    }

    /// The backend's estimate for 6 blocks as it answers now; `None` while it is silent.
    pub(crate) async fn fee_rate_now(&self) -> Option<FeeRate> {
        self.ask_fee_rate(Duration::ZERO).await
    }

    /// The last estimate for 6 blocks, however old; nobody is asked.
    pub(crate) fn fee_rate_known(&self) -> Option<FeeRate> {
        self.fee_rates.last_known()
    }

    async fn ask_fee_rate(&self, serves: Duration) -> Option<FeeRate> {
        let chain = Arc::clone(&self.chain);
        let last = self.fee_rates.last_known();
        // Where the backend has no estimate (yet), the one before it holds, and before any the floor of the settings.
        let ask = move || Ok(chain.fee_rate(SOON_BLOCKS)?.or(last).unwrap_or(FeeRate::ZERO));
        self.fee_rates.ask(serves, ask).await
    }
}

impl FeeRates {
    /// Asks, unless there is an answer that still serves, or another's comes meanwhile.
    async fn ask(
        &self,
        serves: Duration,
        ask: impl FnOnce() -> Result<FeeRate, ChainDown> + Send + 'static,
    ) -> Option<FeeRate> {
        let now = Instant::now();
        let since = now.checked_sub(serves).unwrap_or(now);
        if let Some(rate) = self.answered_after(since) {
            return Some(rate);
        }
        if !serves.is_zero() && self.is_known_silent(since) {
            return None;
        }
        let asked = async {
            let asking = Arc::clone(&self.asking).lock_owned().await;
            if let Some(rate) = self.answered_after(since) {
                return Some(rate);
            }
            let (last, silent_since) = (Arc::clone(&self.last), Arc::clone(&self.silent_since));
            let asked = tokio::task::spawn_blocking(move || {
                let _asking = asking;
                // The watcher tells of a silent chain.
                let rate = ask().inspect_err(|error| tracing::debug!(%error, "the backend names no fee rate")).ok()?;
                *last.lock() = Some(Answer { rate, at: Instant::now() });
                *silent_since.lock() = None;
                Some(rate)
            });
            let failed = |error: &JoinError| tracing::error!(%error, "the backend could not be asked for a fee rate");
            asked.await.inspect_err(failed).ok().flatten()
        };
        let rate = timeout(ASKED_FOR, asked).await.ok().flatten();
        if rate.is_none() {
            *self.silent_since.lock() = Some(Instant::now());
        }
        rate
    }

    /// Whether the backend did not answer after `since`, or never did before, and is still waited for.
    fn is_known_silent(&self, since: Instant) -> bool {
        let silent_since = *self.silent_since.lock();
        silent_since.is_some_and(|at| at > since || self.asking.try_lock().is_err())
    }

    fn answered_after(&self, since: Instant) -> Option<FeeRate> {
        (*self.last.lock()).filter(|answer| answer.at > since).map(|answer| answer.rate)
    }

    fn last_known(&self) -> Option<FeeRate> {
        (*self.last.lock()).map(|answer| answer.rate)
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::mpsc;
    use std::task::{Context, Poll, Waker};

    use super::*;

    fn sat_vb(rate: u32) -> FeeRate {
        FeeRate::from_sat_per_vb_u32(rate)
    }

    #[tokio::test]
    async fn one_answer_serves_every_offer_for_seconds_and_who_signs_asks_anew() {
        let rates = FeeRates::default();
        assert_eq!(rates.ask(SERVES, || Ok(sat_vb(3))).await, Some(sat_vb(3)));
        assert_eq!(rates.ask(SERVES, || panic!("it is asked again")).await, Some(sat_vb(3)));
        assert_eq!(rates.ask(Duration::ZERO, || Ok(sat_vb(4))).await, Some(sat_vb(4)));
        assert_eq!(rates.ask(SERVES, || panic!("it is asked again")).await, Some(sat_vb(4)));
    }

    #[tokio::test]
    async fn a_silent_backend_is_waited_for_once_and_then_serves_nobody_until_it_answers() {
        let rates = FeeRates::default();
        let (answer, answered) = mpsc::channel();
        let slow = move || answered.recv().map_err(|_| ChainDown("it hung up".to_owned()));
        assert_eq!(rates.ask(SERVES, slow).await, None, "two seconds are over");
        // Nobody else waits, and nobody asks beside the one who still does.
        let asked = Arc::new(AtomicBool::new(false));
        for _ in 0..10 {
            let asked = Arc::clone(&asked);
            let ask = move || {
                asked.store(true, Ordering::SeqCst);
                Ok(sat_vb(1))
            };
            let answer = pin!(rates.ask(SERVES, ask)).poll(&mut Context::from_waker(Waker::noop()));
            assert_eq!(answer, Poll::Ready(None));
        }
        assert!(!asked.load(Ordering::SeqCst));
        answer.send(sat_vb(7)).unwrap();
        assert_eq!(rates.ask(Duration::ZERO, || Ok(sat_vb(7))).await, Some(sat_vb(7)));
        assert_eq!(rates.ask(SERVES, || panic!("it is asked again")).await, Some(sat_vb(7)));
    }

    #[tokio::test]
    async fn a_backend_that_refuses_is_not_asked_again_for_each_offer() {
        let rates = FeeRates::default();
        assert_eq!(rates.ask(SERVES, || Err(ChainDown("no".to_owned()))).await, None);
        assert_eq!(rates.ask(SERVES, || Ok(sat_vb(1))).await, None, "it was asked a moment ago");
        assert_eq!(rates.ask(Duration::ZERO, || Ok(sat_vb(2))).await, Some(sat_vb(2)), "who signs asks");
    }
}
