//! The effects of the calls that change the sandbox.

use std::collections::BTreeMap;

use tillgate_sandbox::{
    BroadcastFault, FaultsPatch, Pay, Replace, ReplaceTo, SandboxError, TxPosition,
};

use crate::common::{Fixture, INITIAL_HEIGHT, NOW_MS};

const TO_CUSTOMER: Replace = Replace { fee_rate_sat_vb: None, to: ReplaceTo::Customer };

#[test]
fn a_new_sandbox_has_its_initial_chain() {
    let status = Fixture::new().sandbox.status().unwrap();
    assert_eq!(status.height, INITIAL_HEIGHT);
    assert_eq!(status.tip_time_ms, NOW_MS);
    assert_eq!(status.mempool, []);
    assert_eq!(status.rates["USD"], "65000.00");
}

#[test]
fn paying_in_parts_puts_the_remainder_into_the_last() {
    let f = Fixture::new();
    let pay = Pay {
        script: f.shop.script.clone(),
        amount_sats: 100_001,
        parts: 3,
        fee_rate_sat_vb: Some(7),
        confirmations: 0,
    };
    let txids = f.sandbox.pay(pay, NOW_MS).unwrap();
    let sums: Vec<u64> = txids.iter().map(|txid| f.shop_coin(*txid).1).collect();
    assert_eq!(sums, [33_333, 33_333, 33_335]);
    for txid in &txids {
        assert_eq!(f.position(*txid), TxPosition::Mempool { entered_ms: NOW_MS });
        assert_eq!(f.view(*txid).fee_rate_sat_vb, 7);
    }
    let mut mempool = f.sandbox.status().unwrap().mempool;
    mempool.sort();
    let mut expected = txids.clone();
    expected.sort();
    assert_eq!(mempool, expected);
}

#[test]
fn one_transaction_pays_up_to_2000_scripts() {
    let f = Fixture::new();
    let payees = |count: u64| -> Vec<_> {
        (0..count).map(|more| (f.shop.script.clone(), 10_000 + more)).collect()
    };
    let txid = f.sandbox.pay_many(&payees(2_000), NOW_MS).unwrap();
    let view = f.view(txid);
    let sums: Vec<u64> =
        view.tx.output.iter().map(|output| output.value.to_sat()).take(2_000).collect();
    assert_eq!(sums, (10_000..12_000).collect::<Vec<u64>>());
    assert_eq!(view.position, TxPosition::Mempool { entered_ms: NOW_MS });
    assert_eq!(view.fee_rate_sat_vb, 5);
    for count in [0, 2_001] {
        let refused = f.sandbox.pay_many(&payees(count), NOW_MS).unwrap_err();
        assert!(matches!(refused, SandboxError::PayeeCount { max: 2_000, .. }), "{refused}");
    }
}

#[test]
fn paying_with_confirmations_mines_them() {
    let f = Fixture::new();
    let txid = f.pay(50_000, 2);
    assert_eq!(f.sandbox.status().unwrap().height, INITIAL_HEIGHT + 2);
    assert!(
        matches!(f.position(txid), TxPosition::Block { height, .. } if height == INITIAL_HEIGHT + 1)
    );
    assert_eq!(f.view(txid).fee_rate_sat_vb, 5);
}

#[test]
fn sums_counts_and_rates_out_of_range_are_refused_by_name() {
    let f = Fixture::new();
    let pay = |amount_sats, parts, fee_rate_sat_vb, confirmations| {
        let script = f.shop.script.clone();
        f.sandbox
            .pay(Pay { script, amount_sats, parts, fee_rate_sat_vb, confirmations }, NOW_MS)
            .unwrap_err()
    };
    assert!(matches!(
        pay(0, 1, None, 0),
        SandboxError::AmountTooSmall { amount_sats: 0, min_sats: 294 }
    ));
    assert!(matches!(pay(500, 2, None, 0), SandboxError::AmountTooSmall { amount_sats: 250, .. }));
    assert!(matches!(pay(5_000, 0, None, 0), SandboxError::PartCount { .. }));
    assert!(matches!(pay(5_000, 101, None, 0), SandboxError::PartCount { .. }));
    assert!(matches!(pay(5_000, 1, Some(0), 0), SandboxError::FeeRate { .. }));
    assert!(matches!(pay(5_000, 1, Some(10_001), 0), SandboxError::FeeRate { .. }));
    assert!(matches!(pay(5_000, 1, None, 1_001), SandboxError::BlockCount { .. }));
    assert!(matches!(f.sandbox.mine(0, false, NOW_MS), Err(SandboxError::BlockCount { .. })));
    assert!(matches!(f.sandbox.mine(1_001, false, NOW_MS), Err(SandboxError::BlockCount { .. })));
    assert_eq!(f.sandbox.status().unwrap().mempool, []);
}

#[test]
fn a_sum_beyond_all_coins_is_refused_with_advice() {
    let f = Fixture::new();
    let error = f.sandbox.send(f.shop.script.clone(), 2_000_000_000_000, NOW_MS).unwrap_err();
    assert!(matches!(error, SandboxError::CannotPay { .. }));
    assert!(error.to_string().contains("mine a block"), "{error}");
}

#[test]
fn a_large_sum_is_paid_from_several_coins() {
    let f = Fixture::new();
    let txid = f.sandbox.send(f.shop.script.clone(), 50_000_000_000, NOW_MS).unwrap();
    assert!(f.view(txid).tx.input.len() >= 10);
    f.sandbox.mine(1, false, NOW_MS).unwrap();
    assert!(f.is_in_block(txid));
}

#[test]
fn a_replacement_to_the_customer_cancels_the_payment() {
    let f = Fixture::new();
    let paid = f.pay(50_000, 0);
    let new = f.sandbox.replace(paid, TO_CUSTOMER, NOW_MS).unwrap()[0];
    assert!(f.is_absent(paid));
    assert!(f.is_in_mempool(new));
    let view = f.view(new);
    assert_eq!(view.fee_rate_sat_vb, 10);
    assert!(view.tx.output.iter().all(|output| output.script_pubkey != f.shop.script));
    assert_eq!(f.view(paid).conflicts, [new]);
    assert!(f.view(paid).conflict_in_mempool && f.view(paid).conflict_height.is_none());
    f.sandbox.mine(1, false, NOW_MS).unwrap();
    assert_eq!(f.view(paid).conflict_height, Some(INITIAL_HEIGHT + 1));
    assert!(!f.view(paid).conflict_in_mempool);
}

#[test]
fn replacing_to_the_same_address_pays_the_same_or_another_sum() {
    let f = Fixture::new();
    let paid = f.pay(50_000, 0);
    let same = Replace { fee_rate_sat_vb: None, to: ReplaceTo::SameAddress { amount_sats: None } };
    let second = f.sandbox.replace(paid, same, NOW_MS).unwrap()[0];
    assert_eq!(f.shop_coin(second).1, 50_000);
    let more = Replace {
        fee_rate_sat_vb: Some(40),
        to: ReplaceTo::SameAddress { amount_sats: Some(99_000_000) },
    };
    let third = f.sandbox.replace(second, more, NOW_MS).unwrap()[0];
    assert_eq!(f.shop_coin(third).1, 99_000_000);
    assert_eq!(f.view(third).fee_rate_sat_vb, 40);
    assert!(f.is_absent(second) && f.is_in_mempool(third));
}

#[test]
fn impossible_replacements_and_evictions_are_refused_by_name() {
    let f = Fixture::new();
    let confirmed = f.pay(50_000, 1);
    let unknown = "11".repeat(32).parse().unwrap();
    assert!(matches!(
        f.sandbox.replace(unknown, TO_CUSTOMER, NOW_MS),
        Err(SandboxError::UnknownTransaction(_))
    ));
    assert!(matches!(
        f.sandbox.replace(confirmed, TO_CUSTOMER, NOW_MS),
        Err(SandboxError::AlreadyConfirmed(_))
    ));
    assert!(matches!(f.sandbox.evict(unknown, NOW_MS), Err(SandboxError::UnknownTransaction(_))));
    assert!(matches!(f.sandbox.evict(confirmed, NOW_MS), Err(SandboxError::AlreadyConfirmed(_))));
    let replaced = f.pay(50_000, 0);
    let back = f.sandbox.replace(replaced, TO_CUSTOMER, NOW_MS).unwrap()[0];
    assert!(matches!(
        f.sandbox.replace(replaced, TO_CUSTOMER, NOW_MS),
        Err(SandboxError::NotInMempool(_))
    ));
    assert!(matches!(f.sandbox.evict(replaced, NOW_MS), Err(SandboxError::NotInMempool(_))));
    let same = Replace { fee_rate_sat_vb: None, to: ReplaceTo::SameAddress { amount_sats: None } };
    assert!(matches!(f.sandbox.replace(back, same, NOW_MS), Err(SandboxError::PaysNobodyElse(_))));
    let shops = f.shop.spend(&[f.shop_coin(confirmed)], 1_000);
    f.sandbox.broadcast(&shops, NOW_MS).unwrap();
    let refused = f.sandbox.replace(shops.compute_txid(), TO_CUSTOMER, NOW_MS);
    assert!(matches!(refused, Err(SandboxError::NotTheCustomers(_))));
}

#[test]
fn empty_blocks_do_not_change_the_mempool() {
    let f = Fixture::new();
    let txid = f.pay(50_000, 0);
    assert_eq!(f.sandbox.mine(3, true, NOW_MS).unwrap().len(), 3);
    assert!(f.is_in_mempool(txid));
    f.sandbox.mine(1, false, NOW_MS).unwrap();
    assert!(f.is_in_block(txid));
}

#[test]
fn the_clock_offset_only_grows_and_is_kept() {
    let f = Fixture::new();
    assert_eq!(f.sandbox.clock_offset_ms(), 0);
    assert_eq!(f.sandbox.advance_clock(90).unwrap(), 90_000);
    assert_eq!(f.sandbox.advance_clock(10).unwrap(), 100_000);
    assert!(matches!(f.sandbox.advance_clock(u64::MAX), Err(SandboxError::ClockOutOfRange { .. })));
    assert_eq!(f.reopen().sandbox.clock_offset_ms(), 100_000);
}

#[test]
fn rates_are_set_withdrawn_and_kept() {
    let f = Fixture::new();
    let change =
        BTreeMap::from([("USD".to_owned(), Some("70000.50".to_owned())), ("EUR".to_owned(), None)]);
    f.sandbox.set_rates(&change).unwrap();
    let rates = f.reopen().sandbox.rates().unwrap();
    assert_eq!(rates["USD"], "70000.50");
    assert!(!rates.contains_key("EUR"));
    assert!(rates.contains_key("JPY"));
}

#[test]
fn faults_change_one_by_one_and_are_kept() {
    let f = Fixture::new();
    f.sandbox.set_faults(FaultsPatch { chain_down: Some(true), ..Default::default() }).unwrap();
    f.sandbox.set_faults(FaultsPatch { latency_ms: Some(250), ..Default::default() }).unwrap();
    let faults = f.reopen().sandbox.faults().unwrap();
    assert!(faults.chain_down && faults.broadcast == BroadcastFault::Ok);
    assert_eq!(faults.latency_ms, 250);
}

#[test]
fn a_thousand_payments_need_no_block_between_them() {
    let f = Fixture::new();
    for _ in 0..10 {
        let script = f.shop.script.clone();
        let pay = Pay {
            script,
            amount_sats: 100 * 20_000,
            parts: 100,
            fee_rate_sat_vb: None,
            confirmations: 0,
        };
        f.sandbox.pay(pay, NOW_MS).unwrap();
    }
    // The large coins are still unspent, so a large sum can be paid.
    f.sandbox.send(f.shop.script.clone(), 4_900_000_000, NOW_MS).unwrap();
    f.sandbox.mine(1, false, NOW_MS).unwrap();
    assert_eq!(f.sandbox.status().unwrap().mempool, []);
}
