//! An unsigned transaction.

use bitcoin::ScriptBuf;
use bitcoin::absolute::LockTime;

use super::payee::Payee;
use super::spendable_coin::SpendableCoin;

/// A transaction that is not signed yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnsignedSpend {
    /// The coins that it spends, in the order of its inputs.
    pub inputs: Vec<SpendableCoin>,
    /// The payees in the order of the request; empty if the transaction pays only ourselves.
    pub payees: Vec<Payee>,
    /// `None` if the change would have been dust, which then goes to the fee.
    pub change: Option<Change>,
    /// For each output, the position of its payee in `payees`; `None` for our change.
    pub outputs: Vec<Option<usize>>,
    pub fee_sats: u64,
    /// The largest vsize that it can have after signing.
    pub vsize: u64,
    /// The tip's height, or seldom a little less. So a miner that replaces the tip cannot include
    /// this transaction (fee sniping).
    pub lock_time: LockTime,
}

/// The output that pays ourselves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    pub script: ScriptBuf,
    /// The index of its script in the internal keychain.
    pub index: u32,
    pub amount_sats: u64,
}

/// 32 random bytes that shuffle inputs and outputs. The same seed gives the same transaction.
pub type Seed = [u8; 32];
