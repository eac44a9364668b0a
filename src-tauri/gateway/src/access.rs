//! Who may call the interface, how often, and what they may see. A repeated call takes effect once.

pub(crate) mod api_keys;
pub(crate) mod idempotency;
pub(crate) mod key_limits;
pub(crate) mod record_scope;
