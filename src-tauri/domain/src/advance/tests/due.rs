//! When a payment is looked at again although none of its transactions changed.

use std::slice::from_ref;

use crate::advance::waits_for_block;

use super::*;
use PaymentState::{Confirmed, Expired, Invalid, New, Unconfirmed};

fn due(
    payment: &Payment,
    receipts: &[Receipt],
    look: &LookFacts,
) -> (Option<Timestamp>, Option<u32>) {
    let advanced = advance(payment, receipts, &[], look);
    (advanced.next_due_at, advanced.next_due_height)
}

#[test]
fn an_open_payment_is_due_right_after_its_deadline() {
    assert_eq!(due(&payment(New), &[], &look(10)), (Some(EXPIRES.plus_ms(1)), None));
    assert_eq!(due(&payment(New), &[], &look(30)), (Some(EXPIRES.plus_ms(1)), None));
}

#[test]
fn a_closed_payment_without_coins_is_never_due() {
    assert_eq!(due(&payment(New), &[], &look(31)), (None, None));
    assert_eq!(due(&closed(Expired, 0), &[], &look(31)), (None, None));
}

#[test]
fn without_a_mempool_each_block_may_close_a_payment() {
    let blind = LookFacts { has_mempool: false, ..look(10) };
    assert_eq!(due(&payment(New), &[], &blind), (Some(EXPIRES.plus_ms(DAY_MS + 1)), Some(TIP + 1)));
}

#[test]
fn missing_coins_are_due_when_they_are_gone() {
    let missing = receipt(1, AMOUNT).counted(AMOUNT).absent();
    let gone_at = missing.last_seen_at.plus_ms(1_000 + 14 * DAY_MS);
    assert_eq!(
        due(&closed(Unconfirmed, AMOUNT), from_ref(&missing), &look(40)),
        (Some(gone_at), None)
    );
    assert_eq!(due(&closed(Expired, 0), &[missing.spent_in_chain()], &look(40)), (None, None));
}

#[test]
fn zero_conf_coins_are_due_at_the_end_of_the_quiet_time() {
    let mut payment = closed(Unconfirmed, AMOUNT);
    payment.policy.confirmations = 0;
    let coins = Receipt { first_seen_at: look(40).at, ..receipt(1, AMOUNT).counted(AMOUNT) };
    assert_eq!(
        due(&payment, from_ref(&coins), &look(40)),
        (Some(look(40).at.plus_ms(3_000)), None)
    );
    let chained = Receipt { zero_conf_rate: None, ..coins.clone() };
    assert_eq!(due(&payment, &[chained], &look(40)), (None, None));
}

#[test]
fn a_payment_waits_a_minute_for_the_next_estimate() {
    let mut payment = closed(Unconfirmed, AMOUNT);
    payment.policy.confirmations = 0;
    let coins = [receipt(1, AMOUNT).counted(AMOUNT)];
    let dear = ZeroConf::From(FeeRate::from_sat_per_vb_u32(3));
    for (zero_conf, wait_ms) in
        [(ZeroConf::NotAsked, 0), (ZeroConf::Never, MINUTE_MS), (dear, MINUTE_MS)]
    {
        let looked = LookFacts { zero_conf, ..look(40) };
        assert_eq!(
            due(&payment, &coins, &looked),
            (Some(look(40).at.plus_ms(wait_ms)), None),
            "{zero_conf:?}"
        );
    }
    assert_eq!(advance(&payment, &coins, &[], &look(41)).state, Confirmed);
}

#[test]
fn a_small_sale_that_is_not_accepted_soon_waits_for_a_block() {
    let mut payment = closed(Unconfirmed, AMOUNT);
    payment.policy.confirmations = 0;
    let seen_at = look(40).at;
    let coins = Receipt { first_seen_at: seen_at, ..receipt(1, AMOUNT).counted(AMOUNT) };
    let chained = Receipt { zero_conf_rate: None, ..coins.clone() };
    let waits = |coins: &Receipt, after_ms| {
        waits_for_block(&payment, from_ref(coins), seen_at.plus_ms(after_ms))
    };
    assert!(!waits(&coins, 18_000), "it may still be accepted");
    assert!(waits(&coins, 18_001), "its fee was too low");
    assert!(waits(&chained, 0), "it spends unconfirmed coins");
    assert!(!waits(&chained.clone().confirmed(1), 0));
}

#[test]
fn a_payment_is_due_at_heights_where_confirmations_matter() {
    let coins = |confirmations| [receipt(1, AMOUNT).counted(AMOUNT).confirmed(confirmations)];
    let mut payment = closed(Unconfirmed, AMOUNT);
    payment.policy.confirmations = 6;
    for (confirmations, height) in
        [(1, Some(TIP + 1)), (2, Some(TIP + 4)), (5, Some(TIP + 1)), (6, None)]
    {
        assert_eq!(due(&payment, &coins(confirmations), &look(40)).1, height, "{confirmations}");
    }
    assert_eq!(
        due(&closed(Confirmed, AMOUNT), &coins(1), &look(40)).1,
        Some(TIP + 1),
        "for an anomaly"
    );
}

#[test]
fn a_payment_that_fell_from_confirmed_is_due_at_once() {
    let lost = receipt(1, AMOUNT).counted(AMOUNT).spent_in_chain();
    let back = Receipt { gone: true, ..receipt(2, 60_000).counted(0) };
    let receipts = [lost, Receipt { eligible_sats: Some(60_000), ..back }];
    let fell = advance(&closed(Confirmed, AMOUNT), &receipts, &[], &look(40));
    assert_eq!((fell.state, fell.paid_sats, fell.next_due_at), (Invalid, 0, Some(look(40).at)));
    let mut after = closed(Confirmed, AMOUNT);
    let mut receipts = receipts.to_vec();
    apply(&fell, &mut after, &mut receipts, &mut Vec::new());
    let looked = advance(&after, &receipts, &[], &look(40));
    assert_eq!(
        (looked.state, looked.paid_sats),
        (Invalid, 60_000),
        "in the mempool, and not gone any more"
    );
    assert_eq!(looked.next_due_at, None);
}
