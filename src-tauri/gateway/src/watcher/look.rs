//! One look: the holder of the permit asks the backend, settles the answer, and stores the result.

use std::sync::Arc;

use tillgate_chain::{Sees, Tip};
use tillgate_domain::advance::{LookFacts, ZeroConf};
use tillgate_domain::closing::Closing;
use tillgate_domain::id::Id;
use tillgate_domain::time::Timestamp;
use tillgate_machine::clock::Moment;
use tillgate_store::Tx;
use tillgate_store::chain::WatchedChain;
use tillgate_store::keychains::Keychain;
use tokio::sync::MutexGuard;
use tokio_util::sync::CancellationToken;

use super::accept::{self, AcceptError};
use super::ancestors::Ancestors;
use super::asked_scripts::{self, HotRead, Round};
use super::batch_progress::{BatchProgress, LookOutcome};
use super::cancel::{self, CancelError};
use super::error::WatchError;
use super::findings::{self, Findings, LookStart};
use super::receipt_rebroadcasts::ReceiptRebroadcasts;
use super::storing::{self, Stored};
use crate::gateway::{CatchingUp, FailedLook, Gateway, StaffWarning};
use crate::notifications::outbox::{self, Outbox};
use crate::settlement::Due;
use crate::settlement::payment::Context;

/// Longest lag of the stored time of the last look. Until then, a look without findings stores
/// nothing.
const LOOKED_AT_STORED_EVERY_MS: u64 = 60_000;

/// Progress of the looks, behind the lock that makes them run one at a time.
#[derive(Debug)]
pub struct Progress {
    watched: Option<WatchedChain>,
    /// `looked_at` as stored in the database.
    stored_looked_at: Option<Timestamp>,
    receipt_rebroadcasts: ReceiptRebroadcasts,
    ancestors: Ancestors,
    /// When the hot scripts were last read, for a backend that is asked about scripts.
    hot_read: HotRead,
    /// The round over all other scripts.
    round: Round,
    /// Scripts of pending batches reported since the best block came.
    batch_progress: BatchProgress,
    /// The generation of the backend at the last look.
    generation: Option<u64>,
    closing: Option<Closing>,
}

/// Limit of a caller's wait for a look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Patience {
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

impl Progress {
    /// Continues after the looks of an earlier run.
    pub fn after(watched: Option<WatchedChain>) -> Self {
        Self {
            stored_looked_at: watched.as_ref().map(|watched| watched.looked_at),
            watched,
            receipt_rebroadcasts: ReceiptRebroadcasts::default(),
            ancestors: Ancestors::default(),
            hot_read: HotRead::default(),
            round: Round::default(),
            // The progress of the last run is unknown.
            batch_progress: BatchProgress::default(),
            generation: None,
            closing: None,
        }
    }
}

impl<'a> LookPermit<'a> {
    pub const fn new(
        gateway: &'a Arc<Gateway>,
        progress: MutexGuard<'a, Progress>,
        shutdown: Option<&'a CancellationToken>,
    ) -> Self {
        Self { gateway, progress, shutdown }
    }

    /// Looks at the chain once.
    ///
    /// # Errors
    /// As [`super::Watcher::look`].
    pub async fn look(&mut self) -> Result<(), WatchError> {
        self.look_with(Patience::ToTheEnd, false).await
    }

    /// Looks at the chain because the backend woke the watcher.
    ///
    /// # Errors
    /// As [`super::Watcher::look`].
    pub async fn look_woken(&mut self) -> Result<(), WatchError> {
        self.look_with(Patience::ToTheEnd, true).await
    }

    pub async fn look_with(
        &mut self,
        patience: Patience,
        is_woken: bool,
    ) -> Result<(), WatchError> {
        let began = Moment::now();
        let result = match self.try_look(patience, is_woken).await {
            // A payment is due again at once, so a whole look follows.
            Ok(true) => self.try_look(patience, false).await.map(|_| ()),
            looked => looked.map(|_| ()),
        };
        // A look that continues later has not ended.
        if !matches!(result, Err(WatchError::Behind(_))) {
            let failed = result.as_ref().err().map(FailedLook::from);
            let began = if is_woken { None } else { Some(began) };
            self.gateway.backend.last_look.note(failed, self.progress.watched.clone(), began);
        }
        result
    }

    /// Looks at the chain. Returns whether a payment is due again at once.
    ///
    /// A look that needs several answers is stored part by part, which bounds memory and limits a
    /// crash's loss to one part. Deadlines decide only with the last part.
    async fn try_look(&mut self, patience: Patience, is_woken: bool) -> Result<bool, WatchError> {
        let at = self.gateway.follow_clock().await?;
        self.note_generation();
        let before = self.progress.watched.clone();
        loop {
            let findings = self.take(at, is_woken).await?;
            let is_new_tip =
                before.as_ref().is_none_or(|before| before.tip.hash != findings.tip.hash);
            self.progress.ancestors.note(&findings);
            if !findings.more {
                return self.end(findings, at, is_new_tip).await;
            }
            let from_height =
                before.as_ref().map_or(findings.seen_height, |before| before.tip.height);
            let catching_up = CatchingUp {
                from_height,
                seen_height: findings.seen_height,
                tip_height: findings.tip.height,
                restored_at: findings.restored_at(),
            };
            // This look has not ended, so the stored time stays that of the last complete look.
            let looked_at =
                before.as_ref().map_or(Timestamp::from_ms(0), |before| before.looked_at);
            let watched = WatchedChain { looked_at, ..self.watched(&findings, at) };
            self.progress.batch_progress = self.progress.batch_progress.without_reports();
            self.store(findings, watched.clone(), at, Due::Nothing).await?;
            self.progress.watched = Some(watched);
            self.gateway.backend.last_look.note_catching_up(catching_up);
            if self.shutdown.is_some_and(CancellationToken::is_cancelled) {
                return Err(WatchError::Interrupted);
            }
            if patience == Patience::OneAnswer {
                return Err(WatchError::Behind(catching_up));
            }
        }
    }

    /// Makes the hot scripts due again after a change of backend.
    fn note_generation(&mut self) {
        let generation = self.gateway.backend.chain.generation();
        if self.progress.generation.replace(generation).is_some_and(|before| before != generation) {
            self.progress.hot_read = HotRead::default();
            self.gateway.backend.last_look.forget_looked();
        }
    }

    /// Asks the backend and the database.
    async fn take(&mut self, at: Timestamp, is_woken: bool) -> Result<Findings, WatchError> {
        self.read_hot(at).await?;
        let gateway = Arc::clone(self.gateway);
        let progress = &self.progress;
        let start = LookStart {
            at,
            is_woken,
            watched: progress.watched.clone(),
            generation: progress.generation.unwrap_or_else(|| gateway.backend.chain.generation()),
            round: progress.round,
            batch_progress: progress.batch_progress.clone(),
            closing: progress.closing.unwrap_or_default(),
        };
        let take = move || findings::take(&gateway, &start);
        tokio::task::spawn_blocking(take).await.map_err(|_| WatchError::Interrupted)?
    }

    /// Reads the hot scripts when they are due and the backend is asked about scripts. After a
    /// failed read they stay due: a look that asks about no scripts would count as complete.
    async fn read_hot(&mut self, at: Timestamp) -> Result<(), WatchError> {
        match self.gateway.backend.chain.sees() {
            Sees::Scripts if self.progress.hot_read.is_due(at) => {}
            Sees::Scripts => return Ok(()),
            // New scripts are not recorded as hot now. They are read when a backend that is asked
            // about scripts is set.
            Sees::Everything => {
                self.progress.hot_read = HotRead::default();
                return Ok(());
            }
        }
        let gateway = Arc::clone(self.gateway);
        let read = move || asked_scripts::read_hot(&gateway, at);
        tokio::task::spawn_blocking(read).await.map_err(|_| WatchError::Interrupted)??;
        self.progress.hot_read.note(at);
        Ok(())
    }

    /// Stores the last answer of a look if it changed anything.
    async fn end(
        &mut self,
        findings: Findings,
        at: Timestamp,
        is_new_tip: bool,
    ) -> Result<bool, WatchError> {
        let (closing, doubts) = findings.closing.unzip();
        self.progress.closing = closing;
        self.gateway.backend.last_look.note_doubts(doubts.unwrap_or_default());
        if self.gateway.backend.last_look.note_unreported(findings.unreported.clone()) {
            self.gateway.signals.note_change();
        }
        let affects_us = findings.affects_us();
        let watched = self.watched(&findings, at);
        let mut is_due_at_once = false;
        let (place, lookahead, tip) = (findings.place, findings.lookahead, findings.tip);
        let (covered, refused) = (findings.covered.clone(), findings.refused.clone());
        let (batch_progress, due) = self.progress.batch_progress.after(&LookOutcome {
            tip: findings.tip,
            is_other_chain: findings.known_up_to.is_some() || findings.from_start,
            pending_scripts: findings.pending_scripts.as_ref(),
            covered: &findings.covered,
            refused: &findings.refused,
        });
        let skipped = findings.skipped.iter().map(|(keychain, index)| StaffWarning::TooLong {
            is_change: *keychain == Keychain::Internal,
            index: *index,
        });
        self.warn(skipped.collect());
        if affects_us {
            self.progress.hot_read.note_move();
        }
        if affects_us
            || is_new_tip
            || findings.from_start
            || findings.is_to_be_noted()
            || due != Due::Nothing
        {
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
        (self.progress.watched, self.progress.batch_progress) = (Some(watched), batch_progress);
        self.gateway.sending.to_sign.note(covered, refused);
        if let Some(place) = place {
            self.progress.round.advance(place, lookahead);
        }
        if affects_us || is_new_tip || self.progress.receipt_rebroadcasts.is_due() {
            self.progress.receipt_rebroadcasts.broadcast(self.gateway, is_new_tip).await?;
        }
        if affects_us || is_new_tip || self.progress.ancestors.is_due() {
            self.progress.ancestors.keep(self.gateway, &tip).await?;
        }
        Ok(is_due_at_once)
    }

    /// The watched chain after a look. A look that restarted at the birth height, although a chain
    /// was watched before, has found another chain.
    fn watched(&self, findings: &Findings, at: Timestamp) -> WatchedChain {
        let before = self.progress.watched.as_ref();
        let begun_anew = self.begins_anew(findings);
        if begun_anew {
            tracing::warn!(
                height = findings.tip.height,
                "the backend shows another chain than before: it is watched from the wallet's birth on"
            );
        }
        WatchedChain {
            cursor: findings.cursor.clone(),
            tip: findings.tip,
            looked_at: at,
            begun_anew_at: if begun_anew {
                Some(at)
            } else {
                before.and_then(|before| before.begun_anew_at)
            },
        }
    }

    /// Whether a restarted look has found another chain than before.
    fn begins_anew(&self, findings: &Findings) -> bool {
        findings.from_start && findings.restore.is_none() && self.progress.watched.is_some()
    }

    /// Whether the stored time of the last look is too old: a look without findings is stored only
    /// now and then.
    fn is_worth_storing(&self, watched: &WatchedChain) -> bool {
        self.progress.stored_looked_at.is_none_or(|stored_at| {
            watched.looked_at.ms().abs_diff(stored_at.ms()) >= LOOKED_AT_STORED_EVERY_MS
        })
    }

    pub async fn accept(
        &mut self,
        id: Id,
        agreed_sats: Option<u64>,
        actor: &str,
    ) -> Result<(), AcceptError> {
        // Staff may accept known coins even while the chain does not answer.
        if let Err(error) = self.look().await
            && !matches!(error, WatchError::Chain(_))
        {
            return Err(error.into());
        }
        let Some(watched) = self.progress.watched.as_ref() else {
            return Err(AcceptError::ChainNotWatched);
        };
        // Uses the time of the last look: accepting is not a look, so it closes no payment by its
        // deadline.
        let context = self.context(watched.looked_at, &watched.tip, true);
        let actor = actor.to_owned();
        let accept =
            move |outbox: &Outbox<'_>| accept::accept(outbox, &context, &id, agreed_sats, &actor);
        self.warn(outbox::commit(self.gateway, Some(watched.tip.height), accept).await?);
        Ok(())
    }

    pub async fn cancel(&mut self, id: Id, actor: &str) -> Result<(), CancelError> {
        // Coins that no look has seen yet prevent the cancellation.
        self.look().await?;
        let actor = actor.to_owned();
        outbox::commit(self.gateway, None, move |outbox| cancel::cancel(outbox, &id, &actor))
            .await?;
        // `last_look` keeps the reason of a failure. The payment then expires at the next look.
        let _ = self.look().await;
        Ok(())
    }

    /// Stores a look. Returns whether a payment is due again at once.
    async fn store(
        &mut self,
        findings: Findings,
        watched: WatchedChain,
        looked_at: Timestamp,
        due: Due,
    ) -> Result<bool, WatchError> {
        let mut context = self.context(looked_at, &watched.tip, false);
        context.look.zero_conf = findings.zero_conf;
        context.look.time_decides = !findings.more;
        let watched_at = watched.looked_at;
        let stored = storing::store(self.gateway, context, findings, watched, due).await?;
        let Stored { is_due_at_once, has_found_coins } = stored;
        self.progress.stored_looked_at = Some(watched_at);
        // The scripts of the coins that the scan found are hot now.
        if has_found_coins {
            self.progress.hot_read = HotRead::default();
        }
        Ok(is_due_at_once)
    }

    fn context(&self, at: Timestamp, tip: &Tip, staff_accepts: bool) -> Context {
        Context {
            look: LookFacts {
                at,
                tip_height: tip.height,
                tip_time: tip.time,
                has_mempool: self.gateway.backend.chain.has_mempool(),
                zero_conf: ZeroConf::NotAsked,
                time_decides: true,
                staff_accepts,
            },
            looked_before: self.progress.watched.as_ref().map(|watched| watched.looked_at),
            closing: self.progress.closing,
        }
    }

    fn warn(&self, warnings: Vec<StaffWarning>) {
        for warning in warnings {
            self.gateway.backend.last_look.warn(warning);
        }
    }
}
