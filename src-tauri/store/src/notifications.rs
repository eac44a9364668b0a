//! The outbox: notifications, each with its body fixed in the transaction of its change.
//!
//! Notifications of one record (same subject, same URL) take turns; the current one is the *head*.
//! This module sends nothing and decides on no schedule.

use rusqlite::{OptionalExtension as _, Row, params};
use tillgate_domain::id::Id;
use tillgate_domain::notification::{NotificationState, Outcome, SubjectKind};
use tillgate_domain::time::Timestamp;

use super::error::StoreError;
use super::reader::Reader;
use super::tx::Tx;
use super::values;

#[derive(Debug, Clone)]
pub struct NewNotification {
    /// Its identifier: the `webhook-id` of all its attempts.
    pub id: Id,
    pub subject_kind: SubjectKind,
    pub subject_id: Id,
    /// The API key that made its payment; 0 for the panel.
    pub key_id: i64,
    pub url: String,
    /// The bytes to send: the record as GET returns it at this moment.
    pub body: Vec<u8>,
    /// Whether somebody requested it again, without a change of the record.
    pub is_resend: bool,
    pub at: Timestamp,
}

/// The kind of attempt that a notification waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// The first attempt.
    First,
    /// Another attempt, after a failed one.
    Again,
}

/// The head of a record, ready to be sent.
#[derive(Debug, Clone)]
pub struct DueNotification {
    /// Order of insertion.
    pub seq: i64,
    pub id: Id,
    pub subject_id: Id,
    pub key_id: i64,
    pub url: String,
    /// Its server in the form of [`server_of`].
    pub server: String,
    pub body: Vec<u8>,
    pub attempts: u32,
    /// When it became the head. Its schedule counts from this time.
    pub first_due_at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailingServer {
    /// Scheme, host and port.
    pub server: String,
    /// Number of notifications that wait for another attempt.
    pub notifications: u64,
}

/// The server (scheme, host, port) of a URL, as in the `server` column. All unreadable URLs count
/// as one server; each attempt at them fails.
#[must_use]
pub fn server_of(url: &str) -> String {
    match url::Url::parse(url) {
        Ok(url) => format!(
            "{}://{}:{}",
            url.scheme(),
            url.host_str().unwrap_or_default(),
            url.port_or_known_default().unwrap_or_default()
        ),
        Err(_) => "unreadable".to_owned(),
    }
}

impl Tx<'_> {
    /// Queues a notification, in the transaction of the change that it reports. If an attempt of
    /// the record's head has failed, the new notification supersedes the head; else it waits behind
    /// the head.
    ///
    /// A resend replaces the last waiting notification if that is a resend and not the head. So
    /// repeated requests leave one resend waiting.
    pub fn queue_notification(&self, new: &NewNotification) -> Result<(), StoreError> {
        if new.is_resend && self.replace_last_resend(new)? {
            return Ok(());
        }
        self.connection
            .prepare_cached(
                "INSERT INTO notifications (id, subject_kind, subject_id, key_id, url, server, body, queued_at, state, head,
                 is_resend) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, 'WAITING', 0, ?9)",
            )?
            .execute(params![
                new.id.as_bytes(),
                new.subject_kind.as_str(),
                new.subject_id.as_bytes(),
                new.key_id,
                new.url,
                server_of(&new.url),
                new.body,
                new.at.ms(),
                new.is_resend,
            ])?;
        self.connection
            .prepare_cached(
                "UPDATE notifications SET state = 'SUPERSEDED', head = 0, next_attempt_at = NULL
                 WHERE subject_id = ?1 AND url = ?2 AND head = 1 AND attempts > 0",
            )?
            .execute(params![new.subject_id.as_bytes(), new.url])?;
        self.give_turn(&new.subject_id, &new.url, new.at)
    }

    /// Replaces the body of the newest waiting notification, if that is a resend. The head stays
    /// unchanged, because its attempt may be under way.
    fn replace_last_resend(&self, new: &NewNotification) -> Result<bool, StoreError> {
        let replaced = self
            .connection
            .prepare_cached(
                "UPDATE notifications SET body = ?3, queued_at = ?4
                 WHERE head = 0 AND is_resend = 1 AND seq = (
                     SELECT seq FROM notifications
                     WHERE subject_id = ?1 AND url = ?2 AND state = 'WAITING' ORDER BY seq DESC LIMIT 1)",
            )?
            .execute(params![new.subject_id.as_bytes(), new.url, new.body, new.at.ms()])?;
        Ok(replaced > 0)
    }

    /// Counts an ended attempt, and stores the notification's new state and the next turn.
    pub(super) fn count_attempt(
        &self,
        seq: i64,
        outcome: Outcome,
        ended_at: Timestamp,
    ) -> Result<(), StoreError> {
        let (subject_id, url, state): (Id, String, NotificationState) = self
            .connection
            .prepare_cached("SELECT subject_id, url, state FROM notifications WHERE seq = ?1")?
            .query_and_then([seq], |row| {
                Ok::<_, StoreError>((
                    values::id(row, "subject_id")?,
                    row.get("url")?,
                    values::parsed(row, "state")?,
                ))
            })?
            .next()
            .ok_or(StoreError::BadValue("deliveries.notification_seq"))??;
        let is_newer_waiting = state == NotificationState::Waiting
            && self.has_waiting_after(&subject_id, &url, seq)?;
        let (state, next_attempt_at) = state.after_attempt(outcome, is_newer_waiting);
        self.connection
            .prepare_cached(
                "UPDATE notifications SET attempts = attempts + 1, last_attempt_at = ?2, state = ?3, head = ?4,
                 next_attempt_at = ?5 WHERE seq = ?1",
            )?
            .execute(params![
                seq,
                ended_at.ms(),
                state.as_str(),
                next_attempt_at.is_some(),
                next_attempt_at.map(Timestamp::ms),
            ])?;
        self.give_turn(&subject_id, &url, ended_at)
    }

    /// Deletes the bodies of up to `limit` finished notifications with a last attempt before
    /// `before`. Returns the number of deleted bodies.
    pub fn strip_bodies(&self, before: Timestamp, limit: u32) -> Result<usize, StoreError> {
        Ok(self
            .connection
            .prepare_cached(
                "UPDATE notifications SET body = NULL WHERE seq IN (
                     SELECT seq FROM notifications
                     WHERE body IS NOT NULL AND state <> 'WAITING' AND last_attempt_at < ?1 LIMIT ?2)",
            )?
            .execute(params![before.ms(), limit])?)
    }

    /// Makes the oldest waiting notification of a record the head, if the record has none.
    fn give_turn(&self, subject_id: &Id, url: &str, at: Timestamp) -> Result<(), StoreError> {
        self.connection
            .prepare_cached(
                "UPDATE notifications SET head = 1, first_due_at = ?3, next_attempt_at = ?3
                 WHERE head = 0 AND seq = (
                     SELECT seq FROM notifications
                     WHERE subject_id = ?1 AND url = ?2 AND state = 'WAITING' ORDER BY seq LIMIT 1)",
            )?
            .execute(params![subject_id.as_bytes(), url, at.ms()])?;
        Ok(())
    }
}

impl Reader<'_> {
    /// The first API key after `after` with a notification that waits for this kind of attempt.
    pub fn key_with_attempts(&self, turn: Turn, after: i64) -> Result<Option<i64>, StoreError> {
        let sql = match turn {
            Turn::First => {
                "SELECT key_id FROM notifications WHERE head = 1 AND attempts = 0 AND key_id > ?1 \
                 ORDER BY key_id LIMIT 1"
            }
            Turn::Again => {
                "SELECT key_id FROM notifications WHERE head = 1 AND attempts > 0 AND key_id > ?1 \
                 ORDER BY key_id LIMIT 1"
            }
        };
        Ok(self.connection.prepare_cached(sql)?.query_row([after], |row| row.get(0)).optional()?)
    }

    /// The first server after `after`, in text order, with a notification of a key that waits for
    /// this kind of attempt. Repeats count whether due or not.
    pub fn server_with_attempts(
        &self,
        turn: Turn,
        key_id: i64,
        after: &str,
    ) -> Result<Option<String>, StoreError> {
        let sql = match turn {
            Turn::First => {
                "SELECT server FROM notifications WHERE head = 1 AND attempts = 0 AND key_id = ?1 AND server > ?2 \
                 ORDER BY server LIMIT 1"
            }
            Turn::Again => {
                "SELECT server FROM notifications WHERE head = 1 AND attempts > 0 AND key_id = ?1 AND server > ?2 \
                 ORDER BY server LIMIT 1"
            }
        };
        Ok(self
            .connection
            .prepare_cached(sql)?
            .query_row(params![key_id, after], |row| row.get(0))
            .optional()?)
    }

    /// Time of the first repeat that is due after `now`.
    pub fn next_repeat_after(&self, now: Timestamp) -> Result<Option<Timestamp>, StoreError> {
        Ok(self
            .connection
            .prepare_cached(
                "SELECT next_attempt_at FROM notifications WHERE head = 1 AND attempts > 0 AND next_attempt_at > ?1
                 ORDER BY next_attempt_at LIMIT 1",
            )?
            .query_row([now.ms()], |row| row.get(0).map(Timestamp::from_ms))
            .optional()?)
    }

    pub fn has_due_repeats(&self, now: Timestamp) -> Result<bool, StoreError> {
        Ok(self
            .connection
            .prepare_cached(
                "SELECT 1 FROM notifications WHERE head = 1 AND attempts > 0 AND next_attempt_at <= ?1 LIMIT 1",
            )?
            .exists([now.ms()])?)
    }

    /// The first `limit` notifications of a key that wait for a server. First attempts come in the
    /// order of queueing. Repeats due at `now` come in the order of their due times.
    pub fn attempts_at(
        &self,
        turn: Turn,
        (key_id, server): (i64, &str),
        now: Timestamp,
        limit: usize,
    ) -> Result<Vec<DueNotification>, StoreError> {
        let sql = match turn {
            // The first attempt of a head is due at once.
            Turn::First => {
                "SELECT * FROM notifications WHERE head = 1 AND attempts = 0 AND key_id = ?1 AND server = ?2 \
                 ORDER BY seq LIMIT ?3"
            }
            Turn::Again => {
                "SELECT * FROM notifications WHERE head = 1 AND attempts > 0 AND key_id = ?1 AND server = ?2 \
                 AND next_attempt_at <= ?4 ORDER BY next_attempt_at LIMIT ?3"
            }
        };
        let mut query = self.connection.prepare_cached(sql)?;
        match turn {
            Turn::First => {
                query.query_and_then(params![key_id, server, row_limit(limit)], due)?.collect()
            }
            Turn::Again => query
                .query_and_then(params![key_id, server, row_limit(limit), now.ms()], due)?
                .collect(),
        }
    }

    /// Number of notifications that wait for their turn or an attempt.
    pub fn count_waiting_notifications(&self) -> Result<u64, StoreError> {
        self.count_notifications("SELECT count(*) FROM notifications WHERE state = 'WAITING'")
    }

    /// Servers with failed notifications that wait for another attempt, the largest count first.
    pub fn failing_servers(&self) -> Result<Vec<FailingServer>, StoreError> {
        self.connection
            .prepare_cached(
                "SELECT server, count(*) AS waiting FROM notifications WHERE head = 1 AND attempts > 0
                 GROUP BY server ORDER BY waiting DESC, server",
            )?
            .query_and_then([], |row| {
                Ok(FailingServer { server: row.get("server")?, notifications: row.get("waiting")? })
            })?
            .collect()
    }

    /// Number of notifications given up, without those that a newer notification of the same record
    /// replaces.
    pub fn count_given_up(&self) -> Result<u64, StoreError> {
        self.count_notifications(&format!("SELECT count(*) FROM notifications n WHERE {GIVEN_UP}"))
    }

    fn count_notifications(&self, sql: &str) -> Result<u64, StoreError> {
        Ok(self.connection.prepare_cached(sql)?.query_row([], |row| row.get(0))?)
    }

    fn has_waiting_after(&self, subject_id: &Id, url: &str, seq: i64) -> Result<bool, StoreError> {
        Ok(self
            .connection
            .prepare_cached(
                "SELECT 1 FROM notifications WHERE subject_id = ?1 AND url = ?2 AND state = 'WAITING' AND seq > ?3",
            )?
            .exists(params![subject_id.as_bytes(), url, seq])?)
    }
}

/// Given up, without a newer notification of the same record.
const GIVEN_UP: &str = "state = 'GIVEN_UP' AND NOT EXISTS (SELECT 1 FROM notifications newer \
     WHERE newer.subject_id = n.subject_id AND newer.url = n.url AND newer.seq > n.seq)";

fn row_limit(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

fn due(row: &Row<'_>) -> Result<DueNotification, StoreError> {
    Ok(DueNotification {
        seq: row.get("seq")?,
        id: values::id(row, "id")?,
        subject_id: values::id(row, "subject_id")?,
        key_id: row.get("key_id")?,
        url: row.get("url")?,
        server: row.get("server")?,
        body: row.get("body")?,
        attempts: values::number(row, "attempts")?,
        first_due_at: values::time(row, "first_due_at")?,
    })
}

#[cfg(test)]
mod tests;
