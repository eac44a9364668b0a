//! The ways in which a node misbehaves.

use std::time::Duration;

use serde_json::Value;

/// A way to misbehave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CoreFault {
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
    /// Nobody may sign in.
    SignInRefused,
    /// There are more requests than it works on.
    QueueFull,
    /// Something else answers, with status 200.
    NotJson,
    /// Every result has another type than it should.
    WrongTypes,
    /// Calls whose names begin so are refused with these words.
    Refuses {
        /// The beginning of their names; empty for all calls.
        calls: &'static str,
        /// The words.
        words: &'static str,
    },
    /// It has just started, and answers no call.
    Warmup,
    /// It loads its mempool.
    MempoolLoading,
    /// It downloads the chain for the first time.
    InitialBlockDownload,
    /// It knows this many headers more than blocks.
    HeadersAhead(u32),
    /// Its chain belongs to another network.
    OtherNetwork(bitcoin::Network),
    /// The chain ends with this height, and the mempool is empty: it was killed, and lost what it had not written.
    OlderTip(u32),
    /// Chain and mempool as they are, but for each transaction one that pays more.
    ForgedTransactions,
    /// The best block has no proof of work.
    NoProofOfWork,
    /// The best block follows on a block that is not the one before it.
    BrokenLink,
    /// Blocks below this height are not there any more.
    Pruned(u32),
    /// Of a batch the last reply is missing.
    ShortBatches,
    /// More work is said to be behind the best block than was ever done, and none behind the others; blocks below this height are
    /// said to be gone.
    Boasts(u32),
    /// Whoever asks about blocks here and there is told that all are others; those in a row are told as they are.
    Denies,
    /// When it is first asked for the hash of the block at one height, it leaves its chain from another on: that is how an honest node
    /// follows the most work. From then on it is well-behaved.
    Reorganises {
        /// The height that is asked about.
        asked: u32,
        /// The height of the first block that is left.
        replaced: u32,
    },
}

/// A way to misbehave of what is published over ZeroMQ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ZmqFault {
    /// Connections are taken, and never greeted.
    Mute,
    /// A mechanism of signing in is asked for that nobody knows here.
    Curve,
    /// Nothing is published.
    Silent,
    /// Every second message is lost, as with a subscriber that is too slow; the publisher's count shows it.
    Lossy,
    /// Every second change of the mempool is left out, and the publisher's count does not show it.
    LossyAndHidesIt,
    /// What is published is no frame.
    Garbage,
    /// What is published is a frame that says to be an exabyte long.
    HugeFrame,
    /// The connection is closed with each message.
    Closes,
    /// Messages are of another topic than the one that was subscribed to.
    WrongTopic,
    /// Made-up transactions enter the mempool without an end.
    Flood,
    /// So many made-up transactions enter the mempool, once.
    Invents(u64),
    /// The numbers are those of another node's mempool.
    OtherNode,
    /// What entered is said to have left; what left, or was mined, to have entered.
    Lies,
}

impl CoreFault {
    pub(super) const fn is_refusal_to_sign_in(&self) -> bool {
        matches!(self, Self::SignInRefused)
    }

    /// The height from which on the chain is left when this is asked.
    pub(super) fn leaves_from(&self, request: &Value) -> Option<u32> {
        let Self::Reorganises { asked, replaced } = *self else { return None };
        let height = request["params"][0].as_u64().filter(|_| request["method"].as_str() == Some("getblockhash"));
        (height == Some(asked.into())).then_some(replaced)
    }

    /// Whether what these calls ask is denied.
    pub(super) fn denies(&self, batch: &[Value]) -> bool {
        let heights: Option<Vec<u64>> = batch
            .iter()
            .map(|call| call["params"][0].as_u64().filter(|_| call["method"].as_str() == Some("getblockhash")))
            .collect();
        let in_a_row = |heights: &[u64]| heights.is_sorted_by(|one, next| one.saturating_add(1) == *next);
        *self == Self::Denies && heights.is_some_and(|heights| !in_a_row(&heights))
    }
}
