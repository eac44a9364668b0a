//! More than one answer holds: parts are stored as they come.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use tillgate_domain::payment::PaymentState::{Expired, New, Unconfirmed};
use tillgate_domain::restore::RestoreState;

use super::watched;
use crate::chain::{Chain, ChainDown, LookRequest, View};
use crate::console::status::Status;
use crate::console::wallet::{RestoreState as ShownState, ShowRestore};
use crate::console::{Actor, ask};
use crate::gateway::NotWatched;
use crate::payments::CreateError;
use crate::store::restore::{NewRestore, RestoreSource};
use crate::testing::bent::Bent;
use crate::testing::{HALF_AN_HOUR_MS, World, ask_for_payment};

/// The sandbox's chain, of which an answer tells so many changes, cut off after some answers.
struct Parts {
    chain: Arc<dyn Chain>,
    answers: Arc<AtomicU32>,
    asked: Arc<AtomicU32>,
}

impl Bent for Parts {
    fn chain(&self) -> &dyn Chain {
        self.chain.as_ref()
    }

    fn look(&self, request: &LookRequest<'_>) -> Result<View, ChainDown> {
        let cut_off = |left: u32| left.checked_sub(1);
        if self.answers.fetch_update(Ordering::SeqCst, Ordering::SeqCst, cut_off).is_err() {
            return Err(ChainDown("it was cut off".to_owned()));
        }
        self.asked.fetch_add(1, Ordering::SeqCst);
        self.chain.look(request)
    }
}

fn in_parts(world: World) -> (World, Arc<AtomicU32>, Arc<AtomicU32>) {
    let (answers, asked) = (Arc::new(AtomicU32::new(u32::MAX)), Arc::new(AtomicU32::new(0)));
    let (left, counted) = (Arc::clone(&answers), Arc::clone(&asked));
    let world = world.with_chain(|chain| Arc::new(Parts { chain, answers: left, asked: counted }));
    (world, answers, asked)
}

async fn create_payment(world: &World) -> Result<(), CreateError> {
    world.gateway.refresh_rates().await.unwrap();
    ask_for_payment(&world.gateway).await
}

#[tokio::test]
async fn a_long_look_is_stored_part_by_part_and_goes_on_after_a_crash_where_it_was() {
    let (world, answers, asked) = in_parts(World::new().await);
    world.make_wallet().await;
    let (paid, unpaid) = (world.payment().await, world.payment().await);
    let before = watched(&world);
    world.customer_pays(&paid, paid.payment.amount_sats);
    // Each block is a change at least, and an answer holds 500.
    world.sandbox().mine(1_000, true, world.now_ms()).unwrap();
    world.sandbox().mine(1_000, true, world.now_ms()).unwrap();
    world.advance_clock_ms(HALF_AN_HOUR_MS + 20 * 60_000);

    answers.store(2, Ordering::SeqCst);
    assert!(world.app.watcher.look().await.is_err());
    assert_eq!(world.state(&paid), Unconfirmed, "the first part told of it");
    assert_eq!(world.state(&unpaid), New, "time decides nothing before the last part");
    let part = watched(&world);
    assert_ne!(part.cursor, before.cursor);
    assert_eq!(part.looked_at, before.looked_at, "no look has ended");
    let status = world.gateway.last_look.status();
    assert!(status.catching_up.is_some_and(|it| it.to_string().contains("catches up")));
    assert!(matches!(create_payment(&world).await, Err(CreateError::NotWatched(NotWatched::Behind(_)))));

    let world = world.reopen().await;
    let (world, _, asked_again) = in_parts(world);
    asked.store(0, Ordering::SeqCst);
    world.look().await;
    assert_eq!((world.state(&paid), world.state(&unpaid)), (Unconfirmed, Expired));
    assert!(asked_again.load(Ordering::SeqCst) >= 2, "the rest, and not all of it");
    assert_eq!(world.gateway.last_look.status().catching_up, None);
    assert!(create_payment(&world).await.is_ok());
}

#[tokio::test]
async fn a_restored_copy_tells_how_far_it_has_looked_before_anything_of_it_is_stored() {
    let world = World::new().await;
    world.make_wallet().await;
    let payment = world.payment_to_wallet().await;
    world.pay(&payment, payment.payment.amount_sats).await;
    world.sandbox().mine(1_000, true, world.now_ms()).unwrap();
    world.sandbox().mine(1_000, true, world.now_ms()).unwrap();
    let seen_by_the_backup = watched(&world).tip.height;
    let new = NewRestore {
        source: RestoreSource::Backup,
        at: world.gateway.clock.now(),
        birth_height: Some(0),
        looks_ahead: 30,
        skip: 10,
        beside_another: false,
    };
    world.gateway.store.write(move |tx| tx.begin_restore(&new)).await.unwrap();
    let (world, answers, _) = in_parts(world);
    answers.store(3, Ordering::SeqCst);
    assert!(world.app.watcher.look().await.is_err());

    let stored = || world.gateway.store.read(|reader| reader.restore()).unwrap().unwrap();
    assert_eq!((stored().state, stored().scanned_height), (RestoreState::Awaited, None), "nothing of it is stored");
    let by = Actor::command_line();
    let shown = ask(&world.app, ShowRestore {}, &by).await.unwrap().restore.unwrap();
    assert_eq!(shown.state, ShownState::Scanning);
    let looked_up_to = shown.scanned_height.unwrap();
    assert!(looked_up_to > seen_by_the_backup && (1..100).contains(&shown.percent), "{shown:?}");
    assert_eq!(shown.chain_height, Some(world.sandbox().tip().unwrap().height), "not what the backup knew");
    let status = ask(&world.app, Status {}, &by).await.unwrap();
    assert!(status.catching_up.is_some_and(|told| told.contains(&format!("block {looked_up_to} of"))));
    assert_eq!(status.chain_height, looked_up_to);

    answers.store(u32::MAX, Ordering::SeqCst);
    world.look().await;
    assert_eq!(stored().state, RestoreState::Looked);
    assert_eq!(ask(&world.app, Status {}, &by).await.unwrap().catching_up, None);
}
