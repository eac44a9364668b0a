//! Watching the chain: one look takes a view of it, computes afresh the payments that it concerns,
//! and stores what came out.
//!
//! It is level-triggered: a reorganisation, a replacement, a crash and a sleep of the machine need
//! no path of their own, because the next look is the recovery. No network is used inside a
//! database transaction, and nothing is remembered here that a failed commit would make wrong.

mod accept;
mod ahead;
mod ancestors;
mod asked;
mod broadcast;
mod error;
mod findings;
mod look;
pub(crate) mod offering;
mod ours;
mod restored;
mod settling;
mod storing;
#[cfg(test)]
mod tests;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tillgate_domain::id::Id;
use tokio::sync::Mutex;
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use crate::gateway::Gateway;

pub(crate) use accept::AcceptError;
pub(crate) use error::WatchError;
pub(crate) use look::LookPermit;

use look::{Patience, Progress};

/// Time between looks: what a customer at a counter waits for. So short that a timer which stands still while the machine
/// sleeps delays the first look after it by no more.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Time between looks that the backend asks for, however much it sees: whoever floods it gets no more.
const WOKEN_EVERY: Duration = Duration::from_millis(50);

/// Looks at the chain of one environment.
pub struct Watcher {
    gateway: Arc<Gateway>,
    progress: Mutex<Progress>,
    /// Set once the loop runs: a long look ends with the next part when it is told to.
    shutdown: OnceLock<CancellationToken>,
}

impl Watcher {
    /// Goes on where the last look of `gateway` ended.
    #[must_use]
    pub fn new(gateway: Arc<Gateway>) -> Self {
        let progress = Progress::after(gateway.last_look.watched());
        Self { gateway, progress: Mutex::new(progress), shutdown: OnceLock::new() }
    }

    /// Waits for the look under way and keeps others from starting.
    pub async fn hold(&self) -> LookPermit<'_> {
        LookPermit::new(&self.gateway, self.progress.lock().await, self.shutdown.get())
    }

    /// Looks at the chain once.
    ///
    /// # Errors
    /// Why the look failed; all that it did not store is found again by the next.
    pub async fn look(&self) -> Result<(), WatchError> {
        self.hold().await.look().await
    }

    /// The same for somebody who does not wait for a look that has more to read than one answer holds, whoever makes it.
    ///
    /// # Errors
    /// [`WatchError::Behind`] then, which is no failure: the looks go on where it ended.
    pub(crate) async fn look_soon(&self) -> Result<(), WatchError> {
        let mut permit = tokio::select! {
            biased;
            permit = self.hold() => permit,
            catching_up = self.gateway.last_look.falls_behind() => return Err(WatchError::Behind(catching_up)),
        };
        permit.look_with(Patience::OneAnswer).await
    }

    /// Accepts the coins that came for a payment, on behalf of staff, but not less than `agreed_sats`, the sum on which
    /// they decided; `actor` is who, for the audit.
    ///
    /// # Errors
    /// Why not; nothing is changed then.
    pub async fn accept(&self, id: Id, agreed_sats: Option<u64>, actor: &str) -> Result<(), AcceptError> {
        self.hold().await.accept(id, agreed_sats, actor).await
    }

    /// Looks at the chain until `shutdown`. A look under way is finished first, or the part of a long one.
    pub async fn run(&self, shutdown: CancellationToken) {
        self.run_every(LOOK_EVERY, shutdown).await;
    }

    /// The same, so often where the backend wakes nobody.
    pub(crate) async fn run_every(&self, every: Duration, shutdown: CancellationToken) {
        // It runs once.
        let _ = self.shutdown.set(shutdown.clone());
        let mut tick = interval(every);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = shutdown.cancelled() => return,
                _ = tick.tick() => {}
                () = self.woken() => {}
            }
            // The last look remembers the reason of a failure and logs it once.
            let _ = self.look().await;
        }
    }

    /// Waits until the backend saw something, and no longer had it looked at just now than [`WOKEN_EVERY`] ago.
    async fn woken(&self) {
        tokio::time::sleep(WOKEN_EVERY).await;
        match self.gateway.chain.wake() {
            Some(wake) => wake.notified().await,
            None => std::future::pending().await,
        }
    }
}
