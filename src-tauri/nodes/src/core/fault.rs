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
    /// Endless `100 Continue` heads are sent instead of each answer.
    Continues,
    /// Every sign-in is refused.
    SignInRefused,
    /// Each request is refused with status 503, as if the work queue were full.
    QueueFull,
    /// Each request is refused with status 403, as `rpcallowip` and `rpcwhitelist` do.
    Forbidden,
    /// Another program answers, with status 200.
    NotJson,
    /// Every result has another type than it should.
    WrongTypes,
    /// Some calls are refused.
    Refuses {
        /// The beginning of the refused calls' names; empty for all calls.
        calls: &'static str,
        /// The error message.
        words: &'static str,
    },
    /// The node is still starting, and refuses every call.
    Warmup,
    /// The node is still loading its mempool.
    MempoolLoading,
    /// The node is in its initial block download.
    InitialBlockDownload,
    /// The node has no connections to other nodes, so its chain ends at this height and its mempool
    /// is empty.
    Alone {
        /// The height of its best block.
        height: u32,
        /// Whether its network is switched off.
        is_switched_off: bool,
    },
    /// The node reports that it relays no transactions, as with `-blocksonly`.
    BlocksOnly,
    /// The node has this number of headers more than blocks.
    HeadersAhead(u32),
    /// Its chain belongs to another network.
    OtherNetwork(bitcoin::Network),
    /// The chain ends at this height and the mempool is empty, as if the node was killed before it
    /// wrote the rest.
    OlderTip(u32),
    /// Each transaction is replaced by another that pays more; the rest is true.
    ForgedTransactions,
    /// The best block has no proof of work.
    NoProofOfWork,
    /// The best block does not follow the block before it.
    BrokenLink,
    /// Blocks below this height are pruned.
    Pruned(u32),
    /// The mempool sequence in `getrawmempool` is always this number.
    Numbered(u64),
    /// The node is still building `txospenderindex`. It refuses `gettxspendingprevout` for an
    /// outpoint that its mempool does not spend, unless `mempool_only` is set.
    BuildsSpenders,
    /// The node is too old for the options of `gettxspendingprevout`, and refuses calls with
    /// options.
    KnowsNoOptions,
    /// The node refuses each `gettxspendingprevout`.
    RefusesSpenders,
    /// The last reply of each batch is missing.
    ShortBatches,
    /// The node reports more work for the best block than was ever done, and no work for other
    /// blocks. Blocks below this height are reported as pruned.
    Boasts(u32),
    /// A batch of `getblockhash` calls gets the hash of block 0 for each height, unless the heights
    /// are consecutive.
    Denies,
    /// The node reorganises its chain at the first `getblockhash` call for one height. An honest
    /// node may do so too, because it follows the most work. Afterwards the fault is off.
    Reorganises {
        /// The height in the call.
        asked: u32,
        /// The height of the first replaced block.
        replaced: u32,
    },
}

/// A way to misbehave when publishing over ZeroMQ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ZmqFault {
    /// Connections are accepted, but never greeted.
    Mute,
    /// The publisher demands the security mechanism CURVE, which the gateway does not know.
    Curve,
    /// No messages are published.
    Silent,
    /// Every second message is lost, as with a slow subscriber.
    Lossy,
    /// The publisher sends bytes that are not a frame.
    Garbage,
    /// The publisher sends a frame that claims to be an exabyte long.
    HugeFrame,
    /// The connection is closed at each message.
    Closes,
    /// Messages have another topic than the subscribed one.
    WrongTopic,
    /// Invented transactions enter the mempool without end.
    Flood,
    /// Messages are about blocks and transactions that only another node has.
    OtherNode,
    /// Added transactions are reported as removed; removed or mined ones as added.
    Lies,
}

impl CoreFault {
    /// The height at which the chain ends and above which the node knows nothing, its mempool
    /// included.
    pub(super) const fn ends_at(&self) -> Option<u32> {
        match self {
            Self::OlderTip(height) | Self::Alone { height, .. } => Some(*height),
            _ => None,
        }
    }

    pub(super) const fn is_refusal_to_sign_in(&self) -> bool {
        matches!(self, Self::SignInRefused)
    }

    /// The height of the first block that a reorganisation at this call replaces.
    pub(super) fn leaves_from(&self, request: &Value) -> Option<u32> {
        let Self::Reorganises { asked, replaced } = *self else { return None };
        let height = request["params"][0]
            .as_u64()
            .filter(|_| request["method"].as_str() == Some("getblockhash"));
        (height == Some(asked.into())).then_some(replaced)
    }

    /// Whether [`Self::Denies`] applies to this batch.
    pub(super) fn denies(&self, batch: &[Value]) -> bool {
        let heights: Option<Vec<u64>> = batch
            .iter()
            .map(|call| {
                call["params"][0]
                    .as_u64()
                    .filter(|_| call["method"].as_str() == Some("getblockhash"))
            })
            .collect();
        let in_a_row =
            |heights: &[u64]| heights.is_sorted_by(|one, next| one.saturating_add(1) == *next);
        *self == Self::Denies && heights.is_some_and(|heights| !in_a_row(&heights))
    }
}
