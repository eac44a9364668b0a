//! Doing a thing once however often it is asked for (interface, section 1, "Idempotency"). The
//! database's one writer makes a concurrent twin wait: it finds the first's answer in its own turn.

use sha2::{Digest, Sha256};
use tillgate_domain::time::Timestamp;

use crate::store::idempotency::StoredAnswer;
use crate::store::{Reader, StoreError, Tx};

/// How long an answer is kept, on the environment's clock.
const KEPT_MS: i64 = 24 * 60 * 60 * 1_000;

/// A request that is to take effect once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Once {
    key_id: i64,
    path: &'static str,
    key: String,
    request_sha256: [u8; 32],
}

/// What is known of a request that is to take effect once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Seen {
    /// Nothing: it is the first.
    Never,
    /// The first answer, byte for byte.
    Answered(Vec<u8>),
    /// The key was used with another body or query.
    Reused,
}

impl Once {
    /// A request with an Idempotency-Key `key`: its scope is the API key and `path`.
    #[must_use]
    pub fn new(key_id: i64, path: &'static str, key: String, query: &str, body: &[u8]) -> Self {
        let mut hash = Sha256::new();
        // A query holds no byte 0, so that no other pair of query and body gives the same bytes.
        hash.update(query.as_bytes());
        hash.update([0]);
        hash.update(body);
        Self { key_id, path, key, request_sha256: hash.finalize().into() }
    }

    /// Looks whether it was answered within the last 24 hours.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn seen(&self, reader: &Reader<'_>, now: Timestamp) -> Result<Seen, StoreError> {
        Ok(match reader.stored_answer(self.key_id, self.path, &self.key, now.plus_ms(-KEPT_MS))? {
            None => Seen::Never,
            Some(kept) if kept.request_sha256 == self.request_sha256 => Seen::Answered(kept.answer),
            Some(_) => Seen::Reused,
        })
    }

    /// Keeps its answer, in the transaction of its effect.
    ///
    /// # Errors
    /// When it cannot be stored.
    pub fn keep(&self, tx: &Tx<'_>, answer: &[u8], now: Timestamp) -> Result<(), StoreError> {
        let kept = StoredAnswer { request_sha256: self.request_sha256, answer: answer.to_vec() };
        let after = now.plus_ms(-KEPT_MS);
        tx.store_answer((self.key_id, self.path, &self.key), &kept, now, after)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Store;

    const NOW: Timestamp = Timestamp::from_ms(1_768_219_580_000);

    fn once(key: &str, query: &str, body: &[u8]) -> Once {
        Once::new(1, "/v2/payments/new", key.to_owned(), query, body)
    }

    #[tokio::test]
    async fn an_answer_is_kept_for_a_day_and_for_its_own_request_alone() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("t.db")).unwrap();
        let first = once("k", "a=1", b"body");
        let kept = first.clone();
        store.write(move |tx| kept.keep(tx, b"answer", NOW)).await.unwrap();
        let seen = |once: Once, at| store.read(|reader| once.seen(reader, at)).unwrap();
        let day = 24 * 60 * 60 * 1_000;
        assert_eq!(seen(first.clone(), NOW.plus_ms(day - 1)), Seen::Answered(b"answer".to_vec()));
        assert_eq!(seen(first, NOW.plus_ms(day)), Seen::Never);
        assert_eq!(seen(once("k", "a=1", b"other"), NOW), Seen::Reused);
        assert_eq!(seen(once("k", "", b"body"), NOW), Seen::Reused);
        assert_eq!(seen(once("l", "a=1", b"body"), NOW), Seen::Never);
    }

    #[tokio::test]
    async fn a_key_past_its_time_serves_a_new_request() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("t.db")).unwrap();
        let (first, second) = (once("k", "", b"1"), once("k", "", b"2"));
        let later = NOW.plus_ms(25 * 60 * 60 * 1_000);
        store.write(move |tx| first.keep(tx, b"one", NOW)).await.unwrap();
        let kept = second.clone();
        store.write(move |tx| kept.keep(tx, b"two", later)).await.unwrap();
        let seen = store.read(|reader| second.seen(reader, later)).unwrap();
        assert_eq!(seen, Seen::Answered(b"two".to_vec()));
    }
}
