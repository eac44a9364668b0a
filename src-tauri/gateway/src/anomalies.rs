//! Acts of staff on anomalies, and their records. Only the watcher raises anomalies, updates them by the chain and
//! takes them back.

mod ask;
mod dismiss;
mod read;
mod refund;
#[cfg(test)]
mod tests;

pub(crate) use ask::{AnswerError, answer, ask};
pub(crate) use dismiss::{DismissError, dismiss};
pub(crate) use read::{list, record};
pub(crate) use refund::{RefundError, RefundRequest, refund, refund_sats};
