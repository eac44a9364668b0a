//! Payouts up to their approval: offers, the day's limit, estimates and records. The sender sends
//! approved payouts.

mod alarms;
mod approve;
mod cost;
mod estimate;
mod expire;
mod limit;
mod offer;
mod preview;
mod read;
mod reject;
mod request;
#[cfg(test)]
mod tests;

pub use alarms::dismiss_alarms;
pub use approve::{ApproveError, Approver, approve, has_refund_coins, may_approve};
pub use cost::{Permit, takes_all_coins};
pub use estimate::{EstimateAmount, EstimateError, EstimateRequest, estimate};
pub use expire::{expire_due, expire_of_clock_ahead};
pub use limit::{LimitError, limit_now, limit_record};
pub use offer::{
    Along, OfferError, OfferRequest, Offered, Requester, answered_before, offer, offer_along,
};
pub use preview::{Preview, PreviewRequest, open_anomaly_of, preview};
pub use read::{list, record};
pub use reject::{RejectError, reject};
pub use request::PayoutRequest;
