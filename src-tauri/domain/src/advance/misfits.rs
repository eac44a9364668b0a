//! What a look makes of a payment's anomalies (interface, section 3): raised once, followed while OPEN,
//! set aside when their ground is gone, left alone once people decided.

use std::collections::{HashMap, HashSet};

use bitcoin::Txid;

use super::Warning;
use super::counting::{self, Judged};
use super::state::is_enough;
use crate::anomaly::{Anomaly, AnomalyChange, AnomalyKind, Coins, Resolution};
use crate::payment::{Payment, PaymentState};
use crate::policy::Overpayment;

const COINS_GONE: &str = "The coins are gone: other transactions spent them, or they were not seen for 14 days.";
const COINS_COUNT: &str = "The coins count towards the payment after all.";
const NOT_OVERPAID: &str = "The payment is not overpaid any more.";
const NOTHING_COUNTS: &str = "Nothing counts towards the payment any more.";
const NOT_UNDERPAID: &str = "The payment is not underpaid any more.";
const CONFIRMED_AGAIN: &str = "The payment is confirmed again.";

/// The kinds that exist once for each payment and follow what counts.
const FOLLOWING: [AnomalyKind; 2] = [AnomalyKind::Overpayment, AnomalyKind::Underpayment];

/// A payment before and after a look, and what the look found.
struct Scene<'a> {
    before: &'a Payment,
    after: &'a Payment,
    judged: &'a [Judged<'a>],
    places: HashMap<Txid, usize>,
    accepted_now: bool,
    is_overpaid_invalid: bool,
}

/// What there is for an anomaly to be about. 0 satoshis: its ground is gone.
struct Ground {
    before_sats: u64,
    now: Coins,
    /// Why there is nothing now.
    reason: &'static str,
}

/// The changes of the anomalies, those that exist first, and warnings of decided ones whose ground changed.
pub(super) fn changes(
    before: &Payment,
    after: &Payment,
    judged: &[Judged<'_>],
    anomalies: &[Anomaly],
    accepted_now: bool,
    is_overpaid_invalid: bool,
) -> (Vec<AnomalyChange>, Vec<Warning>) {
    let places = judged.iter().enumerate().map(|(place, one)| (one.receipt.txid, place)).collect();
    let scene = Scene { before, after, judged, places, accepted_now, is_overpaid_invalid };
    let mut changes = Vec::new();
    let mut warnings = Vec::new();
    for anomaly in anomalies {
        if scene.accepts(anomaly) {
            changes.push(AnomalyChange::Accept { id: anomaly.id });
            continue;
        }
        let Some(ground) = scene.ground(anomaly) else { continue };
        changes.extend(follow(anomaly, &ground));
        // What staff's own acceptance changes needs no warning to staff.
        let has_changed = ground.now.paid_sats != ground.before_sats && ground.now.paid_sats != anomaly.paid_sats;
        if anomaly.resolution.is_decided_by_people() && has_changed && !accepted_now {
            warnings.push(Warning::DecidedAnomalyChanged { id: anomaly.id });
        }
    }
    changes.extend(scene.raised(anomalies));
    (changes, warnings)
}

/// What becomes of an anomaly that exists.
fn follow(anomaly: &Anomaly, ground: &Ground) -> Option<AnomalyChange> {
    let (id, coins) = (anomaly.id, &ground.now);
    match anomaly.resolution {
        Resolution::Open if coins.paid_sats == 0 => Some(AnomalyChange::Dismiss { id, reason: ground.reason }),
        Resolution::Open if coins.paid_sats != anomaly.paid_sats => {
            Some(AnomalyChange::Follow { id, coins: coins.clone() })
        }
        Resolution::DismissedBySystem if coins.paid_sats > 0 => {
            Some(AnomalyChange::Reopen { id, coins: coins.clone() })
        }
        Resolution::Open
        | Resolution::DismissedBySystem
        | Resolution::Refunding
        | Resolution::Refunded
        | Resolution::Accepted
        | Resolution::DismissedByStaff => None,
    }
}

impl Scene<'_> {
    fn find(&self, txid: Txid) -> Option<&Judged<'_>> {
        self.places.get(&txid).map(|&place| &self.judged[place])
    }

    /// Whether staff's acceptance takes the coins that an OPEN anomaly holds. A reversal holds none.
    fn accepts(&self, anomaly: &Anomaly) -> bool {
        if !self.accepted_now || anomaly.resolution != Resolution::Open {
            return false;
        }
        match anomaly.kind {
            AnomalyKind::LatePayment | AnomalyKind::ExtraPayment => {
                let held = anomaly.txid.and_then(|txid| self.find(txid));
                held.is_some_and(|one| !one.gone && one.eligible_sats > 0)
            }
            AnomalyKind::Overpayment | AnomalyKind::Underpayment => true,
            AnomalyKind::ReversedPayment => false,
        }
    }

    /// The ground of an anomaly that exists; `None` where this look says nothing about it.
    fn ground(&self, anomaly: &Anomaly) -> Option<Ground> {
        match anomaly.kind {
            AnomalyKind::LatePayment | AnomalyKind::ExtraPayment => self.ground_in(anomaly.txid?),
            AnomalyKind::Overpayment | AnomalyKind::Underpayment => Some(self.ground_of(anomaly.kind)),
            AnomalyKind::ReversedPayment => self.ground_of_reversal(anomaly),
        }
    }

    /// The part of one transaction that does not count. A displaced one is neither gone nor counting: nothing is
    /// said about it until the chain or the mempool decides.
    fn ground_in(&self, txid: Txid) -> Option<Ground> {
        let one = self.find(txid).filter(|one| !one.displaced)?;
        let receipt = one.receipt;
        let before_sats = if receipt.gone { 0 } else { receipt.amount_sats.saturating_sub(receipt.counted_sats) };
        let reason = if one.gone { COINS_GONE } else { COINS_COUNT };
        Some(Ground { before_sats, now: uncounted(one), reason })
    }

    /// What OVERPAYMENT and UNDERPAYMENT tell of, which is a part of what counts.
    fn ground_of(&self, kind: AnomalyKind) -> Ground {
        let largest_before = self.judged.iter().map(|one| one.receipt.counted_sats).max();
        let largest_now = self.judged.iter().map(|one| one.counted_sats).max();
        let counting = self.judged.iter().filter(|one| one.counted_sats > 0);
        let reason = match kind {
            AnomalyKind::Underpayment if self.after.paid_sats == 0 => NOTHING_COUNTS,
            AnomalyKind::Underpayment => NOT_UNDERPAID,
            AnomalyKind::LatePayment
            | AnomalyKind::ExtraPayment
            | AnomalyKind::Overpayment
            | AnomalyKind::ReversedPayment => NOT_OVERPAID,
        };
        Ground {
            before_sats: misfit_sats(kind, self.before, largest_before.unwrap_or(0)),
            now: Coins {
                paid_sats: misfit_sats(kind, self.after, largest_now.unwrap_or(0)),
                txids: counting.map(|one| one.receipt.txid).collect(),
            },
            reason,
        }
    }

    /// A reversal's coins are fixed at each fall; its ground is gone when the payment is CONFIRMED again.
    fn ground_of_reversal(&self, anomaly: &Anomaly) -> Option<Ground> {
        if self.is_fall() {
            return Some(Ground { before_sats: 0, now: self.reversed(), reason: CONFIRMED_AGAIN });
        }
        let is_back = self.after.state == PaymentState::Confirmed;
        let before_sats = if self.before.state == PaymentState::Confirmed { 0 } else { anomaly.paid_sats };
        is_back.then(|| Ground { before_sats, now: Coins { paid_sats: 0, txids: Vec::new() }, reason: CONFIRMED_AGAIN })
    }

    fn is_fall(&self) -> bool {
        self.before.state == PaymentState::Confirmed && self.after.state == PaymentState::Invalid
    }

    /// What counted before the look and is gone after it.
    fn reversed(&self) -> Coins {
        let lost: Vec<_> = self.judged.iter().filter(|one| one.receipt.counted_sats > 0 && one.gone).collect();
        Coins {
            paid_sats: counting::sum(lost.iter().map(|one| one.receipt.counted_sats)),
            txids: lost.iter().map(|one| one.receipt.txid).collect(),
        }
    }

    /// New anomalies, of which there is no record yet.
    fn raised(&self, anomalies: &[Anomaly]) -> Vec<AnomalyChange> {
        let mut raised = self.raised_per_transaction(anomalies);
        let deep = |one: &Judged<'_>| one.confirmations >= self.after.policy.anomaly_confirmations;
        let is_settled = self.judged.iter().filter(|one| one.counted_sats > 0).all(deep);
        for kind in FOLLOWING.into_iter().filter(|kind| is_settled && is_new(anomalies, *kind)) {
            let coins = self.ground_of(kind).now;
            let is_due = match kind {
                AnomalyKind::Overpayment => self.after.state == PaymentState::Confirmed || self.is_overpaid_invalid,
                AnomalyKind::Underpayment
                | AnomalyKind::LatePayment
                | AnomalyKind::ExtraPayment
                | AnomalyKind::ReversedPayment => true,
            };
            if is_due && coins.paid_sats > 0 {
                raised.push(AnomalyChange::Raise { kind, txid: None, coins });
            }
        }
        if self.is_fall() && is_new(anomalies, AnomalyKind::ReversedPayment) {
            let kind = AnomalyKind::ReversedPayment;
            raised.push(AnomalyChange::Raise { kind, txid: None, coins: self.reversed() });
        }
        raised
    }

    fn raised_per_transaction(&self, anomalies: &[Anomaly]) -> Vec<AnomalyChange> {
        let kind = match self.after.state {
            PaymentState::New | PaymentState::Underpaid => return Vec::new(),
            PaymentState::Unconfirmed | PaymentState::Confirmed => AnomalyKind::ExtraPayment,
            PaymentState::Expired | PaymentState::Invalid => AnomalyKind::LatePayment,
        };
        let known: HashSet<Txid> = anomalies
            .iter()
            .filter(|anomaly| anomaly.kind.is_per_transaction())
            .filter_map(|anomaly| anomaly.txid)
            .collect();
        // After an acceptance, what does not count of refunded coins is what went back.
        let went_back = |one: &Judged<'_>| self.after.accepted_sats.is_some() && one.receipt.refunded;
        let deep = |one: &Judged<'_>| one.confirmations >= self.after.policy.anomaly_confirmations;
        let misfits = self
            .judged
            .iter()
            .filter(|one| deep(one) && !one.displaced && !went_back(one) && !known.contains(&one.receipt.txid));
        misfits
            .map(|one| (one.receipt.txid, uncounted(one)))
            .filter(|(_, coins)| coins.paid_sats > 0)
            .map(|(txid, coins)| AnomalyChange::Raise { kind, txid: Some(txid), coins })
            .collect()
    }
}

fn is_new(anomalies: &[Anomaly], kind: AnomalyKind) -> bool {
    !anomalies.iter().any(|anomaly| anomaly.kind == kind)
}

/// What of a transaction is there and does not count.
fn uncounted(one: &Judged<'_>) -> Coins {
    let paid_sats = if one.gone { 0 } else { one.receipt.amount_sats.saturating_sub(one.counted_sats) };
    Coins { paid_sats, txids: vec![one.receipt.txid] }
}

/// The coins that OVERPAYMENT or UNDERPAYMENT tells of, of a payment whose largest transaction counts for
/// `largest_sats`.
fn misfit_sats(kind: AnomalyKind, payment: &Payment, largest_sats: u64) -> u64 {
    let paid = payment.paid_sats;
    let is_overpaid_alone = payment.policy.overpayment == Overpayment::Invalidate
        && payment.accepted_sats.is_none()
        && largest_sats > payment.amount_sats;
    match (kind, payment.state) {
        (AnomalyKind::Overpayment, PaymentState::Confirmed) => paid.saturating_sub(payment.amount_sats),
        (AnomalyKind::Overpayment, PaymentState::Invalid) if is_overpaid_alone => paid,
        (AnomalyKind::Underpayment, PaymentState::Expired | PaymentState::Invalid) if !is_enough(payment, paid) => paid,
        (
            AnomalyKind::LatePayment
            | AnomalyKind::ExtraPayment
            | AnomalyKind::Overpayment
            | AnomalyKind::Underpayment
            | AnomalyKind::ReversedPayment,
            PaymentState::New
            | PaymentState::Underpaid
            | PaymentState::Unconfirmed
            | PaymentState::Confirmed
            | PaymentState::Expired
            | PaymentState::Invalid,
        ) => 0,
    }
}
