//! Payouts that spend the change of payouts that no block holds yet.

use tillgate_domain::id::Id;
use tillgate_domain::payout::PayoutState;

use super::support::world_with_coins;
use crate::gateway::Cause;
use crate::testing::World;
use crate::wallet::spend::MAX_ANCESTORS;

/// So many payouts in a row, each in a transaction of its own.
async fn sent_in_a_row(world: &World, count: u32) -> Vec<Id> {
    let mut payouts = Vec::new();
    for _ in 0..count {
        let payout = world.approved_payout(20_000).await;
        world.send().await;
        assert_eq!(world.payout_state(&payout), PayoutState::Sent);
        world.look().await;
        payouts.push(payout);
    }
    payouts
}

#[tokio::test]
async fn a_payout_behind_eleven_unconfirmed_ones_waits_for_a_block() {
    let world = world_with_coins(1).await;
    sent_in_a_row(&world, MAX_ANCESTORS + 1).await;
    let next = world.approved_payout(20_000).await;
    world.send().await;
    assert_eq!(world.payout_state(&next), PayoutState::Queued);
    let why = world.gateway.sending.waits_for().unwrap();
    let told = (why.cause, why.details.as_str());
    assert_eq!(told, (Cause::Block, "earlier payouts wait for a block; this one follows them"));
    world.mine_and_pass(1).await;
    assert_eq!(world.payout_state(&next), PayoutState::Sent);
}

#[tokio::test]
async fn a_payout_that_waited_a_day_for_a_block_fails_with_that_reason() {
    let world = world_with_coins(1).await;
    sent_in_a_row(&world, MAX_ANCESTORS + 1).await;
    let next = world.approved_payout(20_000).await;
    world.pass_ms(25 * 3_600_000).await;
    world.pass_sender().await;
    let reason = world.payout(&next).failure_reason.unwrap();
    assert_eq!(reason, "it could not be sent in time: earlier payouts waited for a block");
}
