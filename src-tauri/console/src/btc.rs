//! Amounts of Bitcoin in views. Clients display them and do not compute with them.

use serde::{Deserialize, Serialize};
use tillgate_domain::money::{format_btc_signed, show_btc};
use ts_rs::TS;

/// An amount of Bitcoin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct BtcView {
    /// Whole satoshis; negative for a difference.
    #[ts(type = "number")]
    pub sats: i64,
    /// The amount in BTC for programs: `0.03444190`.
    pub text: String,
    /// The amount in BTC for people, with thousands separators: `1,234.50000000`.
    pub shown: String,
}

impl BtcView {
    /// The view of a signed number of satoshis.
    pub fn from_signed_sats(sats: i64) -> Self {
        Self { sats, text: format_btc_signed(sats), shown: show_btc(sats) }
    }

    /// The view of an unsigned number of satoshis.
    pub fn from_sats(sats: u64) -> Self {
        Self::from_signed_sats(i64::try_from(sats).unwrap_or(i64::MAX))
    }
}
