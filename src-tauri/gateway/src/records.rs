//! The Payment, Anomaly and Payout records as JSON (interface, sections 2 to 4): the one form that create, GET, lists
//! and notifications share. Free of any transport, because a notification's bytes are made in the transaction of its
//! change. Reads by the store's queries, writes no row, and decides nothing about payments. Its only rules are of
//! form: rounding worths down, and sentences.

mod anomaly;
mod context;
mod list;
mod object;
mod payment;
mod payout;
pub(crate) mod qr;
mod rates;
mod snapshot;
mod transaction;

pub(crate) use anomaly::{anomaly_message, anomaly_record};
pub(crate) use context::RecordContext;
pub(crate) use list::RecordList;
pub(crate) use payment::payment_record;
pub(crate) use payout::{Estimate, estimate_record, limit_record, payout_record};
pub(crate) use rates::rates_record;
pub(crate) use snapshot::{PAGE_MAX, Snapshot};
