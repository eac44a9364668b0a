//! Acts of staff on anomalies, and their records. Only the watcher raises anomalies, updates them
//! by the chain and takes them back.

mod ask;
mod dismiss;
mod read;
mod refund;
#[cfg(test)]
mod tests;

pub use ask::{AnswerError, answer, ask};
pub use dismiss::{DismissError, dismiss};
pub use read::{list, record};
pub use refund::{RefundError, RefundRequest, refund, refund_sats};
