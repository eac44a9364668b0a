//! How often scripts were asked about without all of them being told.

use std::collections::HashMap;

use bitcoin::ScriptBuf;

/// After so many questions in vain a script holds more than the server tells.
const UNTOLD_AFTER: u32 = 5;

/// Scripts that are remembered.
const SCRIPTS_MAX: usize = 10_000;

/// Scripts that were asked about in vain since all of them was last told, each with how often.
#[derive(Debug, Default)]
pub(super) struct InVain {
    times: HashMap<ScriptBuf, u32>,
}

impl InVain {
    /// Notes that not all of a script was told although it was asked about.
    pub(super) fn note(&mut self, script: ScriptBuf) {
        if self.times.len() >= SCRIPTS_MAX {
            self.times.clear();
        }
        let times = self.times.entry(script).or_default();
        *times = times.saturating_add(1);
    }

    /// How often a script was; `None` where all of it was told since, or nobody asked.
    pub(super) fn times(&self, script: &ScriptBuf) -> Option<u32> {
        self.times.get(script).copied()
    }

    /// Whether the server does not tell all of a script, however often it is asked.
    pub(super) fn is_untold(&self, script: &ScriptBuf) -> bool {
        self.times(script).is_some_and(|times| times >= UNTOLD_AFTER)
    }

    /// All of a script was told.
    pub(super) fn forget(&mut self, script: &ScriptBuf) {
        self.times.remove(script);
    }

    /// What was asked says nothing any more.
    pub(super) fn clear(&mut self) {
        self.times.clear();
    }
}
