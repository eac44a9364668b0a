//! From the outbox to the merchants' servers: selects what is due, signs the stored bytes, POSTs them,
//! stores the attempt and when the next is due. Never changes a body, and never sends unsigned where an
//! HMAC key exists.
//!
//! Nothing is stored before an attempt: until its outcome is stored the notification stays due,
//! so that a crash repeats an attempt rather than losing one.

mod attempt;
mod post;
mod select;
mod under_way;

use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use tillgate_domain::time::Timestamp;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::hmac_keys::{self, HmacKeys};
use crate::gateway::Gateway;
use crate::machine::clock;
use crate::store::StoreError;
use select::Rounds;
use under_way::UnderWay;

/// How long a merchant's server may take to answer (interface, section 5).
pub(crate) const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(10);

/// `run` looks at least this often: a change of the machine's clock or a wake that was missed
/// delays nothing for longer.
const LOOK_EVERY_MS: i64 = 5_000;

/// A look that did not come to all servers goes on after this.
const LOOK_ON_MS: i64 = 100;

/// How long attempts under way may take to end when the gateway stops.
const STOP_WITHIN: Duration = Duration::from_secs(2);

/// Bodies stay this long after the last attempt.
const BODIES_DROPPED_AFTER_MS: i64 = 30 * 24 * 3_600_000;

/// How often old bodies are looked for.
const SWEEP_EVERY_MS: i64 = 3_600_000;

/// Bodies that are dropped in one transaction, so that the writer is not held long.
const SWEEP_BATCH: u32 = 500;

/// Sends what one gateway's outbox holds. Nothing in it outlives the process.
pub struct Notifier {
    gateway: Arc<Gateway>,
    /// What notifications are signed with.
    pub keys: HmacKeys,
    client: post::Client,
    /// How long a merchant's server has to answer.
    timeout: Duration,
    under_way: Mutex<UnderWay>,
    /// Held over a pass: two at once would start the same notification twice.
    rounds: tokio::sync::Mutex<Rounds>,
    attempts: TaskTracker,
    /// Cuts the attempts short that are under way.
    stop: CancellationToken,
}

/// The HTTP client could not be made.
#[derive(Debug, thiserror::Error)]
#[error("no HTTP client for notifications: {0}")]
pub struct NoClient(#[from] rustls::Error);

/// What a look at the outbox led to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pass {
    /// How many attempts were started.
    pub started: usize,
    /// When a look finds more, though nothing ends or is queued before; on the environment's clock.
    pub next_due_at: Option<Timestamp>,
}

impl Notifier {
    /// Sends what the outbox of `gateway` holds, to servers that have `timeout` to answer.
    ///
    /// # Errors
    /// When the HTTP client cannot be made.
    pub fn new(gateway: Arc<Gateway>, timeout: Duration) -> Result<Arc<Self>, NoClient> {
        Ok(Arc::new(Self {
            keys: HmacKeys::new(Arc::clone(&gateway)),
            gateway,
            client: post::client()?,
            timeout,
            under_way: Mutex::default(),
            rounds: tokio::sync::Mutex::default(),
            attempts: TaskTracker::new(),
            stop: CancellationToken::new(),
        }))
    }

    /// Starts every attempt that is due, within the limits, and waits for none of them. Each that
    /// ends wakes `notifier_wake`: call this again then, or at `next_due_at`.
    ///
    /// # Errors
    /// When the outbox cannot be read.
    pub async fn start_due(self: &Arc<Self>) -> Result<Pass, StoreError> {
        let mut rounds = self.rounds.lock().await;
        // Before the snapshot of the database: see `select`.
        let under_way = self.under_way().clone();
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
                None => return Ok(Pass { started: 0, next_due_at: Some(now.plus_ms(hmac_keys::RETRY_MS)) }),
            },
        };
        let started = selection.due.len();
        for due in selection.due {
            attempt::start(self, due, keys.clone());
        }
        let look_on_at = selection.is_unfinished.then(|| now.plus_ms(LOOK_ON_MS));
        Ok(Pass { started, next_due_at: [selection.next_due_at, look_on_at].into_iter().flatten().min() })
    }

    /// Starts what is due, again and again, until `shutdown`; then gives attempts under way a moment to end.
    pub async fn run(self: Arc<Self>, shutdown: CancellationToken) {
        let mut swept_at: Option<Timestamp> = None;
        loop {
            let now = self.gateway.clock.now();
            if swept_at.is_none_or(|at| now >= at.plus_ms(SWEEP_EVERY_MS)) {
                swept_at = Some(now);
                if let Err(error) = self.sweep_once().await {
                    tracing::warn!(%error, "old notifications' bodies could not be dropped");
                }
            }
            let latest_at = self.gateway.clock.now().plus_ms(LOOK_EVERY_MS);
            let next_at = match self.start_due().await {
                Ok(pass) => pass.next_due_at.map_or(latest_at, |at| at.min(latest_at)),
                Err(error) => {
                    tracing::error!(%error, "the outbox cannot be read; notifications wait");
                    latest_at
                }
            };
            tokio::select! {
                () = shutdown.cancelled() => break,
                () = self.gateway.notifier_wake.notified() => {}
                () = clock::sleep_until(self.gateway.clock.as_ref(), next_at) => {}
            }
        }
        self.end().await;
    }

    /// Drops the bodies of what was last attempted more than 30 days ago. Answers how many.
    ///
    /// # Errors
    /// When it cannot be stored.
    pub async fn sweep_once(&self) -> Result<usize, StoreError> {
        let before = self.gateway.clock.now().plus_ms(-BODIES_DROPPED_AFTER_MS);
        let mut swept = 0;
        loop {
            let batch = self.gateway.store.write(move |tx| tx.strip_bodies(before, SWEEP_BATCH)).await?;
            swept += batch;
            if batch == 0 {
                return Ok(swept);
            }
        }
    }

    /// Lets attempts end for a moment, then cuts them short: they are due again at the next start.
    async fn end(&self) {
        self.attempts.close();
        if tokio::time::timeout(STOP_WITHIN, self.attempts.wait()).await.is_err() {
            self.stop.cancel();
            self.attempts.wait().await;
        }
    }

    fn under_way(&self) -> MutexGuard<'_, UnderWay> {
        self.under_way.lock()
    }
}

#[cfg(test)]
impl Notifier {
    /// How many attempts have started and not ended.
    pub(crate) fn count_under_way(&self) -> usize {
        self.under_way().count()
    }

    /// The same, at the server that a URL names.
    pub(crate) fn count_under_way_at(&self, url: &str) -> usize {
        self.under_way().count_at(&crate::store::notifications::server_of(url))
    }
}
