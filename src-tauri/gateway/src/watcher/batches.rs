//! What a look, or an answer to a broadcast, means for payouts: the rules' answer to where their transactions stand,
//! written with all that follows from it. A repeat changes nothing.

use std::collections::BTreeSet;

use bitcoin::{Transaction, Txid};
use tillgate_domain::batch::{self, Position, Version};
use tillgate_domain::payout::PayoutState;
use tillgate_domain::time::Timestamp;

use super::signed;
use crate::chain::Fact;
use crate::gateway::StaffWarning;
use crate::ledger::{self, About};
use crate::notifications::outbox::{Outbox, OutboxError};
use crate::notifications::refunds;
use crate::store::alarms::AlarmKind;
use crate::store::batches::VersionRow;
use crate::store::ledger::LedgerKind;
use crate::store::payouts::PayoutRow;
use crate::store::twins::TwinRow;
use crate::store::{Reader, StoreError};

/// Ancestors that are followed upwards to find what rules a transaction out; the sender makes no longer lines.
const ANCESTORS_MAX: u32 = 25;

/// How long a payout waits for what another copy may have paid and nothing shows any more.
const AWAITED_FOR_MS: i64 = 24 * 3_600_000;

const GIVEN_UP: &str = "it was given up, and the coins went back to the wallet";
const RULED_OUT: &str = "another transaction spent its coins and has 6 confirmations: nothing was sent to the address";
const RULED_OUT_OF_ANOTHER: &str = "another transaction spent the coins of the one, not made here, that had paid it, and has 6 confirmations: look at the address before it is paid again, for that one may have paid it too";

/// What of payouts a look touched.
#[derive(Debug, Default)]
pub(super) struct Touched {
    pub batches: BTreeSet<i64>,
    pub twins: BTreeSet<Txid>,
}

/// Computes afresh what became of a batch and its payouts, under a tip of this height. Answers what staff should know.
///
/// # Errors
/// When it cannot be stored.
pub(crate) fn settle(outbox: &Outbox<'_>, batch_seq: i64, tip_height: u32) -> Result<Vec<StaffWarning>, OutboxError> {
    let tx = outbox.tx;
    let rows = tx.versions(batch_seq)?;
    let mut batch = tx.batch(batch_seq)?.ok_or(StoreError::BadValue("batches.seq"))?;
    let versions = rows.iter().map(|row| facts(tx, row)).collect::<Result<Vec<_>, _>>()?;
    let gave_up = rows.iter().find(|row| !row.pays && row.position.is_in_block());
    let reason = if gave_up.is_some() { GIVEN_UP } else { RULED_OUT };
    let (mut warnings, mut is_wanted) = (Vec::new(), false);
    let payouts = tx.payouts_of_batch(batch_seq)?;
    let count = payouts.len() as u64;
    for (index, payout) in (0u64..).zip(payouts) {
        let share = |txid: Txid| {
            let version = rows.iter().find(|row| row.txid == txid && row.pays);
            version.map_or(0, |version| batch::fee_share_sats(version.fee_sats, count, index))
        };
        let (state, warning) = settle_payout(outbox, payout, &versions, share, reason, tip_height)?;
        warnings.extend(warning);
        // What failed has no claim on its coins any more, also where the conflict vanishes again: only a block changes that.
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

/// The same for a payout that is in no batch yet, and that a twin may have paid.
///
/// # Errors
/// When it cannot be stored.
pub(crate) fn settle_alone(
    outbox: &Outbox<'_>,
    payout: PayoutRow,
    tip_height: u32,
) -> Result<Option<StaffWarning>, OutboxError> {
    Ok(settle_payout(outbox, payout, &[], |_| 0, RULED_OUT, tip_height)?.1)
}

/// Makes a payout that has no stored transaction FAILED; `by` is who gave it up.
///
/// # Errors
/// When it cannot be stored.
pub(crate) fn fail(
    outbox: &Outbox<'_>,
    mut row: PayoutRow,
    reason: &str,
    by: Option<String>,
) -> Result<(), OutboxError> {
    row.state = PayoutState::Failed;
    row.failure_reason = Some(reason.to_owned());
    row.failed_at = Some(outbox.now);
    row.given_up_by = by;
    save(outbox, row, true)
}

/// Answers its state after it, and what staff should know.
fn settle_payout(
    outbox: &Outbox<'_>,
    mut row: PayoutRow,
    versions: &[Version],
    fee_share_sats: impl FnOnce(Txid) -> u64,
    reason: &str,
    tip_height: u32,
) -> Result<(PayoutState, Option<StaffWarning>), OutboxError> {
    let twins = payers_elsewhere(outbox.tx, &row)?;
    let settled = batch::settle(row.state, versions, &twins, tip_height);
    let before = row.clone();
    row.state = settled.state;
    row.txid = settled.txid.or(row.txid);
    let mut warning = None;
    if row.state == PayoutState::Sent
        && (before.state != row.state || before.txid != row.txid)
        && is_by_stranger(outbox.tx, row.txid)?
    {
        outbox.tx.raise_alarm(AlarmKind::PayoutPaidByAnother, row.seq, outbox.now)?;
        warning = Some(StaffWarning::PayoutPaidByAnother { payout_id: row.id });
    }
    match (before.state, row.state) {
        (from, to) if from == to => {}
        (from, PayoutState::Sent) => {
            row.sent_at = Some(outbox.now);
            (row.failure_reason, row.failed_at, row.given_up_by) = (None, None, None);
            if from == PayoutState::Failed {
                outbox.tx.raise_alarm(AlarmKind::FailedPayoutWasSent, row.seq, outbox.now)?;
                warning = Some(StaffWarning::FailedPayoutWasSent { payout_id: row.id });
            }
        }
        (_, PayoutState::Failed) => {
            let reason = if is_by_stranger(outbox.tx, before.txid)? { RULED_OUT_OF_ANOTHER } else { reason };
            row.failure_reason = Some(reason.to_owned());
            row.failed_at = Some(outbox.now);
            outbox.tx.withdraw_alarm(AlarmKind::PayoutPaidByAnother, row.seq)?;
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
    // The first value of `btcTxId` is not notified by itself.
    let is_notified = before.state != row.state || (before.txid.is_some() && before.txid != row.txid);
    if row != before {
        save(outbox, row, is_notified)?;
    }
    Ok((settled.state, warning))
}

/// Brings a payout's rows of the ledger up to date. Until it is SENT it is reckoned as nothing.
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
    ledger::book(outbox, LedgerKind::FeeDifference, fee_sats - row.booked_fee_sats - fee_moves, about)?;
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

/// Where a version stands, and what rules it out.
pub(crate) fn facts(reader: &Reader<'_>, row: &VersionRow) -> Result<Version, StoreError> {
    Ok(Version {
        txid: row.txid,
        pays: row.pays,
        accepted: row.accepted_at.is_some(),
        position: row.position,
        conflict_height: conflict_height(reader, &row.tx, &row.txid, ANCESTORS_MAX)?,
    })
}

/// The twins that pay a payout, as far as they count. One that nobody signed counts only where a payout is SENT under its id: as
/// ruled out. Nor does what moves nothing of this wallet, and was there when people gave the payout up: they were told of it, so that it
/// was for something else.
fn payers_elsewhere(reader: &Reader<'_>, payout: &PayoutRow) -> Result<Vec<Version>, StoreError> {
    let given_up_at = payout.failed_at.filter(|_| payout.given_up_by.is_some());
    let was_for_something_else =
        |twin: &TwinRow| !twin.moves_ours && given_up_at.is_some_and(|given_up_at| twin.noticed_at <= given_up_at);
    let mut payers = Vec::new();
    for twin in reader.twins_of_payout(payout.seq)? {
        if was_for_something_else(&twin) {
            continue;
        }
        if signed::counts(reader, &twin)? || signed::has_sent(reader, &twin.txid)? {
            payers.push(twin_facts(reader, &twin)?);
        }
    }
    Ok(payers)
}

/// What pays a payout in our stead, so that nothing may be signed that pays it: another copy's transaction, wherever that stands, as
/// long as it may be mined. Of one that shows no signature of this wallet, as long as the mempool is said to hold it; once it is gone, until
/// staff release the sender that holds for it. For what moves nothing of this wallet nobody holds: that is waited for until a day after it
/// was noticed, for a copy that works offers again what drops out.
///
/// # Errors
/// When the database cannot be read.
pub(crate) fn paid_elsewhere(
    reader: &Reader<'_>,
    payout: &PayoutRow,
    tip_height: u32,
) -> Result<Option<TwinRow>, StoreError> {
    first_twin(reader, payout, tip_height, |twin| is_waited_for(reader, twin))
}

/// The same of what is signed and stored: whether that must not be broadcast. What moves nothing of this wallet and stands in no block
/// keeps back nothing that a node ever took: it left before. A payee who pays himself would else hold up all whose payouts share the
/// transaction, in the mempool and out of it as often as he likes; what no node took yet he holds up for a day at most.
///
/// # Errors
/// When the database cannot be read.
pub(crate) fn is_held_back_for(reader: &Reader<'_>, payout: &PayoutRow, tip_height: u32) -> Result<bool, StoreError> {
    let first = first_twin(reader, payout, tip_height, |twin| {
        if twin.moves_ours {
            return is_in_mempool_or_held(reader, twin);
        }
        Ok(!twin.position.is_in_block() && is_waited_for(reader, twin)? && never_left(reader, payout)?)
    })?;
    Ok(first.is_some())
}

/// The first twin of a payout that may be mined, and that either counts or is to be reckoned with all the same.
fn first_twin(
    reader: &Reader<'_>,
    payout: &PayoutRow,
    tip_height: u32,
    is_reckoned_with: impl Fn(&TwinRow) -> Result<bool, StoreError>,
) -> Result<Option<TwinRow>, StoreError> {
    for twin in reader.twins_of_payout(payout.seq)? {
        let may_be_mined = !twin_facts(reader, &twin)?.is_ruled_out(tip_height);
        if may_be_mined && (signed::counts(reader, &twin)? || is_reckoned_with(&twin)?) {
            return Ok(Some(twin));
        }
    }
    Ok(None)
}

/// Whether a twin that is in no block is waited for: it is said to wait, or moves nothing of this wallet and was noticed a short time ago.
fn is_waited_for(reader: &Reader<'_>, twin: &TwinRow) -> Result<bool, StoreError> {
    let looked_at = reader.watched_chain()?.map_or(twin.noticed_at, |watched| watched.looked_at);
    Ok(is_in_mempool_or_held(reader, twin)? || (!twin.moves_ours && looked_at < awaited_until(twin)))
}

/// Whether no node ever took what is signed for a payout, since a day at most.
fn never_left(reader: &Reader<'_>, payout: &PayoutRow) -> Result<bool, StoreError> {
    let looked_at = reader.watched_chain()?.map(|watched| watched.looked_at);
    let versions = payout.batch_seq.map_or_else(|| Ok(Vec::new()), |batch_seq| reader.versions(batch_seq))?;
    let is_young = |at: Timestamp| looked_at.is_none_or(|looked_at| looked_at < at.plus_ms(AWAITED_FOR_MS));
    let was_never_taken = |version: &VersionRow| version.accepted_at.is_none() && version.position == Position::Absent;
    Ok(versions.iter().all(was_never_taken)
        && versions.iter().map(|version| version.created_at).min().is_some_and(is_young))
}

/// Until when what moves nothing of this wallet is waited for where nothing shows it any more.
pub(crate) const fn awaited_until(twin: &TwinRow) -> Timestamp {
    twin.noticed_at.plus_ms(AWAITED_FOR_MS)
}

/// Whether a twin is said to be in the mempool, or staff are to say what becomes of it.
fn is_in_mempool_or_held(reader: &Reader<'_>, twin: &TwinRow) -> Result<bool, StoreError> {
    Ok(twin.position == Position::Mempool || reader.sender_hold()?.is_some())
}

/// Whether a transaction is a twin that moves nothing of this wallet.
fn is_by_stranger(reader: &Reader<'_>, txid: Option<Txid>) -> Result<bool, StoreError> {
    let twin = txid.map_or(Ok(None), |txid| reader.twin(&txid))?;
    Ok(twin.is_some_and(|twin| !twin.moves_ours))
}

/// Where a twin stands, and what rules it out: from the beginning, where nobody signed it who may spend what it spends.
fn twin_facts(reader: &Reader<'_>, twin: &TwinRow) -> Result<Version, StoreError> {
    let TwinRow { txid, position, .. } = *twin;
    if !position.is_in_block() && signed::twin_by_this_wallet(reader, twin)? == Fact::No {
        let position = Position::Absent;
        return Ok(Version { txid, pays: true, accepted: false, position, conflict_height: Some(0) });
    }
    let ours = conflict_height(reader, &twin.tx, &txid, ANCESTORS_MAX)?;
    let conflict_height = [twin.conflict_height, ours].into_iter().flatten().min();
    Ok(Version { txid, pays: true, accepted: false, position, conflict_height })
}

/// The lowest height of a block with a transaction that spends an input of this one, or of its unconfirmed ancestors as
/// far as they are ours. It is told from our coins, so that it is known of a transaction that no backend ever took.
fn conflict_height(
    reader: &Reader<'_>,
    tx: &Transaction,
    txid: &Txid,
    ancestors: u32,
) -> Result<Option<u32>, StoreError> {
    let mut lowest: Option<u32> = None;
    for outpoint in tx.input.iter().map(|input| input.previous_output) {
        let Some(coin) = reader.coin_facts(&outpoint)? else { continue };
        let spent_height = coin.spent_height.filter(|_| coin.spent_by.as_ref() != Some(txid));
        let of_parent = match coin.position {
            Position::Block { .. } | Position::Mempool => None,
            Position::Absent => match reader.version(&outpoint.txid)?.filter(|_| ancestors > 0) {
                Some(parent) => {
                    let above = conflict_height(reader, &parent.tx, &parent.txid, ancestors - 1)?;
                    [coin.conflict_height, above].into_iter().flatten().min()
                }
                None => coin.conflict_height,
            },
        };
        lowest = [lowest, spent_height, of_parent].into_iter().flatten().min();
    }
    Ok(lowest)
}

/// 21 million BTC are 2.1e15 satoshis, far below the range.
pub(super) fn sats(sats: u64) -> i64 {
    i64::try_from(sats).unwrap_or(i64::MAX)
}
