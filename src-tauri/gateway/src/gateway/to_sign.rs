//! The scripts that a look must cover before the sender signs: those of the spent coins and of the
//! next change.

use std::collections::HashSet;

use bitcoin::ScriptBuf;
use parking_lot::Mutex;
use tillgate_chain::Covered;

/// The scripts to cover, and the coverage of the last look.
#[derive(Default)]
pub struct ToSign {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    scripts: Vec<ScriptBuf>,
    last: Option<Coverage>,
}

struct Coverage {
    covered: Covered,
    /// Scripts with more history than the server reports.
    refused: HashSet<ScriptBuf>,
}

impl ToSign {
    /// Sets the scripts for the next looks; empty after the signature.
    pub fn ask(&self, scripts: Vec<ScriptBuf>) {
        self.inner.lock().scripts = scripts;
    }

    pub fn scripts(&self) -> Vec<ScriptBuf> {
        self.inner.lock().scripts.clone()
    }

    pub fn note(&self, covered: Covered, refused: HashSet<ScriptBuf>) {
        self.inner.lock().last = Some(Coverage { covered, refused });
    }

    /// Whether the last look covered all of these scripts, except those with more history than the
    /// server reports.
    pub fn is_covered(&self, scripts: &[ScriptBuf]) -> bool {
        let inner = self.inner.lock();
        let is_covered = |last: &Coverage| {
            scripts.iter().all(|script| last.covered.holds(script) || last.refused.contains(script))
        };
        inner.last.as_ref().is_some_and(is_covered)
    }
}
