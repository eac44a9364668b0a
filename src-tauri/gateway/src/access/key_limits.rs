//! What one API key may use up: requests in a second, payments that are open, and long lists that it leaves unread. In
//! memory; the database is asked how many payments are open when a key comes to its bound, never for each payment.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use tokio::time::Instant;

use crate::store::payment_lists::PaymentFilter;
use crate::store::{Store, StoreError};

/// A key that was quiet may ask for so many seconds' worth at once.
const BURST_SECONDS: u64 = 25;

/// Between two counts of a key's open payments there is so many times what the last one took: counting takes a twentieth
/// of the time at most, however many are open.
const COUNT_PAUSE_FACTOR: u32 = 20;

/// A key at its bound is told to come again after this: while nobody pays them, its payments are open for half an hour.
const OPEN_RETRY_SECONDS: u32 = 30;

/// Long lists of one key that are not read to their end, at once: each holds memory until its client took it.
const LISTS_OF_KEY_MAX: usize = 16;

/// Long lists of all keys together that are not read to their end.
const LISTS_MAX: usize = 128;

/// A key that leaves too many lists unread is told to come again after this: a list is read, or its client cut off, in
/// some seconds.
const LISTS_RETRY_SECONDS: u32 = 5;

/// A key is at its bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeyLimit {
    /// Too many requests in a second.
    #[error(
        "this API key asks for payments, payouts and resends faster than it may ({per_second} in a second): slow down"
    )]
    Requests {
        /// The bound.
        per_second: u32,
        /// When the next one may come.
        retry_after_seconds: u32,
    },
    /// Too many payments that wait for coins or confirmations.
    #[error("this API key has as many open payments as it may have ({most}): wait until one is paid or expires")]
    OpenPayments {
        /// The bound.
        most: u32,
    },
    /// Too many long lists that their clients do not read to the end.
    #[error(
        "too many long lists are being read ({LISTS_OF_KEY_MAX} for an API key, {LISTS_MAX} in all): read one first"
    )]
    Lists,
}

impl KeyLimit {
    /// After how many seconds it is worth asking again.
    #[must_use]
    pub const fn retry_after_seconds(&self) -> u32 {
        match self {
            Self::Requests { retry_after_seconds, .. } => *retry_after_seconds,
            Self::OpenPayments { .. } => OPEN_RETRY_SECONDS,
            Self::Lists => LISTS_RETRY_SECONDS,
        }
    }
}

/// Why a payment may not be made.
#[derive(Debug, thiserror::Error)]
pub enum ReserveError {
    /// The key has as many open payments as it may.
    #[error(transparent)]
    Limit(#[from] KeyLimit),
    /// Its open payments could not be counted.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What the keys of one environment use up.
#[derive(Debug, Default)]
pub struct KeyLimits {
    keys: Mutex<HashMap<i64, Used>>,
    /// Held by whoever counts: those who wait for it find the result.
    counting: tokio::sync::Mutex<()>,
}

/// What one key uses up.
#[derive(Debug, Default)]
struct Used {
    /// When it would have made all its requests so far, had it made them one by one at the rate that it may.
    idle_at: Option<Instant>,
    open: OpenPayments,
    /// Long lists that it has not read to their end.
    lists: usize,
}

/// How many payments of a key are open at most: those that were paid or expired since the last count are among them.
#[derive(Debug, Default)]
struct OpenPayments {
    /// The last count and what was committed since; `None` before the first count.
    at_most: Option<u64>,
    /// Permits that are held at this moment.
    being_made: u64,
    /// Payments that were made since the program started.
    made: u64,
    /// They are not counted again before this.
    count_again_at: Option<Instant>,
}

/// The right to make one payment. Dropped before [`Self::will_be_made`], it is given back.
#[derive(Debug)]
pub struct OpenPaymentPermit {
    limits: Arc<KeyLimits>,
    key_id: i64,
    made: bool,
}

/// The right to leave one long list unread; given back when dropped.
#[derive(Debug)]
pub struct ListPermit {
    limits: Arc<KeyLimits>,
    key_id: i64,
}

impl KeyLimits {
    /// The right of a key to one more long list.
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

    /// Counts a request of a key that makes something, at most `per_second` in a second (0 is no bound) and
    /// 25 seconds' worth at once.
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
            let retry_after_seconds = u32::try_from(over.as_millis().div_ceil(1_000)).unwrap_or(u32::MAX);
            return Err(KeyLimit::Requests { per_second, retry_after_seconds });
        }
        used.idle_at = Some(idle_at);
        Ok(())
    }

    /// The right of a key to make one more payment, of which at most `most` may be open (0 is no bound).
    ///
    /// # Errors
    /// [`KeyLimit::OpenPayments`], or why they could not be counted.
    pub async fn reserve(
        self: &Arc<Self>,
        key_id: i64,
        most: u32,
        store: &Arc<Store>,
    ) -> Result<Option<OpenPaymentPermit>, ReserveError> {
        if most == 0 {
            // Counted afresh once there is a bound again.
            if let Some(used) = self.keys().get_mut(&key_id) {
                used.open.at_most = None;
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
        let now = Instant::now();
        let made_before = {
            let mut keys = self.keys();
            let open = &mut keys.entry(key_id).or_default().open;
            if open.at_most.is_some() && open.count_again_at.is_some_and(|at| now < at) {
                return Err(limit.into());
            }
            open.made
        };
        let reading = Arc::clone(store);
        let filter = PaymentFilter { key_id: Some(key_id), ..PaymentFilter::open() };
        let counting = move || reading.read(|reader| reader.payments_count(&filter));
        let counted = tokio::task::spawn_blocking(counting).await.map_err(|_| StoreError::Closed)??;
        {
            let mut keys = self.keys();
            let open = &mut keys.entry(key_id).or_default().open;
            // What was made during the count may be in it or not.
            open.at_most = Some(counted + (open.made - made_before));
            open.count_again_at = Some(Instant::now() + now.elapsed().saturating_mul(COUNT_PAUSE_FACTOR));
        }
        self.take(key_id, most).map(Some).ok_or_else(|| limit.into())
    }

    fn take(self: &Arc<Self>, key_id: i64, most: u32) -> Option<OpenPaymentPermit> {
        let mut keys = self.keys();
        let open = &mut keys.entry(key_id).or_default().open;
        if open.at_most? + open.being_made >= u64::from(most) {
            return None;
        }
        open.being_made += 1;
        Some(OpenPaymentPermit { limits: Arc::clone(self), key_id, made: false })
    }

    fn keys(&self) -> MutexGuard<'_, HashMap<i64, Used>> {
        self.keys.lock()
    }
}

impl OpenPaymentPermit {
    /// The payment is in a transaction now: once this is dropped, which must be after the commit, it counts as made. So does
    /// one that could not be committed, until the payments are counted again.
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
        open.being_made -= 1;
        if self.made {
            open.made += 1;
            open.at_most = open.at_most.map(|at_most| at_most + 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quiet_key_asks_for_25_seconds_worth_at_once_and_then_at_its_rate() {
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
        let mut held: Vec<_> = (0..LISTS_OF_KEY_MAX).map(|_| limits.begin_list(1).unwrap()).collect();
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
        assert!(matches!(reserve().await, Err(ReserveError::Limit(KeyLimit::OpenPayments { most: 2 }))));
        drop(first);
        let third = reserve().await.unwrap().unwrap();
        drop(second.will_be_made());
        drop(third.will_be_made());
        assert_eq!(limits.keys()[&1].open.at_most, Some(2));
        assert!(limits.reserve(2, 2, &store).await.unwrap().is_some());
        assert!(limits.reserve(1, 0, &store).await.unwrap().is_none());
    }
}
