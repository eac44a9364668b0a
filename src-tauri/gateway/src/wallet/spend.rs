//! Our own transactions: which coins they spend and what they pay, their signatures, and a second look at the result.
//!
//! Functions over values: nothing here reads the database, asks a network or keeps a key. The caller has read the
//! coins, and stores the result before it leaves the machine.
//!
//! The sizes are those after signing. ECDSA signatures are ground to a low R, so that a signature has 71 bytes with its
//! sighash type; one in some hundred is a byte shorter. So a transaction pays the fee that its draft says, to the
//! satoshi, at a rate that is never below the wanted one.

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
/// before 31.0 24: ours is relayed by all.
pub(crate) const MAX_ANCESTORS: u32 = 10;

/// The most that a transaction of ours may weigh together with its unconfirmed ancestors. Nodes relay 101 kvB.
pub(crate) const MAX_VSIZE_WITH_ANCESTORS: u64 = 90_000;

/// A coin of ours that may be spent now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SpendableCoin {
    pub outpoint: OutPoint,
    pub amount_sats: u64,
    /// The keychain of its script.
    pub keychain: Keychain,
    /// The derivation index of its script.
    pub index: u32,
    /// The height of its block; `None` for our own change that is in no block yet.
    pub height: Option<u32>,
    /// Transactions that have to be in a block before it can be spent there, its own among them; 0 where it is in one.
    pub ancestors: u32,
    /// Their size together.
    pub ancestors_vsize: u64,
    /// Their fees together.
    pub ancestors_fee_sats: u64,
}

/// Who is paid by one output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Payee {
    pub script: ScriptBuf,
    pub amount_sats: u64,
}

/// A script of our internal keychain that was never used, for change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FreshChange {
    pub script: ScriptBuf,
    pub index: u32,
}

/// Our own change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Change {
    pub script: ScriptBuf,
    /// The index of its script in the internal keychain.
    pub index: u32,
    pub amount_sats: u64,
}

/// The coins, fee and change of a transaction to be made.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Means<'a> {
    /// Coins that it must spend: the inputs of every earlier version, where it replaces one.
    pub required: &'a [SpendableCoin],
    /// Coins that it may spend besides; required ones may stand among them. A replacement takes confirmed ones alone.
    pub optional: &'a [SpendableCoin],
    /// With what the unconfirmed ancestors of required coins lack. Each optional coin adds what its own lack.
    pub fee: FeeWanted,
    pub change: &'a FreshChange,
    /// The kind of all our addresses.
    pub address_type: AddressType,
    /// The height of the chain's last block.
    pub tip_height: u32,
}

impl Means<'_> {
    /// The fee of a transaction that spends these coins: with their unconfirmed ancestors it pays the wanted rate.
    pub(crate) fn fee_spending(&self, inputs: &[SpendableCoin]) -> FeeWanted {
        let lacking = inputs.iter().map(|coin| self.lacking_sats(coin));
        let for_ancestors_sats = lacking.fold(self.fee.for_ancestors_sats, u64::saturating_add);
        FeeWanted { for_ancestors_sats, ..self.fee }
    }

    /// The satoshis that the unconfirmed ancestors of an optional coin lack to pay the rate. 0 for a required coin.
    fn lacking_sats(&self, coin: &SpendableCoin) -> u64 {
        let is_required = || self.required.iter().any(|required| required.outpoint == coin.outpoint);
        if coin.ancestors == 0 || is_required() { 0 } else { self.fee.lacking(coin.ancestors_paid()) }
    }
}

impl SpendableCoin {
    /// Fee and size of its unconfirmed ancestors together.
    const fn ancestors_paid(&self) -> Paid {
        Paid { fee_sats: self.ancestors_fee_sats, vsize: self.ancestors_vsize }
    }
}

/// 32 random bytes, by which inputs and outputs are shuffled. The same seed gives the same transaction.
pub(crate) type Seed = [u8; 32];

/// A transaction before it is signed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Draft {
    /// The coins that it spends, in the order of its inputs.
    pub inputs: Vec<SpendableCoin>,
    /// The payees in the order of the request. None where it pays ourselves alone.
    pub payees: Vec<Payee>,
    /// None where it would have been dust, which is then part of the fee.
    pub change: Option<Change>,
    /// For each output who is paid by it: a payee's number, or `None` for our change.
    outputs: Vec<Option<usize>>,
    pub fee_sats: u64,
    /// Its size once it is signed, at most.
    pub vsize: u64,
    /// The tip's height, or seldom a little less: nobody gains by mining the tip's transactions anew.
    pub lock_time: LockTime,
}

/// Why there is no transaction.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum DraftError {
    /// The coins are worth too little.
    #[error(
        "the coins that can be spent now come to {} BTC, and {} BTC are needed with the fee",
        format_btc(*.available_sats),
        format_btc(*.needed_sats)
    )]
    NotEnough {
        /// Amounts and fee.
        needed_sats: u64,
        /// The worth of all coins that are worth spending.
        available_sats: u64,
    },
    /// The coins will suffice once a block holds their unconfirmed ancestors. These are too many or too large now, or
    /// too much fee is needed to lift them.
    #[error("earlier payouts wait for a block; this one follows them")]
    WaitsForBlock,
    /// The coins are worth enough, but more of them are needed than one transaction may spend.
    #[error("one transaction cannot spend so many small coins: the payout is too large for it")]
    TooHeavy,
    /// Someone who cannot be paid.
    #[error(transparent)]
    Payee(#[from] BadPayee),
    /// A coin is required twice.
    #[error("the coin {0} is to be spent twice by one transaction")]
    Twice(OutPoint),
    /// A fee rate beyond all sense.
    #[error("a fee rate of {0} sat/vB is far above any real rate: check it")]
    FeeRate(u64),
}
