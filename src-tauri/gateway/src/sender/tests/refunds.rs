//! Refunds made by another copy of the wallet.

use tillgate_domain::anomaly::Resolution;
use tillgate_domain::id::Id;
use tillgate_domain::payout::PayoutState;

use crate::anomalies::{RefundError, RefundRequest, refund};
use crate::testing::copies::{copied, put_beside, restored};
use crate::testing::sending::world_with_coins;
use crate::testing::{HALF_AN_HOUR_MS, World};

const CUSTOMER: &str = "bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080";

fn to_customer(anomaly_id: Id, although_paid: bool) -> RefundRequest<'static> {
    let mut request = RefundRequest::of_staff(anomaly_id, CUSTOMER, "cli:ann");
    request.offer.is_approved = true;
    request.offer.again = although_paid;
    request
}

/// An anomaly of coins that came too late, two blocks deep.
async fn late_coins(world: &World, amount_sats: u64) -> Id {
    let payment = world.payment_to_wallet().await;
    world.pass_ms(4 * HALF_AN_HOUR_MS).await;
    world.customer_pays(&payment, amount_sats);
    world.mine(2).await;
    world.gateway.store.read(|reader| reader.anomalies_of_payment(payment.seq)).unwrap()[0]
        .anomaly
        .id
}

#[tokio::test]
async fn a_refund_made_after_the_backup_is_repeated_only_with_again() {
    let world = world_with_coins(1).await;
    let anomaly = late_coins(&world, 50_000).await;
    let (world, copy) = copied(world).await;
    world.gateway.refresh_rates().await.unwrap();
    let made = refund(&world.gateway, to_customer(anomaly, false)).await.unwrap().payout_id();
    world.send().await;
    world.mine_and_pass(7).await;
    assert_eq!((world.payout_state(&made), world.outputs_of(&made)), (PayoutState::Sent, 1));
    let txid = world.txid_of(&made);

    let world = restored(put_beside(world, copy)).await;
    world.look().await;
    let told =
        world.gateway.store.read(|reader| reader.sender_hold()).unwrap().unwrap().reason.message;
    // The other anomaly is the first customer's overpayment.
    assert!(told.contains("2 anomalies are open here"), "{told}");
    assert!(world.app.sender.release("cli:ann", Some(told), true).await.unwrap());
    world.gateway.refresh_rates().await.unwrap();
    let refused = refund(&world.gateway, to_customer(anomaly, false)).await.unwrap_err();
    assert!(
        matches!(refused, RefundError::PaidBefore { txid: by, amount_sats: 50_000 } if by == txid),
        "{refused:?}"
    );
    let is = || {
        world
            .gateway
            .store
            .read(|reader| reader.anomaly(&anomaly))
            .unwrap()
            .unwrap()
            .anomaly
            .resolution
    };
    assert_eq!(is(), Resolution::Open, "nothing was changed");
    world.send().await;
    // Staff found out that the other payout was no refund of this anomaly.
    let again = refund(&world.gateway, to_customer(anomaly, true)).await.unwrap().payout_id();
    world.send().await;
    assert_eq!((world.payout_state(&again), is()), (PayoutState::Sent, Resolution::Refunded));
    assert_eq!(world.outputs_of(&again), 2);
}
