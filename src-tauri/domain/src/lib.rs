//! The rules of taking Bitcoin payments, as values and pure functions.
//!
//! The crate reads no clock, file, socket or random number; each such input is an argument. Bitcoin
//! amounts are whole satoshis, fiat amounts whole minor units, rates are [`rust_decimal::Decimal`];
//! there is no floating point.

#![warn(missing_docs)]

pub mod advance;
pub mod anomaly;
pub mod batch;
pub mod bip21;
pub mod chain;
pub mod checked_clock;
pub mod closing;
pub mod id;
pub mod money;
pub mod notification;
pub mod payment;
pub mod payout;
pub mod permission;
pub mod plain;
pub mod policy;
pub mod rates;
pub mod receipt;
pub mod restore;
pub mod sale;
pub mod time;
pub mod words;
