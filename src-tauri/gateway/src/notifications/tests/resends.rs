//! Repeated resends of one record.

use crate::access::record_scope::RecordScope;
use crate::notifications::resend::resend_payment;
use crate::testing::World;

#[tokio::test]
async fn waiting_resends_merge_but_changes_are_never_merged() {
    let world = World::new().await;
    let payment = world.payment().await;
    let id = payment.payment.id;
    let resend = async || {
        assert_eq!(
            resend_payment(&world.gateway, id, RecordScope::Everything).await.unwrap(),
            Some(1)
        )
    };
    let told = || world.notified_field(&id, "status");

    world.pay(&payment, payment.payment.amount_sats).await;
    assert_eq!(told(), ["UNCONFIRMED"]);
    for _ in 0..3 {
        world.advance_clock_ms(1_000);
        resend().await;
        assert_eq!(told(), ["UNCONFIRMED", "UNCONFIRMED"]);
        let record =
            world.gateway.render(|snapshot| snapshot.payment(&world.reload_payment(&id))).unwrap();
        assert_eq!(
            world.notified(&id)[1],
            serde_json::from_str::<serde_json::Value>(&record).unwrap()
        );
    }

    // A resend never replaces the notification of a change, nor any notification before that: the
    // order is kept.
    world.mine(1).await;
    assert_eq!(told(), ["UNCONFIRMED", "UNCONFIRMED", "CONFIRMED"]);
    let before = world.notified(&id);
    for _ in 0..3 {
        resend().await;
        assert_eq!(told(), ["UNCONFIRMED", "UNCONFIRMED", "CONFIRMED", "CONFIRMED"]);
        assert_eq!(world.notified(&id)[..3], before);
    }
}
