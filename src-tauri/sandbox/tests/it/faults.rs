//! Broadcasts under each fault, and the storage of all faults.

use bitcoin::OutPoint;
use tillgate_sandbox::{Broadcast, BroadcastFault, BroadcastRefusal, FaultsPatch};

use crate::common::{Fixture, NOW_MS};

fn set(f: &Fixture, broadcast: BroadcastFault) {
    f.sandbox.set_faults(FaultsPatch { broadcast: Some(broadcast), ..Default::default() }).unwrap();
}

#[test]
fn each_fault_is_set_alone_and_survives_a_restart() {
    let f = Fixture::new();
    assert_eq!(f.sandbox.faults().unwrap().fee_estimate_sat_vb(), 2);
    set(&f, BroadcastFault::Timeout);
    f.sandbox.set_faults(FaultsPatch { keys_locked: Some(true), ..Default::default() }).unwrap();
    f.sandbox
        .set_faults(FaultsPatch { fee_rate_sat_vb: Some(Some(321)), ..Default::default() })
        .unwrap();
    f.sandbox.set_faults(FaultsPatch { latency_ms: Some(5), ..Default::default() }).unwrap();
    let f = f.reopen();
    let faults = f.sandbox.faults().unwrap();
    assert_eq!((faults.broadcast, faults.keys_locked), (BroadcastFault::Timeout, true));
    assert_eq!((faults.fee_rate_sat_vb, faults.fee_estimate_sat_vb()), (Some(321), 321));
    assert_eq!((faults.chain_down, faults.latency_ms), (false, 5));
    f.sandbox
        .set_faults(FaultsPatch { fee_rate_sat_vb: Some(None), ..Default::default() })
        .unwrap();
    assert_eq!(f.sandbox.faults().unwrap().fee_estimate_sat_vb(), 2);
}

#[test]
fn a_broadcast_that_times_out_is_accepted_without_an_answer() {
    let f = Fixture::new();
    let tx = f.shop.spend(&[f.shop_coin(f.pay(50_000, 1))], 500);
    set(&f, BroadcastFault::Timeout);
    assert!(matches!(f.sandbox.broadcast(&tx, NOW_MS), Err(BroadcastRefusal::Unanswered)));
    assert!(f.is_in_mempool(tx.compute_txid()));
    // An invalid transaction gets no answer either, and is not accepted.
    let unknown = (OutPoint { txid: "22".repeat(32).parse().unwrap(), vout: 0 }, 50_000);
    let bad = f.shop.spend(&[unknown], 500);
    assert!(matches!(f.sandbox.broadcast(&bad, NOW_MS), Err(BroadcastRefusal::Unanswered)));
    assert!(!f.sandbox.is_known(bad.compute_txid()).unwrap());
    let f = f.reopen();
    assert!(f.is_in_mempool(tx.compute_txid()));
    set(&f, BroadcastFault::Ok);
    assert_eq!(f.sandbox.broadcast(&tx, NOW_MS).unwrap(), Broadcast::AlreadyKnown);
}

#[test]
fn a_forgotten_broadcast_is_answered_as_accepted() {
    let f = Fixture::new();
    let coin = f.shop_coin(f.pay(50_000, 1));
    let parent = f.shop.spend(&[coin], 500);
    let child = f.shop.spend(&[(OutPoint { txid: parent.compute_txid(), vout: 0 }, 49_500)], 500);
    let rival = f.shop.spend(&[coin], 200);
    f.sandbox.broadcast(&rival, NOW_MS).unwrap();
    set(&f, BroadcastFault::Forget);
    let since = f.sandbox.changes_since(0, 10_000).unwrap().cursor;
    // A whole package is forgotten too, even one that would replace a transaction.
    assert_eq!(
        f.sandbox.broadcast_package(&[parent.clone(), child], NOW_MS).unwrap(),
        Broadcast::Accepted
    );
    assert_eq!(f.sandbox.status().unwrap().mempool, [rival.compute_txid()]);
    assert!(!f.sandbox.is_known(parent.compute_txid()).unwrap());
    assert_eq!(f.sandbox.changes_since(since, 10_000).unwrap().txs, []);
    // Refusals by the rules and known transactions are answered as usual.
    let mut bad = parent.clone();
    bad.input[0].witness.clear();
    assert!(matches!(
        f.sandbox.broadcast(&bad, NOW_MS),
        Err(BroadcastRefusal::ScriptInvalid { .. })
    ));
    assert_eq!(f.sandbox.broadcast(&rival, NOW_MS).unwrap(), Broadcast::AlreadyKnown);
    set(&f, BroadcastFault::Ok);
    assert_eq!(f.sandbox.broadcast(&parent, NOW_MS).unwrap(), Broadcast::Accepted);
}

#[test]
fn a_package_is_accepted_up_to_its_first_refused_transaction() {
    let f = Fixture::new();
    let parent = f.shop.spend(&[f.shop_coin(f.pay(50_000, 1))], 500);
    let parent_coin = OutPoint { txid: parent.compute_txid(), vout: 0 };
    let cheap = f.shop.spend(&[(parent_coin, 49_500)], 1);
    let refused = f.sandbox.broadcast_package(&[parent.clone(), cheap], NOW_MS);
    assert!(matches!(refused, Err(BroadcastRefusal::Policy(_))), "{refused:?}");
    assert_eq!(f.sandbox.status().unwrap().mempool, [parent.compute_txid()]);
    let child = f.shop.spend(&[(parent_coin, 49_500)], 500);
    assert_eq!(f.sandbox.broadcast_package(&[parent, child], NOW_MS).unwrap(), Broadcast::Accepted);
}

#[test]
fn broadcast_faults_do_not_affect_the_customer() {
    let f = Fixture::new();
    for fault in BroadcastFault::ALL {
        set(&f, fault);
        let paid = f.pay(50_000, 0);
        assert!(f.is_in_mempool(paid), "{fault:?}");
        f.sandbox.mine(1, false, NOW_MS).unwrap();
        assert!(f.is_in_block(paid), "{fault:?}");
    }
}
