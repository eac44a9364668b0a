//! One history through every backend: payments, anomalies and payouts have the same states after
//! each step.

use std::ops::RangeInclusive;

use bitcoin::Txid;
use tillgate_domain::id::Id;
use tillgate_domain::policy::{PolicySettings, PriceBound};
use tillgate_sandbox::{Pay, Replace, ReplaceTo};
use tillgate_store::payments::PaymentRow;

use super::steps::{Numbers, QUIET_SECONDS, STORY, Step};
use crate::testing::World;
use crate::testing::stage::{Backend, Stage};

struct History {
    stage: Stage,
    payments: Vec<PaymentRow>,
    payouts: Vec<Id>,
    txids: Vec<Txid>,
}

impl History {
    async fn new(backend: Backend) -> Self {
        let stage = Stage::new(backend).await;
        let world = stage.world();
        world.make_wallet().await;
        let mut history =
            Self { stage, payments: Vec::new(), payouts: Vec::new(), txids: Vec::new() };
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

    /// Takes a step, and returns whether it was possible.
    async fn take(mut self, step: Step) -> (Self, bool) {
        let possible = match step {
            Step::Switch { to } => {
                self.stage.switch(to);
                true
            }
            Step::Restart => {
                self.stage = self.stage.restart(|_| {}).await;
                true
            }
            Step::RestartAfterTakeBack { which } => match self.txid(which) {
                Some(txid) => {
                    let mut done = Vec::new();
                    self.stage = self
                        .stage
                        .restart(|world| done = replace(world, txid, ReplaceTo::Customer))
                        .await;
                    self.txids.extend(&done);
                    !done.is_empty()
                }
                None => false,
            },
            Step::RestartAfterEvict { which } => match self.txid(which) {
                Some(txid) => {
                    let mut done = false;
                    self.stage = self
                        .stage
                        .restart(|world| done = world.sandbox().evict(txid, world.now_ms()).is_ok())
                        .await;
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
                self.stage = self
                    .stage
                    .restart(|world| {
                        done = world.sandbox().reorg(depth, keep, world.now_ms()).is_ok()
                    })
                    .await;
                done
            }
            step => self.act(step).await,
        };
        if self.stage.hears() {
            self.world().look_woken().await;
        }
        // The first look sees and broadcasts. The second sees the results, and the sender uses
        // them.
        for _ in 0..2 {
            self.world().look().await;
            self.world().pass_sender().await;
        }
        self.world().look().await;
        (self, possible)
    }

    async fn act(&mut self, step: Step) -> bool {
        match step {
            Step::Payment { at_once } => {
                let up_to = if at_once { 100 } else { 0 };
                // The quiet time is longer than any step takes on a busy machine, since the clock
                // keeps running.
                let policy = PolicySettings {
                    zero_conf_up_to: PriceBound::usd(up_to),
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
            Step::PayAnew { which, percent } => self.replace(which, |sum| ReplaceTo::SameAddress {
                amount_sats: Some(sum * percent / 100),
            }),
            Step::Evict { which } => {
                let evicted = self
                    .txid(which)
                    .map(|txid| self.world().sandbox().evict(txid, self.world().now_ms()));
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
                // The stored rates are outdated now.
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
                self.world()
                    .app
                    .sender
                    .bump(payout, None, "cli:ann", &self.world().app.watcher)
                    .await
                    .is_ok()
            }
            Step::MineFirstVersion { which } => self.mine_first_version(which),
            other => unreachable!("{other:?} restarts"),
        }
    }

    fn pay(&mut self, which: usize, percent: u64, parts: u32) -> bool {
        let payment = self.payment(which);
        let amount_sats = payment.payment.amount_sats * percent / 100;
        let pay = Pay {
            script: payment.script.clone(),
            amount_sats,
            parts,
            fee_rate_sat_vb: None,
            confirmations: 0,
        };
        let Ok(txids) = self.world().sandbox().pay(pay, self.world().now_ms()) else {
            return false;
        };
        self.txids.extend(txids);
        true
    }

    fn replace(&mut self, which: usize, to: impl FnOnce(u64) -> ReplaceTo) -> bool {
        let Some(txid) = self.txid(which) else { return false };
        let sum = self.payments.iter().find_map(|payment| {
            let view = self.world().sandbox().transaction(txid).unwrap()?;
            view.tx
                .output
                .iter()
                .find(|out| out.script_pubkey == payment.script)
                .map(|out| out.value.to_sat())
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
        self.world()
            .sandbox()
            .mine_transactions(&[versions[0].tx.clone()], self.world().now_ms())
            .is_ok()
    }

    /// The states that must be the same on every backend.
    fn states(&self) -> String {
        let store = &self.world().gateway.store;
        let mut lines = Vec::new();
        for payment in &self.payments {
            let row = self.world().reload_payment(&payment.payment.id).payment;
            let anomalies = store.read(|reader| reader.anomalies_of_payment(payment.seq)).unwrap();
            let mut anomalies: Vec<_> = anomalies
                .iter()
                .map(|row| {
                    format!(
                        "{:?} {:?} {}",
                        row.anomaly.kind, row.anomaly.resolution, row.anomaly.paid_sats
                    )
                })
                .collect();
            anomalies.sort();
            let receipts = store.read(|reader| reader.receipts(payment.seq)).unwrap();
            let mut receipts: Vec<_> = receipts
                .iter()
                .map(|it| {
                    let position = match it.position {
                        tillgate_domain::receipt::Position::Block { height, .. } => {
                            format!("block {height}")
                        }
                        tillgate_domain::receipt::Position::Mempool => "mempool".to_owned(),
                        tillgate_domain::receipt::Position::Absent { .. } => "absent".to_owned(),
                    };
                    format!(
                        "{} {position} counts {} gone {}",
                        it.amount_sats, it.counted_sats, it.gone
                    )
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

/// Takes the steps through the sandbox's own backend and others. Returns which steps were possible.
async fn are_alike(backends: &[Backend], steps: &[Step]) -> Vec<bool> {
    let mut possible = Vec::new();
    let mut own = History::new(Backend::Sandbox).await;
    let mut others = Vec::new();
    for backend in backends {
        others.push((*backend, History::new(*backend).await));
    }
    for (number, step) in steps.iter().enumerate() {
        let own_possible;
        (own, own_possible) = own.take(*step).await;
        let (so_far, own_states) = (&steps[..=number], own.states());
        let mut taken = Vec::new();
        for (backend, history) in others {
            let (history, other_possible) = history.take(*step).await;
            assert_eq!(own_possible, other_possible, "{backend:?}, after {so_far:?}");
            assert_eq!(own_states, history.states(), "{backend:?}, after {so_far:?}");
            let begun_anew = history.world().gateway.backend.last_look.status().begun_anew_at;
            assert_eq!(
                begun_anew, None,
                "{backend:?} takes the chain for another, after {so_far:?}"
            );
            taken.push((backend, history));
        }
        others = taken;
        possible.push(own_possible);
    }
    possible
}

#[tokio::test]
async fn every_backend_has_the_same_states_in_the_story() {
    tells_the_story(Backend::OTHERS).await;
}

pub async fn tells_the_story(backends: &[Backend]) {
    let possible = are_alike(backends, STORY).await;
    let not: Vec<_> =
        STORY.iter().enumerate().zip(possible).filter(|(_, possible)| !possible).collect();
    assert!(not.is_empty(), "impossible steps of the story: {not:?}");
}

#[tokio::test]
async fn every_backend_has_the_same_states_in_random_histories() {
    tells_histories(Backend::OTHERS, 1..=2).await;
}

#[tokio::test]
async fn switching_the_backend_changes_no_state() {
    let kinds = [Backend::Core, Backend::Electrum];
    let switches =
        (0..).map(|number: usize| Step::Switch { to: kinds[(number * 7 / 4) % kinds.len()] });
    let story: Vec<Step> =
        STORY.iter().zip(switches).flat_map(|(step, switch)| [*step, switch]).collect();
    are_alike(&[Backend::Switched], &story).await;
    tells_histories(&[Backend::Switched], 11..=11 + more_histories(1)).await;
}

#[tokio::test]
async fn two_servers_that_fail_in_turn_give_the_states_of_one() {
    tells_histories(&[Backend::Two], 21..=22).await;
}

pub async fn tells_histories(backends: &[Backend], seeds: RangeInclusive<u64>) {
    for seed in seeds {
        let mut numbers = Numbers(seed);
        let steps: Vec<Step> =
            (0..30).flat_map(|_| [numbers.switch(), Some(numbers.step())]).flatten().collect();
        let possible = are_alike(backends, &steps).await;
        let count = possible.iter().filter(|possible| **possible).count();
        assert!(count > steps.len() / 2, "seed {seed}: few steps were possible");
    }
}

/// The number of histories: `TILLGATE_REAL_HISTORIES`, or else `usual`.
pub fn more_histories(usual: u64) -> u64 {
    let count = std::env::var("TILLGATE_REAL_HISTORIES").ok().and_then(|count| count.parse().ok());
    count.unwrap_or(usual)
}
