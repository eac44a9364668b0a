//! The stored transaction to replace on behalf of staff, and the checks that it may be replaced.

use tillgate_domain::id::Id;
use tillgate_domain::payout::PayoutState;
use tillgate_store::batches::VersionRow;
use tillgate_store::payouts::PayoutRow;
use tillgate_store::{Reader, StoreError};

use super::error::NotReplaceable;
use super::error::ReplaceError;
use crate::funds;
use crate::sender::double_payments::is_held_back;
use crate::sender::stuck::ruled_out_at;

/// A batch whose transaction is replaced.
pub struct Target {
    pub batch_seq: i64,
    pub payouts: Vec<PayoutRow>,
    pub versions: Vec<VersionRow>,
    /// Batches that spend its change, directly or through each other, the nearest first. An
    /// abandonment cancels them too. Empty for a bump.
    pub descendants: Vec<i64>,
    /// All affected payouts, also those of `descendants`.
    pub affected: Vec<Id>,
}

impl Target {
    pub fn pays_sats(&self) -> u64 {
        self.payouts.iter().fold(0, |sum, payout| sum.saturating_add(payout.amount_sats))
    }

    /// Whether the target is still the one that was read before.
    pub fn is_unchanged_since(&self, before: &Self) -> bool {
        self.batch_seq == before.batch_seq
            && self.versions.len() == before.versions.len()
            && self.affected == before.affected
    }
}

/// Checks that a bump of the payout is allowed.
pub fn may_bump(reader: &Reader<'_>, payout: &PayoutRow) -> Result<(), ReplaceError> {
    bump_target(reader, payout)?;
    may_sign(reader)
}

/// Checks that the payout may be cancelled, with all payouts that share its transaction.
pub fn may_abandon(reader: &Reader<'_>, payout: &PayoutRow) -> Result<(), ReplaceError> {
    match abandon_target(reader, payout, true)? {
        Some(_) => may_sign(reader),
        None => Ok(()),
    }
}

pub fn may_sign(reader: &Reader<'_>) -> Result<(), ReplaceError> {
    reader.sender_hold()?.map_or(Ok(()), |hold| Err(hold.into()))
}

pub fn bump_target(reader: &Reader<'_>, payout: &PayoutRow) -> Result<Target, ReplaceError> {
    let batch_seq =
        payout.batch_seq.ok_or(ReplaceError::State(payout.state, why_no_batch(payout)))?;
    may_replace(reader, payout, &target(reader, batch_seq)?)?;
    let last = target(reader, last_along_the_change(reader, batch_seq)?)?;
    if last.batch_seq != batch_seq && last.versions.iter().any(|version| !version.pays) {
        return Err(ReplaceError::State(payout.state, NotReplaceable::ChangeGivenUp));
    }
    may_replace(reader, payout, &last)?;
    // The replacement would pay a payout twice.
    if is_any_held_back(reader, &last.versions)? {
        return Err(ReplaceError::State(payout.state, NotReplaceable::PaidOtherwise));
    }
    Ok(last)
}

/// The transaction to replace; `None` if the payout has none yet.
pub fn abandon_target(
    reader: &Reader<'_>,
    payout: &PayoutRow,
    all: bool,
) -> Result<Option<Target>, ReplaceError> {
    let Some(batch_seq) = payout.batch_seq else {
        return match payout.state {
            PayoutState::Queued => Ok(None),
            PayoutState::New | PayoutState::Expired | PayoutState::Sent | PayoutState::Failed => {
                Err(ReplaceError::State(payout.state, why_no_batch(payout)))
            }
        };
    };
    let mut target = target(reader, batch_seq)?;
    may_replace(reader, payout, &target)?;
    target.descendants = along_the_change(reader, batch_seq)?;
    for descendant in &target.descendants {
        target
            .affected
            .extend(reader.payouts_of_batch(*descendant)?.iter().map(|payout| payout.id));
    }
    if target.affected.len() > 1 && !all {
        return Err(ReplaceError::Shared(target.affected));
    }
    Ok(Some(target))
}

const fn why_no_batch(payout: &PayoutRow) -> NotReplaceable {
    match payout.state {
        PayoutState::New | PayoutState::Expired => NotReplaceable::NotApproved,
        PayoutState::Queued => NotReplaceable::NothingStored,
        PayoutState::Sent => NotReplaceable::SentElsewhere,
        PayoutState::Failed => NotReplaceable::Over,
    }
}

fn target(reader: &Reader<'_>, batch_seq: i64) -> Result<Target, StoreError> {
    let payouts = reader.payouts_of_batch(batch_seq)?;
    let affected = payouts.iter().map(|payout| payout.id).collect();
    Ok(Target {
        batch_seq,
        payouts,
        versions: reader.versions(batch_seq)?,
        descendants: Vec::new(),
        affected,
    })
}

fn may_replace(
    reader: &Reader<'_>,
    payout: &PayoutRow,
    target: &Target,
) -> Result<(), ReplaceError> {
    let refused = |why| Err(ReplaceError::State(payout.state, why));
    match payout.state {
        PayoutState::New | PayoutState::Expired => return refused(NotReplaceable::NotApproved),
        PayoutState::Failed => return refused(NotReplaceable::Over),
        PayoutState::Queued | PayoutState::Sent => {}
    }
    if target.versions.iter().any(is_in_block) {
        return refused(NotReplaceable::Confirmed);
    }
    if target.versions.iter().any(|version| !version.pays) {
        return refused(NotReplaceable::GivenUp);
    }
    if let Some(newest) = target.versions.last()
        && funds::is_given_up(reader, &newest.txid)?
    {
        return refused(NotReplaceable::GivenUpWith);
    }
    if ruled_out_at(reader, &target.versions)?.is_some() {
        return refused(NotReplaceable::RuledOut);
    }
    Ok(())
}

fn is_in_block(version: &VersionRow) -> bool {
    version.position.is_in_block()
}

/// Whether one of these versions must not be broadcast, because another copy of the wallet pays one
/// of its payouts.
fn is_any_held_back(reader: &Reader<'_>, versions: &[VersionRow]) -> Result<bool, StoreError> {
    for version in versions {
        if is_held_back(reader, &version.txid)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn last_along_the_change(reader: &Reader<'_>, batch_seq: i64) -> Result<i64, StoreError> {
    Ok(along_the_change(reader, batch_seq)?.last().copied().unwrap_or(batch_seq))
}

/// The batches that spend this batch's change, directly or through each other, the nearest first.
/// They form one line, because a batch has at most one change output.
fn along_the_change(reader: &Reader<'_>, batch_seq: i64) -> Result<Vec<i64>, StoreError> {
    let (mut line, mut last) = (Vec::new(), batch_seq);
    'down: loop {
        for version in reader.versions(last)? {
            if let Some(next) =
                reader.live_batches_on(&version.txid)?.into_iter().find(|next| *next != last)
            {
                line.push(next);
                last = next;
                continue 'down;
            }
        }
        return Ok(line);
    }
}
