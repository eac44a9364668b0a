//! A payee spends its output of an unconfirmed payout. A replacement of the payout must pay for
//! this child too.

use bitcoin::absolute::LockTime;
use bitcoin::opcodes::all::OP_PUSHNUM_1;
use bitcoin::{
    Address, Amount, Network, OutPoint, ScriptBuf, Sequence, Transaction, TxIn, TxOut, Txid,
    Witness, transaction,
};
use serde_json::{Value, json};
use tillgate_domain::id::Id;
use tillgate_domain::money::format_btc;
use tillgate_gateway::testing::World;
use tillgate_gateway::testing::sending::stage_with_coins;
use tillgate_gateway::testing::stage::Backend;
use tillgate_sandbox::Sandbox;

use crate::payouts::{BumpPayout, RequestPayout};
use crate::{Actor, CommandError, ask};

const AMOUNT_SATS: u64 = 300_000;

/// Fee of the payee's child.
const HUNG_FEE_SATS: u64 = 50_000;

/// A script that anybody can spend.
fn anybodys() -> ScriptBuf {
    ScriptBuf::builder().push_opcode(OP_PUSHNUM_1).into_script()
}

/// A sent payout and the child that its payee broadcast.
async fn hung_on(world: &World) -> (Id, Txid) {
    let address = Address::p2wsh(&anybodys(), Network::Regtest).to_string();
    let asked = RequestPayout {
        address,
        btc_amount: Some(format_btc(AMOUNT_SATS)),
        fiat_amount: None,
        currency: "USD".to_owned(),
        comment: None,
        notification_url: Some("http://shop.test/notify".to_owned()),
        approve: true,
        again: false,
    };
    let payout = ask(&world.app, asked, &Actor::command_line()).await.unwrap();
    let id: Id = payout.item.payout_id.parse().unwrap();
    world.send().await;
    world.look().await;
    let hung = hang(world.sandbox(), world.txid_of(&id), world.now_ms());
    world.look().await;
    (id, hung)
}

fn hang(sandbox: &Sandbox, parent: Txid, now_ms: i64) -> Txid {
    let tx = sandbox.transaction(parent).unwrap().unwrap().tx;
    let vout =
        tx.output.iter().position(|output| output.script_pubkey == anybodys().to_p2wsh()).unwrap();
    let child = Transaction {
        version: transaction::Version::TWO,
        lock_time: LockTime::ZERO,
        input: vec![TxIn {
            previous_output: OutPoint { txid: parent, vout: u32::try_from(vout).unwrap() },
            script_sig: ScriptBuf::new(),
            sequence: Sequence::MAX,
            witness: Witness::from_slice(&[anybodys().into_bytes()]),
        }],
        output: vec![TxOut {
            value: Amount::from_sat(AMOUNT_SATS - HUNG_FEE_SATS),
            script_pubkey: anybodys().to_p2wsh(),
        }],
    };
    sandbox.broadcast(&child, now_ms).unwrap();
    child.compute_txid()
}

async fn bump(world: &World, id: Id) -> Result<Value, CommandError> {
    let asked: BumpPayout = serde_json::from_value(
        json!({ "payoutId": id.to_string(), "feeRate": 20, "feeAtMostSats": 2 * HUNG_FEE_SATS }),
    )
    .unwrap();
    let answer = ask(&world.app, asked, &Actor::command_line()).await?;
    Ok(serde_json::to_value(answer).unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bump_pays_for_a_child_that_the_backend_reports() {
    for backend in [Backend::Sandbox, Backend::Core] {
        let stage = stage_with_coins(backend).await;
        let world = stage.world();
        let (id, hung) = hung_on(world).await;
        let bumped = bump(world, id).await.unwrap();
        let mempool = world.sandbox().status().unwrap().mempool;
        assert!(!mempool.contains(&hung), "the child is replaced together with its parent");
        assert_eq!(json!(mempool), json!([bumped["replacement"]["btcTxId"]]));
        assert_eq!(world.txid_of(&id), mempool[0]);
        assert_eq!(bumped["refusal"], Value::Null);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_bump_is_reported_and_keeps_the_btc_tx_id() {
    let stage = stage_with_coins(Backend::Electrum).await;
    let world = stage.world();
    let (id, hung) = hung_on(world).await;
    let before = world.txid_of(&id);
    let bumped = bump(world, id).await.unwrap();
    let refusal =
        bumped["refusal"]["message"]["message"].as_str().expect("the answer names the refusal");
    assert!(
        refusal.contains('"') && refusal.contains("insufficient fee"),
        "the node's own words: {refusal}"
    );
    assert!(
        bumped["refusal"]["feeNamed"]["sats"].as_u64().is_some_and(|sats| sats > HUNG_FEE_SATS),
        "{bumped}"
    );
    assert_eq!(world.txid_of(&id), before, "no node has the replacement");
    assert_eq!(world.notified_field(&id, "btcTxId"), [before.to_string()]);
    // The child drops out of the mempool. After the next block the bump is broadcast again.
    world.sandbox().evict(hung, world.now_ms()).unwrap();
    world.sandbox().mine(1, true, world.now_ms()).unwrap();
    world.look_and_pass().await;
    assert_eq!(json!(world.txid_of(&id).to_string()), bumped["replacement"]["btcTxId"]);
    assert_eq!(world.notified_field(&id, "btcTxId").len(), 2);
    world.check_ledger();
}

#[tokio::test]
async fn a_fee_above_what_is_paid_out_needs_force() {
    let world = tillgate_gateway::testing::sending::world_with_coins(3).await;
    let payout = world.approved_payout(30_000).await;
    world.send().await;
    world.look().await;
    let asked = |force: bool| -> BumpPayout {
        let asked = json!({ "payoutId": payout.to_string(), "feeRate": 900, "force": force });
        serde_json::from_value(asked).unwrap()
    };
    let refused = ask(&world.app, asked(false), &Actor::command_line()).await.unwrap_err();
    assert_eq!(refused.error_type, "FEE_ABOVE_PAYOUT");
    assert!(
        refused.message.contains("0.00030000 BTC"),
        "the message names the sum that is paid out: {refused}"
    );
    let versions = world.payout(&payout).batch_seq.unwrap();
    assert_eq!(world.gateway.store.read(|reader| reader.versions(versions)).unwrap().len(), 1);
    ask(&world.app, asked(true), &Actor::command_line()).await.unwrap();
}
