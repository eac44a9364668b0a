//! Limits the payment pages that receive events at once, because each holds a connection open. If
//! all permits are taken, the network with the most permits loses one to a network with fewer.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use tillgate_domain::id::Id;
use tokio_util::sync::CancellationToken;

/// Limit of pages that receive events. It leaves most of a listener's connections to the API.
const STREAMS_MAX: usize = 512;

/// Limit of pages of one payment. A customer has a few devices, and a person who knows one page
/// must not block the pages of other payments.
const STREAMS_OF_PAYMENT_MAX: usize = 8;

/// The taken permits, each with its network and payment.
#[derive(Default)]
pub struct StreamPermits {
    taken: Mutex<TakenPermits>,
}

#[derive(Default)]
struct TakenPermits {
    next_number: u64,
    permits: HashMap<u64, TakenPermit>,
}

struct TakenPermit {
    payment: Id,
    network: IpAddr,
    gives_up: CancellationToken,
}

/// The permit to receive a payment's events. A dropped permit is free again.
pub struct StreamPermit {
    permits: Arc<StreamPermits>,
    number: u64,
    gives_up: CancellationToken,
}

impl StreamPermits {
    /// A permit for a client in `network` (addresses that count as one). `None` if the payment has
    /// reached its limit, or if all permits are taken and no network holds more than its share.
    pub fn take(self: &Arc<Self>, payment: Id, network: IpAddr) -> Option<StreamPermit> {
        let mut taken = self.lock();
        if taken.permits.values().filter(|permit| permit.payment == payment).count()
            >= STREAMS_OF_PAYMENT_MAX
        {
            return None;
        }
        if taken.permits.len() >= STREAMS_MAX {
            let oldest = taken.oldest_of_the_largest_holder(network)?;
            taken.permits.remove(&oldest)?.gives_up.cancel();
        }
        let (number, gives_up) = (taken.next_number, CancellationToken::new());
        taken.next_number += 1;
        taken.permits.insert(number, TakenPermit { payment, network, gives_up: gives_up.clone() });
        Some(StreamPermit { permits: Arc::clone(self), number, gives_up })
    }

    fn lock(&self) -> MutexGuard<'_, TakenPermits> {
        self.taken.lock()
    }
}

impl TakenPermits {
    /// The oldest permit of the network that holds the most, if this network still keeps at least
    /// as many as `network` then has.
    fn oldest_of_the_largest_holder(&self, network: IpAddr) -> Option<u64> {
        let mut counts: HashMap<IpAddr, usize> = HashMap::new();
        for permit in self.permits.values() {
            *counts.entry(permit.network).or_default() += 1;
        }
        let own = counts.get(&network).copied().unwrap_or(0);
        let (largest_holder, most) = counts.into_iter().max_by_key(|(_, count)| *count)?;
        let of_it = self
            .permits
            .iter()
            .filter(|(_, permit)| permit.network == largest_holder)
            .map(|(number, _)| *number);
        if most > own + 1 { of_it.min() } else { None }
    }
}

impl StreamPermit {
    /// Waits until a network with fewer permits needs this one.
    pub async fn must_be_given_up(&self) {
        self.gives_up.cancelled().await;
    }
}

impl Drop for StreamPermit {
    fn drop(&mut self) {
        self.permits.lock().permits.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: usize) -> Id {
        let mut bytes = [0; 20];
        bytes[..8].copy_from_slice(&number.to_be_bytes());
        Id::from_bytes(bytes)
    }

    fn network(number: u8) -> IpAddr {
        IpAddr::from([192, 0, 2, number])
    }

    #[test]
    fn one_payment_cannot_take_all_permits_and_permits_come_back() {
        let permits = Arc::new(StreamPermits::default());
        let held: Vec<_> =
            (0..STREAMS_OF_PAYMENT_MAX).map(|_| permits.take(id(1), network(1)).unwrap()).collect();
        assert!(permits.take(id(1), network(2)).is_none());
        assert!(permits.take(id(2), network(1)).is_some());
        drop(held);
        assert!(permits.take(id(1), network(1)).is_some());
        assert!(permits.lock().permits.is_empty());
    }

    #[test]
    fn the_largest_holder_gives_up_permits_until_all_are_equal() {
        let permits = Arc::new(StreamPermits::default());
        let held: Vec<_> =
            (0..STREAMS_MAX).map(|n| permits.take(id(n), network(1)).unwrap()).collect();
        assert!(permits.take(id(STREAMS_MAX), network(1)).is_none(), "no network holds more");
        let others: Vec<_> =
            (0..STREAMS_MAX).map_while(|n| permits.take(id(1_000 + n), network(2))).collect();
        assert_eq!(others.len(), STREAMS_MAX / 2);
        assert!(
            held[..STREAMS_MAX / 2].iter().all(|permit| permit.gives_up.is_cancelled()),
            "the oldest first"
        );
        assert!(held[STREAMS_MAX / 2..].iter().all(|permit| !permit.gives_up.is_cancelled()));
        assert!(permits.take(id(2_000), network(3)).is_some());
        drop((held, others));
        assert!(permits.lock().permits.is_empty());
    }
}
