//! Alarms about payouts with an unexpected outcome, kept until staff dismiss them.

use std::fmt;
use std::str::FromStr;

use rusqlite::params;
use tillgate_domain::id::Id;
use tillgate_domain::time::Timestamp;

use super::error::StoreError;
use super::reader::Reader;
use super::tx::Tx;
use super::values;

/// Most alarms read at once; newer ones follow once these are dismissed.
const READ_AT_ONCE: u32 = 100;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AlarmKind {
    FailedPayoutWasSent,
    PayoutPaidTwice,
    /// A payout is SENT by a transaction of another copy of this wallet.
    PayoutSentByCopy,
}

/// An alarm about a payout, not dismissed yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Alarm {
    pub kind: AlarmKind,
    pub payout_id: Id,
    pub at: Timestamp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error, tillgate_told::Told)]
#[error("not a kind of alarm")]
pub struct NotAnAlarmKind;

impl AlarmKind {
    const ALL: [Self; 3] =
        [Self::FailedPayoutWasSent, Self::PayoutPaidTwice, Self::PayoutSentByCopy];

    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::FailedPayoutWasSent => "FAILED_PAYOUT_WAS_SENT",
            Self::PayoutPaidTwice => "PAYOUT_PAID_TWICE",
            Self::PayoutSentByCopy => "PAYOUT_SENT_BY_COPY",
        }
    }
}

impl fmt::Display for AlarmKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for AlarmKind {
    type Err = NotAnAlarmKind;

    fn from_str(text: &str) -> Result<Self, NotAnAlarmKind> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text).ok_or(NotAnAlarmKind)
    }
}

impl Reader<'_> {
    /// The open alarms, oldest first, 100 at most.
    pub fn alarms(&self) -> Result<Vec<Alarm>, StoreError> {
        let mut query = self.connection.prepare_cached(
            "SELECT a.kind AS kind, p.id AS id, a.at AS at FROM alarms AS a INDEXED BY alarms_open \
             JOIN payouts AS p ON p.seq = a.payout_seq WHERE a.dismissed_at IS NULL ORDER BY a.at LIMIT ?1",
        )?;
        query
            .query_and_then([READ_AT_ONCE], |row| {
                Ok(Alarm {
                    kind: values::parsed(row, "kind")?,
                    payout_id: values::id(row, "id")?,
                    at: values::time(row, "at")?,
                })
            })?
            .collect()
    }
}

impl Tx<'_> {
    /// Raises an alarm. A double payment is seen at each look but raised once. Each alarm of
    /// another kind is a new event, so it reopens a dismissed alarm.
    pub fn raise_alarm(
        &self,
        kind: AlarmKind,
        payout_seq: i64,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        let again = match kind {
            AlarmKind::FailedPayoutWasSent | AlarmKind::PayoutSentByCopy => {
                "UPDATE SET at = ?3, dismissed_at = NULL"
            }
            AlarmKind::PayoutPaidTwice => "NOTHING",
        };
        self.connection
            .prepare_cached(&format!(
                "INSERT INTO alarms (kind, payout_seq, at) VALUES (?1, ?2, ?3) \
                 ON CONFLICT (kind, payout_seq) DO {again}"
            ))?
            .execute(params![kind.as_str(), payout_seq, at.ms()])?;
        Ok(())
    }

    /// Withdraws an alarm that is no longer true.
    pub fn withdraw_alarm(&self, kind: AlarmKind, payout_seq: i64) -> Result<(), StoreError> {
        let mut delete = self
            .connection
            .prepare_cached("DELETE FROM alarms WHERE kind = ?1 AND payout_seq = ?2")?;
        delete.execute(params![kind.as_str(), payout_seq])?;
        Ok(())
    }

    /// Dismisses the alarms of a payout. Returns whether it had any.
    pub fn dismiss_alarms(&self, payout_seq: i64, at: Timestamp) -> Result<bool, StoreError> {
        let mut update = self.connection.prepare_cached(
            "UPDATE alarms SET dismissed_at = ?2 WHERE payout_seq = ?1 AND dismissed_at IS NULL",
        )?;
        Ok(update.execute(params![payout_seq, at.ms()])? > 0)
    }
}
