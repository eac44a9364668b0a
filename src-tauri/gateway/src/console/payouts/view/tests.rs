//! What payouts' views say, on a real gateway.

use tillgate_domain::id::Id;

use super::PayoutView;
use crate::console::actor::Actor;
use crate::console::command::ask;
use crate::console::payouts::{ApprovePayout, RequestPayout};
use crate::console::states::PayoutStep;
use crate::testing::World;

const RECIPIENT: &str = "bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080";

fn view(world: &World, id: &Id) -> PayoutView {
    world.gateway.store.read(|reader| PayoutView::find(&world.gateway, reader, id)).unwrap().unwrap()
}

async fn with_coin() -> World {
    let world = World::new().await;
    world.make_wallet().await;
    let payment = world.payment_to_wallet().await;
    world.customer_pays(&payment, 1_000_000);
    world.mine(2).await;
    world
}

#[tokio::test]
async fn a_payout_is_being_given_up_until_one_of_its_transactions_has_won() {
    let world = with_coin().await;
    let id = world.approved_payout(20_000).await;
    world.pass_ms(31_000).await;
    world.app.sender.pass(&world.app.watcher).await.unwrap();
    let sent = view(&world, &id);
    assert!(!sent.item.being_given_up && sent.item.waits_for.is_none());
    let paid_by = sent.item.btc_tx_id.clone();
    world.pass_ms(1_000).await;
    world.app.sender.abandon(id, false, "cli:ada").await.unwrap();
    let given_up = view(&world, &id);
    assert!(given_up.item.being_given_up);
    assert!(given_up.item.waits_for.unwrap().contains("or is sent all the same"));
    let step = given_up.history.iter().find(|step| step.step == PayoutStep::Sent).unwrap();
    assert_eq!(step.btc_tx_id, paid_by, "the transaction that sent it, not the one that gives it up");
    world.mine(1).await;
    assert!(view(&world, &id).item.being_given_up, "one confirmation is not enough");
    world.mine(5).await;
    assert!(!view(&world, &id).item.being_given_up, "it has failed");
}

async fn requested(world: &World, address: &str) -> PayoutView {
    let request = RequestPayout {
        address: address.to_owned(),
        btc_amount: Some("0.001".to_owned()),
        fiat_amount: None,
        currency: "USD".to_owned(),
        comment: None,
        notification_url: None,
        approve: false,
    };
    ask(&world.app, request, &Actor::command_line()).await.unwrap()
}

#[tokio::test]
async fn an_offer_names_another_payout_to_its_address_the_approved_one_first_and_never_itself() {
    let world = with_coin().await;
    let first = requested(&world, RECIPIENT).await;
    assert_eq!(first.paid_before, None);
    let approve = ApprovePayout { payout_id: first.item.payout_id.clone() };
    assert_eq!(ask(&world.app, approve, &Actor::command_line()).await.unwrap().paid_before, None, "no offer any more");
    let second = requested(&world, RECIPIENT).await;
    assert_eq!(second.paid_before.unwrap().payout_id, first.item.payout_id);
    let third = requested(&world, RECIPIENT).await;
    assert_eq!(third.paid_before.unwrap().payout_id, first.item.payout_id, "before the other offer");
}
