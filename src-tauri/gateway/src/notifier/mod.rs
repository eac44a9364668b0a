//! From the outbox to the merchants' servers: picks what is due, signs the stored bytes, POSTs,
//! records the attempt and what follows. Never changes a body, and never sends unsigned where an
//! HMAC key exists.
//!
//! Nothing is stored before an attempt: until its outcome is recorded the notification stays due,
//! so that a crash repeats an attempt rather than losing one.

mod attempt;
mod keys;
mod post;
mod select;
mod under_way;

#[cfg(test)]
mod tests;

pub use keys::{RotateError, rotate};

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tillgate_domain::id::Id;
use tillgate_domain::time::Timestamp;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::gateway::Gateway;
use crate::signature::SigningKeys;
use crate::store::StoreError;
use under_way::UnderWay;

/// How long a merchant's server may take to answer (interface, section 5).
pub const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(10);

/// `run` looks at least this often: a change of the machine's clock or a wake that was missed
/// delays nothing for longer.
const LOOK_EVERY: Duration = Duration::from_secs(5);

/// How long attempts under way may take to end when the gateway stops.
const STOP_WITHIN: Duration = Duration::from_secs(2);

/// A key that could not be read is asked for again after this: each time may cost the keyring some
/// 15 ms, and people a prompt.
const KEY_RETRY_MS: i64 = 5_000;

/// Bodies are kept this long after the last attempt.
const BODY_KEPT_MS: i64 = 30 * 24 * 3_600_000;

/// How often old bodies are looked for.
const SWEEP_EVERY_MS: i64 = 3_600_000;

/// Bodies dropped in one transaction, so that the writer is not held long.
const SWEEP_BATCH: u32 = 500;

/// The notifier's memory, part of a [`Gateway`]. Nothing in it outlives the process.
pub struct Notifier {
    client: reqwest::Client,
    timeout: Duration,
    under_way: Mutex<UnderWay>,
    signing: Mutex<Signing>,
    /// Two passes at once would start the same notification twice.
    passing: tokio::sync::Mutex<()>,
    rotating: tokio::sync::Mutex<()>,
    attempts: TaskTracker,
    stop: CancellationToken,
}

/// What is known of the keys.
#[derive(Default)]
struct Signing {
    keys: Option<SigningKeys>,
    trouble: Option<Trouble>,
}

/// A key that exists and cannot be read.
#[derive(Clone)]
struct Trouble {
    key_id: Id,
    since: Timestamp,
    sentence: String,
}

/// The HTTP client could not be made.
#[derive(Debug, thiserror::Error)]
#[error("no HTTP client for notifications: {0}")]
pub struct NoClient(#[from] reqwest::Error);

/// What a look at the outbox led to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pass {
    /// Attempts started.
    pub started: usize,
    /// When the next repeat is due, on the environment's clock.
    pub next_due_at: Option<Timestamp>,
}

impl Notifier {
    /// The notifier as the interface wants it.
    ///
    /// # Errors
    /// When the HTTP client cannot be made.
    pub fn new() -> Result<Self, NoClient> {
        Self::with_timeout(ATTEMPT_TIMEOUT)
    }

    /// The same, with another patience.
    ///
    /// # Errors
    /// When the HTTP client cannot be made.
    pub fn with_timeout(timeout: Duration) -> Result<Self, NoClient> {
        Ok(Self {
            client: post::client(timeout)?,
            timeout,
            under_way: Mutex::default(),
            signing: Mutex::default(),
            passing: tokio::sync::Mutex::default(),
            rotating: tokio::sync::Mutex::default(),
            attempts: TaskTracker::new(),
            stop: CancellationToken::new(),
        })
    }

    /// Why notifications wait although they are due, a sentence with the remedy: the HMAC key
    /// exists and cannot be read.
    #[must_use]
    pub fn trouble(&self) -> Option<String> {
        self.signing().trouble.as_ref().map(|trouble| trouble.sentence.clone())
    }

    /// Attempts that have started and not ended.
    #[must_use]
    pub fn count_under_way(&self) -> usize {
        self.under_way().count()
    }

    /// The same, at the server that a URL names.
    #[cfg(test)]
    fn count_under_way_at(&self, url: &str) -> usize {
        self.under_way().count_at(&crate::store::notifications::server_of(url))
    }

    fn under_way(&self) -> MutexGuard<'_, UnderWay> {
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn signing(&self) -> MutexGuard<'_, Signing> {
        self.signing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Starts every attempt that is due, within the limits, and waits for none of them. Each that
/// ends wakes `notifier_wake`: call again then, or at `next_due_at`.
///
/// # Errors
/// When the outbox cannot be read.
pub async fn deliver_once(gateway: &Arc<Gateway>) -> Result<Pass, StoreError> {
    let notifier = &gateway.notifier;
    let _one_at_a_time = notifier.passing.lock().await;
    // Before the snapshot of the database: see `select`.
    let under_way = notifier.under_way().clone();
    let now = gateway.clock.now();
    let reading = gateway.clone();
    let (selection, key_id) = tokio::task::spawn_blocking(move || {
        reading
            .store
            .read(|reader| Ok::<_, StoreError>((select::select(reader, under_way, now)?, reader.hmac_key_id()?)))
    })
    .await
    .map_err(|_| StoreError::Closed)??;

    let keys = match key_id {
        None => None,
        Some(key_id) => match signing_keys(gateway, key_id, now).await {
            Some(keys) => Some(Arc::new(keys)),
            None => return Ok(Pass { started: 0, next_due_at: Some(now.plus_ms(KEY_RETRY_MS)) }),
        },
    };
    let started = selection.due.len();
    for (server, due) in selection.due {
        attempt::start(gateway, server, due, keys.clone());
    }
    Ok(Pass { started, next_due_at: selection.next_due_at })
}

/// Delivers until `shutdown`; then lets what is under way end, for a moment.
pub async fn run(gateway: Arc<Gateway>, shutdown: CancellationToken) {
    let mut swept_at: Option<Timestamp> = None;
    loop {
        let now = gateway.clock.now();
        if swept_at.is_none_or(|at| now >= at.plus_ms(SWEEP_EVERY_MS)) {
            swept_at = Some(now);
            if let Err(error) = sweep_once(&gateway).await {
                tracing::warn!(%error, "old notifications' bodies could not be dropped");
            }
        }
        let pause = match deliver_once(&gateway).await {
            Ok(pass) => pass.next_due_at.map_or(LOOK_EVERY, |at| until(at, gateway.clock.now())),
            Err(error) => {
                tracing::error!(%error, "the outbox cannot be read; notifications wait");
                LOOK_EVERY
            }
        };
        tokio::select! {
            () = shutdown.cancelled() => break,
            () = gateway.notifier_wake.notified() => {}
            () = tokio::time::sleep(pause) => {}
        }
    }
    stop(&gateway.notifier).await;
}

/// Drops the bodies of what was last attempted more than 30 days ago. Answers how many.
///
/// # Errors
/// When it cannot be stored.
pub async fn sweep_once(gateway: &Gateway) -> Result<usize, StoreError> {
    let before = gateway.clock.now().plus_ms(-BODY_KEPT_MS);
    let mut swept = 0;
    loop {
        let batch = gateway.store.write(move |tx| tx.strip_bodies(before, SWEEP_BATCH)).await?;
        swept += batch;
        if batch == 0 {
            return Ok(swept);
        }
    }
}

/// Lets attempts end for a moment, then cuts them short: they are due again at the next start.
async fn stop(notifier: &Notifier) {
    notifier.attempts.close();
    if tokio::time::timeout(STOP_WITHIN, notifier.attempts.wait()).await.is_err() {
        notifier.stop.cancel();
        notifier.attempts.wait().await;
    }
}

fn until(at: Timestamp, now: Timestamp) -> Duration {
    let ms = u64::try_from(at.ms().saturating_sub(now.ms())).unwrap_or(0);
    Duration::from_millis(ms).min(LOOK_EVERY)
}

/// The keys to sign with, read from the secret store when the one that signs has changed. `None`:
/// the key cannot be read, so nothing may be sent.
async fn signing_keys(gateway: &Gateway, key_id: Id, now: Timestamp) -> Option<SigningKeys> {
    let notifier = &gateway.notifier;
    {
        let signing = notifier.signing();
        if let Some(keys) = signing.keys.as_ref().filter(|keys| keys.current.id() == key_id) {
            return Some(keys.clone());
        }
        let asked_lately = |trouble: &Trouble| trouble.key_id == key_id && now < trouble.since.plus_ms(KEY_RETRY_MS);
        if signing.trouble.as_ref().is_some_and(asked_lately) {
            return None;
        }
    }
    let loaded = keys::load(gateway, key_id).await;
    let mut signing = notifier.signing();
    match loaded {
        Ok(keys) => {
            *signing = Signing { keys: Some(keys.clone()), trouble: None };
            Some(keys)
        }
        Err(error) => {
            let sentence = format!("notifications wait, because their HMAC key cannot be read: {error}");
            if signing.trouble.as_ref().is_none_or(|trouble| trouble.sentence != sentence) {
                tracing::error!("{sentence}");
            }
            *signing = Signing { keys: None, trouble: Some(Trouble { key_id, since: now, sentence }) };
            None
        }
    }
}
