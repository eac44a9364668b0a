//! Payouts up to their approval: offers, the day's limit, estimates and records. The sender sends approved payouts.

mod alarms;
mod approve;
mod draft;
mod estimate;
mod expire;
mod funding;
mod limit;
mod offer;
mod preview;
mod read;
mod reject;
#[cfg(test)]
mod tests;

pub(crate) use alarms::dismiss_alarms;
pub(crate) use approve::{ApproveError, Approver, approve, has_refund_coins, may_approve};
pub(crate) use draft::Draft;
pub(crate) use estimate::{EstimateAmount, EstimateError, EstimateRequest, estimate};
pub(crate) use expire::{expire_due, expire_of_clock_ahead};
pub(crate) use funding::{Permit, takes_all_coins};
pub(crate) use limit::{ABOVE_DAILY_LIMIT, BELOW_MINIMUM, LimitError, limit_now, limit_record};
pub(crate) use offer::{Along, OfferError, OfferRequest, Offered, Requester, answered_before, offer, offer_along};
pub(crate) use preview::{Preview, PreviewRequest, open_anomaly_of, preview};
pub(crate) use read::{list, record};
pub(crate) use reject::{RejectError, reject};
