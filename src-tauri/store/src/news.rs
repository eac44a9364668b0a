//! The newest events that staff may want to hear of, from the tables that hold them.

use std::fmt;
use std::str::FromStr;

use rusqlite::{Row, params};
use serde::{Deserialize, Serialize};
use tillgate_domain::id::Id;
use tillgate_domain::time::Timestamp;
use ts_rs::TS;

use super::error::StoreError;
use super::reader::Reader;
use super::values::{self, Columns as _};

/// The newest changes of payments that are searched for events, so that a million expired payments
/// cost nothing.
const CHANGES_READ: u32 = 1_000;

/// Failed attempts after which a notification counts as an event. A shop's server that restarts is
/// none.
const ATTEMPTS_TOLD: u32 = 2;

/// The kind of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum NewsKind {
    /// A payment is paid, whether or not it is confirmed.
    Paid,
    /// The coins of a paid payment are gone, or another transaction is taking them back.
    Reversed,
    /// Coins do not fit a payment, and staff must decide.
    Attention,
    /// An API key requested or approved a payout, or an approved payout failed.
    Payout,
    /// A shop's server does not take notifications.
    Shop,
}

impl NewsKind {
    /// All kinds.
    pub const ALL: [Self; 5] =
        [Self::Paid, Self::Reversed, Self::Attention, Self::Payout, Self::Shop];

    /// The name in settings.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Paid => "paid",
            Self::Reversed => "reversed",
            Self::Attention => "attention",
            Self::Payout => "payout",
            Self::Shop => "shop",
        }
    }
}

impl fmt::Display for NewsKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for NewsKind {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text).ok_or(())
    }
}

/// The record of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NewsSubject {
    /// The payment with this `seq` was paid.
    Paid(i64),
    /// A transaction began to take back the coins of the CONFIRMED payment with this `seq`.
    Attacked(i64),
    /// The payment with this `seq` was reversed.
    Reversed(i64),
    /// The customer withdrew the coins of the payment with this `seq`, before a block held them.
    Withdrawn(i64),
    /// The anomaly with this id was raised.
    Anomaly(Id),
    /// A customer gave the address of this anomaly's refund.
    Answered(Id),
    /// The payout with this id was requested by an API key.
    Requested(Id),
    /// The payout with this id was approved by an API key.
    Approved(Id),
    /// The approved payout with this id failed, and no person had cancelled it.
    Failed(Id),
    /// This server did not take so many notifications.
    Server { name: String, notifications: u64 },
}

/// An event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewsRow {
    pub at: Timestamp,
    pub subject: NewsSubject,
}

impl Reader<'_> {
    /// The newest `limit` events of each sort, the newest first. The sorts are not cut together,
    /// because many events of one sort would then hide another.
    pub fn news(&self, limit: u32) -> Result<Vec<NewsRow>, StoreError> {
        let mut news = self.news_of_payments(limit)?;
        news.extend(self.news_of_anomalies(limit)?);
        news.extend(self.news_of_answers(limit)?);
        news.extend(self.news_of_requests(limit)?);
        news.extend(self.news_of_approvals(limit)?);
        news.extend(self.news_of_failures(limit)?);
        news.extend(self.news_of_servers(limit)?);
        news.sort_by_key(|one| std::cmp::Reverse(one.at));
        Ok(news)
    }

    fn news_of_payments(&self, limit: u32) -> Result<Vec<NewsRow>, StoreError> {
        let mut query = self.connection.prepare_cached(
            "SELECT payment_seq, at, from_state = 'CONFIRMED' AS was_confirmed,
                 to_state IN ('UNCONFIRMED', 'CONFIRMED') AS is_paid, conflict IS 'SEEN' AS is_attacked FROM
                 (SELECT * FROM payment_history ORDER BY at DESC LIMIT ?1)
             WHERE (to_state = 'UNCONFIRMED' OR to_state = 'CONFIRMED') AND from_state NOT IN ('UNCONFIRMED', 'CONFIRMED')
                     AND cause <> 'staff'
                 OR conflict = 'SEEN'
                 OR from_state = 'CONFIRMED' AND to_state = 'INVALID'
                 OR from_state = 'UNCONFIRMED' AND (to_state IN ('NEW', 'UNDERPAID', 'EXPIRED') OR to_state = 'INVALID'
                     AND paid_sats < (SELECT amount_sats FROM payments WHERE seq = payment_seq))
             ORDER BY at DESC LIMIT ?2",
        )?;
        let read = |row: &Row<'_>| {
            let seq = row.value("payment_seq")?;
            let subject = match (
                row.value("is_attacked")?,
                row.value("is_paid")?,
                row.value("was_confirmed")?,
            ) {
                (true, _, _) => NewsSubject::Attacked(seq),
                (false, true, _) => NewsSubject::Paid(seq),
                (false, false, true) => NewsSubject::Reversed(seq),
                (false, false, false) => NewsSubject::Withdrawn(seq),
            };
            Ok(NewsRow { at: values::time(row, "at")?, subject })
        };
        query.query_and_then(params![CHANGES_READ, limit], read)?.collect()
    }

    fn news_of_anomalies(&self, limit: u32) -> Result<Vec<NewsRow>, StoreError> {
        self.news_of_records(
            "SELECT id, created_at AS at FROM anomalies WHERE kind <> 'REVERSED_PAYMENT' ORDER BY created_at DESC LIMIT ?1",
            limit,
            NewsSubject::Anomaly,
        )
    }

    /// Addresses that customers gave for refunds.
    fn news_of_answers(&self, limit: u32) -> Result<Vec<NewsRow>, StoreError> {
        self.news_of_records(
            "SELECT id, answered_at AS at FROM anomalies WHERE answered_at IS NOT NULL ORDER BY answered_at DESC LIMIT ?1",
            limit,
            NewsSubject::Answered,
        )
    }

    /// Payouts that keys requested, unless a key approved them too: then the approval is the event.
    fn news_of_requests(&self, limit: u32) -> Result<Vec<NewsRow>, StoreError> {
        self.news_of_records(
            "SELECT id, created_at AS at FROM payouts
             WHERE key_id IS NOT NULL AND coalesce(instr(approved_by, ':'), 1) <> 0 ORDER BY created_at DESC LIMIT ?1",
            limit,
            NewsSubject::Requested,
        )
    }

    /// Payouts that keys approved. The name of a key has no colon; that of a person is like
    /// `cli:ann`. The query is apart from that of requests, so that many requests cannot hide an
    /// approval.
    fn news_of_approvals(&self, limit: u32) -> Result<Vec<NewsRow>, StoreError> {
        self.news_of_records(
            "SELECT id, approved_at AS at FROM payouts WHERE instr(approved_by, ':') = 0
             ORDER BY approved_at DESC LIMIT ?1",
            limit,
            NewsSubject::Approved,
        )
    }

    /// Approved payouts that failed by themselves. A person who cancels one knows of it.
    fn news_of_failures(&self, limit: u32) -> Result<Vec<NewsRow>, StoreError> {
        self.news_of_records(
            "SELECT id, failed_at AS at FROM payouts
             WHERE failed_at IS NOT NULL AND given_up_by IS NULL AND +state = 'FAILED' ORDER BY failed_at DESC LIMIT ?1",
            limit,
            NewsSubject::Failed,
        )
    }

    /// The events of a query for the ids of up to `limit` records, each with its time.
    fn news_of_records(
        &self,
        sql: &str,
        limit: u32,
        subject: fn(Id) -> NewsSubject,
    ) -> Result<Vec<NewsRow>, StoreError> {
        let mut query = self.connection.prepare_cached(sql)?;
        let read = |row: &Row<'_>| {
            Ok(NewsRow { at: values::time(row, "at")?, subject: subject(values::id(row, "id")?) })
        };
        query.query_and_then([limit], read)?.collect()
    }

    /// Servers that do not take notifications now.
    fn news_of_servers(&self, limit: u32) -> Result<Vec<NewsRow>, StoreError> {
        let mut query = self.connection.prepare_cached(
            "SELECT server, min(first_due_at) AS since, count(*) AS notifications FROM notifications
             WHERE head = 1 AND attempts >= ?1 GROUP BY server ORDER BY since DESC LIMIT ?2",
        )?;
        let read = |row: &Row<'_>| {
            Ok(NewsRow {
                at: values::time(row, "since")?,
                subject: NewsSubject::Server {
                    name: row.value("server")?,
                    notifications: values::number(row, "notifications")?,
                },
            })
        };
        query.query_and_then(params![ATTEMPTS_TOLD, limit], read)?.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Store;

    #[test]
    fn the_newest_events_are_found_without_reading_all_changes() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("news.db")).unwrap();
        let plan = |sql: &'static str| {
            let read = move |reader: &Reader<'_>| {
                let sql = format!("EXPLAIN QUERY PLAN {sql} DESC LIMIT 50");
                Ok::<String, StoreError>(
                    reader.connection.prepare(&sql)?.query_row([], |row| row.get(3))?,
                )
            };
            store.read(read).unwrap()
        };
        for (sql, index) in [
            ("SELECT * FROM payment_history ORDER BY at", "payment_history_by_time"),
            (
                "SELECT id FROM payouts WHERE instr(approved_by, ':') = 0 ORDER BY approved_at",
                "payouts_approved_by_keys",
            ),
            (
                "SELECT id FROM payouts WHERE key_id IS NOT NULL AND coalesce(instr(approved_by, ':'), 1) <> 0
                 ORDER BY created_at",
                "payouts_requested_by_keys",
            ),
            ("SELECT id FROM anomalies WHERE answered_at IS NOT NULL ORDER BY answered_at", "anomalies_answered"),
            (
                "SELECT id FROM payouts WHERE failed_at IS NOT NULL AND given_up_by IS NULL AND +state = 'FAILED'
                 ORDER BY failed_at",
                "payouts_failed",
            ),
        ] {
            let plan = plan(sql);
            assert!(plan.contains(index), "{plan}");
        }
    }
}
