//! The ways in which an Electrum server misbehaves.

use std::time::Duration;

use bitcoin::{ScriptBuf, Transaction, Txid};

/// A way to misbehave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ElectrumFault {
    /// Each answer comes after a while.
    Slow(Duration),
    /// The connection is closed in the middle of each line.
    CutOff,
    /// Calls are taken, and never answered.
    Silent,
    /// Connections are closed as soon as something is asked.
    Closed,
    /// Each answer is a line without an end.
    EndlessLine,
    /// Notifications of what nobody subscribed to, without an end.
    Flood,
    /// The same between honest answers.
    FloodsBetween,
    /// Something else answers.
    NotJson,
    /// Every result has another type than it should.
    WrongTypes,
    /// Answers name other calls than those that were made.
    WrongIds,
    /// It speaks only versions that are too old.
    OldProtocol,
    /// Every call is refused.
    RefusesAll,
    /// The connection is closed after each so many calls.
    HangsUpAfter(u64),
    /// Its chain belongs to another network.
    OtherNetwork(bitcoin::Network),
    /// The chain ends with this height, and the mempool is empty: it lost what came later.
    OlderTip(u32),
    /// Chain and mempool stay as they were when this began.
    StandsStill,
    /// For each transaction one that pays more.
    ForgedTransactions,
    /// The best block has no proof of work.
    NoProofOfWork,
    /// The best block follows on a block that is not the one before it.
    BrokenLink,
    /// What waits in the mempool is told as confirmed by the best block.
    ForgedConfirmations,
    /// The same of the block of a height, without any proof.
    ConfirmedBy(u32),
    /// The proofs that transactions are in their blocks are those of others.
    ForgedMerkle,
    /// Histories are empty, whatever their status says.
    MissingHistory,
    /// Nobody is notified of anything.
    NoNotifications,
    /// Scripts with more transactions than this have no history and no status.
    RefusesPopular(usize),
    /// Transactions of blocks are told with a witness of so many bytes, of which their ids say nothing.
    Bloated(usize),
    /// The history of a script has so many transactions of old blocks besides.
    LongHistory(ScriptBuf, u32),
    /// What is asked about the history of a script is never answered.
    Stuck(ScriptBuf),
    /// The connection is closed where somebody asks for the history of one of these scripts.
    HangsUpAt(Vec<ScriptBuf>),
    /// The connection is closed where somebody asks for more histories at once.
    HangsUpAbove(usize),
    /// The same of transactions.
    HangsUpAboveTxs(usize),
    /// The connection is closed where somebody asks for this transaction.
    HangsUpAtTx(Txid),
    /// As [`Self::HangsUpAt`], and so is a connection that is opened beside another.
    BearsOneAndHangsUpAt(Vec<ScriptBuf>),
    /// Every block is told so many blocks higher than it is, and of no script anything.
    Higher(u32),
    /// So many transactions that pay a script wait in the mempool, made up by the server, each with so many bytes of a witness.
    InventedPayments {
        /// Whom they pay.
        script: ScriptBuf,
        /// How many.
        count: u32,
        /// Bytes of each one's witness.
        witness: usize,
    },
    /// This transaction is told as one of the best block.
    InventedSpend(Transaction),
    /// This transaction is told as one that waits in the mempool.
    InventedWaiting(Transaction),
    /// Histories are told without what blocks hold, and their statuses are those of what is left.
    KeepsBack,
    /// Asked for the header of one block, it tells the first one's, so that it seems to have no block that anybody knows; and
    /// it misbehaves in this way besides.
    Denies(Option<Box<Self>>),
}

impl ElectrumFault {
    /// Whether blocks are denied, and in which way it misbehaves otherwise.
    pub(super) fn parts(fault: Option<&Self>) -> (bool, Option<&Self>) {
        match fault {
            Some(Self::Denies(other)) => (true, other.as_deref()),
            fault => (false, fault),
        }
    }
}
