//! Bitcoin and fiat amounts, and how they are read and written.
//!
//! Bitcoin is counted in whole satoshis and fiat in whole minor units; reading is exact and never
//! rounds. Every rounding between the two is in [`Rate`] and [`paid_minor`], with its direction
//! named. There are no floating point numbers.

mod bitcoin;
mod currency;
mod display;
mod error;
mod number;
mod rate;
mod typed;

pub use bitcoin::{MAX_SATS, SATS_PER_BTC, format_btc, format_btc_signed, parse_btc};
pub use currency::Currency;
pub use display::show_btc;
pub use error::AmountError;
pub use rate::{Rate, equivalent, paid_minor};
pub use typed::Ambiguous;
