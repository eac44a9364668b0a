//! Sends approved payouts, each exactly once (interface, section 4). A pass does four things: it expires lapsed offers;
//! broadcasts missing transactions again; builds, signs, checks, stores and then broadcasts due payouts; and fails
//! overdue ones. No network and no secret store is asked inside a transaction. After a crash the stored transaction
//! goes out again, never a new one.

mod build;
mod cannot;
mod error;
mod fresh_look;
mod held_back;
mod pass;
mod payout_rebroadcasts;
mod replace;
mod stuck;
#[cfg(test)]
mod tests;

pub(crate) use error::{ReleaseError, SendError};
pub(crate) use held_back::{Payable, is_held_back, payable};
pub(crate) use pass::{Sender, due_at};
pub(crate) use replace::{Agreed, ReplaceError, ReplacementFee, abandon_fee, bump_fee, may_abandon, may_bump};
pub(crate) use stuck::{Stuck, StuckCause, stuck, stuck_of};
