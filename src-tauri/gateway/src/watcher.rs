//! Watches the chain. One look takes a view of the chain, recomputes the affected payments, and stores the result.
//!
//! Looks are level-triggered: after a reorganisation, a replacement, a crash or a suspend, the next look is the
//! recovery. No database transaction waits for the network. A failed commit makes no state in memory wrong.

mod accept;
mod advance;
mod ahead;
mod ancestors;
mod asked;
pub(crate) mod batches;
mod broadcast;
mod coins;
mod conflicts;
mod findings;
pub(crate) mod offering;
mod ours;
mod restored;
mod settling;
mod storing;
#[cfg(test)]
mod tests;
mod touched;
mod twin_ledger;
pub(crate) mod twins;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bitcoin::BlockHash;
use tillgate_domain::advance::Look;
use tillgate_domain::checked_clock::CheckedClock;
use tillgate_domain::id::Id;
use tillgate_domain::time::Timestamp;
use tokio::sync::{Mutex, MutexGuard};
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use crate::chain::{ChainDown, Sees, Tip};
use crate::gateway::{CatchingUp, FailedLook, Gateway, StaffWarning};
use crate::machine::clock::Moment;
use crate::machine::entropy::NoEntropy;
use crate::notifications::outbox::{self, Outbox, OutboxError};
use crate::store::chain::WatchedChain;
use crate::store::keychains::Keychain;
use crate::store::{StoreError, Tx};

pub(crate) use accept::AcceptError;

use advance::Context;
use ancestors::Ancestors;
use asked::{HotRead, Round};
use findings::Findings;
use settling::{Due, Settling, Told};

/// Time between looks, chosen for a customer waiting at a counter. Timers stop while the machine is suspended, so the
/// first look after a resume is at most this late.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Least time between looks after wake-ups of the backend, so that a flood of transactions cannot raise the rate.
const WOKEN_EVERY: Duration = Duration::from_millis(50);

/// Most that the stored time of the last look lags behind: an idle look writes nothing.
const LOOKED_AT_STORED_EVERY_MS: u64 = 60_000;

/// Why a look failed. The next look recovers.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// The backend does not answer.
    #[error(transparent)]
    Chain(#[from] ChainDown),
    /// The database cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// No identifier could be generated for a new record.
    #[error(transparent)]
    Entropy(#[from] NoEntropy),
    /// A notification could not be queued.
    #[error(transparent)]
    Outbox(#[from] OutboxError),
    /// The backend is on another network than the database.
    #[error(
        "this data directory belongs to the network that begins with block {known}, and the backend shows the one that begins with {found}: set the backend right, or name another --data-dir"
    )]
    OtherNetwork {
        /// Genesis block of the network watched so far.
        known: BlockHash,
        /// Genesis block of the backend's network.
        found: BlockHash,
    },
    /// Staff stopped the scan of a restored wallet.
    #[error("the restored wallet's look through the chain was stopped: let it go on, or restore the wallet once more")]
    Stopped,
    /// The birth height of a restored wallet is above the best block, so there is nothing to scan yet.
    #[error(
        "the wallet was restored with a birthday above the best block, {tip_height}: it is looked for once the backend has come to block {birth_height}; if the birthday is wrong, restore the wallet once more with another"
    )]
    NotBorn {
        /// The block before the first scanned one.
        birth_height: u32,
        /// Height of the best block.
        tip_height: u32,
    },
    /// The chain has more to read than the caller waits for. The part read so far is stored.
    #[error("{0}")]
    Behind(CatchingUp),
    /// The look was interrupted because the program is stopping.
    #[error("the look was broken off")]
    BrokenOff,
}

impl From<&WatchError> for FailedLook {
    fn from(error: &WatchError) -> Self {
        let is_for_storage = match error {
            WatchError::Store(error) | WatchError::Outbox(OutboxError::Store(error)) => error.is_passing(),
            _ => false,
        };
        Self { reason: error.to_string(), is_for_storage }
    }
}

/// Watches the chain of one environment.
pub struct Watcher {
    gateway: Arc<Gateway>,
    progress: Mutex<Progress>,
    /// Set once the loop runs: a long look stops after its current part when this is cancelled.
    shutdown: OnceLock<CancellationToken>,
}

/// Progress of the looks, behind the lock that makes them run one at a time.
#[derive(Debug)]
pub(crate) struct Progress {
    watched: Option<WatchedChain>,
    /// `looked_at` as stored in the database.
    stored_looked_at: Option<Timestamp>,
    missing: broadcast::Missing,
    /// Ancestors of our transactions that others made.
    ancestors: Ancestors,
    /// When the hot scripts were last read, for a backend that is asked about scripts.
    hot_read: HotRead,
    /// The round over all other scripts.
    round: Round,
    /// Scripts of pending batches reported since the best block came.
    settling: Settling,
    /// Value of the chain's choice counter at the last look: it counts changes of the backend.
    choice: Option<u64>,
    /// Clock checks so far; `None` where blocks come only on demand.
    clock: Option<CheckedClock>,
}

/// The patience of a caller with a look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Patience {
    /// Until the look has reached the best block.
    ToTheEnd,
    /// For one answer of the backend.
    OneAnswer,
}

/// Exclusive right to look at the chain.
pub struct LookPermit<'a> {
    gateway: &'a Arc<Gateway>,
    progress: MutexGuard<'a, Progress>,
    shutdown: Option<&'a CancellationToken>,
}

impl Watcher {
    /// Continues after the last look of `gateway`.
    #[must_use]
    pub fn new(gateway: Arc<Gateway>) -> Self {
        let watched = gateway.last_look.watched();
        let progress = Progress {
            stored_looked_at: watched.as_ref().map(|watched| watched.looked_at),
            watched,
            missing: broadcast::Missing::default(),
            ancestors: Ancestors::default(),
            hot_read: HotRead::default(),
            round: Round::default(),
            // The progress of the last run is unknown.
            settling: Settling::default(),
            choice: None,
            clock: None,
        };
        Self { gateway, progress: Mutex::new(progress), shutdown: OnceLock::new() }
    }

    /// Waits for the current look and keeps others from starting.
    pub async fn hold(&self) -> LookPermit<'_> {
        LookPermit { gateway: &self.gateway, progress: self.progress.lock().await, shutdown: self.shutdown.get() }
    }

    /// Looks at the chain once.
    ///
    /// # Errors
    /// The next look finds again everything that a failed look did not store.
    pub async fn look(&self) -> Result<(), WatchError> {
        self.hold().await.look().await
    }

    /// Looks once, but does not wait for a look that needs more than one answer.
    ///
    /// # Errors
    /// [`WatchError::Behind`] for such a look. This is no failure: later looks continue after the stored part.
    pub(crate) async fn look_soon(&self) -> Result<(), WatchError> {
        let mut permit = tokio::select! {
            biased;
            permit = self.hold() => permit,
            catching_up = self.gateway.last_look.falls_behind() => return Err(WatchError::Behind(catching_up)),
        };
        permit.look_with(Patience::OneAnswer).await
    }

    /// Accepts the coins received for a payment on behalf of `actor`, whom the audit names. Refuses if fewer than
    /// `agreed_sats` are left, the sum that staff saw.
    ///
    /// # Errors
    /// Fails when the coins cannot be accepted; nothing is changed then.
    pub async fn accept(&self, id: Id, agreed_sats: Option<u64>, actor: &str) -> Result<(), AcceptError> {
        self.hold().await.accept(id, agreed_sats, actor).await
    }

    /// Looks at the chain until `shutdown`. The current look, or the current part of a long one, is finished first.
    pub async fn run(&self, shutdown: CancellationToken) {
        self.run_every(LOOK_EVERY, shutdown).await;
    }

    /// The same with a given interval for a backend that sends no wake-ups.
    pub(crate) async fn run_every(&self, every: Duration, shutdown: CancellationToken) {
        // This function runs once.
        let _ = self.shutdown.set(shutdown.clone());
        let mut tick = interval(every);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = shutdown.cancelled() => return,
                _ = tick.tick() => {}
                () = self.woken() => {}
            }
            // `last_look` keeps the reason of a failure and logs it once.
            let _ = self.look().await;
        }
    }

    /// Waits for a wake-up from the backend, but at least [`WOKEN_EVERY`].
    async fn woken(&self) {
        tokio::time::sleep(WOKEN_EVERY).await;
        match self.gateway.chain.wake() {
            Some(wake) => wake.notified().await,
            None => std::future::pending().await,
        }
    }
}

impl LookPermit<'_> {
    /// Looks at the chain once.
    ///
    /// # Errors
    /// As [`Watcher::look`].
    pub async fn look(&mut self) -> Result<(), WatchError> {
        self.look_with(Patience::ToTheEnd).await
    }

    async fn look_with(&mut self, patience: Patience) -> Result<(), WatchError> {
        let began = Moment::now();
        let result = match self.try_look(patience).await {
            // The rules want a second view at once.
            Ok(true) => self.try_look(patience).await.map(|_| ()),
            looked => looked.map(|_| ()),
        };
        // A look that continues later has not ended.
        if !matches!(result, Err(WatchError::Behind(_))) {
            let failed = result.as_ref().err().map(FailedLook::from);
            self.gateway.last_look.note(failed, self.progress.watched.clone(), began);
        }
        result
    }

    /// Looks at the chain; answers whether a payment is due again at once. A look that needs several answers is stored
    /// part by part, which bounds memory and limits a crash's loss to one part. Deadlines decide only with the last
    /// part.
    async fn try_look(&mut self, patience: Patience) -> Result<bool, WatchError> {
        let at = self.gateway.follow_clock().await?;
        self.note_choice();
        let before = self.progress.watched.clone();
        loop {
            let findings = self.take(at).await?;
            let is_new_tip = before.as_ref().is_none_or(|before| before.tip.hash != findings.tip.hash);
            self.progress.ancestors.note(&findings);
            if !findings.more {
                return self.end(findings, at, is_new_tip).await;
            }
            let from_height = before.as_ref().map_or(findings.seen_height, |before| before.tip.height);
            let catching_up = CatchingUp {
                from_height,
                seen_height: findings.seen_height,
                tip_height: findings.tip.height,
                restored_at: findings.restored_at(),
            };
            // No look has ended yet, so readers keep seeing the time of the last complete one.
            let looked_at = before.as_ref().map_or(Timestamp::from_ms(0), |before| before.looked_at);
            let watched = WatchedChain { looked_at, ..self.watched(&findings, at) };
            self.progress.settling = self.progress.settling.anew();
            self.store(findings, watched.clone(), at, Due::Nothing).await?;
            self.progress.watched = Some(watched);
            self.gateway.last_look.note_catching_up(catching_up);
            if self.shutdown.is_some_and(CancellationToken::is_cancelled) {
                return Err(WatchError::BrokenOff);
            }
            if patience == Patience::OneAnswer {
                return Err(WatchError::Behind(catching_up));
            }
        }
    }

    /// Makes the hot scripts due again after a change of backend.
    fn note_choice(&mut self) {
        let choice = self.gateway.chain.choice();
        if self.progress.choice.replace(choice).is_some_and(|before| before != choice) {
            self.progress.hot_read = HotRead::default();
            self.gateway.last_look.forget_looked();
        }
    }

    /// Asks the backend and the database.
    async fn take(&mut self, at: Timestamp) -> Result<Findings, WatchError> {
        let (gateway, before) = (Arc::clone(self.gateway), self.progress.watched.clone());
        self.read_hot(at).await?;
        let (round, clock) = (self.progress.round, self.progress.clock.unwrap_or_default());
        // The backend choice for which this look read its scripts.
        let choice = self.progress.choice.unwrap_or_else(|| gateway.chain.choice());
        let settling = self.progress.settling.clone();
        let take = move || findings::take(&gateway, choice, before.as_ref(), at, (round, &settling), clock);
        tokio::task::spawn_blocking(take).await.map_err(|_| WatchError::BrokenOff)?
    }

    /// Reads the hot scripts when they are due and the backend is asked about scripts. A failed read stays due: a look
    /// that asks about no script would seem to cover all.
    async fn read_hot(&mut self, at: Timestamp) -> Result<(), WatchError> {
        match self.gateway.chain.sees() {
            Sees::Scripts if self.progress.hot_read.is_due(at) => {}
            Sees::Scripts => return Ok(()),
            // Scripts made meanwhile are not recorded as hot. They are read when a backend of the other kind is set.
            Sees::Everything => {
                self.progress.hot_read = HotRead::default();
                return Ok(());
            }
        }
        let gateway = Arc::clone(self.gateway);
        let read = move || asked::read_hot(&gateway, at);
        tokio::task::spawn_blocking(read).await.map_err(|_| WatchError::BrokenOff)??;
        self.progress.hot_read.note(at);
        Ok(())
    }

    /// Stores the last answer of a look if it changed anything.
    async fn end(&mut self, findings: Findings, at: Timestamp, is_new_tip: bool) -> Result<bool, WatchError> {
        self.progress.clock = findings.clock.map(|(clock, _)| clock);
        self.gateway.last_look.note_clock(findings.clock.and_then(|(_, fault)| fault));
        let affects_us = findings.affects_us();
        let watched = self.watched(&findings, at);
        let mut is_due_at_once = false;
        let (place, turn, tip) = (findings.place, findings.turn, findings.tip);
        let (covered, refused) = (findings.covered.clone(), findings.refused.clone());
        let (settling, due) = self.progress.settling.after(&Told {
            tip: findings.tip,
            is_other_chain: findings.known_up_to.is_some() || findings.from_start,
            rests: findings.rests.as_ref(),
            covered: &findings.covered,
            refused: &findings.refused,
        });
        let passed_by = findings.passed_by.iter().map(|(keychain, index)| StaffWarning::TooLong {
            is_change: *keychain == Keychain::Internal,
            index: *index,
        });
        self.warn(passed_by.collect());
        if affects_us {
            self.progress.hot_read.note_move();
        }
        if affects_us || is_new_tip || findings.from_start || findings.is_to_be_noted() || due != Due::Nothing {
            is_due_at_once = self.store(findings, watched.clone(), at, due).await?;
        } else if self.is_worth_storing(&watched) {
            // Only progress is saved, so no change is announced.
            let stored = watched.clone();
            let save = move |tx: &Tx<'_>| {
                place.map_or(Ok(()), |place| tx.save_round_place(place))?;
                tx.save_watched_chain(&stored)
            };
            self.gateway.store.write(save).await?;
            self.progress.stored_looked_at = Some(watched.looked_at);
        }
        (self.progress.watched, self.progress.settling) = (Some(watched), settling);
        self.gateway.to_sign.note(covered, refused);
        if let Some(place) = place {
            self.progress.round.go_on(place, turn);
        }
        if affects_us || is_new_tip || self.progress.missing.is_owed() {
            self.progress.missing.broadcast(self.gateway, is_new_tip).await?;
        }
        if affects_us || is_new_tip || self.progress.ancestors.is_owed() {
            self.progress.ancestors.keep(self.gateway, &tip).await?;
        }
        Ok(is_due_at_once)
    }

    /// The watched chain after a look. A look that restarted at the birth height, although a chain was watched before,
    /// has found another chain.
    fn watched(&self, findings: &Findings, at: Timestamp) -> WatchedChain {
        let before = self.progress.watched.as_ref();
        let begun_anew = self.begins_anew(findings);
        if begun_anew {
            tracing::warn!(
                height = findings.tip.height,
                "another chain is there than before: it is watched from the wallet's birth on"
            );
        }
        WatchedChain {
            cursor: Some(findings.cursor.clone()),
            tip: findings.tip,
            looked_at: at,
            begun_anew_at: if begun_anew { Some(at) } else { before.and_then(|before| before.begun_anew_at) },
        }
    }

    /// Whether a restarted look has found another chain than before.
    fn begins_anew(&self, findings: &Findings) -> bool {
        let is_known = self.progress.watched.as_ref().is_some_and(|before| before.cursor.is_some());
        findings.from_start && findings.restore.is_none() && is_known
    }

    /// Whether the stored time of the last look is too old: a look without findings is stored only now and then.
    fn is_worth_storing(&self, watched: &WatchedChain) -> bool {
        self.progress
            .stored_looked_at
            .is_none_or(|stored_at| watched.looked_at.ms().abs_diff(stored_at.ms()) >= LOOKED_AT_STORED_EVERY_MS)
    }

    async fn accept(&mut self, id: Id, agreed_sats: Option<u64>, actor: &str) -> Result<(), AcceptError> {
        // Staff may accept known coins even while the chain does not answer.
        if let Err(error) = self.look().await
            && !matches!(error, WatchError::Chain(_))
        {
            return Err(error.into());
        }
        let Some(watched) = self.progress.watched.as_ref() else { return Err(AcceptError::ChainNotWatched) };
        // Uses the time of the last look: accepting is not a look, so it closes no payment by its deadline.
        let context = self.context(watched.looked_at, &watched.tip, true);
        let actor = actor.to_owned();
        let accept = move |outbox: &Outbox<'_>| accept::accept(outbox, &context, &id, agreed_sats, &actor);
        self.warn(outbox::commit(self.gateway, Some(watched.tip.height), accept).await?);
        Ok(())
    }

    fn context(&self, at: Timestamp, tip: &Tip, staff_accepts: bool) -> Context {
        Context {
            look: Look {
                at,
                tip_height: tip.height,
                tip_time: tip.time,
                has_mempool: self.gateway.chain.has_mempool(),
                time_decides: true,
                staff_accepts,
            },
            looked_before: self.progress.watched.as_ref().map(|watched| watched.looked_at),
            fee_rate: None,
            clock: self.progress.clock,
        }
    }

    fn warn(&self, warnings: Vec<StaffWarning>) {
        for warning in warnings {
            self.gateway.last_look.warn(warning);
        }
    }
}
