//! Which coins are in time, gone, missing or displaced.

use std::slice::from_ref;

use super::*;
use crate::advance::{Verdict, Warning};
use PaymentState::{Confirmed, Expired, Invalid, New, Unconfirmed, Underpaid};

fn verdicts(payment: &Payment, receipts: &[Receipt], look: &LookFacts) -> Vec<Verdict> {
    advance(payment, receipts, &[], look).verdicts
}

fn counted(payment: &Payment, receipts: &[Receipt], look: &LookFacts) -> Vec<u64> {
    verdicts(payment, receipts, look).iter().map(|verdict| verdict.counted_sats).collect()
}

/// A receipt that was first seen at `minutes`, and was in the mempool since `mempool_minutes`.
fn seen_at(number: u8, minutes: i64, mempool_minutes: i64) -> Receipt {
    let (at, earliest_at) = (look(minutes).at, look(mempool_minutes).at);
    Receipt { first_seen_at: at, last_seen_at: at, earliest_at, ..receipt(number, AMOUNT) }
}

#[test]
fn coins_found_by_the_closing_look_count_within_the_grace() {
    for (earliest, sats) in [(29, AMOUNT), (90, AMOUNT), (91, 0)] {
        assert_eq!(
            counted(&payment(New), &[seen_at(1, 200, earliest)], &look(200)),
            [sats],
            "{earliest}"
        );
    }
    assert_eq!(
        counted(&closed(Expired, 0), &[seen_at(1, 40, 20)], &look(40)),
        [0],
        "found after the closing look"
    );
}

#[test]
fn coins_first_seen_while_confirmed_never_count() {
    let first = receipt(1, AMOUNT).counted(AMOUNT).confirmed(1);
    let extra = receipt(2, 500);
    let before = Payment { paid_sats: AMOUNT, ..payment(Confirmed) };
    assert_eq!(counted(&before, &[first.clone(), extra.clone()], &look(10)), [AMOUNT, 0]);
    let later = [first.spent_in_chain(), extra.late()];
    assert_eq!(
        counted(&Payment { state: Invalid, ..before }, &later, &look(11)),
        [0, 0],
        "the verdict stays"
    );
}

#[test]
fn the_chain_and_the_mempool_decide_what_is_gone_or_missing() {
    let coins = || receipt(1, AMOUNT).counted(AMOUNT);
    let disputed = || Receipt { conflict_in_mempool: true, ..coins().absent() };
    let was_gone = |receipt: Receipt| Receipt { gone: true, ..receipt };
    for (name, state, one, gone, missing) in [
        ("in the mempool", Unconfirmed, coins(), false, false),
        ("dropped", Unconfirmed, coins().absent(), false, true),
        ("late and dropped", Unconfirmed, coins().late().absent(), false, true),
        ("spent in the chain", Unconfirmed, coins().spent_in_chain(), true, false),
        ("spent in the mempool", Unconfirmed, disputed(), true, false),
        ("disputed, but in a block", Unconfirmed, disputed().confirmed(1), false, false),
        ("back", Unconfirmed, was_gone(coins()), false, false),
        ("CONFIRMED: spent in the mempool", Confirmed, disputed(), false, true),
        ("CONFIRMED: spent in the chain", Confirmed, coins().spent_in_chain(), true, false),
        ("CONFIRMED: in the mempool again", Confirmed, was_gone(coins()), true, false),
        ("CONFIRMED: in a block again", Confirmed, was_gone(coins()).confirmed(1), false, false),
    ] {
        let verdict = verdicts(&payment(state), &[one], &look(10))[0];
        assert_eq!((verdict.gone, verdict.missing), (gone, missing), "{name}");
        assert_eq!(verdict.counted_sats, if gone { 0 } else { verdict.eligible_sats }, "{name}");
    }
}

#[test]
fn a_transaction_missed_by_every_look_for_14_days_is_gone() {
    let seen = receipt(1, AMOUNT).counted(AMOUNT);
    // The chain was silent for 15 days before the first look that missed it.
    let since = seen.last_seen_at.plus_ms(15 * DAY_MS);
    let dropped = Receipt { position: seen.position.missed(since), ..seen };
    assert_eq!(
        dropped.position.missed(since.plus_ms(DAY_MS)),
        dropped.position,
        "the first look that missed it counts"
    );
    let end = since.plus_ms(14 * DAY_MS);
    for state in [Unconfirmed, Confirmed] {
        let before = closed(state, AMOUNT);
        for (at, gone) in [(since, false), (end.plus_ms(-1), false), (end, true)] {
            let advanced = advance(&before, from_ref(&dropped), &[], &LookFacts { at, ..look(40) });
            assert_eq!(
                (advanced.verdicts[0].gone, advanced.verdicts[0].missing),
                (gone, !gone),
                "{state}"
            );
            assert_eq!(advanced.state, if gone { Invalid } else { state });
        }
    }
}

#[test]
fn a_fee_bump_after_the_deadline_stays_in_time() {
    let before = closed(Unconfirmed, AMOUNT);
    let old = receipt(1, AMOUNT).counted(AMOUNT).absent();
    for (paid, shared) in [(AMOUNT, AMOUNT), (AMOUNT - 1, AMOUNT - 1), (AMOUNT + 50, AMOUNT)] {
        let new = Receipt { amount_sats: paid, ..seen_at(2, 200, 200) }.against(1);
        assert_eq!(counted(&before, &[old.clone(), new], &look(200)), [0, shared]);
    }
    let other = seen_at(2, 200, 200);
    let spent = Receipt { conflict_in_mempool: true, ..old };
    assert_eq!(
        counted(&before, &[spent, other], &look(200)),
        [0, 0],
        "unrelated coins inherit nothing"
    );
}

#[test]
fn each_replacement_in_a_chain_inherits_the_verdict() {
    let mut payment = closed(Unconfirmed, AMOUNT);
    let mut receipts = vec![receipt(1, AMOUNT).counted(AMOUNT)];
    for number in 2..6 {
        let minutes = 100 * i64::from(number);
        let last = receipts.pop().unwrap();
        receipts.push(last.absent());
        let earlier = (1..number).map(txid).collect();
        receipts.push(Receipt { conflicts_with: earlier, ..seen_at(number, minutes, minutes) });
        let advanced = advance(&payment, &receipts, &[], &look(minutes));
        apply(&advanced, &mut payment, &mut receipts, &mut Vec::new());
        assert_eq!((payment.state, payment.paid_sats), (Unconfirmed, AMOUNT), "{number}");
    }
}

#[test]
fn a_replacement_of_two_receipts_inherits_both_verdicts() {
    let parts = [1, 2].map(|number| receipt(number, 50_000).counted(50_000).absent());
    let both = Receipt { conflicts_with: vec![txid(1), txid(2)], ..seen_at(3, 200, 200) };
    let [first, second] = parts;
    assert_eq!(
        counted(&closed(Unconfirmed, AMOUNT), &[first, second, both], &look(200)),
        [0, 0, AMOUNT]
    );
}

#[test]
fn a_replacement_of_eligible_coins_inherits_their_verdict() {
    let dropped =
        Receipt { gone: true, counted_sats: 0, ..receipt(1, AMOUNT).counted(AMOUNT).absent() };
    let bumped =
        Receipt { last_seen_at: look(35).at, ..receipt(2, AMOUNT).late().absent() }.against(1);
    assert_eq!(counted(&closed(Invalid, 0), &[dropped, bumped], &look(40)), [0, AMOUNT]);
}

#[test]
fn only_one_of_two_conflicting_receipts_counts() {
    let old = || receipt(1, AMOUNT).counted(AMOUNT);
    let new = || Receipt { last_seen_at: look(9).at, ..receipt(2, AMOUNT).against(1) };
    for (name, state, receipts, expected) in [
        ("the one in a block", Unconfirmed, [old().confirmed(1), new().absent()], [AMOUNT, 0]),
        ("the one in the mempool", Unconfirmed, [old().absent(), new()], [0, AMOUNT]),
        ("the one seen later", Unconfirmed, [old().absent(), new().absent()], [0, AMOUNT]),
        ("while CONFIRMED the one that counted", Confirmed, [old().absent(), new()], [AMOUNT, 0]),
        (
            "while CONFIRMED a block decides",
            Confirmed,
            [old().absent(), new().confirmed(1)],
            [0, AMOUNT],
        ),
    ] {
        assert_eq!(counted(&payment(state), &receipts, &look(10)), expected, "{name}");
    }
}

#[test]
fn a_displaced_transaction_is_not_broadcast_again() {
    let old = receipt(1, AMOUNT).counted(AMOUNT).absent();
    let new = Receipt { last_seen_at: look(9).at, ..receipt(2, AMOUNT).against(1) }.absent();
    let missing: Vec<bool> = verdicts(&payment(Underpaid), &[old, new], &look(10))
        .iter()
        .map(|verdict| verdict.missing)
        .collect();
    assert_eq!(missing, [false, true]);
}

#[test]
fn an_attack_on_a_confirmed_payment_warns_at_once() {
    let attacked =
        Receipt { conflict_in_mempool: true, ..receipt(1, AMOUNT).counted(AMOUNT).absent() };
    let advanced = advance(&closed(Confirmed, AMOUNT), from_ref(&attacked), &[], &look(50));
    assert_eq!(advanced.warnings, [Warning::DoubleSpendAttempt { txid: txid(1) }]);
    assert_eq!(
        (advanced.state, advanced.paid_sats),
        (Confirmed, AMOUNT),
        "the mempool alone moves no coins"
    );
    assert!(advanced.conflict_seen && advanced.notify);
    assert_eq!(advance(&payment(Unconfirmed), &[attacked], &[], &look(10)).warnings, []);
}

/// Whether a look at a CONFIRMED payment sees a conflict, and notifies, after a look that saw one
/// or not.
fn conflict(receipts: &[Receipt], was_seen: bool) -> (bool, bool) {
    let before = Payment {
        conflict_seen: was_seen,
        ..closed(Confirmed, receipts.iter().map(|one| one.counted_sats).sum())
    };
    let advanced = advance(&before, receipts, &[], &look(50));
    assert_eq!(advanced.state, Confirmed);
    (advanced.conflict_seen, advanced.notify)
}

#[test]
fn a_conflict_is_notified_when_it_comes_and_when_it_goes() {
    let quiet = [receipt(1, AMOUNT).counted(AMOUNT)];
    let attacked =
        [Receipt { conflict_in_mempool: true, ..receipt(1, AMOUNT).counted(AMOUNT).absent() }];
    assert_eq!(conflict(&quiet, false), (false, false));
    assert_eq!(conflict(&attacked, false), (true, true));
    assert_eq!(conflict(&attacked, true), (true, false), "the second look changes nothing");
    assert_eq!(conflict(&quiet, true), (false, true));
}

#[test]
fn a_replacement_that_pays_as_much_is_no_conflict() {
    let paid =
        || Receipt { conflict_in_mempool: true, ..receipt(1, AMOUNT).counted(AMOUNT).absent() };
    for (rival_sats, seen) in [(AMOUNT + 5, false), (AMOUNT, false), (AMOUNT - 1, true), (1, true)]
    {
        assert_eq!(
            conflict(&[paid(), receipt(2, rival_sats).late().against(1)], false),
            (seen, seen),
            "{rival_sats}"
        );
    }
    let two = [paid(), receipt(2, 60_000).late().against(1), receipt(3, 40_000).late().against(1)];
    assert_eq!(conflict(&two, false), (false, false), "two replacements pay as much together");
    let missing = [paid(), receipt(2, AMOUNT).late().against(1).absent()];
    assert_eq!(
        conflict(&missing, false),
        (true, true),
        "a replacement that no mempool holds pays nothing"
    );
}

#[test]
fn one_replacement_does_not_make_up_for_two_transactions() {
    let part = |number| Receipt {
        conflict_in_mempool: true,
        ..receipt(number, 50_000).counted(50_000).absent()
    };
    let rival =
        |sats| Receipt { conflicts_with: vec![txid(1), txid(2)], ..receipt(3, sats).late() };
    assert_eq!(conflict(&[part(1), part(2), rival(50_000)], false), (true, true));
    assert_eq!(conflict(&[part(1), part(2), rival(AMOUNT)], false), (false, false));
    let other = receipt(2, 50_000).counted(50_000);
    assert_eq!(
        conflict(&[part(1), other, rival(0)], false),
        (true, true),
        "one of two is taken back"
    );
}

#[test]
fn a_conflict_is_seen_only_while_unconfirmed_coins_may_be_lost() {
    let in_block =
        [Receipt { conflict_in_mempool: true, ..receipt(1, AMOUNT).counted(AMOUNT).confirmed(1) }];
    assert_eq!(conflict(&in_block, true), (false, true));
    let attacked =
        [Receipt { conflict_in_mempool: true, ..receipt(1, AMOUNT).counted(AMOUNT).absent() }];
    let before = Payment { conflict_seen: true, ..closed(Confirmed, AMOUNT) };
    let no_mempool = LookFacts { has_mempool: false, ..look(50) };
    assert!(
        !advance(&before, &attacked, &[], &no_mempool).conflict_seen,
        "a backend without a mempool cannot tell"
    );
    let mined = [Receipt { conflict_in_chain: true, ..attacked[0].clone() }];
    let advanced = advance(&before, &mined, &[], &look(50));
    assert_eq!((advanced.state, advanced.conflict_seen), (Invalid, false), "a block has decided");
}

#[test]
fn replacements_that_split_the_inputs_divide_the_verdict() {
    let before = closed(Unconfirmed, AMOUNT);
    let old = Receipt { conflict_in_mempool: true, ..receipt(1, AMOUNT).counted(AMOUNT).absent() };
    let part = |number, minutes| {
        Receipt { amount_sats: 60_000, ..seen_at(number, minutes, minutes) }.against(1)
    };
    let receipts = [old.clone(), part(2, 199), part(3, 200)];
    assert_eq!(
        counted(&before, &receipts, &look(200)),
        [0, 40_000, 60_000],
        "the one seen later ranks first"
    );
    let receipts = [old.clone(), part(2, 199).confirmed(1), part(3, 200)];
    assert_eq!(
        counted(&before, &receipts, &look(200)),
        [0, 60_000, 40_000],
        "the one in a block ranks first"
    );

    // A sum that one replacement inherited is not inherited again by a later one.
    let [dropped, first, second] = [old, part(2, 199), part(3, 200)].map(Receipt::absent);
    let dropped = Receipt { gone: true, conflict_in_mempool: false, counted_sats: 0, ..dropped };
    let first = Receipt { gone: true, counted_sats: 0, ..first.counted(60_000) };
    let receipts = [dropped, first, second.late()];
    assert_eq!(counted(&before, &receipts, &look(201)), [0, 60_000, 40_000]);
}

#[test]
fn the_last_replacement_of_a_chain_inherits_the_last_count() {
    let [first, second, third] = [1, 2, 3].map(txid);
    let chain = [
        Receipt { eligible_sats: Some(AMOUNT), ..receipt(1, AMOUNT).absent() },
        Receipt { conflicts_with: vec![first], ..receipt(2, 60_000).counted(60_000).absent() },
        Receipt { conflicts_with: vec![first], ..receipt(3, 40_000).counted(40_000).absent() },
        Receipt {
            conflicts_with: vec![first, second, third],
            ..receipt(4, 3 * AMOUNT).late().absent()
        },
    ];
    let chain = chain.map(|one| Receipt { last_seen_at: look(i64::from(one.txid[0])).at, ..one });
    assert_eq!(counted(&closed(Invalid, AMOUNT), &chain, &look(200)), [0, 0, 0, AMOUNT]);
}

#[test]
fn a_bump_counts_at_the_look_that_rules_out_its_replacement() {
    let [first, second, third] = [1, 2, 3].map(txid);
    // The first transaction was in time and is gone. The second bumped it, but was late, because
    // the first was gone already. The third replaced both and counted. The fourth now spends
    // another input of the third, so the third is gone and the second inherits from the first.
    let late_bump = Receipt { conflicts_with: vec![first], ..seen_at(2, 150, 150).late() };
    let counted_last = Receipt { amount_sats: 60_000, ..seen_at(3, 160, 160).counted(60_000) };
    let mut receipts = [
        Receipt { gone: true, counted_sats: 0, ..receipt(1, AMOUNT).counted(AMOUNT).absent() },
        late_bump.absent(),
        Receipt { conflicts_with: vec![first, second], ..counted_last.absent() },
        Receipt { conflicts_with: vec![third], ..seen_at(4, 200, 200) },
    ];
    let mut payment = closed(Invalid, 60_000);
    assert_eq!(counted(&payment, &receipts, &look(200)), [0, AMOUNT, 0, 60_000]);

    let advanced = advance(&payment, &receipts, &[], &look(200));
    apply(&advanced, &mut payment, &mut receipts, &mut Vec::new());
    let again = advance(&payment, &receipts, &[], &look(200));
    assert_eq!(
        (again.notify, again.verdicts),
        (false, advanced.verdicts),
        "the same look notifies nothing"
    );
}

#[test]
fn a_replacement_inherits_despite_a_late_bump_before_it() {
    let dropped =
        Receipt { gone: true, counted_sats: 0, ..receipt(1, AMOUNT).counted(AMOUNT).absent() };
    let [second, third] =
        [2, 3].map(|number| seen_at(number, 150 + i64::from(number), 150).late().absent());
    let second = second.against(1);
    let third = Receipt { conflicts_with: vec![txid(1), txid(2)], ..third };
    assert_eq!(counted(&closed(Invalid, 0), &[dropped, second, third], &look(200)), [0, 0, AMOUNT]);
}

#[test]
fn refunded_coins_inherit_nothing_after_an_acceptance() {
    let mut payment = closed(Expired, 0);
    let sent_back = Receipt { refunded: true, ..seen_at(2, 150, 150).late().absent() }.against(1);
    let mut receipts = [receipt(1, AMOUNT).late().absent(), sent_back, seen_at(3, 160, 160).late()];
    let refund = [anomaly(AnomalyKind::LatePayment, Some(2), AMOUNT, Resolution::Refunded)];
    let accepting = LookFacts { staff_accepts: true, ..look(200) };
    let accepted = advance(&payment, &receipts, &refund, &accepting);
    assert_eq!((accepted.state, accepted.paid_sats), (Unconfirmed, AMOUNT));

    apply(&accepted, &mut payment, &mut receipts, &mut refund.to_vec());
    let again = advance(&payment, &receipts, &refund, &look(200));
    assert_eq!((again.paid_sats, again.notify), (AMOUNT, false), "refunded coins do not count");
}
