//! Notifications: queued in the transaction of the change that they tell of, signed and POSTed to the merchants'
//! servers, and queued again for whoever missed one.

mod hmac_keys;
mod notifier;
pub(crate) mod outbox;
pub(crate) mod refunds;
pub(crate) mod resend;
mod signature;
#[cfg(test)]
mod tests;

pub(crate) use hmac_keys::{RotateError, holds_key};
pub(crate) use notifier::{ATTEMPT_TIMEOUT, NoClient, Notifier};
