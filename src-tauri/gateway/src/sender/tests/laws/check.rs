//! The properties that every history must keep.

use std::collections::{BTreeMap, BTreeSet};

use bitcoin::{OutPoint, Transaction, Txid, Weight};
use tillgate_domain::payout::PayoutState;
use tillgate_domain::payout::PayoutState::{Failed, Queued, Sent};
use tillgate_store::StoreError;
use tillgate_store::batches::VersionRow;
use tillgate_store::twins::TwinRow;

use super::history::{History, Known};
use super::steps::Mined;
use crate::funds;
use crate::notifications::outbox::{self, OutboxError};
use crate::settlement::batches;

/// Tables that do not change while no transaction or block is new.
const TABLES: [&str; 10] = [
    "payouts",
    "batches",
    "versions",
    "version_outputs",
    "batch_inputs",
    "coins",
    "twins",
    "ledger",
    "receipts",
    "sender_hold",
];

/// Number of blocks in a row without a change, after which a history has ended.
const QUIET_BLOCKS: u32 = 8;

/// Milliseconds after which a payout without a transaction may be FAILED.
const QUEUE_TIMEOUT_MS: i64 = 24 * 3_600_000;

impl History {
    /// Checks every property that holds after each step. After a look, settling again must change
    /// nothing.
    pub async fn check(&mut self, has_looked: bool) {
        let mut chain = std::mem::take(&mut self.chain);
        let new = chain.follow(self.world().sandbox());
        self.chain = chain;
        let versions = self.versions();
        self.only_stored_transactions_were_broadcast(&new, &versions);
        self.versions_spend_the_inputs_of_earlier_versions(&versions);
        for index in 0..self.payouts.len() {
            self.check_payout(index, &versions);
        }
        self.dead_batches_lock_nothing();
        self.world().check_ledger();
        if has_looked {
            self.settling_again_changes_nothing().await;
        }
    }

    fn only_stored_transactions_were_broadcast(&self, new: &[Txid], versions: &[VersionRow]) {
        for txid in new {
            let tx = self.chain.tx(txid).expect("`follow` returned it");
            let spends_ours = tx.input.iter().any(|input| self.is_ours(&input.previous_output));
            let is_stored = versions.iter().any(|version| version.txid == *txid);
            assert!(
                !spends_ours || is_stored || self.twins.contains_key(txid),
                "{txid} was never stored"
            );
        }
    }

    /// Checks that each new transaction, together with its unconfirmed ancestors, pays the wanted
    /// rate. Returns the number of new transactions with unconfirmed ancestors.
    pub fn new_packages_pay_the_wanted_rate(&self, before: &BTreeSet<Txid>) -> u64 {
        let gateway = &self.world().gateway;
        let mut on_change = 0;
        for version in self.versions().iter().filter(|version| !before.contains(&version.txid)) {
            let wanted = gateway.backend.chain.fee_rates(6).unwrap().estimate.unwrap();
            let package =
                gateway.store.read(|reader| funds::unconfirmed(reader, &version.txid)).unwrap();
            let vsize = package.values().map(|one| one.paid.vsize).sum();
            let paid_sats: u64 = package.values().map(|one| one.paid.fee_sats).sum();
            let wanted_sats = wanted.fee_wu(Weight::from_vb(vsize).unwrap()).unwrap().to_sat();
            assert!(
                paid_sats >= wanted_sats,
                "{} pays {paid_sats} of {wanted_sats} for {vsize} vB",
                version.txid
            );
            on_change += u64::from(package.len() > 1);
        }
        on_change
    }

    fn is_ours(&self, outpoint: &OutPoint) -> bool {
        let output =
            self.chain.tx(&outpoint.txid).and_then(|tx| tx.output.get(outpoint.vout as usize));
        output.is_some_and(|output| self.is_our_script(&output.script_pubkey))
    }

    fn is_our_script(&self, script: &bitcoin::ScriptBuf) -> bool {
        let wallet = self.world().gateway.wallet.get().expect("the world has a wallet");
        self.customers_pay.contains(script) || wallet.change.index_of(script).is_some()
    }

    fn versions_spend_the_inputs_of_earlier_versions(&self, versions: &[VersionRow]) {
        let inputs = |tx: &Transaction| {
            tx.input.iter().map(|input| input.previous_output).collect::<BTreeSet<_>>()
        };
        for version in versions {
            for before in versions
                .iter()
                .filter(|it| it.batch_seq == version.batch_seq && it.number < version.number)
            {
                assert!(
                    inputs(&version.tx).is_superset(&inputs(&before.tx)),
                    "{} and {}",
                    version.txid,
                    before.txid
                );
            }
        }
    }

    fn check_payout(&mut self, index: usize, versions: &[VersionRow]) {
        let known = self.payouts[index].clone();
        let row = self.world().payout(&known.id);
        assert!(may_have_become(known.state, row.state), "{} -> {}", known.state, row.state);
        assert!(
            known.batch_seq.is_none() || known.batch_seq == row.batch_seq,
            "a payout changed its batch"
        );
        let payers = self.chain.confirmed_payers(&known.script, known.amount_sats);
        let own: Vec<&VersionRow> = versions
            .iter()
            .filter(|version| {
                Some(version.batch_seq) == row.batch_seq && payers.contains(&version.txid)
            })
            .collect();
        let by_twins = payers.iter().filter(|txid| self.twins.contains_key(*txid)).count();
        assert_eq!(
            payers.len(),
            own.len() + by_twins,
            "somebody else's transaction pays {}",
            known.id
        );
        assert!(own.len() <= 1, "{} was paid twice", known.id);
        assert!(known.is_approved || payers.is_empty(), "{} was never approved", known.id);
        if row.state == Failed && known.state != Failed {
            let twins =
                self.world().gateway.store.read(|reader| reader.twins_of_payout(row.seq)).unwrap();
            self.failed_with_proof(&known, row.batch_seq, twins, versions);
        }
        self.payouts[index].state = row.state;
        self.payouts[index].batch_seq = row.batch_seq;
    }

    fn failed_with_proof(
        &self,
        known: &Known,
        batch: Option<i64>,
        twins: Vec<TwinRow>,
        versions: &[VersionRow],
    ) {
        let stored = |txid: &Txid| {
            let version = versions
                .iter()
                .find(|version| version.txid == *txid)
                .map(|version| version.tx.clone());
            version.or_else(|| self.twins.get(txid).cloned())
        };
        let mut payers: Vec<Transaction> = versions
            .iter()
            .filter(|version| Some(version.batch_seq) == batch && version.pays)
            .map(|version| version.tx.clone())
            .collect();
        payers.extend(twins.into_iter().map(|twin| twin.tx));
        if payers.is_empty() {
            let waited_ms = self.world().now_ms() - known.approved_ms;
            assert!(
                known.is_given_up || waited_ms >= QUEUE_TIMEOUT_MS,
                "it failed after {waited_ms} ms"
            );
        }
        for tx in payers {
            assert!(
                self.chain.is_ruled_out(&tx, &stored),
                "{} can still be mined",
                tx.compute_txid()
            );
        }
    }

    fn dead_batches_lock_nothing(&self) {
        let batches: BTreeSet<i64> =
            self.payouts.iter().filter_map(|payout| payout.batch_seq).collect();
        self.world()
            .gateway
            .store
            .read(|reader| {
                for seq in batches {
                    let batch = reader.batch(seq)?.expect("it is stored");
                    for outpoint in reader.inputs_of_batch(seq)? {
                        let is_locked = reader.live_batch_of_input(&outpoint)? == Some(seq);
                        assert!(
                            batch.live || !is_locked,
                            "batch {seq} failed and locks {outpoint}"
                        );
                    }
                }
                Ok::<_, StoreError>(())
            })
            .unwrap();
    }

    async fn settling_again_changes_nothing(&self) {
        let before = self.snapshot();
        let batches: BTreeSet<i64> =
            self.payouts.iter().filter_map(|payout| payout.batch_seq).collect();
        let settle = move |outbox: &outbox::Outbox<'_>| {
            let tip_height = outbox.tx.tip_height()?;
            batches
                .iter()
                .try_for_each(|batch| batches::settle(outbox, *batch, tip_height).map(drop))
        };
        outbox::commit::<_, OutboxError>(&self.world().gateway, None, settle).await.unwrap();
        assert_same(&before, &self.snapshot());
        // A look may broadcast missing transactions, which only the next look sees.
        if self.last_change() == self.looked_from.get() {
            self.look().await;
            assert_same(&before, &self.snapshot());
        }
    }

    fn snapshot(&self) -> Vec<String> {
        let store = &self.world().gateway.store;
        TABLES
            .iter()
            .flat_map(|table| store.read(|reader| reader.rows_of(table)).unwrap())
            .collect()
    }

    /// Removes all faults, adds coins, and mines until no table changes. Then each approved payout
    /// must be paid once or FAILED, and no coin may be locked. The ledger's sum must be the chain's
    /// balance.
    pub async fn ends_well(&mut self) {
        self.all_works().await;
        let rows = self.payouts.iter().map(|payout| self.world().payout(&payout.id));
        let owed_sats: u64 =
            rows.filter(|row| row.state == Queued).map(|row| row.amount_sats).sum();
        self.pay(1_000_000_000 + owed_sats, 0).await;
        let (mut last, mut quiet) = (Vec::new(), 0);
        for round in 0.. {
            self.others_broadcast_again();
            self.clock_moves(61).await;
            self.look().await;
            self.check(true).await;
            self.pass().await;
            self.check(false).await;
            self.world().app.sender.release("cli:ann", None, true).await.unwrap();
            self.staff_give_up_what_a_twin_paid().await;
            self.mine(1, Mined::Mempool);
            self.look().await;
            self.check(true).await;
            let now = self.snapshot();
            quiet = if now == last { quiet + 1 } else { 0 };
            last = now;
            if quiet > QUIET_BLOCKS {
                break;
            }
            assert!(round < 60, "the tables still change after 60 blocks");
        }
        self.pass().await;
        self.look().await;
        assert_same(&last, &self.snapshot());
        for payout in &self.payouts {
            self.ended_well(payout);
        }
        self.nothing_is_locked();
        let balance = self.chain.balance(|script| self.is_our_script(script));
        let booked = self.world().gateway.store.read(|reader| reader.ledger_sats()).unwrap();
        assert_eq!(
            booked,
            i64::try_from(balance).unwrap(),
            "the ledger's sum differs from the coins in the chain"
        );
        self.world().check_statements();
    }

    /// Gives up each payout that another copy of the wallet paid with other coins. Our transaction
    /// is not broadcast then, and only giving it up frees its coins.
    async fn staff_give_up_what_a_twin_paid(&self) {
        for payout in &self.payouts {
            let row = self.world().payout(&payout.id);
            if row.batch_seq.is_some()
                && row.txid.is_some_and(|txid| self.twins.contains_key(&txid))
            {
                // Refused if a block holds a version, or if the payout is being given up already.
                drop(
                    self.world()
                        .app
                        .sender
                        .abandon(payout.id, true, "cli:ann", &self.world().app.watcher)
                        .await,
                );
            }
        }
    }

    /// Customers and the other copy of the wallet broadcast their transactions again, as wallets
    /// do.
    fn others_broadcast_again(&self) {
        let versions: BTreeSet<Txid> = self.versions().iter().map(|version| version.txid).collect();
        let is_absent =
            |txid: &Txid| self.chain.height(txid).is_none() && !self.chain.is_in_mempool(txid);
        for (txid, tx, _) in self.chain.all() {
            if is_absent(txid) && !versions.contains(txid) && !tx.is_coinbase() {
                drop(self.world().sandbox().broadcast(tx, self.world().now_ms()));
            }
        }
    }

    fn ended_well(&self, payout: &Known) {
        let row = self.world().payout(&payout.id);
        let payers = self.chain.confirmed_payers(&payout.script, payout.amount_sats);
        let why = || {
            format!(
                "{row:?} paid by {payers:?}, waits for {:?}",
                self.world().gateway.sending.waits_for()
            )
        };
        match row.state {
            Queued => panic!("still queued although there are enough coins: {}", why()),
            Sent => {
                assert!(!payers.is_empty(), "it was never paid: {}", why());
                assert!(
                    row.txid.is_some_and(|txid| payers.contains(&txid)),
                    "its txid was not mined: {}",
                    why()
                );
            }
            Failed | PayoutState::New | PayoutState::Expired => {
                assert!(payers.is_empty(), "it was paid: {}", why())
            }
        }
    }

    fn nothing_is_locked(&self) {
        let store = &self.world().gateway.store;
        let coins = store.read(|reader| reader.coins()).unwrap();
        let mut locked = BTreeMap::new();
        for coin in coins.iter().filter(|coin| coin.position == "block" && coin.spent_by.is_none())
        {
            let outpoint = coin.coin.outpoint;
            if let Some(batch) = store.read(|reader| reader.live_batch_of_input(&outpoint)).unwrap()
            {
                locked.insert(outpoint, batch);
            }
        }
        assert!(locked.is_empty(), "coins stay locked: {locked:?}");
    }
}

/// Whether one state may become another, directly or by one state between them.
fn may_have_become(before: PayoutState, now: PayoutState) -> bool {
    before == now
        || before.may_become(now)
        || PayoutState::ALL
            .iter()
            .any(|between| before.may_become(*between) && between.may_become(now))
}

fn assert_same(before: &[String], now: &[String]) {
    let gone: Vec<_> = before.iter().filter(|row| !now.contains(row)).collect();
    let came: Vec<_> = now.iter().filter(|row| !before.contains(row)).collect();
    assert!(
        gone.is_empty() && came.is_empty(),
        "rows changed without a cause:\n{gone:#?}\nbecame\n{came:#?}"
    );
}
