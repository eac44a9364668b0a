//! The fee rates that the backend names, remembered while it is silent or has no estimate.

use std::sync::Arc;
use std::time::Duration;

use bitcoin::FeeRate;
use parking_lot::Mutex as Lock;
use tillgate_chain::{ChainDown, NodeFeeRates};
use tillgate_machine::clock::Moment;
use tokio::sync::Mutex;
use tokio::task::JoinError;
use tokio::time::{Instant, timeout};

/// Longest wait of offers and estimates for the backend, because shops wait for them.
const OFFERS_WAIT: Duration = Duration::from_secs(2);

#[derive(Default)]
pub struct FeeRates {
    last: Arc<Lock<Option<Answer>>>,
    /// Start of the backend's silence; `None` once it answers.
    silent_since: Arc<Lock<Option<Instant>>>,
    /// Held while the backend is asked: one thread waits for all callers.
    asking: Arc<Mutex<()>>,
}

/// The last answer of the backend, however old.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownFeeRates {
    pub rates: NodeFeeRates,
    /// The last estimate; older than `rates` if these have none.
    pub estimate: Option<FeeRate>,
}

#[derive(Clone, Copy)]
struct Answer {
    rates: NodeFeeRates,
    /// The last estimate, of this answer or an earlier one.
    estimate: Option<FeeRate>,
    at: Instant,
    /// The time of the answer, by clocks that also count the machine's sleep.
    moment: Moment,
}

impl FeeRates {
    /// As [`Self::ask`], but waits at most two seconds, and does not ask while the backend is known
    /// to be silent.
    pub async fn ask_briefly(
        &self,
        serves: Duration,
        ask: impl FnOnce() -> Result<NodeFeeRates, ChainDown> + Send + 'static,
    ) -> Option<NodeFeeRates> {
        let now = Instant::now();
        if !serves.is_zero()
            && self.serving(serves, now).is_none()
            && self.is_known_silent(serves, now)
        {
            return None;
        }
        let rates = timeout(OFFERS_WAIT, self.ask(serves, ask)).await.ok().flatten();
        if rates.is_none() {
            *self.silent_since.lock() = Some(Instant::now());
        }
        rates
    }

    /// Returns the last answer if it is at most `serves` old, or asks the backend. Returns `None`
    /// if the backend is silent.
    pub async fn ask(
        &self,
        serves: Duration,
        ask: impl FnOnce() -> Result<NodeFeeRates, ChainDown> + Send + 'static,
    ) -> Option<NodeFeeRates> {
        let began = Instant::now();
        if let Some(rates) = self.serving(serves, began) {
            return Some(rates);
        }
        let asking = Arc::clone(&self.asking).lock_owned().await;
        if let Some(rates) = self.serving(serves, began) {
            return Some(rates);
        }
        let (last, silent_since) = (Arc::clone(&self.last), Arc::clone(&self.silent_since));
        let asked = tokio::task::spawn_blocking(move || {
            let _asking = asking;
            // Logged as debug, because the watcher reports a silent backend.
            let rates = ask()
                .inspect_err(|error| tracing::debug!(%error, "the backend names no fee rate"))
                .ok()?;
            let mut last = last.lock();
            let estimate = rates.estimate.or_else(|| last.as_ref()?.estimate);
            *last = Some(Answer { rates, estimate, at: Instant::now(), moment: Moment::now() });
            *silent_since.lock() = None;
            Some(rates)
        });
        let failed = |error: &JoinError| tracing::error!(%error, "the backend could not be asked for a fee rate");
        asked.await.inspect_err(failed).ok().flatten()
    }

    /// Whether the backend gave no answer within this time before `now`, or a question is still
    /// open.
    fn is_known_silent(&self, within: Duration, now: Instant) -> bool {
        let silent_since = *self.silent_since.lock();
        silent_since
            .is_some_and(|at| now.duration_since(at) < within || self.asking.try_lock().is_err())
    }

    /// The last answer, if it arrived after `began` or is at most `serves` old.
    fn serving(&self, serves: Duration, began: Instant) -> Option<NodeFeeRates> {
        let Answer { rates, at, moment, .. } = (*self.last.lock())?;
        let serves_ms = i64::try_from(serves.as_millis()).unwrap_or(i64::MAX);
        (at > began || (serves_ms > 0 && moment.is_within(serves_ms))).then_some(rates)
    }

    pub fn last_known(&self) -> Option<KnownFeeRates> {
        (*self.last.lock()).map(|Answer { rates, estimate, .. }| KnownFeeRates { rates, estimate })
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::mpsc;
    use std::task::{Context, Poll, Waker};

    use super::*;
    use crate::gateway::fee_rate_estimate::{SERVES_OFFERS, SERVES_SIGNING};

    fn sat_vb(rate: u32) -> NodeFeeRates {
        let rate = FeeRate::from_sat_per_vb_u32(rate);
        NodeFeeRates { estimate: Some(rate), minimum: rate, increment: rate }
    }

    #[tokio::test]
    async fn an_answer_serves_offers_and_signing_until_it_is_too_old() {
        let rates = FeeRates::default();
        for serves in [SERVES_OFFERS, SERVES_SIGNING] {
            assert_eq!(rates.ask(Duration::ZERO, || Ok(sat_vb(3))).await, Some(sat_vb(3)));
            assert_eq!(
                rates.ask(serves, || panic!("the backend is asked again")).await,
                Some(sat_vb(3))
            );
            assert_eq!(rates.ask(Duration::ZERO, || Ok(sat_vb(4))).await, Some(sat_vb(4)));
        }
    }

    #[tokio::test]
    async fn a_silent_backend_is_waited_for_once_until_it_answers() {
        let rates = FeeRates::default();
        let (answer, answered) = mpsc::channel();
        let slow = move || answered.recv().map_err(|_| ChainDown::of_text("it hung up".to_owned()));
        assert_eq!(rates.ask_briefly(SERVES_OFFERS, slow).await, None, "two seconds are over");
        // A second offer neither waits for the open question nor asks again.
        let asked = Arc::new(AtomicBool::new(false));
        for _ in 0..10 {
            let asked = Arc::clone(&asked);
            let ask = move || {
                asked.store(true, Ordering::SeqCst);
                Ok(sat_vb(1))
            };
            let answer = pin!(rates.ask_briefly(SERVES_OFFERS, ask))
                .poll(&mut Context::from_waker(Waker::noop()));
            assert_eq!(answer, Poll::Ready(None));
        }
        assert!(!asked.load(Ordering::SeqCst));
        answer.send(sat_vb(7)).unwrap();
        assert_eq!(rates.ask(Duration::ZERO, || Ok(sat_vb(7))).await, Some(sat_vb(7)));
        assert_eq!(
            rates.ask_briefly(SERVES_OFFERS, || panic!("the backend is asked again")).await,
            Some(sat_vb(7))
        );
    }

    #[tokio::test]
    async fn a_signature_waits_for_a_backend_longer_than_an_offer() {
        let rates = FeeRates::default();
        let (answer, answered) = mpsc::channel();
        let slow = move || answered.recv().map_err(|_| ChainDown::of_text("it hung up".to_owned()));
        let mut signing = pin!(rates.ask(SERVES_SIGNING, slow));
        assert_eq!(signing.as_mut().poll(&mut Context::from_waker(Waker::noop())), Poll::Pending);
        assert_eq!(
            rates.ask_briefly(SERVES_OFFERS, || panic!("the backend is asked twice")).await,
            None,
            "two seconds are over"
        );
        answer.send(sat_vb(7)).unwrap();
        assert_eq!(signing.await, Some(sat_vb(7)));
    }

    #[tokio::test]
    async fn a_backend_that_refused_is_asked_again_only_for_a_signature() {
        let rates = FeeRates::default();
        assert_eq!(
            rates.ask_briefly(SERVES_OFFERS, || Err(ChainDown::of_text("no".to_owned()))).await,
            None
        );
        assert_eq!(
            rates.ask_briefly(SERVES_OFFERS, || Ok(sat_vb(1))).await,
            None,
            "a silent backend is asked again at once"
        );
        assert_eq!(rates.ask(SERVES_SIGNING, || Ok(sat_vb(2))).await, Some(sat_vb(2)));
    }

    #[tokio::test]
    async fn the_last_estimate_outlives_an_answer_without_one() {
        let rates = FeeRates::default();
        let none = NodeFeeRates { estimate: None, ..sat_vb(1) };
        for (answer, estimate) in
            [(none, None), (sat_vb(3), sat_vb(3).estimate), (none, sat_vb(3).estimate)]
        {
            rates.ask(Duration::ZERO, move || Ok(answer)).await;
            assert_eq!(rates.last_known(), Some(KnownFeeRates { rates: answer, estimate }));
        }
    }
}
