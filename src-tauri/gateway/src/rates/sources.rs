//! Which sources of exchange rates an environment has.

use std::sync::Arc;

use super::{RateSource, Simulated};
use crate::chain::open::Backend;

/// The sources that go with a backend: the sandbox's rates are simulated, as its coins are.
#[must_use]
pub(crate) fn sources(backend: &Backend) -> Vec<Box<dyn RateSource>> {
    match backend {
        Backend::Sandbox(sandbox) => vec![Box::new(Simulated::new(Arc::clone(sandbox)))],
    }
}
