//! In which order a look asks, where it may not ask everything: what is to be decided now, what matters, and a little of all
//! the rest.

use bitcoin::{ScriptBuf, Txid};

use super::state::{Hot, State};
use crate::chain::hot::Urgency;
use crate::chain::{AskedPayee, Scripts};

/// Every so many looks one script of the round over all is asked about before what matters, so that the round goes on where
/// there are always more questions than may be asked.
const COLD_EVERY: u64 = 10;

/// Scripts of that round in one look at most.
const COLD_MAX: usize = 20;

/// Scripts that nobody pays to as far as is known, in one look at most: there may be thousands, which have their turn one after
/// the other.
const POSSIBLE_MAX: usize = 100;

/// Of so many questions about what is to be decided now the next is about something else: a payment that nobody waits for
/// holds up none that a customer does.
const MUST_IN_A_ROW: usize = 2;

/// Of so many questions about what was not told since the last doubt, before which nothing is paid, the next is about something
/// else: customers wait, too.
const DOUBTED_IN_A_ROW: usize = 2;

/// How much sooner than others a transaction of ours is asked about that no script told of.
const WEIGHT_OF_TX: u64 = 5;

/// What is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Question {
    pub about: About,
    /// It is asked even if it must be waited for.
    pub is_patient: bool,
    /// It is the next of the round over all.
    pub is_cold: bool,
}

/// What it is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum About {
    Script(ScriptBuf),
    Payee(AskedPayee),
    Tx(Txid),
}

/// All questions that there are, the most pressing first. Strangers chose the payees, and one may take the whole time of a look: no more
/// than one is asked about before what is to be decided now. Of those that were asked about in vain one is asked about again, when all
/// is asked that is waited for.
pub(super) fn in_order(state: &State, scripts: &Scripts<'_>) -> Vec<Question> {
    let question = |about, is_patient, is_cold| Question { about, is_patient, is_cold };
    let mut rest = what_matters(state, scripts.must);
    rest.reverse();
    let times = |payee: &&AskedPayee| state.strangers.in_vain.times(&payee.script);
    let payees = if state.strangers.has_cut_short { &[] } else { scripts.payees };
    let mut first = payees.iter().filter(|payee| times(payee).is_none());
    let rests = |payee: &&AskedPayee| state.strangers.payees.holds(&payee.script, state.height());
    let again = payees.iter().filter(|payee| times(payee).is_some() && !rests(payee)).min_by_key(times);
    let must = scripts.must.iter().cloned().map(About::Script);
    let of_payee = |payee: &AskedPayee| About::Payee(payee.clone());
    let (next, others) = (first.next().map(of_payee), first.map(of_payee));
    let awaited = next.into_iter().chain(must).chain(others).chain(again.map(of_payee));
    let mut questions = Vec::with_capacity(scripts.must.len().saturating_add(rest.len()));
    for (number, about) in awaited.enumerate() {
        if number > 0 && number.is_multiple_of(MUST_IN_A_ROW) {
            questions.extend(rest.pop().map(|about| question(about, true, false)));
        }
        questions.push(question(about, true, false));
    }
    let cold = scripts.cold.iter().take(COLD_MAX);
    let mut cold = cold.map(|script| question(About::Script(script.clone()), false, true));
    if state.looks.is_multiple_of(COLD_EVERY) {
        questions.extend(cold.next());
    }
    questions.extend(rest.into_iter().rev().map(|about| question(about, false, false)));
    questions.extend(cold);
    questions
}

/// What matters now, those first that waited longest by their weight; among them what was not told since the last doubt. Scripts
/// come before transactions, which they may tell of.
fn what_matters(state: &State, must: &[ScriptBuf]) -> Vec<About> {
    let waited = |asked_in: u64, weight: u64| state.looks.saturating_sub(asked_in).saturating_mul(weight);
    let must: std::collections::HashSet<&ScriptBuf> = must.iter().collect();
    let hot = state.hot.iter().filter(|(script, _)| !must.contains(script));
    let of_script = |(script, hot): (&ScriptBuf, &Hot)| Waiting {
        waited: waited(hot.asked_in, weight(hot.urgency)),
        is_doubted: state.is_doubted(script, hot),
        is_possible: hot.urgency == Urgency::Possible,
        about: About::Script(script.clone()),
    };
    let mut ordered: Vec<Waiting> = hot.map(of_script).collect();
    ordered.extend(state.tracked.iter().map(|(txid, tracked)| Waiting {
        waited: waited(tracked.asked_in, WEIGHT_OF_TX),
        is_doubted: state.is_doubted_tx(tracked),
        is_possible: false,
        about: About::Tx(*txid),
    }));
    ordered.sort_by_key(|one| std::cmp::Reverse(one.waited));
    let mut possible = 0usize;
    let mut ordered = doubted_among(ordered);
    ordered.retain(|waiting| {
        possible = possible.saturating_add(usize::from(waiting.is_possible));
        !waiting.is_possible || possible <= POSSIBLE_MAX
    });
    ordered.into_iter().map(|waiting| waiting.about).collect()
}

/// What waits for its turn.
struct Waiting {
    waited: u64,
    /// It was not told since the last doubt.
    is_doubted: bool,
    is_possible: bool,
    about: About,
}

/// The same with what is doubted first, and so often in between what is more than possible.
fn doubted_among(ordered: Vec<Waiting>) -> Vec<Waiting> {
    let (doubted, others): (Vec<_>, Vec<_>) = ordered.into_iter().partition(|waiting| waiting.is_doubted);
    let mut room = doubted.len().saturating_sub(1) / DOUBTED_IN_A_ROW;
    let (pressing, rest): (Vec<_>, Vec<_>) = others.into_iter().partition(|waiting| {
        let is_between = !waiting.is_possible && room > 0;
        room = room.saturating_sub(usize::from(is_between));
        is_between
    });
    let mut pressing = pressing.into_iter();
    let mut mixed = Vec::with_capacity(doubted.len());
    for (number, waiting) in doubted.into_iter().enumerate() {
        if number > 0 && number.is_multiple_of(DOUBTED_IN_A_ROW) {
            mixed.extend(pressing.next());
        }
        mixed.push(waiting);
    }
    mixed.extend(rest);
    mixed
}

const fn weight(urgency: Urgency) -> u64 {
    match urgency {
        Urgency::Awaited => 20,
        Urgency::Moving => 10,
        Urgency::Possible => 1,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use crate::chain::no_scripts;

    fn script(number: u8) -> ScriptBuf {
        ScriptBuf::from_bytes(vec![number])
    }

    #[test]
    fn an_open_payment_is_asked_about_twenty_times_as_often_as_an_address_that_nobody_was_given() {
        let hot = (0u8..105).map(|number| {
            let urgency = if number < 5 { Urgency::Awaited } else { Urgency::Possible };
            (script(number), Hot { urgency, since: 0, asked_in: 0, covered_in: None, is_let_go: false })
        });
        let mut state = State { hot: hot.collect(), ..State::default() };
        let mut asked: HashMap<ScriptBuf, u32> = HashMap::new();
        for _ in 0..2_000 {
            state.looks += 1;
            for question in in_order(&state, &no_scripts()).into_iter().take(4) {
                let About::Script(script) = question.about else { panic!("no transaction is tracked") };
                state.hot.get_mut(&script).unwrap().asked_in = state.looks;
                *asked.entry(script).or_default() += 1;
            }
        }
        let least = |numbers: std::ops::Range<u8>| numbers.map(|number| asked[&script(number)]).min().unwrap();
        assert!(least(0..5) > 600, "{}", least(0..5));
        assert!(least(5..105) > 15, "{}", least(5..105));
    }

    #[test]
    fn one_payee_comes_before_what_is_due_and_none_in_the_look_after_one_that_a_payee_cut_short() {
        let mut state = State::default();
        let payees = [1, 2].map(|number| AskedPayee { script: script(number), above: 0 });
        let must = [script(5), script(6)];
        let scripts = Scripts { payees: &payees, must: &must, ..no_scripts() };
        let asked = |state: &State| in_order(state, &scripts).into_iter().map(|it| it.about).collect::<Vec<_>>();
        let [first, second] = payees.clone().map(About::Payee);
        let [due, due_too] = must.clone().map(About::Script);
        assert_eq!(asked(&state), [first, due.clone(), due_too.clone(), second]);
        state.strangers.has_cut_short = true;
        assert_eq!(asked(&state), [due, due_too]);
    }

    #[test]
    fn what_is_due_comes_first_and_leaves_room_for_what_is_open_and_the_round_goes_on() {
        let state = State {
            hot: [(
                script(9),
                Hot { urgency: Urgency::Awaited, since: 0, asked_in: 0, covered_in: None, is_let_go: false },
            )]
            .into(),
            looks: COLD_EVERY,
            ..State::default()
        };
        let (must, cold) = ([script(1), script(2), script(3)], [script(5), script(6)]);
        let scripts = Scripts { must: &must, cold: &cold, ..no_scripts() };
        let order = in_order(&state, &scripts);
        let asked: Vec<_> = order.iter().map(|it| (it.about.clone(), it.is_patient, it.is_cold)).collect();
        let of = |number, is_patient, is_cold| (About::Script(script(number)), is_patient, is_cold);
        assert_eq!(
            asked,
            [
                of(1, true, false),
                of(2, true, false),
                of(9, true, false),
                of(3, true, false),
                of(5, false, true),
                of(6, false, true)
            ]
        );
    }
}
