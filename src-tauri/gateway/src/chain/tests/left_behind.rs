//! Blocks that are not in the chain any more confirm nothing, wherever the look that finds them gone is cut off, and whatever
//! the server keeps back then.

use std::sync::Arc;

use tillgate_domain::payment::PaymentState::{Confirmed, Invalid, Unconfirmed, Underpaid};
use tillgate_domain::policy::PolicySettings;
use tillgate_nodes::{ElectrumFault, EsploraFault};

use super::stage::{AT_LEISURE, Backend, Stage};
use crate::store::payments::PaymentRow;
use crate::testing::World;
use crate::testing::cut_off::{Answers, CutOff};

/// More than any payment here asks for, and than one answer of a node holds.
const MANY_BLOCKS: u32 = 130;

/// The first part of a payment.
const PART_SATS: u64 = 1_000;

/// A payment that needs six confirmations.
async fn payment(world: &World) -> PaymentRow {
    let policy = PolicySettings { confirmation_tiers: "*:6".parse().unwrap(), ..PolicySettings::default() };
    world.payment_under(policy).await
}

/// The block with the customer's transaction goes, another spends its coins, and many blocks follow.
fn reverses(world: &World) {
    world.sandbox().reorg(1, false, world.now_ms()).unwrap();
    world.sandbox().mine(MANY_BLOCKS, false, world.now_ms()).unwrap();
}

/// A gateway that saw a payment with one confirmation.
async fn has_seen_a_payment(backend: Backend) -> (Stage, PaymentRow) {
    let stage = Stage::new(backend).await;
    let world = stage.world();
    let payment = payment(world).await;
    world.pay(&payment, payment.payment.amount_sats).await;
    world.mine(1).await;
    assert_eq!(world.state(&payment), Unconfirmed);
    (stage, payment)
}

/// Whether a payment is CONFIRMED, or the shop was ever told so.
fn was_confirmed(world: &World, payment: &PaymentRow) -> bool {
    world.state(payment) == Confirmed
        || world.notified_field(&payment.payment.id, "status").contains(&"CONFIRMED".to_owned())
}

#[tokio::test]
async fn a_node_that_is_lost_in_the_middle_of_catching_up_has_confirmed_nothing() {
    let (stage, payment) = has_seen_a_payment(Backend::Core).await;
    let answers = Answers::left(1);
    let stage = stage.restart(reverses).await.behind(|chain| Arc::new(CutOff { chain, answers }));
    assert!(stage.world().app.watcher.look().await.is_err());
    assert!(!was_confirmed(stage.world(), &payment));

    let stage = stage.restart(|_| ()).await;
    let world = stage.world();
    world.look().await;
    world.mine(1).await;
    assert!(!was_confirmed(world, &payment));
    assert_eq!(world.now_of(&payment.payment.id).payment.paid_sats, 0);
}

#[tokio::test]
async fn what_else_pays_in_the_new_chain_lends_its_blocks_to_nobody() {
    let (stage, payment) = has_seen_a_payment(Backend::Core).await;
    let stage = stage
        .restart(|world| {
            world.sandbox().reorg(1, false, world.now_ms()).unwrap();
            world.customer_pays(&payment, PART_SATS);
            world.sandbox().mine(MANY_BLOCKS, false, world.now_ms()).unwrap();
        })
        .await;
    stage.world().look().await;
    assert!(!was_confirmed(stage.world(), &payment));
}

#[tokio::test]
async fn an_electrum_server_that_tells_nothing_of_a_script_confirms_nothing_and_bars_no_other() {
    let stage = Stage::new(Backend::Electrum).await;
    let world = stage.world();
    let (payment, other) = (payment(world).await, payment(world).await);
    world.pay(&payment, PART_SATS).await;
    world.mine(8).await;
    world.pay(&payment, payment.payment.amount_sats - PART_SATS).await;
    world.mine(1).await;
    assert_eq!(world.state(&payment), Unconfirmed);

    stage.electrum().misbehave(ElectrumFault::RefusesPopular(1));
    stage.wait(AT_LEISURE);
    world.sandbox().reorg(1, false, world.now_ms()).unwrap();
    // A part that the look hears of by another payment's script.
    let scripts = [&payment, &other].map(|payment| (payment.script.clone(), PART_SATS));
    world.sandbox().pay_many(&scripts, world.now_ms()).unwrap();
    world.sandbox().mine(8, false, world.now_ms()).unwrap();
    for _ in 0..3 {
        world.look().await;
        assert!(!was_confirmed(world, &payment));
    }
    stage.electrum().misbehave(None);
    world.mine(1).await;
    world.look().await;
    assert!(!was_confirmed(world, &payment));
    assert_eq!(world.state(&payment), Underpaid);
}

#[tokio::test]
async fn an_esplora_server_that_is_lost_after_any_question_has_confirmed_nothing() {
    for questions in [1, 3, 5, 8, 12, 20, 40, 80, 140, 160] {
        let (stage, payment) = has_seen_a_payment(Backend::Esplora).await;
        let stage = stage.restart(reverses).await;
        stage.esplora().misbehave(EsploraFault::BusyAfter { questions, for_s: 60 });
        let _ = stage.world().app.watcher.look().await;
        let stage = stage.restart(|_| ()).await;
        let world = stage.world();
        for _ in 0..3 {
            world.look().await;
            assert!(!was_confirmed(world, &payment), "after {questions} questions");
        }
    }
}

/// A server of this kind tells all its blocks higher than they are, or none.
fn tells_higher(stage: &Stage, backend: Backend, by: Option<u32>) {
    match backend {
        Backend::Electrum => stage.electrum().misbehave(by.map(ElectrumFault::Higher)),
        _ => stage.esplora().misbehave(by.map(|by| EsploraFault::Higher { above: 0, by })),
    }
}

#[tokio::test]
async fn a_server_that_tells_its_whole_chain_higher_than_it_is_confirms_nothing_and_is_not_begun_with() {
    for backend in [Backend::Electrum, Backend::Esplora] {
        let (stage, payment) = has_seen_a_payment(backend).await;
        tells_higher(&stage, backend, Some(45));
        for _ in 0..2 {
            // It may not have told of a new best block yet.
            let _ = stage.world().app.watcher.look().await;
            assert_eq!(stage.world().state(&payment), Unconfirmed, "{backend:?}");
        }
        let stage = stage.restart(|_| ()).await;
        tells_higher(&stage, backend, Some(45));
        let why = stage.world().app.watcher.look().await.unwrap_err().to_string();
        assert!(why.contains("it has another height"), "{backend:?}: {why}");
        assert_eq!(stage.world().state(&payment), Unconfirmed, "{backend:?}");
        tells_higher(&stage, backend, None);
        stage.wait(AT_LEISURE);
        stage.world().mine(5).await;
        stage.world().looks_until("it is confirmed", || stage.world().state(&payment) == Confirmed).await;

        let stage = Stage::unlooked(backend).await;
        tells_higher(&stage, backend, Some(45));
        let why = stage.world().app.watcher.look().await.unwrap_err().to_string();
        assert!(why.contains("it has another height"), "{backend:?}: {why}");
        tells_higher(&stage, backend, None);
        stage.wait(AT_LEISURE);
        stage.world().look().await;
    }
}

#[tokio::test]
async fn the_best_block_confirms_once_wherever_below_the_known_headers_an_esplora_server_says_that_it_lies() {
    let stage = Stage::new(Backend::Esplora).await;
    let payment = payment(stage.world()).await;
    stage.world().mine(30).await;
    let stage = stage
        .restart(|world| {
            world.customer_pays(&payment, payment.payment.amount_sats);
            world.sandbox().mine(2, false, world.now_ms()).unwrap();
        })
        .await;
    let block = stage.world().sandbox().tip().unwrap().height - 1;
    for by in [11, 12, 13, 40] {
        stage.esplora().misbehave(EsploraFault::Deeper { block, by });
        let _ = stage.world().app.watcher.look().await;
        assert!(!was_confirmed(stage.world(), &payment), "{by}");
        stage.wait(AT_LEISURE);
    }
    stage.esplora().misbehave(None);
    stage.world().mine(4).await;
    assert_eq!(stage.world().state(&payment), Confirmed);
}

#[tokio::test]
async fn what_stood_in_a_left_block_is_not_waiting_because_a_server_goes_on_telling_it_by_its_id() {
    let (stage, payment) = Stage::paid(Backend::Esplora).await;
    let world = stage.world();
    world.mine(1).await;
    assert_eq!(world.state(&payment), Confirmed);
    world.sandbox().reorg(1, false, world.now_ms()).unwrap();
    world.look().await;
    assert!(stage.esplora().asked("tx/outspend") > 0, "by its id it is told as unconfirmed");
    assert_eq!(world.state(&payment), Invalid);
}
