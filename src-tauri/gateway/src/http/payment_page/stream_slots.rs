//! How many pages may follow payments at one time: each holds a connection open. Where all slots are taken, who has
//! the most gives one up to whoever has fewer.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tillgate_domain::id::Id;
use tokio_util::sync::CancellationToken;

/// In all; it leaves most of a listener's connections to the API.
const SLOTS_MAX: usize = 512;

/// For one payment: a customer has a few devices, and who knows one page must not block all others.
const SLOTS_PER_PAYMENT_MAX: usize = 8;

/// Who holds which slot.
#[derive(Default)]
pub(crate) struct StreamSlots {
    taken: Mutex<TakenSlots>,
}

#[derive(Default)]
struct TakenSlots {
    next: u64,
    slots: HashMap<u64, TakenSlot>,
}

struct TakenSlot {
    payment: Id,
    network: IpAddr,
    gives_up: CancellationToken,
}

/// The right to follow a payment; given back when dropped.
pub(super) struct StreamSlot {
    slots: Arc<StreamSlots>,
    number: u64,
    gives_up: CancellationToken,
}

impl StreamSlots {
    /// A slot for somebody in `network` (addresses that count as one), unless all are taken by those who have no more
    /// than their share.
    pub(super) fn take(self: &Arc<Self>, payment: Id, network: IpAddr) -> Option<StreamSlot> {
        let mut taken = self.lock();
        if taken.slots.values().filter(|slot| slot.payment == payment).count() >= SLOTS_PER_PAYMENT_MAX {
            return None;
        }
        if taken.slots.len() >= SLOTS_MAX {
            let oldest = taken.oldest_of_the_largest_holder(network)?;
            taken.slots.remove(&oldest)?.gives_up.cancel();
        }
        let (number, gives_up) = (taken.next, CancellationToken::new());
        taken.next += 1;
        taken.slots.insert(number, TakenSlot { payment, network, gives_up: gives_up.clone() });
        Some(StreamSlot { slots: Arc::clone(self), number, gives_up })
    }

    fn lock(&self) -> MutexGuard<'_, TakenSlots> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TakenSlots {
    /// The oldest slot of the network that has the most, if it keeps no fewer than `network` has then.
    fn oldest_of_the_largest_holder(&self, network: IpAddr) -> Option<u64> {
        let mut counts: HashMap<IpAddr, usize> = HashMap::new();
        for slot in self.slots.values() {
            *counts.entry(slot.network).or_default() += 1;
        }
        let own = counts.get(&network).copied().unwrap_or(0);
        let (largest_holder, most) = counts.into_iter().max_by_key(|(_, count)| *count)?;
        let of_it = self.slots.iter().filter(|(_, slot)| slot.network == largest_holder).map(|(number, _)| *number);
        if most > own + 1 { of_it.min() } else { None }
    }
}

impl StreamSlot {
    /// Waits until somebody who has fewer needs it.
    pub(super) async fn must_be_given_up(&self) {
        self.gives_up.cancelled().await;
    }
}

impl Drop for StreamSlot {
    fn drop(&mut self) {
        self.slots.lock().slots.remove(&self.number);
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
    fn one_payment_cannot_take_all_slots_and_slots_come_back() {
        let slots = Arc::new(StreamSlots::default());
        let held: Vec<_> = (0..SLOTS_PER_PAYMENT_MAX).map(|_| slots.take(id(1), network(1)).unwrap()).collect();
        assert!(slots.take(id(1), network(2)).is_none());
        assert!(slots.take(id(2), network(1)).is_some());
        drop(held);
        assert!(slots.take(id(1), network(1)).is_some());
        assert!(slots.lock().slots.is_empty());
    }

    #[test]
    fn who_has_the_most_gives_up_slots_until_all_have_the_same() {
        let slots = Arc::new(StreamSlots::default());
        let held: Vec<_> = (0..SLOTS_MAX).map(|n| slots.take(id(n), network(1)).unwrap()).collect();
        assert!(slots.take(id(SLOTS_MAX), network(1)).is_none(), "there is nobody who has more");
        let others: Vec<_> = (0..SLOTS_MAX).map_while(|n| slots.take(id(1_000 + n), network(2))).collect();
        assert_eq!(others.len(), SLOTS_MAX / 2);
        assert!(held[..SLOTS_MAX / 2].iter().all(|slot| slot.gives_up.is_cancelled()), "the oldest first");
        assert!(held[SLOTS_MAX / 2..].iter().all(|slot| !slot.gives_up.is_cancelled()));
        assert!(slots.take(id(2_000), network(3)).is_some());
        drop((held, others));
        assert!(slots.lock().slots.is_empty());
    }
}
