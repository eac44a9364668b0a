//! Deep reorganisations, and block rewards that pay a payment, through every backend.

use bitcoin::Sequence;
use tillgate_domain::anomaly::{AnomalyKind, Resolution};
use tillgate_domain::payment::PaymentState::{Confirmed, Invalid, New, Unconfirmed};
use tillgate_domain::payout::PayoutState;

use crate::testing::World;
use crate::testing::payer::{Kind, Payer, through_every_backend};

/// Far deeper than anything that counts as final.
const DEEP: u32 = 14;

/// A wallet with one confirmed payment of a hundredth of a bitcoin, from the sandbox's customer.
async fn with_one_coin(world: &World) -> tillgate_store::payments::PaymentRow {
    world.make_wallet().await;
    let payment = world.payment_to_wallet().await;
    world.customer_pays(&payment, 1_000_000);
    world.mine(2).await;
    payment
}

async fn pays_out(world: &World, sats: u64) {
    let payout = world.approved_payout(sats).await;
    world.send().await;
    world.mine_and_pass(1).await;
    assert_eq!((world.payout_state(&payout), world.outputs_of(&payout)), (PayoutState::Sent, 1));
}

#[tokio::test]
async fn a_deep_reorganisation_with_the_same_content_changes_nothing() {
    through_every_backend(async |stage| {
        let world = stage.world();
        let payment = with_one_coin(world).await;
        let payout = world.approved_payout(300_000).await;
        world.send().await;
        world.mine_and_pass(DEEP - 2).await;
        let before = (world.notified(&payment.payment.id).len(), world.notified(&payout).len());
        assert_eq!(
            (world.state(&payment), world.payout_state(&payout)),
            (Confirmed, PayoutState::Sent)
        );

        world.sandbox().reorg(DEEP, true, world.now_ms()).unwrap();
        world.work_on().await;
        assert_eq!(
            (world.state(&payment), world.payout_state(&payout)),
            (Confirmed, PayoutState::Sent)
        );
        assert!(world.receipts_of(&payment).iter().all(|receipt| !receipt.is_in_block()));
        assert_eq!(
            world.sandbox().status().unwrap().mempool.len(),
            2,
            "both wait for a block again"
        );
        world.check_ledger();
        world.mine_and_pass(6).await;
        assert_eq!(
            (world.state(&payment), world.payout_state(&payout)),
            (Confirmed, PayoutState::Sent)
        );
        assert_eq!(world.outputs_of(&payout), 1);
        let after = (world.notified(&payment.payment.id).len(), world.notified(&payout).len());
        assert_eq!(after, before, "the shop gets no further notification");
        world.check_money();
    })
    .await;
}

#[tokio::test]
async fn a_deep_reorganisation_while_off_is_seen_by_the_first_look() {
    through_every_backend(async |mut stage| {
        for depth in [DEEP, 130] {
            let world = stage.world();
            let payment = with_one_coin(world).await;
            let kept = world.payment_to_wallet().await;
            world.customer_pays(&kept, 400_000);
            world.mine(depth - 2).await;
            stage = stage
                .restart(|world| drop(world.sandbox().reorg(depth, true, world.now_ms()).unwrap()))
                .await;
            let world = stage.world();
            world.work_on().await;
            for payment in [&payment, &kept] {
                assert_eq!(world.state(payment), Confirmed, "{depth} blocks");
                assert!(
                    world.receipts_of(payment).iter().all(|receipt| !receipt.is_in_block()),
                    "{depth} blocks"
                );
            }
            world.check_money();
            world.mine_and_pass(depth).await;
            // The new chain spends the coins of those blocks elsewhere.
            stage = stage
                .restart(|world| drop(world.sandbox().reorg(depth, false, world.now_ms()).unwrap()))
                .await;
            let world = stage.world();
            world.work_on().await;
            assert_eq!(
                (world.state(&payment), world.state(&kept)),
                (Invalid, Invalid),
                "{depth} blocks"
            );
            world.check_money();
        }
    })
    .await;
}

#[tokio::test]
async fn a_deep_double_spend_reverses_the_payment_and_its_payout() {
    through_every_backend(async |stage| {
        let world = stage.world();
        let payment = with_one_coin(world).await;
        let payout = world.approved_payout(300_000).await;
        world.send().await;
        world.mine_and_pass(DEEP - 2).await;

        world.sandbox().reorg(DEEP, false, world.now_ms()).unwrap();
        world.work_on().await;
        assert_eq!(world.state(&payment), Invalid);
        assert_eq!(
            world.anomalies_of(&payment),
            [
                (AnomalyKind::Overpayment, Resolution::DismissedBySystem, 984_615),
                (AnomalyKind::ReversedPayment, Resolution::Open, 1_000_000)
            ]
        );
        world.mine_and_pass(6).await;
        assert_eq!(
            (world.payout_state(&payout), world.outputs_of(&payout)),
            (PayoutState::Failed, 0)
        );
        assert_eq!(world.notified_field(&payout, "status"), ["SENT", "FAILED"]);
        world.check_money();

        let next = world.payment_to_wallet().await;
        world.customer_pays(&next, 1_000_000);
        world.mine(2).await;
        pays_out(world, 300_000).await;
        world.check_money();
    })
    .await;
}

#[tokio::test]
async fn a_payout_of_a_malleated_coin_fails_and_the_coin_pays_later() {
    through_every_backend(async |stage| {
        let world = stage.world();
        world.make_wallet().await;
        let payer = Payer::with_coin(world, Kind::Legacy).await;
        let payment = world.payment_to_wallet().await;
        let tx = payer.pays(&[(&payment.script, 1_000_000)], 1, Sequence::ENABLE_RBF_NO_LOCKTIME);
        world.hears(&tx).await;
        world.mine(2).await;
        let payout = world.approved_payout(300_000).await;
        world.send().await;
        assert_eq!(world.payout_state(&payout), PayoutState::Sent);

        world.sandbox().reorg(2, true, world.now_ms()).unwrap();
        world.finds_mined(&[payer.malleated(&tx)]).await;
        world.work_on().await;
        assert_eq!(
            world.state(&payment),
            Confirmed,
            "the coins arrived in the malleated transaction"
        );
        assert_eq!(
            world.payout_state(&payout),
            PayoutState::Sent,
            "the block may still be reorganised"
        );
        world.mine_and_pass(5).await;
        assert_eq!(
            (world.payout_state(&payout), world.outputs_of(&payout)),
            (PayoutState::Failed, 0)
        );
        pays_out(world, 900_000).await;
        assert_eq!(
            (world.state(&payment), world.reload_payment(&payment.payment.id).payment.paid_sats),
            (Confirmed, 1_000_000)
        );
        world.check_money();
    })
    .await;
}

#[tokio::test]
async fn a_reward_pays_a_payment_at_once_and_a_payout_when_mature() {
    through_every_backend(async |stage| {
        let world = stage.world();
        world.make_wallet().await;
        let payment = world.payment_to_wallet().await;
        world.sandbox().mine_to(payment.script.clone(), world.now_ms()).unwrap();
        world.look().await;
        assert_eq!(world.state(&payment), Confirmed);
        world.mine(1).await;
        world
            .looks_until("the overpayment is noticed", || world.anomalies_of(&payment).len() == 1)
            .await;
        world.check_money();
        let payout = world.approved_payout(300_000).await;
        world.send().await;
        world.mine_and_pass(97).await;
        assert_eq!(
            world.payout_state(&payout),
            PayoutState::Queued,
            "the reward is not mature yet"
        );
        world.mine_and_pass(1).await;
        world.mine_and_pass(1).await;
        assert_eq!(
            (world.payout_state(&payout), world.outputs_of(&payout)),
            (PayoutState::Sent, 1)
        );
        world.check_money();
    })
    .await;
}

#[tokio::test]
async fn a_block_reward_is_reversed_with_its_block() {
    through_every_backend(async |mut stage| {
        let world = stage.world();
        let payment = world.payment().await;
        world.sandbox().mine_to(payment.script.clone(), world.now_ms()).unwrap();
        world.look().await;
        assert_eq!(world.state(&payment), Confirmed);
        world.sandbox().reorg(1, true, world.now_ms()).unwrap();
        world.work_on().await;
        assert_eq!(world.state(&payment), Invalid);
        let reversed = world.anomalies_of(&payment);
        assert!(
            matches!(reversed[..], [(AnomalyKind::ReversedPayment, Resolution::Open, _)]),
            "{reversed:?}"
        );
        assert_eq!(world.gateway.backend.last_look.status().error, None, "the looks go on");
        world.check_money();
        // The same again, but with a restart instead of a look at the reward.
        let other = world.payment().await;
        world.sandbox().mine_to(other.script.clone(), world.now_ms()).unwrap();
        stage = stage
            .restart(|world| drop(world.sandbox().reorg(1, true, world.now_ms()).unwrap()))
            .await;
        let world = stage.world();
        world.work_on().await;
        assert_eq!((world.state(&other), world.receipts_of(&other)), (New, vec![]));
        world.pay(&other, other.payment.amount_sats).await;
        assert_eq!(world.state(&other), Unconfirmed);
        world.mine(3).await;
        assert_eq!((world.state(&other), world.state(&payment)), (Confirmed, Invalid));
        world.check_money();
    })
    .await;
}
