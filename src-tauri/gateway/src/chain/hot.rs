//! The scripts that matter now, and how they changed: who asks about them reads each once, however many there are.

use std::collections::{HashMap, VecDeque};

use bitcoin::{Script, ScriptBuf};
use parking_lot::{Mutex, MutexGuard};

/// Changes that are remembered for those who read them; who is further behind reads all anew.
const CHANGES_MAX: usize = 20_000;

/// How much it matters to hear of a script soon, the most first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Urgency {
    /// A customer may be paying to it just now.
    Awaited,
    /// What came to it, or goes from it, is not settled.
    Moving,
    /// It was closed lately, its address is given next, or its coins may be spent.
    Possible,
}

/// How far somebody has read. Those of another run of the program are nobody's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HotMark(u64);

/// What changed since somebody read last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HotChanges {
    /// `hot` is all there is: what was known before is to be forgotten.
    pub is_all: bool,
    /// What became hot, or changed its urgency.
    pub hot: Vec<(ScriptBuf, Urgency)>,
    /// What is hot no more.
    pub cooled: Vec<ScriptBuf>,
    /// Ask with it the next time.
    pub mark: HotMark,
}

/// The scripts that matter now.
#[derive(Default)]
pub struct HotScripts {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    scripts: HashMap<ScriptBuf, Urgency>,
    /// The latest changes: a script, and what it is now; `None` where it is hot no more.
    changes: VecDeque<(ScriptBuf, Option<Urgency>)>,
    /// How many changes there were, those that are forgotten included.
    count: u64,
}

impl HotScripts {
    /// What changed since a mark; all that is hot where there is none, or it lies too far back. Each script is told once, as it
    /// is now.
    #[must_use]
    pub fn changes_since(&self, mark: Option<HotMark>) -> HotChanges {
        let inner = self.lock();
        let now = HotMark(inner.count);
        let Some(changed) = mark.and_then(|mark| inner.changed_since(mark)) else {
            let hot = inner.scripts.iter().map(|(script, urgency)| (script.clone(), *urgency)).collect();
            return HotChanges { is_all: true, hot, cooled: Vec::new(), mark: now };
        };
        let (mut hot, mut cooled) = (Vec::new(), Vec::new());
        for (script, urgency) in changed {
            match urgency {
                Some(urgency) => hot.push((script, urgency)),
                None => cooled.push(script),
            }
        }
        HotChanges { is_all: false, hot, cooled, mark: now }
    }

    /// Whether a script matters now.
    #[must_use]
    pub fn contains(&self, script: &Script) -> bool {
        self.lock().scripts.contains_key(script)
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.lock().scripts.len()
    }

    /// One more matters: a payment was made.
    pub fn add(&self, script: ScriptBuf, urgency: Urgency) {
        self.lock().set(script, Some(urgency));
    }

    /// How far one has read who reads nothing.
    pub(crate) fn mark(&self) -> HotMark {
        HotMark(self.lock().count)
    }

    /// These matter from now on, with those that were added since `mark`, and no others.
    pub(crate) fn replace(&self, mut scripts: HashMap<ScriptBuf, Urgency>, mark: HotMark) {
        let mut inner = self.lock();
        match inner.changed_since(mark) {
            Some(added) => {
                let added = added.into_iter().filter_map(|(script, urgency)| Some((script, urgency?)));
                added.for_each(|(script, urgency)| {
                    scripts.entry(script).or_insert(urgency);
                });
            }
            // Too many came meanwhile to tell them apart: none cools.
            None => inner.scripts.iter().for_each(|(script, urgency)| {
                scripts.entry(script.clone()).or_insert(*urgency);
            }),
        }
        let cooled: Vec<_> = inner.scripts.keys().filter(|script| !scripts.contains_key(*script)).cloned().collect();
        cooled.into_iter().for_each(|script| inner.set(script, None));
        scripts.into_iter().for_each(|(script, urgency)| inner.set(script, Some(urgency)));
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock()
    }
}

impl Inner {
    /// Each script that changed since a mark, as it is now; `None` where that is forgotten.
    fn changed_since(&self, HotMark(mark): HotMark) -> Option<HashMap<ScriptBuf, Option<Urgency>>> {
        let new = usize::try_from(self.count.checked_sub(mark)?).ok()?;
        let first = self.changes.len().checked_sub(new)?;
        Some(self.changes.range(first..).cloned().collect())
    }

    fn set(&mut self, script: ScriptBuf, urgency: Option<Urgency>) {
        let before = match urgency {
            Some(urgency) => self.scripts.insert(script.clone(), urgency),
            None => self.scripts.remove(&script),
        };
        if before == urgency {
            return;
        }
        if self.changes.len() == CHANGES_MAX {
            self.changes.pop_front();
        }
        self.changes.push_back((script, urgency));
        self.count += 1;
    }
}

#[cfg(test)]
mod tests {
    use bitcoin::hashes::Hash as _;
    use bitcoin::{ScriptBuf, WPubkeyHash};

    use super::Urgency::{Awaited, Moving, Possible};
    use super::*;

    fn script(number: u32) -> ScriptBuf {
        let mut hash = [0; 20];
        hash[..4].copy_from_slice(&number.to_be_bytes());
        ScriptBuf::new_p2wpkh(&WPubkeyHash::from_byte_array(hash))
    }

    #[test]
    fn who_reads_again_is_told_only_what_changed_and_each_script_once() {
        let hot = HotScripts::default();
        hot.add(script(1), Awaited);
        hot.add(script(2), Awaited);
        let all = hot.changes_since(None);
        assert!(all.is_all && all.hot.len() == 2);
        let none = hot.changes_since(Some(all.mark));
        assert_eq!((none.is_all, none.hot, none.cooled), (false, vec![], vec![]));
        hot.add(script(1), Awaited);
        hot.add(script(3), Awaited);
        hot.add(script(3), Moving);
        let changes = hot.changes_since(Some(all.mark));
        assert_eq!((changes.is_all, changes.hot), (false, vec![(script(3), Moving)]));
    }

    #[test]
    fn what_came_while_the_rest_was_read_stays_and_what_is_read_no_more_cools() {
        let hot = HotScripts::default();
        hot.add(script(1), Awaited);
        let seen = hot.changes_since(None).mark;
        let mark = hot.mark();
        hot.add(script(2), Awaited);
        hot.replace(HashMap::from([(script(3), Possible)]), mark);
        let changes = hot.changes_since(Some(seen));
        assert_eq!(changes.cooled, [script(1)]);
        assert!(hot.contains(&script(2)) && hot.contains(&script(3)) && hot.count() == 2);
    }

    #[test]
    fn who_is_far_behind_reads_all_and_memory_stays_bounded() {
        let hot = HotScripts::default();
        let start = hot.changes_since(None).mark;
        for number in 0..CHANGES_MAX as u32 + 1 {
            hot.add(script(number), Awaited);
        }
        assert!(hot.changes_since(Some(start)).is_all);
        assert_eq!(hot.lock().changes.len(), CHANGES_MAX);
        // So many came while the rest was read that none is left out.
        hot.replace(HashMap::new(), start);
        assert_eq!(hot.count(), CHANGES_MAX + 1);
    }
}
