//! Notifications: queued in the database transaction of the change that they report, signed, and
//! POSTed to the merchants' servers. A shop that missed a notification can have it queued again.

mod hmac_keys;
mod notifier;
pub mod outbox;
mod receiver;
pub mod refunds;
pub mod resend;
mod signature;
#[cfg(test)]
mod tests;

pub use hmac_keys::KeyUnread;
pub use hmac_keys::{RotateError, holds_key};
pub use notifier::NotPosted;
pub use notifier::{ATTEMPT_TIMEOUT, NoClient, Notifier};
pub use receiver::{Received, Receiver, SignatureCheck};
