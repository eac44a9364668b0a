//! Consensus and relay rules: the sandbox refuses the transactions that real nodes refuse, and
//! names the reason.

use bitcoin::absolute::LockTime;
use bitcoin::{Amount, OutPoint, ScriptBuf, Sequence, Target, TxOut};
use tillgate_sandbox::{
    Broadcast, BroadcastFault, BroadcastRefusal, FaultsPatch, Replace, ReplaceTo,
};

use crate::common::{Fixture, INITIAL_HEIGHT, NOW_MS, unsigned};

#[test]
fn every_block_has_work_merkle_root_commitment_and_height() {
    let f = Fixture::new();
    f.pay(50_000, 3);
    f.sandbox.mine(20, false, NOW_MS).unwrap();
    let mut times = Vec::new();
    let mut parent = f.sandbox.block(0).unwrap().unwrap();
    for height in 1..=INITIAL_HEIGHT + 23 {
        let block = f.sandbox.block(height).unwrap().unwrap();
        assert_eq!(block.header.prev_blockhash, parent.block_hash());
        block.header.validate_pow(Target::MAX_ATTAINABLE_REGTEST).unwrap();
        assert!(block.check_merkle_root() && block.check_witness_commitment());
        let coinbase = block.coinbase().unwrap();
        assert!(coinbase.is_coinbase() && coinbase.input[0].script_sig.len() >= 2);
        assert_eq!(
            coinbase.output[1].script_pubkey.as_bytes()[..6],
            [0x6a, 0x24, 0xaa, 0x21, 0xa9, 0xed]
        );
        if height > 16 {
            assert_eq!(block.bip34_block_height().unwrap(), u64::from(height));
        }
        let mut last: Vec<u32> = times.iter().rev().take(11).copied().collect();
        last.sort_unstable();
        assert!(last.is_empty() || block.header.time > last[last.len() / 2]);
        times.push(block.header.time);
        parent = block;
    }
    assert!(f.sandbox.block(INITIAL_HEIGHT + 24).unwrap().is_none());
}

#[test]
fn the_subsidy_halves_every_150_blocks_and_fees_are_added() {
    let f = Fixture::new();
    f.sandbox.mine(60, true, NOW_MS).unwrap();
    let reward =
        |height| f.sandbox.block(height).unwrap().unwrap().txdata[0].output[0].value.to_sat();
    assert_eq!(
        [reward(149), reward(150), reward(299), reward(300)],
        [50, 25, 25, 12].map(|btc| { if btc == 12 { 1_250_000_000 } else { btc * 100_000_000 } })
    );
    let txid = f.pay(50_000, 1);
    assert_eq!(reward(INITIAL_HEIGHT + 61), 1_250_000_000 + f.fee_sats(txid));
}

#[test]
fn a_valid_spend_is_accepted_once_and_then_known() {
    let f = Fixture::new();
    let paid = f.pay(50_000, 1);
    let tx = f.shop.spend(&[f.shop_coin(paid)], 500);
    assert_eq!(f.sandbox.broadcast(&tx, NOW_MS).unwrap(), Broadcast::Accepted);
    assert_eq!(f.sandbox.broadcast(&tx, NOW_MS).unwrap(), Broadcast::AlreadyKnown);
    f.sandbox.mine(1, false, NOW_MS).unwrap();
    assert_eq!(f.sandbox.broadcast(&tx, NOW_MS).unwrap(), Broadcast::AlreadyKnown);
}

#[test]
fn wrong_signatures_and_wrong_amounts_are_refused() {
    let f = Fixture::new();
    let paid = f.pay(50_000, 1);
    let (outpoint, sats) = f.shop_coin(paid);
    let mut tx = f.shop.spend(&[(outpoint, sats)], 500);
    tx.output[0].value = Amount::from_sat(sats - 501);
    let refused = f.sandbox.broadcast(&tx, NOW_MS);
    assert!(matches!(refused, Err(BroadcastRefusal::ScriptInvalid { input: 0 })), "{refused:?}");
    // This spend is signed for another amount than the coin has.
    let mut tx = f.shop.spend(&[(outpoint, sats)], 500);
    f.shop.sign(&mut tx, &[(outpoint, sats + 1)]);
    let refused = f.sandbox.broadcast(&tx, NOW_MS);
    assert!(matches!(refused, Err(BroadcastRefusal::ScriptInvalid { input: 0 })), "{refused:?}");
    // This spend's output exceeds its input.
    let tx = f.shop.spend(&[(outpoint, sats + 10_000)], 500);
    let refused = f.sandbox.broadcast(&tx, NOW_MS);
    assert!(matches!(refused, Err(BroadcastRefusal::Invalid(_))), "{refused:?}");
    assert!(!f.sandbox.is_known(tx.compute_txid()).unwrap());
}

#[test]
fn a_taproot_spend_without_its_signature_is_refused() {
    let f = Fixture::new();
    let (internal, _) = f.shop.keypair.x_only_public_key();
    let script = ScriptBuf::new_p2tr(&f.shop.secp, internal, None);
    let paid = f.sandbox.send(script.clone(), 50_000, NOW_MS).unwrap();
    let vout =
        f.view(paid).tx.output.iter().position(|output| output.script_pubkey == script).unwrap();
    let coin = (OutPoint { txid: paid, vout: vout as u32 }, 50_000);
    let tx = f.shop.spend(&[coin], 500);
    let refused = f.sandbox.broadcast(&tx, NOW_MS);
    assert!(matches!(refused, Err(BroadcastRefusal::ScriptInvalid { input: 0 })), "{refused:?}");
}

#[test]
fn spending_a_spent_or_unknown_output_is_refused() {
    let f = Fixture::new();
    let coin = f.shop_coin(f.pay(50_000, 1));
    let first = f.shop.spend(&[coin], 500);
    f.sandbox.broadcast(&first, NOW_MS).unwrap();
    f.sandbox.mine(1, false, NOW_MS).unwrap();
    let refused = f.sandbox.broadcast(&f.shop.spend(&[coin], 5_000), NOW_MS);
    assert!(
        matches!(refused, Err(BroadcastRefusal::InputSpent { spender, .. }) if spender == first.compute_txid())
    );
    let unknown = (OutPoint { txid: "22".repeat(32).parse().unwrap(), vout: 0 }, 50_000);
    let refused = f.sandbox.broadcast(&f.shop.spend(&[unknown], 500), NOW_MS);
    assert!(
        matches!(refused, Err(BroadcastRefusal::MissingInputs(outpoint)) if outpoint == unknown.0)
    );
    let twice = f.shop.spend(&[coin, coin], 500);
    assert!(matches!(f.sandbox.broadcast(&twice, NOW_MS), Err(BroadcastRefusal::Invalid(_))));
}

#[test]
fn an_immature_coinbase_is_refused() {
    let f = Fixture::new();
    let coinbase = f.sandbox.block(INITIAL_HEIGHT - 98).unwrap().unwrap().txdata[0].clone();
    let coin =
        (OutPoint { txid: coinbase.compute_txid(), vout: 0 }, coinbase.output[0].value.to_sat());
    let tx = f.shop.spend(&[coin], 5_000);
    let refused = f.sandbox.broadcast(&tx, NOW_MS);
    let first = INITIAL_HEIGHT + 2;
    assert!(
        matches!(refused, Err(BroadcastRefusal::ImmatureCoinbase { from_height, .. }) if from_height == first),
        "{refused:?}"
    );
    // The coin is mature now; only the signature is wrong.
    f.sandbox.mine(1, true, NOW_MS).unwrap();
    assert!(matches!(
        f.sandbox.broadcast(&tx, NOW_MS),
        Err(BroadcastRefusal::ScriptInvalid { .. })
    ));
}

#[test]
fn low_fees_and_dust_are_not_relayed() {
    let f = Fixture::new();
    let coin = f.shop_coin(f.pay(50_000, 1));
    let refused = f.sandbox.broadcast(&f.shop.spend(&[coin], 50), NOW_MS);
    assert!(matches!(refused, Err(BroadcastRefusal::Policy(_))), "{refused:?}");
    let refused = f.sandbox.broadcast(&f.shop.spend(&[coin], 49_800), NOW_MS);
    assert!(matches!(refused, Err(BroadcastRefusal::Policy(_))), "{refused:?}");
}

#[test]
fn locked_transactions_are_refused_until_their_height() {
    let f = Fixture::new();
    let coin = f.shop_coin(f.pay(50_000, 1));
    let tip = INITIAL_HEIGHT + 1;
    let output =
        || vec![TxOut { value: Amount::from_sat(49_000), script_pubkey: f.shop.script.clone() }];
    let mut absolute = unsigned(&[coin], output());
    absolute.lock_time = LockTime::from_height(tip + 1).unwrap();
    f.shop.sign(&mut absolute, &[coin]);
    let mut relative = unsigned(&[coin], output());
    relative.input[0].sequence = Sequence::from_height(2);
    f.shop.sign(&mut relative, &[coin]);
    for tx in [&absolute, &relative] {
        assert!(matches!(f.sandbox.broadcast(tx, NOW_MS), Err(BroadcastRefusal::Locked(_))));
    }
    f.sandbox.mine(1, true, NOW_MS).unwrap();
    f.sandbox.broadcast(&absolute, NOW_MS).unwrap();
    f.sandbox.evict(absolute.compute_txid(), NOW_MS).unwrap();
    f.sandbox.broadcast(&relative, NOW_MS).unwrap();
}

#[test]
fn a_replacement_must_pay_the_fees_of_all_it_replaces() {
    let f = Fixture::new();
    let coin = f.shop_coin(f.pay(100_000, 1));
    let parent = f.shop.spend(&[coin], 1_000);
    f.sandbox.broadcast(&parent, NOW_MS).unwrap();
    let child = f.shop.spend(&[(OutPoint { txid: parent.compute_txid(), vout: 0 }, 99_000)], 2_000);
    f.sandbox.broadcast(&child, NOW_MS).unwrap();
    assert!(f.view(child.compute_txid()).has_unconfirmed_ancestors);
    // The replacement has 110 vB, so it must pay 110 satoshis on top of both fees.
    let refused = f.sandbox.broadcast(&f.shop.spend(&[coin], 3_050), NOW_MS);
    assert!(
        matches!(
            refused,
            Err(BroadcastRefusal::ReplacementFeeTooLow { fee_sats: 3_050, min_sats: 3_110 })
        ),
        "{refused:?}"
    );
    assert!(f.is_in_mempool(child.compute_txid()));
    let new = f.shop.spend(&[coin], 3_110);
    f.sandbox.broadcast(&new, NOW_MS).unwrap();
    assert!(f.is_absent(parent.compute_txid()) && f.is_absent(child.compute_txid()));
    assert!(f.view(child.compute_txid()).conflict_in_mempool);
    // The child of the replaced transaction has lost its input.
    assert!(matches!(f.sandbox.broadcast(&child, NOW_MS), Err(BroadcastRefusal::MissingInputs(_))));
}

#[test]
fn a_customers_replacement_at_too_low_a_rate_changes_nothing() {
    let f = Fixture::new();
    let paid = f.pay(50_000, 0);
    let low = Replace { fee_rate_sat_vb: Some(5), to: ReplaceTo::Customer };
    f.sandbox.replace(paid, low, NOW_MS).unwrap_err();
    assert!(f.is_in_mempool(paid));
}

#[test]
fn an_evicted_transaction_is_refused_until_the_next_block() {
    let f = Fixture::new();
    let paid = f.pay(50_000, 0);
    let child = f.shop.spend(&[f.shop_coin(paid)], 500);
    f.sandbox.broadcast(&child, NOW_MS).unwrap();
    f.sandbox.evict(paid, NOW_MS).unwrap();
    assert!(f.is_absent(paid) && f.is_absent(child.compute_txid()));
    assert!(!f.view(paid).conflict_in_mempool);
    let tx = f.view(paid).tx;
    assert!(matches!(f.sandbox.broadcast(&tx, NOW_MS), Err(BroadcastRefusal::Refused(_))));
    // The customer's next payment does not double-spend the evicted one.
    let next = f.pay(50_000, 0);
    assert_eq!(f.view(next).conflicts, []);
    let f = f.reopen();
    assert!(matches!(f.sandbox.broadcast(&tx, NOW_MS), Err(BroadcastRefusal::Refused(_))));
    f.sandbox.mine(1, false, NOW_MS).unwrap();
    assert_eq!(f.sandbox.broadcast(&tx, NOW_MS).unwrap(), Broadcast::Accepted);
    assert!(f.is_in_mempool(paid));
}

#[test]
fn the_reject_fault_refuses_broadcasts() {
    let f = Fixture::new();
    let tx = f.shop.spend(&[f.shop_coin(f.pay(50_000, 1))], 500);
    f.sandbox
        .set_faults(FaultsPatch { broadcast: Some(BroadcastFault::Reject), ..Default::default() })
        .unwrap();
    assert!(matches!(f.sandbox.broadcast(&tx, NOW_MS), Err(BroadcastRefusal::Refused(_))));
    f.pay(50_000, 0);
    f.sandbox
        .set_faults(FaultsPatch { broadcast: Some(BroadcastFault::Ok), ..Default::default() })
        .unwrap();
    f.sandbox.broadcast(&tx, NOW_MS).unwrap();
}
