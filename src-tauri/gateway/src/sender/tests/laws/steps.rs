//! The steps of a history.

use proptest::prelude::*;
use tillgate_sandbox::BroadcastFault;

/// One step. An index is taken modulo the number of existing items.
#[derive(Debug, Clone)]
pub enum Step {
    /// A customer pays us.
    Pay {
        sats: u64,
        confirmations: u32,
    },
    /// The customer replaces an unconfirmed payment: by a transaction back to the customer, or to
    /// the same address.
    CustomerReplaces {
        which: usize,
        back: bool,
    },
    Approve {
        sats: u64,
    },
    /// An offer is requested and never approved.
    Offer {
        sats: u64,
    },
    Look,
    Pass,
    /// The clock advances 31 s, so that a batch is due; then a look and a pass of the sender run.
    Send,
    /// Two payouts in a row. The first spends nearly all coins, so the second must spend its
    /// change, at `fee_rate`.
    SendOnChange {
        sats: u64,
        fee_rate: u64,
    },
    Mine {
        count: u32,
        what: Mined,
    },
    /// A stored version is mined, even if a newer one replaced it.
    MineVersion {
        which: usize,
    },
    Evict {
        which: usize,
    },
    Reorg {
        depth: u32,
        keep: bool,
    },
    Broadcasts(BroadcastFault),
    KeysLocked(bool),
    ChainDown(bool),
    /// The backend's estimate; 0 for none, and `None` for the sandbox's own.
    FeeRate(Option<u64>),
    /// Staff send a payout at a rate of their own.
    SendAt {
        which: usize,
        fee_rate: u32,
    },
    Bump {
        which: usize,
        fee_rate: Option<u32>,
    },
    Abandon {
        which: usize,
        all: bool,
    },
    Release,
    /// Another copy's transaction pays a new payout in the mempool. Staff release the sender by
    /// force, and it sends.
    ForcedTwin {
        sats: u64,
        fee_rate: u32,
    },
    ClockMoves {
        seconds: u32,
    },
    Restart,
    Twin {
        pays: Option<usize>,
        shares: Option<usize>,
        fee_rate: u32,
        mined: bool,
    },
    /// All faults end, and blocks are mined until no table changes.
    Calm,
}

#[derive(Debug, Clone, Copy)]
pub enum Mined {
    Mempool,
    Nothing,
    Above { sat_kvb: u64 },
}

pub fn step() -> impl Strategy<Value = Step> {
    let sats = prop_oneof![8 => 20_000u64..500_000, 1 => 500_000u64..4_000_000];
    let mined = prop_oneof![
        4 => Just(Mined::Mempool),
        1 => Just(Mined::Nothing),
        1 => (1_000u64..30_000).prop_map(|sat_kvb| Mined::Above { sat_kvb }),
    ];
    prop_oneof![
        5 => (100_000u64..2_000_000, 0u32..3).prop_map(|(sats, confirmations)| Step::Pay { sats, confirmations }),
        1 => (any::<usize>(), any::<bool>()).prop_map(|(which, back)| Step::CustomerReplaces { which, back }),
        8 => sats.prop_map(|sats| Step::Approve { sats }),
        1 => (20_000u64..500_000).prop_map(|sats| Step::Offer { sats }),
        5 => Just(Step::Look),
        4 => Just(Step::Pass),
        10 => Just(Step::Send),
        4 => (20_000u64..100_000, prop::sample::select(vec![1, 20, 120]))
            .prop_map(|(sats, fee_rate)| Step::SendOnChange { sats, fee_rate }),
        7 => (1u32..4, mined).prop_map(|(count, what)| Step::Mine { count, what }),
        4 => any::<usize>().prop_map(|which| Step::MineVersion { which }),
        4 => any::<usize>().prop_map(|which| Step::Evict { which }),
        4 => (1u32..=8, any::<bool>()).prop_map(|(depth, keep)| Step::Reorg { depth, keep }),
        3 => prop::sample::select(BroadcastFault::ALL.to_vec()).prop_map(Step::Broadcasts),
        1 => any::<bool>().prop_map(Step::KeysLocked),
        1 => any::<bool>().prop_map(Step::ChainDown),
        2 => prop::sample::select(vec![None, Some(0), Some(1), Some(5), Some(20), Some(150), Some(400)]).prop_map(Step::FeeRate),
        5 => (any::<usize>(), prop::sample::select(vec![1, 7, 60, 300]))
            .prop_map(|(which, fee_rate)| Step::SendAt { which, fee_rate }),
        10 => (any::<usize>(), prop::sample::select(vec![None, Some(1), Some(10), Some(40), Some(300)]))
            .prop_map(|(which, fee_rate)| Step::Bump { which, fee_rate }),
        4 => (any::<usize>(), prop::bool::weighted(0.8)).prop_map(|(which, all)| Step::Abandon { which, all }),
        3 => Just(Step::Release),
        3 => (20_000u64..500_000, prop::sample::select(vec![1u32, 8, 50, 300]))
            .prop_map(|(sats, fee_rate)| Step::ForcedTwin { sats, fee_rate }),
        2 => prop::sample::select(vec![1, 31, 61, 3_600, 90_000]).prop_map(|seconds| Step::ClockMoves { seconds }),
        3 => Just(Step::Restart),
        3 => twin(),
        1 => Just(Step::Calm),
    ]
}

fn twin() -> impl Strategy<Value = Step> {
    let which = || prop::option::of(any::<usize>());
    (which(), which(), prop::sample::select(vec![2u32, 8, 50]), any::<bool>())
        .prop_map(|(pays, shares, fee_rate, mined)| Step::Twin { pays, shares, fee_rate, mined })
}
