//! The environment's clock. The only file that reads the machine's.
//!
//! It starts from the wall clock and runs by the boot-time clock, which counts sleep and never
//! steps. A step of the wall clock against it by more than a minute is reported, and taken over
//! only when it has lasted five minutes (operation.md, "The sandbox").

use tillgate_domain::time::Timestamp;

/// The environment's clock.
pub trait Clock: Send + Sync {
    /// Now, on the environment's clock.
    fn now(&self) -> Timestamp;
}

/// Now on the machine's own wall clock: for `webhook-timestamp` and the like.
pub fn machine_now() -> Timestamp {
    use std::time::{SystemTime, UNIX_EPOCH};
    #[expect(clippy::disallowed_methods, reason = "this file is the one that reads the clock")]
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_ms(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
