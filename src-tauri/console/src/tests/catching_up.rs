//! Looks that need several answers, of which each is stored.

use std::sync::Arc;

use tillgate_domain::payment::PaymentState::{Expired, New, Unconfirmed};
use tillgate_domain::restore::RestoreState;
use tillgate_gateway::gateway::NotWatched;
use tillgate_gateway::payments::CreateError;
use tillgate_gateway::testing::limited_looks::{Answers, LimitedLooks};
use tillgate_gateway::testing::{HALF_AN_HOUR_MS, World, ask_for_payment};

use crate::status::Status;
use crate::wallet::ShowRestore;
use crate::{Actor, ask};
use tillgate_store::chain::WatchedChain;

/// The same gateway; its backend can be cut off after a number of answers.
fn in_parts(world: World) -> (World, Arc<Answers>) {
    let answers = Answers::allowing(u32::MAX);
    let left = Arc::clone(&answers);
    (world.with_chain(|chain| Arc::new(LimitedLooks { chain, answers: left })), answers)
}

async fn create_payment(world: &World) -> Result<(), CreateError> {
    world.gateway.refresh_rates().await.unwrap();
    ask_for_payment(&world.gateway).await
}

fn watched(world: &World) -> WatchedChain {
    world.gateway.store.read(|reader| reader.watched_chain()).unwrap().unwrap()
}

#[tokio::test]
async fn a_long_look_is_stored_in_parts_and_continues_after_a_crash() {
    let (world, answers) = in_parts(World::new().await);
    world.make_wallet().await;
    let (paid, unpaid) = (world.payment().await, world.payment().await);
    let before = watched(&world);
    world.customer_pays(&paid, paid.payment.amount_sats);
    // Each block is at least one change, and an answer holds 500 changes.
    world.sandbox().mine(1_000, true, world.now_ms()).unwrap();
    world.sandbox().mine(1_000, true, world.now_ms()).unwrap();
    world.advance_clock_ms(HALF_AN_HOUR_MS + 20 * 60_000);

    answers.allow(2);
    assert!(world.app.watcher.look().await.is_err());
    assert_eq!(world.state(&paid), Unconfirmed, "the first part reports its transaction");
    assert_eq!(world.state(&unpaid), New, "time decides nothing before the last part");
    let part = watched(&world);
    assert_ne!(part.cursor, before.cursor);
    assert_eq!(part.looked_at, before.looked_at, "no look has ended");
    let status = world.gateway.backend.last_look.status();
    assert!(status.catching_up.is_some_and(|it| it.to_string().contains("catches up")));
    assert!(matches!(
        create_payment(&world).await,
        Err(CreateError::NotWatched(NotWatched::Behind(_)))
    ));

    let world = world.reopen().await;
    let (world, rest) = in_parts(world);
    world.look().await;
    assert_eq!((world.state(&paid), world.state(&unpaid)), (Unconfirmed, Expired));
    assert!(rest.given() >= 2, "the second look needs several answers too");
    assert_eq!(world.gateway.backend.last_look.status().catching_up, None);
    assert!(create_payment(&world).await.is_ok());
}

#[tokio::test]
async fn a_scan_reports_its_progress_before_anything_is_stored() {
    let world = World::new().await;
    world.make_wallet().await;
    let payment = world.payment_to_wallet().await;
    world.pay(&payment, payment.payment.amount_sats).await;
    world.sandbox().mine(1_000, true, world.now_ms()).unwrap();
    world.sandbox().mine(1_000, true, world.now_ms()).unwrap();
    let seen_by_the_backup = watched(&world).tip.height;
    world.begins_restore(30, 10).await;
    let (world, answers) = in_parts(world);
    answers.allow(3);
    assert!(world.app.watcher.look().await.is_err());

    let stored = || world.gateway.store.read(|reader| reader.restore()).unwrap().unwrap();
    assert_eq!(
        (stored().state, stored().scanned_height),
        (RestoreState::Awaited, None),
        "no progress is stored yet"
    );
    let by = Actor::command_line();
    let shown = ask(&world.app, ShowRestore {}, &by).await.unwrap().restore.unwrap();
    assert_eq!(shown.state, RestoreState::Scanning);
    let looked_up_to = shown.scanned_height.unwrap();
    assert!(looked_up_to > seen_by_the_backup && (1..100).contains(&shown.percent), "{shown:?}");
    assert_eq!(
        shown.chain_height,
        Some(world.sandbox().tip().unwrap().height),
        "the best block of the backend, not of the backup"
    );
    let status = ask(&world.app, Status {}, &by).await.unwrap();
    assert!(
        status
            .catching_up
            .is_some_and(|told| told.message.contains(&format!("block {looked_up_to} of")))
    );
    assert_eq!(status.chain_height, looked_up_to);

    answers.allow(u32::MAX);
    world.look().await;
    assert_eq!(stored().state, RestoreState::Looked);
    assert_eq!(ask(&world.app, Status {}, &by).await.unwrap().catching_up, None);
}
