//! Sends approved payouts, each exactly once (interface, section 4). A pass does four things: it expires lapsed offers;
//! broadcasts missing transactions again; builds, signs, checks, stores and then broadcasts due payouts; and fails
//! overdue ones. No network and no secret store is asked inside a transaction. After a crash the stored transaction
//! goes out again, never a new one.

mod again;
mod broadcast;
mod build;
mod cannot;
mod error;
mod held_back;
mod looking;
mod pass;
mod replace;
mod stuck;
#[cfg(test)]
mod tests;

pub(crate) use error::ReleaseError;
pub(crate) use error::SendError;
pub(crate) use held_back::{Payable, is_held_back, payable};
pub(crate) use pass::Sender;
pub(crate) use pass::due_at;
pub(crate) use replace::{Agreed, ReplaceError, ReplacementFee, abandon_fee, bump_fee, may_abandon, may_bump};
pub(crate) use stuck::{Stuck, StuckCause, stuck, stuck_of};
