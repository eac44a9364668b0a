//! Notifications: queued in the database transaction of the change that they report, signed, and POSTed to the
//! merchants' servers. A shop that missed a notification can have it queued again.

mod hmac_keys;
mod notifier;
pub(crate) mod outbox;
mod receiver;
pub(crate) mod refunds;
pub(crate) mod resend;
mod signature;
#[cfg(test)]
mod tests;

#[cfg(test)]
pub(crate) use hmac_keys::KeyUnread;
pub(crate) use hmac_keys::{RotateError, holds_key};
#[cfg(test)]
pub(crate) use notifier::NotPosted;
pub(crate) use notifier::{ATTEMPT_TIMEOUT, NoClient, Notifier};
pub(crate) use receiver::{Received, Receiver, SignatureCheck};
