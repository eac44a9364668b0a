//! Who may call the interface, how often, and what they may see. A repeated call takes effect once.

pub mod api_keys;
pub mod idempotency;
pub mod key_limits;
pub mod record_scope;
mod upper_bound;
