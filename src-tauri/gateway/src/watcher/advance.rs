//! One payment in the transaction of a look: its facts, the rules' answer to them, and all that
//! follows from it, written together.

use bitcoin::{FeeRate, OutPoint, Txid};
use tillgate_domain::advance::{self, Advance, Look, Warning};
use tillgate_domain::anomaly::{Anomaly, AnomalyChange, Coins, Resolution};
use tillgate_domain::id::Id;
use tillgate_domain::money::Rate;
use tillgate_domain::payment::Payment;
use tillgate_domain::receipt::{Position, Receipt};
use tillgate_domain::time::Timestamp;

use super::WatchError;
use super::findings::{AffectedPayment, IncomingTransaction};
use crate::chain::{Fact, TxFacts, TxPosition};
use crate::gateway::BackendWarning;
use crate::notifications::outbox::Outbox;
use crate::store::anomalies::{AnomalyRow, AnomalyUpdate, NewAnomaly};
use crate::store::coins::Coin;
use crate::store::history::{Cause, HistoryRow};
use crate::store::keychains::Keychain;
use crate::store::payments::PaymentRow;
use crate::store::{StoreError, Tx};

/// What the payments of one look have in common.
#[derive(Clone)]
pub(super) struct Context {
    pub look: Look,
    /// Start of the look before this one.
    pub looked_before: Option<Timestamp>,
    /// The estimated rate for a confirmation soon, where a transaction waits for one.
    pub fee_rate: Option<FeeRate>,
}

/// Takes over the facts about a payment, computes it afresh, and writes what follows. A repeat
/// changes nothing. Answers what staff should know, too.
pub(super) fn payment(
    outbox: &Outbox<'_>,
    context: &Context,
    seq: i64,
    affected: &AffectedPayment,
) -> Result<(Advance, Vec<BackendWarning>), WatchError> {
    let (tx, now) = (outbox.tx, outbox.now);
    let row = tx.payment_by_seq(seq)?.ok_or(StoreError::BadValue("payments.seq"))?;
    take_facts(tx, context, seq, affected)?;
    let receipts = tx.receipts(seq)?;
    let known = tx.anomalies_of_payment(seq)?;
    let anomalies: Vec<Anomaly> = known.iter().map(|row| row.anomaly.clone()).collect();
    let mut advance = advance::advance(&row.payment, &receipts, &anomalies, &context.look);
    if context.look.staff_accepts && row.payment.confirmed_at.is_none() {
        // Staff decides now, however old the view of the chain is.
        advance.confirmed_at = advance.confirmed_at.map(|_| now);
    }

    for verdict in &advance.verdicts {
        tx.save_verdict(seq, verdict)?;
    }
    let current_at = if advance.notify { row.current_at.moved_on(now) } else { row.current_at };
    tx.save_advance(seq, &advance, current_at)?;
    if advance.notify {
        note_change(tx, &row, &advance, current_at, affected.cause)?;
    }
    if advance.notify || !advance.anomalies.is_empty() {
        tell(outbox, &row, &known, &advance)?;
    }
    let warnings = advance.warnings.iter().map(|warning| about(row.payment.id, warning)).collect();
    Ok((advance, warnings))
}

fn take_facts(tx: &Tx<'_>, context: &Context, seq: i64, affected: &AffectedPayment) -> Result<(), StoreError> {
    for (txid, incoming) in &affected.incoming {
        let Some(receipt) = receipt(tx.receipt_facts(seq, txid)?, txid, incoming, context) else { continue };
        tx.keep_transaction(&incoming.facts.tx, txid, context.look.at)?;
        tx.upsert_receipt(seq, &receipt)?;
        for (vout, amount_sats) in &incoming.outputs {
            let coin = Coin {
                outpoint: OutPoint { txid: *txid, vout: *vout },
                keychain: Keychain::External,
                index: incoming.derivation_index,
                payment_seq: Some(seq),
                amount_sats: *amount_sats,
            };
            tx.keep_coin(&coin, &incoming.facts.position)?;
        }
    }
    for txid in &affected.unknown {
        if let Some(known) = tx.receipt_facts(seq, txid)? {
            tx.upsert_receipt(seq, &absent(known, context))?;
        }
    }
    for (txid, incoming) in &affected.incoming {
        for other in &incoming.facts.conflicts {
            if tx.has_receipt(seq, txid)? && tx.has_receipt(seq, other)? {
                tx.keep_receipt_conflict(seq, txid, other)?;
            }
        }
    }
    Ok(())
}

/// The receipt with this look's facts; `None` where nobody ever saw the transaction: what was
/// replaced or dropped before the first look at it is as if it had never been.
fn receipt(known: Option<Receipt>, txid: &Txid, incoming: &IncomingTransaction, context: &Context) -> Option<Receipt> {
    let at = context.look.at;
    let facts = &incoming.facts;
    let (position, appeared_at) = match facts.position {
        TxPosition::Block { height, time } => (Position::Block { height, time }, Some(time)),
        TxPosition::Mempool { entered } => (Position::Mempool, Some(entered)),
        TxPosition::Absent => (known.as_ref()?.position.missed(at), None),
    };
    let last_seen_at = match &known {
        Some(known) if position.is_absent() => last_seen_at(known, context),
        Some(known) => known.last_seen_at.max(at),
        None => at,
    };
    let earliest_at = [known.as_ref().map(|known| known.earliest_at), appeared_at].into_iter().flatten().min();
    let was = |told: fn(&Receipt) -> bool| known.as_ref().is_some_and(told);
    // What nobody can tell stays as it was last told.
    let conflict_in_chain = facts.conflict_in_chain.or(was(|known| known.conflict_in_chain));
    let conflict_in_mempool = facts.conflict_in_mempool.or(was(|known| known.conflict_in_mempool));
    let has_conflict = conflict_in_chain || conflict_in_mempool || !facts.conflicts.is_empty();
    Some(Receipt {
        txid: *txid,
        amount_sats: incoming.outputs.iter().fold(0, |sum: u64, (_, sats)| sum.saturating_add(*sats)),
        first_seen_at: known.as_ref().map_or(at, |known| known.first_seen_at),
        last_seen_at,
        earliest_at: earliest_at.map_or(at, |earliest| earliest.min(at)),
        position,
        conflict_in_chain,
        conflict_in_mempool,
        last_conflict_at: if has_conflict { Some(at) } else { known.as_ref().and_then(|known| known.last_conflict_at) },
        relays_well: relays_well(facts, context.fee_rate),
        conflicts_with: Vec::new(),
        eligible_sats: known.as_ref().and_then(|known| known.eligible_sats),
        counted_sats: known.as_ref().map_or(0, |known| known.counted_sats),
        gone: known.as_ref().is_some_and(|known| known.gone),
        refunded: known.as_ref().is_some_and(|known| known.refunded),
    })
}

/// The receipt of a transaction of which the chain knows nothing. Whether it conflicts with another nobody can tell.
fn absent(known: Receipt, context: &Context) -> Receipt {
    let last_seen_at = last_seen_at(&known, context);
    Receipt { position: known.position.missed(context.look.at), last_seen_at, relays_well: false, ..known }
}

/// When a receipt was last seen that this look misses: the look before this one is the last that found it, even if
/// nothing about it changed since long.
fn last_seen_at(known: &Receipt, context: &Context) -> Timestamp {
    match known.position {
        Position::Absent { .. } => known.last_seen_at,
        Position::Block { .. } | Position::Mempool => {
            context.looked_before.map_or(known.last_seen_at, |before| before.max(known.last_seen_at))
        }
    }
}

/// Whether a transaction may be accepted without confirmation once it was quiet for long enough. What the backend
/// cannot tell is never good enough.
fn relays_well(facts: &TxFacts, fee_rate: Option<FeeRate>) -> bool {
    matches!(facts.position, TxPosition::Mempool { .. })
        && facts.unconfirmed_ancestors == Fact::No
        && facts.conflict_in_chain != Fact::Unknown
        && facts.conflict_in_mempool != Fact::Unknown
        && facts.fee_rate.zip(fee_rate).is_some_and(|(paid, wanted)| paid >= wanted)
}

fn note_change(
    tx: &Tx<'_>,
    row: &PaymentRow,
    advance: &Advance,
    at: Timestamp,
    cause: Cause,
) -> Result<(), StoreError> {
    tx.note_change(
        row.seq,
        &HistoryRow { at, from: row.payment.state, to: advance.state, paid_sats: advance.paid_sats, cause },
    )
}

/// Writes the anomalies and queues every notification. The records are made of what the
/// transaction now holds, so that they show what GET will.
fn tell(outbox: &Outbox<'_>, before: &PaymentRow, known: &[AnomalyRow], advance: &Advance) -> Result<(), WatchError> {
    let tx = outbox.tx;
    let row = tx.payment_by_seq(before.seq)?.ok_or(StoreError::BadValue("payments.seq"))?;
    let receipts = tx.receipts(before.seq)?;
    if advance.notify {
        outbox.queue_payment(&row, &receipts)?;
    }
    for change in &advance.anomalies {
        let id = write_anomaly(outbox, &row, known, change)?;
        if change.is_notified() {
            let anomaly = tx.anomaly(&id)?.ok_or(StoreError::BadValue("anomalies.id"))?;
            outbox.queue_anomaly(&anomaly)?;
        }
    }
    Ok(())
}

fn write_anomaly(
    outbox: &Outbox<'_>,
    row: &PaymentRow,
    known: &[AnomalyRow],
    change: &AnomalyChange,
) -> Result<Id, WatchError> {
    let Outbox { tx, gateway, now, .. } = *outbox;
    let coins_of = |coins: &Coins| Some((coins.paid_sats, coins.txids.clone()));
    let (id, update) = match change {
        AnomalyChange::Raise { kind, txid, coins } => {
            let (rate, rate_at) = rate_of_the_moment(outbox, &row.payment)?;
            let new = NewAnomaly {
                id: gateway.entropy.id()?,
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
        AnomalyChange::Follow { id, coins, .. } => {
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
    let last = known.iter().find(|known| known.anomaly.id == *id).map(|known| known.current_at);
    let current_at = last.filter(|_| change.is_notified()).map(|last| last.moved_on(now));
    tx.update_anomaly(id, &AnomalyUpdate { current_at, ..update })?;
    Ok(*id)
}

/// The last rate known, which is kept with its sources: a missing one never delays an anomaly. Before any, the payment's
/// own.
fn rate_of_the_moment(outbox: &Outbox<'_>, payment: &Payment) -> Result<(Rate, Timestamp), StoreError> {
    let Some(known) = outbox.gateway.rates.last_known(payment.currency) else {
        return Ok((payment.rate, payment.created_at));
    };
    outbox.tx.keep_rate(payment.currency, &known)?;
    Ok((known.rate, known.at))
}

fn about(payment_id: Id, warning: &Warning) -> BackendWarning {
    match warning {
        Warning::DoubleSpendAttempt { txid } => BackendWarning::DoubleSpendAttempt { payment_id, txid: *txid },
        Warning::DecidedAnomalyChanged { id } => BackendWarning::DecidedAnomalyChanged { payment_id, anomaly_id: *id },
    }
}
