//! A history: its gateway and chain, what happened so far, and how each step is done.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bitcoin::hashes::Hash as _;
use bitcoin::{ScriptBuf, Transaction, Txid};
use tillgate_domain::id::Id;
use tillgate_domain::payout::PayoutState;
use tillgate_machine::entropy::Entropy;
use tillgate_sandbox::{BroadcastFault, FaultsPatch, Pay, Replace, ReplaceTo};
use tillgate_store::Reader;
use tillgate_store::batches::VersionRow;
use tillgate_store::payouts::PayoutRow;

use super::chain::ChainSeen;
use super::steps::{Mined, Step};
use super::template::{Seeded, Template};
use crate::funds;
use crate::gateway::Wait;
use crate::sender::{NamedRateError, ReplaceError, build, may_abandon, may_bump, may_send};
use crate::testing::World;
use crate::testing::twins::twin_spending;
use crate::wallet::spend::Payee;

/// Satoshis that [`Step::SendOnChange`] leaves for its second payout and both fees.
const LEFT_SATS: u64 = 300_000;

/// A payout of this history.
#[derive(Debug, Clone)]
pub struct Known {
    pub id: Id,
    pub script: ScriptBuf,
    pub amount_sats: u64,
    pub is_approved: bool,
    pub is_given_up: bool,
    pub approved_ms: i64,
    pub state: PayoutState,
    pub batch_seq: Option<i64>,
}

pub struct History {
    world: Option<World>,
    entropy: Arc<Seeded>,
    pub chain: ChainSeen,
    pub payouts: Vec<Known>,
    /// Transactions that the other copy of the wallet signed.
    pub twins: BTreeMap<Txid, Transaction>,
    pub customers_pay: BTreeSet<ScriptBuf>,
    is_chain_down: bool,
    /// Number of the sandbox's last change before the last look.
    pub looked_from: Cell<i64>,
    /// Bumps that succeeded.
    bumps: Cell<u64>,
    /// Payouts that staff sent at a rate of their own.
    sent_alone: Cell<u64>,
    /// Batches that spend unconfirmed change of another batch.
    on_change: Cell<u64>,
    /// Payouts with a transaction that spends a coin of an unmined twin.
    instead: u64,
}

impl History {
    pub async fn begin(template: &Template, seed: u64) -> Self {
        let folder = tempfile::tempdir().unwrap();
        template.copy_to(folder.path());
        let entropy = Arc::new(Seeded::new(seed));
        let world =
            World::in_folder(folder).await.with_entropy(Arc::clone(&entropy) as Arc<dyn Entropy>);
        let customers_pay = world.gateway.store.read(|reader| reader.payment_scripts()).unwrap();
        let mut history = Self {
            world: Some(world),
            entropy,
            chain: ChainSeen::default(),
            payouts: Vec::new(),
            twins: BTreeMap::new(),
            customers_pay: customers_pay.into_iter().collect(),
            is_chain_down: false,
            looked_from: Cell::new(0),
            bumps: Cell::new(0),
            sent_alone: Cell::new(0),
            on_change: Cell::new(0),
            instead: 0,
        };
        history.check(true).await;
        history
    }

    pub fn world(&self) -> &World {
        self.world.as_ref().expect("it is only absent inside `restart`")
    }

    /// Counts of events, to show that the laws were tested.
    pub fn happened(&self) -> [(&'static str, u64); 9] {
        let count = |is: &dyn Fn(&Known) -> bool| {
            self.payouts.iter().filter(|payout| is(payout)).count() as u64
        };
        let seen = self.twins.keys().filter(|txid| self.chain.tx(txid).is_some()).count() as u64;
        [
            ("sent", count(&|payout| payout.state == PayoutState::Sent)),
            (
                "failed after signing",
                count(&|it| it.state == PayoutState::Failed && it.batch_seq.is_some()),
            ),
            (
                "failed before signing",
                count(&|it| it.state == PayoutState::Failed && it.batch_seq.is_none()),
            ),
            ("given up", count(&|payout| payout.is_given_up)),
            ("bumps", self.bumps.get()),
            ("sent at a named rate", self.sent_alone.get()),
            ("batches on unconfirmed change", self.on_change.get()),
            ("twins", seen),
            ("paid instead of a twin", self.instead),
        ]
    }

    /// Does one step and checks the laws.
    pub async fn run(&mut self, step: &Step) {
        let mut has_looked = false;
        match step {
            Step::Pay { sats, confirmations } => self.pay(*sats, *confirmations).await,
            Step::CustomerReplaces { which, back } => self.customer_replaces(*which, *back),
            Step::Approve { sats } => self.ask(*sats, true).await,
            Step::Offer { sats } => self.ask(*sats, false).await,
            Step::Look => {
                self.look().await;
                has_looked = true;
            }
            Step::Pass => self.pass().await,
            Step::Send => self.send().await,
            Step::SendOnChange { sats, fee_rate } => self.send_on_change(*sats, *fee_rate).await,
            Step::Mine { count, what } => self.mine(*count, *what),
            Step::MineVersion { which } => self.mine_version(*which),
            Step::Evict { which } => self.evict(*which),
            Step::Reorg { depth, keep } => {
                // An error means that the reorganisation would reach into the initial chain.
                drop(self.world().sandbox().reorg(*depth, *keep, self.world().now_ms()));
            }
            Step::Broadcasts(fault) => {
                self.faults(FaultsPatch { broadcast: Some(*fault), ..FaultsPatch::default() })
            }
            Step::KeysLocked(locked) => {
                self.faults(FaultsPatch { keys_locked: Some(*locked), ..FaultsPatch::default() });
            }
            Step::ChainDown(down) => {
                self.is_chain_down = *down;
                self.faults(FaultsPatch { chain_down: Some(*down), ..FaultsPatch::default() });
            }
            Step::FeeRate(rate) => {
                self.faults(FaultsPatch { fee_rate_sat_vb: Some(*rate), ..FaultsPatch::default() });
            }
            Step::SendAt { which, fee_rate } => self.send_at(*which, *fee_rate).await,
            Step::Bump { which, fee_rate } => self.bump(*which, *fee_rate).await,
            Step::Abandon { which, all } => self.abandon(*which, *all).await,
            Step::Release => {
                self.world().app.sender.release("cli:ann", None, true).await.unwrap();
            }
            Step::ForcedTwin { sats, fee_rate } => self.forced_twin(*sats, *fee_rate).await,
            Step::ClockMoves { seconds } => self.clock_moves(*seconds).await,
            Step::Restart => self.restart().await,
            Step::Twin { pays, shares, fee_rate, mined } => {
                let _ = self.twin(*pays, *shares, *fee_rate, *mined);
            }
            Step::Calm => self.ends_well().await,
        }
        self.check(has_looked).await;
    }

    pub fn last_change(&self) -> i64 {
        self.world().sandbox().changes_since(self.chain.cursor(), 1_000).unwrap().cursor
    }

    pub async fn look(&self) {
        self.looked_from.set(self.last_change());
        let looked = self.world().app.watcher.look().await;
        assert!(looked.is_ok() || self.is_chain_down, "{looked:?}");
    }

    pub async fn pass(&self) {
        let world = self.world();
        let before: BTreeSet<Txid> = self.versions().iter().map(|version| version.txid).collect();
        world.pass_sender().await;
        let on_change = self.new_packages_pay_the_wanted_rate(&before);
        self.on_change.set(self.on_change.get() + on_change);
        let waits_for = world.gateway.sending.waits_for();
        let is_sound = |cannot: &Wait| !cannot.reason.message.contains("did not pass its check");
        assert!(waits_for.as_ref().is_none_or(is_sound), "{waits_for:?}");
    }

    async fn send(&mut self) {
        self.clock_moves(31).await;
        self.look().await;
        self.check(true).await;
        self.pass().await;
    }

    async fn send_on_change(&mut self, sats: u64, fee_rate_sat_vb: u64) {
        let gateway = &self.world().gateway;
        let settings = gateway.settings.snapshot();
        let coins = gateway.store.read(|reader| funds::spendable_coins(reader, &settings)).unwrap();
        let spendable_sats: u64 = coins.iter().map(|coin| coin.amount_sats).sum();
        let Some(most_sats) =
            spendable_sats.checked_sub(LEFT_SATS).filter(|most| *most > LEFT_SATS)
        else {
            return;
        };
        self.ask(most_sats, true).await;
        self.send().await;
        self.check(false).await;
        self.faults(FaultsPatch {
            fee_rate_sat_vb: Some(Some(fee_rate_sat_vb)),
            ..FaultsPatch::default()
        });
        self.ask(sats, true).await;
        self.send().await;
    }

    pub async fn pay(&mut self, sats: u64, confirmations: u32) {
        let world = self.world();
        let payment = world.payment_to_wallet().await;
        let script = payment.script.clone();
        let pay = Pay {
            script: script.clone(),
            amount_sats: sats,
            parts: 1,
            fee_rate_sat_vb: None,
            confirmations,
        };
        world.sandbox().pay(pay, world.now_ms()).unwrap();
        self.customers_pay.insert(script);
    }

    fn customer_replaces(&self, which: usize, back: bool) {
        let ours = |tx: &Transaction| {
            tx.output.iter().any(|out| self.customers_pay.contains(&out.script_pubkey))
        };
        let paying: Vec<Txid> = self
            .chain
            .all()
            .filter(|(txid, tx, _)| {
                ours(tx) && self.chain.is_in_mempool(txid) && !self.twins.contains_key(*txid)
            })
            .map(|(txid, ..)| *txid)
            .collect();
        let Some(txid) = paying.get(which % paying.len().max(1)) else { return };
        let to =
            if back { ReplaceTo::Customer } else { ReplaceTo::SameAddress { amount_sats: None } };
        // Refused if the transaction is not a customer's or cannot be replaced.
        drop(self.world().sandbox().replace(
            *txid,
            Replace { fee_rate_sat_vb: None, to },
            self.world().now_ms(),
        ));
    }

    async fn ask(&mut self, sats: u64, is_approved: bool) {
        let world = self.world();
        let id = if is_approved {
            world.approved_payout(sats).await
        } else {
            world.offered_payout(sats).await
        };
        let row = world.payout(&id);
        self.payouts.push(Known {
            id,
            script: row.script,
            amount_sats: sats,
            is_approved,
            is_given_up: false,
            approved_ms: world.now_ms(),
            state: row.state,
            batch_seq: None,
        });
    }

    pub fn mine(&self, count: u32, what: Mined) {
        let (sandbox, now_ms) = (self.world().sandbox(), self.world().now_ms());
        let mined = match what {
            Mined::Mempool => sandbox.mine(count, false, now_ms),
            Mined::Nothing => sandbox.mine(count, true, now_ms),
            Mined::Above { sat_kvb } => sandbox.mine_above(count, sat_kvb, now_ms),
        };
        drop(mined.unwrap());
    }

    /// All versions of all batches.
    pub fn versions(&self) -> Vec<VersionRow> {
        let batches: BTreeSet<i64> = self
            .payouts
            .iter()
            .filter_map(|payout| self.world().payout(&payout.id).batch_seq)
            .collect();
        let store = &self.world().gateway.store;
        batches
            .into_iter()
            .flat_map(|batch| store.read(|reader| reader.versions(batch)).unwrap())
            .collect()
    }

    fn mine_version(&self, which: usize) {
        let versions = self.versions();
        let Some(version) = versions.get(which % versions.len().max(1)) else { return };
        // Refused if the version is in a block already, or if its inputs are not in blocks.
        drop(
            self.world()
                .sandbox()
                .mine_transactions(std::slice::from_ref(&version.tx), self.world().now_ms()),
        );
    }

    fn evict(&self, which: usize) {
        let mempool = self.world().sandbox().status().unwrap().mempool;
        if let Some(txid) = mempool.get(which % mempool.len().max(1)) {
            self.world().sandbox().evict(*txid, self.world().now_ms()).unwrap();
        }
    }

    fn faults(&self, patch: FaultsPatch) {
        self.world().sandbox().set_faults(patch).unwrap();
    }

    pub async fn all_works(&mut self) {
        self.is_chain_down = false;
        self.faults(FaultsPatch {
            chain_down: Some(false),
            broadcast: Some(BroadcastFault::Ok),
            keys_locked: Some(false),
            fee_rate_sat_vb: Some(None),
            ..FaultsPatch::default()
        });
        self.world().app.sender.release("cli:ann", None, true).await.unwrap();
    }

    pub async fn clock_moves(&self, seconds: u32) {
        self.world().advance_clock_ms(i64::from(seconds) * 1_000);
        self.world().gateway.refresh_rates().await.unwrap();
    }

    async fn restart(&mut self) {
        let world = self.world.take().unwrap().reopen().await;
        self.world = Some(world.with_entropy(Arc::clone(&self.entropy) as Arc<dyn Entropy>));
    }

    /// The batches whose change a live batch spends, with the number of their versions.
    fn parents(&self) -> BTreeMap<i64, usize> {
        let mut parents = BTreeMap::new();
        let versions = self.versions();
        for version in &versions {
            let on = self
                .world()
                .gateway
                .store
                .read(|reader| reader.live_batches_on(&version.txid))
                .unwrap();
            if !on.is_empty() {
                let count =
                    versions.iter().filter(|other| other.batch_seq == version.batch_seq).count();
                parents.insert(version.batch_seq, count);
            }
        }
        parents
    }

    fn parents_gained_no_version(&self, parents: &BTreeMap<i64, usize>) {
        for (batch, count) in parents {
            let now =
                self.world().gateway.store.read(|reader| reader.versions(*batch)).unwrap().len();
            assert_eq!(now, *count, "a batch whose change is spent was replaced alone");
        }
    }

    async fn send_at(&self, which: usize, fee_rate: u32) {
        let store = &self.world().gateway.store;
        let may = |known: &&Known| {
            store.read(|reader| may_send(reader, &self.world().payout(&known.id))).is_ok()
        };
        let able: Vec<&Known> = self.payouts.iter().filter(may).collect();
        let Some(payout) = self.pick(which, &able) else { return };
        let sent = self.world().send_at(payout.id, fee_rate).await;
        assert!(!matches!(&sent, Err(NamedRateError::Other(ReplaceError::Send(_)))), "{sent:?}");
        self.sent_alone.set(self.sent_alone.get() + u64::from(sent.is_ok()));
    }

    async fn bump(&self, which: usize, fee_rate: Option<u32>) {
        let Some(payout) = self.one_of(which, may_bump) else { return };
        let parents = self.parents();
        let bumped = self
            .world()
            .app
            .sender
            .bump(payout.id, fee_rate, "cli:ann", &self.world().app.watcher)
            .await;
        assert!(!matches!(&bumped, Err(ReplaceError::Send(_))), "{bumped:?}");
        self.parents_gained_no_version(&parents);
        self.bumps.set(self.bumps.get() + u64::from(bumped.is_ok()));
    }

    async fn abandon(&mut self, which: usize, all: bool) {
        let Some(payout) = self.one_of(which, may_abandon) else { return };
        let (id, parents) = (payout.id, self.parents());
        let given_up =
            self.world().app.sender.abandon(id, all, "cli:ann", &self.world().app.watcher).await;
        assert!(!matches!(&given_up, Err(ReplaceError::Send(_))), "{given_up:?}");
        if !all {
            self.parents_gained_no_version(&parents);
        }
        if given_up.is_ok() {
            let payout = self.payouts.iter_mut().find(|payout| payout.id == id).unwrap();
            payout.is_given_up = true;
        }
    }

    /// A payout by index: in 7 of 8 cases a payout that passes `may`, otherwise any.
    fn one_of(
        &self,
        which: usize,
        may: fn(&Reader<'_>, &PayoutRow) -> Result<(), ReplaceError>,
    ) -> Option<&Known> {
        let store = &self.world().gateway.store;
        let may = |id: &Id| {
            store.read(|reader| {
                may(reader, &reader.payout(id)?.ok_or(ReplaceError::NoSuchPayout(*id))?)
            })
        };
        let able: Vec<&Known> =
            self.payouts.iter().filter(|payout| may(&payout.id).is_ok()).collect();
        self.pick(which, &able)
    }

    fn pick<'a>(&'a self, which: usize, able: &[&'a Known]) -> Option<&'a Known> {
        match able.get((which / 8) % able.len().max(1)) {
            Some(payout) if !which.is_multiple_of(8) => Some(payout),
            Some(_) | None => self.payouts.get((which / 8) % self.payouts.len().max(1)),
        }
    }

    async fn forced_twin(&mut self, sats: u64, fee_rate: u32) {
        self.ask(sats, true).await;
        let newest = self.payouts.iter().filter(|payout| payout.is_approved).count() - 1;
        let Some(twin) = self.twin(Some(newest), None, fee_rate, false) else { return };
        self.look().await;
        self.check(true).await;
        self.world().app.sender.release("cli:ann", None, true).await.unwrap();
        self.send().await;
        let batch =
            self.payouts.last().and_then(|payout| self.world().payout(&payout.id).batch_seq);
        let Some(batch) = batch else { return };
        let inputs =
            self.world().gateway.store.read(|reader| reader.inputs_of_batch(batch)).unwrap();
        self.instead +=
            u64::from(twin.input.iter().any(|input| inputs.contains(&input.previous_output)));
    }

    fn twin(
        &mut self,
        pays: Option<usize>,
        shares: Option<usize>,
        fee_rate: u32,
        mined: bool,
    ) -> Option<Transaction> {
        let approved: Vec<&Known> =
            self.payouts.iter().filter(|payout| payout.is_approved).collect();
        let payee = match pays.and_then(|which| approved.get(which % approved.len().max(1))) {
            Some(payout) => {
                Payee { script: payout.script.clone(), amount_sats: payout.amount_sats }
            }
            None => Payee {
                script: ScriptBuf::new_p2wsh(&bitcoin::WScriptHash::all_zeros()),
                amount_sats: 30_000,
            },
        };
        let world = self.world();
        let batches: Vec<i64> = self.payouts.iter().filter_map(|payout| payout.batch_seq).collect();
        let shared = match shares.and_then(|which| batches.get(which % batches.len().max(1))) {
            Some(batch) => {
                world.gateway.store.read(|reader| build::inputs_of(reader, *batch)).unwrap()
            }
            None => Vec::new(),
        };
        let shared = &shared[..shared.len().min(1 + shares.unwrap_or_default() % 3)];
        let twin = twin_spending(world, &[payee], shared, fee_rate)?;
        // Refused if the twin's coins are spent or not in the chain.
        if mined {
            drop(world.sandbox().mine_transactions(std::slice::from_ref(&twin), world.now_ms()));
        } else {
            drop(world.sandbox().broadcast(&twin, world.now_ms()));
        }
        self.twins.insert(twin.compute_txid(), twin.clone());
        Some(twin)
    }
}
