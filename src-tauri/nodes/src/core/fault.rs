//! The ways in which a node misbehaves.

use std::time::Duration;

use serde_json::Value;

/// A way to misbehave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CoreFault {
    /// Each answer comes after this delay.
    Slow(Duration),
    /// Each answer comes a byte at a time, with this pause between bytes.
    Dripping(Duration),
    /// The connection is closed in the middle of each answer.
    CutOff,
    /// Requests are never answered.
    Silent,
    /// The connection is closed without an answer.
    Closed,
    /// Each answer is endless.
    Flood,
    /// Each answer is said to come, without an end.
    Continues,
    /// Nobody may sign in.
    SignInRefused,
    /// It has too many requests in work.
    QueueFull,
    /// Another program answers, with status 200.
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
    /// It is loading its mempool.
    MempoolLoading,
    /// It is downloading the chain for the first time.
    InitialBlockDownload,
    /// It knows this number of headers more than blocks.
    HeadersAhead(u32),
    /// Its chain belongs to another network.
    OtherNetwork(bitcoin::Network),
    /// The chain ends at this height and the mempool is empty: it was killed before it wrote the rest.
    OlderTip(u32),
    /// Each transaction is replaced by another that pays more; the rest is true.
    ForgedTransactions,
    /// The best block has no proof of work.
    NoProofOfWork,
    /// The best block does not follow the block before it.
    BrokenLink,
    /// Blocks below this height are pruned.
    Pruned(u32),
    /// The number of its mempool's next change stays this one.
    Numbered(u64),
    /// It builds its index of spenders, and refuses to say who spends what its mempool does not, unless it is asked
    /// about that alone.
    BuildsSpenders,
    /// It knows no options of `gettxspendingprevout`.
    KnowsNoOptions,
    /// It refuses to say who spends anything.
    RefusesSpenders,
    /// Of a batch the last reply is missing.
    ShortBatches,
    /// It claims more work behind the best block than was ever done, and none behind the others. Blocks below this
    /// height are said to be pruned.
    Boasts(u32),
    /// Scattered questions about blocks get other blocks' hashes; questions in a row get true answers.
    Denies,
    /// At the first call for the hash at one height it leaves its chain from another height on. An honest node does so
    /// when it follows the most work. Afterwards it is well-behaved.
    Reorganises {
        /// The height in the call.
        asked: u32,
        /// The height of the first block that it leaves.
        replaced: u32,
    },
}

/// A way to misbehave when publishing over ZeroMQ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ZmqFault {
    /// Connections are accepted, but never greeted.
    Mute,
    /// It asks for a sign-in mechanism that the gateway does not know.
    Curve,
    /// It publishes no messages.
    Silent,
    /// Every second message is lost, as with a slow subscriber; the publisher's count shows it.
    Lossy,
    /// Every second change of the mempool is omitted, and the publisher's count does not show it.
    LossyAndHidesIt,
    /// It sends bytes that are not a frame.
    Garbage,
    /// It sends a frame that claims to be an exabyte long.
    HugeFrame,
    /// The connection is closed at each message.
    Closes,
    /// Messages have another topic than the subscribed one.
    WrongTopic,
    /// Invented transactions enter the mempool without end.
    Flood,
    /// This number of invented transactions enters the mempool, once.
    Invents(u64),
    /// The numbers belong to another node's mempool.
    OtherNode,
    /// Added transactions are reported as removed; removed or mined ones as added.
    Lies,
}

impl CoreFault {
    pub(super) const fn is_refusal_to_sign_in(&self) -> bool {
        matches!(self, Self::SignInRefused)
    }

    /// The height from which on the chain is left at this call.
    pub(super) fn leaves_from(&self, request: &Value) -> Option<u32> {
        let Self::Reorganises { asked, replaced } = *self else { return None };
        let height = request["params"][0].as_u64().filter(|_| request["method"].as_str() == Some("getblockhash"));
        (height == Some(asked.into())).then_some(replaced)
    }

    /// Whether the answers to these calls are denied.
    pub(super) fn denies(&self, batch: &[Value]) -> bool {
        let heights: Option<Vec<u64>> = batch
            .iter()
            .map(|call| call["params"][0].as_u64().filter(|_| call["method"].as_str() == Some("getblockhash")))
            .collect();
        let in_a_row = |heights: &[u64]| heights.is_sorted_by(|one, next| one.saturating_add(1) == *next);
        *self == Self::Denies && heights.is_some_and(|heights| !in_a_row(&heights))
    }
}
