//! How a server has a look follow at once on what it says: it is heard while it is the one that is asked.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Notify;

/// Which of several servers is asked, by its number, and who is woken on its behalf. The first, until another answers.
#[derive(Debug, Clone, Default)]
pub(crate) struct Turn {
    wake: Arc<Notify>,
    number: Arc<AtomicUsize>,
}

/// Wakes a look on behalf of one server. By itself it is that of a server which is the only one.
#[derive(Debug, Clone, Default)]
pub(crate) struct Bell {
    turn: Turn,
    number: usize,
}

impl Turn {
    /// Has this one woken.
    pub(super) fn waking(wake: Arc<Notify>) -> Self {
        Self { wake, number: Arc::default() }
    }

    /// The bell of the server with this number.
    pub(super) fn bell(&self, number: usize) -> Bell {
        Bell { turn: self.clone(), number }
    }

    /// The server that is asked.
    pub(super) fn number(&self) -> usize {
        self.number.load(Ordering::Relaxed)
    }

    /// Another server is asked from now on, or the same; answers which was before.
    pub(super) fn pass_to(&self, number: usize) -> usize {
        self.number.swap(number, Ordering::Relaxed)
    }

    /// To be waited on by whoever looks.
    pub(super) fn wake(&self) -> &Notify {
        &self.wake
    }
}

impl Bell {
    /// The server said something. Where another one is asked, what this one says changes no look's answer.
    pub(super) fn ring(&self) {
        if self.turn.number() == self.number {
            self.turn.wake.notify_one();
        }
    }

    /// To be waited on by whoever looks.
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
