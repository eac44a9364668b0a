//! Limits of an API key: requests per second, open payments and unread long lists. Their use is
//! counted in memory. The database counts a key's open payments only when the key reaches its
//! limit.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use tillgate_store::payment_lists::PaymentFilter;
use tillgate_store::{Store, StoreError};
use tokio::time::Instant;

use super::upper_bound::UpperBound;
use crate::answer::{Answer, Answered};
use crate::error_type::ErrorType;

/// Burst of a key that was idle, in seconds of its allowed rate.
const BURST_SECONDS: u64 = 25;

/// Wait for a key with too many open payments. An unpaid payment is open for half an hour.
const OPEN_RETRY_SECONDS: u32 = 30;

/// Limit of unfinished long lists of one key. Each holds memory until its client has read it.
const LISTS_OF_KEY_MAX: usize = 16;

/// Limit of unfinished long lists of all keys together.
const LISTS_MAX: usize = 128;

/// Wait for a key with too many unfinished lists. Within some seconds a list is read, or its client
/// is disconnected.
const LISTS_RETRY_SECONDS: u32 = 5;

/// A limit that a key has reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error, tillgate_told::Told)]
pub enum KeyLimit {
    /// Too many requests in a second.
    #[error(
        "this API key asks for payments, payouts and resends faster than it may ({per_second} in a second): slow down"
    )]
    Requests {
        per_second: u32,
        /// Seconds until the next request may come.
        retry_after_seconds: u32,
    },
    /// Too many payments that wait for coins or confirmations.
    #[error(
        "this API key has as many open payments as it may have ({most}): wait until one is paid or expires"
    )]
    OpenPayments { most: u32 },
    /// Too many long lists that their clients do not read to the end.
    #[error(
        "too many long lists are being read ({LISTS_OF_KEY_MAX} for an API key, {LISTS_MAX} in all): read one first"
    )]
    Lists,
}

impl Answered for KeyLimit {
    fn answer(&self) -> Answer<'_> {
        let seconds = match self {
            Self::Requests { retry_after_seconds, .. } => *retry_after_seconds,
            Self::OpenPayments { .. } => OPEN_RETRY_SECONDS,
            Self::Lists => LISTS_RETRY_SECONDS,
        };
        Answer::new(ErrorType::KeyLimit).after(seconds)
    }
}

/// Reason why a payment may not be made.
#[derive(Debug, thiserror::Error, tillgate_told::Told)]
pub enum ReserveError {
    #[error(transparent)]
    Limit(#[from] KeyLimit),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Use of the limits by the keys of one environment.
#[derive(Debug, Default)]
pub struct KeyLimits {
    keys: Mutex<HashMap<i64, Used>>,
    /// Held during a count. Callers that wait for it find the result.
    counting: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct Used {
    /// Time at which the key's requests so far would have ended at the allowed rate.
    idle_at: Option<Instant>,
    /// Open payments, with those paid or expired since the last count.
    open: UpperBound,
    /// The number of unfinished long lists.
    lists: usize,
}

/// The permit to create one payment. It returns on drop, unless [`Self::will_be_made`] was called.
#[derive(Debug)]
pub struct OpenPaymentPermit {
    limits: Arc<KeyLimits>,
    key_id: i64,
    made: bool,
}

/// The permit for one unread long list. It returns on drop.
#[derive(Debug)]
pub struct ListPermit {
    limits: Arc<KeyLimits>,
    key_id: i64,
}

impl KeyLimits {
    /// Takes the permit for one more long list.
    ///
    /// # Errors
    /// [`KeyLimit::Lists`].
    pub fn begin_list(self: &Arc<Self>, key_id: i64) -> Result<ListPermit, KeyLimit> {
        let mut keys = self.keys();
        let in_all: usize = keys.values().map(|used| used.lists).sum();
        let used = keys.entry(key_id).or_default();
        if used.lists >= LISTS_OF_KEY_MAX || in_all >= LISTS_MAX {
            return Err(KeyLimit::Lists);
        }
        used.lists += 1;
        Ok(ListPermit { limits: Arc::clone(self), key_id })
    }

    /// Counts a request of a key that creates or resends. The limit is `per_second` (0 for no
    /// limit), with a burst of 25 seconds' worth.
    ///
    /// # Errors
    /// [`KeyLimit::Requests`].
    pub fn ask(&self, key_id: i64, per_second: u32, now: Instant) -> Result<(), KeyLimit> {
        let Some(each) = Duration::from_secs(1).checked_div(per_second) else { return Ok(()) };
        let mut keys = self.keys();
        let used = keys.entry(key_id).or_default();
        let idle_at = used.idle_at.map_or(now, |at| at.max(now)) + each;
        let over = (idle_at - now).saturating_sub(Duration::from_secs(BURST_SECONDS));
        if over > Duration::ZERO {
            let retry_after_seconds =
                u32::try_from(over.as_millis().div_ceil(1_000)).unwrap_or(u32::MAX);
            return Err(KeyLimit::Requests { per_second, retry_after_seconds });
        }
        used.idle_at = Some(idle_at);
        Ok(())
    }

    /// Takes the permit to create one more payment, if the key has less than `most` open ones (0
    /// for no limit).
    ///
    /// # Errors
    /// [`KeyLimit::OpenPayments`], or a failed count.
    pub async fn reserve(
        self: &Arc<Self>,
        key_id: i64,
        most: u32,
        store: &Arc<Store>,
    ) -> Result<Option<OpenPaymentPermit>, ReserveError> {
        if most == 0 {
            // Payments without a limit are not counted, so a limit that is set later needs a new
            // count.
            if let Some(used) = self.keys().get_mut(&key_id) {
                used.open.forget();
            }
            return Ok(None);
        }
        if let Some(permit) = self.take(key_id, most) {
            return Ok(Some(permit));
        }
        let _one_at_a_time = self.counting.lock().await;
        if let Some(permit) = self.take(key_id, most) {
            return Ok(Some(permit));
        }
        let limit = KeyLimit::OpenPayments { most };
        let begun = self.keys().entry(key_id).or_default().open.begin_count(Instant::now());
        let Some(begun) = begun else { return Err(limit.into()) };
        let reading = Arc::clone(store);
        let filter = PaymentFilter { key_id: Some(key_id), ..PaymentFilter::open() };
        let counting = move || reading.read(|reader| reader.payments_count(&filter));
        let counted =
            tokio::task::spawn_blocking(counting).await.map_err(|_| StoreError::Closed)??;
        self.keys().entry(key_id).or_default().open.end_count(begun, counted, Instant::now());
        self.take(key_id, most).map(Some).ok_or_else(|| limit.into())
    }

    fn take(self: &Arc<Self>, key_id: i64, most: u32) -> Option<OpenPaymentPermit> {
        let reserved = self.keys().entry(key_id).or_default().open.reserve(1, u64::from(most));
        reserved.then(|| OpenPaymentPermit { limits: Arc::clone(self), key_id, made: false })
    }

    fn keys(&self) -> MutexGuard<'_, HashMap<i64, Used>> {
        self.keys.lock()
    }
}

impl OpenPaymentPermit {
    /// Marks the payment as part of a transaction. The caller drops the permit after the commit;
    /// the payment then counts as open. After a failed commit it counts until the next count.
    #[must_use]
    pub fn will_be_made(mut self) -> Self {
        self.made = true;
        self
    }
}

impl Drop for ListPermit {
    fn drop(&mut self) {
        self.limits.keys().entry(self.key_id).or_default().lists -= 1;
    }
}

impl Drop for OpenPaymentPermit {
    fn drop(&mut self) {
        let mut keys = self.limits.keys();
        let open = &mut keys.entry(self.key_id).or_default().open;
        if self.made {
            open.keep(1);
        } else {
            open.release(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quiet_key_gets_a_burst_of_25_seconds_and_then_its_rate() {
        let (limits, start) = (KeyLimits::default(), Instant::now());
        for _ in 0..50 {
            limits.ask(1, 2, start).unwrap();
        }
        let refused = limits.ask(1, 2, start).unwrap_err();
        assert_eq!(refused, KeyLimit::Requests { per_second: 2, retry_after_seconds: 1 });
        limits.ask(2, 2, start).unwrap();
        limits.ask(1, 2, start + Duration::from_millis(500)).unwrap();
        limits.ask(1, 2, start + Duration::from_millis(500)).unwrap_err();
        for _ in 0..50 {
            limits.ask(1, 2, start + Duration::from_secs(60)).unwrap();
        }
        limits.ask(1, 2, start + Duration::from_secs(60)).unwrap_err();
    }

    #[test]
    fn a_key_has_only_so_many_unread_lists_and_all_together_too() {
        let limits = Arc::new(KeyLimits::default());
        let mut held: Vec<_> =
            (0..LISTS_OF_KEY_MAX).map(|_| limits.begin_list(1).unwrap()).collect();
        assert_eq!(limits.begin_list(1).unwrap_err(), KeyLimit::Lists);
        held.pop();
        held.push(limits.begin_list(1).unwrap());
        for key_id in 2.. {
            let of_key = (0..LISTS_OF_KEY_MAX).map_while(|_| limits.begin_list(key_id).ok());
            let before = held.len();
            held.extend(of_key);
            if held.len() == before {
                break;
            }
        }
        assert_eq!(held.len(), LISTS_MAX);
        drop(held);
        assert!(limits.keys().values().all(|used| used.lists == 0));
    }

    #[test]
    fn without_a_bound_nothing_is_refused() {
        let (limits, start) = (KeyLimits::default(), Instant::now());
        for _ in 0..100_000 {
            limits.ask(1, 0, start).unwrap();
        }
    }

    #[tokio::test]
    async fn permits_are_given_back_unless_a_payment_was_made() {
        let folder = tempfile::tempdir().unwrap();
        let store = Arc::new(Store::open(&folder.path().join("t.db")).unwrap());
        let limits = Arc::new(KeyLimits::default());
        let reserve = async || limits.reserve(1, 2, &store).await;
        let first = reserve().await.unwrap().unwrap();
        let second = reserve().await.unwrap().unwrap();
        assert!(matches!(
            reserve().await,
            Err(ReserveError::Limit(KeyLimit::OpenPayments { most: 2 }))
        ));
        drop(first);
        let third = reserve().await.unwrap().unwrap();
        drop(second.will_be_made());
        drop(third.will_be_made());
        assert_eq!(limits.keys()[&1].open.sum(), Some(2));
        assert!(limits.reserve(2, 2, &store).await.unwrap().is_some());
        assert!(limits.reserve(1, 0, &store).await.unwrap().is_none());
    }
}
