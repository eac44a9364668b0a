//! The reason of the hold, which staff read before a restored copy sends anything. It names the
//! acts of another copy. It names no waiting payouts, because staff may cancel them during the
//! hold, and no remedy, because the panel and the command line have different ones.

use tillgate_domain::anomaly::{AnomalyKind, Resolution};
use tillgate_store::anomalies::AnomalyFilter;
use tillgate_store::payouts::PayoutRow;
use tillgate_store::restore::{Restore, RestoreSource};
use tillgate_store::sender_hold::HoldReason;
use tillgate_store::{Reader, StoreError};
use tillgate_told::{Telling, Told};

/// Most payouts that are named: nobody would read more, and lists show all.
const NAMED_MAX: usize = 5;

/// Most payouts that are counted: a batch has no more.
const COUNTED_MAX: u32 = 5_000;

/// A part of the reason.
#[derive(Debug, thiserror::Error, Told)]
pub enum HeldAfterScan {
    #[error(
        "the wallet was restored from a backup, and the look found no transaction that was made after it; the last ones may not be in a block yet, so wait for a few blocks first"
    )]
    NoneAfterBackup,
    #[error("{count} {} made after this backup", noun(*.count, "transaction was", "transactions were"))]
    AfterBackup { count: u64 },
    #[error("{count} {} to addresses that this copy does not know", noun(*.count, "payment came", "payments came"))]
    Payments { count: u64 },
    #[error("the wallet was restored from its words")]
    OfWords,
    #[error(
        "the wallet was restored from its words, and the chain holds {count} {} of this wallet",
        noun(*.count, "transaction", "transactions")
    )]
    Found { count: u64 },
    #[error(
        "{count} {} open here that the other copy may have refunded: compare before you refund",
        noun(*.count, "anomaly is", "anomalies are")
    )]
    Refundable { count: u64 },
    #[error(
        "{count} {} signed, and neither in a block nor in the mempool: the same transaction is rebroadcast ({ids})",
        noun(*.count, "payout is", "payouts are")
    )]
    Missing { count: u64, ids: String },
}

/// Why the sender of a scanned copy holds. A copy from a backup always holds, since the old machine
/// may still run. A copy from words continues (`None`) if nothing was found and nothing waits.
pub fn reason(reader: &Reader<'_>, restore: &Restore) -> Result<Option<Telling>, StoreError> {
    let unsent = reader.unsent_payouts(COUNTED_MAX)?;
    let missing = reader.missing_payouts(COUNTED_MAX)?;
    if restore.source == RestoreSource::Words
        && restore.unknown == 0
        && unsent.is_empty()
        && missing.is_empty()
    {
        return Ok(None);
    }
    let mut reasons = match restore.source {
        RestoreSource::Backup => after_backup(
            u64::from(restore.unknown),
            reader.twins_noticed_since_count(restore.begun_at)?,
        ),
        RestoreSource::Words if restore.unknown == 0 => vec![HeldAfterScan::OfWords],
        RestoreSource::Words => vec![HeldAfterScan::Found { count: u64::from(restore.unknown) }],
    };
    let open = if restore.unknown > 0 { refundable(reader)? } else { 0 };
    if open > 0 {
        reasons.push(HeldAfterScan::Refundable { count: open });
    }
    if !missing.is_empty() {
        reasons.push(HeldAfterScan::Missing { count: missing.len() as u64, ids: names(&missing) });
    }
    let all = reasons.iter().map(Told::telling);
    Ok(all.reduce(|first, next| HoldReason::Both { first, next }.telling()))
}

/// The reasons after a backup. `listed` transactions are in the list of twins; the other `unknown`
/// ones are payments.
fn after_backup(unknown: u64, listed: u64) -> Vec<HeldAfterScan> {
    let made = match listed {
        0 => HeldAfterScan::NoneAfterBackup,
        count => HeldAfterScan::AfterBackup { count },
    };
    let payments = unknown.saturating_sub(listed);
    std::iter::once(made)
        .chain((payments > 0).then_some(HeldAfterScan::Payments { count: payments }))
        .collect()
}

/// Count of open anomalies that staff may refund.
fn refundable(reader: &Reader<'_>) -> Result<u64, StoreError> {
    let open = |kind| AnomalyFilter {
        kind,
        resolution: Some(Resolution::Open),
        ..AnomalyFilter::default()
    };
    let reversed = reader.anomalies_count(&open(Some(AnomalyKind::ReversedPayment)))?;
    Ok(reader.anomalies_count(&open(None))?.saturating_sub(reversed))
}

const fn noun(count: u64, one: &'static str, many: &'static str) -> &'static str {
    if count == 1 { one } else { many }
}

fn names(payouts: &[PayoutRow]) -> String {
    let named: Vec<_> =
        payouts.iter().take(NAMED_MAX).map(|payout| payout.id.to_string()).collect();
    match payouts.len().saturating_sub(NAMED_MAX) {
        0 => named.join(", "),
        _ => format!("{}, …", named.join(", ")),
    }
}
