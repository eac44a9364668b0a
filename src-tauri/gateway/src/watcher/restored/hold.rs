//! What people are to read before a restored copy that has looked sends anything: what another copy was seen to do, and what it
//! may have done without a trace in the chain. A payout that was given up since, and perhaps paid in cash, leaves none.

use tillgate_domain::anomaly::{AnomalyKind, Resolution};

use crate::store::anomalies::AnomalyFilter;
use crate::store::payouts::PayoutRow;
use crate::store::restore::{Restore, RestoreSource};
use crate::store::{Reader, StoreError};

/// Payouts that are named one by one: more would not be read, and lists tell of all.
const NAMED_MAX: usize = 5;

/// Payouts that are counted: a batch has no more.
const COUNTED_MAX: u32 = 5_000;

/// Why the sender of a copy that has looked holds; `None` where nothing was found and nothing waits: then it goes on by itself.
pub(super) fn reason(reader: &Reader<'_>, restore: &Restore) -> Result<Option<String>, StoreError> {
    let unsent = reader.unsent_payouts(COUNTED_MAX)?;
    let missing = reader.missing_payouts(COUNTED_MAX)?;
    if restore.unknown == 0 && unsent.is_empty() && missing.is_empty() {
        return Ok(None);
    }
    let source = match restore.source {
        RestoreSource::Words => "its words",
        RestoreSource::Backup => "a backup",
    };
    let mut reasons = format!("the wallet was restored from {source}");
    if restore.unknown > 0 {
        reasons.push_str(&found(restore));
        let open = refundable(reader)?;
        if open > 0 {
            let open = number(open, "anomaly is", "anomalies are");
            reasons.push_str(&format!(
                "; {open} open here that the other copy may have refunded: compare each with what was found before you refund it"
            ));
        }
    }
    if !unsent.is_empty() {
        // Not how many: that changes while it is read.
        reasons.push_str(
            "; approved payouts wait that may have been given up, or paid otherwise, since that was made: this copy does not know of \
             it, and sends what is not given up here",
        );
    }
    if !missing.is_empty() {
        let signed = number(missing.len() as u64, "payout is", "payouts are");
        reasons.push_str(&format!(
            "; {signed} signed, and neither in a block nor in the mempool: the same transaction goes out again ({})",
            names(&missing)
        ));
    }
    Ok(Some(reasons))
}

fn found(restore: &Restore) -> String {
    let found = number(
        u64::from(restore.unknown),
        "transaction of it was found that this copy did not know",
        "transactions of it were found that this copy did not know",
    );
    match restore.source {
        RestoreSource::Words => format!(", and {found}: make sure that no other copy of it works any more"),
        RestoreSource::Backup => format!(", and {found}: find the other copy that made them and stop it"),
    }
}

/// Anomalies that staff may refund.
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
