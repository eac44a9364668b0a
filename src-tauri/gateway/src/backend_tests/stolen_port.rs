//! A stranger listens at the port of a stopped node and shows another chain. The stranger's claims
//! count for nothing: the headers show the work.

use std::sync::Arc;

use bitcoin::BlockHash;
use bitcoin::hashes::Hash as _;
use tempfile::TempDir;
use tillgate_domain::payment::PaymentState::{Confirmed, New};
use tillgate_nodes::CoreFault;
use tillgate_sandbox::Sandbox;
use tillgate_store::chain::{Cursor, WatchedChain};
use tillgate_store::payments::PaymentRow;

use crate::testing::World;
use crate::testing::stage::{Backend, Stage};

fn given_above(world: &World, payment: &PaymentRow) -> Option<u32> {
    world.gateway.store.read(|reader| reader.given_above(payment.seq)).unwrap()
}

fn watched(world: &World) -> WatchedChain {
    world.gateway.store.read(|reader| reader.watched_chain()).unwrap().unwrap()
}

async fn refused(world: &World) -> String {
    world.app.watcher.look().await.unwrap_err().to_string()
}

/// Brings the node back, and checks that the gateway continues.
async fn goes_on(stage: &Stage, payment: &PaymentRow) {
    let world = stage.world();
    stage.node().show(Arc::clone(world.gateway.backend.sandbox.as_ref().unwrap()));
    stage.node().misbehave(None);
    world.look().await;
    world.pay(payment, payment.payment.amount_sats).await;
    world.mine(1).await;
    assert_eq!(world.state(payment), Confirmed);
}

/// A gateway over a node, an unpaid payment, and a chain with less work that pays it.
async fn thief() -> (Stage, PaymentRow, Arc<Sandbox>, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let stage = Stage::new(Backend::Core).await;
    let world = stage.world();
    world.mine(30).await;
    let payment = world.payment().await;
    let thief =
        Sandbox::open(&folder.path().join("sandbox.db"), world.now_ms() + 3_600_000).unwrap();
    thief
        .pay_many(&[(payment.script.clone(), payment.payment.amount_sats)], world.now_ms())
        .unwrap();
    thief.mine(1, false, world.now_ms() + 3_600_000).unwrap();
    (stage, payment, Arc::new(thief), folder)
}

#[tokio::test]
async fn a_stranger_at_the_nodes_port_confirms_nothing() {
    // The stranger has pruned all blocks below its best block, or this block too.
    for kept_above in [0, 1] {
        let (stage, payment, thief, _folder) = thief().await;
        let world = stage.world();
        let before = (watched(world), given_above(world, &payment));
        stage.node().misbehave(CoreFault::Boasts(thief.tip().unwrap().height + kept_above));
        stage.node().show(thief);
        let sentence = refused(world).await;
        assert!(sentence.contains("has less work behind it"), "{sentence}");
        assert_eq!(world.state(&payment), New);
        assert_eq!(
            (watched(world), given_above(world, &payment)),
            before,
            "the known chain is unchanged"
        );
        goes_on(&stage, &payment).await;
        assert_eq!(
            world.gateway.backend.last_look.status().begun_anew_at,
            None,
            "it is the same chain"
        );
    }
}

#[tokio::test]
async fn a_node_that_denies_its_own_blocks_is_refused() {
    let stage = Stage::new(Backend::Core).await;
    stage.world().mine(30).await;
    let payment = stage.world().payment().await;
    let stage =
        stage.restart(|world| drop(world.sandbox().mine(1, false, world.now_ms()).unwrap())).await;
    let world = stage.world();
    let before = (watched(world), given_above(world, &payment));
    stage.node().misbehave(CoreFault::Denies);
    let sentence = refused(world).await;
    assert!(sentence.contains("which its own chain holds"), "{sentence}");
    assert_eq!((watched(world), given_above(world, &payment)), before);
    goes_on(&stage, &payment).await;
}

/// Stores a token with two blocks of a stranger, the last at `up_to`, and the work that they claim.
async fn misled(world: &World, up_to: u32) {
    let known = watched(world);
    let cursor = known.cursor.clone();
    let mut token = vec![5];
    token.extend(7u128.to_be_bytes());
    token.extend((u128::MAX >> 8).to_be_bytes());
    token.extend([up_to, up_to, 0].map(u32::to_be_bytes).concat());
    for (height, hash, work) in [(up_to - 100, [7; 32], 0), (up_to, [8; 32], u128::MAX >> 8)] {
        token.extend(height.to_be_bytes());
        token.extend(BlockHash::from_byte_array(hash).to_byte_array());
        token.extend(work.to_be_bytes());
    }
    let misled = WatchedChain { cursor: Cursor { token, ..cursor }, ..known };
    world.gateway.store.write(move |tx| tx.save_watched_chain(&misled)).await.unwrap();
}

#[tokio::test]
async fn after_a_forged_high_chain_the_error_names_the_remedy() {
    let stage = Stage::new(Backend::Core).await;
    misled(stage.world(), 2_000_000).await;
    let stage = stage.restart(|_| ()).await;
    let sentence = refused(stage.world()).await;
    assert!(
        sentence.contains("block 2000000") && sentence.contains("wallet restore --birthday"),
        "{sentence}"
    );
}
