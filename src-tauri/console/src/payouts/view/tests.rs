//! Tests of the views of payouts, on a gateway with a sandbox.

use tillgate_domain::id::Id;
use tillgate_gateway::gateway::{Served, WaitCause};
use tillgate_gateway::notifications::resend::resend_any;
use tillgate_gateway::testing::World;
use tillgate_gateway::wallet::spend::SpendError;
use tillgate_sandbox::FaultsPatch;

use super::PayoutView;
use crate::actor::Actor;
use crate::command::ask;
use crate::payouts::steps::PayoutStep;
use crate::payouts::{ApprovePayout, RequestPayout};
use crate::status::Status;
use crate::wallet::WalletInfo;

const RECIPIENT: &str = "bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080";

fn view(world: &World, id: &Id) -> PayoutView {
    world
        .gateway
        .store
        .read(|reader| PayoutView::find(&world.gateway, reader, id))
        .unwrap()
        .unwrap()
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
async fn an_abandoned_payout_is_undecided_for_six_confirmations() {
    let world = with_coin().await;
    let id = world.approved_payout(20_000).await;
    world.pass_ms(31_000).await;
    world.pass_sender().await;
    let sent = view(&world, &id);
    assert!(!sent.item.being_given_up && sent.item.waits_for.is_none());
    let paid_by = sent.item.btc_tx_id.clone();
    world.pass_ms(1_000).await;
    world.app.sender.abandon(id, false, "cli:ada", &world.app.watcher).await.unwrap();
    let given_up = view(&world, &id);
    assert!(given_up.item.being_given_up);
    assert!(given_up.item.waits_for.unwrap().message.contains("or it was sent after all"));
    let step = given_up.history.iter().find(|step| step.step == PayoutStep::Sent).unwrap();
    assert_eq!(
        step.btc_tx_id, paid_by,
        "the step names the transaction that sent the payout, not its replacement"
    );
    world.mine(1).await;
    assert!(view(&world, &id).item.being_given_up, "one confirmation is not enough");
    world.mine(5).await;
    assert!(
        !view(&world, &id).item.being_given_up,
        "after six confirmations the payout has failed"
    );
}

#[tokio::test]
async fn the_history_names_the_actors_of_bump_and_abandon() {
    let world = with_coin().await;
    let id = world.approved_payout(20_000).await;
    world.pass_ms(31_000).await;
    world.pass_sender().await;
    world.app.sender.bump(id, Some(9), "panel:bea", &world.app.watcher).await.unwrap();
    world.pass_ms(1_000).await;
    world.app.sender.abandon(id, false, "cli:cal", &world.app.watcher).await.unwrap();
    world.mine(6).await;
    let failed = view(&world, &id);
    let acts: Vec<_> = failed.history.iter().map(|step| (step.step, step.by.as_deref())).collect();
    let (bumped, given_up) =
        ((PayoutStep::Bumped, Some("panel:bea")), (PayoutStep::Abandoned, Some("cli:cal")));
    assert!(acts.contains(&bumped) && acts.contains(&given_up), "{acts:?}");
    assert!(
        acts.contains(&(PayoutStep::Signed, None)) && acts.contains(&(PayoutStep::Failed, None)),
        "{acts:?}"
    );
    assert!(failed.item.failed_time.is_some());
    world.pass_ms(3_600_000).await;
    assert_eq!(resend_any(&world.gateway, id).await.unwrap(), Some(1));
    let resent = view(&world, &id);
    assert_eq!(
        (resent.history, resent.item.failed_time),
        (failed.history, failed.item.failed_time)
    );
}

#[tokio::test]
async fn a_payout_abandoned_before_signing_names_the_actor() {
    let world = with_coin().await;
    let id = world.approved_payout(20_000).await;
    world.app.sender.abandon(id, false, "cli:cal", &world.app.watcher).await.unwrap();
    let failed = view(&world, &id);
    let last = failed.history.last().unwrap();
    assert_eq!((last.step, last.by.as_deref()), (PayoutStep::Failed, Some("cli:cal")));
}

fn request(address: &str) -> RequestPayout {
    RequestPayout {
        address: address.to_owned(),
        btc_amount: Some("0.001".to_owned()),
        fiat_amount: None,
        currency: "USD".to_owned(),
        comment: None,
        notification_url: None,
        approve: false,
        again: false,
    }
}

async fn requested(world: &World, address: &str) -> PayoutView {
    ask(&world.app, request(address), &Actor::command_line()).await.unwrap()
}

#[tokio::test]
async fn an_offer_names_an_earlier_payout_preferably_an_approved_one() {
    let world = with_coin().await;
    let first = requested(&world, RECIPIENT).await;
    assert_eq!(first.paid_before, None);
    let approve = ApprovePayout { payout_id: first.item.payout_id.clone() };
    assert_eq!(
        ask(&world.app, approve, &Actor::command_line()).await.unwrap().paid_before,
        None,
        "an approved payout is no offer"
    );
    let second = requested(&world, RECIPIENT).await;
    assert_eq!(second.paid_before.unwrap().payout_id, first.item.payout_id);
    let third = requested(&world, RECIPIENT).await;
    assert_eq!(
        third.paid_before.unwrap().payout_id,
        first.item.payout_id,
        "an approved payout is preferred to an offer"
    );
}

/// A gateway with three coins of 20,000 satoshis, at a fee rate of 190 sat/vB. An input then costs
/// 12,920 satoshis, more than half of its coin.
async fn with_coins_not_worth_their_inputs() -> World {
    let world = World::new().await;
    world.make_wallet().await;
    for _ in 0..3 {
        let payment = world.payment_to_wallet().await;
        world.customer_pays(&payment, 20_000);
    }
    world.mine(2).await;
    let faults = FaultsPatch { fee_rate_sat_vb: Some(Some(190)), ..FaultsPatch::default() };
    world.sandbox().set_faults(faults).unwrap();
    world
}

#[tokio::test]
async fn a_payout_waits_if_coins_are_not_worth_their_fee() {
    let world = with_coins_not_worth_their_inputs().await;
    let id = world.approved_payout(30_000).await;
    world.pass_ms(31_000).await;
    world.pass_sender().await;
    let waits_for = view(&world, &id).item.waits_for.unwrap();
    assert!(
        waits_for.message.contains("coins") && !waits_for.message.contains("it is sent at about"),
        "{waits_for}"
    );
    let status = ask(&world.app, Status {}, &Actor::command_line()).await.unwrap();
    assert!(status.sender_waits_for.is_some_and(|why| why.message.contains("coins")));
}

#[tokio::test]
async fn coins_not_worth_their_fee_are_not_spendable() {
    let world = with_coins_not_worth_their_inputs().await;
    let mut request = request(RECIPIENT);
    request.btc_amount = Some("0.00011".to_owned());
    let offer = ask(&world.app, request, &Actor::command_line()).await.unwrap();
    assert!(offer.item.balance_short);
    let info = ask(&world.app, WalletInfo::default(), &Actor::command_line()).await.unwrap();
    assert_eq!(
        (info.spendable.text.as_str(), info.balance.text.as_str()),
        ("0.00000000", "0.00060000")
    );
    assert_eq!(info.balance_worth.unwrap().text, "39.00", "at 65,000 US dollars");
    let calm = FaultsPatch { fee_rate_sat_vb: Some(None), ..FaultsPatch::default() };
    world.sandbox().set_faults(calm).unwrap();
    let info = ask(&world.app, WalletInfo::default(), &Actor::command_line()).await.unwrap();
    assert_eq!(info.spendable.text, "0.00060000");
}

#[tokio::test]
async fn only_a_due_payout_waits_for_larger_coins() {
    let world = with_coin().await;
    let id = world.approved_payout(20_000).await;
    let too_heavy = WaitCause::SmallCoins.because(&SpendError::TooHeavy);
    world.gateway.sending.set_waits_for(Some(too_heavy.clone()));
    assert_ne!(
        view(&world, &id).item.waits_for,
        Some(too_heavy.reason.clone()),
        "the payout is not due yet"
    );
    world.pass_ms(31_000).await;
    assert_eq!(view(&world, &id).item.waits_for, Some(too_heavy.reason));
}

#[tokio::test]
async fn a_payout_is_not_delayed_by_one_that_waits_for_coins() {
    let world = with_coin().await;
    let base = "http://127.0.0.1:7421";
    world
        .gateway
        .served
        .set(Served { api: format!("{base}/v2"), pages: format!("{base}/pay") })
        .unwrap();
    let id = world.approved_payout(20_000).await;
    world.approved_payout(900_000_000).await;
    let waits_for = view(&world, &id).item.waits_for.unwrap();
    assert!(
        waits_for.message.starts_with("it is sent at about 20")
            && !waits_for.message.contains("others"),
        "{waits_for}"
    );
}

#[tokio::test]
async fn a_high_fee_has_a_warning_before_the_payout_is_sent() {
    let world = with_coin().await;
    let fee_of = async |rate, btc: &str| {
        let faults = FaultsPatch { fee_rate_sat_vb: Some(Some(rate)), ..FaultsPatch::default() };
        world.sandbox().set_faults(faults).unwrap();
        let request = RequestPayout { btc_amount: Some(btc.to_owned()), ..request(RECIPIENT) };
        ask(&world.app, request, &Actor::command_line()).await.unwrap()
    };
    // At 141 vB the fee is 1,410 satoshis: a tenth of 14,100, more than a tenth of 14,099.
    assert_eq!(fee_of(10, "0.00014100").await.fee_warning, None);
    assert!(fee_of(10, "0.00014099").await.fee_warning.unwrap().message.contains("a tenth"));
    assert!(
        fee_of(100, "0.00014100").await.fee_warning.unwrap().message.contains("a tenth"),
        "the fee equals the amount"
    );
    let offer = fee_of(101, "0.00014100").await;
    assert!(offer.fee_warning.unwrap().message.contains("more than the amount"));
    let approve = ApprovePayout { payout_id: offer.item.payout_id.clone() };
    assert!(
        ask(&world.app, approve, &Actor::command_line()).await.unwrap().fee_warning.is_some(),
        "nothing is signed yet"
    );
}
