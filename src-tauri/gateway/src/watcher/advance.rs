//! One payment in the transaction of a look: its facts, the rules' answer to them, and all that
//! follows from it, written together.

use std::sync::Arc;

use bitcoin::{OutPoint, Txid};
use tillgate_domain::advance::{self, Advance, Look, Warning};
use tillgate_domain::anomaly::{Anomaly, AnomalyChange, Coins, Resolution};
use tillgate_domain::id::Id;
use tillgate_domain::money::Rate;
use tillgate_domain::payment::Payment;
use tillgate_domain::receipt::{Position, Receipt};
use tillgate_domain::time::Timestamp;

use super::seen::{Concerned, Paying};
use super::{BackendWarning, WatchError};
use crate::chain::TxPosition;
use crate::gateway::Gateway;
use crate::outbox::Outbox;
use crate::store::anomalies::{AnomalyUpdate, NewAnomaly};
use crate::store::history::HistoryRow;
use crate::store::payments::PaymentRow;
use crate::store::{StoreError, Tx};

/// What the payments of one look have in common.
#[derive(Clone)]
pub(super) struct Context {
    pub gateway: Arc<Gateway>,
    pub look: Look,
    /// Start of the look before this one.
    pub looked_before: Option<Timestamp>,
    pub pages_base: String,
}

/// What is left to do once a commit succeeded.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    pub has_queued: bool,
    pub warnings: Vec<BackendWarning>,
}

/// Takes over the facts about a payment, computes it afresh, and writes what follows. A repeat
/// changes nothing.
pub(super) fn payment(
    tx: &Tx<'_>,
    context: &Context,
    seq: i64,
    concerned: &Concerned,
    cause: &'static str,
    outcome: &mut Outcome,
) -> Result<Advance, WatchError> {
    let row = tx.payment_by_seq(seq)?.ok_or(StoreError::BadValue("payments.seq"))?;
    take_facts(tx, context, seq, concerned)?;
    let receipts = tx.receipts(seq)?;
    let anomalies: Vec<Anomaly> = tx.anomalies_of_payment(seq)?.into_iter().map(|row| row.anomaly).collect();
    let mut advance = advance::advance(&row.payment, &receipts, &anomalies, &context.look);
    let now = context.gateway.clock.now();
    if context.look.staff_accepts && row.payment.confirmed_at.is_none() {
        // Staff decides now, however old the view of the chain is.
        advance.confirmed_at = advance.confirmed_at.map(|_| now);
    }

    for verdict in &advance.verdicts {
        tx.save_verdict(seq, verdict)?;
    }
    let current_at = if advance.notify { now.max(row.current_at.plus_ms(1)) } else { row.current_at };
    tx.save_advance(seq, &advance, current_at)?;
    if advance.notify {
        note_change(tx, &row, &advance, current_at, cause)?;
    }
    if advance.notify || !advance.anomalies.is_empty() {
        tell(tx, context, &row, &advance, now, outcome)?;
    }
    outcome.warnings.extend(advance.warnings.iter().map(|warning| about(row.payment.id, warning)));
    Ok(advance)
}

fn take_facts(tx: &Tx<'_>, context: &Context, seq: i64, concerned: &Concerned) -> Result<(), StoreError> {
    for (txid, paying) in &concerned.paying {
        let Some(receipt) = receipt(tx.receipt(seq, txid)?, txid, paying, context) else { continue };
        tx.keep_transaction(&paying.facts.tx, txid, context.look.at)?;
        tx.upsert_receipt(seq, &receipt)?;
        for (vout, amount_sats) in &paying.outputs {
            let outpoint = OutPoint { txid: *txid, vout: *vout };
            tx.keep_coin(seq, &outpoint, paying.derivation_index, *amount_sats)?;
        }
    }
    for (txid, paying) in &concerned.paying {
        for other in &paying.facts.conflicts {
            if tx.receipt(seq, txid)?.is_some() && tx.receipt(seq, other)?.is_some() {
                tx.keep_receipt_conflict(seq, txid, other)?;
            }
        }
    }
    Ok(())
}

/// The receipt with this look's facts; `None` where nobody ever saw the transaction: what was
/// replaced or dropped before the first look at it is as if it had never been.
fn receipt(known: Option<Receipt>, txid: &Txid, paying: &Paying, context: &Context) -> Option<Receipt> {
    let at = context.look.at;
    let facts = &paying.facts;
    let (position, appeared_at) = match facts.position {
        TxPosition::Block { height, time } => (Position::Block { height, time }, Some(time)),
        TxPosition::Mempool { entered } => (Position::Mempool, Some(entered)),
        TxPosition::Absent => (Position::Absent, None),
    };
    let is_absent = position == Position::Absent;
    if is_absent && known.is_none() {
        return None;
    }
    let last_seen_at = match &known {
        Some(known) if !is_absent => known.last_seen_at.max(at),
        // The look before this one is the last that found it, even if nothing about it changed since long.
        Some(known) if known.position != Position::Absent => {
            context.looked_before.map_or(known.last_seen_at, |before| before.max(known.last_seen_at))
        }
        Some(known) => known.last_seen_at,
        None => at,
    };
    let earliest_at = [known.as_ref().map(|known| known.earliest_at), appeared_at].into_iter().flatten().min();
    let has_conflict = facts.conflict_in_chain || facts.conflict_in_mempool || !facts.conflicts.is_empty();
    Some(Receipt {
        txid: *txid,
        amount_sats: paying.outputs.iter().fold(0, |sum: u64, (_, sats)| sum.saturating_add(*sats)),
        first_seen_at: known.as_ref().map_or(at, |known| known.first_seen_at),
        last_seen_at,
        earliest_at: earliest_at.map_or(at, |earliest| earliest.min(at)),
        position,
        conflict_in_chain: facts.conflict_in_chain,
        conflict_in_mempool: facts.conflict_in_mempool,
        last_conflict_at: if has_conflict { Some(at) } else { known.as_ref().and_then(|known| known.last_conflict_at) },
        relays_well: facts.relays_well && position == Position::Mempool,
        conflicts_with: Vec::new(),
        eligible_sats: known.as_ref().and_then(|known| known.eligible_sats),
        counted_sats: known.as_ref().map_or(0, |known| known.counted_sats),
        gone: known.as_ref().is_some_and(|known| known.gone),
        refunded: known.as_ref().is_some_and(|known| known.refunded),
    })
}

fn note_change(
    tx: &Tx<'_>,
    row: &PaymentRow,
    advance: &Advance,
    at: Timestamp,
    cause: &'static str,
) -> Result<(), StoreError> {
    tx.note_change(
        row.seq,
        &HistoryRow {
            at,
            from: row.payment.state,
            to: advance.state,
            paid_sats: advance.paid_sats,
            cause: cause.to_owned(),
        },
    )
}

/// Writes the anomalies and queues every notification. The records are made of what the
/// transaction now holds, so that they show what GET will.
fn tell(
    tx: &Tx<'_>,
    context: &Context,
    before: &PaymentRow,
    advance: &Advance,
    now: Timestamp,
    outcome: &mut Outcome,
) -> Result<(), WatchError> {
    let row = tx.payment_by_seq(before.seq)?.ok_or(StoreError::BadValue("payments.seq"))?;
    let receipts = tx.receipts(before.seq)?;
    let outbox = Outbox {
        tx,
        entropy: context.gateway.entropy.as_ref(),
        environment: context.gateway.environment,
        pages_base: &context.pages_base,
        tip_height: context.look.tip_height,
        now,
    };
    if advance.notify {
        outcome.has_queued |= outbox.queue_payment(&row, &receipts)?;
    }
    for change in &advance.anomalies {
        let id = write_anomaly(tx, context, &row, change, now)?;
        let anomaly = tx.anomaly(&id)?.ok_or(StoreError::BadValue("anomalies.id"))?;
        outcome.has_queued |= outbox.queue_anomaly(&anomaly, &receipts)?;
    }
    Ok(())
}

fn write_anomaly(
    tx: &Tx<'_>,
    context: &Context,
    row: &PaymentRow,
    change: &AnomalyChange,
    now: Timestamp,
) -> Result<Id, WatchError> {
    let coins_of = |coins: &Coins| Some((coins.paid_sats, coins.txids.clone()));
    let (id, update) = match change {
        AnomalyChange::Raise { kind, txid, coins } => {
            let (rate, rate_at) = rate_of_the_moment(context, &row.payment);
            let new = NewAnomaly {
                id: context.gateway.entropy.id()?,
                payment_seq: row.seq,
                kind: *kind,
                txid: *txid,
                paid_sats: coins.paid_sats,
                txids: coins.txids.clone(),
                rate,
                rate_at,
                at: now,
            };
            tx.insert_anomaly(&new)?;
            return Ok(new.id);
        }
        AnomalyChange::Follow { id, coins } => {
            (id, AnomalyUpdate { coins: coins_of(coins), ..AnomalyUpdate::default() })
        }
        AnomalyChange::Reopen { id, coins } => (
            id,
            AnomalyUpdate { coins: coins_of(coins), resolution: Some(Resolution::Open), ..AnomalyUpdate::default() },
        ),
        AnomalyChange::Dismiss { id, reason } => (
            id,
            AnomalyUpdate {
                resolution: Some(Resolution::DismissedBySystem),
                dismissal_reason: Some((*reason).to_owned()),
                ..AnomalyUpdate::default()
            },
        ),
        AnomalyChange::Accept { id } => {
            (id, AnomalyUpdate { resolution: Some(Resolution::Accepted), ..AnomalyUpdate::default() })
        }
    };
    tx.update_anomaly(id, &update, now)?;
    Ok(*id)
}

/// The last rate known: a missing one never delays an anomaly. Before any, the payment's own.
fn rate_of_the_moment(context: &Context, payment: &Payment) -> (Rate, Timestamp) {
    match context.gateway.rates.last_known(payment.currency) {
        Some(kept) => (kept.rate, kept.at),
        None => (payment.rate, payment.created_at),
    }
}

fn about(payment_id: Id, warning: &Warning) -> BackendWarning {
    match warning {
        Warning::DoubleSpendAttempt { txid } => BackendWarning::DoubleSpendAttempt { payment_id, txid: *txid },
        Warning::DecidedAnomalyChanged { id } => BackendWarning::DecidedAnomalyChanged { payment_id, anomaly_id: *id },
    }
}
