//! A backend for tests that gives a number of answers to looks, and then none.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use super::bent::Bent;
use crate::chain::{Chain, ChainDown, LookRequest, View};

/// The number of answers left, and of answers given.
#[derive(Debug)]
pub struct Answers {
    left: AtomicU32,
    given: AtomicU32,
}

/// A chain that answers looks as the one behind it, until its answers are used up.
pub struct CutOff {
    pub chain: Arc<dyn Chain>,
    pub answers: Arc<Answers>,
}

impl Answers {
    /// A number of answers to give.
    pub fn left(count: u32) -> Arc<Self> {
        Arc::new(Self { left: AtomicU32::new(count), given: AtomicU32::new(0) })
    }

    /// Sets the number of answers left.
    pub fn leave(&self, count: u32) {
        self.left.store(count, Ordering::SeqCst);
    }

    /// The number of answers given.
    pub fn given(&self) -> u32 {
        self.given.load(Ordering::SeqCst)
    }
}

impl Bent for CutOff {
    fn chain(&self) -> &dyn Chain {
        self.chain.as_ref()
    }

    fn look(&self, request: &LookRequest<'_>) -> Result<View, ChainDown> {
        let left = self.answers.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        left.map_err(|_| ChainDown("it was cut off".to_owned()))?;
        self.answers.given.fetch_add(1, Ordering::SeqCst);
        self.chain.look(request)
    }
}
