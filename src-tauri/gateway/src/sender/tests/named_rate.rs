//! Staff send one waiting payout at a fee rate of their own.

use bitcoin::FeeRate;
use tillgate_domain::id::Id;
use tillgate_domain::payout::PayoutState;
use tillgate_sandbox::{BroadcastFault, FaultsPatch};
use tillgate_store::batches::VersionRow;

use crate::gateway::WaitCause;
use crate::sender::{Agreed, NamedRateError, ReplaceError, may_send};
use crate::testing::World;
use crate::testing::sending::{check_paid_by_the_other_alone, world_with_coins};
use crate::testing::twins::twin_of;
use crate::wallet::spend::Payee;

impl World {
    /// Sends a payout at this rate, by staff who were shown no fee.
    pub async fn send_at(&self, id: Id, sat_vb: u32) -> Result<bitcoin::Txid, NamedRateError> {
        let (rate, by) = (FeeRate::from_sat_per_vb_u32(sat_vb), ("cli:ann", &self.app.watcher));
        self.app.sender.send_at_rate(id, rate, Agreed::default(), by).await
    }

    fn only_version(&self, id: &Id) -> VersionRow {
        self.gateway.store.read(|reader| reader.version(&self.txid_of(id))).unwrap().unwrap()
    }
}

/// Sets the backend's estimate, in sat/vB; 0 for none.
fn estimate(world: &World, sat_vb: u64) {
    world
        .sandbox()
        .set_faults(FaultsPatch { fee_rate_sat_vb: Some(Some(sat_vb)), ..FaultsPatch::default() })
        .unwrap();
}

fn is_refused(
    sent: &Result<bitcoin::Txid, NamedRateError>,
    state: PayoutState,
    words: &str,
) -> bool {
    matches!(sent, Err(NamedRateError::NotWaiting(told, why)) if *told == state && why.to_string().contains(words))
}

#[tokio::test]
async fn staff_send_one_payout_although_the_estimate_is_absurd() {
    for (told, cause, named) in [(19_370, WaitCause::Fees, 250), (0, WaitCause::NoEstimate, 7)] {
        let world = world_with_coins(2).await;
        estimate(&world, told);
        let (one, other) =
            (world.approved_payout(300_000).await, world.approved_payout(200_000).await);
        world.send().await;
        assert_eq!(world.gateway.sending.waits_for().unwrap().cause, cause);
        world.send_at(one, named).await.unwrap();
        let version = world.only_version(&one);
        assert_eq!(version.fee_sats, u64::from(named) * version.vsize);
        assert_eq!(world.payout_state(&one), PayoutState::Sent);
        let sharing =
            world.gateway.store.read(|reader| reader.payouts_of_batch(version.batch_seq)).unwrap();
        assert_eq!(sharing.iter().map(|row| row.id).collect::<Vec<_>>(), [one]);
        world.pass_sender().await;
        assert_eq!(world.payout_state(&other), PayoutState::Queued);
        assert_eq!(
            world.gateway.sending.waits_for().unwrap().cause,
            cause,
            "the other payout still waits"
        );
        world.mine_and_pass(1).await;
        assert_eq!(world.outputs_of(&one), 1);
        world.check_ledger();
        world.check_balance();
    }
}

#[tokio::test]
async fn two_orders_at_once_sign_one_transaction() {
    let world = world_with_coins(2).await;
    let payout = world.approved_payout(300_000).await;
    let (first, second) = tokio::join!(world.send_at(payout, 5), world.send_at(payout, 6));
    let refused = if first.is_ok() { &second } else { &first };
    assert!(
        first.is_ok() != second.is_ok() && is_refused(refused, PayoutState::Sent, "sent already"),
        "{refused:?}"
    );
    world.send().await;
    world.mine_and_pass(1).await;
    assert_eq!(world.outputs_of(&payout), 1);
}

#[tokio::test]
async fn only_an_approved_payout_without_transaction_is_sent() {
    let world = world_with_coins(3).await;
    let offer = world.offered_payout(100_000).await;
    let refused = world.send_at(offer, 5).await;
    assert!(is_refused(&refused, PayoutState::New, "waits for approval"), "{refused:?}");
    world.pass_ms(11 * 60_000).await;
    world.pass_sender().await;
    let refused = world.send_at(offer, 5).await;
    assert!(is_refused(&refused, PayoutState::Expired, "request it again"), "{refused:?}");
    let failed = world.approved_payout(100_000).await;
    world.app.sender.abandon(failed, false, "cli:ann", &world.app.watcher).await.unwrap();
    let refused = world.send_at(failed, 5).await;
    assert!(is_refused(&refused, PayoutState::Failed, "request it again"), "{refused:?}");
    world.broadcasts(BroadcastFault::Reject);
    let signed = world.approved_payout(100_000).await;
    world.send().await;
    let refused = world.send_at(signed, 5).await;
    assert!(is_refused(&refused, PayoutState::Queued, "is signed already"), "{refused:?}");
    let unknown: Id = "a".repeat(40).parse().unwrap();
    let refused = world.send_at(unknown, 5).await;
    assert!(
        matches!(refused, Err(NamedRateError::Other(ReplaceError::NoSuchPayout(_)))),
        "{refused:?}"
    );
}

#[tokio::test]
async fn a_hold_and_a_locked_keyring_refuse_the_order() {
    let world = world_with_coins(1).await;
    let payout = world.approved_payout(100_000).await;
    world.lock_keys(true);
    let refused = world.send_at(payout, 5).await;
    assert!(
        matches!(&refused, Err(NamedRateError::Obstacle(why)) if why.message.contains("locked")),
        "{refused:?}"
    );
    world.lock_keys(false);
    let now = world.gateway.time.now();
    world
        .gateway
        .store
        .write(move |tx| tx.hold_sender(now, &tillgate_told::Telling::of_text("a twin")))
        .await
        .unwrap();
    let refused = world.send_at(payout, 5).await;
    assert!(matches!(refused, Err(NamedRateError::Other(ReplaceError::Held(_)))), "{refused:?}");
    let row = world.payout(&payout);
    assert!(world.gateway.store.read(|reader| may_send(reader, &row)).is_err());
    assert_eq!((row.state, row.txid), (PayoutState::Queued, None));
}

#[tokio::test]
async fn a_restart_broadcasts_the_stored_transaction_again() {
    let world = world_with_coins(2).await;
    estimate(&world, 0);
    let payout = world.approved_payout(300_000).await;
    world.broadcasts(BroadcastFault::Forget);
    let txid = world.send_at(payout, 5).await.unwrap();
    let world = world.reopen().await;
    world.broadcasts(BroadcastFault::Ok);
    world.look_and_pass().await;
    world.mine_and_pass(1).await;
    assert_eq!((world.payout_state(&payout), world.txid_of(&payout)), (PayoutState::Sent, txid));
    assert_eq!(world.outputs_of(&payout), 1);
}

#[tokio::test]
async fn a_fee_above_the_amount_or_the_agreed_fee_is_refused() {
    let world = world_with_coins(1).await;
    let payout = world.approved_payout(20_000).await;
    let refused = world.send_at(payout, 200).await;
    assert!(
        matches!(refused, Err(NamedRateError::Other(ReplaceError::AbovePayout { .. }))),
        "{refused:?}"
    );
    let send = |agreed: Agreed| {
        let by = ("cli:ann", &world.app.watcher);
        world.app.sender.send_at_rate(payout, FeeRate::from_sat_per_vb_u32(200), agreed, by)
    };
    let refused = send(Agreed { is_forced: true, fee_sats: Some(100) }).await;
    assert!(
        matches!(refused, Err(NamedRateError::Other(ReplaceError::AboveAgreed { .. }))),
        "{refused:?}"
    );
    send(Agreed { is_forced: true, fee_sats: None }).await.unwrap();
    assert_eq!(world.payout_state(&payout), PayoutState::Sent);
}

#[tokio::test]
async fn an_order_after_the_twins_block_is_refused() {
    let world = world_with_coins(1).await;
    let payout = world.approved_payout(300_000).await;
    let row = world.payout(&payout);
    let twin = twin_of(&world, &[Payee { script: row.script, amount_sats: row.amount_sats }]);
    world.sandbox().broadcast(&twin, world.now_ms()).unwrap();
    world.look().await;
    world.mine(2).await;
    world.app.sender.release("cli:ann", None, true).await.unwrap();
    check_paid_by_the_other_alone(&world, &payout, &twin);
    let refused = world.send_at(payout, 50).await;
    assert!(is_refused(&refused, PayoutState::Sent, "sent already"), "{refused:?}");
}
