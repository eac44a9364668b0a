//! A merchant who sets another backend in the middle of a look.

use std::sync::Arc;

use parking_lot::Mutex;

use crate::chain::chosen::{BackendOptions, Chosen};
use crate::chain::{Chain, ChainDown, LookRequest, View};
use crate::testing::bent::Bent;

/// A backend in place of which another is set after its next answer.
pub struct SetMeanwhile {
    pub chain: Arc<dyn Chain>,
    pub chosen: Arc<Chosen>,
    /// The other; `None` once it is set.
    pub options: Mutex<Option<BackendOptions>>,
}

impl Bent for SetMeanwhile {
    fn chain(&self) -> &dyn Chain {
        self.chain.as_ref()
    }

    fn look(&self, request: &LookRequest<'_>) -> Result<View, ChainDown> {
        let view = self.chain.look(request)?;
        if let Some(options) = self.options.lock().take() {
            self.chosen.choose(Ok(Some(options)));
        }
        Ok(view)
    }
}
