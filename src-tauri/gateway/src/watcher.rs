//! Watching the chain: one look takes a view of it, computes afresh the payments that it concerns,
//! and stores what came out.
//!
//! It is level-triggered: a reorganisation, a replacement, a crash and a sleep of the machine need
//! no path of their own, because the next look is the recovery. No network is used inside a
//! database transaction, and nothing is remembered here that a failed commit would make wrong.

mod accept;
mod advance;
pub(crate) mod batches;
mod broadcast;
mod coins;
mod findings;
mod ours;
#[cfg(test)]
mod tests;
mod twins;

use std::sync::Arc;
use std::time::Duration;

use bitcoin::{BlockHash, Txid};
use tillgate_domain::advance::Look;
use tillgate_domain::id::Id;
use tillgate_domain::time::Timestamp;
use tokio::sync::{Mutex, MutexGuard};
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use crate::chain::{ChainDown, Tip};
use crate::gateway::{FailedLook, Gateway, StaffWarning};
use crate::machine::entropy::NoEntropy;
use crate::notifications::outbox::{self, Outbox, OutboxError};
use crate::store::StoreError;
use crate::store::chain::WatchedChain;

pub(crate) use accept::AcceptError;

use advance::Context;
use batches::Touched;
use coins::Move;
use findings::{AffectedPayment, Findings};

/// Time between looks: what a customer at a counter waits for. So short that a timer which stands still while the machine
/// sleeps delays the first look after it by no more.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Payments, or transactions that move our coins, in one commit: the writer is never held for long.
const PIECES_PER_COMMIT: usize = 200;

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
    /// The backend shows another network than the one that the database belongs to.
    #[error(
        "this data directory belongs to the network that begins with block {known}, and the backend shows the one that begins with {found}: set the backend right, or name another --data-dir"
    )]
    OtherNetwork {
        /// First block of the network that was watched.
        known: BlockHash,
        /// First block of the backend's.
        found: BlockHash,
    },
    /// The look was broken off: the program is stopping.
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

/// Looks at the chain of one environment.
pub struct Watcher {
    gateway: Arc<Gateway>,
    progress: Mutex<Progress>,
}

/// How far the looks have come. Behind the lock by which they run one at a time.
#[derive(Debug)]
pub(crate) struct Progress {
    watched: Option<WatchedChain>,
    /// `looked_at` as the database has it.
    stored_looked_at: Option<Timestamp>,
    missing: broadcast::Missing,
}

/// The right to look at the chain: while somebody has it, nobody else looks.
pub struct LookPermit<'a> {
    gateway: &'a Arc<Gateway>,
    progress: MutexGuard<'a, Progress>,
}

/// What a look stores at one stroke.
enum Piece {
    /// A payment, by its number.
    Payment(i64, AffectedPayment),
    /// The change that a transaction makes.
    Change(Txid, Arc<Move>),
    /// What a transaction does to our coins otherwise.
    Move(Txid, Arc<Move>),
    /// A transaction of ours of which this chain knows nothing.
    Unknown(Txid),
}

impl Watcher {
    /// Goes on where the last look of `gateway` ended.
    #[must_use]
    pub fn new(gateway: Arc<Gateway>) -> Self {
        let watched = gateway.last_look.watched();
        let progress = Progress {
            stored_looked_at: watched.as_ref().map(|watched| watched.looked_at),
            watched,
            missing: broadcast::Missing::default(),
        };
        Self { gateway, progress: Mutex::new(progress) }
    }

    /// Waits for the look under way and keeps others from starting.
    pub async fn hold(&self) -> LookPermit<'_> {
        LookPermit { gateway: &self.gateway, progress: self.progress.lock().await }
    }

    /// Looks at the chain once.
    ///
    /// # Errors
    /// Why the look failed; all that it did not store is found again by the next.
    pub async fn look(&self) -> Result<(), WatchError> {
        self.hold().await.look().await
    }

    /// Accepts the coins that came for a payment, on behalf of staff, but not less than `agreed_sats`, the sum on which
    /// they decided; `actor` is who, for the audit.
    ///
    /// # Errors
    /// Why not; nothing is changed then.
    pub async fn accept(&self, id: Id, agreed_sats: Option<u64>, actor: &str) -> Result<(), AcceptError> {
        self.hold().await.accept(id, agreed_sats, actor).await
    }

    /// Looks at the chain until `shutdown`. A look under way is finished first.
    pub async fn run(&self, shutdown: CancellationToken) {
        let mut tick = interval(LOOK_EVERY);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = shutdown.cancelled() => return,
                _ = tick.tick() => {}
            }
            // The last look remembers the reason of a failure and logs it once.
            let _ = self.look().await;
        }
    }
}

impl LookPermit<'_> {
    /// Looks at the chain once.
    ///
    /// # Errors
    /// As [`Watcher::look`].
    pub async fn look(&mut self) -> Result<(), WatchError> {
        let result = match self.try_look().await {
            // The rules ask for a second view at once.
            Ok(true) => self.try_look().await.map(|_| ()),
            looked => looked.map(|_| ()),
        };
        self.gateway.last_look.note(result.as_ref().err().map(FailedLook::from), self.progress.watched.clone());
        result
    }

    /// Looks, and answers whether a payment of this look is to be looked at again at once.
    async fn try_look(&mut self) -> Result<bool, WatchError> {
        let at = self.gateway.clock.now();
        let (gateway, before) = (Arc::clone(self.gateway), self.progress.watched.clone());
        let findings = tokio::task::spawn_blocking(move || findings::take(&gateway, before.as_ref(), at))
            .await
            .map_err(|_| WatchError::BrokenOff)??;
        let is_new_tip = self.progress.watched.as_ref().is_none_or(|before| before.tip.hash != findings.tip.hash);
        let affects_us = findings.affects_us();
        let watched = self.watched(&findings, at);
        let mut is_due_at_once = false;
        if affects_us || is_new_tip || findings.from_start {
            is_due_at_once = self.store(findings, watched.clone(), is_new_tip).await?;
        } else if self.is_worth_storing(&watched) {
            // Nothing that anybody looks at: no change is told.
            let stored = watched.clone();
            self.gateway.store.write(move |tx| tx.save_watched_chain(&stored)).await?;
            self.progress.stored_looked_at = Some(watched.looked_at);
        }
        self.progress.watched = Some(watched);
        if affects_us || is_new_tip || self.progress.missing.is_owed() {
            self.progress.missing.broadcast(self.gateway, is_new_tip).await?;
        }
        Ok(is_due_at_once)
    }

    /// How far a look has watched. One that began with the chain's first block although a chain was watched before has
    /// found another.
    fn watched(&self, findings: &Findings, at: Timestamp) -> WatchedChain {
        let before = self.progress.watched.as_ref();
        let begun_anew = findings.from_start && before.is_some_and(|before| before.cursor.is_some());
        if begun_anew {
            tracing::warn!(
                height = findings.tip.height,
                "another chain is there than before: it is watched from its first block"
            );
        }
        WatchedChain {
            cursor: Some(findings.cursor.clone()),
            tip: findings.tip,
            looked_at: at,
            begun_anew_at: if begun_anew { Some(at) } else { before.and_then(|before| before.begun_anew_at) },
        }
    }

    /// A look that found nothing is stored now and then only: repeating it costs nothing.
    fn is_worth_storing(&self, watched: &WatchedChain) -> bool {
        self.progress
            .stored_looked_at
            .is_none_or(|stored_at| watched.looked_at >= stored_at.plus_ms(LOOKED_AT_STORED_EVERY_MS))
    }

    /// Stores the look in commits of bounded size. How far the chain was watched comes with the
    /// last: after a crash in between the same look is made again, and finds done what was done. Answers whether a
    /// payment is to be looked at again at once.
    async fn store(&mut self, findings: Findings, watched: WatchedChain, is_new_tip: bool) -> Result<bool, WatchError> {
        let mut context = self.context(watched.looked_at, &watched.tip, false);
        context.fee_rate = findings.fee_rate;
        let (looked_at, tip_height) = (watched.looked_at, watched.tip.height);
        // Coins are stored with the payments, and as change, before they are spent.
        let payments = findings.payments.into_iter().map(|(seq, affected)| Piece::Payment(seq, affected));
        let moves: Vec<_> = findings.moves.into_iter().map(|(txid, moved)| (txid, Arc::new(moved))).collect();
        let changes = moves.clone().into_iter().map(|(txid, moved)| Piece::Change(txid, moved));
        let moves = moves.into_iter().map(|(txid, moved)| Piece::Move(txid, moved));
        let mut pieces: Vec<Piece> =
            payments.chain(changes).chain(moves).chain(findings.unknown.into_iter().map(Piece::Unknown)).collect();
        let mut is_due_at_once = false;
        loop {
            let rest = pieces.split_off(pieces.len().min(PIECES_PER_COMMIT));
            let is_last = rest.is_empty();
            let (context, watched) = (context.clone(), watched.clone());
            let change = move |outbox: &Outbox<'_>| {
                let (mut warnings, mut is_due_at_once, mut touched) = (Vec::new(), false, Touched::default());
                for piece in &pieces {
                    match piece {
                        Piece::Payment(seq, affected) => {
                            let (advance, of_payment) = advance::payment(outbox, &context, *seq, affected)?;
                            warnings.extend(of_payment);
                            is_due_at_once |= advance.next_due_at.is_some_and(|due| due <= looked_at);
                        }
                        Piece::Change(txid, moved) => warnings.extend(coins::make(outbox, txid, moved)?),
                        Piece::Move(txid, moved) => warnings.extend(coins::take(outbox, txid, moved, &mut touched)?),
                        Piece::Unknown(txid) => coins::take_unknown(outbox, txid, &mut touched)?,
                    }
                }
                warnings.extend(coins::settle(outbox, touched, is_last && is_new_tip, tip_height)?);
                if is_last {
                    outbox.tx.save_watched_chain(&watched)?;
                }
                Ok::<_, WatchError>((warnings, is_due_at_once))
            };
            let (warnings, some_are_due) = outbox::commit(self.gateway, Some(tip_height), change).await?;
            self.warn(warnings);
            is_due_at_once |= some_are_due;
            if is_last {
                self.progress.stored_looked_at = Some(looked_at);
                return Ok(is_due_at_once);
            }
            pieces = rest;
        }
    }

    async fn accept(&mut self, id: Id, agreed_sats: Option<u64>, actor: &str) -> Result<(), AcceptError> {
        // A chain that does not answer keeps nobody from accepting what is known.
        if let Err(error) = self.look().await
            && !matches!(error, WatchError::Chain(_))
        {
            return Err(error.into());
        }
        let Some(watched) = self.progress.watched.as_ref() else { return Err(AcceptError::ChainNotWatched) };
        // At the time of the view that it rests on: accepting is no look, so it closes no payment by itself.
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
                staff_accepts,
            },
            looked_before: self.progress.watched.as_ref().map(|watched| watched.looked_at),
            fee_rate: None,
        }
    }

    fn warn(&self, warnings: Vec<StaffWarning>) {
        for warning in warnings {
            self.gateway.last_look.warn(warning);
        }
    }
}
