//! Who may call the interface, how often, and what they may see; and a call that comes twice.

pub(crate) mod api_keys;
pub(crate) mod idempotency;
pub(crate) mod key_limits;
pub(crate) mod record_scope;
