//! Customers' scripts and transactions that are too large for the server, or that make it hang up.
//! They delay no other payment.

use std::collections::HashSet;
use std::sync::Arc;

use bitcoin::{ScriptBuf, Sequence, Transaction, Txid};
use tillgate_chain::{ChainDown, LookAnswer, RecentTransactions, Scripts, no_scripts};
use tillgate_domain::payment::PaymentState::{Confirmed, New, Unconfirmed};
use tillgate_nodes::ElectrumFault;
use tillgate_sandbox::Pay;
use tillgate_store::payments::PaymentRow;

use super::electrum_server::script;
use crate::testing::World;
use crate::testing::payer::{Kind, Payer};
use crate::testing::stage::{Backend, Stage};

/// Enough transactions for a history that is longer than the longest accepted line.
const VERY_MANY: u32 = 110_000;

const SIGNALS: Sequence = Sequence::ENABLE_RBF_NO_LOCKTIME;

const HISTORIES: &str = "blockchain.scripthash.get_history";

/// Looks at these scripts, in one answer.
fn looked_for(
    world: &World,
    token: &mut Option<Vec<u8>>,
    others: &[ScriptBuf],
    ours: &ScriptBuf,
) -> Result<LookAnswer, ChainDown> {
    let required = [others, std::slice::from_ref(ours)].concat();
    let scripts = Scripts { required: &required, ..no_scripts() };
    let view = world.ask(token.as_deref(), scripts)?;
    assert!(!view.more);
    *token = Some(view.token.clone());
    Ok(view)
}

fn pay(world: &World, script: &ScriptBuf) -> Txid {
    let pay = Pay {
        script: script.clone(),
        amount_sats: 10_000,
        parts: 1,
        fee_rate_sat_vb: None,
        confirmations: 0,
    };
    world.sandbox().pay(pay, world.now_ms()).unwrap()[0]
}

/// A transaction that pays a payment, and its replacement that pays the payer instead.
async fn replaced(world: &World, payment: &PaymentRow) -> (Payer, Transaction, Transaction) {
    let payer = Payer::with_coin(world, Kind::Segwit).await;
    let pays = payer.pays(&[(&payment.script, payment.payment.amount_sats)], 1, SIGNALS);
    let replaces = payer.pays(&[], 2, SIGNALS);
    (payer, pays, replaces)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_customers_large_transactions_hold_up_no_look() {
    let stage = Stage::unlooked(Backend::Electrum).await;
    let (world, server) = (stage.world(), stage.electrum());
    let ours = script(20);
    let mut token = None;
    looked_for(world, &mut token, &[], &ours).unwrap();
    server.misbehave(ElectrumFault::HangsUpAboveTxs(1));
    for _ in 0..2 {
        let paid: Vec<Txid> = (0..30).map(|_| pay(world, &ours)).collect();
        let view = looked_for(world, &mut token, &[], &ours).unwrap();
        let told: HashSet<Txid> = view.txs.iter().map(|facts| facts.tx.compute_txid()).collect();
        assert!(view.covered.holds(&ours) && paid.iter().all(|txid| told.contains(txid)));
        world.sandbox().mine(1, false, world.now_ms()).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_the_server_cannot_send_delays_only_its_payee() {
    let stage = Stage::unlooked(Backend::Electrum).await;
    let (world, server) = (stage.world(), stage.electrum());
    let (ours, other) = (script(20), script(1));
    let mut token = None;
    looked_for(world, &mut token, &[], &ours).unwrap();
    let (silent, paid) = (pay(world, &ours), pay(world, &other));
    server.misbehave(ElectrumFault::HangsUpAtTx(silent));
    let told = |view: &LookAnswer, txid: &Txid| {
        view.txs.iter().any(|facts| facts.tx.compute_txid() == *txid)
    };
    // The first hang-up may be chance: the second proves the cause.
    looked_for(world, &mut token, std::slice::from_ref(&other), &ours).unwrap_err();
    let view = looked_for(world, &mut token, std::slice::from_ref(&other), &ours).unwrap();
    assert!(told(&view, &paid) && view.covered.holds(&other));
    assert!(!told(&view, &silent) && !view.covered.holds(&ours), "its script is not covered");
    for _ in 0..3 {
        world.sandbox().mine(1, true, world.now_ms()).unwrap();
        looked_for(world, &mut token, &[], &ours).unwrap();
    }
    server.misbehave(None);
    for _ in 0..5 {
        world.sandbox().mine(1, true, world.now_ms()).unwrap();
        let view = looked_for(world, &mut token, &[], &ours).unwrap();
        if told(&view, &silent) {
            return;
        }
    }
    panic!("the transaction was not reported with a later block");
}

#[tokio::test]
async fn a_replacement_the_server_hangs_up_on_delays_no_other() {
    let stage = Stage::new(Backend::Electrum).await;
    let world = stage.world();
    let (payment, other) = (world.payment().await, world.payment().await);
    let (payer, pays, replaces) = replaced(world, &payment).await;
    let from = pays.output.last().unwrap().script_pubkey.clone();
    stage.electrum().misbehave(ElectrumFault::HangsUpAt(vec![from]));
    world.hears(&pays).await;
    assert_eq!(world.state(&payment), Unconfirmed);
    world.sandbox().broadcast(&replaces, world.now_ms()).unwrap();
    world.look().await;
    // The server does not report the spender of the coin, so the replacement is unknown. The
    // payment still counts, and is broadcast again.
    assert_eq!(world.state(&payment), Unconfirmed);
    world.pay(&other, other.payment.amount_sats).await;
    assert_eq!(world.state(&other), Unconfirmed);
    // A refused broadcast with a spent coin counts as a conflict in the mempool (interface, section
    // 2). The payment is therefore gone for the next look.
    assert_eq!(world.state(&payment), New);
    world.hears(&payer.pays(&[(&payment.script, payment.payment.amount_sats)], 3, SIGNALS)).await;
    assert_eq!(world.state(&payment), Unconfirmed, "the next replacement pays it again");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gift_to_a_very_popular_address_breaks_no_connection() {
    let stage = Stage::new(Backend::Electrum).await;
    let (world, server) = (stage.world(), stage.electrum());
    let gift = script(1);
    let txid = pay(world, &gift);
    server.misbehave(ElectrumFault::LongHistory(gift, VERY_MANY));
    let chain = Arc::clone(&world.gateway.backend.chain);
    let recent = || -> RecentTransactions {
        tokio::task::block_in_place(|| chain.recent_transactions(&[txid], 0)).unwrap()
    };
    let before = (server.connections(), server.asked(HISTORIES));
    recent();
    let asked = server.asked(HISTORIES) - before.1;
    recent();
    assert_eq!(
        server.asked(HISTORIES) - before.1,
        2 * asked - 1,
        "a history that is too long is requested once"
    );
    assert_eq!(server.connections(), before.0, "the connection holds");
    world.look().await;
}

#[tokio::test]
async fn a_64_byte_double_spend_delays_no_other_payment() {
    let stage = Stage::new(Backend::Electrum).await;
    let world = stage.world();
    let payment = world.payment().await;
    let payer = Payer::with_coin(world, Kind::Segwit).await;
    world.hears(&payer.pays(&[(&payment.script, payment.payment.amount_sats)], 1, SIGNALS)).await;
    assert_eq!(world.state(&payment), Unconfirmed);
    let burning = payer.burns();
    assert_eq!(burning.base_size(), 64);
    world.finds_mined(&[burning]).await;
    let other = world.payment().await;
    world.pay(&other, other.payment.amount_sats).await;
    world.mine(2).await;
    assert_eq!(world.state(&other), Confirmed);
    assert_eq!(world.state(&payment), Unconfirmed, "a spend without a proof decides nothing");
}
