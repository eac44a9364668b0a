//! Staff release a hold only if they name its present reason, or none.

use tillgate_store::sender_hold::Hold;
use tillgate_told::Telling;

use crate::sender::ReleaseError;
use crate::testing::World;
use crate::testing::sending::world_with_coins;

async fn hold(world: &World, reason: &'static str) -> Hold {
    let now = world.gateway.time.now();
    world
        .gateway
        .store
        .write(move |tx| tx.hold_sender(now, &Telling::of_text(reason)))
        .await
        .unwrap();
    held(world).unwrap()
}

fn held(world: &World) -> Option<Hold> {
    world.gateway.store.read(|reader| reader.sender_hold()).unwrap()
}

#[tokio::test]
async fn a_release_that_names_the_first_reason_keeps_the_second_hold() {
    let world = world_with_coins(1).await;
    let read = hold(&world, "a first twin").await;
    assert!(world.app.sender.release("cli:bea", None, true).await.unwrap());
    let second = hold(&world, "a second twin").await;
    let refused = world.app.sender.release("cli:ann", Some(read.reason.message), true).await;
    assert!(matches!(refused, Err(ReleaseError::Another(_))), "{refused:?}");
    assert_eq!(held(&world), Some(second.clone()));
    assert!(world.app.sender.release("cli:ann", Some(second.reason.message), true).await.unwrap());
    assert_eq!(held(&world), None);
}

#[tokio::test]
async fn a_second_reason_is_added_and_not_released_unread() {
    let world = world_with_coins(1).await;
    let read = hold(&world, "a first twin").await;
    assert_eq!(hold(&world, "a first twin").await, read, "a known reason changes the hold");
    world.advance_clock_ms(1_000);
    let both = hold(&world, "a second twin").await;
    assert_eq!(
        (both.reason.message.as_str(), both.since),
        ("a first twin; a second twin", read.since)
    );
    let refused = world.app.sender.release("cli:ann", Some(read.reason.message), true).await;
    assert!(matches!(refused, Err(ReleaseError::Another(_))), "{refused:?}");
    assert!(
        world.app.sender.release("cli:ann", None, true).await.unwrap(),
        "without a reason, any hold is released"
    );
    assert!(
        !world.app.sender.release("cli:ann", Some(both.reason.message), true).await.unwrap(),
        "the sender still holds"
    );
}

#[tokio::test]
async fn the_text_of_many_reasons_is_bounded_and_changes_with_each() {
    let world = world_with_coins(1).await;
    let mut before = hold(&world, "a first twin").await;
    for number in 0..200 {
        let now = world.gateway.time.now();
        let reason = format!("twin number {number} with a long name");
        world
            .gateway
            .store
            .write(move |tx| tx.hold_sender(now, &Telling::of_text(reason)))
            .await
            .unwrap();
        let after = held(&world).unwrap();
        assert!(
            after.reason != before.reason && after.reason.message.len() < 2_000,
            "{}",
            after.reason
        );
        before = after;
    }
}
