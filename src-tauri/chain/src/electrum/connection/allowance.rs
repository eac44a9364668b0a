//! The limit for the notifications of a server.

use tokio::time::Instant;

/// Limit in bytes for a burst of notifications. A block changes some thousand scripts at most, and
/// a notification has 200 bytes.
const NOTICES_AT_ONCE: usize = 16 * 1_024 * 1_024;

/// Bytes of notifications allowed in each further second: 1,300 notifications.
const NOTICES_A_SECOND: usize = 256 * 1_024;

/// The bytes of notifications that a server may still send. It outlives a connection, so that a
/// server gains nothing by hanging up.
#[derive(Debug)]
pub struct Allowance {
    left: usize,
    at: Instant,
}

impl Default for Allowance {
    fn default() -> Self {
        Self { left: NOTICES_AT_ONCE, at: Instant::now() }
    }
}

impl Allowance {
    /// Subtracts bytes; `false` if the server sent too many.
    pub fn take(&mut self, bytes: usize, now: Instant) -> bool {
        let seconds = now.saturating_duration_since(self.at).as_secs();
        if seconds > 0 {
            let more =
                usize::try_from(seconds).unwrap_or(usize::MAX).saturating_mul(NOTICES_A_SECOND);
            *self = Self { left: self.left.saturating_add(more).min(NOTICES_AT_ONCE), at: now };
        }
        let left = self.left.checked_sub(bytes);
        self.left = left.unwrap_or(0);
        left.is_some()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn notifications_are_limited_to_a_burst_and_a_rate() {
        let mut allowance = Allowance::default();
        let began = allowance.at;
        assert!(allowance.take(NOTICES_AT_ONCE, began) && !allowance.take(1, began));
        let next = began + Duration::from_secs(1);
        assert!(
            allowance.take(NOTICES_A_SECOND, next) && !allowance.take(1, next),
            "a second adds a fixed number"
        );
        let later = next + Duration::from_secs(1_000);
        assert!(
            allowance.take(NOTICES_AT_ONCE, later) && !allowance.take(1, later),
            "a pause allows no more than a burst"
        );
    }
}
