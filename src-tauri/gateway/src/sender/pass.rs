//! The passes of the sender, one after another.

use std::sync::Arc;
use std::time::Duration;

use bitcoin::Txid;
use tillgate_domain::time::Timestamp;
use tillgate_store::sender_hold::{Hold, HoldCause};
use tillgate_store::{StoreError, Tx};
use tokio::sync::Mutex;
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use super::build::{self, QUEUE_MAX};
use super::error::{ReleaseError, SendError, Unsent};
use super::payout_rebroadcasts::PayoutRebroadcasts;
use crate::gateway::{Gateway, Wait, WaitCause, Waits};
use crate::notifications::outbox::{self, Outbox};
use crate::settings::Settings;
use crate::settlement::batches;
use crate::settlement::twins::UnminedTwins;
use crate::watcher::Watcher;
use crate::{funds, payouts};

/// Time between passes, which is the longest delay of a deadline. An idle pass is cheap: it reads
/// three indexes.
const PASS_EVERY: Duration = Duration::from_secs(1);

/// Pause after the secret store refused the wallet's words, before the sender asks again.
/// `Sender::retry` skips it.
const ASK_KEYS_EVERY_MS: i64 = 60_000;

/// Sends the payouts of one environment.
pub struct Sender {
    pub gateway: Arc<Gateway>,
    /// Held during a pass, a bump and an abandonment, so that they run one at a time.
    pub rebroadcasts: Mutex<PayoutRebroadcasts>,
}

/// Time at which the batch of an approval is due. An approval time in the future was stored before
/// a restart, while the clock was ahead; such a batch is due at once.
pub fn due_at(approved_at: Timestamp, settings: &Settings, now: Timestamp) -> Timestamp {
    if approved_at > now {
        return Timestamp::from_ms(0);
    }
    approved_at.plus_ms(i64::from(settings.batch_seconds) * 1_000)
}

impl Sender {
    #[must_use]
    pub fn new(gateway: Arc<Gateway>) -> Self {
        Self { gateway, rebroadcasts: Mutex::default() }
    }

    /// Runs a pass at intervals and after each approval, until `shutdown`.
    pub async fn run(&self, watcher: &Watcher, shutdown: CancellationToken) {
        let mut tick = interval(PASS_EVERY);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = shutdown.cancelled() => return,
                _ = tick.tick() => {}
                () = self.gateway.sending.wake.notified() => {}
            }
            if let Err(error) = self.pass(watcher).await {
                tracing::error!(%error, "a pass of the sender of payouts failed; the next pass does the remaining work");
            }
        }
    }

    /// Runs one pass. Before it signs, it looks at the chain unless the last look is young enough.
    pub async fn pass(&self, watcher: &Watcher) -> Result<(), SendError> {
        let mut rebroadcasts = self.rebroadcasts.lock().await;
        self.expire_offers().await?;
        rebroadcasts.broadcast_missing(&self.gateway).await?;
        let waits_for = match self.hold()? {
            Some(hold) => Some(waits_for_release(hold)),
            None => self.send_due(watcher, &mut rebroadcasts).await?,
        };
        if self.gateway.sending.set_waits_for(waits_for) {
            self.gateway.signals.note_change();
        }
        Ok(())
    }

    /// Lets the sender ask the secret store at once, on behalf of staff.
    pub async fn retry(&self, actor: &str) -> Result<(), StoreError> {
        let (actor, now) = (actor.to_owned(), self.gateway.time.now());
        self.gateway
            .store
            .write(move |tx| tx.audit(now, &actor, "payouts retry", "sender"))
            .await?;
        self.ask_keys_again();
        Ok(())
    }

    /// Releases a sender that holds, on behalf of staff. `read` is the reason that they have read;
    /// with `None` any reason is released. Returns whether the sender held. While the mempool shows
    /// a twin, a release needs `force`.
    ///
    /// # Errors
    /// Each refusal is a case of [`ReleaseError`]. The release may also fail to be stored.
    pub async fn release(
        &self,
        actor: &str,
        read: Option<String>,
        force: bool,
    ) -> Result<bool, ReleaseError> {
        let (actor, now) = (actor.to_owned(), self.gateway.time.now());
        let release = move |tx: &Tx<'_>| {
            let Some(hold) = tx.sender_hold()? else { return Ok(false) };
            match hold.cause {
                HoldCause::Restored | HoldCause::Stopped => {
                    return Err(ReleaseError::NotLooked(hold.reason));
                }
                HoldCause::UntilReleased | HoldCause::UntilCompared => {}
            }
            if read.is_some_and(|read| read != hold.reason.message) {
                return Err(ReleaseError::Another(hold.reason));
            }
            if let Some(txid) = tx.twin_in_mempool()?.filter(|_| !force) {
                return Err(ReleaseError::TwinWaits(txid));
            }
            tx.release_sender()?;
            tx.audit(now, &actor, "payouts release", "sender")?;
            Ok(true)
        };
        let held = self.gateway.store.write(release).await?;
        self.ask_keys_again();
        self.gateway.signals.note_change();
        Ok(held)
    }

    fn ask_keys_again(&self) {
        self.gateway.sending.note_keys_refused(None);
        self.gateway.sending.wake.notify_one();
    }

    async fn expire_offers(&self) -> Result<(), SendError> {
        loop {
            let now = self.gateway.follow_clock().await?;
            let next_at =
                self.gateway.store.read(|reader| match reader.dangerous_restore()? {
                    // Another copy may have sent the offers, so no offer expires before the look
                    // after the restore.
                    Some(_) => Ok(None),
                    None => reader.next_payout_expires_at(),
                })?;
            if next_at.is_none_or(|at| now < at) {
                return Ok(());
            }
            outbox::commit(&self.gateway, None, move |outbox| payouts::expire_due(outbox, now))
                .await?;
        }
    }

    fn hold(&self) -> Result<Option<Hold>, StoreError> {
        self.gateway.store.read(|reader| reader.sender_hold())
    }

    /// Builds transactions until no payout is due. Returns the reason if due payouts still wait.
    async fn send_due(
        &self,
        watcher: &Watcher,
        rebroadcasts: &mut PayoutRebroadcasts,
    ) -> Result<Option<Wait>, SendError> {
        loop {
            // A payout that becomes overdue during this attempt is failed by the next one.
            let began_at = self.gateway.follow_clock().await?;
            let obstacle = match self.send_batch(watcher, rebroadcasts).await {
                Ok(true) => continue,
                Ok(false) => return Ok(None),
                Err(Unsent::Obstacle(obstacle)) => {
                    self.fail_overdue(&obstacle, began_at).await?;
                    obstacle
                }
                Err(Unsent::Waits(obstacle)) => obstacle,
                Err(Unsent::Error(error)) => return Err(error),
            };
            let still_waits = self.gateway.store.read(|reader| reader.oldest_unsent_approval())?;
            return Ok(still_waits.map(|_| obstacle));
        }
    }

    /// Stores and broadcasts one transaction of due payouts. Returns whether any payout was due.
    async fn send_batch(
        &self,
        watcher: &Watcher,
        rebroadcasts: &mut PayoutRebroadcasts,
    ) -> Result<bool, Unsent> {
        let gateway = &self.gateway;
        let settings = gateway.settings.snapshot();
        let Some(due_at) = self.due_at(&settings)? else { return Ok(false) };
        if gateway.time.now() < due_at {
            return Ok(false);
        }
        if let Some(why) = self.look_unless_fresh(watcher, due_at).await {
            return Err(Unsent::Waits(why));
        }
        self.check_released()?;
        let txid = self.build(settings, watcher, due_at).await?;
        rebroadcasts.broadcast_new(gateway, txid).await?;
        Ok(true)
    }

    fn check_released(&self) -> Result<(), Unsent> {
        self.hold()?.map_or(Ok(()), |hold| Err(Unsent::Waits(waits_for_release(hold))))
    }

    /// Time at which the next batch is due; `None` without a waiting payout. Payouts that an
    /// earlier batch left out are due at once.
    fn due_at(&self, settings: &Settings) -> Result<Option<Timestamp>, StoreError> {
        let oldest = self.gateway.store.read(|reader| reader.oldest_unsent_approval())?;
        // The clock is read after the approval, so that an approval since the start is never in the
        // future.
        let now = self.gateway.time.now();
        Ok(oldest.map(|at| due_at(at, settings, now)))
    }

    /// Chooses, signs and stores a transaction of the waiting payouts.
    async fn build(
        &self,
        settings: Arc<Settings>,
        watcher: &Watcher,
        due_at: Timestamp,
    ) -> Result<Txid, Unsent> {
        let gateway = Arc::clone(&self.gateway);
        if let Some(refused) = gateway.sending.keys_refused()
            && gateway.time.now() < refused.at.plus_ms(ASK_KEYS_EVERY_MS)
        {
            return Err(Unsent::Waits(Wait { cause: WaitCause::Keyring, reason: refused.reason }));
        }
        let rate = funds::fee_rate_now(&gateway, &settings).await?;
        let prepare = move || build::prepare(&gateway, &settings, rate);
        let chosen =
            tokio::task::spawn_blocking(prepare).await.map_err(|_| SendError::Interrupted)??;
        if let Some(why) = self.look_at_coins(watcher, &chosen.spend, due_at).await? {
            return Err(Unsent::Waits(why));
        }
        self.check_released()?;
        let gateway = Arc::clone(&self.gateway);
        let sign = move || build::sign_chosen(&gateway, chosen);
        let signed = tokio::task::spawn_blocking(sign).await.map_err(|_| SendError::Interrupted)?;
        let signed = signed.map_err(Unsent::Obstacle)?;
        self.check_view(due_at).map_err(Unsent::Waits)?;
        // The next pass reads the changed coins and payouts.
        let stale = || Unsent::Waits(WaitCause::Other.because(&Waits::CoinsChanged));
        build::store(&self.gateway, signed).await?.ok_or_else(stale)
    }

    /// Fails the payouts that were overdue when the failed attempt began.
    async fn fail_overdue(&self, obstacle: &Wait, began_at: Timestamp) -> Result<(), SendError> {
        let timeout_ms =
            i64::from(self.gateway.settings.snapshot().queue_timeout_hours) * 3_600_000;
        let until = began_at.plus_ms(-timeout_ms);
        if self.gateway.store.read(|reader| reader.overdue_payouts(until, 1))?.is_empty() {
            return Ok(());
        }
        let reason = obstacle.cause.failure_reason();
        let fail = move |outbox: &Outbox<'_>| -> Result<u32, SendError> {
            let mut failed = 0u32;
            // The end of a twin in the mempool frees its coins for the payouts that wait.
            if outbox.tx.sender_hold()?.is_some() || outbox.tx.twin_in_mempool()?.is_some() {
                return Ok(failed);
            }
            let twins = UnminedTwins::load(outbox.tx)?;
            for payout in outbox.tx.overdue_payouts(until, QUEUE_MAX)? {
                // A payout that a twin may pay does not fail.
                if twins.paying(&payout).next().is_none() {
                    batches::fail(outbox, payout, &reason, None)?;
                    failed = failed.saturating_add(1);
                }
            }
            Ok(failed)
        };
        let failed = outbox::commit(&self.gateway, None, fail).await?;
        if failed > 0 {
            tracing::warn!(given_up = failed, why = %obstacle.reason, "approved payouts waited too long and are FAILED");
        }
        Ok(())
    }
}

fn waits_for_release(hold: Hold) -> Wait {
    WaitCause::from(hold.cause).because(&hold.reason)
}
