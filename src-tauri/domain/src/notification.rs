//! The states of a notification: the times of its retries and their end (interface, section 5).

use std::fmt;
use std::str::FromStr;

use crate::time::Timestamp;

/// Delay in milliseconds after the first, second, … failed attempt.
const DELAYS_MS: [i64; 7] = [10_000, 30_000, 60_000, 300_000, 900_000, 3_600_000, 10_800_000];

/// Delay in milliseconds after each later failed attempt.
const LATER_DELAY_MS: i64 = 6 * 3_600_000;

/// A notification is retried for three days, in milliseconds.
const TRIED_FOR_MS: i64 = 3 * 24 * 3_600_000;

/// Largest random change of a delay, per mille.
const MAX_JITTER_PER_MILLE: i64 = 100;

/// The kind of record that a notification is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "views", derive(serde::Serialize, serde::Deserialize, ts_rs::TS))]
#[cfg_attr(feature = "views", serde(rename_all = "lowercase"))]
pub enum SubjectKind {
    /// A payment.
    Payment,
    /// An anomaly.
    Anomaly,
    /// A payout.
    Payout,
}

/// A text that is not a subject kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error, tillgate_told::Told)]
#[error("a notification tells of a payment, an anomaly or a payout")]
pub struct NotASubjectKind;

impl SubjectKind {
    /// All values.
    pub const ALL: [Self; 3] = [Self::Payment, Self::Anomaly, Self::Payout];

    /// Its name in the database and in views.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Payment => "payment",
            Self::Anomaly => "anomaly",
            Self::Payout => "payout",
        }
    }
}

impl fmt::Display for SubjectKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for SubjectKind {
    type Err = NotASubjectKind;

    fn from_str(text: &str) -> Result<Self, NotASubjectKind> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text).ok_or(NotASubjectKind)
    }
}

/// The state of a notification.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "views", derive(serde::Serialize, serde::Deserialize, ts_rs::TS))]
#[cfg_attr(feature = "views", serde(rename_all = "SCREAMING_SNAKE_CASE"))]
pub enum NotificationState {
    /// It waits for its first or next attempt.
    Waiting,
    /// The merchant's server took it.
    Delivered,
    /// An attempt failed, and a newer notification of the same record replaced it.
    Superseded,
    /// Three days of attempts failed.
    GivenUp,
}

/// Every change of a notification's state. A resend is a notification of its own.
pub const TRANSITIONS: &[(NotificationState, NotificationState)] = {
    use NotificationState::{Delivered, GivenUp, Superseded, Waiting};
    &[
        (Waiting, Delivered),
        (Waiting, Superseded),
        (Waiting, GivenUp),
        // A newer notification replaced it during an attempt that then succeeded.
        (Superseded, Delivered),
    ]
};

/// A text that is not a state of a notification.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error, tillgate_told::Told)]
#[error("a notification is WAITING, DELIVERED, SUPERSEDED or GIVEN_UP")]
pub struct NotANotificationState;

impl NotificationState {
    /// All values.
    pub const ALL: [Self; 4] = [Self::Waiting, Self::Delivered, Self::Superseded, Self::GivenUp];

    /// The state after an attempt, and the time of the next attempt, if there is one. With
    /// `is_newer_waiting`, a newer notification of the record replaces this one after its attempt.
    #[must_use]
    pub const fn after_attempt(
        self,
        outcome: Outcome,
        is_newer_waiting: bool,
    ) -> (Self, Option<Timestamp>) {
        match (self, outcome) {
            (_, Outcome::Delivered) => (Self::Delivered, None),
            (Self::Waiting, Outcome::RetryAt(_) | Outcome::GiveUp) if is_newer_waiting => {
                (Self::Superseded, None)
            }
            (Self::Waiting, Outcome::RetryAt(at)) => (Self::Waiting, Some(at)),
            (Self::Waiting, Outcome::GiveUp) => (Self::GivenUp, None),
            // A newer notification replaced it during the attempt.
            (
                Self::Delivered | Self::Superseded | Self::GivenUp,
                Outcome::RetryAt(_) | Outcome::GiveUp,
            ) => (self, None),
        }
    }

    /// Its name in the database and in views.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "WAITING",
            Self::Delivered => "DELIVERED",
            Self::Superseded => "SUPERSEDED",
            Self::GivenUp => "GIVEN_UP",
        }
    }
}

impl fmt::Display for NotificationState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for NotificationState {
    type Err = NotANotificationState;

    fn from_str(text: &str) -> Result<Self, NotANotificationState> {
        Self::ALL.into_iter().find(|state| state.as_str() == text).ok_or(NotANotificationState)
    }
}

/// The outcome of one attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The merchant's server took it.
    Delivered,
    /// It failed; the next attempt comes at this moment or later.
    RetryAt(Timestamp),
    /// It failed, and three days have passed; only a resend sends it again.
    GiveUp,
}

/// The outcome of failed attempt number `attempts` (the first is 1), which ended at `ended_at`. The
/// notification was first due at `queued_at`; `jitter_per_mille` is the caller's random number from
/// -100 to 100.
///
/// The last attempt is at the end of the three days: a retry that would come later is moved there.
/// If the clock jumps past that end, one more attempt still follows.
#[must_use]
pub fn after_failure(
    attempts: u32,
    queued_at: Timestamp,
    ended_at: Timestamp,
    jitter_per_mille: i64,
) -> Outcome {
    let end = queued_at.plus_ms(TRIED_FOR_MS);
    if ended_at >= end {
        return Outcome::GiveUp;
    }
    let index = usize::try_from(attempts.saturating_sub(1)).unwrap_or(usize::MAX);
    let delay_ms = DELAYS_MS.get(index).copied().unwrap_or(LATER_DELAY_MS);
    let jitter = jitter_per_mille.clamp(-MAX_JITTER_PER_MILLE, MAX_JITTER_PER_MILLE);
    let retry = ended_at.plus_ms(delay_ms + delay_ms * jitter / 1_000);
    Outcome::RetryAt(retry.min(end))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const QUEUED: Timestamp = Timestamp::from_ms(1_000_000);

    #[test]
    fn states_and_subjects_read_back_their_names() {
        for state in NotificationState::ALL {
            assert_eq!(state.as_str().parse(), Ok(state));
        }
        for kind in SubjectKind::ALL {
            assert_eq!(kind.to_string().parse(), Ok(kind));
        }
        assert_eq!("SENT".parse::<NotificationState>(), Err(NotANotificationState));
        assert_eq!("key".parse::<SubjectKind>(), Err(NotASubjectKind));
    }

    #[test]
    fn each_attempt_follows_the_transition_table() {
        use NotificationState::{Delivered, GivenUp, Superseded, Waiting};
        let retry = Outcome::RetryAt(QUEUED);
        for (from, outcome, is_newer_waiting, to) in [
            (Waiting, Outcome::Delivered, true, (Delivered, None)),
            (Waiting, retry, false, (Waiting, Some(QUEUED))),
            (Waiting, retry, true, (Superseded, None)),
            (Waiting, Outcome::GiveUp, false, (GivenUp, None)),
            (Waiting, Outcome::GiveUp, true, (Superseded, None)),
            (Superseded, Outcome::Delivered, false, (Delivered, None)),
            (Superseded, retry, false, (Superseded, None)),
            (Superseded, Outcome::GiveUp, false, (Superseded, None)),
        ] {
            assert_eq!(
                from.after_attempt(outcome, is_newer_waiting),
                to,
                "{from:?} {outcome:?} {is_newer_waiting}"
            );
            assert!(from == to.0 || TRANSITIONS.contains(&(from, to.0)), "{from:?} to {:?}", to.0);
        }
    }

    #[test]
    fn delays_follow_the_schedule_from_the_last_attempts_end() {
        let ended = QUEUED.plus_ms(5_000);
        let seconds = [10, 30, 60, 300, 900, 3_600, 10_800, 21_600, 21_600];
        for (attempts, delay) in (1..).zip(seconds) {
            let retry = Outcome::RetryAt(ended.plus_ms(delay * 1_000));
            assert_eq!(after_failure(attempts, QUEUED, ended, 0), retry, "attempt {attempts}");
        }
        assert_eq!(
            after_failure(u32::MAX, QUEUED, ended, 0),
            Outcome::RetryAt(ended.plus_ms(21_600_000))
        );
    }

    #[test]
    fn jitter_moves_a_retry_by_a_tenth_at_most() {
        for (jitter, delay_ms) in [(-100, 9_000), (100, 11_000), (50, 10_500), (5_000, 11_000)] {
            let retry = Outcome::RetryAt(QUEUED.plus_ms(delay_ms));
            assert_eq!(after_failure(1, QUEUED, QUEUED, jitter), retry, "{jitter}");
        }
    }

    #[test]
    fn the_last_attempt_is_at_the_end_of_the_three_days() {
        let end = QUEUED.plus_ms(TRIED_FOR_MS);
        assert_eq!(after_failure(20, QUEUED, end.plus_ms(-1), 0), Outcome::RetryAt(end));
        assert_eq!(after_failure(20, QUEUED, end, 0), Outcome::GiveUp);
        assert_eq!(after_failure(1, QUEUED, end.plus_ms(1), 0), Outcome::GiveUp);
    }

    proptest! {
        #[test]
        fn the_last_attempt_is_three_days_after_the_first(took_ms in 0..10_000_i64, jitter in -100..=100_i64) {
            let mut now = QUEUED;
            for attempts in 1..100 {
                let ended = now.plus_ms(took_ms);
                match after_failure(attempts, QUEUED, ended, jitter) {
                    Outcome::RetryAt(at) => {
                        prop_assert!(at > ended);
                        now = at;
                    }
                    Outcome::Delivered => prop_assert!(false, "a failure delivers nothing"),
                    Outcome::GiveUp => {
                        prop_assert!(ended >= QUEUED.plus_ms(TRIED_FOR_MS));
                        prop_assert!((15..30).contains(&attempts));
                        return Ok(());
                    }
                }
            }
            prop_assert!(false, "never given up");
        }
    }
}
