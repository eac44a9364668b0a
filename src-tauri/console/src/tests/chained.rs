//! Payouts that spend the change of unconfirmed payouts.

use tillgate_domain::id::Id;
use tillgate_domain::payout::PayoutState;
use tillgate_gateway::gateway::WaitCause;
use tillgate_gateway::testing::World;
use tillgate_gateway::testing::sending::world_with_coins;
use tillgate_gateway::wallet::spend::MAX_ANCESTORS;

use crate::wallet::{WalletInfo, WalletInfoView};
use crate::{Actor, ask};

/// Sends this many payouts in a row, each in a transaction of its own.
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

async fn sums(world: &World) -> WalletInfoView {
    ask(&world.app, WalletInfo::default(), &Actor::command_line()).await.unwrap()
}

#[tokio::test]
async fn three_chained_payouts_lock_their_coin_once() {
    let world = world_with_coins(1).await;
    let payouts = sent_in_a_row(&world, 3).await;
    let paid: i64 = payouts
        .iter()
        .map(|payout| {
            let row = world.payout(payout);
            i64::try_from(row.amount_sats).unwrap() - row.booked_fee_sats
        })
        .sum();
    let on_the_way = sums(&world).await;
    assert_eq!(on_the_way.locked.sats, 1_000_000);
    assert_eq!(
        on_the_way.spendable.sats,
        1_000_000 - paid,
        "the change of the last payout is spendable"
    );
    assert_eq!(on_the_way.balance.sats, on_the_way.spendable.sats);
    world.mine(1).await;
    let mined = sums(&world).await;
    assert_eq!((mined.locked.sats, mined.spendable.sats), (0, 1_000_000 - paid));
}

#[tokio::test]
async fn a_payout_behind_eleven_unconfirmed_ones_waits_for_a_block() {
    let world = world_with_coins(1).await;
    sent_in_a_row(&world, MAX_ANCESTORS + 1).await;
    let next = world.approved_payout(20_000).await;
    world.send().await;
    assert_eq!(world.payout_state(&next), PayoutState::Queued);
    let why = world.gateway.sending.waits_for().unwrap();
    let told = (why.cause, why.reason.message.as_str());
    assert_eq!(told, (WaitCause::Block, "earlier payouts wait for a block; this one follows them"));
    world.mine_and_pass(1).await;
    assert_eq!(world.payout_state(&next), PayoutState::Sent);
}

#[tokio::test]
async fn a_payout_that_waits_a_day_for_a_block_fails_with_that_reason() {
    let world = world_with_coins(1).await;
    sent_in_a_row(&world, MAX_ANCESTORS + 1).await;
    let next = world.approved_payout(20_000).await;
    world.pass_ms(25 * 3_600_000).await;
    world.pass_sender().await;
    let reason = world.payout(&next).failure_reason.unwrap().message;
    assert_eq!(reason, "it could not be sent in time: earlier payouts waited for a block");
}
