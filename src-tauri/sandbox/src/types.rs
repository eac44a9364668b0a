//! Arguments and results of the sandbox's calls.

use std::collections::BTreeMap;

use bitcoin::{BlockHash, OutPoint, ScriptBuf, Transaction, TxOut, Txid};

/// The sandbox's fee estimate for 6 blocks, in sat/vB, unless a fault sets another.
const FEE_ESTIMATE_SAT_VB: u64 = 2;

/// A payment of the simulated customer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pay {
    /// The output script that it pays.
    pub script: ScriptBuf,
    /// The total sum, in satoshis.
    pub amount_sats: u64,
    /// Number of transactions, at least 1. They are equal in satoshis, with the remainder in the
    /// last.
    pub parts: u32,
    /// Fee rate in sat/vB; [`DEFAULT_FEE_RATE_SAT_VB`](crate::DEFAULT_FEE_RATE_SAT_VB) if absent.
    pub fee_rate_sat_vb: Option<u64>,
    /// Number of blocks to mine afterwards, in the same commit.
    pub confirmations: u32,
}

/// A replacement of the simulated customer's own transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Replace {
    /// Fee rate in sat/vB. If absent: 5 more than the replaced transaction's, and at least as much
    /// as a replacement must pay.
    pub fee_rate_sat_vb: Option<u64>,
    /// The recipient of the coins.
    pub to: ReplaceTo,
}

/// The recipient of a replacement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplaceTo {
    /// The customer, who gets all of it back.
    Customer,
    /// The address that the replaced transaction paid to.
    SameAddress {
        /// The sum in satoshis; if absent, the same as before.
        amount_sats: Option<u64>,
    },
}

/// The handling of a transaction that is broadcast from outside. The customer's own payments are
/// not affected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BroadcastFault {
    /// It is checked by the rules, and the caller gets the result.
    #[default]
    Ok,
    /// It is always refused.
    Reject,
    /// It is accepted as far as the rules allow, but the caller gets no answer.
    Timeout,
    /// It is checked by the rules, and the caller gets the result, but it is not stored.
    Forget,
}

impl BroadcastFault {
    /// All faults, in the order in which error messages list them.
    pub const ALL: [BroadcastFault; 4] = [
        BroadcastFault::Ok,
        BroadcastFault::Reject,
        BroadcastFault::Timeout,
        BroadcastFault::Forget,
    ];

    /// Its name in requests, answers and the file.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            BroadcastFault::Ok => "ok",
            BroadcastFault::Reject => "reject",
            BroadcastFault::Timeout => "timeout",
            BroadcastFault::Forget => "forget",
        }
    }

    #[must_use]
    pub fn from_name(name: &str) -> Option<BroadcastFault> {
        BroadcastFault::ALL.into_iter().find(|fault| fault.name() == name)
    }
}

/// The faults of the sandbox; they stay until they are changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Faults {
    /// The chain cannot be reached. The sandbox's callers enforce this fault.
    pub chain_down: bool,
    /// The handling of broadcasts.
    pub broadcast: BroadcastFault,
    /// The wallet's words cannot be read, as if the keyring were locked. The sandbox's callers
    /// enforce this fault.
    pub keys_locked: bool,
    /// The estimated fee rate, in sat/vB; `None` for the sandbox's own estimate.
    pub fee_rate_sat_vb: Option<u64>,
    /// Delay of each answer, in milliseconds. The sandbox's callers enforce this fault.
    pub latency_ms: u64,
}

impl Faults {
    /// The estimated fee rate for 6 blocks, in sat/vB.
    #[must_use]
    pub fn fee_estimate_sat_vb(&self) -> u64 {
        self.fee_rate_sat_vb.unwrap_or(FEE_ESTIMATE_SAT_VB)
    }
}

/// A change to [`Faults`]; fields that are `None` stay as they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FaultsPatch {
    /// See [`Faults::chain_down`].
    pub chain_down: Option<bool>,
    /// See [`Faults::broadcast`].
    pub broadcast: Option<BroadcastFault>,
    /// See [`Faults::keys_locked`].
    pub keys_locked: Option<bool>,
    /// See [`Faults::fee_rate_sat_vb`]; `Some(None)` brings the sandbox's own estimate back.
    pub fee_rate_sat_vb: Option<Option<u64>>,
    /// See [`Faults::latency_ms`].
    pub latency_ms: Option<u64>,
}

/// The best block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tip {
    pub height: u32,
    pub hash: BlockHash,
    /// The time in its header, in milliseconds since 1970.
    pub time_ms: i64,
}

/// The present state of the sandbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// Height of the best block.
    pub height: u32,
    /// Hash of the best block.
    pub tip_hash: BlockHash,
    /// Time of the best block, in milliseconds since 1970.
    pub tip_time_ms: i64,
    /// All unconfirmed transactions, parents before children.
    pub mempool: Vec<Txid>,
    /// A script of the customer, who can receive coins there. It changes with the height.
    pub customer: ScriptBuf,
    /// The simulated rates, as decimal text.
    pub rates: BTreeMap<String, String>,
    /// The faults in force.
    pub faults: Faults,
}

/// The answer to an accepted [`Sandbox::broadcast`](crate::Sandbox::broadcast).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Broadcast {
    /// It entered the mempool.
    Accepted,
    /// It is already in the mempool or in a block.
    AlreadyKnown,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TxPosition {
    /// In a block of the best chain.
    Block {
        /// The block's height.
        height: u32,
        hash: BlockHash,
        /// The time in the block's header, in milliseconds since 1970.
        time_ms: i64,
    },
    /// Unconfirmed.
    Mempool {
        /// When it last entered, in milliseconds since 1970.
        entered_ms: i64,
    },
    /// Neither in the best chain nor in the mempool: replaced, evicted, or reorganised away.
    Absent,
}

/// All facts about a transaction that the sandbox once accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TxView {
    pub tx: Transaction,
    /// Its id.
    pub txid: Txid,
    pub position: TxPosition,
    /// Whether it spends an output of an unconfirmed transaction, directly or through its
    /// ancestors.
    pub has_unconfirmed_ancestors: bool,
    /// Its own fee over its virtual size, rounded down; 0 for a coinbase.
    pub fee_rate_sat_vb: u64,
    /// The lowest height in the best chain of a conflicting transaction: one that spends an input
    /// of this transaction or of an unconfirmed ancestor. `None` if the chain holds no conflicting
    /// transaction.
    pub conflict_height: Option<u32>,
    /// Whether the mempool holds such a conflicting transaction.
    pub conflict_in_mempool: bool,
    /// The other known transactions that spend one of its inputs, absent ones included. For an
    /// absent transaction, only those in the mempool or the chain. An absent transaction does not
    /// count as changed when a further conflict enters the mempool.
    pub conflicts: Vec<Txid>,
}

/// An output of the best chain or the mempool, spent or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PaidOutput {
    /// Its transaction and index.
    pub outpoint: OutPoint,
    /// Its sum, in satoshis.
    pub amount_sats: u64,
    /// Number of blocks that hold its transaction or build on it; 0 in the mempool.
    pub confirmations: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MempoolEntry {
    /// When it last entered, in milliseconds since 1970.
    pub entered_ms: i64,
    /// Its own fee, in satoshis.
    pub fee_sats: u64,
    /// The fees of the transaction and of its descendants in the mempool, in satoshis.
    pub fees_with_descendants_sats: u64,
    /// Its own size in vB.
    pub vsize: u64,
    /// Its unconfirmed ancestors, parents before children.
    pub ancestors: Vec<Txid>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnspentOutput {
    /// Its sum and script.
    pub output: TxOut,
    /// Number of blocks that hold its transaction or build on it; 0 in the mempool.
    pub confirmations: u32,
    pub is_coinbase: bool,
}

/// A page of changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changes {
    /// The value of `since` for the next request.
    pub cursor: i64,
    /// Whether more changes follow the cursor.
    pub more: bool,
    /// The best block, in the same consistent view.
    pub tip: Tip,
    /// Every transaction whose facts changed, once, with its present facts.
    pub txs: Vec<TxView>,
}
