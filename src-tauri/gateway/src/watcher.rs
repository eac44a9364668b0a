//! Watches the chain. One look takes a view of the chain, recomputes the affected payments, and
//! stores the result.
//!
//! Looks are level-triggered: after a reorganisation, a replacement, a crash or a suspend, the next
//! look is the recovery. No database transaction waits for the network. The state in memory stays
//! valid after a failed commit.

mod accept;
mod ancestors;
mod asked_scripts;
mod batch_progress;
mod cancel;
mod error;
mod findings;
mod look;
mod lookahead;
pub mod package;
mod receipt_rebroadcasts;
mod reorg;
mod restored;
mod storing;
#[cfg(test)]
mod tests;
mod watch_list;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tillgate_domain::id::Id;
use tokio::sync::Mutex;
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use crate::gateway::Gateway;

pub use accept::AcceptError;
pub use cancel::CancelError;
pub use error::WatchError;
pub use look::LookPermit;
pub use restored::HeldAfterScan;

use look::{Patience, Progress};

/// Time between looks, chosen for a customer waiting at a counter. Timers stop while the machine is
/// suspended, so the first look after a resume is at most this late.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Least time between looks after wake-ups from the backend, so that a flood of transactions cannot
/// cause more looks.
const WOKEN_EVERY: Duration = Duration::from_millis(50);

/// Watches the chain of one environment.
pub struct Watcher {
    gateway: Arc<Gateway>,
    progress: Mutex<Progress>,
    /// Set once the loop runs: a long look stops after its current part when this is cancelled.
    shutdown: OnceLock<CancellationToken>,
}

impl Watcher {
    /// Continues after the last look of `gateway`.
    #[must_use]
    pub fn new(gateway: Arc<Gateway>) -> Self {
        let progress = Progress::after(gateway.backend.last_look.watched());
        Self { gateway, progress: Mutex::new(progress), shutdown: OnceLock::new() }
    }

    /// Waits for the current look and keeps others from starting.
    pub async fn hold(&self) -> LookPermit<'_> {
        LookPermit::new(&self.gateway, self.progress.lock().await, self.shutdown.get())
    }

    /// Looks at the chain once.
    ///
    /// # Errors
    /// The next look finds again everything that a failed look did not store.
    pub async fn look(&self) -> Result<(), WatchError> {
        self.hold().await.look().await
    }

    /// Looks at the chain because the backend woke the watcher: for the news alone, if the backend
    /// knows what is new. Such a look decides no deadline, and the sender does not rely on it.
    ///
    /// # Errors
    /// As [`Self::look`].
    pub async fn look_woken(&self) -> Result<(), WatchError> {
        self.hold().await.look_woken().await
    }

    /// Looks once, but does not wait for a long look, which needs more than one answer of the
    /// backend.
    ///
    /// # Errors
    /// [`WatchError::Behind`] for such a look. This is no failure: later looks continue after the
    /// stored part.
    pub async fn look_soon(&self) -> Result<(), WatchError> {
        let mut permit = tokio::select! {
            biased;
            permit = self.hold() => permit,
            catching_up = self.gateway.backend.last_look.falls_behind() => return Err(WatchError::Behind(catching_up)),
        };
        permit.look_with(Patience::OneAnswer, false).await
    }

    /// Accepts the coins received for a payment on behalf of `actor`, whom the audit names.
    /// `agreed_sats` is the sum that staff saw: fails if less is left.
    ///
    /// # Errors
    /// Fails when the coins cannot be accepted. Nothing is stored then.
    pub async fn accept(
        &self,
        id: Id,
        agreed_sats: Option<u64>,
        actor: &str,
    ) -> Result<(), AcceptError> {
        self.hold().await.accept(id, agreed_sats, actor).await
    }

    /// Cancels a NEW payment without coins on behalf of `actor`, whom the audit names.
    ///
    /// # Errors
    /// Fails when coins were seen, or when the chain cannot be looked at now. Nothing is stored
    /// then.
    pub async fn cancel(&self, id: Id, actor: &str) -> Result<(), CancelError> {
        self.hold().await.cancel(id, actor).await
    }

    /// Looks at the chain until `shutdown`. The current look, or the current part of a long one, is
    /// finished first.
    pub async fn run(&self, shutdown: CancellationToken) {
        self.run_every(LOOK_EVERY, shutdown).await;
    }

    /// Like [`Self::run`], with a given interval. Wake-ups from the backend start further looks.
    pub async fn run_every(&self, every: Duration, shutdown: CancellationToken) {
        // This function runs once.
        let _ = self.shutdown.set(shutdown.clone());
        let mut tick = interval(every);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let is_woken = tokio::select! {
                () = shutdown.cancelled() => return,
                _ = tick.tick() => false,
                () = self.woken() => true,
            };
            // `last_look` keeps the reason of a failure and logs it once.
            let _ = if is_woken { self.look_woken().await } else { self.look().await };
        }
    }

    /// Waits for a wake-up from the backend, but at least [`WOKEN_EVERY`].
    async fn woken(&self) {
        tokio::time::sleep(WOKEN_EVERY).await;
        match self.gateway.backend.chain.wake() {
            Some(wake) => wake.notified().await,
            None => std::future::pending().await,
        }
    }
}
