//! Alarms about payouts that ended against a promise, shown until staff dismiss them.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::ask::{Ask, Asker, id};
use super::error::CommandError;
use crate::gateway::StaffWarning;
use crate::payouts;
use crate::store::alarms::{Alarm, AlarmKind};
use crate::store::{Reader, StoreError};

/// Confirms that staff know of a payout's alarms, so that these are shown no more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
#[serde(rename_all = "camelCase")]
pub struct DismissAlarm {
    /// The payout's id.
    pub payout_id: String,
}

/// The remaining alarms.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct AlarmsView {
    /// The oldest first.
    pub alarms: Vec<AlarmItem>,
}

/// An alarm about a payout.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
#[serde(rename_all = "camelCase")]
pub struct AlarmItem {
    /// The payout's id.
    pub payout_id: String,
    /// A sentence that says what happened, and the remedy.
    pub message: String,
    /// The time of the event, ISO 8601.
    pub time: String,
}

impl Ask for DismissAlarm {
    type Answer = AlarmsView;

    async fn answer(self, by: &Asker<'_>) -> Result<AlarmsView, CommandError> {
        let id = id("payoutId", &self.payout_id)?;
        if !payouts::dismiss_alarms(by.gateway(), id, by.actor).await? {
            return Err(CommandError::not_found("alarm about payout", &id));
        }
        by.read(|_, reader| Ok(AlarmsView { alarms: alarms(reader)? })).await
    }
}

/// The alarms that were not dismissed.
pub(super) fn alarms(reader: &Reader<'_>) -> Result<Vec<AlarmItem>, StoreError> {
    Ok(reader.alarms()?.iter().map(AlarmItem::of).collect())
}

impl AlarmItem {
    fn of(alarm: &Alarm) -> Self {
        let payout_id = alarm.payout_id;
        let what = match alarm.kind {
            AlarmKind::FailedPayoutWasSent => StaffWarning::FailedPayoutWasSent { payout_id },
            AlarmKind::PayoutPaidTwice => StaffWarning::PayoutPaidTwice { payout_id },
            AlarmKind::PayoutSentByCopy => StaffWarning::PayoutSentByCopy { payout_id },
        };
        Self { payout_id: payout_id.to_string(), message: what.to_string(), time: alarm.at.iso_seconds() }
    }
}
