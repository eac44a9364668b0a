//! A chain for tests that answers a limited number of looks; further looks fail.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use tillgate_chain::chain_wrapper::ChainWrapper;
use tillgate_chain::{Chain, ChainDown, LookAnswer, LookRequest};

/// The number of looks that will still be answered, and the number that were.
#[derive(Debug)]
pub struct Answers {
    remaining: AtomicU32,
    given: AtomicU32,
}

/// A wrapper of a chain that fails each look after the allowed number.
pub struct LimitedLooks {
    pub chain: Arc<dyn Chain>,
    pub answers: Arc<Answers>,
}

impl Answers {
    /// Allows this number of answers.
    pub fn allowing(count: u32) -> Arc<Self> {
        Arc::new(Self { remaining: AtomicU32::new(count), given: AtomicU32::new(0) })
    }

    /// Sets the number of further answers.
    pub fn allow(&self, count: u32) {
        self.remaining.store(count, Ordering::SeqCst);
    }

    /// The number of answered looks.
    pub fn given(&self) -> u32 {
        self.given.load(Ordering::SeqCst)
    }
}

impl ChainWrapper for LimitedLooks {
    fn chain(&self) -> &dyn Chain {
        self.chain.as_ref()
    }

    fn look(&self, request: &LookRequest<'_>) -> Result<LookAnswer, ChainDown> {
        let left =
            self.answers
                .remaining
                .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        left.map_err(|_| ChainDown::of_text("the test allows no further look".to_owned()))?;
        self.answers.given.fetch_add(1, Ordering::SeqCst);
        self.chain.look(request)
    }
}
