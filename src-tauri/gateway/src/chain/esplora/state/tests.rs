//! What was told since a doubt, however much comes to matter meanwhile.

use super::super::questions::{About, in_order};
use super::*;
use crate::chain::no_scripts;

/// Questions in one look.
const FEW: usize = 4;

fn script(number: u32) -> ScriptBuf {
    ScriptBuf::from_bytes(number.to_be_bytes().to_vec())
}

fn ahead(numbers: std::ops::Range<u32>) -> HashMap<ScriptBuf, Urgency> {
    numbers.map(|number| (script(number), Urgency::Possible)).collect()
}

/// A look that asks a few questions, of which all are answered.
fn look(state: &mut State, hot: &HotScripts) -> Vec<ScriptBuf> {
    state.looks += 1;
    state.hear_doubt(hot.doubts());
    state.read_hot(hot);
    let mut asked = Vec::new();
    for question in in_order(state, &no_scripts()).into_iter().take(FEW) {
        let About::Script(script) = question.about else { panic!("no transaction is tracked") };
        state.hot.get_mut(&script).unwrap().asked_in = state.looks;
        state.cover(&script);
        asked.push(script);
    }
    state.let_go();
    asked
}

#[test]
fn however_fast_new_addresses_come_to_matter_all_that_mattered_at_a_doubt_is_told_soon_and_before_it_is_over() {
    let (mut state, hot) = (State::default(), HotScripts::default());
    hot.replace(ahead(0..200), hot.mark());
    for doubts in 0..3 {
        let first = doubts * 10_000;
        let mut open: BTreeSet<ScriptBuf> = (first..first + 200).map(script).collect();
        hot.replace(ahead(first..first + 200), hot.mark());
        let mut looks = 0;
        while !state.is_all_told() || looks == 0 {
            looks += 1;
            assert!(looks <= 80, "{} are open", open.len());
            // Customers wait meanwhile, and each payment moves what lies ahead.
            hot.add(script(first + 500), Urgency::Awaited);
            let mut now = ahead(first..first + 200 + looks * 5);
            now.insert(script(first + 500), Urgency::Awaited);
            let mark = hot.mark();
            hot.replace(now, mark);
            let asked = look(&mut state, &hot);
            asked.iter().for_each(|script| {
                open.remove(script);
            });
        }
        assert!(open.is_empty(), "{} were not told", open.len());
        hot.doubt();
        assert!(state.is_all_told(), "it is heard with the next look");
    }
}

#[test]
fn a_script_of_ours_that_a_server_does_not_tell_is_waited_for_no_more_however_busy_the_server_is_at_payees() {
    let (mut state, hot) = (State::default(), HotScripts::default());
    hot.replace(ahead(0..1), hot.mark());
    state.looks += 1;
    state.hear_doubt(hot.doubts());
    state.read_hot(&hot);
    assert!(!state.is_all_told());
    (0..5).for_each(|_| state.in_vain.note(script(0)));
    assert!(state.is_all_told(), "the server tells no more of it");
    for silences in [0, 7, 20] {
        state.strangers.hear_busy_at(script(1), silences, 100);
        assert!(state.is_all_told(), "payouts would be held up anew");
    }
}

#[test]
fn a_long_history_is_read_on_behind_what_was_told_and_not_behind_what_was_not_proved() {
    let txid = |number: u8| Txid::from_raw_hash(bitcoin::hashes::Hash::from_byte_array([number; 32]));
    let ids = |numbers: &[u8]| numbers.iter().map(|number| txid(*number)).collect::<Vec<_>>();
    let pages =
        |above: &[u8], below: &[u8], meets| Pages { above: ids(above), below: ids(below), meets, is_late: true };
    let mut state = State::default();
    let mut read_on = |pages: Pages, open: &[u8]| {
        let goes_on = state.read_on(&script(1), &pages, &ids(open).into_iter().collect());
        (goes_on, state.runs.get(&script(1)).map(|run| (run.first, run.last)))
    };
    let stands = |first, last| Some((txid(first), txid(last)));
    assert_eq!(read_on(pages(&[], &[9, 8, 7], true), &[9]), (false, None), "the first was not proved");
    assert_eq!(read_on(pages(&[], &[9, 8, 7, 6], true), &[7]), (true, stands(9, 8)));
    assert_eq!(read_on(pages(&[11, 10], &[7, 6], true), &[10]), (false, stands(9, 8)), "between them is a gap");
    assert_eq!(read_on(pages(&[12, 11], &[], false), &[]), (false, stands(9, 8)));
    assert_eq!(read_on(pages(&[11, 10], &[7, 6], true), &[]), (true, stands(11, 6)));
    assert_eq!(read_on(pages(&[], &[], true), &[]), (false, stands(11, 6)));
}

#[test]
fn an_open_payment_is_asked_about_while_what_was_doubted_is_told() {
    let (mut state, hot) = (State::default(), HotScripts::default());
    let mut all = ahead(0..300);
    all.insert(script(1_000), Urgency::Awaited);
    hot.replace(all, hot.mark());
    let asked: Vec<Vec<ScriptBuf>> = (0..20).map(|_| look(&mut state, &hot)).collect();
    assert!(!state.is_all_told());
    let times = asked.iter().flatten().filter(|asked| **asked == script(1_000)).count();
    assert!(times >= 19, "{times}");
}

#[test]
fn what_mattered_at_a_doubt_is_told_though_it_mattered_no_more_in_between() {
    let (mut state, hot) = (State::default(), HotScripts::default());
    hot.replace(ahead(0..100), hot.mark());
    look(&mut state, &hot);
    hot.replace(HashMap::new(), hot.mark());
    look(&mut state, &hot);
    hot.replace(ahead(0..100), hot.mark());
    look(&mut state, &hot);
    assert!(!state.is_all_told());
    for _ in 0..25 {
        look(&mut state, &hot);
    }
    assert!(state.is_all_told());
}
