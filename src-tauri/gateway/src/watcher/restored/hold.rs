//! The reason of the hold, which staff read before a restored copy sends anything. It names the acts of another copy.
//! It names no waiting payouts, because staff may cancel them during the hold, and no remedy, because the panel and the
//! command line have different ones.

use tillgate_domain::anomaly::{AnomalyKind, Resolution};

use crate::store::anomalies::AnomalyFilter;
use crate::store::payouts::PayoutRow;
use crate::store::restore::{Restore, RestoreSource};
use crate::store::{Reader, StoreError};

/// Most payouts that are named: nobody would read more, and lists show all.
const NAMED_MAX: usize = 5;

/// Most payouts that are counted: a batch has no more.
const COUNTED_MAX: u32 = 5_000;

/// Why the sender of a scanned copy holds. A copy from a backup always holds, since the old machine may still run. A
/// copy from words continues (`None`) if nothing was found and nothing waits.
pub(super) fn reason(reader: &Reader<'_>, restore: &Restore) -> Result<Option<String>, StoreError> {
    let unsent = reader.unsent_payouts(COUNTED_MAX)?;
    let missing = reader.missing_payouts(COUNTED_MAX)?;
    if restore.source == RestoreSource::Words && restore.unknown == 0 && unsent.is_empty() && missing.is_empty() {
        return Ok(None);
    }
    let mut reasons = match restore.source {
        RestoreSource::Backup => {
            after_backup(u64::from(restore.unknown), reader.twins_noticed_since_count(restore.begun_at)?)
        }
        RestoreSource::Words => of_words(u64::from(restore.unknown)),
    };
    let open = if restore.unknown > 0 { refundable(reader)? } else { 0 };
    if open > 0 {
        let open = number(open, "anomaly is", "anomalies are");
        reasons
            .push_str(&format!(". {open} open here that the other copy may have refunded: compare before you refund"));
    }
    if !missing.is_empty() {
        let signed = number(missing.len() as u64, "payout is", "payouts are");
        reasons.push_str(&format!(
            ". {signed} signed, and neither in a block nor in the mempool: the same transaction is rebroadcast ({})",
            names(&missing)
        ));
    }
    Ok(Some(reasons))
}

/// The reason after a backup. `listed` transactions are in the list of twins; the other `unknown` ones are payments.
fn after_backup(unknown: u64, listed: u64) -> String {
    let mut reasons = match listed {
        0 => "the wallet was restored from a backup, and no transaction was made after it".to_owned(),
        _ => format!("{} made after this backup", number(listed, "transaction was", "transactions were")),
    };
    let payments = unknown.saturating_sub(listed);
    if payments > 0 {
        let came = number(payments, "payment came", "payments came");
        reasons.push_str(&format!(". {came} to addresses that this copy does not know"));
    }
    reasons
}

fn of_words(unknown: u64) -> String {
    if unknown == 0 {
        return "the wallet was restored from its words".to_owned();
    }
    let found = number(unknown, "transaction", "transactions");
    format!("the wallet was restored from its words, and the chain holds {found} of this wallet")
}

/// Count of open anomalies that staff may refund.
fn refundable(reader: &Reader<'_>) -> Result<u64, StoreError> {
    let open = |kind| AnomalyFilter { kind, resolution: Some(Resolution::Open), ..AnomalyFilter::default() };
    let reversed = reader.anomalies_count(&open(Some(AnomalyKind::ReversedPayment)))?;
    Ok(reader.anomalies_count(&open(None))?.saturating_sub(reversed))
}

fn number(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

fn names(payouts: &[PayoutRow]) -> String {
    let named: Vec<_> = payouts.iter().take(NAMED_MAX).map(|payout| payout.id.to_string()).collect();
    match payouts.len().saturating_sub(NAMED_MAX) {
        0 => named.join(", "),
        others => format!("{} and {others} more", named.join(", ")),
    }
}
