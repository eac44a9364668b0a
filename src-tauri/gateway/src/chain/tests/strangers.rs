//! What strangers choose to have a server asked about, payees and customers: that there is too much to tell, or that it takes the
//! server too long, holds up nothing of the merchant's.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use bitcoin::{ScriptBuf, Sequence, Transaction, Txid};
use tillgate_domain::payment::PaymentState::{Confirmed, New, Unconfirmed};
use tillgate_nodes::ElectrumFault;
use tillgate_sandbox::Pay;

use super::electrum_server::{All, script};
use super::payer::{Kind, Payer};
use super::stage::{Backend, Stage};
use crate::chain::{AskedPayee, ChainDown, LookRequest, Recent, Scripts, View, no_scripts};
use crate::store::payments::PaymentRow;
use crate::testing::World;

/// As many transactions as make a history a longer line than any that is taken.
const VERY_MANY: u32 = 110_000;

const SIGNALS: Sequence = Sequence::ENABLE_RBF_NO_LOCKTIME;

const HISTORIES: &str = "blockchain.scripthash.get_history";

/// The outcome of a look that asks about these, the first for a payout.
fn looked_at(world: &World, token: &mut Option<Vec<u8>>, payee: &ScriptBuf, ours: &ScriptBuf) -> View {
    looked_for(world, token, std::slice::from_ref(payee), ours).unwrap()
}

/// The same with several payees, if the look does not fail.
fn looked_for(
    world: &World,
    token: &mut Option<Vec<u8>>,
    payees: &[ScriptBuf],
    ours: &ScriptBuf,
) -> Result<View, ChainDown> {
    let payees: Vec<_> = payees.iter().map(|payee| AskedPayee { script: payee.clone(), above: 0 }).collect();
    let must = [ours.clone()];
    let scripts = Scripts { payees: &payees, must: &must, ..no_scripts() };
    let request = LookRequest { token: token.as_deref(), birth_height: None, watch: &All, scripts };
    let view = tokio::task::block_in_place(|| world.gateway.chain.look(&request))?;
    assert!(!view.more);
    *token = Some(view.token.clone());
    Ok(view)
}

/// Somebody pays a script; answers the transaction.
fn pay(world: &World, script: &ScriptBuf) -> Txid {
    let pay = Pay { script: script.clone(), amount_sats: 10_000, parts: 1, fee_rate_sat_vb: None, confirmations: 0 };
    world.sandbox().pay(pay, world.now_ms()).unwrap()[0]
}

/// What pays a payment, and what gives the coin back to the payer instead.
async fn replaced(world: &World, payment: &PaymentRow) -> (Payer, Transaction, Transaction) {
    let payer = Payer::with_coin(world, Kind::Segwit).await;
    let pays = payer.pays(&[(&payment.script, payment.payment.amount_sats)], 1, SIGNALS);
    let replaces = payer.pays(&[], 2, SIGNALS);
    (payer, pays, replaces)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payee_whom_very_many_have_paid_holds_up_no_look_and_is_asked_about_again_with_the_next_block() {
    let stage = Stage::unlooked(Backend::Electrum).await;
    let (world, server) = (stage.world(), stage.electrum());
    let (payee, ours) = (script(1), script(2));
    server.misbehave(ElectrumFault::LongHistory(payee.clone(), VERY_MANY));
    pay(world, &ours);
    let mut token = None;
    let view = looked_at(world, &mut token, &payee, &ours);
    assert_eq!((view.txs.len(), view.covered.holds(&ours)), (1, true), "what is the merchant's is told");
    assert!(view.untold.contains(&payee) && !view.covered.holds(&payee), "what paid the payee is unknown");
    let asked = server.asked(HISTORIES);
    let view = looked_at(world, &mut token, &payee, &ours);
    assert!(view.untold.contains(&payee));
    assert_eq!(server.asked(HISTORIES) - asked, 1, "about the merchant's alone");
    server.misbehave(None);
    world.sandbox().mine(1, false, world.now_ms()).unwrap();
    let view = looked_at(world, &mut token, &payee, &ours);
    assert!(view.covered.holds(&payee) && view.untold.is_empty());
    assert_eq!(server.connections(), 1, "the connection holds");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payee_of_whom_the_server_answers_nothing_holds_up_no_look() {
    let stage = Stage::unlooked(Backend::Electrum).await;
    let (world, server) = (stage.world(), stage.electrum());
    let (payee, ours) = (script(1), script(2));
    pay(world, &payee);
    pay(world, &ours);
    server.misbehave(ElectrumFault::Stuck(payee.clone()));
    stage.wait(Duration::from_millis(300));
    let mut token = None;
    let view = looked_at(world, &mut token, &payee, &ours);
    assert!(view.covered.holds(&ours) && view.untold.contains(&payee));
    // Over another connection, and not about the payee before the next block.
    let view = looked_at(world, &mut token, &payee, &ours);
    assert!(view.untold.contains(&payee) && server.connections() == 2);
    server.misbehave(None);
    world.sandbox().mine(1, false, world.now_ms()).unwrap();
    assert!(looked_at(world, &mut token, &payee, &ours).covered.holds(&payee));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payee_at_whom_an_electrum_server_hangs_up_fails_no_look_and_no_other_payee_is_passed_over() {
    let stage = Stage::unlooked(Backend::Electrum).await;
    let (world, server) = (stage.world(), stage.electrum());
    let (payees, ours) = ([script(1), script(2), script(3)], script(4));
    let mut token = None;
    looked_for(world, &mut token, &[], &ours).unwrap();
    payees.iter().chain([&ours]).for_each(|script| {
        pay(world, script);
    });
    server.misbehave(ElectrumFault::HangsUpAt(vec![payees[1].clone()]));
    let view = looked_for(world, &mut token, &payees, &ours).unwrap();
    assert!(view.covered.holds(&ours) && view.untold.iter().eq([&payees[1]]), "the others are told of");
    let asked = server.connections();
    looked_for(world, &mut token, &payees, &ours).unwrap();
    assert_eq!(server.connections(), asked, "it rests");
    world.sandbox().mine(1, false, world.now_ms()).unwrap();
    let view = looked_for(world, &mut token, &payees, &ours).unwrap();
    assert!(view.untold.iter().eq([&payees[1]]), "nobody hears more of it");
    assert_eq!(server.connections() - asked, 1, "it is asked about with the next block, over a connection of its own");
    server.misbehave(None);
    world.sandbox().mine(2, false, world.now_ms()).unwrap();
    let view = looked_for(world, &mut token, &payees, &ours).unwrap();
    assert!(payees.iter().all(|payee| view.covered.holds(payee)), "it was the server's mood");
}

#[tokio::test(flavor = "multi_thread")]
async fn many_payees_at_whom_an_electrum_server_hangs_up_keep_no_look_from_what_is_the_merchants() {
    let stage = Stage::unlooked(Backend::Electrum).await;
    let (world, server) = (stage.world(), stage.electrum());
    let (payees, ours): (Vec<_>, _) = ((1..=14).map(script).collect(), script(20));
    let (at, honest) = payees.split_at(12);
    let mut token = None;
    looked_for(world, &mut token, &[], &ours).unwrap();
    payees.iter().for_each(|script| {
        pay(world, script);
    });
    server.misbehave(ElectrumFault::HangsUpAt(at.to_vec()));
    // Then once more, when a block wakes them.
    for first in [5, 4] {
        for number in 1.. {
            let (paid, connections) = (pay(world, &ours), server.connections());
            let view = looked_for(world, &mut token, &payees, &ours).unwrap();
            assert!(view.covered.holds(&ours), "look {number}");
            assert!(view.txs.iter().any(|facts| facts.tx.compute_txid() == paid), "look {number} tells who paid");
            assert!(server.connections() - connections <= 5, "look {number} makes few connections");
            if at.iter().all(|payee| view.untold.contains(payee)) {
                assert!(honest.iter().all(|payee| view.covered.holds(payee)), "the others are told of");
                assert!(number <= first, "{number} looks");
                break;
            }
        }
        world.sandbox().mine(1, false, world.now_ms()).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn payees_at_whose_sum_an_electrum_server_hangs_up_are_told_one_by_one() {
    let stage = Stage::unlooked(Backend::Electrum).await;
    let (world, server) = (stage.world(), stage.electrum());
    let (payees, ours): (Vec<_>, _) = ((1..=5).map(script).collect(), script(20));
    let mut token = None;
    looked_for(world, &mut token, &[], &ours).unwrap();
    payees.iter().for_each(|script| {
        pay(world, script);
    });
    server.misbehave(ElectrumFault::HangsUpAbove(2));
    for _ in 0..3 {
        let view = looked_for(world, &mut token, &payees, &ours).unwrap();
        assert!(view.untold.is_empty() && view.covered.holds(&ours), "nobody is taken for told who was not");
    }
    let view = looked_for(world, &mut token, &payees, &ours).unwrap();
    assert!(payees.iter().all(|payee| view.covered.holds(payee)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_customer_who_pays_by_transactions_at_whose_sum_an_electrum_server_hangs_up_holds_up_no_look() {
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
async fn a_transaction_that_an_electrum_server_does_not_tell_even_alone_makes_late_whom_it_pays_and_nobody_else() {
    let stage = Stage::unlooked(Backend::Electrum).await;
    let (world, server) = (stage.world(), stage.electrum());
    let (ours, payee) = (script(20), script(1));
    let mut token = None;
    looked_for(world, &mut token, &[], &ours).unwrap();
    let (untold, paid) = (pay(world, &ours), pay(world, &payee));
    server.misbehave(ElectrumFault::HangsUpAtTx(untold));
    let told = |view: &View, txid: &Txid| view.txs.iter().any(|facts| facts.tx.compute_txid() == *txid);
    // Once may be chance: only a second time shows which it is.
    looked_for(world, &mut token, std::slice::from_ref(&payee), &ours).unwrap_err();
    let view = looked_for(world, &mut token, std::slice::from_ref(&payee), &ours).unwrap();
    assert!(told(&view, &paid) && view.covered.holds(&payee));
    assert!(!told(&view, &untold) && !view.covered.holds(&ours), "nothing is judged of it");
    for _ in 0..3 {
        world.sandbox().mine(1, true, world.now_ms()).unwrap();
        looked_for(world, &mut token, &[], &ours).unwrap();
    }
    server.misbehave(None);
    for _ in 0..5 {
        world.sandbox().mine(1, true, world.now_ms()).unwrap();
        let view = looked_for(world, &mut token, &[], &ours).unwrap();
        if told(&view, &untold) {
            return;
        }
    }
    panic!("it is told with a later block");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_electrum_server_that_bears_one_connection_is_asked_about_such_payees_over_that_and_no_pause_follows() {
    let stage = Stage::unlooked(Backend::Electrum).await;
    let (world, server) = (stage.world(), stage.electrum());
    let (payees, ours) = ([1, 2, 3, 4, 5].map(script), script(9));
    let mut token = None;
    looked_for(world, &mut token, &[], &ours).unwrap();
    payees.iter().for_each(|script| {
        pay(world, script);
    });
    server.misbehave(ElectrumFault::BearsOneAndHangsUpAt(payees[..4].to_vec()));
    let failed = (0..).take_while(|_| looked_for(world, &mut token, &payees, &ours).is_err()).count();
    assert!(failed <= 2, "{failed} looks failed");
    let view = looked_for(world, &mut token, &payees, &ours).unwrap();
    assert!(view.untold.len() == 4 && view.covered.holds(&payees[4]) && view.covered.holds(&ours));
}

#[tokio::test]
async fn a_customer_who_replaces_a_payment_from_where_an_electrum_server_hangs_up_holds_up_no_other() {
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
    // The server does not tell what spends the coin, so nobody knows that the customer took it back: the payment counts on, and is
    // broadcast again.
    assert_eq!(world.state(&payment), Unconfirmed);
    world.pay(&other, other.payment.amount_sats).await;
    assert_eq!(world.state(&other), Unconfirmed);
    // That this was refused because the coin is spent counts as a conflict in the mempool (interface, section 2), so that the payment
    // is gone for the next look, whomever that is made for.
    assert_eq!(world.state(&payment), New);
    world.hears(&payer.pays(&[(&payment.script, payment.payment.amount_sats)], 3, SIGNALS)).await;
    assert_eq!(world.state(&payment), Unconfirmed, "what replaces it in turn pays it once more");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_customer_whose_coin_comes_with_a_gift_to_an_address_that_very_many_have_paid_breaks_no_connection() {
    let stage = Stage::new(Backend::Electrum).await;
    let (world, server) = (stage.world(), stage.electrum());
    let gift = script(1);
    let txid = pay(world, &gift);
    server.misbehave(ElectrumFault::LongHistory(gift, VERY_MANY));
    let chain = Arc::clone(&world.gateway.chain);
    let recent = || -> Recent { tokio::task::block_in_place(|| chain.recent(&[txid], 0)).unwrap() };
    let before = (server.connections(), server.asked(HISTORIES));
    recent();
    let asked = server.asked(HISTORIES) - before.1;
    recent();
    assert_eq!(server.asked(HISTORIES) - before.1, 2 * asked - 1, "what was too long is asked for once");
    assert_eq!(server.connections(), before.0, "the connection holds");
    world.look().await;
}

#[tokio::test]
async fn what_spends_a_customers_coin_again_in_64_bytes_holds_up_no_other_payment() {
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
    assert_eq!(world.state(&payment), Unconfirmed, "of the one nothing is known, and nothing concluded");
}
