//! Scripts that a look must cover before something is signed: those of the coins that are spent, and of the next change.

use std::collections::HashSet;

use bitcoin::ScriptBuf;
use parking_lot::Mutex;

use crate::chain::Covered;

/// What is to be signed, and what the last look covered.
#[derive(Default)]
pub(crate) struct ToSign {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    scripts: Vec<ScriptBuf>,
    last: Option<Told>,
}

/// What the last look told that is stored.
struct Told {
    covered: Covered,
    /// Scripts that hold more than the server tells, however often it is asked.
    refused: HashSet<ScriptBuf>,
}

impl ToSign {
    /// Has the next looks ask about these scripts; about none once something was signed.
    pub(crate) fn ask(&self, scripts: Vec<ScriptBuf>) {
        self.inner.lock().scripts = scripts;
    }

    /// What a look is to ask about.
    pub(crate) fn scripts(&self) -> Vec<ScriptBuf> {
        self.inner.lock().scripts.clone()
    }

    /// Takes over what a look told that is stored.
    pub(crate) fn note(&self, covered: Covered, refused: HashSet<ScriptBuf>) {
        self.inner.lock().last = Some(Told { covered, refused });
    }

    /// Whether the last look covered all of these, as far as the server tells them.
    pub(crate) fn is_covered(&self, scripts: &[ScriptBuf]) -> bool {
        let inner = self.inner.lock();
        let is_told =
            |told: &Told| scripts.iter().all(|script| told.covered.holds(script) || told.refused.contains(script));
        inner.last.as_ref().is_some_and(is_told)
    }
}
