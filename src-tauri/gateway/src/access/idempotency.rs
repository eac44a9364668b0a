//! Lets a repeated request take effect once (interface, section 1, "Idempotency"). The database has
//! one writer: a simultaneous repetition waits for it, and then finds the first answer.

use sha2::{Digest, Sha256};
use tillgate_domain::time::Timestamp;
use tillgate_store::idempotency::StoredAnswer;
use tillgate_store::{Reader, StoreError, Tx};

/// Time for which a stored answer is repeated, by the environment's clock.
const ANSWERED_AGAIN_MS: i64 = 24 * 60 * 60 * 1_000;

/// A request that must take effect once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Once {
    key_id: i64,
    path: &'static str,
    key: String,
    request_sha256: [u8; 32],
}

/// The earlier use of an idempotency key within 24 hours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PriorRequest {
    /// This request is the first.
    None,
    /// The same request, with its answer, byte for byte.
    Same(Vec<u8>),
    /// A request with another body or query.
    Other,
}

impl Once {
    /// A request with an Idempotency-Key `key`: its scope is the API key and `path`. `body` is its
    /// canonical text.
    #[must_use]
    pub fn new(key_id: i64, path: &'static str, key: String, query: &str, body: &str) -> Self {
        let mut hash = Sha256::new();
        // A query holds no zero byte, so no other pair of query and body gives the same bytes.
        hash.update(query.as_bytes());
        hash.update([0]);
        hash.update(body.as_bytes());
        Self { key_id, path, key, request_sha256: hash.finalize().into() }
    }

    /// The earlier use of the request's Idempotency-Key.
    pub fn prior(&self, reader: &Reader<'_>, now: Timestamp) -> Result<PriorRequest, StoreError> {
        Ok(
            match reader.stored_answer(
                self.key_id,
                self.path,
                &self.key,
                now.plus_ms(-ANSWERED_AGAIN_MS),
            )? {
                None => PriorRequest::None,
                Some(stored) if stored.request_sha256 == self.request_sha256 => {
                    PriorRequest::Same(stored.answer)
                }
                Some(_) => PriorRequest::Other,
            },
        )
    }

    /// Stores the answer in the transaction of the request's effect.
    pub fn store(&self, tx: &Tx<'_>, answer: &[u8], now: Timestamp) -> Result<(), StoreError> {
        let stored = StoredAnswer { request_sha256: self.request_sha256, answer: answer.to_vec() };
        let after = now.plus_ms(-ANSWERED_AGAIN_MS);
        tx.store_answer((self.key_id, self.path, &self.key), &stored, now, after)
    }
}

#[cfg(test)]
mod tests {
    use tillgate_store::Store;

    use super::*;

    const NOW: Timestamp = Timestamp::from_ms(1_768_219_580_000);

    fn once(key: &str, query: &str, body: &str) -> Once {
        Once::new(1, "/v2/payments/new", key.to_owned(), query, body)
    }

    #[tokio::test]
    async fn an_answer_is_repeated_for_a_day_to_its_own_request_only() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("t.db")).unwrap();
        let first = once("k", "a=1", "body");
        let answered = first.clone();
        store.write(move |tx| answered.store(tx, b"answer", NOW)).await.unwrap();
        let prior = |once: Once, at| store.read(|reader| once.prior(reader, at)).unwrap();
        let day = 24 * 60 * 60 * 1_000;
        assert_eq!(
            prior(first.clone(), NOW.plus_ms(day - 1)),
            PriorRequest::Same(b"answer".to_vec())
        );
        assert_eq!(prior(first, NOW.plus_ms(day)), PriorRequest::None);
        assert_eq!(prior(once("k", "a=1", "other"), NOW), PriorRequest::Other);
        assert_eq!(prior(once("k", "", "body"), NOW), PriorRequest::Other);
        assert_eq!(prior(once("l", "a=1", "body"), NOW), PriorRequest::None);
    }

    #[tokio::test]
    async fn an_idempotency_key_serves_a_new_request_after_a_day() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("t.db")).unwrap();
        let (first, second) = (once("k", "", "1"), once("k", "", "2"));
        let later = NOW.plus_ms(25 * 60 * 60 * 1_000);
        store.write(move |tx| first.store(tx, b"one", NOW)).await.unwrap();
        let answered = second.clone();
        store.write(move |tx| answered.store(tx, b"two", later)).await.unwrap();
        let prior = store.read(|reader| second.prior(reader, later)).unwrap();
        assert_eq!(prior, PriorRequest::Same(b"two".to_vec()));
    }
}
