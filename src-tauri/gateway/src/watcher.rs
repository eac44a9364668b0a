//! Watching the chain: one look takes a view of it, computes afresh the payments that it concerns,
//! and stores what came out.
//!
//! It is level-triggered: a reorganisation, a replacement, a crash and a sleep of the machine need
//! no path of their own, because the next look is the recovery. No network is used inside a
//! database transaction, and nothing is remembered here that a failed commit would make wrong.

mod advance;
mod broadcast;
mod pace;
mod seen;
mod staff;
mod status;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use tillgate_domain::advance::Look;
use tillgate_domain::id::Id;
use tillgate_domain::time::Timestamp;
use tokio::sync::{Mutex, MutexGuard};

use crate::chain::{ChainDown, Tip};
use crate::entropy::NoEntropy;
use crate::gateway::Gateway;
use crate::outbox::OutboxError;
use crate::store::chain::WatchedChain;
use crate::store::{Store, StoreError};

pub use pace::run;
pub use staff::AcceptError;
pub use status::{BackendWarning, WatchStatus};

use advance::{Context, Outcome};
use seen::{Cause, Concerned};

/// Payments in one commit: the writer is never held for long.
const PAYMENTS_PER_COMMIT: usize = 200;

/// How old the stored time of the last look may be: an idle look writes nothing.
const LOOKED_AT_STORED_EVERY_MS: i64 = 60_000;

/// Why a look failed. The next one makes up for it.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// The backend does not answer.
    #[error(transparent)]
    Chain(#[from] ChainDown),
    /// The database cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A new record could not be given an identifier.
    #[error(transparent)]
    Entropy(#[from] NoEntropy),
    /// A notification could not be queued.
    #[error(transparent)]
    Outbox(#[from] OutboxError),
    /// The look was broken off: the program is stopping.
    #[error("the look was broken off")]
    BrokenOff,
}

/// What the looks of one environment share.
pub struct Watcher {
    progress: Mutex<Progress>,
    status: status::Status,
}

/// How far the looks have come. Behind the lock by which they run one at a time.
#[derive(Debug)]
pub(crate) struct Progress {
    watched: Option<WatchedChain>,
    /// `looked_at` as the database has it.
    stored_looked_at: Option<Timestamp>,
    missing: broadcast::Missing,
}

/// The right to look: while it is held nobody else looks.
pub struct Looking<'a> {
    gateway: &'a Arc<Gateway>,
    progress: MutexGuard<'a, Progress>,
}

impl Watcher {
    /// Goes on where the database says that the chain was watched to.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn load(store: &Store) -> Result<Self, StoreError> {
        let watched = store.read(|reader| reader.watched_chain())?;
        let progress = Progress {
            watched,
            stored_looked_at: watched.map(|watched| watched.looked_at),
            missing: broadcast::Missing::default(),
        };
        Ok(Self { progress: Mutex::new(progress), status: status::Status::new(watched) })
    }

    /// How the watching goes.
    #[must_use]
    pub fn status(&self) -> WatchStatus {
        self.status.get()
    }

    /// How far the chain was watched, at the last successful look. The database may be a minute behind.
    #[must_use]
    pub fn watched(&self) -> Option<WatchedChain> {
        self.status.watched()
    }

    /// Waits for the look under way and keeps others from starting.
    pub async fn hold<'a>(&'a self, gateway: &'a Arc<Gateway>) -> Looking<'a> {
        Looking { gateway, progress: self.progress.lock().await }
    }
}

/// Looks at the chain once.
///
/// # Errors
/// Why the look failed; all that it did not store is found again by the next.
pub async fn watch_once(gateway: &Arc<Gateway>) -> Result<(), WatchError> {
    gateway.watcher.hold(gateway).await.look().await
}

/// Accepts the coins that came for a payment, on behalf of staff; `actor` is who, for the audit.
///
/// # Errors
/// Why not; nothing is changed then.
pub async fn accept_payment(gateway: &Arc<Gateway>, id: Id, actor: &str) -> Result<(), AcceptError> {
    gateway.watcher.hold(gateway).await.accept(id, actor).await
}

impl Looking<'_> {
    /// Looks at the chain once.
    ///
    /// # Errors
    /// As [`watch_once`].
    pub async fn look(&mut self) -> Result<(), WatchError> {
        let result = self.try_look().await;
        self.gateway.watcher.status.note(&result, self.progress.watched);
        result
    }

    async fn try_look(&mut self) -> Result<(), WatchError> {
        let at = self.gateway.clock.now();
        let since = self.progress.watched.map_or(0, |watched| watched.cursor);
        let gateway = Arc::clone(self.gateway);
        let seen = tokio::task::spawn_blocking(move || seen::take(&gateway, since, at))
            .await
            .map_err(|_| WatchError::BrokenOff)??;
        let watched = WatchedChain { cursor: seen.cursor, tip: seen.tip, looked_at: at };
        let is_new_tip = self.progress.watched.is_none_or(|before| before.tip.hash != watched.tip.hash);
        let concerned = !seen.payments.is_empty();
        if concerned || is_new_tip || self.is_worth_storing(&watched) {
            self.store(seen.payments, watched).await?;
        }
        self.progress.watched = Some(watched);
        if concerned || is_new_tip {
            self.gateway.note_change();
        }
        if concerned || is_new_tip || self.progress.missing.is_owed() {
            self.progress.missing.broadcast(self.gateway, is_new_tip).await?;
        }
        Ok(())
    }

    /// A look that found nothing is stored now and then only: repeating it costs nothing.
    fn is_worth_storing(&self, watched: &WatchedChain) -> bool {
        self.progress
            .stored_looked_at
            .is_none_or(|stored_at| watched.looked_at >= stored_at.plus_ms(LOOKED_AT_STORED_EVERY_MS))
    }

    /// Stores the look in commits of bounded size. How far the chain was watched comes with the
    /// last: after a crash in between the same look is made again, and finds done what was done.
    async fn store(&mut self, payments: BTreeMap<i64, Concerned>, watched: WatchedChain) -> Result<(), WatchError> {
        let context = self.context(watched.looked_at, &watched.tip, false);
        let mut payments: Vec<(i64, Concerned)> = payments.into_iter().collect();
        loop {
            let rest = payments.split_off(payments.len().min(PAYMENTS_PER_COMMIT));
            let is_last = rest.is_empty();
            let context = context.clone();
            let outcome = self
                .gateway
                .store
                .write(move |tx| {
                    let mut outcome = Outcome::default();
                    for (seq, concerned) in &payments {
                        advance::payment(tx, &context, *seq, concerned, concerned.cause.as_str(), &mut outcome)?;
                    }
                    if is_last {
                        tx.save_watched_chain(&watched)?;
                    }
                    Ok::<_, WatchError>(outcome)
                })
                .await?;
            self.after_commit(outcome);
            if is_last {
                self.progress.stored_looked_at = Some(watched.looked_at);
                return Ok(());
            }
            payments = rest;
        }
    }

    async fn accept(&mut self, id: Id, actor: &str) -> Result<(), AcceptError> {
        // A chain that does not answer keeps nobody from accepting what is known.
        if let Err(error) = self.look().await
            && !matches!(error, WatchError::Chain(_))
        {
            return Err(error.into());
        }
        let Some(watched) = self.progress.watched else { return Err(AcceptError::ChainNotWatched) };
        // At the time of the view that it rests on: accepting is no look, so it closes no payment by itself.
        let context = self.context(watched.looked_at, &watched.tip, true);
        let actor = actor.to_owned();
        let outcome = self.gateway.store.write(move |tx| staff::accept(tx, &context, &id, &actor)).await?;
        self.after_commit(outcome);
        self.gateway.note_change();
        Ok(())
    }

    fn context(&self, at: Timestamp, tip: &Tip, staff_accepts: bool) -> Context {
        Context {
            gateway: Arc::clone(self.gateway),
            look: Look {
                at,
                tip_height: tip.height,
                tip_time: tip.time,
                has_mempool: self.gateway.chain.has_mempool(),
                staff_accepts,
            },
            looked_before: self.progress.watched.map(|watched| watched.looked_at),
            pages_base: self.gateway.pages_base(),
        }
    }

    fn after_commit(&self, outcome: Outcome) {
        if outcome.has_queued {
            self.gateway.notifier_wake.notify_one();
        }
        for warning in outcome.warnings {
            self.gateway.watcher.status.warn(warning);
        }
    }
}

impl Cause {
    /// Its name in a payment's history.
    const fn as_str(self) -> &'static str {
        match self {
            Self::Chain => "chain",
            Self::Time => "time",
        }
    }
}
