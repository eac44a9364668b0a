//! Our own transactions: their coins, payees, fee and signatures, and a second check of the result.
//!
//! These are functions over values: none reads the database, asks a network or keeps a key. The caller reads the coins,
//! and stores the result before it leaves the machine.
//!
//! Sizes are those after signing. ECDSA signatures are ground to a low R, so a signature has 71 bytes with its sighash
//! type; one in some hundred is a byte shorter. So a transaction pays exactly its draft's fee, and never less than the
//! wanted rate.

mod build;
mod check;
mod estimate;
mod fee;
mod payee;
mod select;
mod sign;
mod size;
#[cfg(test)]
mod tests;

pub(crate) use build::{choose, choose_most, to_ourselves};
pub(crate) use check::check;
pub(crate) use estimate::{fee_for_one, most};
pub(crate) use fee::{FeeWanted, Paid};
pub(crate) use payee::BadPayee;
pub(crate) use select::is_worth_spending;
pub(crate) use sign::sign;

use bitcoin::absolute::LockTime;
use bitcoin::{OutPoint, ScriptBuf};
use tillgate_domain::money::format_btc;

use crate::settings::AddressType;
use crate::store::keychains::Keychain;

/// The most unconfirmed ancestors of a transaction of ours, itself not counted. Nodes relay 63, those of Bitcoin Core
/// before 31.0 only 24, so all relay ours.
pub(crate) const MAX_ANCESTORS: u32 = 10;

/// The largest vsize of a transaction of ours with its unconfirmed ancestors. Nodes relay 101 kvB.
pub(crate) const MAX_VSIZE_WITH_ANCESTORS: u64 = 90_000;

/// A coin of ours that may be spent now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SpendableCoin {
    pub outpoint: OutPoint,
    pub amount_sats: u64,
    pub keychain: Keychain,
    /// The derivation index of its script.
    pub index: u32,
    /// The height of its block; `None` for our own unconfirmed change.
    pub height: Option<u32>,
    /// Number of unconfirmed transactions behind the coin, its own included; 0 for a confirmed coin.
    pub ancestors: u32,
    /// Their vsize in all.
    pub ancestors_vsize: u64,
    /// Their fees in all.
    pub ancestors_fee_sats: u64,
}

/// A recipient, paid by one output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Payee {
    pub script: ScriptBuf,
    pub amount_sats: u64,
}

/// An unused script of our internal keychain, for change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FreshChange {
    pub script: ScriptBuf,
    pub index: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Change {
    pub script: ScriptBuf,
    /// The index of its script in the internal keychain.
    pub index: u32,
    pub amount_sats: u64,
}

/// Coins, fee and change for a transaction to be made.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Means<'a> {
    /// Coins that it must spend. For a replacement these are the inputs of every earlier version.
    pub required: &'a [SpendableCoin],
    /// Coins that it may also spend; required coins may be among them. A replacement takes confirmed ones only.
    pub optional: &'a [SpendableCoin],
    /// The fee, including the part that ancestors of required coins lack. Each optional coin adds the part that its own
    /// ancestors lack.
    pub fee: FeeWanted,
    pub change: &'a FreshChange,
    pub address_type: AddressType,
    pub tip_height: u32,
}

impl Means<'_> {
    /// The fee of a transaction that spends these coins. With its unconfirmed ancestors the transaction pays the wanted
    /// rate.
    pub(crate) fn fee_spending(&self, inputs: &[SpendableCoin]) -> FeeWanted {
        let lacking = inputs.iter().map(|coin| self.lacking_sats(coin));
        let for_ancestors_sats = lacking.fold(self.fee.for_ancestors_sats, u64::saturating_add);
        FeeWanted { for_ancestors_sats, ..self.fee }
    }

    /// Satoshis that the unconfirmed ancestors of an optional coin lack to pay the rate; 0 for a required coin.
    fn lacking_sats(&self, coin: &SpendableCoin) -> u64 {
        let is_required = || self.required.iter().any(|required| required.outpoint == coin.outpoint);
        if coin.ancestors == 0 || is_required() { 0 } else { self.fee.lacking(coin.ancestors_paid()) }
    }
}

impl SpendableCoin {
    /// Fees and vsize of its unconfirmed ancestors.
    const fn ancestors_paid(&self) -> Paid {
        Paid { fee_sats: self.ancestors_fee_sats, vsize: self.ancestors_vsize }
    }
}

/// 32 random bytes that shuffle inputs and outputs. The same seed gives the same transaction.
pub(crate) type Seed = [u8; 32];

/// An unsigned transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Draft {
    /// The coins that it spends, in the order of its inputs.
    pub inputs: Vec<SpendableCoin>,
    /// The payees in the order of the request; none if it pays ourselves alone.
    pub payees: Vec<Payee>,
    /// `None` if the change would have been dust, which then goes to the fee.
    pub change: Option<Change>,
    /// The payee's number for each output; `None` for our change.
    outputs: Vec<Option<usize>>,
    pub fee_sats: u64,
    /// Its largest size once signed.
    pub vsize: u64,
    /// The tip's height, or seldom a little less, so that mining the tip's transactions anew gains nothing.
    pub lock_time: LockTime,
}

/// Reason why there is no transaction.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum DraftError {
    #[error(
        "the coins that can be spent now come to {} BTC, and {} BTC are needed with the fee",
        format_btc(*.available_sats),
        format_btc(*.needed_sats)
    )]
    NotEnough {
        /// Amounts and fee.
        needed_sats: u64,
        /// Sum of all coins that are worth spending.
        available_sats: u64,
    },
    /// The coins suffice once their unconfirmed ancestors are mined. These are too many or too large now, or lifting
    /// them costs too much.
    #[error("earlier payouts wait for a block; this one follows them")]
    WaitsForBlock,
    #[error("one transaction cannot spend so many small coins: the payout is too large for it")]
    TooHeavy,
    #[error(transparent)]
    Payee(#[from] BadPayee),
    #[error("the coin {0} is to be spent twice by one transaction")]
    Twice(OutPoint),
    #[error("a fee rate of {0} sat/vB is far above any real rate: check it")]
    FeeRate(u64),
}
