//! Acceptance of received coins by staff.

use super::*;
use crate::watcher::AcceptError;

#[tokio::test]
async fn staff_accepts_no_less_than_they_saw() {
    let world = World::new().await;
    let payment = world.payment().await;
    let agreed_sats = payment.payment.amount_sats - 1_000;
    let txid = world.pay(&payment, agreed_sats).await;
    let to = ReplaceTo::SameAddress { amount_sats: Some(1_000) };
    world.sandbox().replace(txid, Replace { fee_rate_sat_vb: None, to }, world.now_ms()).unwrap();
    let accept =
        |agreed_sats| world.app.watcher.accept(payment.payment.id, Some(agreed_sats), "panel");
    let refused = accept(agreed_sats).await.unwrap_err();
    assert!(matches!(refused, AcceptError::Less { .. }), "{refused}");
    assert_eq!(world.state(&payment), Underpaid);
    accept(1_000).await.unwrap();
    assert_eq!(world.state(&payment), Unconfirmed);
}

#[tokio::test]
async fn accepted_late_coins_confirm_the_payment() {
    let world = World::new().await;
    let payment = world.payment().await;
    world.pass_ms(HALF_AN_HOUR_MS + 2 * HOUR_MS).await;
    let id = payment.payment.id;
    let refused = world.app.watcher.accept(id, None, "panel").await;
    assert!(matches!(refused, Err(AcceptError::Refused(_))), "no coins came");
    world.pay(&payment, payment.payment.amount_sats).await;
    world.mine(2).await;
    world.app.watcher.accept(id, None, "panel").await.unwrap();
    assert_eq!(world.state(&payment), Confirmed);
    let late = anomalies(&world, &payment);
    assert_eq!(late[0].anomaly.resolution, Resolution::Accepted);
    assert_eq!(world.notified_field(&late[0].anomaly.id, "resolution"), ["OPEN", "ACCEPTED"]);
    assert_eq!(causes(&world, &payment).last().unwrap(), &(Confirmed, Cause::Staff));
}

#[tokio::test]
async fn an_acceptance_while_the_backend_is_silent_closes_nothing() {
    let world = World::new().await;
    let payment = world.payment().await;
    let half = payment.payment.amount_sats / 2;
    world.pay(&payment, half).await;
    let down = |chain_down| FaultsPatch { chain_down: Some(chain_down), ..FaultsPatch::default() };
    world.sandbox().set_faults(down(true)).unwrap();
    world.customer_pays(&payment, payment.payment.amount_sats - half);
    world.advance_clock_ms(HALF_AN_HOUR_MS + 60_000);
    world.app.watcher.accept(payment.payment.id, None, "panel").await.unwrap();
    assert_eq!(world.state(&payment), Unconfirmed);
    world.sandbox().set_faults(down(false)).unwrap();
    world.look().await;
    let row = world.reload_payment(&payment.payment.id).payment;
    assert_eq!(row.paid_sats, row.amount_sats, "the closing look found the second half in time");
}

#[tokio::test]
async fn a_payment_confirmed_by_staff_has_the_time_of_acceptance() {
    let world = World::new().await;
    let payment = world.payment().await;
    world.pay(&payment, 1_000).await;
    world.mine(1).await;
    world
        .sandbox()
        .set_faults(FaultsPatch { chain_down: Some(true), ..FaultsPatch::default() })
        .unwrap();
    world.advance_clock_ms(2 * HOUR_MS);
    let asked_at = world.gateway.time.now();
    world.app.watcher.accept(payment.payment.id, None, "panel").await.unwrap();
    assert!(world.reload_payment(&payment.payment.id).payment.confirmed_at.unwrap() >= asked_at);
}
