//! Lets a server's notification start a look at once, if that server is the active one.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Notify;

/// The number of the server being asked, and the task to wake. Starts with the first server.
#[derive(Debug, Clone, Default)]
pub struct Active {
    wake: Arc<Notify>,
    number: Arc<AtomicUsize>,
}

/// Wakes a look on behalf of one server. The default belongs to a chain with a single server.
#[derive(Debug, Clone, Default)]
pub struct Waker {
    active: Active,
    number: usize,
}

impl Active {
    pub fn new(wake: Arc<Notify>) -> Self {
        Self { wake, number: Arc::default() }
    }

    pub fn waker(&self, number: usize) -> Waker {
        Waker { active: self.clone(), number }
    }

    pub fn number(&self) -> usize {
        self.number.load(Ordering::Relaxed)
    }

    /// Sets the server to ask; returns the previous one.
    pub fn switch_to(&self, number: usize) -> usize {
        self.number.swap(number, Ordering::Relaxed)
    }

    pub fn notify(&self) -> &Notify {
        &self.wake
    }
}

impl Waker {
    /// Wakes a look, unless another server is being asked.
    pub fn wake(&self) {
        if self.active.number() == self.number {
            self.active.wake.notify_one();
        }
    }

    pub fn notify(&self) -> &Notify {
        self.active.notify()
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::{Context, Waker as TaskWaker};

    use super::*;

    #[test]
    fn a_server_wakes_a_look_while_it_is_the_active_one() {
        let active = Active::default();
        let wakers = [active.waker(0), active.waker(1)];
        let is_woken = || {
            pin!(active.notify().notified())
                .poll(&mut Context::from_waker(TaskWaker::noop()))
                .is_ready()
        };
        for asked in [0, 1, 0] {
            active.switch_to(asked);
            for (number, waker) in wakers.iter().enumerate() {
                waker.wake();
                assert_eq!(
                    is_woken(),
                    number == asked,
                    "server {number} while server {asked} is active"
                );
            }
        }
    }
}
