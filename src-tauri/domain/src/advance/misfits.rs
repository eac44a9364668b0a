//! The changes of a payment's anomalies at a look (interface, section 3). An anomaly is raised
//! once, updated while OPEN, and dismissed when its reason is gone. After a decision of staff it
//! never changes by itself.

use std::collections::{HashMap, HashSet};

use bitcoin::Txid;

use super::counting::{self, Evaluated};
use super::state::{is_enough, is_fall, is_invalidated_by};
use super::warning::Warning;
use crate::anomaly::{Anomaly, AnomalyChange, AnomalyKind, Coins, Resolution};
use crate::payment::{Payment, PaymentState};

const COINS_GONE: &str =
    "The coins are gone: other transactions spent them, or they were not seen for 14 days.";
const COINS_COUNT: &str = "The coins count towards the payment after all.";
const BELOW_DUST: &str = "What does not count of these coins is too little to send back.";
const NOT_OVERPAID: &str = "The payment is not overpaid any more.";
const NOTHING_COUNTS: &str = "Nothing counts towards the payment any more.";
const NOT_UNDERPAID: &str = "The payment is not underpaid any more.";
const CONFIRMED_AGAIN: &str = "The payment is confirmed again.";

/// The kinds that exist once for each payment and follow the counted coins.
const FOLLOWING: [AnomalyKind; 2] = [AnomalyKind::Overpayment, AnomalyKind::Underpayment];

/// A payment before and after a look, and the findings of the look.
struct Scene<'a> {
    before: &'a Payment,
    after: &'a Payment,
    evaluated: &'a [Evaluated<'a>],
    indexes: HashMap<Txid, usize>,
    accepted_now: bool,
}

/// The coins of an anomaly, before and after the look. With 0 satoshis the anomaly is dismissed.
struct Basis {
    before: Coins,
    now: Coins,
    /// The reason for a dismissal.
    reason: &'static str,
}

/// The changes of anomalies, the existing ones first, and warnings of decided anomalies whose coins
/// changed.
pub(super) fn changes(
    before: &Payment,
    after: &Payment,
    evaluated: &[Evaluated<'_>],
    anomalies: &[Anomaly],
    accepted_now: bool,
) -> (Vec<AnomalyChange>, Vec<Warning>) {
    let indexes =
        evaluated.iter().enumerate().map(|(index, one)| (one.receipt.txid, index)).collect();
    let scene = Scene { before, after, evaluated, indexes, accepted_now };
    let mut changes = Vec::new();
    let mut warnings = Vec::new();
    for anomaly in anomalies {
        if scene.accepts(anomaly) {
            changes.push(AnomalyChange::Accept { id: anomaly.id });
            continue;
        }
        let Some(basis) = scene.basis(anomaly) else { continue };
        changes.extend(follow(anomaly, &basis));
        // An acceptance of staff changes the coins of decided anomalies without a warning.
        let has_changed = basis.now != basis.before && !accepted_now;
        if anomaly.resolution.is_decided_by_people() && has_changed {
            let id = anomaly.id;
            let rests = anomaly.rests_on(&basis.now);
            warnings.push(if rests {
                Warning::DecidedAnomalyRestored { id }
            } else {
                Warning::DecidedAnomalyChanged { id }
            });
        }
    }
    changes.extend(scene.raised(anomalies));
    (changes, warnings)
}

/// The change of an existing anomaly.
fn follow(anomaly: &Anomaly, basis: &Basis) -> Option<AnomalyChange> {
    let (id, coins) = (anomaly.id, &basis.now);
    match anomaly.resolution {
        Resolution::Open if coins.paid_sats == 0 => {
            Some(AnomalyChange::Dismiss { id, reason: basis.reason })
        }
        Resolution::Open if !anomaly.rests_on(coins) => Some(AnomalyChange::Follow {
            id,
            coins: coins.clone(),
            notify: coins.paid_sats != anomaly.paid_sats,
        }),
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
    fn find(&self, txid: Txid) -> Option<&Evaluated<'_>> {
        self.indexes.get(&txid).map(|&index| &self.evaluated[index])
    }

    /// Whether staff's acceptance takes the coins of an OPEN anomaly. A reversal holds no coins.
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

    /// The coins of an existing anomaly; `None` if this look does not change them.
    fn basis(&self, anomaly: &Anomaly) -> Option<Basis> {
        match anomaly.kind {
            AnomalyKind::LatePayment | AnomalyKind::ExtraPayment => {
                self.basis_of_transaction(anomaly.txid?)
            }
            AnomalyKind::Overpayment | AnomalyKind::Underpayment => {
                Some(self.basis_of_payment(anomaly.kind))
            }
            AnomalyKind::ReversedPayment => self.basis_of_reversal(anomaly),
        }
    }

    /// The part of one transaction that does not count. A displaced transaction is neither gone nor
    /// counting; its anomaly stays until the chain or the mempool decides.
    fn basis_of_transaction(&self, txid: Txid) -> Option<Basis> {
        let one = self.find(txid).filter(|one| !one.displaced)?;
        let receipt = one.receipt;
        let before_sats =
            if receipt.gone { 0 } else { receipt.amount_sats.saturating_sub(receipt.counted_sats) };
        let reason = match one.receipt.amount_sats.saturating_sub(one.counted_sats) {
            _ if one.gone => COINS_GONE,
            0 => COINS_COUNT,
            _ => BELOW_DUST,
        };
        Some(Basis {
            before: coins(self.refundable(before_sats), [txid]),
            now: self.uncounted(one),
            reason,
        })
    }

    /// The part of the counted coins that makes an OVERPAYMENT or UNDERPAYMENT.
    fn basis_of_payment(&self, kind: AnomalyKind) -> Basis {
        let largest_before = self.evaluated.iter().map(|one| one.receipt.counted_sats).max();
        let largest_now = self.evaluated.iter().map(|one| one.counted_sats).max();
        let counted_before = self.evaluated.iter().filter(|one| one.receipt.counted_sats > 0);
        let counting = self.evaluated.iter().filter(|one| one.counted_sats > 0);
        let reason = match kind {
            AnomalyKind::Underpayment if self.after.paid_sats == 0 => NOTHING_COUNTS,
            AnomalyKind::Underpayment => NOT_UNDERPAID,
            AnomalyKind::LatePayment
            | AnomalyKind::ExtraPayment
            | AnomalyKind::Overpayment
            | AnomalyKind::ReversedPayment => NOT_OVERPAID,
        };
        Basis {
            before: coins(
                misfit_sats(kind, self.before, largest_before.unwrap_or(0)),
                counted_before.map(|one| one.receipt.txid),
            ),
            now: coins(
                misfit_sats(kind, self.after, largest_now.unwrap_or(0)),
                counting.map(|one| one.receipt.txid),
            ),
            reason,
        }
    }

    /// The coins of a reversal. They are set whenever the payment stops being CONFIRMED, and are 0
    /// once it is CONFIRMED again.
    fn basis_of_reversal(&self, anomaly: &Anomaly) -> Option<Basis> {
        let (nothing, reason) = (coins(0, []), CONFIRMED_AGAIN);
        if is_fall(self.before, self.after) {
            return Some(Basis { before: nothing, now: self.reversed(), reason });
        }
        let known = || coins(anomaly.paid_sats, anomaly.txids.iter().copied());
        let before =
            if self.before.state == PaymentState::Confirmed { nothing.clone() } else { known() };
        (self.after.state == PaymentState::Confirmed).then_some(Basis {
            before,
            now: nothing,
            reason,
        })
    }

    /// The coins that counted before the look and are gone after it.
    fn reversed(&self) -> Coins {
        let lost: Vec<_> =
            self.evaluated.iter().filter(|one| one.receipt.counted_sats > 0 && one.gone).collect();
        coins(
            counting::sum(lost.iter().map(|one| one.receipt.counted_sats)),
            lost.iter().map(|one| one.receipt.txid),
        )
    }

    /// The anomalies that have no record yet.
    fn raised(&self, anomalies: &[Anomaly]) -> Vec<AnomalyChange> {
        let mut raised = self.raised_per_transaction(anomalies);
        let deep =
            |one: &Evaluated<'_>| one.confirmations >= self.after.policy.anomaly_confirmations;
        let is_settled = self.evaluated.iter().filter(|one| one.counted_sats > 0).all(deep);
        for kind in FOLLOWING.into_iter().filter(|kind| is_settled && is_new(anomalies, *kind)) {
            let coins = self.basis_of_payment(kind).now;
            if coins.paid_sats > 0 {
                raised.push(AnomalyChange::Raise { kind, txid: None, coins });
            }
        }
        if is_fall(self.before, self.after) && is_new(anomalies, AnomalyKind::ReversedPayment) {
            let kind = AnomalyKind::ReversedPayment;
            raised.push(AnomalyChange::Raise { kind, txid: None, coins: self.reversed() });
        }
        raised
    }

    /// The part of a transaction that is not gone and does not count, if it can be sent back.
    fn uncounted(&self, one: &Evaluated<'_>) -> Coins {
        let paid_sats =
            if one.gone { 0 } else { one.receipt.amount_sats.saturating_sub(one.counted_sats) };
        coins(self.refundable(paid_sats), [one.receipt.txid])
    }

    /// A sum, or 0 if it is below the dust limit: no transaction could send it back.
    fn refundable(&self, sats: u64) -> u64 {
        if sats < self.after.dust_limit_sats { 0 } else { sats }
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
        // After an acceptance, the part of refunded coins that does not count was sent back.
        let went_back =
            |one: &Evaluated<'_>| self.after.accepted_sats.is_some() && one.receipt.refunded;
        let deep =
            |one: &Evaluated<'_>| one.confirmations >= self.after.policy.anomaly_confirmations;
        let misfits = self.evaluated.iter().filter(|one| {
            deep(one) && !one.displaced && !went_back(one) && !known.contains(&one.receipt.txid)
        });
        misfits
            .map(|one| (one.receipt.txid, self.uncounted(one)))
            .filter(|(_, coins)| coins.paid_sats > 0)
            .map(|(txid, coins)| AnomalyChange::Raise { kind, txid: Some(txid), coins })
            .collect()
    }
}

fn is_new(anomalies: &[Anomaly], kind: AnomalyKind) -> bool {
    !anomalies.iter().any(|anomaly| anomaly.kind == kind)
}

/// Coins of these transactions; without transactions if the sum is 0.
fn coins(paid_sats: u64, txids: impl IntoIterator<Item = Txid>) -> Coins {
    Coins {
        paid_sats,
        txids: if paid_sats == 0 { Vec::new() } else { txids.into_iter().collect() },
    }
}

/// The sum for OVERPAYMENT or UNDERPAYMENT of a payment whose largest transaction counts for
/// `largest_sats`.
fn misfit_sats(kind: AnomalyKind, payment: &Payment, largest_sats: u64) -> u64 {
    let paid = payment.paid_sats;
    match (kind, payment.state) {
        (AnomalyKind::Overpayment, PaymentState::Confirmed) => payment.surplus_sats(),
        (AnomalyKind::Overpayment, PaymentState::Invalid)
            if is_invalidated_by(payment, largest_sats) =>
        {
            paid
        }
        (AnomalyKind::Underpayment, PaymentState::Expired | PaymentState::Invalid)
            if !is_enough(payment, paid) =>
        {
            paid
        }
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
