//! The clock that a test gives a server.

/// A server's clock: milliseconds since 1970.
pub type Clock = Box<dyn Fn() -> i64 + Send + Sync>;
