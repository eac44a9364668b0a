//! Scripts that a backend is asked about once more before something is signed: what another copy of the wallet pays shows there
//! first. A server that may be asked a few questions in a look answers about them in several.

use std::collections::HashSet;

use bitcoin::ScriptBuf;
use parking_lot::Mutex;

use crate::chain::{Covered, PayeeHistory};
use crate::machine::clock::Moment;

/// What was told is gone by for so long once all was told.
const SERVES_MS: i64 = 10_000;

/// Asking that has not come to its end by then begins anew: what was told first is too old.
const ASKED_FOR_MS: i64 = 30 * 60_000;

/// Scripts that one look is asked about before all else.
const IN_A_LOOK: usize = 100;

/// A script that is asked about once more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Again {
    /// One of this wallet.
    Own(ScriptBuf),
    /// One that a payout is to pay.
    Payee(PayeeHistory),
}

impl Again {
    const fn script(&self) -> &ScriptBuf {
        match self {
            Self::Own(script) | Self::Payee(PayeeHistory { script, .. }) => script,
        }
    }
}

/// What is asked again.
#[derive(Default)]
pub(crate) struct AskedAgain {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    /// When the asking began; `None` where nobody asks.
    began: Option<Moment>,
    /// When all of it was told; `None` while something is open.
    ended: Option<Moment>,
    /// Not told yet.
    open: Vec<Again>,
    told: HashSet<ScriptBuf>,
}

impl AskedAgain {
    /// Has the next looks ask about these, as far as they were not told of just now. Answers how many are open.
    pub(crate) fn ask(&self, scripts: Vec<Again>) -> usize {
        let mut inner = self.inner.lock();
        let is_old = inner.ended.is_some_and(|ended| !ended.is_within(SERVES_MS))
            || inner.began.is_some_and(|began| !began.is_within(ASKED_FOR_MS));
        if is_old {
            *inner = Inner::default();
        }
        inner.began.get_or_insert_with(Moment::now);
        let open = inner.open.iter().map(Again::script);
        let mut known: HashSet<ScriptBuf> = inner.told.iter().chain(open).cloned().collect();
        let new: Vec<Again> = scripts.into_iter().filter(|again| known.insert(again.script().clone())).collect();
        inner.open.extend(new);
        if !inner.open.is_empty() {
            inner.ended = None;
        }
        inner.open.len()
    }

    /// What the next look is to ask about before all else.
    pub(crate) fn next(&self) -> Vec<Again> {
        self.inner.lock().open.iter().take(IN_A_LOOK).cloned().collect()
    }

    /// Takes over what a look that is stored has told. What the server does not tell however often it is asked is waited for no
    /// longer.
    pub(crate) fn note(&self, covered: &Covered, untold: &HashSet<ScriptBuf>) {
        let mut inner = self.inner.lock();
        if inner.open.is_empty() {
            return;
        }
        let is_told = |again: &Again| covered.holds(again.script()) || untold.contains(again.script());
        let (told, open): (Vec<_>, Vec<_>) = inner.open.drain(..).partition(is_told);
        inner.told.extend(told.iter().map(|again| again.script().clone()));
        inner.open = open;
        if inner.open.is_empty() {
            inner.ended = Some(Moment::now());
        }
    }

    /// What was told says nothing any more.
    pub(crate) fn forget(&self) {
        *self.inner.lock() = Inner::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scripts(numbers: std::ops::Range<u8>) -> Vec<ScriptBuf> {
        numbers.map(|number| ScriptBuf::from_bytes(vec![number])).collect()
    }

    fn own(numbers: std::ops::Range<u8>) -> Vec<Again> {
        scripts(numbers).into_iter().map(Again::Own).collect()
    }

    fn told(numbers: std::ops::Range<u8>) -> Covered {
        Covered::Scripts(scripts(numbers).into_iter().collect())
    }

    #[test]
    fn what_one_look_did_not_tell_the_next_is_asked_and_what_was_told_is_not_asked_twice() {
        let (again, none) = (AskedAgain::default(), HashSet::new());
        assert_eq!((again.ask(own(0..120)), again.next()), (120, own(0..100)));
        again.note(&told(0..50), &none);
        assert_eq!((again.ask(own(0..121)), again.next()), (71, own(50..121)));
        again.note(&told(50..120), &scripts(120..121).into_iter().collect());
        assert_eq!((again.ask(own(0..121)), again.next()), (0, vec![]));
        again.forget();
        assert_eq!(again.ask(own(0..1)), 1, "after a sleep it is asked again");
    }
}
