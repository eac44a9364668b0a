//! Who may call the interface, and a call that comes twice.

pub(crate) mod api_keys;
pub(crate) mod idempotency;
pub(crate) mod key_limits;
