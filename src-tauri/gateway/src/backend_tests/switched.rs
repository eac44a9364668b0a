//! A merchant sets another kind of server as the backend. The new server continues where the
//! earlier one stopped, and gets no more trust than the earlier one.

use std::path::Path;
use std::sync::Arc;

use tillgate_chain::checks::token::Token;
use tillgate_domain::payment::PaymentState::Confirmed;
use tillgate_domain::restore::RestoreState;
use tillgate_nodes::{CoreFault, ElectrumFault};
use tillgate_sandbox::Sandbox;
use tillgate_store::chain::WatchedChain;
use tillgate_store::payments::PaymentRow;
use tillgate_store::sender_hold::HoldCause;

use crate::testing::World;
use crate::testing::set_meanwhile::When;
use crate::testing::stage::{AT_LEISURE, Backend, Stage};

const KINDS: [Backend; 2] = [Backend::Core, Backend::Electrum];

const DAY_MS: i64 = 24 * 3_600_000;

/// Each kind after each other kind.
fn changes() -> impl Iterator<Item = (Backend, Backend)> {
    let pairs = KINDS.into_iter().flat_map(|from| KINDS.map(|to| (from, to)));
    pairs.filter(|(from, to)| from != to)
}

/// A gateway that looks through a server of this kind, and has seen a payment confirmed.
async fn looking_through(kind: Backend) -> (Stage, PaymentRow) {
    let mut stage = Stage::new(Backend::Switched).await;
    stage.switch(kind);
    let world = stage.world();
    let payment = world.payment().await;
    world.pay(&payment, payment.payment.amount_sats).await;
    world.mine(3).await;
    assert_eq!(world.state(&payment), Confirmed);
    (stage, payment)
}

/// Makes the server of this kind show no block above `height`, or all blocks for `None`.
fn ends_with(stage: &Stage, kind: Backend, height: Option<u32>) {
    match kind {
        Backend::Core => stage.node().misbehave(height.map(CoreFault::OlderTip)),
        _ => stage.electrum().misbehave(height.map(ElectrumFault::OlderTip)),
    }
}

fn shows(stage: &Stage, kind: Backend, chain: &Arc<Sandbox>) {
    let chain = Arc::clone(chain);
    match kind {
        Backend::Core => stage.node().show(chain),
        _ => stage.electrum().show(chain),
    }
}

/// A copy of the current chain, which continues on its own.
fn branch_of(world: &World, folder: &Path) -> Arc<Sandbox> {
    for name in ["sandbox.db", "sandbox.db-wal"] {
        let from = world.folder.path().join("test").join(name);
        if from.exists() {
            std::fs::copy(from, folder.join(name)).unwrap();
        }
    }
    Arc::new(Sandbox::open(&folder.join("sandbox.db"), world.now_ms()).unwrap())
}

fn watched(world: &World) -> Option<WatchedChain> {
    world.gateway.store.read(|reader| reader.watched_chain()).unwrap()
}

fn check_same_chain(world: &World) {
    assert_eq!(
        world.gateway.backend.last_look.status().begun_anew_at,
        None,
        "it is the same chain"
    );
}

async fn check_refused_as_behind(world: &World, what: &str) {
    let before = watched(world);
    let sentence = world.app.watcher.look().await.expect_err(what).to_string();
    assert!(sentence.contains("it is behind, or lost blocks"), "{what}: {sentence}");
    assert_eq!(watched(world), before, "{what}");
}

#[tokio::test]
async fn a_server_of_another_kind_that_is_behind_is_refused() {
    for (from, to) in changes() {
        let what = format!("{to:?} after {from:?}");
        let (mut stage, payment) = looking_through(from).await;
        let height = stage.world().sandbox().tip().unwrap().height;
        ends_with(&stage, to, Some(height - 1));
        stage.switch(to);
        check_refused_as_behind(stage.world(), &what).await;
        assert_eq!(stage.world().state(&payment), Confirmed, "{what}");
        ends_with(&stage, to, None);
        stage.wait(AT_LEISURE);
        stage.world().look().await;
        check_same_chain(stage.world());
        assert_eq!(stage.world().state(&payment), Confirmed, "{what}");
    }
}

#[tokio::test]
async fn a_weaker_branch_is_looked_at_once_it_has_more_work() {
    for (from, to) in changes() {
        let what = format!("{to:?} after {from:?}");
        let folder = tempfile::tempdir().unwrap();
        let mut stage = Stage::new(Backend::Switched).await;
        stage.switch(from);
        let world = stage.world();
        world.look().await;
        let payment = world.payment().await;
        let branch = branch_of(world, folder.path());
        world.pay(&payment, payment.payment.amount_sats).await;
        world.mine(3).await;
        assert_eq!(world.state(&payment), Confirmed);
        branch.mine(2, true, world.now_ms()).unwrap();
        shows(&stage, to, &branch);
        stage.switch(to);
        let world = stage.world();
        check_refused_as_behind(world, &what).await;
        assert_eq!(world.state(&payment), Confirmed, "{what}");
        branch.mine(2, true, world.now_ms()).unwrap();
        stage.wait(AT_LEISURE);
        world.look().await;
        check_same_chain(world);
        let receipts = world.gateway.store.read(|reader| reader.receipts(payment.seq)).unwrap();
        assert!(!receipts[0].is_in_block(), "{what}: that branch does not hold it");
    }
}

#[tokio::test]
async fn coins_not_asked_about_yet_are_found_by_the_node_that_follows() {
    let mut stage = Stage::new(Backend::Switched).await;
    stage.switch(Backend::Electrum);
    let world = stage.world();
    world.make_wallet().await;
    let mut payments = Vec::new();
    // More payments than the following looks ask about.
    for _ in 0..60 {
        payments.push(world.payment_to_wallet().await);
    }
    world.pass_ms(2 * DAY_MS).await;
    // The hot scripts are read again.
    world.pass_ms(61_000).await;
    let late = &payments[59];
    world.customer_pays(late, 50_000);
    // Deeper than the blocks that a node always reads again.
    world.sandbox().mine(30, false, world.now_ms()).unwrap();
    world.look().await;
    let receipts = || world.gateway.store.read(|reader| reader.receipts(late.seq)).unwrap();
    assert_eq!(receipts(), [], "its script was not asked about yet");
    stage.switch(Backend::Core);
    let world = stage.world();
    world.look().await;
    assert_eq!(world.gateway.store.read(|reader| reader.receipts(late.seq)).unwrap().len(), 1);
    check_same_chain(world);
}

#[tokio::test]
async fn a_pruned_node_continues_if_a_server_showed_all_scripts() {
    let mut stage = Stage::new(Backend::Switched).await;
    stage.switch(Backend::Electrum);
    let world = stage.world();
    world.make_wallet().await;
    let payment = world.payment_to_wallet().await;
    world.pay(&payment, payment.payment.amount_sats).await;
    world.sandbox().mine(150, false, world.now_ms()).unwrap();
    world.look().await;
    let tip = world.sandbox().tip().unwrap().height;
    stage.node().misbehave(CoreFault::Pruned(tip - 50));
    stage.switch(Backend::Core);
    let sentence = stage.world().app.watcher.look().await.unwrap_err().to_string();
    assert!(
        sentence.contains("has pruned block"),
        "the pruned blocks may hold other payments: {sentence}"
    );
    stage.switch(Backend::Electrum);
    // More than two rounds over all scripts.
    for _ in 0..16 {
        stage.world().look().await;
    }
    stage.switch(Backend::Core);
    let world = stage.world();
    world.look().await;
    check_same_chain(world);
    let next = world.payment_to_wallet().await;
    world.pay(&next, next.payment.amount_sats).await;
    world.mine(1).await;
    assert_eq!((world.state(&payment), world.state(&next)), (Confirmed, Confirmed));
}

#[tokio::test]
async fn a_payment_that_a_server_hid_is_found_by_the_next_node() {
    let mut stage = Stage::new(Backend::Switched).await;
    stage.switch(Backend::Electrum);
    let world = stage.world();
    world.make_wallet().await;
    let payment = world.payment_to_wallet().await;
    stage.electrum().misbehave(ElectrumFault::KeepsBack);
    world.customer_pays(&payment, payment.payment.amount_sats);
    // Deeper than the blocks that a node always reads again.
    world.sandbox().mine(30, false, world.now_ms()).unwrap();
    world.look().await;
    let receipts =
        |world: &World| world.gateway.store.read(|reader| reader.receipts(payment.seq)).unwrap();
    assert_eq!(receipts(world), [], "the server hides it");
    // More than two rounds over all scripts. A look stores the result of the rounds if it finds
    // changes, or after a minute. These looks find no changes.
    let whole_up_to = || Token::read(&watched(world).unwrap().cursor.token).unwrap().whole_up_to;
    let before = whole_up_to();
    for _ in 0..16 {
        world.look().await;
    }
    assert_eq!(whole_up_to(), before, "a look that finds nothing stores nothing");
    world.pass_ms(61_000).await;
    assert_eq!(whole_up_to(), world.sandbox().tip().unwrap().height);
    let mut stage = stage.restart(|_| ()).await;
    stage.switch(Backend::Core);
    let world = stage.world();
    world.look().await;
    assert_eq!(receipts(world).len(), 1);
    check_same_chain(world);
}

#[tokio::test]
async fn blocks_reported_too_high_do_not_bar_other_servers() {
    for blocks in [1, 2] {
        let (mut stage, payment) = looking_through(Backend::Electrum).await;
        stage.electrum().misbehave(ElectrumFault::Higher(40_320));
        stage.world().sandbox().mine(blocks, false, stage.world().now_ms()).unwrap();
        let before = watched(stage.world());
        for _ in 0..2 {
            stage.world().app.watcher.look().await.expect_err("the false heights were accepted");
            // Drops the memory, so that the next look begins with the stored state.
            stage.wait(AT_LEISURE);
        }
        assert_eq!(watched(stage.world()), before);
        stage.electrum().misbehave(None);
        for kind in KINDS {
            stage.switch(kind);
            stage.world().look().await;
            check_same_chain(stage.world());
            assert_eq!(stage.world().state(&payment), Confirmed, "{kind:?}");
        }
    }
}

#[tokio::test]
async fn a_server_set_during_a_restored_copys_look_voids_that_look() {
    let mut stage = Stage::new(Backend::Switched).await;
    stage.switch(Backend::Core);
    let world = stage.world();
    world.make_wallet().await;
    let payment = world.payment_to_wallet().await;
    world.pay(&payment, payment.payment.amount_sats).await;
    // More blocks than one answer of the node holds.
    world.sandbox().mine(250, false, world.now_ms()).unwrap();
    world.look().await;
    world.begins_restore(30, 1_000).await;

    let stage = stage.switching_in_a_look(Backend::Electrum, When::Answered);
    let world = stage.world();
    let restore = || world.gateway.store.read(|reader| reader.restore()).unwrap().unwrap();
    let why = world.app.watcher.look().await.unwrap_err().to_string();
    assert!(why.contains("replaced in the settings"), "{why}");
    assert_eq!(restore().state, RestoreState::Awaited, "neither backend has reported everything");
    let hold = world.gateway.store.read(|reader| reader.sender_hold()).unwrap();
    assert_eq!(hold.map(|hold| hold.cause), Some(HoldCause::Restored));
    for _ in 0..10 {
        world.look().await;
    }
    assert_eq!(restore().state, RestoreState::Looked);
    assert!(
        restore().asked.addresses >= 30,
        "the server was asked about each: {:?}",
        restore().asked
    );
}

#[tokio::test]
async fn a_server_set_while_a_look_is_prepared_voids_that_look() {
    let mut stage = Stage::new(Backend::Switched).await;
    stage.switch(Backend::Core);
    stage.world().make_wallet().await;
    stage.world().look().await;

    let stage = stage.switching_in_a_look(Backend::Electrum, When::Prepared);
    let world = stage.world();
    let why = world.app.watcher.look().await.unwrap_err().to_string();
    assert!(
        why.contains("replaced in the settings"),
        "the scripts for the new server were not read: {why}"
    );
    world.look().await;
}
