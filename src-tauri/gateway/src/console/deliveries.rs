//! Attempts to notify shops: listed, and notifications sent again.

use serde::{Deserialize, Serialize};
use tillgate_domain::notification::{NotificationState, SubjectKind};
use ts_rs::TS;

use super::ask::{Ask, Asker, id};
use super::error::CommandError;
use super::page::{Page, page_size};
use crate::notifications::resend;
use crate::store;

/// Lists attempts to notify, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct ListDeliveries {
    /// Only failed attempts.
    #[serde(default)]
    pub failed: bool,
    /// How many at most, 1 to 500.
    pub limit: u32,
    /// How many of the newest to pass over.
    pub offset: u32,
}

/// Queues a record's current snapshot again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct Resend {
    /// The id of a delivery, a payment, an anomaly or a payout.
    pub id: String,
}

/// One attempt to deliver a notification, or a notification that waits for its first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
#[serde(rename_all = "camelCase")]
pub struct DeliveryItem {
    /// The attempt's id.
    pub delivery_id: String,
    /// The notification's id, the same as in its header `webhook-id`.
    pub notification_id: String,
    /// The kind of the notification's record.
    pub subject_kind: SubjectKind,
    /// The id of the notification's record.
    pub subject_id: String,
    /// The URL that it is sent to.
    pub url: String,
    /// The number of the attempt; 0 for a notification that waits for its first attempt.
    pub attempt: u32,
    /// The time of the attempt; before the first, the time when it was queued. ISO 8601 with milliseconds.
    pub time: String,
    /// The duration of the attempt.
    #[ts(type = "number")]
    pub duration_ms: i64,
    /// The status of the server's answer.
    pub status_code: Option<u16>,
    /// The error of the attempt, for people.
    pub error: Option<String>,
    /// The first KiB of the server's answer.
    pub answer: Option<String>,
    /// The state of the notification.
    pub notification_state: NotificationState,
    /// The time of the next attempt.
    pub next_attempt_time: Option<String>,
}

/// The result of a resend.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct Resent {
    /// The number of queued notifications; 0 if there is none to send, or no URL.
    pub queued: u32,
}

impl From<&store::deliveries::DeliveryRow> for DeliveryItem {
    fn from(row: &store::deliveries::DeliveryRow) -> Self {
        Self {
            delivery_id: row.id.to_string(),
            notification_id: row.notification_id.to_string(),
            subject_kind: row.subject_kind,
            subject_id: row.subject_id.to_string(),
            url: row.url.clone(),
            attempt: row.attempt,
            time: row.at.iso_millis(),
            duration_ms: row.duration_ms,
            status_code: row.status_code,
            error: row.error.clone(),
            answer: row.answer.as_deref().map(|answer| String::from_utf8_lossy(answer).into_owned()),
            notification_state: row.notification_state,
            next_attempt_time: row.next_attempt_at.map(|at| at.iso_millis()),
        }
    }
}

impl Ask for ListDeliveries {
    type Answer = Page<DeliveryItem>;

    async fn answer(self, by: &Asker<'_>) -> Result<Page<DeliveryItem>, CommandError> {
        let limit = page_size(self.limit)?;
        by.read(move |_, reader| {
            let rows = reader.deliveries(self.failed, limit, self.offset)?;
            let items = rows.iter().map(DeliveryItem::from).collect();
            Ok(Page { items, items_count: reader.count_deliveries(self.failed)? })
        })
        .await
    }
}

impl Ask for Resend {
    type Answer = Resent;

    async fn answer(self, by: &Asker<'_>) -> Result<Resent, CommandError> {
        let record = id("id", &self.id)?;
        let queued = resend::resend_any(by.gateway(), record).await?;
        let nothing = || CommandError::not_found("delivery, payment, anomaly or payout", &record);
        Ok(Resent { queued: queued.ok_or_else(nothing)? })
    }
}
