//! One history through every backend: the same payments, anomalies and payouts stand in the same states after each step.

use std::ops::RangeInclusive;

use bitcoin::Txid;
use tillgate_domain::id::Id;
use tillgate_domain::policy::PolicySettings;
use tillgate_nodes::{Bitcoind, Electrs};
use tillgate_sandbox::{Pay, Replace, ReplaceTo};

use super::stage::{Backend, Stage};
use crate::store::payments::PaymentRow;
use crate::testing::World;

/// How long a payment must be quiet before it is accepted without a confirmation.
const QUIET_SECONDS: u32 = 300;

const PAST_THE_QUIET_TIME_MS: i64 = 301_000;

/// Half an hour and a bit: a payment's deadline passes.
const PAST_THE_DEADLINE_MS: i64 = 31 * 60_000;

/// Beyond the grace for coins that come after the deadline.
const PAST_THE_GRACE_MS: i64 = 2 * 3_600_000;

/// What happens. Places are taken modulo what there is.
#[derive(Debug, Clone, Copy)]
enum Step {
    /// A payment is made; it may be accepted without confirmation.
    Payment {
        at_once: bool,
    },
    /// The customer pays it this part of a hundred, in so many transactions.
    Pay {
        which: usize,
        percent: u64,
        parts: u32,
    },
    /// The same, mined before anybody looks.
    PayMined {
        which: usize,
        percent: u64,
    },
    /// The customer takes a transaction back, or pays the same address this part of a hundred of the sum with it.
    TakeBack {
        which: usize,
    },
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
    /// A payout is approved, and half a minute passes.
    PayOut {
        sats: u64,
    },
    Bump {
        which: usize,
    },
    /// The oldest version of a payout's batch is mined, whatever replaced it.
    MineFirstVersion {
        which: usize,
    },
    /// The gateway is restarted at once, or after this happened while nobody looked.
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

/// What a history has made so far.
struct History {
    stage: Stage,
    payments: Vec<PaymentRow>,
    payouts: Vec<Id>,
    /// Of the customer.
    txids: Vec<Txid>,
}

impl History {
    async fn new(backend: Backend) -> Self {
        let stage = Stage::new(backend).await;
        let world = stage.world();
        world.make_wallet().await;
        let mut history = Self { stage, payments: Vec::new(), payouts: Vec::new(), txids: Vec::new() };
        for _ in 0..4 {
            let payment = history.world().payment_to_wallet().await;
            history.world().customer_pays(&payment, 1_000_000);
            history.payments.push(payment);
        }
        history.world().mine(2).await;
        history
    }

    fn world(&self) -> &World {
        self.stage.world()
    }

    fn payment(&self, which: usize) -> &PaymentRow {
        &self.payments[which % self.payments.len()]
    }

    fn txid(&self, which: usize) -> Option<Txid> {
        (!self.txids.is_empty()).then(|| self.txids[which % self.txids.len()])
    }

    /// Takes a step, and answers whether it was possible.
    async fn take(mut self, step: Step) -> (Self, bool) {
        let possible = match step {
            Step::Restart => {
                self.stage = self.stage.restart(|_| {}).await;
                true
            }
            Step::RestartAfterTakeBack { which } => match self.txid(which) {
                Some(txid) => {
                    let mut done = Vec::new();
                    self.stage = self.stage.restart(|world| done = replace(world, txid, ReplaceTo::Customer)).await;
                    self.txids.extend(&done);
                    !done.is_empty()
                }
                None => false,
            },
            Step::RestartAfterEvict { which } => match self.txid(which) {
                Some(txid) => {
                    let mut done = false;
                    self.stage =
                        self.stage.restart(|world| done = world.sandbox().evict(txid, world.now_ms()).is_ok()).await;
                    done
                }
                None => false,
            },
            Step::RestartAfterMine { count } => {
                self.stage = self
                    .stage
                    .restart(|world| {
                        world.sandbox().mine(count, false, world.now_ms()).unwrap();
                    })
                    .await;
                true
            }
            Step::RestartAfterReorganise { depth, keep } => {
                let mut done = false;
                self.stage =
                    self.stage.restart(|world| done = world.sandbox().reorg(depth, keep, world.now_ms()).is_ok()).await;
                done
            }
            step => self.act(step).await,
        };
        // The first look sees, and broadcasts; what came of that the second one sees, and the sender goes by it.
        for _ in 0..2 {
            self.world().look().await;
            self.world().app.sender.pass(&self.world().app.watcher).await.unwrap();
        }
        self.world().look().await;
        (self, possible)
    }

    async fn act(&mut self, step: Step) -> bool {
        match step {
            Step::Payment { at_once } => {
                let up_to = if at_once { 100 } else { 0 };
                // Longer than any step takes on a busy machine: the clock goes on by itself.
                let policy = PolicySettings {
                    zero_conf_up_to: up_to.into(),
                    zero_conf_quiet_seconds: QUIET_SECONDS,
                    ..PolicySettings::default()
                };
                let payment = self.world().payment_under(policy).await;
                self.payments.push(payment);
                true
            }
            Step::Pay { which, percent, parts } => self.pay(which, percent, parts),
            Step::PayMined { which, percent } => {
                let paid = self.pay(which, percent, 1);
                self.mine(1, false);
                paid
            }
            Step::TakeBack { which } => self.replace(which, |_| ReplaceTo::Customer),
            Step::PayAnew { which, percent } => {
                self.replace(which, |sum| ReplaceTo::SameAddress { amount_sats: Some(sum * percent / 100) })
            }
            Step::Evict { which } => {
                let evicted = self.txid(which).map(|txid| self.world().sandbox().evict(txid, self.world().now_ms()));
                evicted.is_some_and(|evicted| evicted.is_ok())
            }
            Step::Mine { count, empty } => {
                self.mine(count, empty);
                true
            }
            Step::Reorganise { depth, keep } => {
                self.world().sandbox().reorg(depth, keep, self.world().now_ms()).is_ok()
            }
            Step::Pass { ms } => {
                self.world().advance_clock_ms(ms);
                // A block on the way: what has passed has passed on every chain.
                self.world().gateway.refresh_rates().await.unwrap();
                true
            }
            Step::PayOut { sats } => {
                let payout = self.world().approved_payout(sats).await;
                self.payouts.push(payout);
                self.world().advance_clock_ms(31_000);
                true
            }
            Step::Bump { which } => {
                if self.payouts.is_empty() {
                    return false;
                }
                let payout = self.payouts[which % self.payouts.len()];
                self.world().app.sender.bump(payout, None, "cli:ann").await.is_ok()
            }
            Step::MineFirstVersion { which } => self.mine_first_version(which),
            other => unreachable!("{other:?} restarts"),
        }
    }

    fn pay(&mut self, which: usize, percent: u64, parts: u32) -> bool {
        let payment = self.payment(which);
        let amount_sats = payment.payment.amount_sats * percent / 100;
        let pay = Pay { script: payment.script.clone(), amount_sats, parts, fee_rate_sat_vb: None, confirmations: 0 };
        let Ok(txids) = self.world().sandbox().pay(pay, self.world().now_ms()) else { return false };
        self.txids.extend(txids);
        true
    }

    fn replace(&mut self, which: usize, to: impl FnOnce(u64) -> ReplaceTo) -> bool {
        let Some(txid) = self.txid(which) else { return false };
        let sum = self.payments.iter().find_map(|payment| {
            let view = self.world().sandbox().transaction(txid).unwrap()?;
            view.tx.output.iter().find(|out| out.script_pubkey == payment.script).map(|out| out.value.to_sat())
        });
        let done = replace(self.world(), txid, to(sum.unwrap_or(100_000)));
        self.txids.extend(&done);
        !done.is_empty()
    }

    fn mine(&self, count: u32, empty: bool) {
        self.world().sandbox().mine(count, empty, self.world().now_ms()).unwrap();
    }

    fn mine_first_version(&self, which: usize) -> bool {
        if self.payouts.is_empty() {
            return false;
        }
        let payout = self.world().payout(&self.payouts[which % self.payouts.len()]);
        let Some(batch) = payout.batch_seq else { return false };
        let versions = self.world().gateway.store.read(|reader| reader.versions(batch)).unwrap();
        self.world().sandbox().mine_transactions(&[versions[0].tx.clone()], self.world().now_ms()).is_ok()
    }

    /// What must be the same on every backend.
    fn states(&self) -> String {
        let store = &self.world().gateway.store;
        let mut lines = Vec::new();
        for payment in &self.payments {
            let row = self.world().now_of(&payment.payment.id).payment;
            let anomalies = store.read(|reader| reader.anomalies_of_payment(payment.seq)).unwrap();
            let mut anomalies: Vec<_> = anomalies
                .iter()
                .map(|row| format!("{:?} {:?} {}", row.anomaly.kind, row.anomaly.resolution, row.anomaly.paid_sats))
                .collect();
            anomalies.sort();
            let receipts = store.read(|reader| reader.receipts(payment.seq)).unwrap();
            let mut receipts: Vec<_> = receipts
                .iter()
                .map(|it| {
                    let position = match it.position {
                        tillgate_domain::receipt::Position::Block { height, .. } => format!("block {height}"),
                        tillgate_domain::receipt::Position::Mempool => "mempool".to_owned(),
                        tillgate_domain::receipt::Position::Absent { .. } => "absent".to_owned(),
                    };
                    format!("{} {position} counts {} gone {}", it.amount_sats, it.counted_sats, it.gone)
                })
                .collect();
            receipts.sort();
            lines.push(format!("{} {} {anomalies:?} {receipts:?}", row.state, row.paid_sats));
        }
        for payout in &self.payouts {
            let row = self.world().payout(payout);
            lines.push(format!(
                "payout {:?} {} outputs {}",
                row.state,
                row.amount_sats,
                self.world().outputs_of(payout)
            ));
        }
        self.world().check_ledger();
        lines.join("\n")
    }
}

fn replace(world: &World, txid: Txid, to: ReplaceTo) -> Vec<Txid> {
    let replace = Replace { fee_rate_sat_vb: None, to };
    world.sandbox().replace(txid, replace, world.now_ms()).unwrap_or_default()
}

/// Takes the steps through the sandbox's own backend and through another, side by side. Answers which were possible.
async fn are_alike(other: Backend, steps: &[Step]) -> Vec<bool> {
    let mut possible = Vec::new();
    let (mut own, mut others) = (History::new(Backend::Sandbox).await, History::new(other).await);
    for (number, step) in steps.iter().enumerate() {
        let (own_possible, other_possible);
        (own, own_possible) = own.take(*step).await;
        (others, other_possible) = others.take(*step).await;
        let so_far = &steps[..=number];
        assert_eq!(own_possible, other_possible, "{other:?}, after {so_far:?}");
        assert_eq!(own.states(), others.states(), "{other:?}, after {so_far:?}");
        possible.push(own_possible);
    }
    possible
}

/// What happens to a shop in its first week, and more.
const STORY: &[Step] = {
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
        // Replaced by the same sum, by less, and by nothing.
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
        // Taken off the chain with and without what it held.
        Payment { at_once: true },
        Pay { which: 8, percent: 100, parts: 1 },
        Pass { ms: PAST_THE_QUIET_TIME_MS },
        Mine { count: 1, empty: false },
        Reorganise { depth: 1, keep: true },
        Mine { count: 1, empty: false },
        Reorganise { depth: 2, keep: false },
        Mine { count: 7, empty: false },
        // While nobody looked.
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
        // Nobody pays, or too late.
        Payment { at_once: false },
        Pass { ms: PAST_THE_DEADLINE_MS },
        Pass { ms: PAST_THE_GRACE_MS },
        Pay { which: 10, percent: 100, parts: 1 },
        Mine { count: 2, empty: false },
        // Sent, replaced by ourselves, mined in the older form, and taken off.
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

#[tokio::test]
async fn every_backend_tells_one_story_of_payments_anomalies_and_payouts() {
    for other in Backend::OTHERS {
        tells_the_story(*other).await;
    }
}

async fn tells_the_story(other: Backend) {
    let possible = are_alike(other, STORY).await;
    let not: Vec<_> = STORY.iter().enumerate().zip(possible).filter(|(_, possible)| !possible).collect();
    assert!(not.is_empty(), "not what the story is to tell: {not:?}");
}

/// The same numbers for the same seed.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: u64) -> u64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }

    fn step(&mut self) -> Step {
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
                ms: [PAST_THE_QUIET_TIME_MS, 600_000, PAST_THE_DEADLINE_MS, PAST_THE_GRACE_MS][self.below(4) as usize],
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

#[tokio::test]
async fn every_backend_tells_the_same_of_any_history() {
    for other in Backend::OTHERS {
        tells_histories(*other, 1..=3).await;
    }
}

async fn tells_histories(other: Backend, seeds: RangeInclusive<u64>) {
    for seed in seeds {
        let mut numbers = Numbers(seed);
        let steps: Vec<Step> = (0..30).map(|_| numbers.step()).collect();
        let possible = are_alike(other, &steps).await;
        let count = possible.iter().filter(|possible| **possible).count();
        assert!(count > steps.len() / 2, "seed {seed}: hardly anything happened");
    }
}

/// The seeds of histories through real programs: more where `TILLGATE_REAL_HISTORIES` says how many.
fn real_seeds() -> RangeInclusive<u64> {
    let count = std::env::var("TILLGATE_REAL_HISTORIES").ok().and_then(|count| count.parse().ok());
    1..=count.unwrap_or(3)
}

#[tokio::test]
async fn a_real_bitcoin_core_tells_the_same_story_and_histories() {
    if Bitcoind::program().is_none() {
        println!("not run: BITCOIND_EXE names no Bitcoin Core");
        return;
    }
    tells_the_story(Backend::Bitcoind).await;
    tells_histories(Backend::Bitcoind, real_seeds()).await;
}

#[tokio::test]
async fn a_real_electrum_server_tells_the_same_story_and_histories() {
    if Bitcoind::program().is_none() || Electrs::program().is_none() {
        println!("not run: BITCOIND_EXE and ELECTRS_EXE do not name a Bitcoin Core and an electrs");
        return;
    }
    tells_the_story(Backend::Electrs).await;
    tells_histories(Backend::Electrs, real_seeds()).await;
}
