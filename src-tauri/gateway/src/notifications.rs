//! Notifications: queued in the transaction of their change, signed and POSTed to the merchants' servers, and queued
//! again for a shop that missed one.

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
