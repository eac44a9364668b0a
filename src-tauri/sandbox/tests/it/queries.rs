//! Queries about single transactions, outputs and blocks.

use bitcoin::OutPoint;
use tillgate_sandbox::{Replace, ReplaceTo, TxPosition};

use crate::common::{Fixture, NOW_MS};

#[test]
fn a_mempool_entry_ends_when_its_transaction_is_replaced() {
    let fixture = Fixture::new();
    let parent = fixture.pay(100_000, 0);
    let entry = fixture.sandbox.mempool_entry(parent).unwrap().unwrap();
    assert_eq!((entry.entered_ms, entry.ancestors.len()), (NOW_MS, 0));
    assert_eq!(entry.fee_sats, fixture.fee_sats(parent));
    let view = fixture.sandbox.transaction(parent).unwrap().unwrap();
    assert_eq!(
        (view.position, entry.vsize),
        (TxPosition::Mempool { entered_ms: NOW_MS }, view.tx.vsize() as u64)
    );

    let spent = view.tx.input[0].previous_output;
    assert_eq!(fixture.sandbox.spender_in_mempool(spent).unwrap(), Some(parent));
    let replace = Replace { fee_rate_sat_vb: None, to: ReplaceTo::Customer };
    let rival = fixture.sandbox.replace(parent, replace, NOW_MS).unwrap()[0];
    assert_eq!(fixture.sandbox.spender_in_mempool(spent).unwrap(), Some(rival));
    assert_eq!(fixture.sandbox.mempool_entry(parent).unwrap(), None, "the parent was replaced");
}

#[test]
fn an_output_is_unspent_in_the_chain_until_a_block_spends_it() {
    let fixture = Fixture::new();
    let paid = fixture.pay(100_000, 0);
    let (outpoint, amount_sats) = fixture.shop_coin(paid);
    let in_chain = |outpoint: OutPoint| fixture.sandbox.unspent(outpoint, false).unwrap();
    let spent = fixture.sandbox.transaction(paid).unwrap().unwrap().tx.input[0].previous_output;
    assert_eq!(in_chain(outpoint), None, "no block holds the output");
    assert_eq!(fixture.sandbox.unspent(outpoint, true).unwrap().unwrap().confirmations, 0);
    assert!(in_chain(spent).is_some());
    assert_eq!(
        fixture.sandbox.unspent(spent, true).unwrap(),
        None,
        "the mempool spends the output"
    );
    let before = fixture.sandbox.last_change().unwrap();
    fixture.sandbox.mine(2, false, NOW_MS).unwrap();
    assert!(fixture.sandbox.last_change().unwrap() > before);
    let unspent = in_chain(outpoint).unwrap();
    assert_eq!((unspent.confirmations, unspent.output.value.to_sat()), (2, amount_sats));
    assert_eq!(in_chain(spent), None);
}

#[test]
fn a_block_of_the_best_chain_is_found_by_its_hash() {
    let fixture = Fixture::new();
    let tip = fixture.sandbox.tip().unwrap();
    assert_eq!(fixture.sandbox.height_of(tip.hash).unwrap(), Some(tip.height));
    let genesis = fixture.sandbox.block(0).unwrap().unwrap().block_hash();
    assert_eq!(fixture.sandbox.height_of(genesis).unwrap(), Some(0));
    let mined = fixture.sandbox.mine(1, false, NOW_MS).unwrap()[0];
    fixture.sandbox.reorg(1, true, NOW_MS).unwrap();
    assert_eq!(
        fixture.sandbox.height_of(mined).unwrap(),
        None,
        "the reorganisation disconnected the block"
    );
}
