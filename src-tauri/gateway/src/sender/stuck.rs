//! Payouts that do not arrive. They are computed from stored facts whenever they are shown. So a
//! restart loses none, and a payout is reported only while its cause lasts.

use tillgate_domain::batch::Position;
use tillgate_domain::payout::PayoutState;
use tillgate_domain::time::Timestamp;
use tillgate_store::batches::VersionRow;
use tillgate_store::payouts::PayoutRow;
use tillgate_store::{Reader, StoreError};

use super::payout_rebroadcasts::to_broadcast;
use crate::settings::Settings;
use crate::settlement::batches;

const HOUR_MS: i64 = 3_600_000;

/// Time within which an accepted transaction shows in the backend's mempool. A node with
/// `-privatebroadcast` shows it once another node sends it back.
const SEEN_WITHIN_MS: i64 = 10 * 60_000;

/// Why a payout does not arrive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StuckCause {
    /// A backend accepted its transaction this many hours ago, and no block holds the transaction.
    Unconfirmed { hours: u64 },
    /// The backend refused its transaction with these words; `None` if the reason was a spend of
    /// its coins by another transaction in a block.
    Refused { words: Option<String> },
    /// The backend accepted its transaction at this time, but the last look did not find it in the
    /// mempool.
    Unseen { taken_at: Timestamp },
    /// The block of this height holds another transaction that spends its coins.
    RuledOut { height: u32 },
}

/// A payout that does not arrive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stuck {
    pub payout: PayoutRow,
    pub cause: StuckCause,
    /// The version to broadcast.
    pub offered: VersionRow,
}

/// All payouts that do not arrive, those of the oldest transaction first.
pub fn stuck(
    reader: &Reader<'_>,
    settings: &Settings,
    now: Timestamp,
) -> Result<Vec<Stuck>, StoreError> {
    let (mut stuck, looked_at) = (Vec::new(), looked_at(reader)?);
    for batch_seq in reader.pending_batches()? {
        let versions = reader.versions(batch_seq)?;
        for payout in reader.payouts_of_batch(batch_seq)? {
            stuck.extend(judge(reader, payout, &versions, settings, (now, looked_at))?);
        }
    }
    Ok(stuck)
}

/// Reason why this payout does not arrive; `None` if it should still arrive.
pub fn stuck_of(
    reader: &Reader<'_>,
    payout: &PayoutRow,
    settings: &Settings,
    now: Timestamp,
) -> Result<Option<Stuck>, StoreError> {
    match payout.batch_seq {
        Some(batch_seq) if is_on_its_way(payout) => judge(
            reader,
            payout.clone(),
            &reader.versions(batch_seq)?,
            settings,
            (now, looked_at(reader)?),
        ),
        Some(_) | None => Ok(None),
    }
}

/// Lowest height of a block with a conflicting transaction, if such blocks rule out all these
/// versions. Then no replacement can be mined either.
pub fn ruled_out_at(
    reader: &Reader<'_>,
    versions: &[VersionRow],
) -> Result<Option<u32>, StoreError> {
    if versions.iter().any(|version| version.position.is_in_block()) {
        return Ok(None);
    }
    let mut lowest: Option<u32> = None;
    for version in versions {
        let Some(height) = batches::facts(reader, version)?.conflict_height else {
            return Ok(None);
        };
        lowest = Some(lowest.map_or(height, |lowest| lowest.min(height)));
    }
    Ok(lowest)
}

fn judge(
    reader: &Reader<'_>,
    payout: PayoutRow,
    versions: &[VersionRow],
    settings: &Settings,
    (now, looked_at): (Timestamp, Option<Timestamp>),
) -> Result<Option<Stuck>, StoreError> {
    let is_in_block = versions.iter().any(|version| version.position.is_in_block());
    if is_in_block || !is_on_its_way(&payout) || is_by_another(&payout, versions) {
        return Ok(None);
    }
    let Some(offered) = to_broadcast(reader, versions)?.cloned() else { return Ok(None) };
    let refusal = offered.refusal.as_ref().filter(|_| offered.position == Position::Absent);
    let hours = hours_since_sent(&payout, now)
        .filter(|hours| *hours >= u64::from(settings.stuck_after_hours));
    let cause = match (
        ruled_out_at(reader, versions)?,
        refusal,
        unseen_since(&offered, looked_at),
        hours,
    ) {
        (Some(height), ..) => StuckCause::RuledOut { height },
        (None, Some(refusal), ..) => StuckCause::Refused { words: refusal.words.clone() },
        (None, None, Some(taken_at), _) => StuckCause::Unseen { taken_at },
        (None, None, None, Some(hours)) => StuckCause::Unconfirmed { hours },
        (None, None, None, None) => return Ok(None),
    };
    Ok(Some(Stuck { payout, cause, offered }))
}

const fn is_on_its_way(payout: &PayoutRow) -> bool {
    match payout.state {
        PayoutState::Queued | PayoutState::Sent => true,
        PayoutState::New | PayoutState::Expired | PayoutState::Failed => false,
    }
}

fn is_by_another(payout: &PayoutRow, versions: &[VersionRow]) -> bool {
    payout.txid.is_some_and(|txid| !versions.iter().any(|version| version.txid == txid))
}

/// Whole hours since a backend first accepted a transaction of the payout.
fn hours_since_sent(payout: &PayoutRow, now: Timestamp) -> Option<u64> {
    let sent_at = payout.sent_at.filter(|_| payout.state == PayoutState::Sent)?;
    u64::try_from(now.ms().saturating_sub(sent_at.ms()) / HOUR_MS).ok()
}

/// Time of a transaction's acceptance, if a look at least `SEEN_WITHIN_MS` later did not find the
/// transaction.
fn unseen_since(version: &VersionRow, looked_at: Option<Timestamp>) -> Option<Timestamp> {
    let taken_at = version.accepted_at.filter(|_| version.position == Position::Absent)?;
    looked_at.filter(|looked_at| *looked_at >= taken_at.plus_ms(SEEN_WITHIN_MS)).map(|_| taken_at)
}

fn looked_at(reader: &Reader<'_>) -> Result<Option<Timestamp>, StoreError> {
    Ok(reader.watched_chain()?.map(|watched| watched.looked_at))
}
