//! Payments by another copy of the wallet that a restored copy finds: their addresses, their times,
//! the day's limit.

use tillgate_domain::payout::PayoutState;
use tillgate_domain::time::Timestamp;
use tillgate_gateway::access::record_scope::RecordScope;
use tillgate_gateway::payouts::{ApproveError, Approver, approve, limit_now};
use tillgate_gateway::testing::World;
use tillgate_gateway::testing::copies::{copied, put_beside, restored};
use tillgate_gateway::testing::sending::world_with_coins;
use tillgate_gateway::testing::stage::{Backend, Stage};
use tillgate_store::payouts::PayoutRow;

use super::restored::offer_sent_after_the_backup;
use crate::payouts::RequestPayout;
use crate::{Actor, Status, ask};

fn by_ann() -> Approver {
    Approver { name: "cli:ann".to_owned(), scope: RecordScope::Everything, is_person: true }
}

fn used(world: &World) -> u64 {
    let (settings, now) = (world.gateway.settings.snapshot(), world.gateway.time.now());
    world.gateway.store.read(|reader| limit_now(reader, &settings, now)).unwrap().used_sats
}

#[tokio::test]
async fn an_address_that_another_copy_paid_is_paid_only_with_again() {
    let (world, paid, txid) = offer_sent_after_the_backup().await;
    world.look().await;
    assert!(world.app.sender.release("cli:ann", None, false).await.unwrap());
    world.gateway.refresh_rates().await.unwrap();
    let asked = |amount: &str, again| RequestPayout {
        address: world.payout(&paid).address,
        btc_amount: Some(amount.to_owned()),
        fiat_amount: None,
        currency: "USD".to_owned(),
        comment: None,
        notification_url: None,
        approve: true,
        again,
    };
    // The same price in fiat is another amount a minute later.
    for amount in ["0.003", "0.00300600", "0.0299"] {
        let refused =
            ask(&world.app, asked(amount, false), &Actor::command_line()).await.unwrap_err();
        assert_eq!(refused.error_type, "PAYOUT_PAID_BEFORE");
        assert!(refused.to_string().contains(&txid.to_string()), "{refused}");
    }
    // The time of a request is cut to the second.
    world.advance_clock_ms(1_000);
    let again = ask(&world.app, asked("0.00300600", true), &Actor::command_line())
        .await
        .unwrap()
        .item
        .payout_id;
    let again = again.parse().unwrap();
    world.send().await;
    assert_eq!(world.payout_state(&again), PayoutState::Sent);
    assert_eq!((world.outputs_of(&paid), world.outputs_of(&again)), (1, 1));
    // Somebody wants the address paid again, so the other copy's payment is no longer a reason to
    // ask.
    ask(&world.app, asked("0.003", false), &Actor::command_line()).await.unwrap();
}

#[tokio::test]
async fn todays_limit_counts_the_payouts_of_the_other_copy() {
    let world = world_with_coins(2).await;
    let (world, copy) = copied(world).await;
    let before = used(&world);
    let paid = world.approved_payout(300_000).await;
    world.send().await;
    world.mine_and_pass(1).await;
    assert_eq!(world.outputs_of(&paid), 1);
    let world = restored(put_beside(world, copy)).await;
    world.look().await;
    assert_eq!(
        used(&world),
        before + 300_000,
        "the limit counts a payout that only the other copy knows"
    );
}

#[tokio::test]
async fn a_twin_of_unknown_time_counts_today_then_by_its_block() {
    let world = world_with_coins(1).await;
    let paid = world.offered_payout(300_000).await;
    let (world, copy) = copied(world).await;
    approve(&world.gateway, paid, by_ann()).await.unwrap();
    world.send().await;
    let stage = Stage::over(Backend::Electrum, restored(put_beside(world, copy)).await).await;
    let world = stage.world();
    let at_noon = world.gateway.time.now();
    world.look().await;
    // An Electrum server does not tell when a transaction entered its mempool.
    let status = ask(&world.app, Status {}, &Actor::command_line()).await.unwrap();
    let told = Timestamp::parse_iso(&status.sender_hold_transactions[0].time).unwrap();
    assert!((at_noon.cut_to_second()..=world.gateway.time.now()).contains(&told), "{told:?}");
    assert_eq!(used(world), 300_000);
    world.advance_clock_ms(24 * 3_600_000);
    assert_eq!(used(world), 0, "the day is over");
    world.mine(1).await;
    let block = world.sandbox().tip().unwrap().time_ms.min(world.now_ms());
    let row = world.payout(&paid);
    assert_eq!((row.state, row.approved_at.map(Timestamp::ms)), (PayoutState::Sent, Some(block)));
    assert_eq!(used(world), 300_000, "it counts on the day of its block");
}

#[tokio::test]
async fn an_offer_from_before_the_restore_pays_no_paid_address() {
    let world = world_with_coins(2).await;
    let offered = world.offered_payout(300_000).await;
    let (world, copy) = copied(world).await;
    // A minute later the same price in fiat is another amount.
    let row = PayoutRow { amount_sats: 300_060, ..world.payout(&offered) };
    world.approved_payout_to(&row).await;
    world.send().await;
    world.mine_and_pass(1).await;
    let world = restored(put_beside(world, copy)).await;
    world.look().await;
    assert_eq!(world.payout_state(&offered), PayoutState::New);
    let refused = approve(&world.gateway, offered, by_ann()).await.unwrap_err();
    assert!(
        matches!(refused, ApproveError::PaidBefore { amount_sats: 300_060, .. }),
        "{refused:?}"
    );
    // The request after it knew of the other copy's payment.
    let again = world.offered_payout_to(&row).await;
    approve(&world.gateway, again, by_ann()).await.unwrap();
}
