//! Every kind of anomaly: raised, followed, dismissed, reopened, left alone.

use std::slice::from_ref;

use super::*;
use crate::advance::Warning;
use crate::anomaly::Coins;
use crate::policy::OverpaymentRule;
use AnomalyKind::{ExtraPayment, LatePayment, ReversedPayment, Underpayment};
use PaymentState::{Confirmed, Expired, Invalid, New, Unconfirmed, Underpaid};
use Resolution::{Accepted, DismissedByStaff, DismissedBySystem, Open, Refunded, Refunding};

const ID: Id = Id::from_bytes([9; 20]);

fn changes(payment: &Payment, receipts: &[Receipt], anomalies: &[Anomaly]) -> Vec<AnomalyChange> {
    advance(payment, receipts, anomalies, &look(40)).anomalies
}

fn raise(kind: AnomalyKind, tx: Option<u8>, paid_sats: u64, txids: &[u8]) -> AnomalyChange {
    AnomalyChange::Raise { kind, txid: tx.map(txid), coins: coins(paid_sats, txids) }
}

fn coins(paid_sats: u64, txids: &[u8]) -> Coins {
    Coins { paid_sats, txids: txids.iter().copied().map(txid).collect() }
}

fn invalidating(state: PaymentState, paid_sats: u64) -> Payment {
    let mut payment = closed(state, paid_sats);
    payment.policy.overpayment = OverpaymentRule::Invalidate;
    payment
}

#[test]
fn coins_that_do_not_count_are_late_or_extra_by_the_state() {
    let paid = || receipt(1, AMOUNT).counted(AMOUNT).confirmed(1);
    let misfit = || receipt(2, 700).late().confirmed(2);
    let late = || raise(LatePayment, Some(2), 700, &[2]);
    let extra = || raise(ExtraPayment, Some(2), 700, &[2]);
    assert_eq!(changes(&closed(Expired, 0), &[misfit()], &[]), [late()]);
    assert_eq!(changes(&closed(Invalid, 0), &[misfit()], &[]), [late()]);
    assert_eq!(changes(&closed(Confirmed, AMOUNT), &[paid(), misfit()], &[]), [extra()]);
    let unconfirmed = [receipt(1, AMOUNT).counted(AMOUNT), misfit()];
    assert_eq!(changes(&closed(Unconfirmed, AMOUNT), &unconfirmed, &[]), [extra()]);
}

#[test]
fn anomalies_wait_for_confirmations_and_a_closed_payment() {
    let misfit = || receipt(2, 700).late();
    assert_eq!(changes(&closed(Expired, 0), &[misfit().confirmed(1)], &[]), []);
    assert_eq!(changes(&closed(Expired, 0), &[misfit()], &[]), []);
    for state in [New, Underpaid] {
        let advanced = advance(&payment(state), &[misfit().confirmed(2)], &[], &look(10));
        assert_eq!(advanced.anomalies, [], "{state}");
    }
}

#[test]
fn a_late_payment_stays_late_and_is_raised_once() {
    let receipts =
        [receipt(1, AMOUNT).counted(AMOUNT).confirmed(1), receipt(2, 700).late().confirmed(5)];
    for resolution in [Open, Refunding, Refunded, Accepted, DismissedByStaff] {
        let known = [anomaly(LatePayment, Some(2), 700, resolution)];
        assert_eq!(changes(&closed(Confirmed, AMOUNT), &receipts, &known), [], "{resolution:?}");
    }
}

#[test]
fn the_surplus_of_a_replacement_is_late() {
    let bumped = Receipt { eligible_sats: Some(60_000), ..receipt(2, 90_000).confirmed(2) };
    let found = changes(&closed(Expired, 0), &[bumped], &[]);
    assert_eq!(
        found,
        [raise(LatePayment, Some(2), 30_000, &[2]), raise(Underpayment, None, 60_000, &[2])]
    );
}

#[test]
fn an_open_anomaly_is_dismissed_and_reopened_with_its_coins() {
    let known = |resolution| [anomaly(LatePayment, Some(1), 700, resolution)];
    let here = receipt(1, 700).late().confirmed(1);
    let found = changes(&closed(Expired, 0), &[here.clone().spent_in_chain()], &known(Open));
    assert!(
        matches!(found[..], [AnomalyChange::Dismiss { id: ID, reason }] if reason.contains("gone")),
        "{found:?}"
    );
    let found = changes(&closed(Expired, 0), &[here.clone().counted(700)], &known(Open));
    assert!(
        matches!(found[..], [AnomalyChange::Dismiss { id: ID, reason }] if reason.contains("count")),
        "{found:?}"
    );
    let found = changes(&closed(Expired, 0), &[here], &known(DismissedBySystem));
    assert_eq!(found, [AnomalyChange::Reopen { id: ID, coins: coins(700, &[1]) }]);
}

#[test]
fn only_one_of_two_conflicting_receipts_raises_an_anomaly() {
    let older = receipt(1, 700).late().absent();
    let newer = Receipt { last_seen_at: look(35).at, ..receipt(2, 700).late().absent() }.against(1);
    let mut hasty = closed(Expired, 0);
    hasty.policy.anomaly_confirmations = 0;
    let receipts = [older, newer];
    assert_eq!(changes(&hasty, &receipts, &[]), [raise(LatePayment, Some(2), 700, &[2])]);
    for resolution in [Open, DismissedBySystem] {
        let known = [anomaly(LatePayment, Some(1), 700, resolution)];
        assert_eq!(
            changes(&closed(Expired, 0), &receipts, &known),
            [],
            "displaced: {resolution:?}"
        );
    }
}

#[test]
fn a_decided_anomaly_only_warns_when_its_basis_changes() {
    for resolution in [Refunding, Refunded, Accepted, DismissedByStaff] {
        let known = [anomaly(LatePayment, Some(1), 700, resolution)];
        let lost = [receipt(1, 700).late().spent_in_chain()];
        let advanced = advance(&closed(Expired, 0), &lost, &known, &look(40));
        assert_eq!(advanced.anomalies, []);
        assert_eq!(advanced.warnings, [Warning::DecidedAnomalyChanged { id: ID }]);
        let still = [Receipt { gone: true, ..lost[0].clone() }];
        assert_eq!(
            advance(&closed(Expired, 0), &still, &known, &look(40)).warnings,
            [],
            "the warning is repeated"
        );
        let back = [Receipt { gone: true, ..receipt(1, 700).late().confirmed(2) }];
        let warnings = advance(&closed(Expired, 0), &back, &known, &look(40)).warnings;
        assert_eq!(warnings, [Warning::DecidedAnomalyRestored { id: ID }]);
    }
}

#[test]
fn a_surplus_below_the_dust_limit_is_no_anomaly() {
    let paid = |paid_sats| [receipt(1, paid_sats).counted(paid_sats).confirmed(2)];
    for surplus_sats in [1, DUST - 1] {
        let paid_sats = AMOUNT + surplus_sats;
        for before in [
            closed(Confirmed, paid_sats),
            closed(Unconfirmed, paid_sats),
            invalidating(Unconfirmed, paid_sats),
        ] {
            let advanced = advance(&before, &paid(paid_sats), &[], &look(40));
            assert_eq!((advanced.state, advanced.anomalies), (Confirmed, vec![]), "{surplus_sats}");
            assert_eq!(advanced.paid_sats, paid_sats);
        }
    }
    let told = [raise(AnomalyKind::Overpayment, None, DUST, &[1])];
    assert_eq!(changes(&closed(Confirmed, AMOUNT + DUST), &paid(AMOUNT + DUST), &[]), told);
    let known = [anomaly(AnomalyKind::Overpayment, None, DUST, Open)];
    let found = changes(&closed(Confirmed, AMOUNT + DUST), &paid(AMOUNT + DUST - 1), &known);
    assert!(matches!(found[..], [AnomalyChange::Dismiss { id: ID, .. }]), "{found:?}");
}

#[test]
fn coins_that_cannot_be_sent_back_are_no_anomaly() {
    let late = |sats| [receipt(1, sats).late().confirmed(2)];
    let rest = |sats| [receipt(1, AMOUNT + sats).counted(AMOUNT).confirmed(2)];
    for state in [Expired, Confirmed] {
        let (before, kind) = match state {
            Expired => (closed(Expired, 0), LatePayment),
            _ => (closed(Confirmed, AMOUNT), ExtraPayment),
        };
        let coins = |sats| if state == Expired { late(sats) } else { rest(sats) };
        assert_eq!(changes(&before, &coins(DUST - 1), &[]), [], "{state}");
        assert_eq!(
            changes(&before, &coins(DUST), &[]),
            [raise(kind, Some(1), DUST, &[1])],
            "{state}"
        );
        let open = [anomaly(kind, Some(1), DUST, Open)];
        let found = changes(&before, &coins(DUST - 1), &open);
        assert!(
            matches!(found[..], [AnomalyChange::Dismiss { reason, .. }] if reason.contains("too little"))
        );
    }
}

#[test]
fn the_dust_that_the_page_asks_for_is_no_overpayment() {
    let asked_sats = Payment { paid_sats: AMOUNT - 100, ..payment(Underpaid) }.asked_sats();
    assert_eq!(asked_sats, DUST);
    let receipts = [
        receipt(1, AMOUNT - 100).counted(AMOUNT - 100).confirmed(2),
        receipt(2, asked_sats).counted(asked_sats).confirmed(2),
    ];
    assert_eq!(changes(&closed(Confirmed, AMOUNT + 194), &receipts, &[]), []);
}

#[test]
fn a_surplus_is_raised_once_all_counted_coins_are_confirmed() {
    let parts = |confirmations| {
        [
            receipt(1, 60_000).counted(60_000).confirmed(9),
            receipt(2, 50_000).counted(50_000).confirmed(confirmations),
        ]
    };
    let before = closed(Confirmed, 110_000);
    assert_eq!(changes(&before, &parts(1), &[]), []);
    assert_eq!(
        changes(&before, &parts(2), &[]),
        [raise(AnomalyKind::Overpayment, None, 10_000, &[1, 2])]
    );
    assert_eq!(changes(&closed(Unconfirmed, 110_000), &parts(0), &[]), [], "not before CONFIRMED");
    let told = [anomaly(AnomalyKind::Overpayment, None, 5_000, Open)];
    let followed = AnomalyChange::Follow { id: ID, coins: coins(10_000, &[1, 2]), notify: true };
    assert_eq!(changes(&before, &parts(2), &told), [followed]);
}

#[test]
fn an_open_anomaly_follows_silently_if_the_sum_stays() {
    let replaced = receipt(1, 60_000).counted(60_000).spent_in_chain();
    let instead = receipt(2, 60_000).counted(0).against(1).confirmed(1);
    let receipts = [replaced, instead];
    let found =
        changes(&closed(Invalid, 60_000), &receipts, &[anomaly(Underpayment, None, 60_000, Open)]);
    assert_eq!(
        found,
        [AnomalyChange::Follow { id: ID, coins: coins(60_000, &[2]), notify: false }]
    );
    for resolution in [Refunding, Refunded, Accepted, DismissedByStaff] {
        let advanced = advance(
            &closed(Invalid, 60_000),
            &receipts,
            &[anomaly(Underpayment, None, 60_000, resolution)],
            &look(40),
        );
        assert_eq!(advanced.anomalies, [], "{resolution:?}");
        assert_eq!(
            advanced.warnings,
            [Warning::DecidedAnomalyChanged { id: ID }],
            "{resolution:?}"
        );
    }
}

#[test]
fn under_invalidate_all_counted_coins_are_the_surplus() {
    let much = |confirmations| [receipt(1, 150_000).counted(150_000).confirmed(confirmations)];
    let told = raise(AnomalyKind::Overpayment, None, 150_000, &[1]);
    let advanced = advance(&invalidating(Unconfirmed, 150_000), &much(2), &[], &look(40));
    assert_eq!((advanced.state, advanced.anomalies), (Invalid, vec![told.clone()]));
    assert_eq!(changes(&invalidating(Invalid, 150_000), &much(1), &[]), []);
    assert_eq!(changes(&invalidating(Invalid, 150_000), &much(2), &[]), from_ref(&told));
    let mut deep = invalidating(Invalid, 150_000);
    deep.policy.confirmations = 6;
    assert_eq!(
        changes(&deep, &much(2), &[]),
        [told],
        "the required confirmations of the payment do not matter"
    );
    let expired = Payment { state: Expired, ..deep };
    assert_eq!(changes(&expired, &much(2), &[]), [], "an EXPIRED payment is not overpaid");
}

#[test]
fn an_underpayment_holds_all_counted_coins_until_enough() {
    let part = |confirmations| receipt(1, 60_000).counted(60_000).confirmed(confirmations);
    let told = || raise(Underpayment, None, 60_000, &[1]);
    for state in [Expired, Invalid] {
        assert_eq!(changes(&closed(state, 60_000), &[part(1)], &[]), []);
        assert_eq!(changes(&closed(state, 60_000), &[part(2)], &[]), [told()]);
    }
    let open = [anomaly(Underpayment, None, 60_000, Open)];
    let lost = changes(&closed(Invalid, 60_000), &[part(2).spent_in_chain()], &open);
    assert!(matches!(lost[..], [AnomalyChange::Dismiss { id: ID, .. }]));
    let back = receipt(2, 40_000).counted(40_000).confirmed(1);
    let advanced = advance(&closed(Invalid, 60_000), &[part(2), back], &open, &look(40));
    assert_eq!(advanced.state, Confirmed);
    assert!(matches!(advanced.anomalies[..], [AnomalyChange::Dismiss { id: ID, .. }]));
}

#[test]
fn a_reversal_is_raised_at_once_with_the_lost_coins() {
    let lost = receipt(1, 70_000).counted(70_000).spent_in_chain();
    let left = receipt(2, 40_000).counted(40_000).confirmed(1);
    let receipts = [lost.clone(), left.clone()];
    let advanced = advance(&closed(Confirmed, 110_000), &receipts, &[], &look(40));
    assert_eq!(advanced.anomalies, [raise(ReversedPayment, None, 70_000, &[1])]);

    let known = |resolution| [anomaly(ReversedPayment, None, 70_000, resolution)];
    let gone = [Receipt { gone: true, counted_sats: 0, ..lost.clone() }, left.clone()];
    assert_eq!(
        changes(&closed(Invalid, 40_000), &gone, &known(Open)),
        [],
        "a reversal keeps its coins"
    );
    let back = [receipt(1, 70_000).counted(70_000).confirmed(1), left];
    let found = changes(&closed(Invalid, 40_000), &back, &known(Open));
    assert!(
        matches!(found[..], [AnomalyChange::Dismiss { id: ID, reason }] if reason.contains("confirmed again"))
    );
    let again = changes(&closed(Confirmed, 110_000), &receipts, &known(DismissedBySystem));
    assert_eq!(again, [AnomalyChange::Reopen { id: ID, coins: coins(70_000, &[1]) }]);
    let advanced =
        advance(&closed(Confirmed, 110_000), &receipts, &known(DismissedByStaff), &look(40));
    let as_decided = vec![Warning::DecidedAnomalyRestored { id: ID }];
    assert_eq!(
        (advanced.anomalies, advanced.warnings),
        (vec![], as_decided),
        "the same sum is lost again"
    );
    let advanced =
        advance(&closed(Confirmed, 110_000), &receipts[..1], &known(Accepted), &look(40));
    assert_eq!(advanced.anomalies, []);
}

#[test]
fn an_acceptance_accepts_the_open_anomalies_of_its_coins() {
    let accepting = LookFacts { staff_accepts: true, ..look(40) };
    let late = receipt(1, 60_000).late().confirmed(2);
    for (kind, tx) in [
        (LatePayment, Some(1)),
        (ExtraPayment, Some(1)),
        (Underpayment, None),
        (AnomalyKind::Overpayment, None),
    ] {
        let known = [anomaly(kind, tx, 60_000, Open)];
        let advanced = advance(&closed(Invalid, 0), from_ref(&late), &known, &accepting);
        assert_eq!(advanced.anomalies, [AnomalyChange::Accept { id: ID }], "{kind}");
    }
    let lost = receipt(2, 500).late().spent_in_chain();
    let known = [anomaly(LatePayment, Some(2), 500, Open)];
    let advanced = advance(&closed(Invalid, 0), &[late.clone(), lost], &known, &accepting);
    assert!(
        matches!(advanced.anomalies[..], [AnomalyChange::Dismiss { id: ID, .. }]),
        "gone coins are not accepted"
    );
    let decided = [anomaly(LatePayment, Some(1), 60_000, DismissedByStaff)];
    let advanced = advance(&closed(Invalid, 0), &[late], &decided, &accepting);
    assert_eq!((advanced.anomalies, advanced.warnings), (vec![], vec![]));
}

#[test]
fn an_accepted_overpayment_raises_its_surplus() {
    let accepting = LookFacts { staff_accepts: true, ..look(40) };
    let late = [receipt(1, 150_000).late().confirmed(2)];
    let advanced = advance(&invalidating(Expired, 0), &late, &[], &accepting);
    assert_eq!(advanced.state, Confirmed);
    assert_eq!(advanced.anomalies, [raise(AnomalyKind::Overpayment, None, 50_000, &[1])]);
}
