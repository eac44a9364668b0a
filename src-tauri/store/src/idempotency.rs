//! First answers of requests that carried an Idempotency-Key.

use rusqlite::{OptionalExtension, params};
use tillgate_domain::time::Timestamp;

use super::error::StoreError;
use super::reader::Reader;
use super::tx::Tx;

/// Most expired rows deleted with each new row, so that the table stays as large as a day's
/// requests.
const FORGOTTEN_WITH_EACH: u32 = 8;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredAnswer {
    /// SHA-256 of the request's query and of its body's canonical text.
    pub request_sha256: [u8; 32],
    /// Body of the answer, byte for byte.
    pub answer: Vec<u8>,
}

impl Reader<'_> {
    /// The answer to the first request with this API key, path and idempotency key, if later than
    /// `after`.
    pub fn stored_answer(
        &self,
        key_id: i64,
        path: &str,
        key: &str,
        after: Timestamp,
    ) -> Result<Option<StoredAnswer>, StoreError> {
        let mut query = self.connection.prepare_cached(
            "SELECT request_sha256, answer FROM idempotency WHERE key_id = ?1 AND path = ?2 AND key = ?3 \
             AND created_at > ?4",
        )?;
        let answer = query.query_row(params![key_id, path, key, after.ms()], |row| {
            Ok(StoredAnswer { request_sha256: row.get(0)?, answer: row.get(1)? })
        });
        Ok(answer.optional()?)
    }
}

impl Tx<'_> {
    /// Stores the answer to a request, replacing an expired one. Also deletes some answers that are
    /// not later than `after`.
    pub fn store_answer(
        &self,
        (key_id, path, key): (i64, &str, &str),
        answer: &StoredAnswer,
        now: Timestamp,
        after: Timestamp,
    ) -> Result<(), StoreError> {
        self.connection
            .prepare_cached(
                "DELETE FROM idempotency WHERE (key_id, path, key) IN \
                 (SELECT key_id, path, key FROM idempotency WHERE created_at <= ?1 ORDER BY created_at LIMIT ?2)",
            )?
            .execute(params![after.ms(), FORGOTTEN_WITH_EACH])?;
        self.connection
            .prepare_cached(
                "INSERT OR REPLACE INTO idempotency (key_id, path, key, request_sha256, answer, created_at) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            )?
            .execute(params![key_id, path, key, answer.request_sha256, answer.answer, now.ms()])?;
        Ok(())
    }
}
