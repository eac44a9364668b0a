//! The coins, fee and change of a transaction to be made.

use bitcoin::ScriptBuf;

use super::fee::FeeWanted;
use super::spendable_coin::SpendableCoin;
use crate::settings::AddressType;

/// An unused script of our internal keychain, for change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FreshChange {
    pub script: ScriptBuf,
    pub index: u32,
}

/// Coins, fee and change for a transaction to be made.
#[derive(Debug, Clone, Copy)]
pub struct Funding<'a> {
    /// Coins that it must spend. For a replacement these are the inputs of every earlier version.
    pub required: &'a [SpendableCoin],
    /// Coins that it may also spend; required coins may be among them. A replacement takes
    /// confirmed ones only.
    pub optional: &'a [SpendableCoin],
    /// The fee, including the part that ancestors of required coins lack. Each optional coin adds
    /// the part that its own ancestors lack.
    pub fee: FeeWanted,
    pub change: &'a FreshChange,
    pub address_type: AddressType,
    pub tip_height: u32,
}

impl Funding<'_> {
    /// The fee of a transaction that spends these coins. With its unconfirmed ancestors the
    /// transaction pays the wanted rate.
    pub fn fee_for_inputs(&self, inputs: &[SpendableCoin]) -> FeeWanted {
        let shortfall_sats = inputs.iter().map(|coin| self.lacking_sats(coin));
        let for_ancestors_sats =
            shortfall_sats.fold(self.fee.for_ancestors_sats, u64::saturating_add);
        FeeWanted { for_ancestors_sats, ..self.fee }
    }

    /// Satoshis that the unconfirmed ancestors of an optional coin lack to pay the rate; 0 for a
    /// required coin.
    pub fn lacking_sats(&self, coin: &SpendableCoin) -> u64 {
        let is_required =
            || self.required.iter().any(|required| required.outpoint == coin.outpoint);
        if coin.ancestors == 0 || is_required() {
            0
        } else {
            self.fee.shortfall_sats(coin.ancestors_paid())
        }
    }
}
