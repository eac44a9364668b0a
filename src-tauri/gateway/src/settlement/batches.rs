//! Settles payouts after a look or a broadcast: applies [`batch::settle`] to the positions of their
//! transactions, and stores the results. A repeat changes nothing.

use std::collections::BTreeSet;

use bitcoin::Txid;
use tillgate_domain::batch::{self, Version};
use tillgate_domain::payout::PayoutState;
use tillgate_store::alarms::AlarmKind;
use tillgate_store::batches::VersionRow;
use tillgate_store::ledger::LedgerKind;
use tillgate_store::payouts::PayoutRow;
use tillgate_store::{Reader, StoreError};
use tillgate_told::Told as _;

use super::conflict_height::conflict_height;
use super::twin_ledger::{self, sats};
use super::twins;
use crate::funds;
use crate::gateway::{FailureReason, StaffWarning};
use crate::ledger::{self, About};
use crate::notifications::outbox::{Outbox, OutboxError};
use crate::notifications::refunds;

/// `approvedBy` of an offer that another copy of the wallet sent.
const BY_COPY: &str = "another copy of this wallet";

/// Recomputes a batch and its payouts at a tip of this height. Returns warnings for staff.
pub fn settle(
    outbox: &Outbox<'_>,
    batch_seq: i64,
    tip_height: u32,
) -> Result<Vec<StaffWarning>, OutboxError> {
    let mut twins = BTreeSet::new();
    let warnings = settle_noting(outbox, batch_seq, tip_height, &mut twins)?;
    twins.iter().try_for_each(|txid| twin_ledger::book(outbox, txid))?;
    Ok(warnings)
}

/// Like [`settle`], but the caller books the twins in `to_book`.
pub fn settle_noting(
    outbox: &Outbox<'_>,
    batch_seq: i64,
    tip_height: u32,
    to_book: &mut BTreeSet<Txid>,
) -> Result<Vec<StaffWarning>, OutboxError> {
    let tx = outbox.tx;
    let rows = tx.versions(batch_seq)?;
    let mut batch = tx.batch(batch_seq)?.ok_or(StoreError::BadValue("batches.seq"))?;
    let versions = rows.iter().map(|row| facts(tx, row)).collect::<Result<Vec<_>, _>>()?;
    let gave_up = rows.iter().find(|row| !row.pays && row.position.is_in_block());
    let reason = if gave_up.is_some() || is_given_up_with(tx, &rows)? {
        FailureReason::GivenUp
    } else {
        FailureReason::RuledOut
    };
    let (mut warnings, mut is_wanted) = (Vec::new(), false);
    let payouts = tx.payouts_of_batch(batch_seq)?;
    let count = payouts.len() as u64;
    for (index, payout) in (0u64..).zip(payouts) {
        let share = |txid: Txid| {
            let version = rows.iter().find(|row| row.txid == txid && row.pays);
            version.map_or(0, |version| batch::fee_share_sats(version.fee_sats, count, index))
        };
        let (state, warning) =
            settle_payout((outbox, to_book), payout, &versions, share, &reason, tip_height)?;
        warnings.extend(warning);
        // A FAILED payout keeps no coins locked. Only a block makes it SENT again.
        is_wanted |= matches!(state, PayoutState::Queued | PayoutState::Sent);
    }
    let is_pending = batch::is_pending(&versions, tip_height);
    batch.live = is_pending && is_wanted;
    let fee_of_giving_up = gave_up.filter(|_| !batch.live).map_or(0, |row| sats(row.fee_sats));
    if batch.booked_fee_sats != -fee_of_giving_up {
        let about = About { txid: gave_up.map(|row| row.txid), ..About::default() };
        ledger::book(outbox, LedgerKind::Other, -fee_of_giving_up - batch.booked_fee_sats, about)?;
        batch.booked_fee_sats = -fee_of_giving_up;
    }
    tx.save_batch(&batch, is_pending)?;
    Ok(warnings)
}

/// Settles a payout that a twin paid and that has no batch.
pub fn settle_alone(
    outbox: &Outbox<'_>,
    payout: PayoutRow,
    tip_height: u32,
    to_book: &mut BTreeSet<Txid>,
) -> Result<Option<StaffWarning>, OutboxError> {
    Ok(settle_payout((outbox, to_book), payout, &[], |_| 0, &FailureReason::RuledOut, tip_height)?
        .1)
}

/// Makes a payout without a stored transaction FAILED; `by` names the person who gave it up.
pub fn fail(
    outbox: &Outbox<'_>,
    mut row: PayoutRow,
    reason: &FailureReason,
    by: Option<String>,
) -> Result<(), OutboxError> {
    row.state = PayoutState::Failed;
    row.failure_reason = Some(reason.telling());
    row.failed_at = Some(outbox.now);
    row.given_up_by = by;
    save(outbox, row, true)
}

/// Settles one payout. Returns its new state and a warning for staff.
fn settle_payout(
    (outbox, to_book): (&Outbox<'_>, &mut BTreeSet<Txid>),
    mut row: PayoutRow,
    versions: &[Version],
    fee_share_sats: impl FnOnce(Txid) -> u64,
    reason: &FailureReason,
    tip_height: u32,
) -> Result<(PayoutState, Option<StaffWarning>), OutboxError> {
    let mut twins = twins_of(outbox.tx, &row)?;
    let mut settled = batch::settle(row.state, versions, &twins, tip_height);
    // The payout is not FAILED if a mined twin paid it: the one that conflicts with our
    // transaction, or another.
    if settled.state == PayoutState::Failed
        && row.state != settled.state
        && let Some((txid, vout)) = outbox.tx.unmatched_twin_of(row.seq)?
    {
        outbox.tx.store_twin_output(&txid, vout, row.seq)?;
        twins = twins_of(outbox.tx, &row)?;
        settled = batch::settle(row.state, versions, &twins, tip_height);
    }
    let before = row.clone();
    row.state = settled.state;
    row.txid = settled.txid.or(row.txid);
    let mut warning = None;
    if row.state == PayoutState::Sent
        && before.state != PayoutState::Failed
        && (before.state != row.state || before.txid != row.txid)
        && twins.iter().any(|twin| Some(twin.txid) == row.txid)
    {
        outbox.tx.raise_alarm(AlarmKind::PayoutSentByCopy, row.seq, outbox.now)?;
        warning = Some(StaffWarning::PayoutSentByCopy { payout_id: row.id });
    }
    match (before.state, row.state) {
        (from, to) if from == to => {}
        (from, PayoutState::Sent) => {
            row.sent_at = Some(outbox.now);
            // An offer paid by a twin counts in the limit of the day on which the twin was made.
            if row.approved_at.is_none() {
                let twin = row.txid.map(|txid| outbox.tx.twin(&txid)).transpose()?.flatten();
                row.approved_at = Some(twin.map_or(outbox.now, |twin| twin.made_at));
            }
            row.approved_by.get_or_insert_with(|| BY_COPY.to_owned());
            (row.failure_reason, row.failed_at, row.given_up_by) = (None, None, None);
            if from == PayoutState::Failed {
                outbox.tx.raise_alarm(AlarmKind::FailedPayoutWasSent, row.seq, outbox.now)?;
                warning = Some(StaffWarning::FailedPayoutWasSent { payout_id: row.id });
            }
        }
        (_, PayoutState::Failed) => {
            row.failure_reason = Some(reason.telling());
            row.failed_at = Some(outbox.now);
            outbox.tx.withdraw_alarm(AlarmKind::PayoutSentByCopy, row.seq)?;
        }
        _ => {}
    }
    let is_mined = |payer: &Version| payer.pays && payer.position.is_in_block();
    if versions.iter().chain(&twins).filter(|payer| is_mined(payer)).count() > 1 {
        outbox.tx.raise_alarm(AlarmKind::PayoutPaidTwice, row.seq, outbox.now)?;
        warning = Some(StaffWarning::PayoutPaidTwice { payout_id: row.id });
    }
    let fee = row.txid.map_or(0, fee_share_sats);
    book(outbox, &mut row, fee)?;
    // The first value of `btcTxId` alone causes no notification.
    let is_notified =
        before.state != row.state || (before.txid.is_some() && before.txid != row.txid);
    if row != before {
        to_book.extend([before.txid, row.txid].into_iter().flatten());
        save(outbox, row, is_notified)?;
    }
    Ok((settled.state, warning))
}

/// Updates the ledger rows of a payout. They are zero until the payout is SENT.
fn book(outbox: &Outbox<'_>, row: &mut PayoutRow, fee_share_sats: u64) -> Result<(), StoreError> {
    let is_sent = row.state == PayoutState::Sent;
    let amount_sats = if is_sent { -sats(row.amount_sats) } else { 0 };
    let fee_sats = if is_sent { -sats(fee_share_sats) } else { 0 };
    let about = About { txid: row.txid, payout_seq: Some(row.seq), payment_seq: None };
    let offered_fee_sats = sats(row.network_fee_sats);
    let offered = |booked_sats: i64| if booked_sats == 0 { 0 } else { -offered_fee_sats };
    let fee_moves = offered(amount_sats) - offered(row.booked_sats);
    ledger::book(outbox, LedgerKind::Payout, amount_sats - row.booked_sats, about)?;
    ledger::book(outbox, LedgerKind::Fee, fee_moves, about)?;
    ledger::book(
        outbox,
        LedgerKind::FeeDifference,
        fee_sats - row.booked_fee_sats - fee_moves,
        about,
    )?;
    row.booked_sats = amount_sats;
    row.booked_fee_sats = fee_sats;
    Ok(())
}

fn save(outbox: &Outbox<'_>, mut row: PayoutRow, is_notified: bool) -> Result<(), OutboxError> {
    if is_notified {
        row.current_at = row.current_at.moved_on(outbox.now);
    }
    outbox.tx.update_payout(&row)?;
    refunds::anomaly_after(outbox, &row)?;
    if is_notified {
        outbox.queue_payout(&row)?;
    }
    Ok(())
}

/// Whether a batch, or the batch of an unconfirmed ancestor, is being given up.
fn is_given_up_with(reader: &Reader<'_>, rows: &[VersionRow]) -> Result<bool, StoreError> {
    rows.first().map_or(Ok(false), |row| funds::is_given_up(reader, &row.txid))
}

/// A version as input for [`batch::settle`].
pub fn facts(reader: &Reader<'_>, row: &VersionRow) -> Result<Version, StoreError> {
    Ok(Version {
        txid: row.txid,
        pays: row.pays,
        accepted: row.accepted_at.is_some(),
        position: row.position,
        conflict_height: conflict_height(reader, &row.tx, &row.txid)?,
    })
}

/// The twins that paid a payout, as input for [`batch::settle`].
fn twins_of(reader: &Reader<'_>, payout: &PayoutRow) -> Result<Vec<Version>, StoreError> {
    let mut facts = Vec::new();
    for twin in reader.twins_of_payout(payout.seq)? {
        facts.push(twins::facts(reader, &twin)?);
    }
    Ok(facts)
}
