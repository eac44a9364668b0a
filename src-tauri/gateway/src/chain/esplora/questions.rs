//! In which order a look asks, where it may not ask everything: what is to be decided now, what matters, and a little of all
//! the rest.

use bitcoin::{ScriptBuf, Txid};

use super::state::State;
use crate::chain::Scripts;
use crate::chain::hot::Urgency;

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
    Tx(Txid),
}

/// All questions that there are, the most pressing first.
pub(super) fn in_order(state: &State, scripts: &Scripts<'_>) -> Vec<Question> {
    let question = |about, is_patient, is_cold| Question { about, is_patient, is_cold };
    let mut rest = what_matters(state, scripts.must);
    rest.reverse();
    let mut questions = Vec::with_capacity(scripts.must.len().saturating_add(rest.len()));
    for (number, script) in scripts.must.iter().enumerate() {
        if number > 0 && number.is_multiple_of(MUST_IN_A_ROW) {
            questions.extend(rest.pop().map(|about| question(about, true, false)));
        }
        questions.push(question(About::Script(script.clone()), true, false));
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

/// What matters now, those first that waited longest by their weight. Scripts come before transactions, which they may tell of.
fn what_matters(state: &State, must: &[ScriptBuf]) -> Vec<About> {
    let waited = |asked_in: u64, weight: u64| state.looks.saturating_sub(asked_in).saturating_mul(weight);
    let must: std::collections::HashSet<&ScriptBuf> = must.iter().collect();
    let hot = state.hot.iter().filter(|(script, _)| !must.contains(script));
    let mut ordered: Vec<(u64, About)> =
        hot.map(|(script, hot)| (waited(hot.asked_in, weight(hot.urgency)), About::Script(script.clone()))).collect();
    let tracked = state.tracked.iter();
    ordered.extend(tracked.map(|(txid, tracked)| (waited(tracked.asked_in, WEIGHT_OF_TX), About::Tx(*txid))));
    ordered.sort_by(|(one, _), (other, _)| other.cmp(one));
    let mut possible = 0usize;
    ordered.retain(|(_, about)| {
        let About::Script(script) = about else { return true };
        let is_possible = state.hot.get(script).is_some_and(|hot| hot.urgency == Urgency::Possible);
        possible = possible.saturating_add(usize::from(is_possible));
        !is_possible || possible <= POSSIBLE_MAX
    });
    ordered.into_iter().map(|(_, about)| about).collect()
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
    use crate::chain::esplora::state::Hot;
    use crate::chain::no_scripts;

    fn script(number: u8) -> ScriptBuf {
        ScriptBuf::from_bytes(vec![number])
    }

    #[test]
    fn an_open_payment_is_asked_about_twenty_times_as_often_as_an_address_that_nobody_was_given() {
        let hot = (0u8..105).map(|number| {
            let urgency = if number < 5 { Urgency::Awaited } else { Urgency::Possible };
            (script(number), Hot { urgency, asked_in: 0, covered_in: None, is_let_go: false })
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
    fn what_is_due_comes_first_and_leaves_room_for_what_is_open_and_the_round_goes_on() {
        let state = State {
            hot: [(script(9), Hot { urgency: Urgency::Awaited, asked_in: 0, covered_in: None, is_let_go: false })]
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
