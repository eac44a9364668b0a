//! The values that go in and out of the sandbox. They hold no connection and decide nothing.

use std::collections::BTreeMap;

use bitcoin::{BlockHash, OutPoint, ScriptBuf, Transaction, TxOut, Txid};

/// What the sandbox answers for 6 blocks, in sat/vB, unless it was told otherwise.
const FEE_ESTIMATE_SAT_VB: u64 = 2;

/// What the simulated customer is to pay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pay {
    /// The output script of the address to pay to.
    pub script: ScriptBuf,
    /// The whole sum, in satoshis.
    pub amount_sats: u64,
    /// In how many transactions: equal in satoshis, the remainder in the last. At least 1.
    pub parts: u32,
    /// In sat/vB; [`DEFAULT_FEE_RATE_SAT_VB`](crate::DEFAULT_FEE_RATE_SAT_VB) where absent.
    pub fee_rate_sat_vb: Option<u64>,
    /// How many blocks to mine afterwards, in the same commit.
    pub confirmations: u32,
}

/// How the simulated customer is to replace a transaction of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Replace {
    /// In sat/vB; where absent 5 more than what is replaced, and never less than replacement demands.
    pub fee_rate_sat_vb: Option<u64>,
    /// Who gets the coins.
    pub to: ReplaceTo,
}

/// Where a replacement pays to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplaceTo {
    /// All of it back to the customer.
    Customer,
    /// The address that the replaced transaction paid to.
    SameAddress {
        /// The sum in satoshis; where absent the same as before.
        amount_sats: Option<u64>,
    },
}

/// What becomes of a transaction that is offered to the network from outside. The customer's own payments are spared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BroadcastFault {
    /// It is judged by the rules, and the answer tells the truth.
    #[default]
    Ok,
    /// It is refused by policy, whatever it is.
    Reject,
    /// It is taken as far as the rules allow, and nothing is answered.
    Timeout,
    /// The answer is that of the rules, and nothing is taken.
    Forget,
}

impl BroadcastFault {
    /// Every one, in the order in which they are listed to people.
    pub const ALL: [BroadcastFault; 4] =
        [BroadcastFault::Ok, BroadcastFault::Reject, BroadcastFault::Timeout, BroadcastFault::Forget];

    /// The word for it in requests, answers and the file.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            BroadcastFault::Ok => "ok",
            BroadcastFault::Reject => "reject",
            BroadcastFault::Timeout => "timeout",
            BroadcastFault::Forget => "forget",
        }
    }

    /// The one of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<BroadcastFault> {
        BroadcastFault::ALL.into_iter().find(|fault| fault.name() == name)
    }
}

/// How the sandbox is told to misbehave, until it is told otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Faults {
    /// The chain cannot be reached. The caller enforces it.
    pub chain_down: bool,
    /// What becomes of what is broadcast.
    pub broadcast: BroadcastFault,
    /// The wallet's words cannot be read, as if the keyring were locked. The caller enforces it.
    pub keys_locked: bool,
    /// The estimated fee rate, in sat/vB; `None` for the sandbox's own estimate.
    pub fee_rate_sat_vb: Option<u64>,
    /// How long each answer takes, in milliseconds. The caller enforces it.
    pub latency_ms: u64,
}

impl Faults {
    /// The estimated fee rate for 6 blocks, in sat/vB.
    #[must_use]
    pub fn fee_estimate_sat_vb(&self) -> u64 {
        self.fee_rate_sat_vb.unwrap_or(FEE_ESTIMATE_SAT_VB)
    }
}

/// A change to [`Faults`]; what is `None` stays as it is.
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
    /// Its height.
    pub height: u32,
    /// Its hash.
    pub hash: BlockHash,
    /// The time in its header, in milliseconds since 1970.
    pub time_ms: i64,
}

/// What the sandbox is at the moment.
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
    /// The simulated rates, as decimal text.
    pub rates: BTreeMap<String, String>,
    /// The faults in force.
    pub faults: Faults,
}

/// A transaction taken by [`Sandbox::broadcast`](crate::Sandbox::broadcast).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Broadcast {
    /// It entered the mempool.
    Accepted,
    /// It is in the mempool or in a block already.
    AlreadyKnown,
}

/// Where a transaction is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TxPosition {
    /// In a block of the best chain.
    Block {
        /// The block's height.
        height: u32,
        /// The block's hash.
        hash: BlockHash,
        /// The time in the block's header, in milliseconds since 1970.
        time_ms: i64,
    },
    /// Unconfirmed.
    Mempool {
        /// When it entered (again), in milliseconds since 1970.
        entered_ms: i64,
    },
    /// Neither in the best chain nor in the mempool: replaced, evicted, or reorganised away.
    Absent,
}

/// All that the sandbox knows of a transaction it once accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TxView {
    /// The transaction.
    pub tx: Transaction,
    /// Its id.
    pub txid: Txid,
    /// Where it is.
    pub position: TxPosition,
    /// It spends, directly or further up, an output of a transaction that is in no block.
    pub has_unconfirmed_ancestors: bool,
    /// Its own fee over its virtual size, rounded down; 0 for a coinbase.
    pub fee_rate_sat_vb: u64,
    /// Height of the lowest block of the best chain with another transaction that spends an outpoint of it, or of an
    /// unconfirmed ancestor; `None` where there is no such transaction.
    pub conflict_height: Option<u32>,
    /// Such a transaction is in the mempool.
    pub conflict_in_mempool: bool,
    /// The other known transactions that spend one of its outpoints, wherever they are; of one that is in neither mempool nor
    /// chain those alone that are. That another one of the mempool now rules it out is no change of it.
    pub conflicts: Vec<Txid>,
}

/// An output of the best chain or the mempool, spent or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PaidOutput {
    /// Where it is found.
    pub outpoint: OutPoint,
    /// Its sum, in satoshis.
    pub amount_sats: u64,
    /// How many blocks hold its transaction or build on that; 0 in the mempool.
    pub confirmations: u32,
}

/// What the mempool knows of a transaction in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MempoolEntry {
    /// When it entered (again), in milliseconds since 1970.
    pub entered_ms: i64,
    /// What it pays for itself, in satoshis.
    pub fee_sats: u64,
    /// What it and all that rests on it in the mempool pay, in satoshis.
    pub fees_with_descendants_sats: u64,
    /// Its own size in vB.
    pub vsize: u64,
    /// The transactions of the mempool that it rests on, parents before children.
    pub ancestors: Vec<Txid>,
}

/// An output that nothing spends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnspentOutput {
    /// What it holds, and for whom.
    pub output: TxOut,
    /// How many blocks hold its transaction or build on that; 0 in the mempool.
    pub confirmations: u32,
    /// Whether a block made it.
    pub is_coinbase: bool,
}

/// A page of what changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changes {
    /// Ask with this number the next time.
    pub cursor: i64,
    /// There is more behind the cursor already.
    pub more: bool,
    /// The best block in the same consistent view.
    pub tip: Tip,
    /// Every transaction whose facts changed, each once, with the facts that hold now.
    pub txs: Vec<TxView>,
}
