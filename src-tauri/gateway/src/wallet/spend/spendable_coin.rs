//! A coin that may be spent.

use bitcoin::OutPoint;
use tillgate_store::keychains::Keychain;

use super::fee::Paid;

/// A coin of ours that may be spent now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpendableCoin {
    pub outpoint: OutPoint,
    pub amount_sats: u64,
    pub keychain: Keychain,
    /// The derivation index of its script.
    pub index: u32,
    /// The height of its block; `None` for our own unconfirmed change.
    pub height: Option<u32>,
    /// Number of unconfirmed transactions that the coin depends on, including the one that holds
    /// it; 0 for a confirmed coin.
    pub ancestors: u32,
    /// The total vsize of these transactions.
    pub ancestors_vsize: u64,
    /// The total fee of these transactions.
    pub ancestors_fee_sats: u64,
}

impl SpendableCoin {
    /// Fees and vsize of its unconfirmed ancestors.
    pub const fn ancestors_paid(&self) -> Paid {
        Paid { fee_sats: self.ancestors_fee_sats, vsize: self.ancestors_vsize }
    }
}
