//! Alarms about payouts: a FAILED payout was sent, a payout was paid twice, or another copy of the
//! wallet sent a payout. Each alarm is shown until staff dismiss it.

use serde::{Deserialize, Serialize};
use tillgate_gateway::gateway::StaffWarning;
use tillgate_gateway::payouts;
use tillgate_store::alarms::{Alarm, AlarmKind};
use tillgate_store::{Reader, StoreError};
use tillgate_told::{Telling, Told as _};
use ts_rs::TS;

use super::ask::{Ask, Asker, id};
use super::error::CommandError;
use crate::refusal::NotFound;

/// Dismisses all alarms of a payout.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct DismissAlarm {
    pub payout_id: String,
}

/// The alarms that are not dismissed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct AlarmsView {
    /// The oldest first.
    pub alarms: Vec<AlarmItem>,
}

/// An alarm about a payout.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct AlarmItem {
    pub payout_id: String,
    /// The event and the remedy, in a sentence.
    pub message: Telling,
    /// The time of the event, ISO 8601.
    pub time: String,
}

impl Ask for DismissAlarm {
    type Answer = AlarmsView;

    async fn answer(self, by: &Asker<'_>) -> Result<AlarmsView, CommandError> {
        let id = id("payoutId", &self.payout_id)?;
        if !payouts::dismiss_alarms(by.gateway(), id, by.actor).await? {
            return Err(CommandError::not_found(&NotFound::Alarm(id)));
        }
        by.read(|_, reader| Ok(AlarmsView { alarms: alarms(reader)? })).await
    }
}

/// The alarms that are not dismissed, the oldest first.
pub fn alarms(reader: &Reader<'_>) -> Result<Vec<AlarmItem>, StoreError> {
    Ok(reader.alarms()?.iter().map(AlarmItem::from_alarm).collect())
}

impl AlarmItem {
    fn from_alarm(alarm: &Alarm) -> Self {
        let payout_id = alarm.payout_id;
        let what = match alarm.kind {
            AlarmKind::FailedPayoutWasSent => StaffWarning::FailedPayoutWasSent { payout_id },
            AlarmKind::PayoutPaidTwice => StaffWarning::PayoutPaidTwice { payout_id },
            AlarmKind::PayoutSentByCopy => StaffWarning::PayoutSentByCopy { payout_id },
        };
        Self {
            payout_id: payout_id.to_string(),
            message: what.telling(),
            time: alarm.at.iso_seconds(),
        }
    }
}
