//! Advances one payment within the transaction of a look: stores the new facts, applies
//! [`advance::advance`], and stores the result.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bitcoin::{FeeRate, OutPoint, Transaction, Txid};
use tillgate_chain::{Fact, TxFacts, TxPosition};
use tillgate_domain::advance::{self, Advance, LookFacts};
use tillgate_domain::anomaly::{Anomaly, AnomalyChange, Coins, Resolution};
use tillgate_domain::closing::Closing;
use tillgate_domain::id::Id;
use tillgate_domain::money::Rate;
use tillgate_domain::payment::{Cause, ConflictChange, Payment};
use tillgate_domain::receipt::{Position, Receipt, Sighting};
use tillgate_domain::time::Timestamp;
use tillgate_store::anomalies::{AnomalyRow, AnomalyUpdate, NewAnomaly};
use tillgate_store::coins::Coin;
use tillgate_store::history::HistoryRow;
use tillgate_store::keychains::Keychain;
use tillgate_store::payments::PaymentRow;
use tillgate_store::{Reader, StoreError, Tx};

use crate::gateway::StaffWarning;
use crate::ledger;
use crate::notifications::outbox::{Outbox, OutboxError};

/// Disk quota for the missing transactions that paid one script. Without a quota, endless
/// replacements or transactions forged by a server could fill the disk. Above the quota, an
/// unconfirmed replacement is ignored until mined.
pub const MISSING_BYTES_MAX: u64 = 4 * 1_024 * 1_024;

/// Values that all payments of one look share.
#[derive(Clone)]
pub struct Context {
    pub look: LookFacts,
    /// Start of the look before this one.
    pub looked_before: Option<Timestamp>,
    /// The evidence so far on whether looks may close payments; `None` on a regtest chain.
    pub closing: Option<Closing>,
}

impl Context {
    /// The look as it counts for one payment: time decides nothing if the script is not covered, or
    /// if the look may not close the payment.
    fn look_for(&self, payment: &Payment, is_covered: bool) -> LookFacts {
        let LookFacts { at, tip_time, .. } = self.look;
        let is_past = payment.closed_at.is_none() && at > payment.expires_at;
        let is_put_off = is_past
            && self.closing.is_some_and(|closing| !closing.may_close(payment, at, tip_time));
        LookFacts { time_decides: self.look.time_decides && is_covered && !is_put_off, ..self.look }
    }
}

/// Why a payment is recomputed, and the new facts about its transactions.
#[derive(Debug)]
pub struct AffectedPayment {
    pub cause: Cause,
    pub incoming: BTreeMap<Txid, IncomingTransaction>,
    /// Transactions that the chain does not know.
    pub unknown: BTreeSet<Txid>,
    /// Whether all coins are known that came to its address before the look. Only then may its
    /// deadline decide.
    pub is_covered: bool,
}

/// Outputs of one transaction to one payment's address.
#[derive(Debug)]
pub struct IncomingTransaction {
    pub facts: Arc<TxFacts>,
    pub derivation_index: u32,
    /// Output index (`vout`) and satoshis.
    pub outputs: Vec<(u32, u64)>,
}

impl AffectedPayment {
    /// A payment without new facts about its transactions.
    pub fn by(cause: Cause) -> Self {
        Self { cause, incoming: BTreeMap::new(), unknown: BTreeSet::new(), is_covered: true }
    }
}

/// Stores new facts about a payment, recomputes it, and stores the result. A repeat changes
/// nothing. Returns the advance and warnings for staff.
pub fn settle(
    outbox: &Outbox<'_>,
    context: &Context,
    seq: i64,
    affected: &AffectedPayment,
) -> Result<(Advance, Vec<StaffWarning>), OutboxError> {
    let (tx, now) = (outbox.tx, outbox.now);
    let row = tx.payment_by_seq(seq)?.ok_or(StoreError::BadValue("payments.seq"))?;
    store_facts(tx, context, seq, affected)?;
    let receipts = tx.receipts(seq)?;
    let known = tx.anomalies_of_payment(seq)?;
    let anomalies: Vec<Anomaly> = known.iter().map(|row| row.anomaly.clone()).collect();
    let look = context.look_for(&row.payment, affected.is_covered);
    let mut advance = advance::advance(&row.payment, &receipts, &anomalies, &look);
    if context.look.staff_accepts && row.payment.confirmed_at.is_none() {
        // Staff decides now, however old the view of the chain is.
        advance.confirmed_at = advance.confirmed_at.map(|_| now);
    }

    for verdict in &advance.verdicts {
        tx.save_verdict(seq, verdict)?;
    }
    ledger::book_receipts(outbox, seq)?;
    tx.set_gone_aside(seq)?;
    let current_at = if advance.notify { row.current_at.moved_on(now) } else { row.current_at };
    tx.save_advance(seq, &advance, current_at)?;
    if advance.notify {
        note_change(tx, &row, &advance, current_at, affected.cause)?;
    }
    if advance.notify || !advance.anomalies.is_empty() {
        write_and_notify(outbox, &row, &known, &advance)?;
    }
    let new = tx.save_payment_warnings(seq, &advance.warnings, now)?;
    let warnings = new
        .iter()
        .filter_map(|warning| StaffWarning::of_payment(row.payment.id, warning))
        .collect();
    Ok((advance, warnings))
}

/// Quota in place of [`MISSING_BYTES_MAX`] for a transaction that shares no input with the missing
/// ones. It is higher because such a transaction is mostly the customer's own. An attacker who
/// fills it must pay fees for half an hour.
const MISSING_BYTES_BESIDE_MAX: u64 = 32 * 1_024 * 1_024;

fn store_facts(
    tx: &Tx<'_>,
    context: &Context,
    seq: i64,
    affected: &AffectedPayment,
) -> Result<(), StoreError> {
    for (txid, incoming) in &affected.incoming {
        let known = tx.receipt_facts(seq, txid)?;
        let is_new_and_waits =
            known.is_none() && matches!(incoming.facts.position, TxPosition::Mempool { .. });
        if is_new_and_waits && is_quota_full(tx, seq, &incoming.facts.tx)? {
            tracing::warn!(
                %txid,
                "a mempool transaction is ignored until mined: missing transactions of the same payment fill the disk quota"
            );
            continue;
        }
        let Some(receipt) = Receipt::after(known, *txid, &sighting(incoming, context)) else {
            continue;
        };
        tx.store_transaction(&incoming.facts.tx, txid, context.look.at)?;
        tx.upsert_receipt(seq, &receipt)?;
        for (vout, amount_sats) in &incoming.outputs {
            let coin = Coin {
                outpoint: OutPoint { txid: *txid, vout: *vout },
                keychain: Keychain::External,
                index: incoming.derivation_index,
                payment_seq: Some(seq),
                amount_sats: *amount_sats,
                is_coinbase: incoming.facts.tx.is_coinbase(),
            };
            tx.store_coin(&coin, &incoming.facts.position)?;
        }
        if incoming.facts.position == TxPosition::Absent {
            // The conflict also rules out every transaction that spends these coins.
            tx.take_back_coins(txid, incoming.facts.conflict_height)?;
        }
    }
    for txid in &affected.unknown {
        if let Some(known) = tx.receipt_facts(seq, txid)? {
            tx.upsert_receipt(seq, &known.after_no_sight(context.look.at, context.looked_before))?;
        }
    }
    if affected.incoming.values().all(|incoming| incoming.facts.conflicts.is_empty()) {
        return Ok(());
    }
    let known = tx.transactions_with_receipts(seq)?;
    for (txid, incoming) in affected.incoming.iter().filter(|(txid, _)| known.contains(*txid)) {
        for other in incoming.facts.conflicts.iter().filter(|other| known.contains(*other)) {
            tx.store_receipt_conflict(seq, txid, other)?;
        }
    }
    Ok(())
}

/// Whether missing transactions fill the disk quota of a payment. `new_tx` is then ignored until
/// mined.
fn is_quota_full(reader: &Reader<'_>, seq: i64, new_tx: &Transaction) -> Result<bool, StoreError> {
    let missing = reader.missing_bytes(seq)?;
    let of_rivals = || reader.missing_bytes_in_place_of(seq, new_tx);
    Ok(missing > MISSING_BYTES_BESIDE_MAX
        || (missing > MISSING_BYTES_MAX && of_rivals()? > MISSING_BYTES_MAX))
}

fn sighting(incoming: &IncomingTransaction, context: &Context) -> Sighting {
    let facts = &incoming.facts;
    Sighting {
        at: context.look.at,
        looked_before: context.looked_before,
        found: match facts.position {
            TxPosition::Block { height, time } => Some((Position::Block { height, time }, time)),
            TxPosition::Mempool { entered } => Some((Position::Mempool, entered)),
            TxPosition::Absent => None,
        },
        amount_sats: incoming
            .outputs
            .iter()
            .fold(0, |sum: u64, (_, sats)| sum.saturating_add(*sats)),
        conflict_in_chain: facts.conflict_in_chain.told(),
        conflict_in_mempool: facts.conflict_in_mempool.told(),
        has_conflict: !facts.conflicts.is_empty(),
        zero_conf_rate: zero_conf_rate(facts),
    }
}

/// The fee rate of a transaction that may be accepted unconfirmed after `zeroConfQuietSeconds`. A
/// fact that the backend does not know counts against the acceptance.
fn zero_conf_rate(facts: &TxFacts) -> Option<FeeRate> {
    let may_be_accepted = matches!(facts.position, TxPosition::Mempool { .. })
        && facts.unconfirmed_ancestors == Fact::No
        && facts.conflict_in_chain != Fact::Unknown
        && facts.conflict_in_mempool != Fact::Unknown;
    facts.fee_rate.filter(|_| may_be_accepted)
}

fn note_change(
    tx: &Tx<'_>,
    row: &PaymentRow,
    advance: &Advance,
    at: Timestamp,
    cause: Cause,
) -> Result<(), StoreError> {
    let change = HistoryRow {
        at,
        from: row.payment.state,
        to: advance.state,
        paid_sats: advance.paid_sats,
        cause,
        conflict: ConflictChange::between(row.payment.conflict_seen, advance.conflict_seen),
    };
    tx.note_change(row.seq, &change)
}

/// Writes the anomalies and queues all notifications. Records are rendered from the stored rows, so
/// that they match a later GET.
fn write_and_notify(
    outbox: &Outbox<'_>,
    before: &PaymentRow,
    known: &[AnomalyRow],
    advance: &Advance,
) -> Result<(), OutboxError> {
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
) -> Result<Id, OutboxError> {
    let Outbox { tx, gateway, now, .. } = *outbox;
    let coins_of = |coins: &Coins| Some((coins.paid_sats, coins.txids.clone()));
    let (id, update) = match change {
        AnomalyChange::Raise { kind, txid, coins } => {
            let (rate, rate_at) = last_known_rate(outbox, &row.payment)?;
            let new = NewAnomaly {
                id: gateway.machine.entropy.id()?,
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
            AnomalyUpdate {
                coins: coins_of(coins),
                resolution: Some(Resolution::Open),
                ..AnomalyUpdate::default()
            },
        ),
        AnomalyChange::Dismiss { id, reason } => (
            id,
            AnomalyUpdate {
                resolution: Some(Resolution::DismissedBySystem),
                dismissal_reason: Some((*reason).to_owned()),
                ..AnomalyUpdate::default()
            },
        ),
        AnomalyChange::Accept { id } => (
            id,
            AnomalyUpdate { resolution: Some(Resolution::Accepted), ..AnomalyUpdate::default() },
        ),
    };
    let last = known.iter().find(|known| known.anomaly.id == *id).map(|known| known.current_at);
    let current_at = last.filter(|_| change.is_notified()).map(|last| last.moved_on(now));
    tx.update_anomaly(id, &AnomalyUpdate { current_at, ..update })?;
    Ok(*id)
}

/// The last known rate, stored with its sources, or the payment's rate if none is known. A missing
/// rate never delays an anomaly.
fn last_known_rate(
    outbox: &Outbox<'_>,
    payment: &Payment,
) -> Result<(Rate, Timestamp), StoreError> {
    let Some(known) = outbox.gateway.market.rates.last_known(payment.currency) else {
        return Ok((payment.rate, payment.created_at));
    };
    outbox.tx.store_rate(payment.currency, &known)?;
    Ok((known.rate, known.at))
}

#[cfg(test)]
mod tests {
    use tillgate_domain::closing::Seen;

    use super::*;
    use crate::testing::{HALF_AN_HOUR_MS, World};

    #[tokio::test]
    async fn a_clock_jump_that_servers_contradict_extends_no_deadline() {
        let year_ms = 365 * 24 * 3_600_000;
        let mut payment = World::new().await.payment().await.payment;
        payment.expires_at = payment.expires_at.plus_ms(year_ms);
        let closes = |after_ms: i64| {
            let at = payment.created_at.plus_ms(year_ms + after_ms);
            let mut closing = Closing::default();
            // The first look after a start closes nothing, a look two minutes later does.
            let seen_at = |at| Seen {
                at,
                tip_time: payment.created_at,
                median_time: None,
                servers_ahead_ms: Some(-year_ms),
                cut_off: None,
            };
            closing.look(&seen_at(at.plus_ms(-2 * 60_000)));
            assert!(closing.look(&seen_at(at)).clock.is_some());
            let look = LookFacts {
                at,
                tip_height: 1,
                tip_time: payment.created_at,
                has_mempool: true,
                zero_conf: advance::ZeroConf::NotAsked,
                time_decides: true,
                staff_accepts: false,
            };
            let context = Context { look, looked_before: None, closing: Some(closing) };
            context.look_for(&payment, true).time_decides && at > payment.expires_at
        };
        assert!(!closes(HALF_AN_HOUR_MS), "open at its first deadline");
        assert!(closes(HALF_AN_HOUR_MS + 1_000), "closed after its first deadline");
    }
}
