//! An Electrum server that lies about which blocks it has. Its claims about single blocks decide
//! nothing: only blocks linked to its best block count.

use std::sync::Arc;

use tillgate_chain::checks::token::Token;
use tillgate_domain::payment::PaymentState::{Confirmed, Unconfirmed};
use tillgate_domain::policy::PolicySettings;
use tillgate_nodes::ElectrumFault;
use tillgate_sandbox::Sandbox;
use tillgate_store::payments::PaymentRow;

use crate::testing::World;
use crate::testing::stage::{AT_LEISURE, Backend, Stage};

const PART_SATS: u64 = 1_000;

/// The histories that a server withholds besides denying its blocks.
#[derive(Debug, Clone, Copy)]
enum Silent {
    /// The history of each script with more than one transaction.
    OfPaid,
    OfAll,
    Not,
}

fn denies(stage: &Stage, silent: Silent) {
    let other = match silent {
        Silent::OfPaid => Some(ElectrumFault::RefusesPopular(1)),
        Silent::OfAll => Some(ElectrumFault::KeepsBack),
        Silent::Not => None,
    };
    stage.electrum().misbehave(ElectrumFault::Denies(other.map(Box::new)));
}

/// A payment that needs six confirmations.
async fn payment(world: &World) -> PaymentRow {
    let policy =
        PolicySettings { confirmation_tiers: "*:6".parse().unwrap(), ..PolicySettings::default() };
    world.payment_under(policy).await
}

fn is_in_block(world: &World, payment: &PaymentRow) -> Vec<bool> {
    let receipts = world.gateway.store.read(|reader| reader.receipts(payment.seq)).unwrap();
    receipts.iter().map(|receipt| receipt.is_in_block()).collect()
}

fn is_the_same_chain(world: &World) {
    assert_eq!(
        world.gateway.backend.last_look.status().begun_anew_at,
        None,
        "it is the same chain"
    );
}

#[tokio::test]
async fn denied_blocks_and_a_withheld_history_confirm_no_payment() {
    for blocks in [1, 260] {
        let stage = Stage::new(Backend::Electrum).await;
        let world = stage.world();
        world.sandbox().mine(blocks, true, world.now_ms()).unwrap();
        world.look().await;
        let (paid, other) = (payment(world).await, payment(world).await);
        world.pay(&paid, PART_SATS).await;
        world.mine(8).await;
        world.pay(&paid, paid.payment.amount_sats - PART_SATS).await;
        world.mine(1).await;
        assert_eq!(world.state(&paid), Unconfirmed);

        let stage = stage
            .restart(|world| {
                world.sandbox().reorg(1, false, world.now_ms()).unwrap();
                // The look finds this part of the payment through another payment's script.
                let scripts = [&paid, &other].map(|payment| (payment.script.clone(), PART_SATS));
                world.sandbox().pay_many(&scripts, world.now_ms()).unwrap();
                world.sandbox().mine(8, false, world.now_ms()).unwrap();
            })
            .await;
        denies(&stage, Silent::OfPaid);
        let world = stage.world();
        for _ in 0..3 {
            world.look().await;
            assert_ne!(world.state(&paid), Confirmed);
            assert!(!is_in_block(world, &paid)[1], "its block left the chain");
            world.mine(1).await;
        }
        is_the_same_chain(world);
        assert!(is_in_block(world, &paid)[0], "its block is still in the chain");
    }
}

#[tokio::test]
async fn a_server_that_denies_its_blocks_takes_no_confirmation_back() {
    let stage = Stage::new(Backend::Electrum).await;
    let paid = stage.world().payment().await;
    stage.world().pay(&paid, paid.payment.amount_sats).await;
    stage.world().mine(2).await;
    assert_eq!(stage.world().state(&paid), Confirmed);
    let stage =
        stage.restart(|world| drop(world.sandbox().mine(1, false, world.now_ms()).unwrap())).await;
    denies(&stage, Silent::OfAll);
    let world = stage.world();
    for _ in 0..2 {
        // The look may fail, because the server withholds histories.
        let _ = world.app.watcher.look().await;
        assert_eq!((world.state(&paid), is_in_block(world, &paid)), (Confirmed, vec![true]));
    }
    is_the_same_chain(world);
}

#[tokio::test]
async fn a_denial_alone_costs_the_merchant_nothing() {
    let stage = Stage::new(Backend::Electrum).await;
    let paid = payment(stage.world()).await;
    stage.world().pay(&paid, paid.payment.amount_sats).await;
    stage.world().mine(1).await;
    let token = |world: &World| {
        let watched = world.gateway.store.read(|reader| reader.watched_chain()).unwrap();
        Token::read(&watched.unwrap().cursor.token).unwrap()
    };
    let before = token(stage.world());
    let stage =
        stage.restart(|world| drop(world.sandbox().mine(4, false, world.now_ms()).unwrap())).await;
    denies(&stage, Silent::Not);
    let world = stage.world();
    world.look().await;
    assert_eq!(world.state(&paid), Unconfirmed);
    assert_eq!(token(world).first(), before.first(), "the token begins at the same block");
    assert!(token(world).height_of(before.last().unwrap().id.hash).is_some());
    world.mine(1).await;
    assert_eq!(world.state(&paid), Confirmed);
    is_the_same_chain(world);
}

#[tokio::test]
async fn a_transaction_of_another_chain_gains_no_confirmations() {
    let folder = tempfile::tempdir().unwrap();
    let stage = Stage::new(Backend::Electrum).await;
    let world = stage.world();
    let paid = payment(world).await;
    world.pay(&paid, PART_SATS).await;
    world.pay(&paid, paid.payment.amount_sats - PART_SATS).await;
    world.mine(1).await;
    assert_eq!((world.state(&paid), is_in_block(world, &paid)), (Unconfirmed, vec![true, true]));

    let stage = stage.restart(|_| ()).await;
    let world = stage.world();
    let fresh =
        Sandbox::open(&folder.path().join("sandbox.db"), world.now_ms() + 3_600_000).unwrap();
    for _ in 0..2 {
        fresh.pay_many(&[(paid.script.clone(), PART_SATS)], world.now_ms()).unwrap();
    }
    let more = world.sandbox().tip().unwrap().height + 40 - fresh.tip().unwrap().height;
    fresh.mine(more, true, world.now_ms() + 3_600_000).unwrap();
    let fresh = Arc::new(fresh);
    stage.electrum().show(Arc::clone(&fresh));
    denies(&stage, Silent::OfPaid);
    for _ in 0..2 {
        world
            .looks_until("the new chain is looked at", || {
                world
                    .gateway
                    .backend
                    .last_look
                    .watched()
                    .is_some_and(|it| it.tip.hash == fresh.tip().unwrap().hash)
            })
            .await;
        assert!(world.gateway.backend.last_look.status().begun_anew_at.is_some());
        assert_eq!(
            (world.state(&paid), is_in_block(world, &paid)[..2].contains(&true)),
            (Unconfirmed, false)
        );
    }
    stage.electrum().misbehave(None);
    stage.wait(AT_LEISURE);
    world.look().await;
    assert_eq!(world.state(&paid), Unconfirmed);
}

#[tokio::test]
async fn a_server_that_missed_a_reorg_confirms_no_stale_block() {
    let stage = Stage::new(Backend::Two).await;
    let (world, [first, second]) = (stage.world(), stage.two());
    let paid = payment(world).await;
    world.pay(&paid, paid.payment.amount_sats).await;
    world.mine(1).await;
    assert_eq!(is_in_block(world, &paid), [true]);
    // The first server fails outside a look, so that the memory of its chain is kept.
    first.misbehave(ElectrumFault::Closed);
    let chain = Arc::clone(&world.gateway.backend.chain);
    tokio::task::spawn_blocking(move || chain.fee_rates(6)).await.unwrap().unwrap();
    first.misbehave(None);
    let left = world.sandbox().tip().unwrap().height;
    world.sandbox().reorg(1, true, world.now_ms()).unwrap();
    world.look().await;
    assert_eq!(is_in_block(world, &paid), [false], "the second server reported the reorganisation");
    second.misbehave(ElectrumFault::Closed);
    first.misbehave(ElectrumFault::ConfirmedBy(left));
    for _ in 0..2 {
        let sentence = world.app.watcher.look().await.unwrap_err().to_string();
        assert!(sentence.contains("does not prove it"), "{sentence}");
        assert_eq!(is_in_block(world, &paid), [false]);
    }
}
