//! The content of blocks: chosen by the fee rates of packages, or given exactly by a miner.

use bitcoin::{Amount, OutPoint, Transaction, TxOut, Txid};
use tillgate_sandbox::{BroadcastFault, BroadcastRefusal, FaultsPatch, Pay, SandboxError};

use crate::common::{Fixture, INITIAL_HEIGHT, NOW_MS, unsigned};

fn first_output(tx: &Transaction) -> (OutPoint, u64) {
    (OutPoint { txid: tx.compute_txid(), vout: 0 }, tx.output[0].value.to_sat())
}

fn pay_at(f: &Fixture, rate_sat_vb: u64) -> Txid {
    let script = f.shop.script.clone();
    let pay = Pay {
        script,
        amount_sats: 90_000,
        parts: 1,
        fee_rate_sat_vb: Some(rate_sat_vb),
        confirmations: 0,
    };
    f.sandbox.pay(pay, NOW_MS).unwrap()[0]
}

/// A transaction of about 50 kvB that spends one coin into a large first output and 1,600 small
/// ones.
fn large(f: &Fixture, coin: (OutPoint, u64)) -> Transaction {
    let small = TxOut { value: Amount::from_sat(330), script_pubkey: f.shop.script.clone() };
    let mut outputs = vec![small; 1_601];
    outputs[0].value = Amount::from_sat(coin.1 - 1_600 * 330 - 60_000);
    let mut tx = unsigned(&[coin], outputs);
    f.shop.sign(&mut tx, &[coin]);
    assert!((49_000..51_000).contains(&tx.vsize()), "{}", tx.vsize());
    tx
}

#[test]
fn a_transaction_below_the_miners_rate_stays_in_the_mempool() {
    let f = Fixture::new();
    let (one, five, ten) = (pay_at(&f, 1), pay_at(&f, 5), pay_at(&f, 10));
    // A signature may be a byte shorter than expected, which makes the rate a little higher.
    f.sandbox.mine_above(2, 10_500, NOW_MS).unwrap();
    assert!(f.is_in_mempool(ten));
    f.sandbox.mine_above(1, 10_000, NOW_MS).unwrap();
    assert!(f.is_in_block(ten) && f.is_in_mempool(five));
    f.sandbox.mine_above(1, 4_999, NOW_MS).unwrap();
    assert!(f.is_in_block(five) && f.is_in_mempool(one));
    f.sandbox.mine(1, false, NOW_MS).unwrap();
    assert!(f.is_in_block(one));
    assert!(matches!(f.sandbox.mine_above(0, 1, NOW_MS), Err(SandboxError::BlockCount { .. })));
}

#[test]
fn a_child_that_pays_for_its_parent_brings_it_along() {
    let f = Fixture::new();
    // The customer's payment has about 141 vB and pays 1 sat/vB.
    let parent = pay_at(&f, 1);
    let poor = f.shop.spend(&[f.shop_coin(parent)], 1_500);
    f.sandbox.broadcast(&poor, NOW_MS).unwrap();
    // `poor` has 110 vB and pays 13 sat/vB by itself, but less than 7 with its parent.
    f.sandbox.mine_above(1, 7_000, NOW_MS).unwrap();
    assert!(f.is_in_mempool(parent) && f.is_in_mempool(poor.compute_txid()));
    let rich = f.shop.spend(&[f.shop_coin(parent)], 3_000);
    f.sandbox.broadcast(&rich, NOW_MS).unwrap();
    let cheap = f.shop.spend(&[first_output(&rich)], 200);
    f.sandbox.broadcast(&cheap, NOW_MS).unwrap();
    f.sandbox.mine_above(1, 7_000, NOW_MS).unwrap();
    assert!(f.is_in_block(parent) && f.is_in_block(rich.compute_txid()));
    assert!(
        f.is_in_mempool(cheap.compute_txid()),
        "the ancestors paid for themselves, but not for `cheap`"
    );
}

#[test]
fn a_child_of_a_chosen_parent_is_ranked_by_its_own_rate() {
    let f = Fixture::new();
    let coin = f.shop_coin(pay_at(&f, 5));
    f.sandbox.mine(1, false, NOW_MS).unwrap();
    let outputs = [40_000, 49_800]
        .map(|sats| TxOut { value: Amount::from_sat(sats), script_pubkey: f.shop.script.clone() });
    let mut parent = unsigned(&[coin], outputs.to_vec());
    f.shop.sign(&mut parent, &[coin]);
    let txid = parent.compute_txid();
    let modest = f.shop.spend(&[(OutPoint { txid, vout: 0 }, 40_000)], 1_100);
    let generous = f.shop.spend(&[(OutPoint { txid, vout: 1 }, 49_800)], 4_000);
    for tx in [&parent, &modest, &generous] {
        f.sandbox.broadcast(tx, NOW_MS).unwrap();
    }
    f.sandbox.mine_above(1, 9_900, NOW_MS).unwrap();
    let block = f.sandbox.block(INITIAL_HEIGHT + 2).unwrap().unwrap();
    let mined: Vec<Txid> = block.txdata.iter().skip(1).map(Transaction::compute_txid).collect();
    assert_eq!(mined, [txid, generous.compute_txid(), modest.compute_txid()]);
}

#[test]
fn a_child_below_the_rate_stays_out_though_its_package_is_above() {
    let f = Fixture::new();
    let coin = f.shop_coin(f.pay(100_000, 1));
    let outputs = [49_800, 50_000]
        .map(|sats| TxOut { value: Amount::from_sat(sats), script_pubkey: f.shop.script.clone() });
    let mut first = unsigned(&[coin], outputs.to_vec());
    f.shop.sign(&mut first, &[coin]);
    let txid = first.compute_txid();
    let one = f.shop.spend(&[(OutPoint { txid, vout: 0 }, 49_800)], 1_500);
    let other = f.shop.spend(&[(OutPoint { txid, vout: 1 }, 50_000)], 1_500);
    // `child` pays 8 sat/vB by itself, and 8.5 together with all its ancestors.
    let child = f.shop.spend(&[first_output(&one), first_output(&other)], 1_424);
    for tx in [&first, &one, &other, &child] {
        f.sandbox.broadcast(tx, NOW_MS).unwrap();
    }
    f.sandbox.mine_above(1, 8_200, NOW_MS).unwrap();
    assert!(f.is_in_mempool(child.compute_txid()));
    f.sandbox.mine_above(1, 7_900, NOW_MS).unwrap();
    assert_eq!(f.sandbox.status().unwrap().mempool, []);
}

#[test]
fn an_unconfirmed_chain_above_101_kvb_is_refused() {
    let f = Fixture::new();
    let first = large(&f, f.shop_coin(f.pay(50_000_000, 1)));
    let second = large(&f, first_output(&first));
    let third = large(&f, first_output(&second));
    for tx in [&first, &second] {
        f.sandbox.broadcast(tx, NOW_MS).unwrap();
    }
    let refused = f.sandbox.broadcast(&third, NOW_MS).unwrap_err();
    assert!(
        matches!(&refused, BroadcastRefusal::Policy(why) if why.contains("101 kvB")),
        "{refused}"
    );
    // A small child of the second is accepted, and the third itself once its ancestors are in a
    // block.
    let small = f.shop.spend(&[first_output(&second)], 300);
    f.sandbox.broadcast(&small, NOW_MS).unwrap();
    f.sandbox.evict(small.compute_txid(), NOW_MS).unwrap();
    f.sandbox.mine(1, false, NOW_MS).unwrap();
    f.sandbox.broadcast(&third, NOW_MS).unwrap();
}

#[test]
fn the_sizes_of_all_unconfirmed_ancestors_are_added() {
    let f = Fixture::new();
    let parents = [50_000_000, 60_000_000].map(|sats| large(&f, f.shop_coin(f.pay(sats, 1))));
    for tx in &parents {
        f.sandbox.broadcast(tx, NOW_MS).unwrap();
    }
    let coins = parents.each_ref().map(first_output);
    let mut child = unsigned(
        &coins,
        vec![TxOut { value: Amount::from_sat(330), script_pubkey: f.shop.script.clone() }; 200],
    );
    f.shop.sign(&mut child, &coins);
    let refused = f.sandbox.broadcast(&child, NOW_MS).unwrap_err();
    assert!(
        matches!(&refused, BroadcastRefusal::Policy(why) if why.contains("101 kvB")),
        "{refused}"
    );
    f.sandbox.broadcast(&f.shop.spend(&coins, 500), NOW_MS).unwrap();
}

#[test]
fn a_child_is_refused_if_all_descendants_exceed_101_kvb() {
    let f = Fixture::new();
    let coin = f.shop_coin(f.pay(50_000_000, 1));
    let outputs = [15_000_000; 3]
        .map(|sats| TxOut { value: Amount::from_sat(sats), script_pubkey: f.shop.script.clone() });
    let mut parent = unsigned(&[coin], outputs.to_vec());
    f.shop.sign(&mut parent, &[coin]);
    let txid = parent.compute_txid();
    f.sandbox.broadcast(&parent, NOW_MS).unwrap();
    let child = |vout| large(&f, (OutPoint { txid, vout }, 15_000_000));
    f.sandbox.broadcast(&child(0), NOW_MS).unwrap();
    f.sandbox.broadcast(&child(1), NOW_MS).unwrap();
    let refused = f.sandbox.broadcast(&child(2), NOW_MS).unwrap_err();
    assert!(
        matches!(&refused, BroadcastRefusal::Policy(why) if why.contains("descendants")),
        "{refused}"
    );
}

#[test]
fn the_26th_transaction_of_an_unconfirmed_chain_is_refused() {
    let f = Fixture::new();
    let mut coin = f.shop_coin(f.pay(50_000_000, 1));
    for _ in 1..=25 {
        let tx = f.shop.spend(&[coin], 500);
        f.sandbox.broadcast(&tx, NOW_MS).unwrap();
        coin = first_output(&tx);
    }
    let refused = f.sandbox.broadcast(&f.shop.spend(&[coin], 500), NOW_MS).unwrap_err();
    assert!(matches!(&refused, BroadcastRefusal::Policy(why) if why.contains("24")), "{refused}");
}

#[test]
fn a_miners_own_transaction_drops_its_conflicts() {
    let f = Fixture::new();
    let coin = f.shop_coin(f.pay(50_000, 1));
    let ours = f.shop.spend(&[coin], 1_000);
    let child = f.shop.spend(&[first_output(&ours)], 1_000);
    for tx in [&ours, &child] {
        f.sandbox.broadcast(tx, NOW_MS).unwrap();
    }
    let waiting = f.pay(60_000, 0);
    // The twin and its child pay no fee, because consensus requires none.
    let twin = f.shop.spend(&[coin], 0);
    let twins_child = f.shop.spend(&[first_output(&twin)], 0);
    f.sandbox
        .set_faults(FaultsPatch { broadcast: Some(BroadcastFault::Reject), ..Default::default() })
        .unwrap();
    let since = f.sandbox.changes_since(0, 10_000).unwrap().cursor;
    let hash = f.sandbox.mine_transactions(&[twin.clone(), twins_child.clone()], NOW_MS).unwrap();
    let block = f.sandbox.block(INITIAL_HEIGHT + 2).unwrap().unwrap();
    assert_eq!(block.block_hash(), hash);
    assert_eq!(block.txdata[1..], [twin.clone(), twins_child]);
    assert_eq!(f.sandbox.status().unwrap().mempool, [waiting]);
    let changes = f.sandbox.changes_since(since, 10_000).unwrap().txs;
    for tx in [&ours, &child, &twin] {
        assert!(changes.iter().any(|view| view.txid == tx.compute_txid()));
    }
    assert_eq!(f.view(ours.compute_txid()).conflict_height, Some(INITIAL_HEIGHT + 2));
    // The dropped transaction can be mined after the block with the twin is disconnected.
    f.sandbox.reorg(1, true, NOW_MS).unwrap();
    f.sandbox.mine_transactions(std::slice::from_ref(&ours), NOW_MS).unwrap();
    assert!(f.is_in_block(ours.compute_txid()) && f.is_absent(twin.compute_txid()));
}

#[test]
fn a_miner_cannot_break_the_rules_of_consensus() {
    let f = Fixture::new();
    let coin = f.shop_coin(f.pay(50_000, 1));
    let good = f.shop.spend(&[coin], 1_000);
    let child = f.shop.spend(&[first_output(&good)], 1_000);
    let mut unsigned_spend = good.clone();
    unsigned_spend.input[0].witness.clear();
    let greedy = f.shop.spend(&[(coin.0, coin.1 + 5_000)], 0);
    let unknown = f
        .shop
        .spend(&[(OutPoint { txid: "22".repeat(32).parse().unwrap(), vout: 0 }, 50_000)], 500);
    let rival = f.shop.spend(&[coin], 2_000);
    for broken in [
        vec![child.clone(), good.clone()],
        vec![unsigned_spend],
        vec![greedy],
        vec![unknown],
        vec![good.clone(), rival.clone()],
        vec![good.clone(), good.clone()],
    ] {
        let refused = f.sandbox.mine_transactions(&broken, NOW_MS).unwrap_err();
        assert!(matches!(refused, SandboxError::InvalidBlock(_)), "{refused}");
    }
    assert_eq!(f.sandbox.tip().unwrap().height, INITIAL_HEIGHT + 1);
    assert!(!f.sandbox.is_known(good.compute_txid()).unwrap());
    f.sandbox.broadcast(&good, NOW_MS).unwrap();
    assert!(
        f.sandbox.mine_transactions(std::slice::from_ref(&child), NOW_MS).is_err(),
        "the parent is in no block"
    );
    f.sandbox.mine_transactions(&[good, child], NOW_MS).unwrap();
    assert!(f.sandbox.mine_transactions(&[rival], NOW_MS).is_err(), "the coin is spent");
}
