//! The steps of the histories for every backend: one story, and random steps.

use crate::testing::stage::Backend;

/// The quiet time before a payment is accepted without a confirmation.
pub const QUIET_SECONDS: u32 = 300;

const PAST_THE_QUIET_TIME_MS: i64 = 301_000;

/// A bit more than half an hour: a payment's deadline passes.
const PAST_THE_DEADLINE_MS: i64 = 31 * 60_000;

/// Beyond the grace time for coins after the deadline.
const PAST_THE_GRACE_MS: i64 = 2 * 3_600_000;

/// One step. Indices are taken modulo the number of items.
#[derive(Debug, Clone, Copy)]
pub enum Step {
    /// Creates a payment, which may be accepted without confirmation.
    Payment {
        at_once: bool,
    },
    /// The customer pays this percentage of a payment, in so many transactions.
    Pay {
        which: usize,
        percent: u64,
        parts: u32,
    },
    /// The same, mined before the next look.
    PayMined {
        which: usize,
        percent: u64,
    },
    /// The customer replaces a transaction, and pays nothing.
    TakeBack {
        which: usize,
    },
    /// The customer replaces a transaction, and pays this percentage of its amount to the same
    /// address.
    PayAnew {
        which: usize,
        percent: u64,
    },
    Evict {
        which: usize,
    },
    Mine {
        count: u32,
        empty: bool,
    },
    Reorganise {
        depth: u32,
        keep: bool,
    },
    Pass {
        ms: i64,
    },
    /// Approves a payout and waits half a minute.
    PayOut {
        sats: u64,
    },
    Bump {
        which: usize,
    },
    /// Mines the oldest version of a payout's batch, even if replaced.
    MineFirstVersion {
        which: usize,
    },
    /// The merchant sets another kind of server as the backend, if there is one.
    Switch {
        to: Backend,
    },
    /// Restarts the gateway. The steps below restart it after an event that it did not look at.
    Restart,
    RestartAfterTakeBack {
        which: usize,
    },
    RestartAfterEvict {
        which: usize,
    },
    RestartAfterMine {
        count: u32,
    },
    RestartAfterReorganise {
        depth: u32,
        keep: bool,
    },
}

/// The first week of a shop, and more.
pub const STORY: &[Step] = {
    use Step::*;
    &[
        // Paid at once, in parts, and too much.
        Payment { at_once: false },
        Pay { which: 4, percent: 100, parts: 1 },
        Mine { count: 1, empty: false },
        Payment { at_once: false },
        Pay { which: 5, percent: 60, parts: 2 },
        Pay { which: 5, percent: 40, parts: 1 },
        Payment { at_once: false },
        PayMined { which: 6, percent: 150 },
        Mine { count: 2, empty: false },
        // Replaced by the same amount, by less, and by nothing.
        Payment { at_once: false },
        Pay { which: 7, percent: 100, parts: 1 },
        PayAnew { which: 5, percent: 100 },
        PayAnew { which: 6, percent: 50 },
        TakeBack { which: 7 },
        Mine { count: 1, empty: false },
        // Dropped, and back after a block.
        Pay { which: 7, percent: 100, parts: 1 },
        Evict { which: 9 },
        Mine { count: 1, empty: true },
        Mine { count: 1, empty: false },
        // Reorganised with and without the same transactions.
        Payment { at_once: true },
        Pay { which: 8, percent: 100, parts: 1 },
        Pass { ms: PAST_THE_QUIET_TIME_MS },
        Mine { count: 1, empty: false },
        Reorganise { depth: 1, keep: true },
        Mine { count: 1, empty: false },
        Reorganise { depth: 2, keep: false },
        Mine { count: 7, empty: false },
        // Changed after the last look before a restart.
        Payment { at_once: false },
        Pay { which: 9, percent: 100, parts: 1 },
        Restart,
        RestartAfterTakeBack { which: 11 },
        RestartAfterMine { count: 1 },
        Pay { which: 9, percent: 100, parts: 1 },
        RestartAfterEvict { which: 13 },
        RestartAfterMine { count: 2 },
        RestartAfterReorganise { depth: 2, keep: false },
        RestartAfterMine { count: 7 },
        // Unpaid, or paid too late.
        Payment { at_once: false },
        Pass { ms: PAST_THE_DEADLINE_MS },
        Pass { ms: PAST_THE_GRACE_MS },
        Pay { which: 10, percent: 100, parts: 1 },
        Mine { count: 2, empty: false },
        // Sent, bumped by us, mined in the older version, and reorganised.
        PayOut { sats: 300_000 },
        Mine { count: 1, empty: false },
        PayOut { sats: 200_000 },
        Bump { which: 1 },
        RestartAfterMine { count: 1 },
        PayOut { sats: 150_000 },
        Bump { which: 2 },
        MineFirstVersion { which: 2 },
        Reorganise { depth: 3, keep: true },
        Restart,
        Mine { count: 8, empty: false },
    ]
};

/// Random numbers, the same for the same seed.
pub struct Numbers(pub u64);

impl Numbers {
    fn below(&mut self, bound: u64) -> u64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }

    /// A switch in half of the cases.
    pub fn switch(&mut self) -> Option<Step> {
        let to = [Backend::Core, Backend::Electrum].get(self.below(4) as usize)?;
        Some(Step::Switch { to: *to })
    }

    pub fn step(&mut self) -> Step {
        let which = self.below(1_000) as usize;
        let percent = [10, 50, 100, 100, 100, 101, 130][self.below(7) as usize];
        let (depth, keep) = (1 + self.below(3) as u32, self.below(2) == 0);
        match self.below(24) {
            0..=2 => Step::Payment { at_once: self.below(2) == 0 },
            3..=6 => Step::Pay { which, percent, parts: 1 + self.below(2) as u32 },
            7 => Step::PayMined { which, percent },
            8 => Step::TakeBack { which },
            9 => Step::PayAnew { which, percent },
            10 => Step::Evict { which },
            11..=13 => Step::Mine { count: 1 + self.below(3) as u32, empty: self.below(4) == 0 },
            14 => Step::Reorganise { depth, keep },
            15 => Step::Pass {
                ms: [PAST_THE_QUIET_TIME_MS, 600_000, PAST_THE_DEADLINE_MS, PAST_THE_GRACE_MS]
                    [self.below(4) as usize],
            },
            16 => Step::PayOut { sats: 50_000 + 10_000 * self.below(10) },
            17 => Step::Bump { which },
            18 => Step::MineFirstVersion { which },
            19 => Step::Restart,
            20 => Step::RestartAfterTakeBack { which },
            21 => Step::RestartAfterEvict { which },
            22 => Step::RestartAfterMine { count: 1 + self.below(12) as u32 },
            _ => Step::RestartAfterReorganise { depth, keep },
        }
    }
}
