//! Blocks that left the chain confirm nothing, even after a look was cut off or a server withheld
//! data.

use std::sync::Arc;

use tillgate_domain::payment::PaymentState::{Confirmed, Unconfirmed, Underpaid};
use tillgate_domain::policy::PolicySettings;
use tillgate_nodes::ElectrumFault;
use tillgate_store::payments::PaymentRow;

use crate::testing::World;
use crate::testing::limited_looks::{Answers, LimitedLooks};
use crate::testing::stage::{AT_LEISURE, Backend, Stage};

/// More confirmations than any payment here needs, and more blocks than one answer of a node holds.
const MANY_BLOCKS: u32 = 130;

const PART_SATS: u64 = 1_000;

/// A payment that needs six confirmations.
async fn payment(world: &World) -> PaymentRow {
    let policy =
        PolicySettings { confirmation_tiers: "*:6".parse().unwrap(), ..PolicySettings::default() };
    world.payment_under(policy).await
}

/// Drops the block with the customer's transaction, spends its coins elsewhere, and mines many
/// blocks.
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

/// Whether a payment is CONFIRMED, or its shop was ever notified of that.
fn was_confirmed(world: &World, payment: &PaymentRow) -> bool {
    world.state(payment) == Confirmed
        || world.notified_field(&payment.payment.id, "status").contains(&"CONFIRMED".to_owned())
}

#[tokio::test]
async fn a_node_lost_while_catching_up_has_confirmed_nothing() {
    let (stage, payment) = has_seen_a_payment(Backend::Core).await;
    let answers = Answers::allowing(1);
    let stage =
        stage.restart(reverses).await.behind(|chain| Arc::new(LimitedLooks { chain, answers }));
    assert!(stage.world().app.watcher.look().await.is_err());
    assert!(!was_confirmed(stage.world(), &payment));

    let stage = stage.restart(|_| ()).await;
    let world = stage.world();
    world.look().await;
    world.mine(1).await;
    assert!(!was_confirmed(world, &payment));
    assert_eq!(world.reload_payment(&payment.payment.id).payment.paid_sats, 0);
}

#[tokio::test]
async fn a_part_paid_in_the_new_chain_does_not_confirm_the_rest() {
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
async fn a_server_silent_about_a_script_confirms_nothing() {
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
    // A part that the look finds through another payment's script.
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

/// Makes an Electrum server report all blocks too high by `by`, or correctly for `None`.
fn tells_higher(stage: &Stage, by: Option<u32>) {
    stage.electrum().misbehave(by.map(ElectrumFault::Higher));
}

#[tokio::test]
async fn a_chain_reported_too_high_confirms_nothing() {
    let (stage, payment) = has_seen_a_payment(Backend::Electrum).await;
    tells_higher(&stage, Some(45));
    for _ in 0..2 {
        // A look may succeed: the server may not have reported a new best block yet.
        let _ = stage.world().app.watcher.look().await;
        assert_eq!(stage.world().state(&payment), Unconfirmed);
    }
    let stage = stage.restart(|_| ()).await;
    tells_higher(&stage, Some(45));
    let why = stage.world().app.watcher.look().await.unwrap_err().to_string();
    assert!(why.contains("it has another height"), "{why}");
    assert_eq!(stage.world().state(&payment), Unconfirmed);
    tells_higher(&stage, None);
    stage.wait(AT_LEISURE);
    stage.world().mine(5).await;
    stage
        .world()
        .looks_until("it is confirmed", || stage.world().state(&payment) == Confirmed)
        .await;

    let stage = Stage::unlooked(Backend::Electrum).await;
    tells_higher(&stage, Some(45));
    let why = stage.world().app.watcher.look().await.unwrap_err().to_string();
    assert!(why.contains("it has another height"), "{why}");
    tells_higher(&stage, None);
    stage.wait(AT_LEISURE);
    stage.world().look().await;
}
