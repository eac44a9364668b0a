//! The ways in which an Electrum server misbehaves.

use std::time::Duration;

use bitcoin::{ScriptBuf, Transaction, Txid};

/// A way to misbehave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ElectrumFault {
    /// Each answer comes after this delay.
    Slow(Duration),
    /// The connection is closed in the middle of each answer.
    CutOff,
    /// Calls are never answered.
    Silent,
    /// Connections are closed at the first call.
    Closed,
    /// Each answer is a line without an end.
    EndlessLine,
    /// The first call gets endless notifications to which no client subscribed.
    Flood,
    /// Such notifications are sent between correct answers.
    FloodsBetween,
    /// The answer is HTTP, as if another program listened there.
    NotJson,
    /// Every result has another type than it should.
    WrongTypes,
    /// Answers carry the ids of other calls.
    WrongIds,
    /// The server speaks only protocol versions that are too old.
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
    /// Transactions of the mempool are reported as confirmed by the block at this height, without a
    /// merkle proof.
    ConfirmedBy(u32),
    /// Each merkle branch has a wrong additional hash.
    ForgedMerkle,
    /// Histories are empty, although their statuses are not.
    MissingHistory,
    /// Notifications are never sent.
    NoNotifications,
    /// The server refuses the history and status of scripts with more transactions than this.
    RefusesPopular(usize),
    /// Confirmed transactions carry a witness of this many bytes, which their ids do not cover.
    Bloated(usize),
    /// The script's history has this number of additional transactions in old blocks.
    LongHistory(ScriptBuf, u32),
    /// Calls for the history of this script are never answered.
    Stuck(ScriptBuf),
    /// The connection is closed at a call for the history of one of these scripts.
    HangsUpAt(Vec<ScriptBuf>),
    /// The connection is closed if more calls than this for histories arrive at once.
    HangsUpAbove(usize),
    /// The connection is closed if more calls than this for transactions arrive at once.
    HangsUpAboveTxs(usize),
    /// The connection is closed at a call for this transaction.
    HangsUpAtTx(Txid),
    /// As [`Self::HangsUpAt`]. A second simultaneous connection is closed too.
    BearsOneAndHangsUpAt(Vec<ScriptBuf>),
    /// Every block except block 0 is reported this number of blocks too high. Histories with
    /// transactions are refused.
    Higher(u32),
    /// The mempool has this number of invented transactions that pay a script, each with a witness
    /// of this size.
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
    /// Histories omit confirmed transactions, and statuses match these histories.
    KeepsBack,
    /// A call for a single block header gets the header of block 0, so that the server seems to
    /// share no block with the client. The inner fault also applies.
    Denies(Option<Box<Self>>),
}

impl ElectrumFault {
    /// Whether the fault is [`Self::Denies`], and the fault that also applies.
    pub(super) fn parts(fault: Option<&Self>) -> (bool, Option<&Self>) {
        match fault {
            Some(Self::Denies(other)) => (true, other.as_deref()),
            fault => (false, fault),
        }
    }
}
