//! One attempt, from its start until its result is stored.

use std::sync::Arc;
use std::time::Duration;
use tillgate_machine::entropy::Entropy;

use tillgate_domain::notification::{Outcome, after_failure};
use tillgate_domain::time::Timestamp;
use tillgate_machine::entropy::{NoEntropy, jitter_per_mille};
use tillgate_store::StoreError;
use tillgate_store::deliveries::NewDelivery;
use tillgate_store::notifications::DueNotification;
use tokio::time::Instant;

use super::attempts::Attempts;
use super::post::{self, Answer};
use super::under_way::{Attempted, Responsiveness};
use crate::gateway::Gateway;
use crate::notifications::signature::SigningKeys;

/// The first and the longest pause before another try to store the result of an attempt. The
/// attempt counts as running meanwhile, so that few notifications are sent while results cannot be
/// stored.
const STORE_AGAIN_FIRST: Duration = Duration::from_secs(1);
const STORE_AGAIN_MAX: Duration = Duration::from_secs(30);

/// A running attempt's share of the limits. `drop` returns it, however the attempt ends.
struct AttemptPermit {
    attempts: Arc<Attempts>,
    attempted: Attempted,
    responsiveness: Responsiveness,
    is_stored: bool,
}

impl Drop for AttemptPermit {
    fn drop(&mut self) {
        let mut under_way = self.attempts.under_way();
        under_way.end(&self.attempted, self.responsiveness);
        if self.is_stored {
            under_way.stored(&self.attempted.subject);
        } else {
            // In the database the notification is still due. Without a pause it would be sent again
            // and again.
            under_way.not_stored(&self.attempted.subject, Instant::now());
        }
        drop(under_way);
        self.attempts.gateway.signals.notifier.notify_one();
    }
}

/// An ended attempt, as it is stored.
struct Ended {
    /// The notification's number in the outbox.
    seq: i64,
    /// 1 for the first attempt of this notification.
    attempt: u32,
    started_at: Timestamp,
    duration_ms: i64,
    answer: Answer,
    outcome: Outcome,
}

/// Starts an attempt. The caller has checked the limits.
pub fn start(attempts: &Arc<Attempts>, due: DueNotification, keys: Option<Arc<SigningKeys>>) {
    let attempted = Attempted::from_due(&due);
    attempts.under_way().begin(&attempted);
    let permit = AttemptPermit {
        attempts: Arc::clone(attempts),
        attempted,
        responsiveness: Responsiveness::Neither,
        is_stored: false,
    };
    let stop = attempts.stop.clone();
    attempts.running.spawn(async move {
        // An attempt that `stop` interrupts is not stored, so its notification stays due.
        stop.run_until_cancelled_owned(attempt(permit, due, keys)).await;
    });
}

async fn attempt(mut permit: AttemptPermit, due: DueNotification, keys: Option<Arc<SigningKeys>>) {
    let attempts = Arc::clone(&permit.attempts);
    let gateway = &attempts.gateway;
    let started_at = gateway.time.now();
    let began = Instant::now();
    let client = attempts.clients.through(gateway.settings.snapshot().proxy.as_ref());
    let answer = post::post(
        &client,
        attempts.timeout,
        &due.url,
        due.id,
        due.body,
        keys.as_deref(),
        started_at,
    )
    .await;
    let duration_ms = i64::try_from(began.elapsed().as_millis()).unwrap_or(i64::MAX);
    permit.responsiveness = responsiveness(&answer);

    // The environment's clock may have jumped during the attempt. `ended_at` leaves the jump out.
    // Otherwise the jump could make this attempt the last, without an attempt after the jump.
    let ended_at = started_at.plus_ms(duration_ms);
    let attempt = due.attempts.saturating_add(1);
    let outcome =
        outcome(gateway.machine.entropy.as_ref(), &answer, attempt, due.first_due_at, ended_at);
    let error = answer.error.clone();
    store(gateway, &Ended { seq: due.seq, attempt, started_at, duration_ms, answer, outcome })
        .await;
    permit.is_stored = true;
    // A log line may panic, so it is written after everything else is done.
    match error {
        None => tracing::debug!(notification = %due.id, attempt, "notification delivered"),
        Some(error) => {
            tracing::info!(notification = %due.id, server = due.server, attempt, %error, "notification not delivered");
        }
    }
}

const fn responsiveness(answer: &Answer) -> Responsiveness {
    match (answer.status_code, answer.timed_out) {
        (Some(_), _) => Responsiveness::Answered,
        (None, true) => Responsiveness::TimedOut,
        (None, false) => Responsiveness::Neither,
    }
}

fn outcome(
    entropy: &dyn Entropy,
    answer: &Answer,
    attempt: u32,
    first_due_at: Timestamp,
    ended_at: Timestamp,
) -> Outcome {
    if answer.error.is_none() {
        return Outcome::Delivered;
    }
    after_failure(attempt, first_due_at, ended_at, jitter_per_mille(entropy))
}

/// Stores the attempt, and tries again until it succeeds. Otherwise the notification would be sent
/// again and again.
async fn store(gateway: &Gateway, ended: &Ended) {
    let mut pause = STORE_AGAIN_FIRST;
    loop {
        match try_store(gateway, ended).await {
            Ok(()) => break,
            Err(error) => {
                tracing::error!(%error, "an attempt to notify could not be recorded; trying again")
            }
        }
        tokio::time::sleep(pause).await;
        pause = pause.saturating_mul(2).min(STORE_AGAIN_MAX);
    }
    gateway.signals.note_change();
}

/// The reason why an attempt could not be stored.
#[derive(Debug, thiserror::Error, tillgate_told::Told)]
enum NotStored {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    NoEntropy(#[from] NoEntropy),
}

async fn try_store(gateway: &Gateway, ended: &Ended) -> Result<(), NotStored> {
    let Ended { seq, started_at, duration_ms, outcome, .. } = *ended;
    let delivery = NewDelivery {
        id: gateway.machine.entropy.id()?,
        attempt: ended.attempt,
        started_at,
        duration_ms,
        status_code: ended.answer.status_code,
        error: ended.answer.error.clone(),
        answer: ended.answer.body.clone(),
    };
    let ended_at = started_at.plus_ms(duration_ms);
    Ok(gateway.store.write(move |tx| tx.record_attempt(seq, &delivery, outcome, ended_at)).await?)
}
