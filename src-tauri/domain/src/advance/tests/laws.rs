//! Properties that hold after every look of every history.

use std::collections::BTreeSet;

use proptest::prelude::*;
use proptest::test_runner::TestCaseError;

use super::world::{World, histories};
use super::{
    AMOUNT, Advance, AnomalyChange, AnomalyKind, DAY_MS, DUST, LookFacts, PaymentState, RELAYED,
    Receipt, Resolution, advance, apply,
};
use crate::anomaly::Anomaly;
use crate::payment::{Payment, TRANSITIONS, WhyInvalid};

/// The result of a look in a form that does not depend on the order of the receipts.
fn canonical(advanced: &Advance) -> impl PartialEq + std::fmt::Debug + use<> {
    let mut verdicts = advanced.verdicts.clone();
    verdicts.sort_by_key(|verdict| verdict.txid);
    let mut changes: Vec<String> = advanced.anomalies.iter().cloned().map(sorted).collect();
    changes.sort();
    let times =
        (advanced.closed_at, advanced.confirmed_at, advanced.next_due_at, advanced.next_due_height);
    let told = (advanced.notify, advanced.conflict_seen);
    (advanced.state, advanced.paid_sats, advanced.accepted_sats, told, times, verdicts, changes)
}

fn sorted(mut change: AnomalyChange) -> String {
    match &mut change {
        AnomalyChange::Raise { coins, .. }
        | AnomalyChange::Follow { coins, .. }
        | AnomalyChange::Reopen { coins, .. } => {
            coins.txids.sort();
        }
        AnomalyChange::Dismiss { .. } | AnomalyChange::Accept { .. } => {}
    }
    format!("{change:?}")
}

fn changes_nothing(world: &World, advanced: &Advance) -> bool {
    !advanced.notify && advanced.state == world.payment.state && advanced.anomalies.is_empty()
}

fn check_step(before: &Payment, advanced: &Advance) -> Result<(), TestCaseError> {
    let step = (before.state, advanced.state);
    prop_assert!(step.0 == step.1 || TRANSITIONS.contains(&step), "{} to {}", step.0, step.1);
    if before.state != advanced.state || before.conflict_seen != advanced.conflict_seen {
        prop_assert!(advanced.notify);
    }
    if before.closed_at.is_some() {
        prop_assert_eq!(
            advanced.closed_at,
            before.closed_at,
            "a later look changed the time of the closing look"
        );
        prop_assert!(!matches!(step.1, PaymentState::New | PaymentState::Underpaid));
    }
    if before.confirmed_at.is_some() {
        prop_assert_eq!(advanced.confirmed_at, before.confirmed_at);
    }
    prop_assert_eq!(
        advanced.paid_sats,
        advanced.verdicts.iter().map(|verdict| verdict.counted_sats).sum::<u64>()
    );
    Ok(())
}

/// Interface, section 3: each satoshi that is not gone counts, or is in exactly one LATE or EXTRA
/// anomaly. No anomaly tells of less than the dust limit.
fn check_every_satoshi(
    payment: &Payment,
    receipts: &[Receipt],
    anomalies: &[Anomaly],
    look: &LookFacts,
) -> Result<(), TestCaseError> {
    let keys: BTreeSet<_> = anomalies
        .iter()
        .map(|anomaly| {
            (
                if anomaly.kind.is_per_transaction() { "" } else { anomaly.kind.as_str() },
                anomaly.txid,
            )
        })
        .collect();
    prop_assert_eq!(keys.len(), anomalies.len(), "an anomaly was raised twice");
    if matches!(payment.state, PaymentState::New | PaymentState::Underpaid)
        || payment.accepted_sats.is_some()
    {
        return Ok(());
    }
    for receipt in receipts.iter().filter(|one| !one.gone) {
        if receipt.confirmations(look.tip_height) < payment.policy.anomaly_confirmations {
            continue;
        }
        // Dust could never be sent back, so it is nobody's task.
        let uncounted = Some(receipt.amount_sats - receipt.counted_sats)
            .filter(|sats| *sats >= DUST)
            .unwrap_or(0);
        let held = anomalies.iter().find(|anomaly| anomaly.txid == Some(receipt.txid));
        match held.map(|anomaly| (anomaly.resolution, anomaly.paid_sats)) {
            None => prop_assert_eq!(uncounted, 0, "uncounted coins are in no anomaly"),
            Some((Resolution::Open, told)) => prop_assert_eq!(uncounted, told),
            Some((Resolution::DismissedBySystem, _)) => prop_assert_eq!(uncounted, 0),
            Some(_) => {}
        }
    }
    Ok(())
}

/// An OPEN anomaly of the counted coins names exactly their transactions.
fn check_transactions(receipts: &[Receipt], anomalies: &[Anomaly]) -> Result<(), TestCaseError> {
    let counting: BTreeSet<_> =
        receipts.iter().filter(|one| one.counted_sats > 0).map(|one| one.txid).collect();
    let of_what_counts = |anomaly: &&Anomaly| {
        matches!(anomaly.kind, AnomalyKind::Overpayment | AnomalyKind::Underpayment)
            && anomaly.resolution == Resolution::Open
    };
    for anomaly in anomalies.iter().filter(of_what_counts) {
        prop_assert_eq!(anomaly.txids.iter().copied().collect::<BTreeSet<_>>(), counting.clone());
    }
    Ok(())
}

fn check_conflicts(receipts: &[Receipt]) -> Result<(), TestCaseError> {
    for one in receipts.iter().filter(|one| one.counted_sats > 0) {
        let rival = receipts
            .iter()
            .find(|other| other.counted_sats > 0 && one.conflicts_with.contains(&other.txid));
        prop_assert!(rival.is_none(), "two conflicting receipts count");
    }
    Ok(())
}

/// Interface, section 2: a payment becomes CONFIRMED by unconfirmed coins only if the node hears of
/// conflicts, and the fee is not below its estimate.
fn check_final(world: &World, advanced: &Advance, look: &LookFacts) -> Result<(), TestCaseError> {
    let verdicts = advanced.verdicts.iter().zip(&world.receipts);
    let confirmed = verdicts.filter(|(_, receipt)| receipt.confirmations(look.tip_height) > 0);
    let confirmed_sats: u64 = confirmed.map(|(verdict, _)| verdict.counted_sats).sum();
    let wanted = Payment { accepted_sats: advanced.accepted_sats, ..world.payment.clone() };
    let by_blocks = confirmed_sats > 0 && confirmed_sats >= wanted.enough_sats();
    let hears = !world.is_cut_off && world.estimate.is_some_and(|estimate| estimate <= RELAYED);
    prop_assert!(by_blocks || hears, "{confirmed_sats} satoshis are confirmed");
    Ok(())
}

/// Interface, section 3: a surplus below the dust limit is no anomaly and invalidates nothing. A
/// larger one is told.
fn check_surplus(
    payment: &Payment,
    receipts: &[Receipt],
    anomalies: &[Anomaly],
    look: &LookFacts,
) -> Result<(), TestCaseError> {
    let deep =
        |one: &Receipt| one.confirmations(look.tip_height) >= payment.policy.anomaly_confirmations;
    let surplus = anomalies.iter().find(|anomaly| anomaly.kind == AnomalyKind::Overpayment);
    if payment.paid_sats < AMOUNT + DUST {
        prop_assert!(
            surplus.is_none_or(|anomaly| anomaly.resolution != Resolution::Open),
            "{surplus:?}"
        );
        prop_assert!(payment.why_invalid() != Some(WhyInvalid::Overpaid));
    } else if payment.state == PaymentState::Confirmed && receipts.iter().all(deep) {
        prop_assert!(
            surplus.is_some_and(|anomaly| anomaly.resolution != Resolution::DismissedBySystem),
            "{surplus:?}"
        );
    }
    Ok(())
}

/// Interface, section 2: a conflict is seen exactly while transactions in the mempool take back
/// coins on which the CONFIRMED payment rests. Of conflicts that share a transaction only the sums
/// are compared.
fn check_conflict_seen(world: &World) -> Result<(), TestCaseError> {
    let attacks = world.attacks();
    let is_confirmed = world.payment.state == PaymentState::Confirmed;
    let pays = |by: &[(usize, u64)]| by.iter().map(|(_, sats)| *sats).sum::<u64>();
    let all: BTreeSet<(usize, u64)> =
        attacks.iter().flat_map(|(_, by)| by.iter().copied()).collect();
    let counted_sats: u64 = attacks.iter().map(|(sats, _)| *sats).sum();
    let loses_one = attacks.iter().any(|(sats, by)| pays(by) < *sats);
    let is_loss = loses_one || all.iter().map(|(_, sats)| *sats).sum::<u64>() < counted_sats;
    let is_shared = all.len() < attacks.iter().map(|(_, by)| by.len()).sum();
    if !is_confirmed || is_loss || !is_shared {
        prop_assert_eq!(world.payment.conflict_seen, is_confirmed && is_loss, "{:?}", attacks);
    }
    Ok(())
}

/// If the chain stays as it is, no state changes before the due time and the due height that the
/// look named.
fn check_due(world: &World, advanced: &Advance, look: &LookFacts) -> Result<(), TestCaseError> {
    if !look.time_decides {
        // The payment stays due.
        return Ok(());
    }
    let again = |look: LookFacts| advance(&world.payment, &world.receipts, &world.anomalies, &look);
    prop_assert!(advanced.next_due_at.is_none_or(|due| due > look.at));
    prop_assert!(advanced.next_due_height.is_none_or(|due| due > look.tip_height));
    let at = advanced.next_due_at.map_or(look.at.plus_ms(100 * DAY_MS), |due| due.plus_ms(-1));
    prop_assert!(
        changes_nothing(world, &again(LookFacts { at, ..*look })),
        "time alone changed the payment by {at:?}"
    );
    let tip_height = advanced.next_due_height.map_or(look.tip_height + 1_000, |due| due - 1);
    prop_assert!(
        changes_nothing(world, &again(LookFacts { tip_height, ..*look })),
        "blocks alone changed the payment by {tip_height}"
    );
    Ok(())
}

fn check_look(world: &mut World) -> Result<(), TestCaseError> {
    let look = world.look();
    let before = world.payment.clone();
    let advanced = advance(&before, &world.receipts, &world.anomalies, &look);
    check_step(&before, &advanced)?;
    if world.is_cut_off
        && before.closed_at.is_none()
        && look.at <= before.expires_at.plus_ms(DAY_MS)
    {
        prop_assert_eq!(advanced.closed_at, None, "a node without connections closed the payment");
    }

    if before.state != PaymentState::Confirmed && advanced.state == PaymentState::Confirmed {
        check_final(world, &advanced, &look)?;
    }

    let reversed: Vec<Receipt> = world.receipts.iter().rev().cloned().collect();
    let other = advance(&before, &reversed, &world.anomalies, &look);
    prop_assert_eq!(canonical(&advanced), canonical(&other), "the order of receipts matters");

    apply(&advanced, &mut world.payment, &mut world.receipts, &mut world.anomalies);
    check_every_satoshi(&world.payment, &world.receipts, &world.anomalies, &look)?;
    check_conflicts(&world.receipts)?;
    check_transactions(&world.receipts, &world.anomalies)?;
    check_surplus(&world.payment, &world.receipts, &world.anomalies, &look)?;
    check_conflict_seen(world)?;

    let same = LookFacts { staff_accepts: false, ..look };
    let again = advance(&world.payment, &world.receipts, &world.anomalies, &same);
    if before.state == PaymentState::Confirmed && advanced.state == PaymentState::Invalid {
        // The mempool did not count while the payment was CONFIRMED. It counts again from the next
        // look on, and the state stays INVALID.
        prop_assert_eq!(again.state, PaymentState::Invalid);
        prop_assert_eq!(advanced.next_due_at, Some(look.at), "the payment is not due at once");
        return Ok(());
    }
    prop_assert!(changes_nothing(world, &again), "a repeated look changed the payment: {again:?}");
    prop_assert_eq!(&again.verdicts, &advanced.verdicts);
    check_due(world, &advanced, &same)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_500))]

    #[test]
    fn every_look_of_every_history_keeps_the_laws((mut world, events) in histories(), blind in any::<u64>()) {
        check_look(&mut world)?;
        for (index, event) in events.iter().enumerate() {
            world.happen(event);
            // Some events have no look after them.
            if blind >> (index % 64) & 3 != 3 {
                check_look(&mut world)?;
            }
        }
        check_look(&mut world)?;
    }
}
