//! When a notification is tried again, and when it is given up (interface, section 5).

use crate::time::Timestamp;

/// What follows a failed attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterFailure {
    /// Try again, not before this moment.
    RetryAt(Timestamp),
    /// Three days have passed: given up until somebody asks for a resend.
    GiveUp,
}

/// Decides what follows failed attempt number `attempts` (1 is the first) that ended at `ended_at`,
/// of a notification first due at `queued_at`. `jitter_per_mille` is the caller's random number
/// from -100 to 100.
#[must_use]
pub fn after_failure(attempts: u32, queued_at: Timestamp, ended_at: Timestamp, jitter_per_mille: i64) -> AfterFailure {
    let _ = (attempts, queued_at, ended_at, jitter_per_mille);
    unimplemented!()
}
