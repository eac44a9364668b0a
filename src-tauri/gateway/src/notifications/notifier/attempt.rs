//! One attempt from start to its record in the database.

use std::sync::Arc;
use std::time::Duration;

use tillgate_domain::notification::{Outcome, after_failure};
use tillgate_domain::time::Timestamp;
use tokio::time::Instant;

use super::Notifier;
use super::post::{self, Answer};
use super::under_way::{Place, Responsiveness};
use crate::gateway::Gateway;
use crate::notifications::signature::SigningKeys;
use crate::store::StoreError;
use crate::store::deliveries::NewDelivery;
use crate::store::notifications::DueNotification;

/// How long to wait before an attempt's record is tried again that could not be stored. The
/// attempt keeps its place meanwhile: where nothing can be stored, little is sent.
const RECORD_AGAIN_FIRST: Duration = Duration::from_secs(1);
const RECORD_AGAIN_MAX: Duration = Duration::from_secs(30);

/// Holds an attempt's place, and gives it up however the attempt ends.
struct AttemptsPlace {
    notifier: Arc<Notifier>,
    place: Place,
    responsiveness: Responsiveness,
    is_recorded: bool,
}

impl Drop for AttemptsPlace {
    fn drop(&mut self) {
        let mut under_way = self.notifier.under_way();
        under_way.end(&self.place, self.responsiveness);
        if self.is_recorded {
            under_way.recorded(&self.place.record);
        } else {
            // Still due by the database: without this it would be sent again at once, and again.
            under_way.unrecorded(&self.place.record, Instant::now());
        }
        drop(under_way);
        self.notifier.gateway.notifier_wake.notify_one();
    }
}

/// Starts an attempt; the caller has found room for it.
pub(super) fn start(notifier: &Arc<Notifier>, due: DueNotification, keys: Option<Arc<SigningKeys>>) {
    let place = Place::of(&due);
    notifier.under_way().begin(&place);
    let attempts_place = AttemptsPlace {
        notifier: Arc::clone(notifier),
        place,
        responsiveness: Responsiveness::Neither,
        is_recorded: false,
    };
    let stop = notifier.stop.clone();
    notifier.attempts.spawn(async move {
        // What is cut short is not recorded: it stays due.
        stop.run_until_cancelled_owned(attempt(attempts_place, due, keys)).await;
    });
}

async fn attempt(mut attempts_place: AttemptsPlace, due: DueNotification, keys: Option<Arc<SigningKeys>>) {
    let notifier = Arc::clone(&attempts_place.notifier);
    let gateway = &notifier.gateway;
    let started_at = gateway.clock.now();
    let began = Instant::now();
    let answer =
        post::post(&notifier.client, notifier.timeout, &due.url, due.id, due.body, keys.as_deref(), started_at).await;
    let duration_ms = i64::try_from(began.elapsed().as_millis()).unwrap_or(i64::MAX);
    attempts_place.responsiveness = responsiveness(&answer);

    // The environment's clock may have jumped meanwhile. Counting from the start makes what the
    // jump has made due an attempt of its own, above all the last one.
    let ended_at = started_at.plus_ms(duration_ms);
    let attempts = due.attempts.saturating_add(1);
    let outcome = outcome(gateway, &answer, attempts, due.first_due_at, ended_at);
    let error = answer.error.clone();
    record(gateway, due.seq, attempts, started_at, duration_ms, answer, outcome).await;
    attempts_place.is_recorded = true;
    // Last: where nothing can be logged, all the rest is done.
    match error {
        None => tracing::debug!(notification = %due.id, attempts, "notification delivered"),
        Some(error) => {
            tracing::info!(notification = %due.id, server = due.server, attempts, error, "notification not delivered");
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

fn outcome(gateway: &Gateway, answer: &Answer, attempts: u32, first_due_at: Timestamp, ended_at: Timestamp) -> Outcome {
    if answer.error.is_none() {
        return Outcome::Delivered;
    }
    after_failure(attempts, first_due_at, ended_at, jitter_per_mille(gateway))
}

/// From -100 to 100. Without random bytes none: the schedule matters more than its spread.
fn jitter_per_mille(gateway: &Gateway) -> i64 {
    let mut bytes = [0u8; 4];
    match gateway.entropy.fill(&mut bytes) {
        Ok(()) => i64::from(u32::from_le_bytes(bytes)) % 201 - 100,
        Err(_) => 0,
    }
}

/// Stores the attempt, until that works: without it the notification would be sent again at once,
/// and again.
async fn record(
    gateway: &Gateway,
    seq: i64,
    attempt: u32,
    started_at: Timestamp,
    duration_ms: i64,
    answer: Answer,
    outcome: Outcome,
) {
    let mut pause = RECORD_AGAIN_FIRST;
    loop {
        match try_record(gateway, seq, attempt, started_at, duration_ms, answer.clone(), outcome).await {
            Ok(()) => break,
            Err(error) => tracing::error!(%error, "an attempt to notify could not be recorded; trying again"),
        }
        tokio::time::sleep(pause).await;
        pause = pause.saturating_mul(2).min(RECORD_AGAIN_MAX);
    }
    gateway.note_change();
}

/// Why an attempt could not be recorded.
#[derive(Debug, thiserror::Error)]
enum RecordError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    NoEntropy(#[from] crate::machine::entropy::NoEntropy),
}

async fn try_record(
    gateway: &Gateway,
    seq: i64,
    attempt: u32,
    started_at: Timestamp,
    duration_ms: i64,
    answer: Answer,
    outcome: Outcome,
) -> Result<(), RecordError> {
    let delivery = NewDelivery {
        id: gateway.entropy.id()?,
        attempt,
        started_at,
        duration_ms,
        status_code: answer.status_code,
        error: answer.error,
        answer: answer.body,
    };
    let ended_at = started_at.plus_ms(duration_ms);
    Ok(gateway.store.write(move |tx| tx.record_attempt(seq, &delivery, outcome, ended_at)).await?)
}
