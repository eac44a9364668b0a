//! An Electrum server that invents mempool transactions fills neither memory nor disk. A real
//! customer's payment in many parts is accepted.

use bitcoin::{ScriptBuf, Transaction};
use tillgate_chain::{Scripts, no_scripts};
use tillgate_domain::payment::PaymentState::{Confirmed, Expired, New, Unconfirmed};
use tillgate_nodes::ElectrumFault;
use tillgate_sandbox::Pay;
use tillgate_store::payments::PaymentRow;

use crate::testing::stage::{AT_LEISURE, Backend, Stage};
use crate::testing::{HALF_AN_HOUR_MS, World};

/// Bytes of one answer's transactions at most, with those read before the limit is checked.
const ANSWER_MAX: usize = (16 + 20) * 1_024 * 1_024;

fn makes_up(script: &ScriptBuf, count: u32, witness: usize) -> ElectrumFault {
    ElectrumFault::InventedPayments { script: script.clone(), count, witness }
}

fn receipts(world: &World, payment: &PaymentRow) -> usize {
    world.gateway.store.read(|reader| reader.receipts(payment.seq)).unwrap().len()
}

#[tokio::test]
async fn an_overfull_script_delays_only_its_own_payment() {
    let stage = Stage::new(Backend::Electrum).await;
    let world = stage.world();
    let (flooded, other) = (world.payment().await, world.payment().await);
    stage.electrum().misbehave(makes_up(&flooded.script, 201, 1));
    stage.wait(AT_LEISURE);
    world.pay(&other, other.payment.amount_sats).await;
    world.pass_ms(HALF_AN_HOUR_MS + 60_000).await;
    world.look().await;
    assert_eq!(
        (world.state(&flooded), world.state(&other)),
        (New, Unconfirmed),
        "the flooded payment stays undecided"
    );
    assert_eq!(receipts(world, &flooded), 0);
    stage.electrum().misbehave(None);
    stage.wait(AT_LEISURE);
    world.mine(1).await;
    assert_eq!((world.state(&flooded), world.state(&other)), (Expired, Confirmed));
}

#[tokio::test]
async fn a_mined_payment_counts_though_its_script_is_overfull() {
    let stage = Stage::new(Backend::Electrum).await;
    let world = stage.world();
    let payment = world.payment().await;
    stage.electrum().misbehave(makes_up(&payment.script, 201, 1));
    stage.wait(AT_LEISURE);
    world.customer_pays(&payment, payment.payment.amount_sats);
    world.mine(1).await;
    assert_eq!((world.state(&payment), receipts(world, &payment)), (Confirmed, 1));
}

#[tokio::test]
async fn a_transaction_too_large_to_relay_is_ignored_alone() {
    let stage = Stage::new(Backend::Electrum).await;
    let world = stage.world();
    let (heavy, other) = (world.payment().await, world.payment().await);
    stage.electrum().misbehave(makes_up(&heavy.script, 1, 400_000));
    stage.wait(AT_LEISURE);
    world.pay(&heavy, heavy.payment.amount_sats).await;
    world.pay(&other, other.payment.amount_sats).await;
    assert_eq!((world.state(&heavy), world.state(&other)), (Unconfirmed, Unconfirmed));
    assert_eq!(receipts(world, &heavy), 1);
}

#[tokio::test]
async fn an_oversized_witness_of_a_mined_transaction_is_not_stored() {
    let stage = Stage::new(Backend::Electrum).await;
    let world = stage.world();
    let payment = world.payment().await;
    stage.electrum().misbehave(ElectrumFault::Bloated(1_000_000));
    let txid = world.customer_pays(&payment, payment.payment.amount_sats);
    world.mine(1).await;
    assert_eq!(world.state(&payment), Confirmed);
    let stored =
        world.gateway.store.read(|reader| reader.stored_transaction(&txid)).unwrap().unwrap();
    assert!(stored.total_size() < 1_000, "{}", stored.total_size());
}

#[tokio::test]
async fn a_payment_in_fifty_parts_counts_in_full() {
    let stage = Stage::new(Backend::Electrum).await;
    let world = stage.world();
    let payment = world.payment().await;
    let pay = Pay {
        script: payment.script.clone(),
        amount_sats: payment.payment.amount_sats,
        parts: 50,
        fee_rate_sat_vb: None,
        confirmations: 0,
    };
    world.sandbox().pay(pay, world.now_ms()).unwrap();
    world.look().await;
    assert_eq!((world.state(&payment), receipts(world, &payment)), (Unconfirmed, 50));
    world.mine(1).await;
    assert_eq!(world.state(&payment), Confirmed);
}

/// The transactions of a script in one look, answer by answer.
fn answers(world: &World, script: &ScriptBuf) -> Vec<Vec<Transaction>> {
    let (mut token, mut answers, required) = (None::<Vec<u8>>, Vec::new(), [script.clone()]);
    loop {
        let scripts = Scripts { required: &required, ..no_scripts() };
        let view = world.ask(token.as_deref(), scripts).unwrap();
        answers.push(view.txs.into_iter().map(|facts| facts.tx).collect());
        if !view.more {
            return answers;
        }
        assert!(view.states.is_empty(), "the script has more transactions");
        token = Some(view.token);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn invented_transactions_come_in_parts_up_to_a_limit() {
    let stage = Stage::unlooked(Backend::Electrum).await;
    let world = stage.world();
    let script = ScriptBuf::from_bytes(vec![7; 30]);
    stage.electrum().misbehave(makes_up(&script, 95, 380_000));
    let told = answers(world, &script);
    let bytes: Vec<usize> =
        told.iter().map(|txs| txs.iter().map(Transaction::total_size).sum()).collect();
    assert!(told.len() > 1 && bytes.iter().all(|bytes| *bytes <= ANSWER_MAX), "{bytes:?}");
    assert!(bytes.iter().sum::<usize>() <= 32 * 1_024 * 1_024, "{bytes:?}");
    assert!(told.iter().flatten().count() >= 50, "the transactions within the limit are reported");
}
