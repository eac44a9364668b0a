//! Applies the rules to the findings of a look, in the transaction that stores the look: to payments, coins, batches of
//! payouts, twins and the ledger. Settling again changes nothing.

pub(crate) mod batches;
pub(crate) mod coins;
mod conflicts;
mod due;
mod missing;
pub(crate) mod payment;
mod touched;
mod twin_ledger;
pub(crate) mod twins;

pub(crate) use due::Due;
pub(crate) use touched::Touched;
