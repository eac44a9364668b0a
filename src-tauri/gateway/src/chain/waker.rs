//! Lets a server's notification start a look at once, while that server is the one being asked.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Notify;

/// The number of the server being asked, and the task to wake. Starts with the first server.
#[derive(Debug, Clone, Default)]
pub(crate) struct Turn {
    wake: Arc<Notify>,
    number: Arc<AtomicUsize>,
}

/// Wakes a look on behalf of one server. The default is the bell of a single server.
#[derive(Debug, Clone, Default)]
pub(crate) struct Bell {
    turn: Turn,
    number: usize,
}

impl Turn {
    pub(super) fn waking(wake: Arc<Notify>) -> Self {
        Self { wake, number: Arc::default() }
    }

    pub(super) fn bell(&self, number: usize) -> Bell {
        Bell { turn: self.clone(), number }
    }

    pub(super) fn number(&self) -> usize {
        self.number.load(Ordering::Relaxed)
    }

    /// Sets the server to ask; returns the previous one.
    pub(super) fn pass_to(&self, number: usize) -> usize {
        self.number.swap(number, Ordering::Relaxed)
    }

    pub(super) fn wake(&self) -> &Notify {
        &self.wake
    }
}

impl Bell {
    /// Wakes a look, unless another server is being asked.
    pub(super) fn ring(&self) {
        if self.turn.number() == self.number {
            self.turn.wake.notify_one();
        }
    }

    pub(super) fn wake(&self) -> &Notify {
        self.turn.wake()
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::{Context, Waker};

    use super::*;

    #[test]
    fn a_server_is_heard_while_it_is_the_one_that_is_asked() {
        let turn = Turn::default();
        let bells = [turn.bell(0), turn.bell(1)];
        let is_woken = || pin!(turn.wake().notified()).poll(&mut Context::from_waker(Waker::noop())).is_ready();
        for asked in [0, 1, 0] {
            turn.pass_to(asked);
            for (number, bell) in bells.iter().enumerate() {
                bell.ring();
                assert_eq!(is_woken(), number == asked, "{number} while {asked} is asked");
            }
        }
    }
}
