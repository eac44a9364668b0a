//! Changes of coins between their choice and the commit.

use crate::funds;
use crate::sender::build;
use crate::testing::World;
use crate::testing::sending::world_with_coins;

async fn prepared(world: &World) -> build::Signed {
    let settings = world.gateway.settings.snapshot();
    let rate = funds::fee_rate_now(&world.gateway, &settings).await.unwrap();
    build::sign_chosen(&world.gateway, build::prepare(&world.gateway, &settings, rate).unwrap())
        .unwrap()
}

#[tokio::test]
async fn a_coin_that_left_its_block_after_it_was_chosen_is_not_spent() {
    let world = world_with_coins(1).await;
    let payout = world.approved_payout(300_000).await;
    let signed = prepared(&world).await;
    // The customer's coins are in the mempool again, and the customer can take them back.
    world.sandbox().reorg(2, true, world.now_ms()).unwrap();
    world.look().await;
    assert_eq!(build::store(&world.gateway, signed).await.unwrap(), None);
    assert_eq!(world.payout(&payout).txid, None);
    // Once deep enough again, the coin is spent.
    world.mine(2).await;
    let signed = prepared(&world).await;
    assert!(build::store(&world.gateway, signed).await.unwrap().is_some());
}

#[tokio::test]
async fn change_that_is_mined_after_the_choice_can_still_be_spent() {
    let world = world_with_coins(1).await;
    world.approved_payout(300_000).await;
    world.send().await;
    world.look().await;
    world.approved_payout(300_000).await;
    let signed = prepared(&world).await;
    assert_eq!(signed.spend.inputs[0].height, None);
    world.mine(1).await;
    assert!(build::store(&world.gateway, signed).await.unwrap().is_some());
}
