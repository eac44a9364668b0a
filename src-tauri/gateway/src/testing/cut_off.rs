//! A backend that gives so many answers to looks, and then none, for tests.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use super::bent::Bent;
use crate::chain::{Chain, ChainDown, LookRequest, View};

/// How many answers are left, and how many were given.
#[derive(Debug)]
pub struct Answers {
    left: AtomicU32,
    given: AtomicU32,
}

/// Answers looks as the chain behind it, as often as that.
pub struct CutOff {
    pub chain: Arc<dyn Chain>,
    pub answers: Arc<Answers>,
}

impl Answers {
    /// So many are left.
    pub fn left(count: u32) -> Arc<Self> {
        Arc::new(Self { left: AtomicU32::new(count), given: AtomicU32::new(0) })
    }

    /// Leaves so many from now on.
    pub fn leave(&self, count: u32) {
        self.left.store(count, Ordering::SeqCst);
    }

    /// How many were given.
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
