//! Reorganisations, and their entries in the change log.

use bitcoin::Txid;
use tillgate_sandbox::{Replace, ReplaceTo, Sandbox, SandboxError, TxPosition};

use crate::common::{Fixture, INITIAL_HEIGHT, NOW_MS};

fn changed(sandbox: &Sandbox, since: i64) -> Vec<Txid> {
    sandbox.changes_since(since, 1_000).unwrap().txs.iter().map(|view| view.txid).collect()
}

fn cursor(sandbox: &Sandbox) -> i64 {
    let changes = sandbox.changes_since(0, 1_000).unwrap();
    assert!(!changes.more);
    changes.cursor
}

#[test]
fn kept_transactions_return_to_the_mempool() {
    let f = Fixture::new();
    let paid = f.pay(50_000, 3);
    let shops = f.shop.spend(&[f.shop_coin(paid)], 500);
    f.sandbox.broadcast(&shops, NOW_MS).unwrap();
    f.sandbox.mine(1, false, NOW_MS).unwrap();
    let old_tip = f.sandbox.status().unwrap();
    let since = cursor(&f.sandbox);
    assert_eq!(f.sandbox.reorg(4, true, NOW_MS).unwrap().len(), 5);
    let status = f.sandbox.status().unwrap();
    assert_eq!(status.height, old_tip.height + 1);
    assert_ne!(status.tip_hash, old_tip.tip_hash);
    assert_eq!(status.mempool, [paid, shops.compute_txid()]);
    let changes = f.sandbox.changes_since(since, 1_000).unwrap();
    assert_eq!(changes.tip.hash, status.tip_hash);
    assert!(
        changes.txs.iter().any(|view| view.txid == paid && view.position != TxPosition::Absent)
    );
    f.sandbox.mine(1, false, NOW_MS).unwrap();
    assert!(f.is_in_block(paid) && f.is_in_block(shops.compute_txid()));
}

#[test]
fn without_keep_transactions_only_double_spends_are_mined() {
    let f = Fixture::new();
    let safe = f.pay(60_000, 1);
    let paid = f.pay(50_000, 0);
    let shops = f.shop.spend(&[f.shop_coin(safe)], 500);
    f.sandbox.broadcast(&shops, NOW_MS).unwrap();
    f.sandbox.mine(2, false, NOW_MS).unwrap();
    let waiting = f.pay(70_000, 0);
    f.sandbox.reorg(2, false, NOW_MS).unwrap();
    let view = f.view(paid);
    assert_eq!(view.position, TxPosition::Absent);
    assert!(view.conflict_height.is_some());
    let double = view.conflicts[0];
    assert!(f.is_in_block(double));
    assert!(f.view(double).tx.output.iter().all(|output| output.script_pubkey != f.shop.script));
    assert!(
        f.is_in_block(safe) && f.is_in_mempool(shops.compute_txid()) && f.is_in_mempool(waiting)
    );
    let in_new_blocks: Vec<Txid> = (INITIAL_HEIGHT + 2..=INITIAL_HEIGHT + 4)
        .flat_map(|height| f.sandbox.block(height).unwrap().unwrap().txdata.into_iter().skip(1))
        .map(|tx| tx.compute_txid())
        .collect();
    assert_eq!(in_new_blocks, [double]);
}

#[test]
fn a_child_of_a_double_spent_payment_becomes_absent() {
    let f = Fixture::new();
    let paid = f.pay(50_000, 1);
    let shops = f.shop.spend(&[f.shop_coin(paid)], 500);
    f.sandbox.broadcast(&shops, NOW_MS).unwrap();
    let since = cursor(&f.sandbox);
    f.sandbox.reorg(1, false, NOW_MS).unwrap();
    assert!(f.is_absent(paid) && f.is_absent(shops.compute_txid()));
    assert!(f.view(shops.compute_txid()).conflict_height.is_some());
    assert!(f.view(shops.compute_txid()).has_unconfirmed_ancestors);
    assert!(changed(&f.sandbox, since).contains(&shops.compute_txid()));
}

#[test]
fn a_reorganisation_cannot_reach_below_the_initial_chain() {
    let f = Fixture::new();
    assert!(matches!(
        f.sandbox.reorg(1, true, NOW_MS),
        Err(SandboxError::ReorgDepth { depth: 1, max: 0 })
    ));
    f.sandbox.mine(2, false, NOW_MS).unwrap();
    assert!(matches!(
        f.sandbox.reorg(3, true, NOW_MS),
        Err(SandboxError::ReorgDepth { depth: 3, max: 2 })
    ));
    assert!(matches!(f.sandbox.reorg(0, true, NOW_MS), Err(SandboxError::ReorgDepth { .. })));
    f.sandbox.reorg(2, true, NOW_MS).unwrap();
}

#[test]
fn mining_a_replacement_changes_the_replaced_transactions() {
    let f = Fixture::new();
    let paid = f.pay(50_000, 0);
    let shops = f.shop.spend(&[f.shop_coin(paid)], 500);
    f.sandbox.broadcast(&shops, NOW_MS).unwrap();
    let to_customer = Replace { fee_rate_sat_vb: None, to: ReplaceTo::Customer };
    let back = f.sandbox.replace(paid, to_customer, NOW_MS).unwrap()[0];
    let since = cursor(&f.sandbox);
    f.sandbox.mine(1, false, NOW_MS).unwrap();
    let txids = changed(&f.sandbox, since);
    for txid in [paid, back, shops.compute_txid()] {
        assert!(txids.contains(&txid));
    }
    let since = cursor(&f.sandbox);
    f.sandbox.mine(1, false, NOW_MS).unwrap();
    assert!(!changed(&f.sandbox, since).contains(&paid));
}

#[test]
fn pages_of_changes_hold_each_transaction_once_and_end() {
    let f = Fixture::new();
    let txids: Vec<Txid> = (0..7).map(|_| f.pay(50_000, 1)).collect();
    let (mut since, mut seen, mut pages) = (0, Vec::new(), 0);
    loop {
        let changes = f.sandbox.changes_since(since, 50).unwrap();
        assert!(changes.txs.len() <= 50 && changes.cursor > since);
        seen.extend(changes.txs.iter().map(|view| view.txid));
        since = changes.cursor;
        pages += 1;
        if !changes.more {
            break;
        }
    }
    assert!(pages > 3);
    assert!(txids.iter().all(|txid| seen.iter().filter(|other| *other == txid).count() == 1));
    let changes = f.sandbox.changes_since(since, 50).unwrap();
    assert!(changes.txs.is_empty() && !changes.more && changes.cursor == since);
}

#[test]
fn chain_mempool_and_change_log_survive_a_restart() {
    let f = Fixture::new();
    let paid = f.pay(50_000, 1);
    let waiting = f.pay(60_000, 0);
    let before = (f.sandbox.status().unwrap(), f.view(paid), f.view(waiting), cursor(&f.sandbox));
    let f = f.reopen();
    assert_eq!(
        (f.sandbox.status().unwrap(), f.view(paid), f.view(waiting), cursor(&f.sandbox)),
        before
    );
    f.sandbox
        .replace(waiting, Replace { fee_rate_sat_vb: None, to: ReplaceTo::Customer }, NOW_MS)
        .unwrap();
}

#[test]
fn a_reorganisation_keeps_the_chains_identity() {
    let f = Fixture::new();
    f.pay(50_000, 3);
    let (identity, since, tip) =
        (f.sandbox.identity(), cursor(&f.sandbox), f.sandbox.tip().unwrap());
    f.sandbox.reorg(2, true, NOW_MS).unwrap();
    assert!(f.sandbox.was_at(since, tip.height, tip.hash).unwrap());
    let f = f.reopen();
    assert!(f.sandbox.was_at(since, tip.height, tip.hash).unwrap());
    assert_eq!(f.sandbox.identity(), identity);
}
