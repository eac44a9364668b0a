//! Sends approved payouts, each exactly once (interface, section 4). A pass has four steps:
//!
//! 1. It expires offers whose time is over.
//! 2. It broadcasts missing transactions again.
//! 3. It builds, signs, checks, stores and then broadcasts a transaction of the due payouts.
//! 4. It fails overdue payouts.
//!
//! A database transaction never waits for the network or the secret store. After a crash the stored
//! transaction is broadcast again, never a new one.

mod build;
mod chosen;
mod double_payments;
mod error;
mod fresh_look;
mod instead;
mod named_rate;
mod pass;
mod payout_rebroadcasts;
mod replace;
mod stuck;
#[cfg(test)]
mod tests;

pub use double_payments::{Payable, is_held_back, payable};
pub use error::{ReleaseError, SendError};
pub use named_rate::{NamedRateError, NamedRateFee, may_send, named_rate_fee};
pub use pass::{Sender, due_at};
pub use replace::{
    Agreed, ReplaceError, ReplacementFee, abandon_fee, bump_fee, may_abandon, may_bump,
};
pub use stuck::{Stuck, StuckCause, stuck, stuck_of};
