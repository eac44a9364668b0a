//! A merchant sets another backend in the middle of a look.

use std::sync::Arc;

use parking_lot::Mutex;
use tillgate_chain::chain_wrapper::ChainWrapper;
use tillgate_chain::configured::{BackendOptions, Configured};
use tillgate_chain::{Chain, ChainDown, LookAnswer, LookRequest, Sees};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// After the next answer.
    Answered,
    /// While the scripts to ask about are read.
    Prepared,
}

/// A backend that another one replaces in the next look.
pub struct SetMeanwhile {
    pub chain: Arc<dyn Chain>,
    pub chosen: Arc<Configured>,
    pub when: When,
    /// The other backend; `None` once it is set.
    pub options: Mutex<Option<BackendOptions>>,
}

impl SetMeanwhile {
    fn set(&self, now: When) {
        if self.when == now
            && let Some(options) = self.options.lock().take()
        {
            self.chosen.configure(Ok(Some(options)));
        }
    }
}

impl ChainWrapper for SetMeanwhile {
    fn chain(&self) -> &dyn Chain {
        self.chain.as_ref()
    }

    fn look(&self, request: &LookRequest<'_>) -> Result<LookAnswer, ChainDown> {
        let view = self.chain.look(request)?;
        self.set(When::Answered);
        Ok(view)
    }

    fn sees(&self) -> Sees {
        let sees = self.chain.sees();
        self.set(When::Prepared);
        sees
    }
}
