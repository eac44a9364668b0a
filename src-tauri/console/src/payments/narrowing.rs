//! The choice of payments for a list or a table.

use bitcoin::address::NetworkUnchecked;
use bitcoin::{Address, Txid};
use serde::{Deserialize, Serialize};
use tillgate_domain::payment::PaymentState;
use tillgate_domain::time::Timestamp;
use tillgate_store::payment_lists::PaymentFilter;
use ts_rs::TS;

/// The payments to choose. A field that is empty or absent matches all payments.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct PaymentsNarrowing {
    /// Only payments in these states; empty for all.
    #[serde(default)]
    pub states: Vec<PaymentState>,
    /// A part of the reference, message, address, payment's id or transaction's id, or the amount.
    #[serde(default)]
    pub search: Option<String>,
    /// Only payments created at this time or later, in milliseconds since 1970.
    #[serde(default)]
    #[ts(type = "number | null")]
    pub from: Option<i64>,
    /// Only payments created before this time, in milliseconds since 1970.
    #[serde(default)]
    #[ts(type = "number | null")]
    pub to: Option<i64>,
    /// Only payments of this API key, or of the merchant's name for payments of staff.
    #[serde(default)]
    pub label: Option<String>,
}

impl PaymentsNarrowing {
    /// The filter; `None` if every payment matches.
    pub fn filter(self) -> Option<PaymentFilter> {
        let typed = |text: Option<String>| {
            text.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
        };
        let filter = PaymentFilter {
            states: self.states,
            from: self.from.map(Timestamp::from_ms),
            to: self.to.map(Timestamp::from_ms),
            label: typed(self.label),
            ..PaymentFilter::default()
        };
        let filter = match typed(self.search) {
            Some(search) => searched(filter, search),
            None => filter,
        };
        (filter != PaymentFilter::default()).then_some(filter)
    }
}

/// The filter with a search. A whole transaction id or address has an index; any other text is
/// searched for in all payments.
fn searched(filter: PaymentFilter, search: String) -> PaymentFilter {
    if let Ok(txid) = search.parse::<Txid>() {
        return PaymentFilter { txid: Some(txid), ..filter };
    }
    if let Ok(address) = search.parse::<Address<NetworkUnchecked>>() {
        // The address's network is not checked, because the search compares scripts.
        return PaymentFilter { script: Some(address.assume_checked().script_pubkey()), ..filter };
    }
    PaymentFilter { part: Some(search), ..filter }
}
