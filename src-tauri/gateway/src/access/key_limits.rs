//! What one API key may use up: requests in a second, and payments that are open. Memory only; the database is asked
//! how many are open when a key comes to its bound, never for each payment.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::store::payment_lists::PaymentFilter;
use crate::store::{Store, StoreError};

/// A key that was quiet may ask for so many seconds' worth at once.
const BURST_SECONDS: u64 = 25;

/// Counting takes at most this part of the time, however many payments are open.
const COUNT_PART: u32 = 20;

/// Payments are open for half an hour at most while nobody pays them: a key at its bound may come again after this.
const OPEN_RETRY_SECONDS: u32 = 30;

/// Long lists of one key that are not read to their end, at once: each holds memory until its client took it.
const LISTS_OF_KEY_MAX: usize = 16;

/// Long lists of all keys together that are not read to their end.
const LISTS_MAX: usize = 128;

/// A list is read, or its client cut off, in some seconds.
const LISTS_RETRY_SECONDS: u32 = 5;

/// A key is at its bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeyLimit {
    /// Too many requests in a second.
    #[error("this API key asks for payments and resends faster than it may ({per_second} in a second): slow down")]
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
    /// The key is at its bound.
    #[error(transparent)]
    Limit(#[from] KeyLimit),
    /// Its open payments could not be counted.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What the keys of one environment used up.
#[derive(Debug, Default)]
pub struct KeyLimits {
    keys: Mutex<HashMap<i64, Used>>,
    /// One counts at a time, and whoever waits for it finds its result.
    counting: tokio::sync::Mutex<()>,
}

/// What one key used up.
#[derive(Debug, Default)]
struct Used {
    /// When all that it asked for so far has run off, at the bound's pace.
    idle_at: Option<Instant>,
    open: Open,
    /// Long lists that are not read to their end.
    lists: usize,
}

/// How many payments of a key are open, or fewer: those that were paid or expired since they were counted are among them.
#[derive(Debug, Default)]
struct Open {
    /// Committed, by the last count and what was made since; `None` before the first count.
    most: Option<u64>,
    /// Being made at this moment.
    being_made: u64,
    /// Made since the program started.
    made: u64,
    /// Before this it is not counted again.
    count_again_at: Option<Instant>,
}

/// The place of a payment that is being made. Dropped before [`Self::will_be_made`], it is free again.
#[derive(Debug)]
pub struct OpenPlace {
    limits: Arc<KeyLimits>,
    key_id: i64,
    made: bool,
}

/// The place of a long list; free again when dropped.
#[derive(Debug)]
pub struct ListPlace {
    limits: Arc<KeyLimits>,
    key_id: i64,
}

impl KeyLimits {
    /// Takes a place for a long list of a key.
    ///
    /// # Errors
    /// [`KeyLimit::Lists`].
    pub fn begin_list(self: &Arc<Self>, key_id: i64) -> Result<ListPlace, KeyLimit> {
        let mut keys = self.keys();
        let in_all: usize = keys.values().map(|used| used.lists).sum();
        let used = keys.entry(key_id).or_default();
        if used.lists >= LISTS_OF_KEY_MAX || in_all >= LISTS_MAX {
            return Err(KeyLimit::Lists);
        }
        used.lists += 1;
        Ok(ListPlace { limits: Arc::clone(self), key_id })
    }

    /// Lets a request of a key pass that makes something, at most `per_second` in a second (0 is no bound) and
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

    /// Takes a place for a payment of a key, of which at most `most` may be open (0 is no bound).
    ///
    /// # Errors
    /// [`KeyLimit::OpenPayments`], or why they could not be counted.
    pub async fn reserve(
        self: &Arc<Self>,
        key_id: i64,
        most: u32,
        store: &Arc<Store>,
    ) -> Result<Option<OpenPlace>, ReserveError> {
        if most == 0 {
            // Counted afresh once there is a bound again.
            if let Some(used) = self.keys().get_mut(&key_id) {
                used.open.most = None;
            }
            return Ok(None);
        }
        if let Some(place) = self.take(key_id, most) {
            return Ok(Some(place));
        }
        let _one_at_a_time = self.counting.lock().await;
        if let Some(place) = self.take(key_id, most) {
            return Ok(Some(place));
        }
        let limit = KeyLimit::OpenPayments { most };
        let now = Instant::now();
        let made_before = {
            let mut keys = self.keys();
            let open = &mut keys.entry(key_id).or_default().open;
            if open.most.is_some() && open.count_again_at.is_some_and(|at| now < at) {
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
            open.most = Some(counted + (open.made - made_before));
            open.count_again_at = Some(Instant::now() + now.elapsed().saturating_mul(COUNT_PART));
        }
        self.take(key_id, most).map(Some).ok_or_else(|| limit.into())
    }

    fn take(self: &Arc<Self>, key_id: i64, most: u32) -> Option<OpenPlace> {
        let mut keys = self.keys();
        let open = &mut keys.entry(key_id).or_default().open;
        if open.most? + open.being_made >= u64::from(most) {
            return None;
        }
        open.being_made += 1;
        Some(OpenPlace { limits: Arc::clone(self), key_id, made: false })
    }

    fn keys(&self) -> MutexGuard<'_, HashMap<i64, Used>> {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OpenPlace {
    /// The payment is in a transaction now: once this is dropped, which must be after the commit, it counts as made. Of one
    /// that could not be committed too, until the payments are counted again.
    #[must_use]
    pub fn will_be_made(mut self) -> Self {
        self.made = true;
        self
    }
}

impl Drop for ListPlace {
    fn drop(&mut self) {
        self.limits.keys().entry(self.key_id).or_default().lists -= 1;
    }
}

impl Drop for OpenPlace {
    fn drop(&mut self) {
        let mut keys = self.limits.keys();
        let open = &mut keys.entry(self.key_id).or_default().open;
        open.being_made -= 1;
        if self.made {
            open.made += 1;
            open.most = open.most.map(|most| most + 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quiet_key_asks_for_25_seconds_worth_at_once_and_then_at_its_pace() {
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
    async fn places_given_up_are_free_again_and_those_of_payments_are_not() {
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
        assert_eq!(limits.keys()[&1].open.most, Some(2));
        assert!(limits.reserve(2, 2, &store).await.unwrap().is_some());
        assert!(limits.reserve(1, 0, &store).await.unwrap().is_none());
    }
}
