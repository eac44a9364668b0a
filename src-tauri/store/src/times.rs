//! Corrects stored times: after the clock stepped forward, and at a start after a run whose clock
//! was ahead.

use rusqlite::params;
use tillgate_domain::checked_clock::{is_behind_block, latest_stored};
use tillgate_domain::payment::LIFETIME_MS;
use tillgate_domain::payout::offer;
use tillgate_domain::time::Timestamp;

use super::error::StoreError;
use super::payment_lists::{INDEXED_PAYMENTS, UNINDEXED_PAYMENTS};
use super::payouts::PayoutRow;
use super::reader::Reader;
use super::tx::Tx;

const OFFER_VALID_MAX_MS: i64 = offer::VALID_MAX_MINUTES as i64 * 60_000;

impl Reader<'_> {
    /// The latest stored time of the records that are still open: open payments, offers, approved
    /// payouts, notifications to repeat, and the last look.
    pub fn latest_open_time(&self) -> Result<Option<Timestamp>, StoreError> {
        let mut query = self.connection.prepare(&format!(
            "SELECT max(at) FROM (\
             SELECT looked_at AS at FROM chain \
             UNION ALL SELECT max(created_at) FROM {INDEXED_PAYMENTS} AND next_due_at IS NOT NULL AND closed_at IS NULL \
             UNION ALL SELECT max(created_at) FROM {UNINDEXED_PAYMENTS} AND next_due_at IS NOT NULL AND closed_at IS NULL \
             UNION ALL SELECT max(created_at) FROM payouts WHERE state = 'NEW' \
             UNION ALL SELECT max(approved_at) FROM payouts WHERE state = 'QUEUED' \
             UNION ALL SELECT max(last_attempt_at) FROM notifications WHERE head = 1 AND attempts > 0)"
        ))?;
        let at: Option<i64> = query.query_row([], |row| row.get(0))?;
        Ok(at.map(Timestamp::from_ms))
    }

    /// Offers without approval that were made after a moment.
    pub fn offers_made_after(
        &self,
        moment: Timestamp,
        limit: u32,
    ) -> Result<Vec<PayoutRow>, StoreError> {
        self.payouts_where(
            "p.state = 'NEW' AND p.created_at > ?1 ORDER BY p.seq LIMIT ?2",
            params![moment.ms(), limit],
        )
    }
}

impl Tx<'_> {
    /// Extends the time of payments, offers and approved payouts that were open at `from`, after
    /// the clock stepped forward by `by_ms`.
    ///
    /// Other times also move by `by_ms`, so that no wait gets shorter. These are the quiet time
    /// before an acceptance without confirmation, the lifetime of idempotency keys, and the retry
    /// schedules of notifications. Twins keep the age of their discovery, and transactions that no
    /// node accepted keep the age of their signature.
    ///
    /// This reads all payments, but clocks are rarely set.
    pub fn extend_open_times(&self, from: Timestamp, by_ms: i64) -> Result<(), StoreError> {
        let values = params![from.ms(), by_ms];
        self.connection.execute(
            "UPDATE payments SET expires_at = expires_at + ?2 \
             WHERE closed_at IS NULL AND created_at <= ?1 AND expires_at >= ?1",
            values,
        )?;
        self.connection.execute(
            "UPDATE payouts SET expires_at = expires_at + ?2, set_forward_ms = set_forward_ms + ?2 \
             WHERE state = 'NEW' AND created_at <= ?1 AND expires_at > ?1",
            values,
        )?;
        self.connection.execute(
            "UPDATE payouts SET set_forward_ms = set_forward_ms + ?2 WHERE state = 'QUEUED' AND approved_at <= ?1",
            values,
        )?;
        self.connection.execute(
            "UPDATE receipts SET first_seen_at = first_seen_at + ?2, last_conflict_at = last_conflict_at + ?2 \
             WHERE block_height IS NULL AND position = 'mempool' AND first_seen_at <= ?1 \
             AND payment_seq IN (SELECT seq FROM payments WHERE confirmations = 0 \
             AND state IN ('NEW', 'UNDERPAID', 'UNCONFIRMED'))",
            values,
        )?;
        self.connection.execute(
            "UPDATE twins SET noticed_at = noticed_at + ?2 WHERE noticed_at <= ?1",
            values,
        )?;
        self.connection.execute(
            "UPDATE versions SET created_at = created_at + ?2 \
             WHERE accepted_at IS NULL AND position = 'absent' AND created_at <= ?1",
            values,
        )?;
        self.connection.execute(
            "UPDATE idempotency SET created_at = created_at + ?2 WHERE created_at <= ?1",
            values,
        )?;
        self.connection.execute(
            "UPDATE notifications SET first_due_at = first_due_at + ?2 WHERE head = 1 AND first_due_at <= ?1",
            values,
        )?;
        Ok(())
    }

    /// Undoes the extensions of a record at a start, if they led to times that the present clock
    /// has not reached. All its extensions are undone, since it is unknown which were right. Times
    /// of sights, signatures, answers and due notifications that are still in the future become
    /// `now`.
    ///
    /// Nothing changes if the best block shows that the present clock is behind.
    pub fn undo_extensions(&self, now: Timestamp) -> Result<(), StoreError> {
        if self.watched_chain()?.is_some_and(|watched| is_behind_block(now, watched.tip.time)) {
            return Ok(());
        }
        let latest = latest_stored(now).ms();
        let is_open = "state IN ('NEW', 'UNDERPAID', 'UNCONFIRMED')";
        let open = format!(
            "(SELECT seq FROM {INDEXED_PAYMENTS} AND {is_open} UNION ALL SELECT seq FROM {UNINDEXED_PAYMENTS} AND {is_open})"
        );
        let seen_ahead = "(first_seen_at > ?2 OR last_conflict_at > ?2)";
        // A clock that extends a deadline shows at least the new deadline minus half an hour.
        self.connection.execute(
            &format!(
                "UPDATE payments SET expires_at = created_at + ?3, next_due_at = ?1 WHERE seq IN {open} \
                 AND closed_at IS NULL AND created_at <= ?2 AND expires_at > ?2 + ?3"
            ),
            params![now.ms(), latest, LIFETIME_MS],
        )?;
        self.connection.execute(
            &format!(
                "UPDATE payments SET next_due_at = ?1 WHERE seq IN {open} \
                 AND EXISTS (SELECT 1 FROM receipts WHERE payment_seq = payments.seq AND {seen_ahead})"
            ),
            params![now.ms(), latest],
        )?;
        self.connection.execute(
            &format!(
                "UPDATE receipts SET first_seen_at = min(first_seen_at, ?1), last_conflict_at = min(last_conflict_at, ?1) \
                 WHERE payment_seq IN {open} AND {seen_ahead}"
            ),
            params![now.ms(), latest],
        )?;
        self.connection.execute(
            "UPDATE payouts SET expires_at = expires_at - set_forward_ms, set_forward_ms = 0 \
             WHERE state = 'NEW' AND created_at + set_forward_ms > ?1",
            [latest],
        )?;
        // An offer may have been extended without `set_forward_ms`, but no offer is valid longer
        // than a day.
        self.connection.execute(
            "UPDATE payouts SET expires_at = created_at + ?1 \
             WHERE state = 'NEW' AND expires_at > created_at + set_forward_ms + ?1",
            [OFFER_VALID_MAX_MS],
        )?;
        self.connection.execute(
            "UPDATE payouts SET set_forward_ms = 0 WHERE state = 'QUEUED' AND approved_at + set_forward_ms > ?1",
            [latest],
        )?;
        self.connection.execute(
            "UPDATE idempotency SET created_at = ?1 WHERE created_at > ?2",
            params![now.ms(), latest],
        )?;
        self.connection.execute(
            "UPDATE notifications SET first_due_at = ?1 WHERE head = 1 AND first_due_at > ?2",
            params![now.ms(), latest],
        )?;
        self.connection.execute(
            "UPDATE twins SET noticed_at = ?1 WHERE noticed_at > ?2",
            params![now.ms(), latest],
        )?;
        self.connection.execute(
            "UPDATE versions SET created_at = ?1 WHERE created_at > ?2",
            params![now.ms(), latest],
        )?;
        Ok(())
    }

    /// Makes notifications due at once if their last attempt ended after `attempted_after`.
    pub fn repeat_at_once(
        &self,
        attempted_after: Timestamp,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        self.connection.execute(
            "UPDATE notifications SET next_attempt_at = ?2 \
             WHERE head = 1 AND attempts > 0 AND last_attempt_at > ?1 AND next_attempt_at > ?2",
            params![attempted_after.ms(), now.ms()],
        )?;
        Ok(())
    }
}
