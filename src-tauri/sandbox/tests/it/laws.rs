//! Properties that hold after any calls in any order: the chain is valid, and every change is
//! reported.

use std::collections::{BTreeMap, HashMap, HashSet};

use bitcoin::{OutPoint, Txid};
use proptest::prelude::*;
use tillgate_sandbox::{Pay, Replace, ReplaceTo, TxPosition, TxView};

use crate::common::{Fixture, NOW_MS};

#[derive(Debug, Clone)]
pub enum Step {
    Pay { amount_sats: u64, parts: u32, confirmations: u32 },
    Replace { which: usize, back: bool },
    Evict { which: usize },
    Mine { count: u32, empty: bool },
    Reorg { depth: u32, keep: bool },
    ShopSpends { which: usize },
    Rebroadcast { which: usize },
    MineAbove { min_fee_rate_sat_kvb: u64 },
    MineGiven { which: usize },
    Reopen,
}

/// A random step.
pub fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (1_000u64..3_000_000_000, 1u32..4, 0u32..3)
            .prop_map(|(amount_sats, parts, confirmations)| Step::Pay { amount_sats, parts, confirmations }),
        2 => (any::<usize>(), any::<bool>()).prop_map(|(which, back)| Step::Replace { which, back }),
        1 => any::<usize>().prop_map(|which| Step::Evict { which }),
        3 => (1u32..3, any::<bool>()).prop_map(|(count, empty)| Step::Mine { count, empty }),
        2 => (1u32..5, any::<bool>()).prop_map(|(depth, keep)| Step::Reorg { depth, keep }),
        3 => any::<usize>().prop_map(|which| Step::ShopSpends { which }),
        1 => any::<usize>().prop_map(|which| Step::Rebroadcast { which }),
        1 => (0u64..20_000).prop_map(|min_fee_rate_sat_kvb| Step::MineAbove { min_fee_rate_sat_kvb }),
        2 => any::<usize>().prop_map(|which| Step::MineGiven { which }),
        1 => Just(Step::Reopen),
    ]
}

/// Runs a step. A refused call is not a failure; the properties must hold after it too.
pub fn run(f: Fixture, seen: &mut Vec<Txid>, step: &Step) -> Fixture {
    let pick = |which: usize, seen: &[Txid]| seen.get(which % seen.len().max(1)).copied();
    match step {
        Step::Pay { amount_sats, parts, confirmations } => {
            let script = f.shop.script.clone();
            let pay = Pay {
                script,
                amount_sats: *amount_sats,
                parts: *parts,
                fee_rate_sat_vb: None,
                confirmations: *confirmations,
            };
            seen.extend(f.sandbox.pay(pay, NOW_MS).unwrap());
        }
        Step::Replace { which, back } => {
            let to = if *back {
                ReplaceTo::Customer
            } else {
                ReplaceTo::SameAddress { amount_sats: None }
            };
            if let Some(txid) = pick(*which, seen) {
                let new = f.sandbox.replace(txid, Replace { fee_rate_sat_vb: None, to }, NOW_MS);
                seen.extend(new.unwrap_or_default());
            }
        }
        Step::Evict { which } => {
            let _refused = pick(*which, seen).map(|txid| f.sandbox.evict(txid, NOW_MS));
        }
        Step::Mine { count, empty } => drop(f.sandbox.mine(*count, *empty, NOW_MS).unwrap()),
        Step::Reorg { depth, keep } => drop(f.sandbox.reorg(*depth, *keep, NOW_MS)),
        Step::ShopSpends { which } => {
            let pays_shop = |txid: Txid| {
                f.view(txid).tx.output.iter().any(|out| out.script_pubkey == f.shop.script)
            };
            if let Some(txid) = pick(*which, seen).filter(|txid| pays_shop(*txid)) {
                let coin = f.shop_coin(txid);
                if coin.1 > 2_000 {
                    let tx = f.shop.spend(&[coin], 1_000);
                    if f.sandbox.broadcast(&tx, NOW_MS).is_ok() {
                        seen.push(tx.compute_txid());
                    }
                }
            }
        }
        Step::Rebroadcast { which } => {
            let _refused =
                pick(*which, seen).map(|txid| f.sandbox.broadcast(&f.view(txid).tx, NOW_MS));
        }
        Step::MineAbove { min_fee_rate_sat_kvb } => {
            drop(f.sandbox.mine_above(1, *min_fee_rate_sat_kvb, NOW_MS).unwrap());
        }
        Step::MineGiven { which } => {
            let _refused = pick(*which, seen)
                .map(|txid| f.sandbox.mine_transactions(&[f.view(txid).tx], NOW_MS));
        }
        Step::Reopen => return f.reopen(),
    }
    f
}

/// The unspent outputs after a replay of all blocks from genesis. Every spend must find its unspent
/// output.
fn replay(f: &Fixture) -> HashMap<OutPoint, u64> {
    let mut coins = HashMap::new();
    let mut supply = 0;
    let height = f.sandbox.status().unwrap().height;
    for height in 1..=height {
        supply += 5_000_000_000u64 >> (height / 150);
        for (index, tx) in f.sandbox.block(height).unwrap().unwrap().txdata.iter().enumerate() {
            for input in tx.input.iter().filter(|_| index > 0) {
                assert!(
                    coins.remove(&input.previous_output).is_some(),
                    "{} is spent twice",
                    input.previous_output
                );
            }
            let txid = tx.compute_txid();
            for (vout, output) in
                (0u32..).zip(&tx.output).filter(|(_, output)| !output.script_pubkey.is_op_return())
            {
                coins.insert(OutPoint { txid, vout }, output.value.to_sat());
            }
        }
    }
    assert!(coins.values().sum::<u64>() <= supply);
    coins
}

fn check_laws(f: &Fixture) {
    let coins = replay(f);
    // The mempool spends only unspent outputs, and each output once.
    let mut made = HashSet::new();
    let mut spent = HashSet::new();
    for txid in f.sandbox.status().unwrap().mempool {
        let tx = f.view(txid).tx;
        for input in &tx.input {
            let outpoint = input.previous_output;
            assert!(
                coins.contains_key(&outpoint) || made.contains(&outpoint),
                "{txid} spends {outpoint}"
            );
            assert!(spent.insert(outpoint));
        }
        made.extend((0u32..).zip(&tx.output).map(|(vout, _)| OutPoint { txid, vout }));
    }
    // The tables agree with the replay.
    let conn = rusqlite::Connection::open(f.file()).unwrap();
    let mut statement = conn
        .prepare(
            "SELECT t.txid, o.vout, o.amount_sats, o.customer_key, o.spendable_from FROM outputs o
             JOIN transactions t USING (tx_id) WHERE t.block_height IS NOT NULL AND NOT EXISTS (
                SELECT 1 FROM spends s JOIN transactions u ON u.tx_id = s.spender_tx_id
                WHERE s.prev_tx_id = o.tx_id AND s.prev_vout = o.vout AND u.block_height IS NOT NULL)",
        )
        .unwrap();
    let mut rows = statement.query([]).unwrap();
    let mut stored = BTreeMap::new();
    while let Some(row) = rows.next().unwrap() {
        let txid: [u8; 32] = row.get(0).unwrap();
        let outpoint = OutPoint {
            txid: bitcoin::hashes::Hash::from_byte_array(txid),
            vout: row.get(1).unwrap(),
        };
        let spendable: Option<u32> = row.get(4).unwrap();
        assert!(
            spendable.is_none() || !spent.contains(&outpoint),
            "the customer would double-spend {outpoint}"
        );
        stored.insert(outpoint, row.get::<_, u64>(2).unwrap());
    }
    assert_eq!(stored, coins.into_iter().collect());
}

/// The facts that a watcher knows from `changes_since` alone.
#[derive(Default)]
struct Watcher {
    cursor: i64,
    known: HashMap<Txid, TxView>,
}

impl Watcher {
    fn look(&mut self, f: &Fixture) {
        let changes = f.sandbox.changes_since(self.cursor, 10_000).unwrap();
        self.cursor = changes.cursor;
        self.known.extend(changes.txs.into_iter().map(|view| (view.txid, view)));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, max_shrink_iters: 40, failure_persistence: None, ..Default::default() })]

    #[test]
    fn the_chain_stays_valid_under_any_order_of_calls(steps in prop::collection::vec(step(), 1..25)) {
        let mut f = Fixture::new();
        let mut seen = Vec::new();
        let mut watcher = Watcher::default();
        for step in &steps {
            f = run(f, &mut seen, step);
            watcher.look(&f);
        }
        check_laws(&f);
        // Every change of a transaction and its conflicts was reported to the watcher.
        let reported = |view: &TxView| match view.position {
            // An absent transaction is not reported again when its mempool conflict changes.
            TxPosition::Absent => TxView { conflicts: Vec::new(), ..view.clone() },
            TxPosition::Block { .. } | TxPosition::Mempool { .. } => view.clone(),
        };
        for view in f.sandbox.changes_since(0, 10_000).unwrap().txs {
            assert_eq!(watcher.known.get(&view.txid).map(reported), Some(reported(&view)));
        }
    }
}
