//! The notifications of a record that is resent again and again.

use crate::access::sees::Sees;
use crate::notifications::resend::resend_payment;
use crate::testing::World;

#[tokio::test]
async fn waiting_resends_merge_and_each_change_is_still_told() {
    let world = World::new().await;
    let payment = world.payment().await;
    let id = payment.payment.id;
    let resend = async || assert_eq!(resend_payment(&world.gateway, id, Sees::Everything).await.unwrap(), Some(1));
    let told = || world.notified_field(&id, "status");

    world.pay(&payment, payment.payment.amount_sats).await;
    assert_eq!(told(), ["UNCONFIRMED"]);
    for _ in 0..3 {
        world.advance_clock_ms(1_000);
        resend().await;
        assert_eq!(told(), ["UNCONFIRMED", "UNCONFIRMED"]);
        let record = world.gateway.render(|snapshot| snapshot.payment(&world.now_of(&id))).unwrap();
        assert_eq!(world.notified(&id)[1], serde_json::from_str::<serde_json::Value>(&record).unwrap());
    }

    // A notification of a change is never replaced, and no notification before it either: the order stays.
    world.mine(1).await;
    assert_eq!(told(), ["UNCONFIRMED", "UNCONFIRMED", "CONFIRMED"]);
    let before = world.notified(&id);
    for _ in 0..3 {
        resend().await;
        assert_eq!(told(), ["UNCONFIRMED", "UNCONFIRMED", "CONFIRMED", "CONFIRMED"]);
        assert_eq!(world.notified(&id)[..3], before);
    }
}
