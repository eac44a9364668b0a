//! Places to read long lists: fewer than the database has in all, and for one API key fewer still. Whatever lists keys ask
//! for, there is always a place left for who watches the chain, notifies, or is asked by the merchant.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use crate::store::StoreError;

/// Lists that are read at the same time. The database has 48 places; all else that is asked over HTTP takes one for each
/// thread that serves connections, which are 4 at most.
const PLACES: usize = 32;

/// Of these, those that one API key takes.
const KEY_PLACES: usize = 12;

/// How long a list waits for its place: as long as a read waits for its own.
const WAIT_MAX: Duration = Duration::from_secs(2);

/// Who may read lists at the moment.
pub(super) struct ReadPlaces {
    all: Arc<Semaphore>,
    keys: Mutex<HashMap<i64, Arc<Semaphore>>>,
}

/// The right to read a list, given back when it is dropped. It goes along with the read, which goes on where its client
/// has gone.
pub(super) struct ReadPlace {
    _of_key: OwnedSemaphorePermit,
    _of_all: OwnedSemaphorePermit,
}

impl Default for ReadPlaces {
    fn default() -> Self {
        Self { all: Arc::new(Semaphore::new(PLACES)), keys: Mutex::default() }
    }
}

impl ReadPlaces {
    /// Takes a place for a list of an API key.
    ///
    /// # Errors
    /// [`StoreError::TooManyReads`] where it waited in vain.
    pub(super) async fn take(&self, key_id: i64) -> Result<ReadPlace, StoreError> {
        let of_key = {
            let mut keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(keys.entry(key_id).or_insert_with(|| Arc::new(Semaphore::new(KEY_PLACES))))
        };
        let both = async {
            // Its own first: who waits for that keeps no place from others.
            let of_key = of_key.acquire_owned().await.ok()?;
            let of_all = Arc::clone(&self.all).acquire_owned().await.ok()?;
            Some(ReadPlace { _of_key: of_key, _of_all: of_all })
        };
        timeout(WAIT_MAX, both).await.ok().flatten().ok_or(StoreError::TooManyReads)
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use super::*;

    #[tokio::test]
    async fn a_key_takes_twelve_places_and_all_together_thirty_two() {
        let places = ReadPlaces::default();
        let mut held = Vec::new();
        for _ in 0..KEY_PLACES {
            held.push(places.take(1).await.unwrap());
        }
        let mut context = Context::from_waker(Waker::noop());
        let mut thirteenth = pin!(places.take(1));
        assert!(thirteenth.as_mut().poll(&mut context).is_pending());
        for taken in 0..PLACES - KEY_PLACES {
            held.push(places.take(2 + i64::try_from(taken / KEY_PLACES).unwrap()).await.unwrap());
        }
        let mut one_more = pin!(places.take(9));
        assert!(one_more.as_mut().poll(&mut context).is_pending());
        held.pop();
        assert!(matches!(one_more.poll(&mut context), Poll::Ready(Ok(_))));
        held.clear();
        assert!(matches!(thirteenth.poll(&mut context), Poll::Ready(Ok(_))));
    }
}
