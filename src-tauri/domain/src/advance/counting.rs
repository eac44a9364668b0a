//! Decides which coins count (interface, section 2): whether they are gone, displaced or late. It
//! reads neither the next state nor anomalies, except for refunded coins.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use bitcoin::Txid;

use super::look::LookFacts;
use crate::anomaly::Anomaly;
use crate::payment::{Payment, PaymentState};
use crate::receipt::{Position, Receipt};
use crate::time::Timestamp;

/// A transaction is gone if every look for this long has missed it. Nodes drop transactions from
/// their mempools after the same time.
pub(super) const GONE_AFTER_MS: i64 = 14 * 24 * 3_600_000;

/// A receipt with the judgement of one look.
#[derive(Debug, Clone)]
pub(super) struct Evaluated<'a> {
    /// The facts of this look, and the verdict of the previous look.
    pub receipt: &'a Receipt,
    /// The part that counts while the transaction is not gone, in satoshis.
    pub eligible_sats: u64,
    /// The part that counts, in satoshis; until this look has decided, the part that counted
    /// before.
    pub counted_sats: u64,
    /// The transaction is ruled out, or every look missed it for 14 days.
    pub gone: bool,
    /// Not gone, but a conflicting receipt is preferred: two receipts never count for the same
    /// inputs.
    pub displaced: bool,
    /// A transaction that spends one of its inputs is in the mempool.
    pub conflict_in_mempool: bool,
    /// Confirmations at this look.
    pub confirmations: u32,
    /// Counts as confirmed if the policy requires no confirmation.
    pub acceptable_unconfirmed: bool,
}

impl Evaluated<'_> {
    /// Whether it may count: it is not gone and not displaced.
    fn stands(&self) -> bool {
        !self.gone && !self.displaced
    }

    /// Updates the counted sum; returns whether it changed.
    fn settle(&mut self) -> bool {
        let counted_sats = if self.stands() { self.eligible_sats } else { 0 };
        std::mem::replace(&mut self.counted_sats, counted_sats) != counted_sats
    }
}

pub(super) fn paid_sats(evaluated: &[Evaluated<'_>]) -> u64 {
    sum(evaluated.iter().map(|one| one.counted_sats))
}

/// Sums amounts. All existing coins together are far below `u64::MAX`.
pub(super) fn sum(sats: impl Iterator<Item = u64>) -> u64 {
    sats.fold(0, u64::saturating_add)
}

/// Judges all receipts of a payment, in their order.
pub(super) fn evaluate<'a>(
    payment: &Payment,
    receipts: &'a [Receipt],
    look: &LookFacts,
) -> Vec<Evaluated<'a>> {
    let conflicts = conflicts(receipts);
    let is_confirmed = payment.state == PaymentState::Confirmed;
    let mut evaluated: Vec<Evaluated<'a>> = receipts
        .iter()
        .zip(&conflicts)
        .map(|(receipt, rivals)| {
            let rival_at = |is_at: fn(&Position) -> bool| {
                rivals.iter().any(|&rival| is_at(&receipts[rival].position))
            };
            let in_chain =
                receipt.conflict_in_chain || rival_at(|at| matches!(at, Position::Block { .. }));
            let in_mempool =
                receipt.conflict_in_mempool || rival_at(|at| matches!(at, Position::Mempool));
            Evaluated {
                receipt,
                eligible_sats: receipt
                    .eligible_sats
                    .unwrap_or_else(|| own_verdict(payment, receipt)),
                counted_sats: receipt.counted_sats,
                gone: is_gone(receipt, in_chain, in_mempool, is_confirmed, look),
                displaced: false,
                conflict_in_mempool: in_mempool,
                confirmations: receipt.confirmations(look.tip_height),
                // A node without a mempool of its own still shows what was sent to it.
                acceptable_unconfirmed: receipt.position == Position::Mempool
                    && look.has_mempool
                    && look.zero_conf.accepts(receipt.zero_conf_rate)
                    && look.time_decides
                    && look.at >= quiet_end(payment, receipt),
            }
        })
        .collect();
    let ranking = ranking(receipts, &conflicts, is_confirmed);
    displace(&mut evaluated, &conflicts, &ranking);
    // A receipt that no longer counts may have displaced others, which may count now. The rounds
    // repeat until no sum changes, so that a second look at the same facts changes nothing. Each
    // round settles at least one receipt.
    for _ in 0..=evaluated.len() {
        share(payment, &mut evaluated, &conflicts, &ranking);
        if !settle(&mut evaluated) {
            break;
        }
    }
    evaluated
}

/// Updates all counted sums; returns whether any changed.
fn settle(evaluated: &mut [Evaluated<'_>]) -> bool {
    let mut has_changed = false;
    for one in evaluated {
        has_changed |= one.settle();
    }
    has_changed
}

/// The time from which a transaction can be accepted unconfirmed, because it had no new conflict
/// for long enough.
pub(super) fn quiet_end(payment: &Payment, receipt: &Receipt) -> Timestamp {
    let disturbed_at =
        receipt.last_conflict_at.map_or(receipt.first_seen_at, |at| at.max(receipt.first_seen_at));
    disturbed_at.plus_ms(payment.policy.zero_conf_quiet_ms)
}

/// For each receipt, the indexes of the others that spend one of its inputs; either of the two may
/// have named the conflict.
fn conflicts(receipts: &[Receipt]) -> Vec<BTreeSet<usize>> {
    let indexes: HashMap<Txid, usize> =
        receipts.iter().enumerate().map(|(index, one)| (one.txid, index)).collect();
    let mut conflicts = vec![BTreeSet::new(); receipts.len()];
    for (index, receipt) in receipts.iter().enumerate() {
        for &rival in receipt
            .conflicts_with
            .iter()
            .filter_map(|txid| indexes.get(txid))
            .filter(|&&rival| rival != index)
        {
            conflicts[index].insert(rival);
            conflicts[rival].insert(index);
        }
    }
    conflicts
}

/// The receipts that count and are in no block, but lose to conflicts in the mempool that pay the
/// address less. The amount of a replacement makes up for a counted sum once.
pub(super) fn attacked(evaluated: &[Evaluated<'_>], receipts: &[Receipt]) -> Vec<Txid> {
    let rivals = conflicts(receipts);
    let in_mempool = |receipt: &Receipt| {
        if receipt.position == Position::Mempool { receipt.amount_sats } else { 0 }
    };
    let mut left_sats: BTreeMap<Txid, u64> =
        receipts.iter().map(|one| (one.txid, in_mempool(one))).collect();
    let mut counting: Vec<usize> =
        (0..evaluated.len()).filter(|&index| evaluated[index].counted_sats > 0).collect();
    // The order of the receipts must not matter.
    counting.sort_by_key(|&index| receipts[index].txid);
    let mut attacked = Vec::new();
    for index in counting {
        let one = &evaluated[index];
        if !one.conflict_in_mempool || one.receipt.is_in_block() {
            continue;
        }
        let by: BTreeSet<Txid> = rivals[index].iter().map(|&rival| receipts[rival].txid).collect();
        let mut lost_sats = one.counted_sats;
        for (_, left_sats) in left_sats.iter_mut().filter(|(txid, _)| by.contains(*txid)) {
            let paid_sats = lost_sats.min(*left_sats);
            lost_sats -= paid_sats;
            *left_sats -= paid_sats;
        }
        if lost_sats > 0 {
            attacked.push(one.receipt.txid);
        }
    }
    attacked
}

/// The part of a receipt that counts, without sums inherited from replaced receipts: 0 for a late
/// receipt. The look that first sees the receipt decides. A cancelled payment has no grace, because
/// staff knows of its end.
fn own_verdict(payment: &Payment, receipt: &Receipt) -> u64 {
    let found_in_time = payment.closed_at.is_none() && payment.state != PaymentState::Confirmed;
    let grace_ms = if payment.is_cancelled() { 0 } else { payment.policy.offline_grace_ms };
    let latest = payment.expires_at.plus_ms(grace_ms);
    if found_in_time && receipt.earliest_at <= latest { receipt.amount_sats } else { 0 }
}

fn is_gone(
    receipt: &Receipt,
    in_chain: bool,
    in_mempool: bool,
    is_confirmed: bool,
    look: &LookFacts,
) -> bool {
    match receipt.position {
        Position::Block { .. } => false,
        // A transaction that is gone by time alone stays gone while time does not decide.
        Position::Absent { since }
            if look.at >= since.plus_ms(GONE_AFTER_MS) && (look.time_decides || receipt.gone) =>
        {
            true
        }
        Position::Mempool | Position::Absent { .. } if in_chain => true,
        // While the payment is CONFIRMED the mempool alone changes nothing.
        Position::Mempool | Position::Absent { .. } if is_confirmed => receipt.gone,
        Position::Mempool => false,
        Position::Absent { .. } => in_mempool,
    }
}

/// The receipts with conflicts, the preferred ones first: those in a block; those that counted, if
/// the payment is CONFIRMED; those in the mempool; those seen later.
fn ranking(receipts: &[Receipt], conflicts: &[BTreeSet<usize>], is_confirmed: bool) -> Vec<usize> {
    let mut ranking: Vec<usize> =
        (0..receipts.len()).filter(|&index| !conflicts[index].is_empty()).collect();
    ranking.sort_by_key(|&index| {
        let receipt = &receipts[index];
        let standing = match receipt.position {
            Position::Block { .. } => 3,
            Position::Mempool | Position::Absent { .. }
                if is_confirmed && receipt.counted_sats > 0 =>
            {
                2
            }
            Position::Mempool => 1,
            Position::Absent { .. } => 0,
        };
        Reverse((standing, receipt.last_seen_at, receipt.first_seen_at, receipt.txid))
    });
    ranking
}

/// Only the first in the ranking may count among conflicting receipts that are not gone.
fn displace(evaluated: &mut [Evaluated<'_>], conflicts: &[BTreeSet<usize>], ranking: &[usize]) {
    let mut standing = BTreeSet::new();
    for &index in ranking {
        let is_free = standing.is_disjoint(&conflicts[index]);
        evaluated[index].displaced = !evaluated[index].gone && !is_free;
        if !evaluated[index].gone && is_free {
            standing.insert(index);
        }
    }
}

/// A receipt that replaces another inherits its verdict, up to the counted sum of the replaced
/// receipt. If several replace one, the first in the ranking inherits first, and the next inherits
/// from the remainder. Sums inherited at an earlier look are deducted first, so that the
/// replacements together never inherit more than the replaced sum. After an acceptance by staff,
/// refunded receipts inherit nothing.
fn share(
    payment: &Payment,
    evaluated: &mut [Evaluated<'_>],
    conflicts: &[BTreeSet<usize>],
    ranking: &[usize],
) {
    let mut pools = pools(evaluated, conflicts, ranking);
    let mut drain = |index: usize, wanted_sats: u64| {
        let mut drained_sats = 0;
        for (replaced, pool_sats) in &mut pools {
            if conflicts[index].contains(replaced) {
                let sats = (wanted_sats - drained_sats).min(*pool_sats);
                *pool_sats -= sats;
                drained_sats += sats;
            }
        }
        drained_sats
    };
    let standing: Vec<usize> =
        ranking.iter().copied().filter(|&index| evaluated[index].stands()).collect();
    for &index in &standing {
        drain(index, evaluated[index].receipt.eligible_sats.unwrap_or(0));
    }
    let went_back = |one: &Evaluated<'_>| payment.accepted_sats.is_some() && one.receipt.refunded;
    for index in standing {
        let one = &evaluated[index];
        if went_back(one) {
            continue;
        }
        let earlier_sats = one.receipt.eligible_sats.unwrap_or(0);
        let shared_sats = drain(index, one.receipt.amount_sats.saturating_sub(earlier_sats));
        evaluated[index].eligible_sats = one.eligible_sats.max(earlier_sats + shared_sats);
    }
}

/// The receipts that left a sum for others, each with that sum. A receipt that counted and is gone
/// leaves its counted sum. A displaced receipt leaves its eligible sum. The receipts do not
/// conflict with each other, so no input's sum is left twice.
fn pools(
    evaluated: &[Evaluated<'_>],
    conflicts: &[BTreeSet<usize>],
    ranking: &[usize],
) -> Vec<(usize, u64)> {
    let mut taken: BTreeSet<usize> =
        ranking.iter().copied().filter(|&index| evaluated[index].counted_sats > 0).collect();
    let mut pools = Vec::new();
    for &index in ranking {
        let one = &evaluated[index];
        if taken.contains(&index) {
            if !one.stands() {
                pools.push((index, one.counted_sats));
            }
        } else if one.displaced && one.eligible_sats > 0 && taken.is_disjoint(&conflicts[index]) {
            taken.insert(index);
            pools.push((index, one.eligible_sats));
        }
    }
    pools
}

/// Makes all coins count that are neither gone nor refunded. Returns the sum of those that are not
/// displaced, or `None` without any change if there are no coins.
pub(super) fn accept(evaluated: &mut [Evaluated<'_>], anomalies: &[Anomaly]) -> Option<u64> {
    let receipts: Vec<&Receipt> = evaluated.iter().map(|one| one.receipt).collect();
    let acceptable = acceptable_of(&receipts, anomalies);
    let came = sum(evaluated
        .iter()
        .zip(&acceptable)
        .filter(|(one, _)| one.stands())
        .map(|(_, sats)| *sats));
    if came == 0 {
        return None;
    }
    for (one, sats) in evaluated.iter_mut().zip(acceptable).filter(|(one, _)| !one.gone) {
        one.eligible_sats = sats;
        one.settle();
    }
    Some(came)
}

/// The sum that would count if staff accepted, by the facts of the last look.
pub(super) fn acceptable_sats(receipts: &[Receipt], anomalies: &[Anomaly]) -> u64 {
    let mut evaluated: Vec<Evaluated<'_>> = receipts
        .iter()
        .map(|receipt| Evaluated {
            receipt,
            eligible_sats: 0,
            counted_sats: 0,
            gone: receipt.gone,
            displaced: false,
            conflict_in_mempool: false,
            confirmations: 0,
            acceptable_unconfirmed: false,
        })
        .collect();
    let conflicts = conflicts(receipts);
    let ranking = ranking(receipts, &conflicts, false);
    displace(&mut evaluated, &conflicts, &ranking);
    accept(&mut evaluated, anomalies).unwrap_or(0)
}

/// The acceptable part of each receipt. A refund of one transaction is taken off that transaction.
/// A refund of the whole payment is taken off the receipts marked as refunded, in the order of
/// their txids.
fn acceptable_of(receipts: &[&Receipt], anomalies: &[Anomaly]) -> Vec<u64> {
    let refunds: Vec<&Anomaly> =
        anomalies.iter().filter(|anomaly| anomaly.resolution.is_refund()).collect();
    let whole: Vec<u64> = refunds
        .iter()
        .filter(|refund| refund.txid.is_none())
        .map(|refund| refund.paid_sats)
        .collect();
    let mut pool = sum(whole.iter().copied());
    let mut acceptable = vec![0; receipts.len()];
    let mut order: Vec<usize> = (0..receipts.len()).collect();
    order.sort_by_key(|&index| receipts[index].txid);
    for index in order {
        let receipt = receipts[index];
        let own: Vec<u64> = refunds
            .iter()
            .filter(|refund| refund.txid == Some(receipt.txid))
            .map(|refund| refund.paid_sats)
            .collect();
        // The receipt is marked as refunded, but no record holds the sum: all of it is taken as
        // refunded.
        if receipt.refunded && own.is_empty() && whole.is_empty() {
            continue;
        }
        let left = receipt.amount_sats.saturating_sub(sum(own.into_iter()));
        let taken = if receipt.refunded { left.min(pool) } else { 0 };
        pool -= taken;
        acceptable[index] = left - taken;
    }
    acceptable
}
