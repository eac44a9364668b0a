//! What strangers choose to have a server asked about, payees and customers: that there is too much to tell, or that it takes the
//! server too long, holds up nothing of the merchant's.

use std::sync::Arc;
use std::time::Duration;

use bitcoin::hashes::{Hash as _, sha256};
use bitcoin::{ScriptBuf, Txid};
use tillgate_domain::payment::PaymentState::{Confirmed, Unconfirmed};
use tillgate_nodes::{ElectrumFault, EsploraFault};
use tillgate_sandbox::Pay;

use super::electrum_server::{All, script};
use super::stage::{Backend, Stage};
use crate::chain::{LookRequest, PayeeHistory, Recent, Scripts, View, no_scripts};
use crate::testing::World;

/// As many transactions as make a history a longer line than any that is taken.
const VERY_MANY: u32 = 110_000;

const HISTORIES: &str = "blockchain.scripthash.get_history";

/// The outcome of a look that asks about these, the first for a payout.
fn looked_at(world: &World, token: &mut Option<Vec<u8>>, payee: &ScriptBuf, ours: &ScriptBuf) -> View {
    let (payees, must) = ([PayeeHistory { script: payee.clone(), above: 0 }], [ours.clone()]);
    let scripts = Scripts { payees: &payees, must: &must, ..no_scripts() };
    let request = LookRequest { token: token.as_deref(), birth_height: None, watch: &All, scripts };
    let view = tokio::task::block_in_place(|| world.gateway.chain.look(&request)).unwrap();
    assert!(!view.more);
    *token = Some(view.token.clone());
    view
}

/// Somebody pays a script; answers the transaction.
fn pay(world: &World, script: &ScriptBuf) -> Txid {
    let pay = Pay { script: script.clone(), amount_sats: 10_000, parts: 1, fee_rate_sat_vb: None, confirmations: 0 };
    world.sandbox().pay(pay, world.now_ms()).unwrap()[0]
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
async fn a_payee_at_whom_an_esplora_server_fails_or_hangs_holds_up_no_look_and_is_waited_for_a_few_times() {
    let stage = Stage::unlooked(Backend::Esplora).await;
    let (world, server) = (stage.world(), stage.esplora());
    let (payee, ours) = (script(1), script(2));
    let hash = || format!("{:x}", sha256::Hash::hash(payee.as_bytes()));
    pay(world, &payee);
    pay(world, &ours);
    let mut token = None;
    for fault in [EsploraFault::FailsAt(hash()), EsploraFault::StuckAt(hash())] {
        server.misbehave(fault.clone());
        stage.wait(Duration::from_millis(300));
        let mut looks = 1;
        while !looked_at(world, &mut token, &payee, &ours).untold.contains(&payee) {
            looks += 1;
        }
        assert_eq!(looks, 5, "{fault:?}");
        let view = looked_at(world, &mut token, &payee, &ours);
        assert!(view.covered.holds(&ours) && !view.covered.holds(&payee), "{fault:?}: what is the merchant's is told");
        server.misbehave(None);
        assert!(looked_at(world, &mut token, &payee, &ours).covered.holds(&payee), "{fault:?}");
    }
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
    for backend in [Backend::Electrum, Backend::Esplora] {
        let stage = Stage::new(backend).await;
        let world = stage.world();
        let payment = world.payment().await;
        let payer = super::payer::Payer::with_coin(world, super::payer::Kind::Segwit).await;
        let sequence = bitcoin::Sequence::ENABLE_RBF_NO_LOCKTIME;
        world.hears(&payer.pays(&[(&payment.script, payment.payment.amount_sats)], 1, sequence)).await;
        assert_eq!(world.state(&payment), Unconfirmed, "{backend:?}");
        let burning = payer.burns();
        assert_eq!(burning.base_size(), 64);
        world.finds_mined(&[burning]).await;
        let other = world.payment().await;
        world.pay(&other, other.payment.amount_sats).await;
        world.mine(2).await;
        assert_eq!(world.state(&other), Confirmed, "{backend:?}");
        assert_eq!(
            world.state(&payment),
            Unconfirmed,
            "{backend:?}: of the one nothing is known, and nothing concluded"
        );
    }
}
