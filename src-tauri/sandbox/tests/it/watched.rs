//! The changes that `changes_since` reports about the shop's transactions and their conflicts.

use bitcoin::{OutPoint, Transaction, Txid};
use tillgate_sandbox::{Replace, ReplaceTo, TxPosition, TxView};

use crate::common::{Fixture, INITIAL_HEIGHT, NOW_MS};

/// Asks for changes as a watcher does, one look after another.
struct Looks<'a> {
    f: &'a Fixture,
    cursor: i64,
}

impl<'a> Looks<'a> {
    fn new(f: &'a Fixture) -> Self {
        Looks { f, cursor: f.sandbox.changes_since(0, 10_000).unwrap().cursor }
    }

    /// The facts about a transaction at the next look, which must report it as changed.
    fn changed(&mut self, tx: &Transaction) -> TxView {
        let (view, _) = self.both(tx, tx);
        view
    }

    fn both(&mut self, one: &Transaction, other: &Transaction) -> (TxView, TxView) {
        let changes = self.f.sandbox.changes_since(self.cursor, 10_000).unwrap();
        self.cursor = changes.cursor;
        let of = |txid: Txid| {
            changes.txs.iter().find(|view| view.txid == txid).cloned().expect("the look reports it")
        };
        (of(one.compute_txid()), of(other.compute_txid()))
    }
}

fn spend_of(f: &Fixture, tx: &Transaction, fee_sats: u64) -> Transaction {
    f.shop.spend(
        &[(OutPoint { txid: tx.compute_txid(), vout: 0 }, tx.output[0].value.to_sat())],
        fee_sats,
    )
}

fn is_mined_at(view: &TxView, at: u32) -> bool {
    matches!(view.position, TxPosition::Block { height, .. } if height == at)
}

fn is_waiting(view: &TxView) -> bool {
    matches!(view.position, TxPosition::Mempool { .. })
}

#[test]
fn each_change_of_our_transaction_is_reported() {
    let f = Fixture::new();
    let coin = f.shop_coin(f.pay(50_000, 1));
    let ours = f.shop.spend(&[coin], 500);
    let mut looks = Looks::new(&f);
    f.sandbox.broadcast(&ours, NOW_MS).unwrap();
    assert!(is_waiting(&looks.changed(&ours)));
    f.sandbox.evict(ours.compute_txid(), NOW_MS).unwrap();
    assert_eq!(looks.changed(&ours).position, TxPosition::Absent);
    f.sandbox.mine(1, false, NOW_MS).unwrap();
    f.sandbox.broadcast(&ours, NOW_MS).unwrap();
    assert!(is_waiting(&looks.changed(&ours)));
    let newer = f.shop.spend(&[coin], 2_000);
    f.sandbox.broadcast(&newer, NOW_MS).unwrap();
    let (older_view, newer_view) = looks.both(&ours, &newer);
    assert_eq!((older_view.position, is_waiting(&newer_view)), (TxPosition::Absent, true));
    assert!(older_view.conflict_in_mempool);
    f.sandbox.mine(1, false, NOW_MS).unwrap();
    let (older_view, newer_view) = looks.both(&ours, &newer);
    assert!(is_mined_at(&newer_view, INITIAL_HEIGHT + 3));
    assert_eq!(older_view.conflict_height, Some(INITIAL_HEIGHT + 3));
    for keep in [true, false] {
        f.sandbox.reorg(1, keep, NOW_MS).unwrap();
        let (older_view, newer_view) = looks.both(&ours, &newer);
        assert!(
            is_waiting(&newer_view),
            "the newer one returns to the mempool, keepTransactions: {keep}"
        );
        assert_eq!((older_view.conflict_height, older_view.conflict_in_mempool), (None, true));
        f.sandbox.mine(1, false, NOW_MS).unwrap();
        assert!(is_mined_at(&looks.changed(&newer), f.sandbox.tip().unwrap().height));
    }
}

#[test]
fn our_spends_become_absent_only_with_a_double_spent_payment() {
    let f = Fixture::new();
    let safe = f.shop.spend(&[f.shop_coin(f.pay(50_000, 1))], 500);
    let safe_child = spend_of(&f, &safe, 500);
    let paid = f.pay(60_000, 0);
    let doomed = f.shop.spend(&[f.shop_coin(paid)], 500);
    for tx in [&safe, &safe_child, &doomed] {
        f.sandbox.broadcast(tx, NOW_MS).unwrap();
    }
    f.sandbox.mine(2, false, NOW_MS).unwrap();
    let mut looks = Looks::new(&f);
    f.sandbox.reorg(2, false, NOW_MS).unwrap();
    let (safe_view, child_view) = looks.both(&safe, &safe_child);
    assert!(
        is_waiting(&safe_view) && is_waiting(&child_view) && child_view.has_unconfirmed_ancestors
    );
    let doomed_view = f.view(doomed.compute_txid());
    assert_eq!(
        (doomed_view.position, doomed_view.conflict_height),
        (TxPosition::Absent, Some(INITIAL_HEIGHT + 2))
    );
    f.sandbox.mine(1, false, NOW_MS).unwrap();
    assert!(f.is_in_block(safe.compute_txid()) && f.is_in_block(safe_child.compute_txid()));
}

#[test]
fn a_conflict_is_reported_when_mined_reorganised_and_moved() {
    let f = Fixture::new();
    let coin = f.shop_coin(f.pay(50_000, 1));
    let ours = f.shop.spend(&[coin], 500);
    let child = spend_of(&f, &ours, 500);
    for tx in [&ours, &child] {
        f.sandbox.broadcast(tx, NOW_MS).unwrap();
    }
    let twin = f.shop.spend(&[coin], 5_000);
    let mut looks = Looks::new(&f);
    let heights = |looks: &mut Looks<'_>| {
        let (ours, child) = looks.both(&ours, &child);
        (ours.conflict_height, child.conflict_height)
    };
    f.sandbox.mine_transactions(std::slice::from_ref(&twin), NOW_MS).unwrap();
    let first = INITIAL_HEIGHT + 2;
    assert_eq!(heights(&mut looks), (Some(first), Some(first)), "the twin is mined");
    f.sandbox.reorg(1, true, NOW_MS).unwrap();
    assert_eq!(heights(&mut looks), (None, None), "the twin is back in the mempool");
    f.sandbox.mine(1, false, NOW_MS).unwrap();
    assert_eq!(
        heights(&mut looks),
        (Some(first + 2), Some(first + 2)),
        "the twin is mined at another height"
    );
    f.sandbox.reorg(1, true, NOW_MS).unwrap();
    f.sandbox.mine_transactions(&[ours.clone(), child.clone()], NOW_MS).unwrap();
    assert_eq!(heights(&mut looks), (None, None), "our transactions are mined, the twin is not");
}

#[test]
fn the_lowest_height_of_several_conflicts_is_reported() {
    let f = Fixture::new();
    let coins = [f.shop_coin(f.pay(50_000, 1)), f.shop_coin(f.pay(60_000, 1))];
    let ours = f.shop.spend(&coins, 500);
    f.sandbox.broadcast(&ours, NOW_MS).unwrap();
    let child = spend_of(&f, &ours, 500);
    f.sandbox.broadcast(&child, NOW_MS).unwrap();
    let mut looks = Looks::new(&f);
    let rivals = coins.map(|coin| f.shop.spend(&[coin], 700));
    f.sandbox.mine_transactions(&rivals[1..], NOW_MS).unwrap();
    let lowest = f.sandbox.tip().unwrap().height;
    f.sandbox.mine_transactions(&rivals[..1], NOW_MS).unwrap();
    let (ours_view, child_view) = looks.both(&ours, &child);
    assert_eq!(
        (ours_view.conflict_height, child_view.conflict_height),
        (Some(lowest), Some(lowest))
    );
    assert_eq!(ours_view.conflicts.len(), 2);
}

#[test]
fn replacing_a_payment_is_reported_for_our_spend_of_it() {
    let f = Fixture::new();
    let paid = f.pay(50_000, 0);
    let ours = f.shop.spend(&[f.shop_coin(paid)], 500);
    f.sandbox.broadcast(&ours, NOW_MS).unwrap();
    let mut looks = Looks::new(&f);
    f.sandbox
        .replace(paid, Replace { fee_rate_sat_vb: None, to: ReplaceTo::Customer }, NOW_MS)
        .unwrap();
    let view = looks.changed(&ours);
    assert_eq!((view.position, view.conflict_in_mempool), (TxPosition::Absent, true));
    f.sandbox.mine(1, false, NOW_MS).unwrap();
    assert_eq!(looks.changed(&ours).conflict_height, Some(INITIAL_HEIGHT + 1));
}
