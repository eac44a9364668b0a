//! The limit for the bytes of a server's notices. The server alone chooses their number.

use tokio::time::Instant;

/// Bytes of notices at once. A block changes some thousand scripts at most, and a notice has 200 bytes.
const AT_ONCE: usize = 16 * 1_024 * 1_024;

/// Bytes allowed in each further second: 1,300 notices.
const A_SECOND: usize = 256 * 1_024;

/// The bytes that a server may still send. It outlives a connection, so that a server gains nothing by hanging up.
#[derive(Debug)]
pub(super) struct Allowance {
    left: usize,
    at: Instant,
}

impl Default for Allowance {
    fn default() -> Self {
        Self { left: AT_ONCE, at: Instant::now() }
    }
}

impl Allowance {
    /// Takes bytes off; `false` if the server sent too many.
    pub(super) fn take(&mut self, bytes: usize, now: Instant) -> bool {
        let seconds = now.saturating_duration_since(self.at).as_secs();
        if seconds > 0 {
            let more = usize::try_from(seconds).unwrap_or(usize::MAX).saturating_mul(A_SECOND);
            *self = Self { left: self.left.saturating_add(more).min(AT_ONCE), at: now };
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
    fn notices_are_taken_up_to_a_burst_and_then_by_the_second() {
        let mut allowance = Allowance::default();
        let began = allowance.at;
        assert!(allowance.take(AT_ONCE, began) && !allowance.take(1, began));
        let next = began + Duration::from_secs(1);
        assert!(allowance.take(A_SECOND, next) && !allowance.take(1, next), "a second allows so many more");
        let later = next + Duration::from_secs(1_000);
        assert!(allowance.take(AT_ONCE, later) && !allowance.take(1, later), "a pause allows no more than a burst");
    }
}
