//! The ways in which a server misbehaves.

use std::time::Duration;

/// A way to misbehave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EsploraFault {
    /// Each answer comes after a while.
    Slow(Duration),
    /// Each answer comes a byte at a time, with this between them.
    Dripping(Duration),
    /// The connection is closed in the middle of each answer.
    CutOff,
    /// Requests are taken, and never answered.
    Silent,
    /// The connection is closed without an answer.
    Closed,
    /// Each answer goes on without an end.
    Flood,
    /// Each answer is compressed, and a thousand times as long as it looks.
    GzipBomb,
    /// Something else answers, with status 200.
    Html,
    /// Every question is one too many; the text is that of `Retry-After`.
    Busy(Option<String>),
    /// The same from the so-manieth question on, for as many seconds.
    BusyAfter {
        /// Questions that are still answered.
        questions: u64,
        /// Seconds.
        for_s: u64,
    },
    /// It fails.
    Broken,
    /// It leads elsewhere.
    Redirect(String),
    /// Every JSON answer has another form than it should.
    WrongTypes,
    /// Its chain belongs to another network.
    OtherNetwork(bitcoin::Network),
    /// The chain ends with this height, and the mempool is empty: the server stands still.
    OlderTip(u32),
    /// Behind the name stand two servers in turn, of which one is so many blocks behind, without a mempool.
    TwoServers(u32),
    /// The same, but only questions about the tip are answered by the one that is up to date.
    BehindBut {
        /// How many blocks the other is behind.
        behind: u32,
    },
    /// For each transaction one is told that pays more.
    ForgedTransactions,
    /// Transactions of the mempool are told as if the best block held them.
    InventedConfirmations,
    /// Each output is said to be spent by what made the best block's coins.
    InventedSpends,
    /// Proofs that do not lead to their block.
    ForgedProofs,
    /// There are no proofs.
    NoProofs,
    /// The best block has no proof of work.
    NoProofOfWork,
    /// The best block follows on a block that is not the one before it.
    BrokenLink,
    /// Every block above a height is told so many blocks higher than it is.
    Higher {
        /// The last block that stands where it is.
        above: u32,
        /// How much higher.
        by: u32,
    },
    /// The history of one script, named by its hash, goes on without an end.
    EndlessHistory(String),
    /// It fails where somebody asks about one script, named by its hash, or one transaction: what stands before it gives up first.
    FailsAt(String),
    /// The connection is closed in the middle of an answer about one script, named by its hash.
    CutOffAt(String),
    /// It is said to be busy, for a moment, where somebody asks about one script, named by its hash.
    BusyAt(String),
    /// It wants to be left alone for an hour where somebody asks under a path with this in it.
    LeaveAloneAt(String),
    /// It wants to be left alone for an hour, whatever it is asked, once somebody asked under a path with this in it.
    LeaveAloneFrom(String),
    /// A question about one script, named by its hash, is never answered.
    StuckAt(String),
    /// One block is told so many blocks deeper than it is wherever somebody asks about it alone.
    Deeper {
        /// Where it is.
        block: u32,
        /// How much deeper.
        by: u32,
    },
    /// Fee rates are named for one number of blocks over and over again, up to so many bytes.
    ManyEstimates(usize),
    /// Nothing is known of any script, or of any transaction but blocks' rewards.
    MissingHistory,
    /// Transactions of the mempool are told with a witness of so many bytes, of which their ids say nothing.
    Bloated(usize),
    /// The first time that somebody asks which block has a height, it names one that nobody knows; and it misbehaves in this way
    /// besides.
    Denies(Option<Box<Self>>),
}

impl EsploraFault {
    /// Whether blocks are denied, and in which way it misbehaves otherwise.
    pub(super) fn parts(fault: Option<Self>) -> (bool, Option<Self>) {
        match fault {
            Some(Self::Denies(other)) => (true, other.map(|other| *other)),
            fault => (false, fault),
        }
    }
}
