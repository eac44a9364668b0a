//! Scripts that a backend is asked about once more before something is signed: what another copy of the wallet pays shows there
//! first. A server that may be asked a few questions in a look answers about them in several.

use std::collections::{HashMap, HashSet};

use bitcoin::ScriptBuf;
use parking_lot::Mutex;

use crate::chain::{AskedPayee, Covered};
use crate::machine::clock::Moment;

/// What was told is gone by for so long once all was told that the asking began with.
const SERVES_MS: i64 = 10_000;

/// Asking that has not come to its end by then begins anew: what was told first is too old.
const ASKED_FOR_MS: i64 = 30 * 60_000;

/// Scripts that one look is asked about before all else.
const IN_A_LOOK: usize = 100;

/// Payouts of which nothing is signed whose payees are asked about before something is, and which are the most that it pays then: the
/// first approved, those last that somebody else paid. As many at most are asked about that are signed and that no node took. Strangers'
/// servers are asked five questions a second: all have to be told within half an hour, whoever waits.
pub(crate) const PAYEES_MAX: u32 = 200;

/// A script that is asked about once more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Again {
    /// One of this wallet.
    Own(ScriptBuf),
    /// One that a payout is to pay.
    Payee(AskedPayee),
}

impl Again {
    const fn script(&self) -> &ScriptBuf {
        match self {
            Self::Own(script) | Self::Payee(AskedPayee { script, .. }) => script,
        }
    }

    /// Blocks up to this height are left out.
    const fn above(&self) -> u32 {
        match self {
            Self::Own(_) => 0,
            Self::Payee(AskedPayee { above, .. }) => *above,
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
    /// When all was told that it began with; `None` before.
    ended: Option<Moment>,
    /// Whether payees were asked about besides since then, or since something was signed.
    has_added: bool,
    /// Not told yet.
    open: Vec<Again>,
    /// What the look that is under way was given, and what was told: each with the height above which it was asked for.
    given: HashMap<ScriptBuf, u32>,
    told: HashMap<ScriptBuf, u32>,
}

impl AskedAgain {
    /// Has the next looks ask about these, as far as they were not told of just now. Answers how many are open. Payees who come while the
    /// server is asked have the next turn: who approves one payout after the other would else keep all of them from being signed.
    pub(crate) fn ask(&self, scripts: Vec<Again>) -> usize {
        let mut inner = self.inner.lock();
        inner.reset_if_old();
        let (begins, takes_payees) = (inner.began.is_none(), inner.takes_payees());
        inner.began.get_or_insert_with(Moment::now);
        for again in scripts {
            let is_payee = matches!(again, Again::Payee(_));
            if is_payee && !takes_payees {
                continue;
            }
            let is_added = inner.add(again);
            inner.has_added |= is_added && is_payee && !begins;
        }
        inner.open.len()
    }

    /// Something was signed: payees who came meanwhile are asked about before the next is.
    pub(crate) fn note_signed(&self) {
        self.inner.lock().has_added = false;
    }

    /// What the next look is to ask about before all else.
    pub(crate) fn next(&self) -> Vec<Again> {
        let mut inner = self.inner.lock();
        let next: Vec<Again> = inner.open.iter().take(IN_A_LOOK).cloned().collect();
        inner.given = next.iter().map(|again| (again.script().clone(), again.above())).collect();
        next
    }

    /// Takes over what a look that is stored has told. What the server does not tell however often it is asked is waited for no
    /// longer.
    pub(crate) fn note(&self, covered: &Covered, untold: &HashSet<ScriptBuf>) {
        let mut inner = self.inner.lock();
        if inner.open.is_empty() {
            return;
        }
        let given = std::mem::take(&mut inner.given);
        let is_told = |again: &Again| {
            let is_asked_so = match again {
                // Of what is ours all is told, whoever asks.
                Again::Own(_) => true,
                Again::Payee(payee) => given.get(&payee.script).is_some_and(|above| *above <= payee.above),
            };
            is_asked_so && (covered.holds(again.script()) || untold.contains(again.script()))
        };
        let (told, open): (Vec<_>, Vec<_>) = inner.open.drain(..).partition(is_told);
        inner.told.extend(told.iter().map(|again| (again.script().clone(), again.above())));
        inner.open = open;
        if inner.open.is_empty() {
            // What is told besides makes what was told before no younger.
            inner.ended.get_or_insert_with(Moment::now);
        }
    }

    /// Whether it was told what came to a payee.
    pub(crate) fn has_told(&self, payee: &AskedPayee) -> bool {
        self.inner.lock().told.get(&payee.script).is_some_and(|above| *above <= payee.above)
    }

    /// What was told says nothing any more.
    pub(crate) fn forget(&self) {
        *self.inner.lock() = Inner::default();
    }
}

impl Inner {
    /// Forgets what was told once it says nothing any more, or cannot in time.
    fn reset_if_old(&mut self) {
        let is_old = self.ended.is_some_and(|ended| !ended.is_within(SERVES_MS))
            || self.began.is_some_and(|began| !began.is_within(ASKED_FOR_MS));
        if is_old {
            *self = Self::default();
        }
    }

    /// Whether payees who come now are asked about: as the asking begins, once when it has ended, and once more after each signature.
    const fn takes_payees(&self) -> bool {
        self.began.is_none() || (self.ended.is_some() && !self.has_added)
    }

    /// Has a script asked about, unless it was told of or is asked about from as early a block on: that says it of a later one, too.
    /// Answers whether it is new. At most a few hundred are open.
    fn add(&mut self, again: Again) -> bool {
        let open = self.open.iter_mut().find(|open| open.script() == again.script());
        let told_above = self.told.get(again.script()).copied();
        if told_above.into_iter().chain(open.as_ref().map(|open| open.above())).any(|above| above <= again.above()) {
            return false;
        }
        match open {
            Some(open) => *open = again,
            None => self.open.push(again),
        }
        true
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

    fn payee(number: u8, above: u32) -> Vec<Again> {
        vec![Again::Payee(AskedPayee { script: ScriptBuf::from_bytes(vec![number]), above })]
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

    #[test]
    fn payees_who_come_one_after_the_other_keep_nothing_from_being_signed_and_make_what_was_told_no_younger() {
        let (again, none) = (AskedAgain::default(), HashSet::new());
        assert_eq!((again.ask(payee(1, 0)), again.next()), (1, payee(1, 0)));
        assert_eq!(again.ask([payee(1, 0), payee(2, 0)].concat()), 1, "the second has the next turn");
        again.note(&told(1..3), &none);
        assert_eq!(again.ask([payee(1, 0), payee(2, 0)].concat()), 1, "which is now");
        assert_eq!(again.next(), payee(2, 0));
        again.note(&told(2..3), &none);
        assert_eq!(again.ask([payee(1, 0), payee(2, 0), payee(3, 0)].concat()), 0, "what was told of can be signed");
        assert!(!again.has_told(&AskedPayee { script: ScriptBuf::from_bytes(vec![3]), above: 0 }));
        again.note_signed();
        assert_eq!(again.ask([payee(2, 0), payee(3, 0)].concat()), 1);
        let long_ago = Moment::now().before(SERVES_MS + 1_000);
        again.inner.lock().ended = Some(long_ago);
        assert_eq!(
            again.ask([payee(1, 0), payee(2, 0), payee(3, 0)].concat()),
            3,
            "whoever was told first is asked about again"
        );
    }

    #[test]
    fn a_payee_who_is_owed_from_earlier_on_too_is_asked_about_from_then_on() {
        let (again, none) = (AskedAgain::default(), HashSet::new());
        assert_eq!((again.ask(payee(1, 100)), again.next()), (1, payee(1, 100)));
        again.note(&told(1..2), &none);
        assert_eq!(again.ask(payee(1, 120)), 0, "what came since a later block was told, too");
        assert_eq!((again.ask(payee(1, 90)), again.next()), (1, payee(1, 90)));
        // A third payout is approved while the server is asked.
        assert_eq!(again.ask(payee(1, 80)), 1);
        again.note(&told(1..2), &none);
        again.note_signed();
        assert_eq!((again.ask(payee(1, 80)), again.next()), (1, payee(1, 80)));
        again.note(&told(1..2), &none);
        assert_eq!(again.ask([payee(1, 80), payee(1, 90), payee(1, 100)].concat()), 0);
    }
}
