//! How many pages may follow payments at one time: each holds a connection open.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tillgate_domain::id::Id;

/// In all; it leaves most of a listener's connections to the API.
const SEATS_MAX: usize = 512;

/// For one payment: a customer has a few devices, and who knows one page must not block all others.
const SEATS_PER_PAYMENT_MAX: usize = 8;

/// Who sits where.
#[derive(Debug, Default)]
pub(super) struct Seats {
    taken: Mutex<HashMap<Id, usize>>,
}

/// The right to follow a payment; given back when dropped.
#[derive(Debug)]
pub(super) struct Seat {
    seats: Arc<Seats>,
    id: Id,
}

impl Seats {
    /// A seat, unless all are taken.
    pub(super) fn take(self: &Arc<Self>, id: Id) -> Option<Seat> {
        let mut taken = self.lock();
        if taken.values().sum::<usize>() >= SEATS_MAX {
            return None;
        }
        let of_payment = taken.entry(id).or_default();
        if *of_payment >= SEATS_PER_PAYMENT_MAX {
            return None;
        }
        *of_payment += 1;
        Some(Seat { seats: Arc::clone(self), id })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Id, usize>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut taken = self.seats.lock();
        if let Some(of_payment) = taken.get_mut(&self.id) {
            *of_payment -= 1;
            if *of_payment == 0 {
                taken.remove(&self.id);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_payment_cannot_take_all_seats_and_seats_come_back() {
        let seats = Arc::new(Seats::default());
        let id = |number: u8| Id::from_bytes([number; 20]);
        let held: Vec<_> = (0..SEATS_PER_PAYMENT_MAX).map(|_| seats.take(id(1)).unwrap()).collect();
        assert!(seats.take(id(1)).is_none());
        assert!(seats.take(id(2)).is_some());
        drop(held);
        assert!(seats.take(id(1)).is_some());
        assert!(seats.lock().is_empty());
    }
}
