//! The scripts that matter now, and their changes. A reader gets each change once, so the cost of a
//! read does not grow with the number of scripts.

use std::collections::{HashMap, VecDeque};

use bitcoin::{Script, ScriptBuf};
use parking_lot::{Mutex, MutexGuard};
use tillgate_domain::chain::Urgency;

/// Changes kept for readers. A reader further behind reads everything again.
const CHANGES_MAX: usize = 20_000;

/// A reader's position. It is valid within one run of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HotMark(u64);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HotChanges {
    /// `hot` is complete: forget everything known before.
    pub is_all: bool,
    /// Scripts that became hot or changed their urgency.
    pub hot: Vec<(ScriptBuf, Urgency)>,
    pub cooled: Vec<ScriptBuf>,
    /// The position for the next read.
    pub mark: HotMark,
}

#[derive(Default)]
pub struct HotScripts {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    scripts: HashMap<ScriptBuf, Urgency>,
    /// The latest changes: a script and its urgency; `None` if it is no longer hot.
    changes: VecDeque<(ScriptBuf, Option<Urgency>)>,
    /// The number of changes so far, forgotten ones included.
    count: u64,
}

impl HotScripts {
    /// The changes since a mark, each script once. All hot scripts if there is no mark or it is too
    /// old.
    #[must_use]
    pub fn changes_since(&self, mark: Option<HotMark>) -> HotChanges {
        let inner = self.lock();
        let now = HotMark(inner.count);
        let Some(changed) = mark.and_then(|mark| inner.changed_since(mark)) else {
            let hot =
                inner.scripts.iter().map(|(script, urgency)| (script.clone(), *urgency)).collect();
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

    #[must_use]
    pub fn contains(&self, script: &Script) -> bool {
        self.lock().scripts.contains_key(script)
    }

    #[must_use]
    pub fn count(&self) -> usize {
        self.lock().scripts.len()
    }

    /// Adds one script: a payment was created.
    pub fn add(&self, script: ScriptBuf, urgency: Urgency) {
        self.lock().set(script, Some(urgency));
    }

    /// The current position, for a caller that does not read the changes.
    pub fn mark(&self) -> HotMark {
        HotMark(self.lock().count)
    }

    /// Replaces the scripts by these and those added since `mark`.
    pub fn replace(&self, mut scripts: HashMap<ScriptBuf, Urgency>, mark: HotMark) {
        let mut inner = self.lock();
        match inner.changed_since(mark) {
            Some(added) => {
                let added =
                    added.into_iter().filter_map(|(script, urgency)| Some((script, urgency?)));
                added.for_each(|(script, urgency)| {
                    scripts.entry(script).or_insert(urgency);
                });
            }
            // Too many were added meanwhile to tell them apart, so all stay hot.
            None => inner.scripts.iter().for_each(|(script, urgency)| {
                scripts.entry(script.clone()).or_insert(*urgency);
            }),
        }
        let cooled: Vec<_> =
            inner.scripts.keys().filter(|script| !scripts.contains_key(*script)).cloned().collect();
        cooled.into_iter().for_each(|script| inner.set(script, None));
        scripts.into_iter().for_each(|(script, urgency)| inner.set(script, Some(urgency)));
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock()
    }
}

impl Inner {
    /// Each script that changed since a mark, with its urgency now; `None` if the changes are
    /// forgotten.
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

    use super::*;
    use tillgate_domain::chain::Urgency::{Awaited, Moving, Possible};

    fn script(number: u32) -> ScriptBuf {
        let mut hash = [0; 20];
        hash[..4].copy_from_slice(&number.to_be_bytes());
        ScriptBuf::new_p2wpkh(&WPubkeyHash::from_byte_array(hash))
    }

    #[test]
    fn reader_gets_each_changed_script_once() {
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
    fn replace_keeps_scripts_added_meanwhile_and_cools_the_rest() {
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
    fn reader_far_behind_gets_all_scripts_from_bounded_memory() {
        let hot = HotScripts::default();
        let start = hot.changes_since(None).mark;
        for number in 0..CHANGES_MAX as u32 + 1 {
            hot.add(script(number), Awaited);
        }
        assert!(hot.changes_since(Some(start)).is_all);
        assert_eq!(hot.lock().changes.len(), CHANGES_MAX);
        // More scripts were added meanwhile than changes are kept, so all stay.
        hot.replace(HashMap::new(), start);
        assert_eq!(hot.count(), CHANGES_MAX + 1);
    }
}
