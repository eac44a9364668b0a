//! The outbox: notifications, each with its body fixed in the transaction of its change.
//!
//! One record's notifications (same subject, same URL) have their turn one after the other: the
//! one whose turn it is is the *head*. Nothing here sends anything or decides on a schedule.

use std::fmt;
use std::str::FromStr;

use rusqlite::{OptionalExtension as _, Row, params};
use tillgate_domain::id::Id;
use tillgate_domain::time::Timestamp;

use super::deliveries::NewDelivery;
use super::{Reader, StoreError, Tx, values};

/// What a notification tells of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SubjectKind {
    /// A payment.
    Payment,
    /// An anomaly.
    Anomaly,
    /// A payout.
    Payout,
}

impl SubjectKind {
    /// Its name in the database and in views.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Payment => "payment",
            Self::Anomaly => "anomaly",
            Self::Payout => "payout",
        }
    }
}

impl fmt::Display for SubjectKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for SubjectKind {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        [Self::Payment, Self::Anomaly, Self::Payout].into_iter().find(|kind| kind.as_str() == text).ok_or(())
    }
}

/// Where a notification stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NotificationState {
    /// For its turn, its first attempt or its next one.
    Waiting,
    /// The merchant's server took it.
    Delivered,
    /// It was attempted, and a newer one of its record took its place.
    Superseded,
    /// Three days of attempts failed.
    GivenUp,
}

impl NotificationState {
    /// Its name in the database and in views.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "WAITING",
            Self::Delivered => "DELIVERED",
            Self::Superseded => "SUPERSEDED",
            Self::GivenUp => "GIVEN_UP",
        }
    }
}

impl FromStr for NotificationState {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        [Self::Waiting, Self::Delivered, Self::Superseded, Self::GivenUp]
            .into_iter()
            .find(|state| state.as_str() == text)
            .ok_or(())
    }
}

/// A notification to queue.
#[derive(Debug, Clone)]
pub struct NewNotification {
    /// Its identifier: the `webhook-id` of all its attempts.
    pub id: Id,
    /// What it tells of.
    pub subject_kind: SubjectKind,
    /// The record's id.
    pub subject_id: Id,
    /// The merchant's URL.
    pub url: String,
    /// The bytes to send: the record as GET shows it at this moment.
    pub body: Vec<u8>,
    /// Now.
    pub at: Timestamp,
}

/// A notification whose turn it is.
#[derive(Debug, Clone)]
pub struct DueNotification {
    /// Order of insertion.
    pub seq: i64,
    /// Its identifier.
    pub id: Id,
    /// The record's id.
    pub subject_id: Id,
    /// The merchant's URL.
    pub url: String,
    /// The bytes to send.
    pub body: Vec<u8>,
    /// Attempts made.
    pub attempts: u32,
    /// When its turn came: its schedule counts from there.
    pub first_due_at: Timestamp,
}

/// What an attempt led to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The merchant's server took it.
    Delivered,
    /// It failed; the next attempt is not before this moment.
    RetryAt(Timestamp),
    /// It failed, and was the last.
    GiveUp,
}

/// A notification that was given up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GivenUpRow {
    /// Its identifier.
    pub id: Id,
    /// What it tells of.
    pub subject_kind: SubjectKind,
    /// The record's id.
    pub subject_id: Id,
    /// The merchant's URL.
    pub url: String,
    /// Attempts made.
    pub attempts: u32,
    /// When it was queued.
    pub queued_at: Timestamp,
    /// When its last attempt ended.
    pub last_attempt_at: Timestamp,
}

/// The server (scheme, host, port) that a URL names, as the `server` column keeps it. Attempts at
/// a URL that cannot be read fail by themselves; together they count as one server.
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
    /// Puts a notification into the outbox, in the transaction of the change that it tells of. It
    /// supersedes the one of its record that has been attempted in vain; one that has never been
    /// attempted keeps its turn.
    ///
    /// # Errors
    /// When it cannot be stored.
    pub fn queue_notification(&self, new: &NewNotification) -> Result<(), StoreError> {
        self.connection
            .prepare_cached(
                "INSERT INTO notifications (id, subject_kind, subject_id, url, server, body, queued_at, state, head)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 'WAITING', 0)",
            )?
            .execute(params![
                new.id.as_bytes(),
                new.subject_kind.as_str(),
                new.subject_id.as_bytes(),
                new.url,
                server_of(&new.url),
                new.body,
                new.at.ms(),
            ])?;
        self.connection
            .prepare_cached(
                "UPDATE notifications SET state = 'SUPERSEDED', head = 0, next_attempt_at = NULL
                 WHERE subject_id = ?1 AND url = ?2 AND head = 1 AND attempts > 0",
            )?
            .execute(params![new.subject_id.as_bytes(), new.url])?;
        self.give_turn(&new.subject_id, &new.url, new.at)
    }

    /// Records an attempt and what it led to. `ended_at` is on the environment's clock.
    ///
    /// # Errors
    /// When it cannot be stored, or the notification is unknown.
    pub fn record_attempt(
        &self,
        seq: i64,
        delivery: &NewDelivery,
        outcome: Outcome,
        ended_at: Timestamp,
    ) -> Result<(), StoreError> {
        self.insert_delivery(seq, delivery)?;
        let (subject_id, url, state): (Id, String, NotificationState) = self
            .connection
            .prepare_cached("SELECT subject_id, url, state FROM notifications WHERE seq = ?1")?
            .query_and_then([seq], |row| {
                Ok::<_, StoreError>((values::id(row, "subject_id")?, row.get("url")?, values::parsed(row, "state")?))
            })?
            .next()
            .ok_or(StoreError::BadValue("deliveries.notification_seq"))??;
        let newer = state == NotificationState::Waiting && self.has_waiting_after(&subject_id, &url, seq)?;
        let (state, next_attempt_at) = match (state, outcome) {
            (NotificationState::Waiting, Outcome::RetryAt(at)) if !newer => (NotificationState::Waiting, Some(at)),
            (NotificationState::Waiting, Outcome::GiveUp) if !newer => (NotificationState::GivenUp, None),
            (NotificationState::Waiting, Outcome::RetryAt(_) | Outcome::GiveUp) => {
                (NotificationState::Superseded, None)
            }
            (_, Outcome::Delivered) => (NotificationState::Delivered, None),
            // A newer one took its place during the attempt.
            (state, Outcome::RetryAt(_) | Outcome::GiveUp) => (state, None),
        };
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

    /// Drops the bodies of up to `limit` finished notifications whose last attempt was before
    /// `before`. Answers how many.
    ///
    /// # Errors
    /// When it cannot be stored.
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

    /// Makes the oldest waiting notification of a record its head, if it has none.
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
    /// The first server after `after` (in the order of their texts) that a first attempt waits for.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn server_with_first_attempts(&self, after: &str) -> Result<Option<String>, StoreError> {
        Ok(self
            .connection
            .prepare_cached(
                "SELECT server FROM notifications WHERE head = 1 AND attempts = 0 AND server > ?1
                 ORDER BY server LIMIT 1",
            )?
            .query_row([after], |row| row.get(0))
            .optional()?)
    }

    /// The first server after `after` that a repeat waits for, due or not.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn server_with_repeats(&self, after: &str) -> Result<Option<String>, StoreError> {
        Ok(self
            .connection
            .prepare_cached(
                "SELECT server FROM notifications WHERE head = 1 AND attempts > 0 AND server > ?1
                 ORDER BY server LIMIT 1",
            )?
            .query_row([after], |row| row.get(0))
            .optional()?)
    }

    /// When the first repeat at a server is due that is not due at `now`.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn next_repeat_after(&self, server: &str, now: Timestamp) -> Result<Option<Timestamp>, StoreError> {
        Ok(self
            .connection
            .prepare_cached(
                "SELECT next_attempt_at FROM notifications
                 WHERE head = 1 AND attempts > 0 AND server = ?1 AND next_attempt_at > ?2
                 ORDER BY next_attempt_at LIMIT 1",
            )?
            .query_row(params![server, now.ms()], |row| row.get(0).map(Timestamp::from_ms))
            .optional()?)
    }

    /// The first `limit` first attempts at a server, in the order of queueing.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn first_attempts(&self, server: &str, limit: usize) -> Result<Vec<DueNotification>, StoreError> {
        self.connection
            .prepare_cached(
                "SELECT * FROM notifications WHERE head = 1 AND attempts = 0 AND server = ?1 ORDER BY seq LIMIT ?2",
            )?
            .query_and_then(params![server, row_limit(limit)], due)?
            .collect()
    }

    /// The first `limit` repeats at a server that are due at `now`, the longest due first.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn repeats(&self, server: &str, now: Timestamp, limit: usize) -> Result<Vec<DueNotification>, StoreError> {
        self.connection
            .prepare_cached(
                "SELECT * FROM notifications
                 WHERE head = 1 AND attempts > 0 AND server = ?1 AND next_attempt_at <= ?2
                 ORDER BY next_attempt_at LIMIT ?3",
            )?
            .query_and_then(params![server, now.ms(), row_limit(limit)], due)?
            .collect()
    }

    /// How many notifications wait, for their turn or an attempt.
    ///
    /// # Errors
    /// When they cannot be counted.
    pub fn count_waiting_notifications(&self) -> Result<u64, StoreError> {
        self.count_notifications("SELECT count(*) FROM notifications WHERE state = 'WAITING'")
    }

    /// How many rows [`Reader::given_up`] has.
    ///
    /// # Errors
    /// When they cannot be counted.
    pub fn count_given_up(&self) -> Result<u64, StoreError> {
        self.count_notifications(&format!("SELECT count(*) FROM notifications n WHERE {GIVEN_UP}"))
    }

    /// A page of the notifications that were given up, the latest first. One whose record has
    /// been notified of again is settled by that.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn given_up(&self, limit: u32, offset: u32) -> Result<Vec<GivenUpRow>, StoreError> {
        self.connection
            .prepare_cached(&format!(
                "SELECT * FROM notifications n WHERE {GIVEN_UP}
                 ORDER BY last_attempt_at DESC, seq DESC LIMIT ?1 OFFSET ?2"
            ))?
            .query_and_then(params![limit, offset], |row| {
                Ok(GivenUpRow {
                    id: values::id(row, "id")?,
                    subject_kind: values::parsed(row, "subject_kind")?,
                    subject_id: values::id(row, "subject_id")?,
                    url: row.get("url")?,
                    attempts: values::number(row, "attempts")?,
                    queued_at: values::time(row, "queued_at")?,
                    last_attempt_at: values::time(row, "last_attempt_at")?,
                })
            })?
            .collect()
    }

    fn count_notifications(&self, sql: &str) -> Result<u64, StoreError> {
        let count: i64 = self.connection.prepare_cached(sql)?.query_row([], |row| row.get(0))?;
        u64::try_from(count).map_err(|_| StoreError::BadValue("count"))
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

/// Given up, and nothing newer of its record.
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
        url: row.get("url")?,
        body: row.get("body")?,
        attempts: values::number(row, "attempts")?,
        first_due_at: values::time(row, "first_due_at")?,
    })
}

#[cfg(test)]
mod tests;
