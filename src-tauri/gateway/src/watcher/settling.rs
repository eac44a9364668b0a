//! Tracks which scripts of pending batches are known under the best block. A server with a request limit reports them
//! over several looks.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use bitcoin::{BlockHash, ScriptBuf};

use crate::chain::{Covered, Tip};
use crate::settlement::Due;

/// Scripts of pending batches to consider; later batches wait until these are settled for good.
pub(super) const SCRIPTS_MAX: usize = 10_000;

/// Open scripts, not reported yet under the best block, that one look must ask about.
const ASKED_MAX: usize = 500;

/// Reported scripts to ask about again, since the next block may be there already.
const AGAIN: usize = 20;

/// Distance between the starts of consecutive looks.
const STRIDE: usize = 37;

/// Scripts of pending batches, each with its batch.
#[derive(Debug, Clone, Default)]
pub(super) struct Rests {
    pub scripts: Vec<(i64, ScriptBuf)>,
    /// More scripts exist.
    pub is_cut: bool,
}

/// The stored facts of a look.
pub(super) struct Told<'a> {
    pub tip: Tip,
    /// Blocks of the last look are no longer in the chain.
    pub is_other_chain: bool,
    /// Scripts of pending batches; `None` if the look asked about other scripts.
    pub rests: Option<&'a Rests>,
    pub covered: &'a Covered,
    pub refused: &'a HashSet<ScriptBuf>,
}

/// State of the pending batches since the best block came.
#[derive(Debug, Clone, Default)]
pub(super) struct Settling {
    /// That best block; `None` if unknown.
    tip: Option<BlockHash>,
    /// Scripts that the server has reported, or refuses to report.
    told: HashSet<ScriptBuf>,
    /// Numbers of the settled batches.
    settled: BTreeSet<i64>,
    /// All batches are settled.
    is_done: bool,
    /// Height of the best block when all batches were last settled.
    done_height: Option<u32>,
    /// Start of the next look within the scripts.
    turn: usize,
}

impl Settling {
    /// Count of scripts to read: few once all batches are settled.
    pub(super) const fn reads(&self) -> usize {
        if self.is_done { AGAIN } else { SCRIPTS_MAX }
    }

    /// Scripts that the next look must ask about: open ones from a rotating start, and a few reported ones.
    pub(super) fn to_ask(&self, rests: &Rests) -> Vec<ScriptBuf> {
        let mut seen = HashSet::new();
        let scripts = rests.scripts.iter().map(|(_, script)| script).filter(|script| seen.insert(*script));
        let (mut again, mut open): (Vec<&ScriptBuf>, Vec<&ScriptBuf>) =
            scripts.partition(|script| self.told.contains(*script));
        for some in [&mut open, &mut again] {
            let from = self.turn.checked_rem(some.len()).unwrap_or(0);
            some.rotate_left(from);
        }
        open.into_iter().take(ASKED_MAX).chain(again.into_iter().take(AGAIN)).cloned().collect()
    }

    /// The state after a look's last answer is stored, and the batches that it settles.
    pub(super) fn after(&self, look: &Told<'_>) -> (Self, Due) {
        let is_same = self.tip == Some(look.tip.hash) && !look.is_other_chain;
        let mut next = if is_same { self.clone() } else { self.anew() };
        next.turn = self.turn.wrapping_add(STRIDE);
        // The scan of a restored copy asks about other scripts.
        let Some(rests) = look.rests else { return (self.anew(), Due::Nothing) };
        next.tip = Some(look.tip.hash);
        let told = |script: &&ScriptBuf| look.covered.holds(script) || look.refused.contains(*script);
        next.told.extend(rests.scripts.iter().map(|(_, script)| script).filter(told).cloned());
        let due = if next.is_done { Due::Nothing } else { next.due(rests) };
        match &due {
            Due::Nothing => {}
            Due::Batches(batches) => next.settled.extend(batches),
            Due::All { .. } => (next.is_done, next.done_height) = (true, Some(look.tip.height)),
        }
        (next, due)
    }

    /// Forgets the reported scripts: the best block changed, or is unknown.
    pub(super) fn anew(&self) -> Self {
        Self { turn: self.turn, done_height: self.done_height, ..Self::default() }
    }

    fn due(&self, rests: &Rests) -> Due {
        let mut is_told: BTreeMap<i64, bool> = BTreeMap::new();
        for (batch, script) in &rests.scripts {
            *is_told.entry(*batch).or_insert(true) &= self.told.contains(script);
        }
        if rests.is_cut {
            // The last batch may have more scripts.
            is_told.pop_last();
        } else if is_told.values().all(|is_told| *is_told) {
            return Due::All { before: self.done_height };
        }
        let batches: Vec<i64> = is_told
            .into_iter()
            .filter(|(batch, is_told)| *is_told && !self.settled.contains(batch))
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

    fn rests(scripts: &[(i64, std::ops::Range<u32>)], is_cut: bool) -> Rests {
        let scripts = scripts.iter().flat_map(|(batch, range)| range.clone().map(|number| (*batch, script(number))));
        Rests { scripts: scripts.collect(), is_cut }
    }

    #[test]
    fn each_batch_is_due_once_when_all_its_scripts_were_told() {
        let rests = rests(&[(1, 0..150), (2, 150..152)], false);
        let mut settling = Settling::default();
        let (mut was_due, hash) = (Vec::new(), BlockHash::from_byte_array([7; 32]));
        // The server answers the first fifty questions of each look.
        for _ in 0..4 {
            let asked = settling.to_ask(&rests);
            let covered = Covered::Scripts(asked.into_iter().take(50).collect());
            let (tip, refused) = (Tip { height: 1, hash, time: Timestamp::from_ms(0) }, HashSet::new());
            let told = Told { tip, is_other_chain: false, rests: Some(&rests), covered: &covered, refused: &refused };
            let (next, due) = settling.after(&told);
            settling = next;
            was_due.push(due);
        }
        assert_eq!(was_due.last(), Some(&Due::All { before: None }));
        assert!(was_due[..3].iter().all(|due| !matches!(due, Due::All { .. })), "{was_due:?}");
        assert_eq!(was_due[..3].iter().filter(|due| **due == Due::Batches(vec![2])).count(), 1, "{was_due:?}");
    }

    #[test]
    fn of_what_is_cut_off_the_last_batch_is_not_due() {
        let mut settling = Settling::default();
        settling.told.extend((0..10).map(script));
        assert_eq!(settling.due(&rests(&[(1, 0..5), (2, 5..10)], true)), Due::Batches(vec![1]));
        settling.settled.insert(1);
        assert_eq!(settling.due(&rests(&[(1, 0..5), (2, 5..10)], true)), Due::Nothing);
        assert_eq!(settling.due(&Rests::default()), Due::All { before: None }, "where there is nothing all is told");
    }

    #[test]
    fn looks_rotate_and_ask_again_about_a_few_told_scripts() {
        let rests = rests(&[(1, 0..100)], false);
        let mut settling = Settling::default();
        let first = settling.to_ask(&rests);
        settling.turn += STRIDE;
        assert_ne!(settling.to_ask(&rests)[0], first[0]);
        settling.told.extend(first);
        assert_eq!(settling.to_ask(&rests).len(), AGAIN);
    }
}
