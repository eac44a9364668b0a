//! Blocks far below the best one of an Esplora server: they are linked one by one where no time bears out how many there are,
//! and down to one that a payment stands in.

use bitcoin::hashes::{Hash as _, sha256};
use tillgate_domain::payment::PaymentState::{Confirmed, Expired, New, Unconfirmed};
use tillgate_nodes::EsploraFault;

use super::stage::{AT_LEISURE, Backend, Stage};
use crate::testing::{HALF_AN_HOUR_MS, World};

/// More blocks than are kept linked.
const FAR: u32 = 2_100;

/// Blocks of which the server tells at a time.
const PAGE: u64 = 10;

fn mine_far(world: &World) {
    for _ in 0..3 {
        world.sandbox().mine(FAR / 3, true, world.now_ms()).unwrap();
    }
}

#[tokio::test]
async fn blocks_of_weeks_are_linked_in_parts_and_begun_again_where_the_server_breaks_off() {
    let stage = Stage::new(Backend::Esplora).await;
    let (world, server) = (stage.world(), stage.esplora());
    let (paid, unpaid) = (world.payment().await, world.payment().await);
    world.pay(&paid, paid.payment.amount_sats).await;
    world.sandbox().mine(1, false, world.now_ms()).unwrap();
    mine_far(world);
    world.advance_clock_ms(HALF_AN_HOUR_MS + 20 * 60_000);

    let looked_at = world.gateway.last_look.watched().unwrap().looked_at;
    server.misbehave(EsploraFault::BusyAfter { questions: 100, for_s: 3_600 });
    let sentence = world.app.watcher.look().await.unwrap_err().to_string();
    assert!(sentence.contains("left alone"), "{sentence}");
    assert!(world.gateway.last_look.status().catching_up.is_some(), "parts of it were stored");
    assert_eq!(world.gateway.last_look.watched().unwrap().looked_at, looked_at, "no look has ended");
    assert_eq!((world.state(&paid), world.state(&unpaid)), (Unconfirmed, New));

    server.misbehave(None);
    stage.wait(AT_LEISURE);
    let asked = server.asked("blocks");
    world.look().await;
    assert!(server.asked("blocks") - asked >= u64::from(FAR) / PAGE, "each block is linked");
    let tip = world.gateway.last_look.watched().unwrap().tip;
    assert_eq!(tip.hash, world.sandbox().tip().unwrap().hash);
    assert_eq!((world.state(&paid), world.state(&unpaid)), (Confirmed, Expired));
}

#[tokio::test]
async fn a_block_below_the_linked_ones_is_believed_where_it_lies_and_nowhere_else() {
    let stage = Stage::new(Backend::Esplora).await;
    let (world, server) = (stage.world(), stage.esplora());
    let (old, new) = (world.payment().await, world.payment().await);
    server.misbehave(EsploraFault::MissingHistory);
    world.customer_pays(&old, old.payment.amount_sats);
    world.sandbox().mine(1, false, world.now_ms()).unwrap();
    mine_far(world);
    world.look().await;
    assert_eq!(world.state(&old), New, "it is hidden");
    server.misbehave(None);
    let asked = server.asked("blocks");
    world.look().await;
    assert_eq!(world.state(&old), Confirmed, "its block is asked for, and proves it");
    assert!(server.asked("blocks") > asked, "it is linked to those that are kept");

    world.customer_pays(&new, new.payment.amount_sats);
    world.sandbox().mine(2, false, world.now_ms()).unwrap();
    let block = world.sandbox().tip().unwrap().height - 1;
    // Wherever it is among the linked ones, it would count with many confirmations.
    server.misbehave(EsploraFault::Deeper { block, by: FAR - 50 });
    world.look().await;
    assert_eq!(world.state(&new), New);
    server.misbehave(None);
    world.look().await;
    assert_eq!(world.state(&new), Confirmed);
}

#[tokio::test]
async fn a_block_that_was_linked_before_is_asked_for_alone() {
    let stage = Stage::new(Backend::Esplora).await;
    let (world, server) = (stage.world(), stage.esplora());
    let (old, later) = (world.payment().await, world.payment().await);
    server.misbehave(EsploraFault::MissingHistory);
    world.customer_pays(&old, old.payment.amount_sats);
    world.sandbox().mine(35, false, world.now_ms()).unwrap();
    world.customer_pays(&later, later.payment.amount_sats);
    world.sandbox().mine(1, false, world.now_ms()).unwrap();
    mine_far(world);
    world.look().await;
    server.misbehave(EsploraFault::EndlessHistory(format!("{:x}", sha256::Hash::hash(later.script.as_bytes()))));
    world.look().await;
    assert_eq!((world.state(&old), world.state(&later)), (Confirmed, New), "one is hidden");
    server.misbehave(None);
    let asked = server.asked("blocks");
    world.look().await;
    assert_eq!(world.state(&later), Confirmed, "its block proves it");
    assert!(server.asked("blocks") - asked <= 2, "no other is linked again");
}
