//! The history of a payout, step by step.

use bitcoin::Txid;
use serde::{Deserialize, Serialize};
use tillgate_domain::payout::PayoutState;
use tillgate_domain::time::Timestamp;
use tillgate_store::batches::VersionRow;
use tillgate_store::payouts::PayoutRow;
use tillgate_told::Telling;
use ts_rs::TS;

/// The kind of a step in a payout's history.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum PayoutStep {
    /// It was requested.
    Offered,
    Approved,
    /// The offer expired, or staff rejected it.
    Expired,
    /// Its first transaction was signed and stored.
    Signed,
    /// A replacement with a higher fee was stored.
    Bumped,
    /// A replacement that pays the coins back to this wallet was stored.
    Abandoned,
    /// A backend accepted a transaction that pays it.
    Sent,
    /// It became FAILED.
    Failed,
}

/// One step in a payout's history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct StepItem {
    /// The time, ISO 8601 with milliseconds.
    pub time: String,
    pub step: PayoutStep,
    /// The person or API key that caused the step, if known.
    pub by: Option<String>,
    /// The transaction that was stored or sent.
    pub btc_tx_id: Option<String>,
    /// The reason of the steps `Failed` and `Expired`; absent if the offer expired by itself.
    pub reason: Option<Telling>,
}

/// The history of a payout with these transactions, the oldest step first.
pub fn history(row: &PayoutRow, versions: &[VersionRow]) -> Vec<StepItem> {
    let mut steps = vec![(row.created_at, step(PayoutStep::Offered, Some(&row.requested_by)))];
    steps.extend(
        row.approved_at.map(|at| (at, step(PayoutStep::Approved, row.approved_by.as_ref()))),
    );
    steps.extend(versions.iter().map(|version| {
        let kind = match (version.pays, version.number) {
            (false, _) => PayoutStep::Abandoned,
            (true, 1) => PayoutStep::Signed,
            (true, _) => PayoutStep::Bumped,
        };
        let btc_tx_id = Some(version.txid.to_string());
        (version.created_at, StepItem { btc_tx_id, ..step(kind, version.made_by.as_ref()) })
    }));
    steps.extend(row.sent_at.map(|at| {
        let btc_tx_id = sent_by(row, versions, at).map(|txid| txid.to_string());
        (at, StepItem { btc_tx_id, ..step(PayoutStep::Sent, None) })
    }));
    steps.extend(row.failed_at.map(|at| {
        let reason = row.failure_reason.clone();
        (at, StepItem { reason, ..step(PayoutStep::Failed, row.given_up_by.as_ref()) })
    }));
    if row.state == PayoutState::Expired {
        let reason = row.failure_reason.clone();
        steps.push((
            row.expires_at,
            StepItem { reason, ..step(PayoutStep::Expired, row.given_up_by.as_ref()) },
        ));
    }
    steps.sort_by_key(|(at, _)| *at);
    steps.into_iter().map(|(at, step)| StepItem { time: at.iso_millis(), ..step }).collect()
}

/// The newest transaction that paid a payout when it became SENT. If this wallet signed none,
/// another copy of the wallet sent the payout.
fn sent_by(row: &PayoutRow, versions: &[VersionRow], at: Timestamp) -> Option<Txid> {
    if versions.is_empty() {
        return row.txid;
    }
    versions
        .iter()
        .rev()
        .find(|version| version.pays && version.created_at <= at)
        .map(|version| version.txid)
}

fn step(step: PayoutStep, by: Option<&String>) -> StepItem {
    StepItem { time: String::new(), step, by: by.cloned(), btc_tx_id: None, reason: None }
}
