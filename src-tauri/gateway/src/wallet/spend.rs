//! Our own transactions: their coins, payees, fee and signatures, and a second check of the result.
//!
//! These are functions over values: none reads the database, asks a network or keeps a key. The
//! caller reads the coins, and stores the result before it leaves the machine.
//!
//! Sizes are those after signing. ECDSA signatures are ground to a low R, so a signature has 71
//! bytes with its sighash type; about one in a hundred is a byte shorter. So a transaction pays
//! exactly the fee of its unsigned spend, at the wanted rate or slightly more.

mod build;
mod check;
mod error;
mod estimate;
mod fee;
mod funding;
mod payee;
mod select;
mod sign;
mod size;
mod spendable_coin;
#[cfg(test)]
mod tests;
mod unsigned_spend;

pub use build::{choose, choose_most, to_ourselves};
pub use check::check;
pub use error::SpendError;
pub use estimate::{fee_for_one, most};
pub use fee::{FeeWanted, Paid};
pub use funding::{FreshChange, Funding};
pub use payee::Payee;
pub use select::MAX_ANCESTORS;
pub use select::is_worth_spending;
pub use sign::SignError;
pub use sign::sign;
pub use spendable_coin::SpendableCoin;
pub use unsigned_spend::{Seed, UnsignedSpend};
