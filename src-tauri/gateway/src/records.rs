//! The Payment, Anomaly and Payout records as JSON (interface, sections 2 to 4). Create, GET, lists
//! and notifications share this form. It depends on no transport, because a notification's body is
//! rendered in the transaction of its change. This module writes no row and decides nothing about
//! payments. Its only rules are of form: worths are rounded down, and sentences are worded.

mod anomaly;
mod context;
mod list;
mod object;
mod payment;
mod payout;
pub mod qr;
mod rates;
mod snapshot;
mod transaction;

pub use anomaly::{anomaly_message, anomaly_record};
pub use context::RecordContext;
pub use list::RecordList;
pub use payment::payment_record;
pub use payout::{Estimate, estimate_record, limit_record, payout_record};
pub use rates::rates_record;
pub use snapshot::{PAGE_MAX, Snapshot};
