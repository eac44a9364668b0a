//! Lists deliveries, the attempts to send notifications, and sends notifications again.

use serde::{Deserialize, Serialize};
use tillgate_domain::notification::{NotificationState, SubjectKind};
use tillgate_gateway::notifications::resend;
use tillgate_store::deliveries::DeliveryRow;
use tillgate_told::Telling;
use ts_rs::TS;

use super::ask::{Ask, Asker, id};
use super::error::CommandError;
use super::page::{Page, page_size};
use crate::refusal::NotFound;

/// Lists deliveries, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct ListDeliveries {
    /// Only failed deliveries.
    #[serde(default)]
    pub failed: bool,
    /// Most deliveries to list, 1 to 500.
    pub limit: u32,
    /// Number of the newest deliveries to skip.
    pub offset: u32,
}

/// Queues a notification with the current state of a record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct Resend {
    /// The id of a delivery, a payment, an anomaly or a payout.
    pub id: String,
}

/// One attempt to deliver a notification, or a notification before its first attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct DeliveryItem {
    /// The attempt's id.
    pub delivery_id: String,
    /// The notification's id, as in its header `webhook-id`.
    pub notification_id: String,
    /// The kind of the record that the notification reports: payment, anomaly or payout.
    pub subject_kind: SubjectKind,
    /// The id of that record.
    pub subject_id: String,
    /// The URL that the notification is sent to.
    pub url: String,
    /// The JSON text that is sent; absent once it was removed to save space.
    #[serde(default)]
    pub body: Option<String>,
    /// The number of the attempt, from 1; 0 before the first attempt.
    pub attempt: u32,
    /// When the attempt began, or when the notification was queued if `attempt` is 0. ISO 8601 with
    /// milliseconds.
    pub time: String,
    #[ts(type = "number")]
    pub duration_ms: i64,
    /// The HTTP status of the server's answer.
    pub status_code: Option<u16>,
    /// The reason why the attempt failed, for people.
    pub error: Option<Telling>,
    /// The first KiB of the server's answer.
    pub answer: Option<String>,
    pub notification_state: NotificationState,
    /// The time of the next attempt, ISO 8601 with milliseconds.
    pub next_attempt_time: Option<String>,
}

/// The result of a resend.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct Resent {
    /// The number of notifications queued. It is 0 if the record has nothing to report or no URL.
    pub queued: u32,
}

impl From<&DeliveryRow> for DeliveryItem {
    fn from(row: &DeliveryRow) -> Self {
        Self {
            delivery_id: row.id.to_string(),
            notification_id: row.notification_id.to_string(),
            subject_kind: row.subject_kind,
            subject_id: row.subject_id.to_string(),
            url: row.url.clone(),
            body: row.body.as_deref().map(|body| String::from_utf8_lossy(body).into_owned()),
            attempt: row.attempt,
            time: row.at.iso_millis(),
            duration_ms: row.duration_ms,
            status_code: row.status_code,
            error: row.error.clone(),
            answer: row
                .answer
                .as_deref()
                .map(|answer| String::from_utf8_lossy(answer).into_owned()),
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
        let nothing = || CommandError::not_found(&NotFound::Record(record));
        Ok(Resent { queued: queued.ok_or_else(nothing)? })
    }
}
