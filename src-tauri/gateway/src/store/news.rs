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

/// The newest changes of payments that are searched for events, so that a million expired payments cost nothing.
const CHANGES_READ: u32 = 1_000;

/// Failed attempts after which a notification counts as an event. A shop's server that restarts is none.
const ATTEMPTS_TOLD: u32 = 2;

/// The kind of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
#[ts(export)]
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
    pub const ALL: [Self; 5] = [Self::Paid, Self::Reversed, Self::Attention, Self::Payout, Self::Shop];

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
    /// The newest `limit` events of each sort, the newest first. The sorts are not cut together, because many events of
    /// one sort would then hide another.
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
            let subject = match (row.value("is_attacked")?, row.value("is_paid")?, row.value("was_confirmed")?) {
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

    /// Payouts that keys approved. The name of a key has no colon; that of a person is like `cli:ann`. The query is apart
    /// from that of requests, so that many requests cannot hide an approval.
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
        let read =
            |row: &Row<'_>| Ok(NewsRow { at: values::time(row, "at")?, subject: subject(values::id(row, "id")?) });
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
    use rust_decimal::Decimal;
    use tillgate_domain::policy::PolicySettings;
    use tillgate_sandbox::{Replace, ReplaceTo};

    use super::*;
    use crate::testing::World;

    fn subjects(world: &World) -> Vec<NewsSubject> {
        world.gateway.store.read(|reader| reader.news(50)).unwrap().into_iter().map(|row| row.subject).collect()
    }

    #[tokio::test]
    async fn a_payment_is_told_when_it_is_paid_and_when_it_is_reversed() {
        let world = World::new().await;
        let payment = world.payment().await;
        assert_eq!(subjects(&world), []);
        world.pay(&payment, payment.payment.amount_sats).await;
        assert_eq!(subjects(&world), [NewsSubject::Paid(payment.seq)]);
        world.mine(1).await;
        assert_eq!(subjects(&world), [NewsSubject::Paid(payment.seq)], "a confirmation is told to nobody");
        world.sandbox().reorg(1, false, world.now_ms()).unwrap();
        world.look().await;
        let told = [NewsSubject::Reversed(payment.seq), NewsSubject::Paid(payment.seq)];
        assert_eq!(subjects(&world), told, "its anomaly is the same event");
    }

    #[tokio::test]
    async fn coins_that_a_customer_withdraws_are_told() {
        let world = World::new().await;
        let payment = world.payment().await;
        let txid = world.customer_pays(&payment, payment.payment.amount_sats);
        world.look().await;
        let to_customer = Replace { fee_rate_sat_vb: None, to: ReplaceTo::Customer };
        world.sandbox().replace(txid, to_customer, world.now_ms()).unwrap();
        world.look().await;
        assert_eq!(subjects(&world), [NewsSubject::Withdrawn(payment.seq), NewsSubject::Paid(payment.seq)]);
    }

    #[tokio::test]
    async fn an_attack_on_a_confirmed_payment_is_told_once() {
        let world = World::new().await;
        let up_to_50 = PolicySettings { zero_conf_up_to: Decimal::from(50), ..PolicySettings::default() };
        let payment = world.payment_under(up_to_50).await;
        let txid = world.pay(&payment, payment.payment.amount_sats).await;
        world.pass_ms(60_000).await;
        let to_customer = Replace { fee_rate_sat_vb: None, to: ReplaceTo::Customer };
        let rival = world.sandbox().replace(txid, to_customer, world.now_ms()).unwrap();
        world.look().await;
        world.look().await;
        let told = [NewsSubject::Attacked(payment.seq), NewsSubject::Paid(payment.seq)];
        assert_eq!(subjects(&world), told);
        world.sandbox().evict(rival[0], world.now_ms()).unwrap();
        world.look().await;
        assert_eq!(subjects(&world), told, "the end of an attack changes the item");
    }

    #[tokio::test]
    async fn a_payout_that_fails_by_itself_is_told() {
        let world = World::new().await;
        let (failed, cancelled) = (world.offered_payout(20_000).await, world.offered_payout(20_000).await);
        let change = move |tx: &crate::store::Tx<'_>| {
            let fails = "UPDATE payouts SET state = 'FAILED', approved_at = created_at, approved_by = 'panel:ann',
                             failed_at = ?2, failure_reason = 'x', given_up_by = ?3 WHERE id = ?1";
            tx.connection.execute(fails, params![failed.as_bytes(), 5, None::<String>])?;
            tx.connection.execute(fails, params![cancelled.as_bytes(), 6, "panel:ann"])?;
            Ok::<_, StoreError>(())
        };
        world.gateway.store.write(change).await.unwrap();
        assert_eq!(subjects(&world), [NewsSubject::Failed(failed)]);
    }

    #[tokio::test]
    async fn only_payouts_of_api_keys_are_told() {
        let world = World::new().await;
        let by_staff = world.offered_payout(20_000).await;
        assert_eq!(subjects(&world), []);
        let by_key =
            "UPDATE payouts SET approved_by = 'till', approved_at = created_at, state = 'QUEUED' WHERE id = ?1";
        let change = move |tx: &crate::store::Tx<'_>| {
            tx.connection.execute(by_key, [by_staff.as_bytes()])?;
            Ok::<_, StoreError>(())
        };
        world.gateway.store.write(change).await.unwrap();
        assert_eq!(subjects(&world), [NewsSubject::Approved(by_staff)]);
    }

    #[tokio::test]
    async fn many_requests_cannot_hide_an_approval() {
        let world = World::new().await;
        let approved = world.offered_payout(20_000).await;
        let change = move |tx: &crate::store::Tx<'_>| {
            tx.connection.execute(
                "UPDATE payouts SET approved_by = 'till', approved_at = created_at, state = 'QUEUED' WHERE id = ?1",
                [approved.as_bytes()],
            )?;
            Ok::<_, StoreError>(())
        };
        world.gateway.store.write(change).await.unwrap();
        let key = |tx: &crate::store::Tx<'_>| {
            tx.connection.execute(
                "INSERT INTO api_keys (key_id, name, secret_sha256, permissions, notification_url_optional, created_at)
                 VALUES (1, 'shop', zeroblob(32), '', 0, 0)",
                [],
            )?;
            Ok::<_, StoreError>(())
        };
        world.gateway.store.write(key).await.unwrap();
        for _ in 0..2 {
            let id = world.offered_payout(20_000).await;
            let change = move |tx: &crate::store::Tx<'_>| {
                tx.connection.execute("UPDATE payouts SET key_id = 1 WHERE id = ?1", [id.as_bytes()])?;
                Ok::<_, StoreError>(())
            };
            world.gateway.store.write(change).await.unwrap();
        }
        let news = world.gateway.store.read(|reader| reader.news(1)).unwrap();
        let approvals = news.iter().filter(|row| matches!(row.subject, NewsSubject::Approved(_))).count();
        let requests = news.iter().filter(|row| matches!(row.subject, NewsSubject::Requested(_))).count();
        assert_eq!((approvals, requests), (1, 1));
    }

    #[tokio::test]
    async fn the_newest_events_are_found_without_reading_all_changes() {
        let world = World::new().await;
        let plan = |sql: &'static str| {
            let read = move |reader: &Reader<'_>| {
                let sql = format!("EXPLAIN QUERY PLAN {sql} DESC LIMIT 50");
                Ok::<String, StoreError>(reader.connection.prepare(&sql)?.query_row([], |row| row.get(3))?)
            };
            world.gateway.store.read(read).unwrap()
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
