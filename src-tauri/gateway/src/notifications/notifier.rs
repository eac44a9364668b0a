//! Sends the outbox to the merchants' servers: selects the due notifications, signs the stored
//! bytes, POSTs them, and stores the attempt with the time of the next attempt. Never changes a
//! body, and never sends an unsigned notification while an HMAC key exists.
//!
//! A notification stays due until the outcome of its attempt is stored. So a crash repeats an
//! attempt and loses none.

mod attempt;
mod attempts;
mod post;
mod select;
mod under_way;

use std::sync::Arc;
use std::time::Duration;

use attempts::Attempts;
use tillgate_domain::time::Timestamp;
use tillgate_machine::clock;
use tillgate_store::StoreError;
use tokio_util::sync::CancellationToken;

use super::hmac_keys::{self, HmacKeys};
use crate::gateway::Gateway;
pub use post::NotPosted;
use select::Rounds;

/// Time for a merchant's server to answer (interface, section 5).
pub const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(10);

/// The longest time between two readings of the outbox in `run`. It bounds the delay after a change
/// of the machine's clock, or after a missed wake.
const LOOK_EVERY_MS: i64 = 5_000;

/// Pause before the reading of the outbox continues if it did not reach all servers.
const LOOK_ON_MS: i64 = 100;

/// Time for which bodies are kept after the last attempt (interface, section 5).
const BODIES_DROPPED_AFTER_MS: i64 = 30 * 24 * 3_600_000;

/// Time between two searches for old bodies.
const SWEEP_EVERY_MS: i64 = 3_600_000;

/// Bodies dropped in one transaction, so that the writer is not held long.
const SWEEP_BATCH: u32 = 500;

/// Sends one gateway's outbox. Its state is lost when the process ends.
pub struct Notifier {
    gateway: Arc<Gateway>,
    /// The keys that sign notifications.
    pub keys: HmacKeys,
    attempts: Arc<Attempts>,
    /// Locked during a pass: two passes at once would start the same notification twice.
    rounds: tokio::sync::Mutex<Rounds>,
}

/// The HTTP client could not be made.
#[derive(Debug, thiserror::Error, tillgate_told::Told)]
#[error("no HTTP client for notifications: {0}")]
pub struct NoClient(#[from] rustls::Error);

/// The result of a pass over the outbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pass {
    /// The number of attempts started.
    pub started: usize,
    /// The time of the next pass, on the environment's clock. A pass is needed earlier if an
    /// attempt ends or a notification is queued.
    pub next_due_at: Option<Timestamp>,
}

impl Notifier {
    /// A notifier for the outbox of `gateway`; a server has `timeout` to answer.
    ///
    /// # Errors
    /// The HTTP client cannot be made.
    pub fn new(gateway: Arc<Gateway>, timeout: Duration) -> Result<Arc<Self>, NoClient> {
        Ok(Arc::new(Self {
            keys: HmacKeys::new(Arc::clone(&gateway)),
            attempts: Attempts::new(Arc::clone(&gateway), post::Clients::new()?, timeout),
            gateway,
            rounds: tokio::sync::Mutex::default(),
        }))
    }

    /// Starts every due attempt within the limits, and does not wait for their results. Call it
    /// again at `next_due_at`, and when `notifier_wake` is notified, as each attempt does at its
    /// end.
    ///
    /// # Errors
    /// The outbox cannot be read.
    pub async fn start_due(self: &Arc<Self>) -> Result<Pass, StoreError> {
        let mut rounds = self.rounds.lock().await;
        // Must be copied before the database's snapshot is taken: see `select::select`.
        let under_way = self.attempts.under_way().clone();
        let now = self.gateway.follow_clock().await?;
        let (reading, mut round) = (Arc::clone(&self.gateway), rounds.clone());
        let selecting = tokio::task::spawn_blocking(move || {
            reading.store.read(|reader| {
                let selection = select::select(reader, under_way, &mut round, now)?;
                Ok::<_, StoreError>((selection, reader.hmac_key_id()?, round))
            })
        });
        let (selection, key_id, round) = selecting.await.map_err(|_| StoreError::Closed)??;
        *rounds = round;

        let keys = match key_id {
            None => None,
            Some(key_id) => match self.keys.signing(key_id, now).await {
                Some(keys) => Some(Arc::new(keys)),
                None => {
                    return Ok(Pass {
                        started: 0,
                        next_due_at: Some(now.plus_ms(hmac_keys::RETRY_MS)),
                    });
                }
            },
        };
        let started = selection.due.len();
        for due in selection.due {
            attempt::start(&self.attempts, due, keys.clone());
        }
        let look_on_at = selection.is_unfinished.then(|| now.plus_ms(LOOK_ON_MS));
        Ok(Pass {
            started,
            next_due_at: [selection.next_due_at, look_on_at].into_iter().flatten().min(),
        })
    }

    /// Starts due attempts until `shutdown`, then waits for running attempts as `Attempts::end`
    /// does.
    pub async fn run(self: Arc<Self>, shutdown: CancellationToken) {
        let mut swept_at: Option<Timestamp> = None;
        loop {
            let now = self.gateway.time.now();
            if swept_at.is_none_or(|at| now >= at.plus_ms(SWEEP_EVERY_MS)) {
                swept_at = Some(now);
                if let Err(error) = self.sweep_once().await {
                    tracing::warn!(%error, "old notifications' bodies could not be dropped");
                }
            }
            let latest_at = self.gateway.time.now().plus_ms(LOOK_EVERY_MS);
            let next_at = match self.start_due().await {
                Ok(pass) => pass.next_due_at.map_or(latest_at, |at| at.min(latest_at)),
                Err(error) => {
                    tracing::error!(%error, "the outbox cannot be read; notifications wait");
                    latest_at
                }
            };
            tokio::select! {
                () = shutdown.cancelled() => break,
                () = self.gateway.signals.notifier.notified() => {}
                () = clock::sleep_until(self.gateway.time.clock.as_ref(), next_at) => {}
            }
        }
        self.attempts.end().await;
    }

    /// Drops the bodies of notifications whose last attempt is more than 30 days ago. Returns their
    /// number.
    ///
    /// # Errors
    /// The database cannot be written.
    pub async fn sweep_once(&self) -> Result<usize, StoreError> {
        let before = self.gateway.time.now().plus_ms(-BODIES_DROPPED_AFTER_MS);
        let mut swept = 0;
        loop {
            let batch =
                self.gateway.store.write(move |tx| tx.strip_bodies(before, SWEEP_BATCH)).await?;
            swept += batch;
            if batch == 0 {
                return Ok(swept);
            }
        }
    }
}

#[cfg(any(test, feature = "testing"))]
impl Notifier {
    /// The number of attempts that have started and not ended.
    pub fn count_under_way(&self) -> usize {
        self.attempts.under_way().count()
    }

    /// The number of running attempts at the server of a URL.
    #[cfg(test)]
    pub fn count_under_way_at(&self, url: &str) -> usize {
        self.attempts.under_way().count_at(&tillgate_store::notifications::server_of(url))
    }
}
