//! Deliveries: attempts to deliver notifications, stored for the panel.

use super::telling;
use rusqlite::{Row, params};
use tillgate_domain::id::Id;
use tillgate_domain::notification::{NotificationState, Outcome, SubjectKind};
use tillgate_domain::time::Timestamp;
use tillgate_told::Telling;

use super::error::StoreError;
use super::reader::Reader;
use super::tx::Tx;
use super::values;

/// An attempt to record.
#[derive(Debug, Clone)]
pub struct NewDelivery {
    pub id: Id,
    /// Number of the attempt, from 1.
    pub attempt: u32,
    /// When it started, on the environment's clock.
    pub started_at: Timestamp,
    pub duration_ms: i64,
    /// HTTP status of the server's answer, if there was one.
    pub status_code: Option<u16>,
    /// A sentence that says why it failed; `None` after a success.
    pub error: Option<Telling>,
    /// The first KiB of the answer's body.
    pub answer: Option<Vec<u8>>,
}

/// An attempt, or a notification without an attempt. The latter has `attempt` 0 and the
/// notification's `id`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryRow {
    pub id: Id,
    pub notification_id: Id,
    pub subject_kind: SubjectKind,
    pub subject_id: Id,
    pub url: String,
    /// The notification's body; `None` once it was removed to save space.
    pub body: Option<Vec<u8>>,
    /// Number of the attempt, from 1; 0 without an attempt.
    pub attempt: u32,
    /// When the attempt started, or when the waiting notification was queued, on the environment's
    /// clock.
    pub at: Timestamp,
    pub duration_ms: i64,
    pub status_code: Option<u16>,
    pub error: Option<Telling>,
    pub answer: Option<Vec<u8>>,
    pub notification_state: NotificationState,
    /// When the notification is tried again.
    pub next_attempt_at: Option<Timestamp>,
}

const COLUMNS_OF_DELIVERY: &str = "d.id AS id, n.id AS notification_id, n.subject_kind AS subject_kind, \
     n.subject_id AS subject_id, n.url AS url, n.body AS body, d.attempt AS attempt, d.started_at AS at, \
     d.duration_ms AS duration_ms, d.status_code AS status_code, d.error AS error, d.answer AS answer, \
     n.state AS state, n.next_attempt_at AS next_attempt_at";

const COLUMNS_OF_WAITING: &str = "n.id AS id, n.id AS notification_id, n.subject_kind AS subject_kind, \
     n.subject_id AS subject_id, n.url AS url, n.body AS body, 0 AS attempt, n.queued_at AS at, 0 AS duration_ms, \
     NULL AS status_code, NULL AS error, NULL AS answer, n.state AS state, n.next_attempt_at AS next_attempt_at";

impl Tx<'_> {
    /// Records an attempt and its outcome. `ended_at` is on the environment's clock.
    ///
    /// # Errors
    /// Fails when it cannot be stored, or the notification is unknown.
    pub fn record_attempt(
        &self,
        notification_seq: i64,
        delivery: &NewDelivery,
        outcome: Outcome,
        ended_at: Timestamp,
    ) -> Result<(), StoreError> {
        self.insert_delivery(notification_seq, delivery)?;
        self.count_attempt(notification_seq, outcome, ended_at)
    }

    fn insert_delivery(&self, notification_seq: i64, new: &NewDelivery) -> Result<(), StoreError> {
        self.connection
            .prepare_cached(
                "INSERT INTO deliveries (id, notification_seq, attempt, started_at, duration_ms, status_code, error,
                 answer) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            )?
            .execute(params![
                new.id.as_bytes(),
                notification_seq,
                new.attempt,
                new.started_at.ms(),
                new.duration_ms,
                new.status_code,
                new.error.as_ref().map(telling::written),
                new.answer,
            ])?;
        Ok(())
    }
}

impl Reader<'_> {
    /// Number of all attempts, or of the failed ones.
    pub fn count_deliveries(&self, failed: bool) -> Result<u64, StoreError> {
        let sql = if failed {
            "SELECT count(*) FROM deliveries WHERE error IS NOT NULL"
        } else {
            "SELECT count(*) FROM deliveries"
        };
        Ok(self.connection.prepare_cached(sql)?.query_row([], |row| row.get(0))?)
    }

    /// A page of the attempts, newest first; with `failed` only the failed ones.
    pub fn deliveries(
        &self,
        failed: bool,
        limit: u32,
        offset: u32,
    ) -> Result<Vec<DeliveryRow>, StoreError> {
        let only = if failed { "WHERE d.error IS NOT NULL" } else { "" };
        self.rows(
            &format!(
                "SELECT {COLUMNS_OF_DELIVERY} FROM deliveries d JOIN notifications n ON n.seq = d.notification_seq
                 {only} ORDER BY d.seq DESC LIMIT ?1 OFFSET ?2"
            ),
            (limit, offset),
        )
    }

    /// The newest `limit` deliveries of a record; notifications without an attempt come first.
    pub fn deliveries_of(
        &self,
        subject_id: &Id,
        limit: u32,
    ) -> Result<Vec<DeliveryRow>, StoreError> {
        let mut rows = self.rows(
            &format!(
                "SELECT {COLUMNS_OF_WAITING} FROM notifications n
                 WHERE n.subject_id = ?1 AND n.state = 'WAITING' AND n.attempts = 0 ORDER BY n.seq DESC LIMIT ?2"
            ),
            (subject_id.as_bytes(), limit),
        )?;
        let taken = u32::try_from(rows.len()).unwrap_or(u32::MAX);
        rows.extend(self.rows(
            &format!(
                "SELECT {COLUMNS_OF_DELIVERY} FROM notifications n JOIN deliveries d ON d.notification_seq = n.seq
                 WHERE n.subject_id = ?1 ORDER BY d.seq DESC LIMIT ?2"
            ),
            (subject_id.as_bytes(), limit.saturating_sub(taken)),
        )?);
        Ok(rows)
    }

    /// The record that a delivery or a notification is about.
    pub fn subject_of_delivery(&self, id: &Id) -> Result<Option<(SubjectKind, Id)>, StoreError> {
        self.connection
            .prepare_cached(
                "SELECT subject_kind, subject_id FROM notifications
                 WHERE seq = ifnull((SELECT notification_seq FROM deliveries WHERE id = ?1),
                                    (SELECT seq FROM notifications WHERE id = ?1))",
            )?
            .query_and_then([id.as_bytes()], |row| {
                Ok((values::parsed(row, "subject_kind")?, values::id(row, "subject_id")?))
            })?
            .next()
            .transpose()
    }

    fn rows(
        &self,
        sql: &str,
        arguments: impl rusqlite::Params,
    ) -> Result<Vec<DeliveryRow>, StoreError> {
        self.connection.prepare_cached(sql)?.query_and_then(arguments, delivery)?.collect()
    }
}

fn delivery(row: &Row<'_>) -> Result<DeliveryRow, StoreError> {
    let status_code: Option<i64> = row.get("status_code")?;
    Ok(DeliveryRow {
        id: values::id(row, "id")?,
        notification_id: values::id(row, "notification_id")?,
        subject_kind: values::parsed(row, "subject_kind")?,
        subject_id: values::id(row, "subject_id")?,
        url: row.get("url")?,
        body: row.get("body")?,
        attempt: values::number(row, "attempt")?,
        at: values::time(row, "at")?,
        duration_ms: row.get("duration_ms")?,
        status_code: status_code
            .map(u16::try_from)
            .transpose()
            .map_err(|_| StoreError::BadValue("deliveries.status_code"))?,
        error: row.get::<_, Option<String>>("error")?.map(telling::from_column),
        answer: row.get("answer")?,
        notification_state: values::parsed(row, "state")?,
        next_attempt_at: values::optional_time(row, "next_attempt_at")?,
    })
}
