//! The outputs that pay a script, in chain and mempool.

use bitcoin::hashes::Hash;
use bitcoin::{OutPoint, ScriptBuf, WPubkeyHash};
use tillgate_sandbox::{PaidOutput, Replace, ReplaceTo};

use crate::common::{Fixture, NOW_MS};

fn somebody(number: u64) -> ScriptBuf {
    let mut hash = [0; 20];
    hash[..8].copy_from_slice(&number.to_be_bytes());
    ScriptBuf::new_p2wpkh(&WPubkeyHash::from_byte_array(hash))
}

fn output(outpoint: OutPoint, amount_sats: u64, confirmations: u32) -> PaidOutput {
    PaidOutput { outpoint, amount_sats, confirmations }
}

#[test]
fn outputs_to_lists_spent_and_unspent_outputs() {
    let f = Fixture::new();
    assert_eq!(f.sandbox.outputs_to(&f.shop.script).unwrap(), []);
    let first = f.shop_coin(f.pay(50_000, 2));
    let second = f.shop_coin(f.pay(60_000, 0));
    let replaced = f.pay(70_000, 0);
    f.sandbox
        .replace(replaced, Replace { fee_rate_sat_vb: None, to: ReplaceTo::Customer }, NOW_MS)
        .unwrap();
    f.sandbox.send(somebody(3), 80_000, NOW_MS).unwrap();
    let expected = vec![output(first.0, 50_000, 2), output(second.0, 60_000, 0)];
    assert_eq!(f.sandbox.outputs_to(&f.shop.script).unwrap(), expected);
    let spend = f.shop.spend(&[first], 500);
    f.sandbox.broadcast(&spend, NOW_MS).unwrap();
    f.sandbox.mine(1, false, NOW_MS).unwrap();
    let change = OutPoint { txid: spend.compute_txid(), vout: 0 };
    let now = f.sandbox.outputs_to(&f.shop.script).unwrap();
    assert_eq!(now[0], output(first.0, 50_000, 3), "the spent output is listed too");
    assert_eq!(now.len(), 3);
    assert!(now.contains(&output(second.0, 60_000, 1)) && now.contains(&output(change, 49_500, 1)));
    f.sandbox.reorg(1, false, NOW_MS).unwrap();
    let now = f.sandbox.outputs_to(&f.shop.script).unwrap();
    assert_eq!(
        now,
        [output(first.0, 50_000, 4), output(change, 49_500, 0)],
        "the customer's payment was double-spent"
    );
}

#[test]
fn a_transaction_can_pay_an_address_twice() {
    let f = Fixture::new();
    let payees = [(somebody(1), 10_000), (somebody(2), 20_000), (somebody(1), 10_000)];
    let txid = f.sandbox.pay_many(&payees, NOW_MS).unwrap();
    let paid = f.sandbox.outputs_to(&somebody(1)).unwrap();
    assert_eq!(paid, [0, 2].map(|vout| output(OutPoint { txid, vout }, 10_000, 0)));
}

#[test]
fn an_address_is_found_by_a_database_index() {
    let f = Fixture::new();
    let conn = rusqlite::Connection::open(f.file()).unwrap();
    let plan: String = conn
        .query_row("EXPLAIN QUERY PLAN SELECT * FROM outputs WHERE script = x'00'", [], |row| {
            row.get(3)
        })
        .unwrap();
    assert!(plan.contains("outputs_by_script"), "{plan}");
}
