//! Every row of the transition table, with its notifications.

use std::slice::from_ref;

use super::*;
use crate::advance::{AcceptRefusal, may_accept};
use crate::policy::OverpaymentRule;
use PaymentState::{Confirmed, Expired, Invalid, New, Unconfirmed, Underpaid};

fn step(payment: &Payment, receipts: &[Receipt], look: &LookFacts) -> Advance {
    advance(payment, receipts, &[], look)
}

fn staff_accepts(look: LookFacts) -> LookFacts {
    LookFacts { staff_accepts: true, ..look }
}

#[test]
fn each_row_of_the_transition_table_leads_to_its_state() {
    let full = || receipt(1, AMOUNT);
    let part = || receipt(1, 60_000);
    let counted = || receipt(1, AMOUNT).counted(AMOUNT);
    let lost = || counted().spent_in_chain();
    let rows: Vec<(&str, Payment, Vec<Receipt>, i64, PaymentState)> = vec![
        ("no coins", payment(New), vec![], 10, New),
        ("coins, not enough", payment(New), vec![part()], 10, Underpaid),
        (
            "no coins count any more",
            payment(Underpaid),
            vec![part().counted(60_000).spent_in_chain()],
            10,
            New,
        ),
        ("enough at once", payment(New), vec![full()], 10, Unconfirmed),
        (
            "enough with a second transaction",
            payment(Underpaid),
            vec![part().counted(60_000), receipt(2, 40_000)],
            10,
            Unconfirmed,
        ),
        ("lost before the deadline", payment(Unconfirmed), vec![lost()], 10, New),
        ("half lost", payment(Unconfirmed), vec![lost(), receipt(2, 60_000)], 10, Underpaid),
        ("confirmed when first seen", payment(New), vec![full().confirmed(1)], 10, Confirmed),
        ("underpaid and confirmed", payment(Underpaid), vec![full().confirmed(1)], 10, Confirmed),
        ("confirmed", payment(Unconfirmed), vec![counted().confirmed(1)], 10, Confirmed),
        ("at the deadline itself", payment(New), vec![], 30, New),
        ("no coins in time", payment(New), vec![], 31, Expired),
        (
            "the coins are lost",
            payment(Underpaid),
            vec![part().counted(60_000).spent_in_chain()],
            31,
            Expired,
        ),
        ("too little, seen by the closing look", payment(New), vec![part()], 31, Invalid),
        ("too little", payment(Underpaid), vec![part().counted(60_000)], 31, Invalid),
        ("enough, seen by the closing look", payment(New), vec![full()], 31, Unconfirmed),
        ("still waiting for a block", payment(Unconfirmed), vec![counted()], 31, Unconfirmed),
        ("lost after the deadline", closed(Unconfirmed, AMOUNT), vec![lost()], 40, Invalid),
        ("reversed before the deadline", payment(Confirmed), vec![lost()], 10, Invalid),
        ("reversed", closed(Confirmed, AMOUNT), vec![lost()], 40, Invalid),
        ("back, unconfirmed", closed(Expired, 0), vec![counted()], 40, Expired),
        ("back and confirmed", closed(Expired, 0), vec![counted().confirmed(1)], 40, Confirmed),
        (
            "invalid, back and confirmed",
            closed(Invalid, 0),
            vec![counted().confirmed(1)],
            40,
            Confirmed,
        ),
    ];
    for (name, payment, receipts, minutes, state) in rows {
        let advanced = step(&payment, &receipts, &look(minutes));
        assert_eq!(advanced.state, state, "{name}");
        assert_eq!(
            advanced.closed_at.is_some(),
            payment.closed_at.is_some() || minutes > 30,
            "{name}"
        );
        assert_eq!(advanced.confirmed_at, (state == Confirmed).then(|| look(minutes).at), "{name}");
        assert!(state == payment.state || advanced.notify, "{name}");
    }
}

#[test]
fn a_payment_waits_for_the_confirmations_of_its_tier() {
    let mut payment = payment(Unconfirmed);
    payment.policy.confirmations = 3;
    for (confirmations, state) in
        [(1, Unconfirmed), (2, Unconfirmed), (3, Confirmed), (4, Confirmed)]
    {
        let receipts = [receipt(1, AMOUNT).counted(AMOUNT).confirmed(confirmations)];
        assert_eq!(step(&payment, &receipts, &look(10)).state, state, "{confirmations}");
    }
    let parts = [
        receipt(1, 60_000).counted(60_000).confirmed(9),
        receipt(2, 40_000).counted(40_000).confirmed(2),
    ];
    assert_eq!(step(&payment, &parts, &look(10)).state, Unconfirmed, "each part must be confirmed");
}

#[test]
fn the_tolerance_is_exact_to_the_satoshi() {
    let mut payment = payment(New);
    payment.policy.tolerance_per_mille = 10;
    assert_eq!(step(&payment, &[receipt(1, 99_000)], &look(10)).state, Unconfirmed);
    assert_eq!(step(&payment, &[receipt(1, 98_999)], &look(10)).state, Underpaid);
}

#[test]
fn without_a_mempool_a_payment_closes_by_the_time_of_blocks() {
    let at_tip =
        |minutes| LookFacts { has_mempool: false, tip_time: look(minutes).at, ..look(1_000) };
    let after_a_day =
        LookFacts { tip_time: look(150).at, has_mempool: false, ..look(30 + 24 * 60 + 1) };
    assert_eq!(step(&payment(New), &[], &after_a_day).state, Expired, "no block came for a day");
    assert_eq!(step(&payment(New), &[], &at_tip(150)).state, New);
    let advanced = step(&payment(New), &[], &at_tip(151));
    assert_eq!((advanced.state, advanced.closed_at), (Expired, Some(look(1_000).at)));
}

#[test]
fn zero_conf_needs_the_fee_of_the_look_and_a_quiet_time() {
    let mut payment = payment(New);
    payment.policy.confirmations = 0;
    let seen = receipt(1, AMOUNT);
    let after = |ms| LookFacts { at: seen.first_seen_at.plus_ms(ms), ..look(1) };
    assert_eq!(step(&payment, from_ref(&seen), &after(2_999)).state, Unconfirmed);
    assert_eq!(step(&payment, from_ref(&seen), &after(3_000)).state, Confirmed);
    let chained = Receipt { zero_conf_rate: None, ..seen.clone() };
    assert_eq!(step(&payment, from_ref(&chained), &after(60_000)).state, Unconfirmed);
    assert_eq!(step(&payment, &[chained.confirmed(1)], &after(60_000)).state, Confirmed);
    let dear = ZeroConf::From(FeeRate::from_sat_per_vb_u32(3));
    for (zero_conf, why) in [(dear, "its fee is low"), (ZeroConf::Never, "the node stands still")] {
        let looked = LookFacts { zero_conf, ..after(60_000) };
        assert_eq!(step(&payment, from_ref(&seen), &looked).state, Unconfirmed, "{why}");
    }
    let blind = LookFacts { has_mempool: false, ..after(60_000) };
    assert_eq!(
        step(&payment, from_ref(&seen), &blind).state,
        Unconfirmed,
        "a node without a mempool sees no conflict"
    );
    let fought =
        Receipt { last_conflict_at: Some(seen.first_seen_at.plus_ms(5_000)), ..seen.clone() };
    assert_eq!(step(&payment, from_ref(&fought), &after(7_999)).state, Unconfirmed);
    assert_eq!(step(&payment, &[fought], &after(8_000)).state, Confirmed);
    assert_eq!(
        step(&payment, &[seen.clone().absent()], &after(60_000)).state,
        Unconfirmed,
        "a missing transaction is in no mempool"
    );
}

#[test]
fn an_expired_payment_needs_a_confirmation_even_under_zero_conf() {
    let mut payment = closed(Expired, 0);
    payment.policy.confirmations = 0;
    let back = receipt(1, AMOUNT).counted(AMOUNT);
    assert_eq!(step(&payment, from_ref(&back), &look(40)).state, Expired);
    assert_eq!(step(&payment, &[back.confirmed(1)], &look(40)).state, Confirmed);
}

#[test]
fn a_refund_keeps_an_expired_payment_from_being_confirmed() {
    let back = [receipt(1, AMOUNT).counted(AMOUNT).confirmed(1)];
    for (resolution, state) in [
        (Resolution::Refunding, Invalid),
        (Resolution::Refunded, Invalid),
        (Resolution::Open, Confirmed),
        (Resolution::DismissedByStaff, Confirmed),
    ] {
        let refund = [anomaly(AnomalyKind::LatePayment, Some(2), 5, resolution)];
        assert_eq!(
            advance(&closed(Invalid, 0), &back, &refund, &look(40)).state,
            state,
            "{resolution:?}"
        );
    }
}

#[test]
fn a_single_overpayment_invalidates_under_the_rule_invalidate() {
    let invalidating = |state| {
        let mut payment = payment(state);
        payment.policy.overpayment = OverpaymentRule::Invalidate;
        payment
    };
    let much = || receipt(1, AMOUNT + DUST);
    let little_more = || receipt(1, AMOUNT + DUST - 1);
    for (from, receipts, to) in [
        (New, vec![much()], Unconfirmed),
        (New, vec![much().confirmed(1)], Invalid),
        (Underpaid, vec![much().confirmed(1)], Invalid),
        (Unconfirmed, vec![much().confirmed(1)], Invalid),
        (Expired, vec![much().confirmed(1)], Invalid),
        (Invalid, vec![much().confirmed(1)], Invalid),
        (New, vec![receipt(1, AMOUNT).confirmed(1), receipt(2, 5).confirmed(1)], Confirmed),
        (New, vec![little_more().confirmed(1)], Confirmed),
        (Expired, vec![little_more().confirmed(1)], Confirmed),
        (New, vec![receipt(1, AMOUNT - 1).confirmed(1), receipt(2, DUST).confirmed(1)], Confirmed),
        (Confirmed, vec![much().counted(AMOUNT + DUST).confirmed(1)], Confirmed),
    ] {
        assert_eq!(step(&invalidating(from), &receipts, &look(10)).state, to, "{from}");
    }
    assert_eq!(
        step(&payment(New), &[much().confirmed(1)], &look(10)).state,
        Confirmed,
        "under the rule confirm"
    );
    let accepted = Payment { accepted_sats: Some(AMOUNT + DUST), ..invalidating(Unconfirmed) };
    assert_eq!(
        step(&accepted, &[much().confirmed(1)], &look(10)).state,
        Confirmed,
        "staff accepted"
    );
}

#[test]
fn staff_can_accept_the_received_coins() {
    let little = || receipt(1, 60_000);
    for (from, receipts, to) in [
        (payment(Underpaid), vec![little().counted(60_000)], Unconfirmed),
        (payment(Underpaid), vec![little().counted(60_000).confirmed(1)], Confirmed),
        (closed(Expired, 0), vec![little().late()], Unconfirmed),
        (closed(Expired, 0), vec![little().late().confirmed(1)], Confirmed),
        (closed(Invalid, 0), vec![little().late()], Unconfirmed),
        (closed(Invalid, 0), vec![little().late().confirmed(1)], Confirmed),
    ] {
        assert_eq!(may_accept(&from, &receipts, &[]), Ok(60_000));
        let advanced = step(&from, &receipts, &staff_accepts(look(40)));
        assert_eq!(
            (advanced.state, advanced.accepted_sats, advanced.paid_sats),
            (to, Some(60_000), 60_000),
            "{}",
            from.state
        );
        assert_eq!(advanced.verdicts[0].eligible_sats, 60_000);
    }
}

#[test]
fn an_accepted_sum_stays_enough_until_some_of_it_is_lost() {
    let accepted = Payment { accepted_sats: Some(60_000), ..closed(Unconfirmed, 60_000) };
    let coins = receipt(1, 60_000).counted(60_000);
    assert_eq!(step(&accepted, &[coins.clone().confirmed(1)], &look(50)).state, Confirmed);
    assert_eq!(
        step(&accepted, &[coins.spent_in_chain(), receipt(2, 59_999).counted(59_999)], &look(50))
            .state,
        Invalid
    );
}

#[test]
fn the_acceptable_sum_is_the_accepted_sum() {
    let closed = closed(Expired, 0);
    let bumped = receipt(1, 60_000).late();
    let bump = Receipt { conflicts_with: vec![bumped.txid], ..receipt(2, 55_000).late() };
    let refunded = Receipt { refunded: true, ..receipt(3, 40_000).late().confirmed(1) };
    let coins = [bumped, bump, refunded, receipt(4, 7).late().confirmed(1)];
    let refund = [anomaly(AnomalyKind::LatePayment, Some(3), 40_000, Resolution::Refunded)];
    let told = may_accept(&closed, &coins, &refund).unwrap();
    let advanced = advance(&closed, &coins, &refund, &staff_accepts(look(40)));
    assert_eq!(
        (Some(told), told),
        (advanced.accepted_sats, advanced.paid_sats),
        "one of two rivals counts"
    );
    assert!([55_007, 60_007].contains(&told), "{told}");
}

#[test]
fn acceptance_needs_the_right_state_and_coins_and_no_refund() {
    let coins = [receipt(1, 60_000).late()];
    for state in [New, Unconfirmed, Confirmed] {
        assert_eq!(may_accept(&payment(state), &coins, &[]), Err(AcceptRefusal::WrongState));
        let advanced = step(&payment(state), &coins, &staff_accepts(look(10)));
        assert_eq!(advanced.accepted_sats, None, "{state}");
    }
    let refunding = [anomaly(AnomalyKind::LatePayment, Some(1), 60_000, Resolution::Refunding)];
    assert_eq!(may_accept(&closed(Expired, 0), &coins, &refunding), Err(AcceptRefusal::Refunding));
    let advanced = advance(&closed(Expired, 0), &coins, &refunding, &staff_accepts(look(40)));
    assert_eq!((advanced.state, advanced.accepted_sats), (Expired, None));
    let gone = [Receipt { gone: true, ..receipt(1, 60_000).late() }];
    assert_eq!(may_accept(&closed(Expired, 0), &gone, &[]), Err(AcceptRefusal::NoCoins));
    assert_eq!(may_accept(&closed(Expired, 0), &[], &[]), Err(AcceptRefusal::NoCoins));
    let lost = [receipt(1, 60_000).late().spent_in_chain()];
    assert_eq!(
        step(&closed(Expired, 0), &lost, &staff_accepts(look(40))).accepted_sats,
        None,
        "the coins are gone at this look"
    );
}

#[test]
fn refunded_coins_are_not_accepted() {
    let refunded = Receipt { refunded: true, ..receipt(1, 60_000).late().confirmed(1) };
    let other = receipt(2, 30_000).late().confirmed(1);
    let of_one = [anomaly(AnomalyKind::LatePayment, Some(1), 60_000, Resolution::Refunded)];
    assert_eq!(
        may_accept(&closed(Expired, 0), from_ref(&refunded), &of_one),
        Err(AcceptRefusal::NoCoins)
    );
    let advanced =
        advance(&closed(Expired, 0), &[refunded, other.clone()], &of_one, &staff_accepts(look(40)));
    assert_eq!((advanced.paid_sats, advanced.accepted_sats), (30_000, Some(30_000)));

    let counted = Receipt { refunded: true, ..receipt(1, 60_000).counted(60_000).confirmed(1) };
    let of_all = [anomaly(AnomalyKind::Underpayment, None, 60_000, Resolution::Refunded)];
    let advanced =
        advance(&closed(Invalid, 60_000), &[counted, other], &of_all, &staff_accepts(look(40)));
    assert_eq!((advanced.paid_sats, advanced.accepted_sats), (30_000, Some(30_000)));
    assert!(
        advanced.anomalies.is_empty(),
        "refunded coins raised an anomaly: {:?}",
        advanced.anomalies
    );
}

#[test]
fn a_change_of_counted_coins_is_notified_in_the_same_state() {
    let before = Payment { paid_sats: 10_000, ..payment(Underpaid) };
    let first = receipt(1, 10_000).counted(10_000);
    assert!(!step(&before, from_ref(&first), &look(10)).notify);
    assert!(
        !step(&before, &[first.clone().confirmed(5)], &look(10)).notify,
        "confirmations alone are not notified"
    );
    assert!(step(&before, &[first.clone(), receipt(2, 1)], &look(10)).notify, "the sum changed");
    let replaced = [first.spent_in_chain(), receipt(2, 10_000)];
    assert!(step(&before, &replaced, &look(10)).notify, "the set changed");
}

#[test]
fn the_first_confirmation_time_stays() {
    let confirmed_at = Some(look(5).at);
    let before = Payment { confirmed_at, ..closed(Invalid, 0) };
    let advanced = step(&before, &[receipt(1, AMOUNT).counted(AMOUNT).confirmed(1)], &look(50));
    assert_eq!((advanced.state, advanced.confirmed_at), (Confirmed, confirmed_at));
}
