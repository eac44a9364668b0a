//! One attempt from start to its record in the database.

use std::sync::Arc;
use std::time::Duration;

use tillgate_domain::notification::{AfterFailure, after_failure};
use tillgate_domain::time::Timestamp;
use tokio::time::Instant;

use super::post::{self, Answer};
use super::under_way::{Pace, Record};
use crate::gateway::Gateway;
use crate::signature::SigningKeys;
use crate::store::StoreError;
use crate::store::deliveries::NewDelivery;
use crate::store::notifications::{DueNotification, Outcome};

/// How long to wait before an attempt's record is tried again that could not be stored. The
/// attempt keeps its place meanwhile: where nothing can be stored, little is sent.
const RECORD_AGAIN_FIRST: Duration = Duration::from_secs(1);
const RECORD_AGAIN_MAX: Duration = Duration::from_secs(30);

/// Holds an attempt's place, and gives it up however the attempt ends.
struct Place {
    gateway: Arc<Gateway>,
    server: String,
    record: Record,
    pace: Pace,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.gateway.notifier.under_way().end(&self.server, &self.record, self.pace);
        self.gateway.notifier_wake.notify_one();
    }
}

/// Starts an attempt; the caller has found room for it.
pub(super) fn start(gateway: &Arc<Gateway>, server: String, due: DueNotification, keys: Option<Arc<SigningKeys>>) {
    let notifier = &gateway.notifier;
    let record = (due.subject_id, due.url.clone());
    notifier.under_way().begin(&server, record.clone());
    let place = Place { gateway: gateway.clone(), server, record, pace: Pace::Neither };
    let stop = notifier.stop.clone();
    notifier.attempts.spawn(async move {
        // What is cut short is not recorded: it stays due.
        stop.run_until_cancelled_owned(attempt(place, due, keys)).await;
    });
}

async fn attempt(mut place: Place, due: DueNotification, keys: Option<Arc<SigningKeys>>) {
    let gateway = place.gateway.clone();
    let notifier = &gateway.notifier;
    let started_at = gateway.clock.now();
    let began = Instant::now();
    let answer =
        post::post(&notifier.client, notifier.timeout, &due.url, due.id, due.body, keys.as_deref(), started_at).await;
    let duration_ms = i64::try_from(began.elapsed().as_millis()).unwrap_or(i64::MAX);
    place.pace = pace(&answer);

    // The environment's clock may have jumped meanwhile. Counting from the start makes what the
    // jump has made due an attempt of its own, above all the last one.
    let ended_at = started_at.plus_ms(duration_ms);
    let attempts = due.attempts.saturating_add(1);
    let outcome = outcome(&gateway, &answer, attempts, due.first_due_at, ended_at);
    match &answer.error {
        None => tracing::debug!(notification = %due.id, attempts, "notification delivered"),
        Some(error) => {
            tracing::info!(notification = %due.id, server = %place.server, attempts, error, "notification not delivered")
        }
    }
    record(&gateway, due.seq, attempts, started_at, duration_ms, answer, outcome).await;
}

const fn pace(answer: &Answer) -> Pace {
    match (answer.status_code, answer.timed_out) {
        (Some(_), _) => Pace::Answered,
        (None, true) => Pace::TimedOut,
        (None, false) => Pace::Neither,
    }
}

fn outcome(gateway: &Gateway, answer: &Answer, attempts: u32, first_due_at: Timestamp, ended_at: Timestamp) -> Outcome {
    if answer.error.is_none() {
        return Outcome::Delivered;
    }
    match after_failure(attempts, first_due_at, ended_at, jitter_per_mille(gateway)) {
        AfterFailure::RetryAt(at) => Outcome::RetryAt(at),
        AfterFailure::GiveUp => Outcome::GiveUp,
    }
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
    gateway.changes.send_modify(|count| *count = count.wrapping_add(1));
}

/// Why an attempt could not be recorded.
#[derive(Debug, thiserror::Error)]
enum RecordError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    NoEntropy(#[from] crate::entropy::NoEntropy),
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
