//! The ways in which an Electrum server misbehaves.

use std::time::Duration;

use bitcoin::{ScriptBuf, Transaction, Txid};

/// A way to misbehave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ElectrumFault {
    /// Each answer comes after this delay.
    Slow(Duration),
    /// The connection is closed in the middle of each line.
    CutOff,
    /// Calls are never answered.
    Silent,
    /// Connections are closed at the first call.
    Closed,
    /// Each answer is a line without an end.
    EndlessLine,
    /// Endless notifications without a subscription.
    Flood,
    /// Another program answers, not in JSON.
    NotJson,
    /// Every result has another type than it should.
    WrongTypes,
    /// Answers carry the ids of other calls.
    WrongIds,
    /// It speaks only versions that are too old.
    OldProtocol,
    /// Every call is refused.
    RefusesAll,
    /// The connection is closed each time after this number of calls.
    HangsUpAfter(u64),
    /// Its chain belongs to another network.
    OtherNetwork(bitcoin::Network),
    /// The chain ends at this height and the mempool is empty, as if later blocks were lost.
    OlderTip(u32),
    /// Chain and mempool stay as they were when the fault began.
    StandsStill,
    /// Each transaction is replaced by another that pays more.
    ForgedTransactions,
    /// The best block has no proof of work.
    NoProofOfWork,
    /// The best block does not follow the block before it.
    BrokenLink,
    /// Transactions of the mempool are reported as confirmed by the best block.
    ForgedConfirmations,
    /// The same for the block at this height, without any proof.
    ConfirmedBy(u32),
    /// The merkle proofs of transactions are those of others.
    ForgedMerkle,
    /// Histories are empty, in conflict with their status.
    MissingHistory,
    /// Notifications are never sent.
    NoNotifications,
    /// Scripts with more transactions than this have no history or status.
    RefusesPopular(usize),
    /// Confirmed transactions carry a witness of this many bytes, which their ids do not cover.
    Bloated(usize),
    /// The script's history has this number of additional transactions in old blocks.
    LongHistory(ScriptBuf, u32),
    /// Calls for the history of this script are never answered.
    Stuck(ScriptBuf),
    /// The connection is closed at a call for the history of one of these scripts.
    HangsUpAt(Vec<ScriptBuf>),
    /// The connection is closed at a call for more histories than this at once.
    HangsUpAbove(usize),
    /// The same for transactions.
    HangsUpAboveTxs(usize),
    /// The connection is closed at a call for this transaction.
    HangsUpAtTx(Txid),
    /// As [`Self::HangsUpAt`]; a second connection is closed too.
    BearsOneAndHangsUpAt(Vec<ScriptBuf>),
    /// Every block is reported this number of blocks too high, and scripts have no transactions.
    Higher(u32),
    /// The mempool has this number of invented transactions that pay a script, each with a witness of this size.
    InventedPayments {
        /// The script that they pay.
        script: ScriptBuf,
        /// Number of transactions.
        count: u32,
        /// Bytes of the witness of each.
        witness: usize,
    },
    /// This transaction is reported as part of the best block.
    InventedSpend(Transaction),
    /// This transaction is reported as part of the mempool.
    InventedWaiting(Transaction),
    /// Histories omit confirmed transactions, and the statuses match the rest.
    KeepsBack,
    /// A call for a single block header is answered with the first block's, so that it seems to have no known block. It
    /// also has the other fault.
    Denies(Option<Box<Self>>),
}

impl ElectrumFault {
    /// Whether blocks are denied, and the other fault.
    pub(super) fn parts(fault: Option<&Self>) -> (bool, Option<&Self>) {
        match fault {
            Some(Self::Denies(other)) => (true, other.as_deref()),
            fault => (false, fault),
        }
    }
}
