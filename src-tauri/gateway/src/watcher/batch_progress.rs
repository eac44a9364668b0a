//! Tracks the scripts of pending batches that the server has reported since the best block came. A
//! server with a request limit reports them over several looks.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use bitcoin::{BlockHash, ScriptBuf};
use tillgate_chain::{Covered, Tip};

use crate::settlement::Due;

/// Most scripts of pending batches to read. Later batches wait until earlier ones are no longer
/// pending.
pub const SCRIPTS_MAX: usize = 10_000;

/// Most open scripts in one look: those not reported yet under the best block.
const ASKED_MAX: usize = 500;

/// Most reported scripts that one look asks about again: a new block may have changed them.
const AGAIN: usize = 20;

/// Number of scripts by which `BatchProgress::start` advances with each look.
const STRIDE: usize = 37;

/// Scripts of pending batches, each with its batch.
#[derive(Debug, Clone, Default)]
pub struct PendingScripts {
    pub scripts: Vec<(i64, ScriptBuf)>,
    /// Whether pending batches have more scripts than these.
    pub is_cut: bool,
}

/// The result of a look, as far as it concerns pending batches.
pub struct LookOutcome<'a> {
    pub tip: Tip,
    /// Whether blocks of the last look are no longer in the chain.
    pub is_other_chain: bool,
    /// Scripts of pending batches; `None` if the look asked about other scripts.
    pub pending_scripts: Option<&'a PendingScripts>,
    pub covered: &'a Covered,
    pub refused: &'a HashSet<ScriptBuf>,
}

/// Progress of the pending batches since the best block came.
#[derive(Debug, Clone, Default)]
pub struct BatchProgress {
    /// The best block; `None` if unknown.
    tip: Option<BlockHash>,
    /// Scripts that the server has reported, or refuses to report.
    reported: HashSet<ScriptBuf>,
    /// Settled batches, by `seq`.
    settled: BTreeSet<i64>,
    /// Whether all batches are settled.
    is_done: bool,
    /// Height of the best block when all batches were last settled.
    done_height: Option<u32>,
    /// Index of the first script that the next look asks about, modulo the number of scripts.
    start: usize,
}

impl BatchProgress {
    /// Number of scripts to read: few once all batches are settled.
    pub const fn reads(&self) -> usize {
        if self.is_done { AGAIN } else { SCRIPTS_MAX }
    }

    /// Scripts that the next look must ask about: open ones from a rotating start, and a few
    /// reported ones.
    pub fn to_ask(&self, pending_scripts: &PendingScripts) -> Vec<ScriptBuf> {
        let mut seen = HashSet::new();
        let scripts = pending_scripts
            .scripts
            .iter()
            .map(|(_, script)| script)
            .filter(|script| seen.insert(*script));
        let (mut again, mut open): (Vec<&ScriptBuf>, Vec<&ScriptBuf>) =
            scripts.partition(|script| self.reported.contains(*script));
        for some in [&mut open, &mut again] {
            let from = self.start.checked_rem(some.len()).unwrap_or(0);
            some.rotate_left(from);
        }
        open.into_iter().take(ASKED_MAX).chain(again.into_iter().take(AGAIN)).cloned().collect()
    }

    /// The progress after the last answer of a look is stored, and the batches that the look
    /// settles.
    pub fn after(&self, look: &LookOutcome<'_>) -> (Self, Due) {
        let is_same = self.tip == Some(look.tip.hash) && !look.is_other_chain;
        let mut next = if is_same { self.clone() } else { self.without_reports() };
        next.start = self.start.wrapping_add(STRIDE);
        // The scan of a restored copy asks about other scripts.
        let Some(pending_scripts) = look.pending_scripts else {
            return (self.without_reports(), Due::Nothing);
        };
        next.tip = Some(look.tip.hash);
        let reported =
            |script: &&ScriptBuf| look.covered.holds(script) || look.refused.contains(*script);
        next.reported.extend(
            pending_scripts.scripts.iter().map(|(_, script)| script).filter(reported).cloned(),
        );
        let due = if next.is_done { Due::Nothing } else { next.due(pending_scripts) };
        match &due {
            Due::Nothing => {}
            Due::Batches(batches) => next.settled.extend(batches),
            Due::All { .. } => (next.is_done, next.done_height) = (true, Some(look.tip.height)),
        }
        (next, due)
    }

    /// The progress without reported scripts, after the best block has changed or become unknown.
    pub fn without_reports(&self) -> Self {
        Self { start: self.start, done_height: self.done_height, ..Self::default() }
    }

    fn due(&self, pending_scripts: &PendingScripts) -> Due {
        let mut is_reported: BTreeMap<i64, bool> = BTreeMap::new();
        for (batch, script) in &pending_scripts.scripts {
            *is_reported.entry(*batch).or_insert(true) &= self.reported.contains(script);
        }
        if pending_scripts.is_cut {
            // The last batch may have more scripts.
            is_reported.pop_last();
        } else if is_reported.values().all(|is_reported| *is_reported) {
            return Due::All { before: self.done_height };
        }
        let batches: Vec<i64> = is_reported
            .into_iter()
            .filter(|(batch, is_reported)| *is_reported && !self.settled.contains(batch))
            .map(|(batch, _)| batch)
            .collect();
        if batches.is_empty() { Due::Nothing } else { Due::Batches(batches) }
    }
}

#[cfg(test)]
mod tests {
    use bitcoin::hashes::Hash as _;
    use tillgate_domain::time::Timestamp;

    use super::*;

    fn script(number: u32) -> ScriptBuf {
        ScriptBuf::from_bytes(number.to_be_bytes().to_vec())
    }

    fn pending_scripts(scripts: &[(i64, std::ops::Range<u32>)], is_cut: bool) -> PendingScripts {
        let scripts = scripts
            .iter()
            .flat_map(|(batch, range)| range.clone().map(|number| (*batch, script(number))));
        PendingScripts { scripts: scripts.collect(), is_cut }
    }

    #[test]
    fn each_batch_is_due_once_when_all_its_scripts_are_reported() {
        let pending_scripts = pending_scripts(&[(1, 0..150), (2, 150..152)], false);
        let mut batch_progress = BatchProgress::default();
        let (mut was_due, hash) = (Vec::new(), BlockHash::from_byte_array([7; 32]));
        // The server reports the first fifty scripts of each look.
        for _ in 0..4 {
            let asked = batch_progress.to_ask(&pending_scripts);
            let covered = Covered::Scripts(asked.into_iter().take(50).collect());
            let (tip, refused) =
                (Tip { height: 1, hash, time: Timestamp::from_ms(0) }, HashSet::new());
            let outcome = LookOutcome {
                tip,
                is_other_chain: false,
                pending_scripts: Some(&pending_scripts),
                covered: &covered,
                refused: &refused,
            };
            let (next, due) = batch_progress.after(&outcome);
            batch_progress = next;
            was_due.push(due);
        }
        assert_eq!(was_due.last(), Some(&Due::All { before: None }));
        assert!(was_due[..3].iter().all(|due| !matches!(due, Due::All { .. })), "{was_due:?}");
        assert_eq!(
            was_due[..3].iter().filter(|due| **due == Due::Batches(vec![2])).count(),
            1,
            "{was_due:?}"
        );
    }

    #[test]
    fn the_last_batch_of_a_cut_off_list_is_not_due() {
        let mut batch_progress = BatchProgress::default();
        batch_progress.reported.extend((0..10).map(script));
        assert_eq!(
            batch_progress.due(&pending_scripts(&[(1, 0..5), (2, 5..10)], true)),
            Due::Batches(vec![1])
        );
        batch_progress.settled.insert(1);
        assert_eq!(
            batch_progress.due(&pending_scripts(&[(1, 0..5), (2, 5..10)], true)),
            Due::Nothing
        );
        assert_eq!(
            batch_progress.due(&PendingScripts::default()),
            Due::All { before: None },
            "without pending scripts all batches are due"
        );
    }

    #[test]
    fn looks_rotate_and_ask_again_about_a_few_reported_scripts() {
        let pending_scripts = pending_scripts(&[(1, 0..100)], false);
        let mut batch_progress = BatchProgress::default();
        let first = batch_progress.to_ask(&pending_scripts);
        batch_progress.start += STRIDE;
        assert_ne!(batch_progress.to_ask(&pending_scripts)[0], first[0]);
        batch_progress.reported.extend(first);
        assert_eq!(batch_progress.to_ask(&pending_scripts).len(), AGAIN);
    }
}
