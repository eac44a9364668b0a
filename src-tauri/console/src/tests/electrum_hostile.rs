//! An Electrum server that misbehaves in any way changes nothing, and a sentence reports it. Once
//! it behaves, the next look catches up.

use std::time::Duration;

use bitcoin::{Network, ScriptBuf};
use tillgate_domain::payment::PaymentState::{Confirmed, New, Unconfirmed};
use tillgate_domain::policy::PolicySettings;
use tillgate_gateway::testing::misbehaving::{TOO_LATE, judges_nothing};
use tillgate_gateway::testing::stage::{AT_LEISURE, Backend, Stage};
use tillgate_gateway::testing::{HALF_AN_HOUR_MS, World};
use tillgate_nodes::ElectrumFault;

use crate::ask::Ask;
use crate::doctor::{CheckItem, Doctor};
use crate::payments::ShowPayment;
use crate::status::Status;
use crate::{Actor, ask};

/// Every fault, and a fragment of the error that it causes.
fn faults() -> Vec<(ElectrumFault, &'static str)> {
    vec![
        (ElectrumFault::Slow(Duration::from_secs(60)), TOO_LATE),
        (ElectrumFault::Silent, TOO_LATE),
        (ElectrumFault::CutOff, "hung up in the middle of an answer"),
        (ElectrumFault::Closed, "hung up"),
        (ElectrumFault::EndlessLine, "a line of more than 64 KiB"),
        (ElectrumFault::Flood, "more notices than 256 KiB a second"),
        (ElectrumFault::NotJson, "does not speak the Electrum protocol"),
        (ElectrumFault::WrongTypes, "makes no sense"),
        (ElectrumFault::WrongIds, "an answer without a request"),
        (ElectrumFault::OldProtocol, "speaks no version of the protocol from 1.4 to 1.6"),
        (ElectrumFault::RefusesAll, "try another server"),
        (ElectrumFault::HangsUpAfter(3), "hung up"),
        (
            ElectrumFault::OtherNetwork(Network::Bitcoin),
            "is on bitcoin, and the setting network says regtest",
        ),
        (ElectrumFault::OlderTip(200), "it is behind"),
        (ElectrumFault::ForgedTransactions, "sent another transaction"),
        (ElectrumFault::NoProofOfWork, "no work was done"),
        (ElectrumFault::BrokenLink, "does not follow"),
        (ElectrumFault::ForgedMerkle, "does not prove it"),
        (ElectrumFault::MissingHistory, "the server withholds something"),
    ]
}

#[tokio::test]
async fn a_misbehaving_electrum_server_decides_nothing() {
    for (fault, words) in faults() {
        let what = format!("{fault:?}");
        let begin = |stage: &Stage| {
            stage.electrum().misbehave(fault.clone());
            // Connects again, for faults at the start of a connection.
            stage.wait(AT_LEISURE);
        };
        let end = async |stage: &Stage| stage.electrum().misbehave(None);
        judges_nothing(Backend::Electrum, &what, words, begin, end).await;
    }
}

#[tokio::test]
async fn a_server_with_endless_notifications_is_cut_off() {
    const MIB: u64 = 1_024 * 1_024;
    let stage = Stage::new(Backend::Electrum).await;
    let (world, server) = (stage.world(), stage.electrum());
    let payment = world.payment().await;
    world.look().await;
    let before = server.bytes();
    server.misbehave(ElectrumFault::FloodsBetween);
    let sentence = loop {
        if let Err(error) = world.app.watcher.look().await {
            break error.to_string();
        }
        assert!(server.bytes() - before < 40 * MIB, "the flood is not cut off");
    };
    assert!(sentence.contains("more notices than 256 KiB a second"), "{sentence}");
    // New connections get no further allowance.
    for _ in 0..50 {
        world.app.watcher.look().await.unwrap_err();
    }
    assert!(server.bytes() - before < 40 * MIB, "{}", server.bytes() - before);
    world.customer_pays(&payment, payment.payment.amount_sats);
    assert_eq!(world.state(&payment), New);
    server.misbehave(None);
    stage.wait(AT_LEISURE);
    world.look().await;
    assert_eq!(world.state(&payment), Unconfirmed);
}

#[tokio::test]
async fn a_forged_confirmation_confirms_nothing() {
    let stage = Stage::new(Backend::Electrum).await;
    let world = stage.world();
    let payment = world.payment().await;
    stage.electrum().misbehave(ElectrumFault::ForgedConfirmations);
    world.customer_pays(&payment, payment.payment.amount_sats);
    let sentence = world.app.watcher.look().await.unwrap_err().to_string();
    assert!(sentence.contains("does not prove it"), "{sentence}");
    assert_eq!(world.state(&payment), New);
    stage.electrum().misbehave(None);
    world.look().await;
    assert_eq!(world.state(&payment), Unconfirmed);
}

#[tokio::test]
async fn blocks_reported_too_high_add_no_confirmations() {
    let stage = Stage::new(Backend::Electrum).await;
    let world = stage.world();
    let six =
        PolicySettings { confirmation_tiers: "*:6".parse().unwrap(), ..PolicySettings::default() };
    let payment = world.payment_under(six).await;
    world.pay(&payment, payment.payment.amount_sats).await;
    world.mine(1).await;
    let before = world.gateway.store.read(|reader| reader.watched_chain()).unwrap();
    stage.electrum().misbehave(ElectrumFault::Higher(20));
    // With the best block seen before, and with one above it.
    for above in [0, 1] {
        if above > 0 {
            world.sandbox().mine(above, false, world.now_ms()).unwrap();
        }
        stage.wait(AT_LEISURE);
        let sentence = world
            .app
            .watcher
            .look()
            .await
            .expect_err("the false heights were accepted")
            .to_string();
        assert!(sentence.contains("it has another height"), "{sentence}");
        assert_eq!(world.state(&payment), Unconfirmed);
        assert_eq!(world.gateway.store.read(|reader| reader.watched_chain()).unwrap(), before);
    }
    stage.electrum().misbehave(None);
    stage.wait(AT_LEISURE);
    world.mine(3).await;
    assert_eq!(world.state(&payment), Unconfirmed);
    world.mine(1).await;
    assert_eq!(world.state(&payment), Confirmed);
}

#[tokio::test]
async fn an_invented_spend_reverses_no_payment() {
    let stage = Stage::new(Backend::Electrum).await;
    let world = stage.world();
    let payment = world.payment().await;
    let txid = world.pay(&payment, payment.payment.amount_sats).await;
    let mut spend = world.sandbox().transaction(txid).unwrap().unwrap().tx;
    spend.output.truncate(1);
    spend.output[0].script_pubkey = ScriptBuf::new();
    world.sandbox().evict(txid, world.now_ms()).unwrap();
    stage.electrum().misbehave(ElectrumFault::InventedSpend(spend.clone()));
    let sentence = world.app.watcher.look().await.unwrap_err().to_string();
    let words = format!("says that transaction {} is in block", spend.compute_txid());
    assert!(sentence.contains(&words) && sentence.contains("does not prove it"), "{sentence}");
    assert_eq!(world.state(&payment), Unconfirmed);
    assert!(!world.gateway.store.read(|reader| reader.receipts(payment.seq)).unwrap()[0].gone);
}

#[tokio::test]
async fn a_withheld_transaction_reverses_no_payment() {
    let stage = Stage::new(Backend::Electrum).await;
    let world = stage.world();
    let payment = world.payment().await;
    let txid = world.pay(&payment, payment.payment.amount_sats).await;
    world.mine(1).await;
    stage.electrum().misbehave(ElectrumFault::KeepsBack);
    stage.wait(AT_LEISURE);
    let sentence = world.app.watcher.look().await.unwrap_err().to_string();
    assert!(sentence.contains(&format!("withholds transaction {txid}")), "{sentence}");
    assert_eq!(world.state(&payment), Confirmed);
    assert!(
        world.gateway.store.read(|reader| reader.receipts(payment.seq)).unwrap()[0].is_in_block()
    );
}

#[tokio::test]
async fn a_server_of_another_network_is_refused_before_any_write() {
    let stage = Stage::unlooked(Backend::Electrum).await;
    let world = stage.world();
    stage.electrum().misbehave(ElectrumFault::OtherNetwork(Network::Signet));
    let sentence = world.app.watcher.look().await.unwrap_err().to_string();
    assert!(sentence.contains("is on signet, and the setting network says regtest"), "{sentence}");
    assert_eq!(world.gateway.store.read(|reader| reader.watched_chain()).unwrap(), None);
}

#[tokio::test]
async fn a_server_with_an_old_state_only_delays_changes() {
    let stage = Stage::new(Backend::Electrum).await;
    let world = stage.world();
    let payment = world.payment().await;
    world.look().await;
    stage.electrum().misbehave(ElectrumFault::StandsStill);
    world.customer_pays(&payment, payment.payment.amount_sats);
    world.mine(1).await;
    assert_eq!(world.state(&payment), New, "it shows neither the transaction nor the block");
    stage.electrum().misbehave(None);
    world.look().await;
    assert_eq!(world.state(&payment), Confirmed);
}

#[tokio::test]
async fn scripts_are_asked_about_in_turn_without_notifications() {
    let stage = Stage::new(Backend::Electrum).await;
    let world = stage.world();
    let payments = [
        world.payment().await,
        world.payment().await,
        world.payment().await,
        world.payment().await,
    ];
    world.look().await;
    stage.electrum().misbehave(ElectrumFault::NoNotifications);
    for payment in &payments {
        world.customer_pays(payment, payment.payment.amount_sats);
    }
    for _ in 0..4 {
        world.look().await;
    }
    for payment in &payments {
        assert_eq!(world.state(payment), Unconfirmed);
    }
}

async fn told_of<A: Ask>(world: &World, asked: A) -> A::Answer {
    ask(&world.app, asked, &Actor::panel()).await.unwrap()
}

async fn chain_check(world: &World) -> CheckItem {
    let doctor = told_of(world, Doctor {}).await;
    doctor.checks.into_iter().find(|check| check.name == "chain").unwrap()
}

#[tokio::test]
async fn a_payment_with_a_refused_history_is_told_and_not_closed() {
    let stage = Stage::new(Backend::Electrum).await;
    let world = stage.world();
    let (popular, other) = (world.payment().await, world.payment().await);
    for _ in 0..3 {
        world.customer_pays(&popular, 1_000);
    }
    stage.electrum().misbehave(ElectrumFault::RefusesPopular(2));
    stage.wait(AT_LEISURE);
    world.customer_pays(&other, other.payment.amount_sats);
    world.pass_ms(HALF_AN_HOUR_MS + 60_000).await;
    world.look().await;
    assert_eq!((world.state(&popular), world.state(&other)), (New, Unconfirmed));
    let popular_id = popular.payment.id.to_string();
    for (id, is_unreported) in [(popular_id.clone(), true), (other.payment.id.to_string(), false)] {
        assert_eq!(
            told_of(world, ShowPayment { payment_id: id }).await.is_unreported,
            is_unreported
        );
    }
    let names_it = |sentence: &String| {
        sentence.contains(&popular_id) && sentence.contains("a node of your own")
    };
    assert_eq!(
        told_of(world, Status {})
            .await
            .warnings
            .iter()
            .filter(|told| names_it(&told.message))
            .count(),
        1
    );
    let check = chain_check(world).await;
    assert!(!check.ok && names_it(&check.message), "{}", check.message);
    stage.electrum().misbehave(None);
    world.mine(1).await;
    world.look().await;
    assert_ne!(world.state(&popular), New, "its deadline has passed, and its history is known now");
    assert!(!told_of(world, ShowPayment { payment_id: popular_id }).await.is_unreported);
    assert!(chain_check(world).await.ok);
}
