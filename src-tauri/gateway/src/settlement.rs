//! What the rules make of that which a look told, inside the transaction that stores the look: payments, coins, the batches of
//! payouts, twins, and the ledger. Settling again changes nothing.

pub(crate) mod batches;
pub(crate) mod coins;
mod conflicts;
mod due;
mod error;
mod missing;
pub(crate) mod payment;
mod touched;
mod twin_ledger;
pub(crate) mod twins;

pub(crate) use due::Due;
pub(crate) use error::SettleError;
pub(crate) use touched::Touched;
