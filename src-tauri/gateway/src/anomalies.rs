//! What staff does with anomalies, and answering their records. They are raised, followed and taken back by the watcher
//! alone.

mod dismiss;
mod read;
mod refund;
#[cfg(test)]
mod tests;

pub(crate) use dismiss::{DismissError, dismiss};
pub(crate) use read::{list, record};
pub(crate) use refund::{RefundError, RefundRequest, refund, refund_sats};
