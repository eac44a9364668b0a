//! Refunds: an anomaly and the payout that sends its coins back, linked both ways. Also the exact
//! end of an offer.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tillgate_domain::anomaly::{AnomalyKind, Resolution};
use tillgate_domain::id::Id;
use tillgate_domain::payout::PayoutState;
use tillgate_store::StoreError;
use tillgate_store::anomalies::AnomalyRow;
use tillgate_store::notify_hosts::NotifyHosts;

use super::approve::judge_state;
use super::{
    ApproveError, Approver, OfferError, OfferRequest, Offered, PayoutRequest, Permit, RejectError,
    Requester, approve, expire_due, offer, open_anomaly_of, reject,
};
use crate::access::idempotency::Once;
use crate::access::record_scope::RecordScope;
use crate::anomalies::{RefundError, RefundRequest, refund};
use crate::notifications::outbox::{self, OutboxError};
use crate::notifications::refunds::anomaly_after;
use crate::settings::Act;
use crate::testing::{HALF_AN_HOUR_MS, World};
use crate::wallet::NotReady;

const ADDRESS: &str = "bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080";

/// A gateway with an anomaly of late coins, which have two confirmations.
async fn with_late_coins(amount_sats: u64) -> (World, Id) {
    let world = World::new().await;
    world.make_wallet().await;
    let payment = world.payment().await;
    world.pass_ms(4 * HALF_AN_HOUR_MS).await;
    world.pay(&payment, amount_sats).await;
    world.mine(2).await;
    let id = world.gateway.store.read(|reader| reader.anomalies_of_payment(payment.seq)).unwrap()
        [0]
    .anomaly
    .id;
    (world, id)
}

fn request(anomaly_id: Id, is_approved: bool) -> RefundRequest<'static> {
    let mut request = RefundRequest::of_staff(anomaly_id, ADDRESS, "cli:ann");
    request.offer.is_approved = is_approved;
    request
}

fn staff() -> Approver {
    Approver { name: "cli:ann".to_owned(), scope: RecordScope::Everything, is_person: true }
}

impl World {
    fn anomaly(&self, id: &Id) -> AnomalyRow {
        self.gateway.store.read(|reader| reader.anomaly(id)).unwrap().unwrap()
    }

    /// Brings a payout into a state, as the sender would.
    async fn settle(&self, id: Id, state: PayoutState) {
        let settle = move |outbox: &outbox::Outbox<'_>| {
            let mut row = outbox.tx.payout(&id)?.unwrap();
            row.state = state;
            row.failure_reason =
                (state == PayoutState::Failed).then(|| tillgate_told::Telling::of_text("given up"));
            row.sent_at = (state == PayoutState::Sent).then_some(outbox.now);
            row.txid = (state == PayoutState::Sent).then(bitcoin::hashes::Hash::all_zeros);
            outbox.tx.update_payout(&row)?;
            anomaly_after(outbox, &row)
        };
        outbox::commit::<_, OutboxError>(&self.gateway, None, settle).await.unwrap();
    }

    async fn set(&self, name: &str, value: &str) {
        let act = Act { actor: "cli", at: self.gateway.time.now() };
        self.gateway.settings.set(&self.gateway.store, name, value, act).await.unwrap();
    }
}

#[tokio::test]
async fn a_refund_and_its_anomaly_name_each_other() {
    let (world, id) = with_late_coins(50_000).await;
    let Offered::New { payout_id, record } =
        refund(&world.gateway, request(id, false)).await.unwrap()
    else {
        panic!("an older payout was answered");
    };
    let (payout, anomaly) = (world.payout(&payout_id), world.anomaly(&id));
    assert_eq!(
        (payout.state, payout.amount_sats, payout.currency.code()),
        (PayoutState::New, 50_000, "USD")
    );
    assert_eq!((payout.anomaly, anomaly.payout_id), (Some((anomaly.seq, id)), Some(payout_id)));
    assert_eq!(anomaly.anomaly.resolution, Resolution::Refunding);
    assert!(record.contains(&format!(r#""anomalyId":"{id}""#)), "{record}");
    assert_eq!(world.notified_field(&id, "resolution"), ["OPEN", "REFUNDING"]);
    assert_eq!(world.notified(&id)[1]["payoutId"], payout_id.to_string());
    let acts = world.gateway.store.read(|reader| reader.acts()).unwrap();
    assert_eq!(
        acts[0],
        [
            "cli:ann".to_owned(),
            "anomalies refund".to_owned(),
            format!("{id} by payout {payout_id}")
        ]
    );

    approve(&world.gateway, payout_id, staff()).await.unwrap();
    assert_eq!(world.payout(&payout_id).approved_by.as_deref(), Some("cli:ann"));
    assert_eq!(world.gateway.store.read(|reader| reader.acts()).unwrap()[0][1], "payouts approve");
    world.settle(payout_id, PayoutState::Sent).await;
    assert_eq!(world.notified_field(&id, "resolution"), ["OPEN", "REFUNDING", "REFUNDED"]);
}

#[tokio::test]
async fn a_refund_that_expires_or_fails_can_be_made_again() {
    let (world, id) = with_late_coins(50_000).await;
    let first = refund(&world.gateway, request(id, false)).await.unwrap().payout_id();
    world.pass_ms(11 * 60_000).await;
    assert_eq!(outbox::commit(&world.gateway, None, |it| expire_due(it, it.now)).await.unwrap(), 1);
    assert_eq!(outbox::commit(&world.gateway, None, |it| expire_due(it, it.now)).await.unwrap(), 0);
    assert_eq!(
        (world.payout(&first).state, world.anomaly(&id).payout_id),
        (PayoutState::Expired, None)
    );
    let due = world
        .gateway
        .store
        .read(|reader| reader.payments_due_by_time(world.gateway.time.now(), 10))
        .unwrap();
    assert_eq!(due, [world.anomaly(&id).payment_seq], "its payment is not due at once");
    let second = refund(&world.gateway, request(id, true)).await.unwrap().payout_id();
    assert_eq!(world.payout(&second).state, PayoutState::Queued);
    world.settle(second, PayoutState::Failed).await;
    let third = refund(&world.gateway, request(id, true)).await.unwrap().payout_id();
    world.settle(third, PayoutState::Sent).await;
    world.settle(third, PayoutState::Failed).await;
    let told = ["OPEN", "REFUNDING", "OPEN", "REFUNDING", "OPEN", "REFUNDING", "REFUNDED", "OPEN"];
    assert_eq!(world.notified_field(&id, "resolution"), told);
    // Its transaction is mined after all.
    world.settle(third, PayoutState::Sent).await;
    assert_eq!(world.anomaly(&id).anomaly.resolution, Resolution::Refunded);
    assert_eq!(world.anomaly(&id).payout_id, Some(third));
}

#[tokio::test]
async fn coins_are_not_refunded_again_after_a_failed_refund_was_sent() {
    let (world, id) = with_late_coins(50_000).await;
    let first = refund(&world.gateway, request(id, true)).await.unwrap().payout_id();
    world.settle(first, PayoutState::Failed).await;
    let second = refund(&world.gateway, request(id, false)).await.unwrap().payout_id();
    // The transaction of the first one is mined after all.
    world.settle(first, PayoutState::Sent).await;
    let refused = approve(&world.gateway, second, staff()).await;
    assert!(matches!(refused, Err(ApproveError::RefundedBefore)), "{refused:?}");
    reject(&world.gateway, second, "", "cli:ann").await.unwrap();
    let again = refund(&world.gateway, request(id, false)).await;
    assert!(
        matches!(again, Err(RefundError::ReturnedBefore { returned_sats: 50_000 })),
        "{again:?}"
    );
}

#[tokio::test]
async fn a_rejected_offer_expires_with_its_reason_and_reopens_the_anomaly() {
    let (world, id) = with_late_coins(50_000).await;
    let payout_id = refund(&world.gateway, request(id, false)).await.unwrap().payout_id();
    let long = "x".repeat(513);
    assert!(matches!(
        reject(&world.gateway, payout_id, &long, "cli:ann").await,
        Err(RejectError::Reason)
    ));
    reject(&world.gateway, payout_id, " wrong address. ", "cli:ann").await.unwrap();
    let payout = world.payout(&payout_id);
    assert_eq!(
        (payout.state, payout.given_up_by.as_deref()),
        (PayoutState::Expired, Some("cli:ann"))
    );
    assert_eq!(payout.failure_reason.unwrap().message, "it was withdrawn by staff: wrong address");
    assert!(payout.expires_at <= world.gateway.time.now());
    assert_eq!(world.notified_field(&id, "resolution"), ["OPEN", "REFUNDING", "OPEN"]);
    assert_eq!(world.gateway.store.read(|reader| reader.acts()).unwrap()[0][1], "payouts reject");
    let again = reject(&world.gateway, payout_id, "", "cli:ann").await;
    assert!(matches!(again, Err(RejectError::NotPending(PayoutState::Expired))), "{again:?}");
    let approval = approve(&world.gateway, payout_id, staff()).await;
    assert!(
        approval.unwrap_err().to_string().contains("wrong address"),
        "the refusal tells the reason"
    );
}

#[tokio::test]
async fn a_restored_copy_rejects_no_offer_before_its_scan() {
    let (world, id) = with_late_coins(50_000).await;
    let payout_id = refund(&world.gateway, request(id, false)).await.unwrap().payout_id();
    world.begins_restore(20, 0).await;
    let refused = reject(&world.gateway, payout_id, "", "cli:ann").await;
    assert!(
        matches!(refused, Err(RejectError::WalletNotReady(NotReady::NotLooked))),
        "{refused:?}"
    );
    assert_eq!(world.payout(&payout_id).state, PayoutState::New);
}

#[tokio::test]
async fn an_approved_payout_is_not_rejected() {
    let (world, id) = with_late_coins(50_000).await;
    let payout_id = refund(&world.gateway, request(id, true)).await.unwrap().payout_id();
    let refused = reject(&world.gateway, payout_id, "", "cli:ann").await;
    assert!(matches!(refused, Err(RejectError::NotPending(PayoutState::Queued))), "{refused:?}");
}

#[tokio::test]
async fn of_eight_simultaneous_refunds_only_one_succeeds() {
    let (world, id) = with_late_coins(50_000).await;
    let world = Arc::new(world);
    let mut all = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let world = Arc::clone(&world);
        all.spawn(async move { refund(&world.gateway, request(id, true)).await.map(|_| ()) });
    }
    let outcomes = all.join_all().await;
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 1);
    let is_refused = |outcome: &Result<(), RefundError>| {
        matches!(outcome, Ok(()) | Err(RefundError::NotOpen(Resolution::Refunding)))
    };
    assert!(outcomes.iter().all(is_refused), "{outcomes:?}");
}

#[tokio::test]
async fn a_refund_waits_for_the_confirmations_of_its_coins() {
    let (world, id) = with_late_coins(50_000).await;
    world.set("spendConfirmations", "3").await;
    let early = refund(&world.gateway, request(id, false)).await;
    assert!(matches!(early, Err(RefundError::CoinsNotReady { confirmations: 3 })), "{early:?}");
    world.mine(1).await;
    let payout_id = refund(&world.gateway, request(id, false)).await.unwrap().payout_id();
    // The approval checks the coins again.
    world.set("spendConfirmations", "4").await;
    let early = approve(&world.gateway, payout_id, staff()).await;
    assert!(matches!(early, Err(ApproveError::RefundCoinsGone)), "{early:?}");
    assert_eq!(world.payout(&payout_id).state, PayoutState::New);
    world.mine(1).await;
    approve(&world.gateway, payout_id, staff()).await.unwrap();
    let unknown = refund(&world.gateway, request(payout_id, false)).await;
    assert!(matches!(unknown, Err(RefundError::NoSuchAnomaly(_))), "{unknown:?}");
}

#[tokio::test]
async fn a_refund_obeys_the_rules_of_every_payout() {
    let (world, id) = with_late_coins(9_000).await;
    world.set("minPayoutBtc", "0.00001").await;
    world.set("dailyLimitBtc", "0.00005").await;
    let refused = refund(&world.gateway, request(id, true)).await;
    let Err(RefundError::Offer(OfferError::Invalid(field_errors))) = refused else {
        panic!("{refused:?}")
    };
    assert_eq!(field_errors[0].code, "PAYOUT_ABOVE_DAILY_LIMIT");
    assert_eq!(world.anomaly(&id).anomaly.resolution, Resolution::Open);
    world.set("dailyLimitBtc", "1").await;
    let in_euros = |address: &'static str| {
        let mut request = RefundRequest::of_staff(id, address, "cli:ann");
        request.offer.payout.currency = Some("EUR".into());
        request
    };
    assert!(matches!(
        refund(&world.gateway, in_euros("nowhere")).await,
        Err(RefundError::Offer(OfferError::Invalid(_)))
    ));
    let payout_id = refund(&world.gateway, in_euros(ADDRESS)).await.unwrap().payout_id();
    assert_eq!(world.payout(&payout_id).currency.code(), "EUR");
}

#[tokio::test]
async fn an_offer_has_expired_at_the_very_millisecond_of_its_end() {
    let (world, id) = with_late_coins(50_000).await;
    let payout_id = refund(&world.gateway, request(id, false)).await.unwrap().payout_id();
    let offer = world.payout(&payout_id);
    let end = offer.expires_at;
    assert!(judge_state(&offer, end.plus_ms(-1)).is_ok());
    assert!(matches!(judge_state(&offer, end), Err(ApproveError::OfferExpired)));
    let due =
        |at| world.gateway.store.read(|reader| reader.payouts_due_to_expire(at, 10)).unwrap().len();
    assert_eq!(
        (due(end.plus_ms(-1)), due(end)),
        (0, 1),
        "approval and expiry disagree about the end"
    );
}

#[tokio::test]
async fn an_approval_whose_client_hung_up_still_wakes_the_sender() {
    use std::pin::pin;
    use std::task::{Context, Waker};
    let (world, id) = with_late_coins(50_000).await;
    let payout_id = refund(&world.gateway, request(id, false)).await.unwrap().payout_id();
    {
        let approval = pin!(approve(&world.gateway, payout_id, staff()));
        let _ = approval.poll(&mut Context::from_waker(Waker::noop()));
    }
    // The writer's queue holds the approval's write before this one.
    world.gateway.store.write(|_| Ok::<_, tillgate_store::StoreError>(())).await.unwrap();
    assert_eq!(world.payout(&payout_id).state, PayoutState::Queued);
    let woken =
        pin!(world.gateway.sending.wake.notified()).poll(&mut Context::from_waker(Waker::noop()));
    assert!(woken.is_ready());
}

#[tokio::test]
async fn a_refund_excludes_coins_that_an_earlier_refund_sent_back() {
    let world = World::new().await;
    world.make_wallet().await;
    world.set("minPayoutBtc", "0.00000600").await;
    let payment = world.payment().await;
    let price_sats = payment.payment.amount_sats;
    let (first_sats, second_sats) = (price_sats * 45 / 100, price_sats * 60 / 100);
    world.pay(&payment, first_sats).await;
    world.mine(1).await;
    world.pay(&payment, second_sats).await;
    world.mine(2).await;
    let of_kind = |kind| {
        let rows =
            world.gateway.store.read(|reader| reader.anomalies_of_payment(payment.seq)).unwrap();
        rows.into_iter().find(|row| row.anomaly.kind == kind).unwrap().anomaly
    };
    let overpayment = of_kind(AnomalyKind::Overpayment);
    let surplus_sats = first_sats + second_sats - price_sats;
    let refunded = refund(&world.gateway, request(overpayment.id, true)).await.unwrap().payout_id();
    assert_eq!(world.payout(&refunded).amount_sats, surplus_sats);
    world.settle(refunded, PayoutState::Sent).await;
    // A reorg removes the customer's second transaction.
    world.sandbox().reorg(2, false, world.now_ms()).unwrap();
    world.look().await;
    world.mine(3).await;
    let underpayment = of_kind(AnomalyKind::Underpayment);
    assert_eq!(underpayment.paid_sats, first_sats);
    let rest = refund(&world.gateway, request(underpayment.id, false)).await.unwrap().payout_id();
    assert_eq!(
        world.payout(&rest).amount_sats,
        first_sats - surplus_sats,
        "the received coins less the earlier refund"
    );
}

#[tokio::test]
async fn two_late_transactions_of_one_payment_are_refunded_in_full() {
    let (world, id) = with_late_coins(50_000).await;
    let first = refund(&world.gateway, request(id, true)).await.unwrap().payout_id();
    let payment = world.reload_payment(&world.anomaly(&id).payment_id);
    world.pay(&payment, 40_000).await;
    world.mine(2).await;
    let rows = world.gateway.store.read(|reader| reader.anomalies_of_payment(payment.seq)).unwrap();
    let other = rows.into_iter().find(|row| row.anomaly.id != id).unwrap().anomaly.id;
    let second = refund(&world.gateway, request(other, true)).await.unwrap().payout_id();
    assert_eq!(
        (world.payout(&first).amount_sats, world.payout(&second).amount_sats),
        (50_000, 40_000)
    );
}

#[tokio::test]
async fn refunded_coins_that_are_gone_are_deducted_down_to_zero() {
    let (world, id) = with_late_coins(50_000).await;
    let first = refund(&world.gateway, request(id, true)).await.unwrap().payout_id();
    world.settle(first, PayoutState::Sent).await;
    world.sandbox().reorg(2, false, world.now_ms()).unwrap();
    world.look().await;
    let payment = world.reload_payment(&world.anomaly(&id).payment_id);
    world.pay(&payment, 40_000).await;
    world.mine(2).await;
    let rows = world.gateway.store.read(|reader| reader.anomalies_of_payment(payment.seq)).unwrap();
    let other = rows.into_iter().find(|row| row.anomaly.id != id).unwrap().anomaly.id;
    let refused = refund(&world.gateway, request(other, true)).await;
    assert!(
        matches!(refused, Err(RefundError::ReturnedBefore { returned_sats: 50_000 })),
        "{refused:?}"
    );
}

#[tokio::test]
async fn a_payout_of_the_same_sum_to_any_address_is_pointed_out_before_a_refund() {
    let (world, id) = with_late_coins(50_000).await;
    let mut asked = offer_of(None, Permit::none());
    (asked.payout.btc_amount, asked.is_approved) = (Some("0.0005".into()), true);
    asked.payout.address =
        Some("bcrt1qrp33g0q5c5txsp9arysrx4k6zdkfs4nce4xj0gdcccefvpysxf3qzf4jry".into());
    let alike = offer(&world.gateway, asked).await.unwrap().payout_id();
    let refused = refund(&world.gateway, request(id, false)).await.unwrap_err();
    assert!(
        matches!(refused, RefundError::PaidByPayout { payout_id, .. } if payout_id == alike),
        "{refused:?}"
    );
    assert_eq!(world.anomaly(&id).anomaly.resolution, Resolution::Open);
    let about =
        world.gateway.store.read(|reader| open_anomaly_of(reader, 50_000)).unwrap().unwrap();
    assert_eq!(about.anomaly.id, id, "a payout request of this sum names the anomaly");
    let mut agreed = request(id, false);
    agreed.offer.again = true;
    refund(&world.gateway, agreed).await.unwrap();
}

fn offer_of(once: Option<Once>, permit: Permit) -> OfferRequest<'static> {
    let payout = PayoutRequest {
        btc_amount: Some("0.001".into()),
        currency: Some("USD".into()),
        address: Some(ADDRESS.into()),
        ..PayoutRequest::default()
    };
    let requester = Requester {
        key_id: None,
        name: "cli:ann".to_owned(),
        notify_hosts: NotifyHosts::default(),
    };
    OfferRequest { requester, payout, is_approved: false, once, permit, again: false }
}

#[tokio::test]
async fn no_permit_is_held_while_the_backend_is_asked_for_a_fee_rate() {
    let (world, _) = with_late_coins(50_000).await;
    assert_eq!(world.gateway.fee_rates_known(), None);
    let gateway = Arc::clone(&world.gateway);
    let taken = Arc::new(AtomicBool::new(false));
    let permit = {
        let taken = Arc::clone(&taken);
        Permit::by(async move {
            taken.store(gateway.fee_rates_known().is_some(), Ordering::SeqCst);
            Ok(())
        })
    };
    offer(&world.gateway, offer_of(None, permit)).await.unwrap();
    assert!(taken.load(Ordering::SeqCst), "the permit was taken before the backend answered");
}

#[tokio::test]
async fn a_repeated_answer_needs_no_permit() {
    let (world, _) = with_late_coins(50_000).await;
    let once = |key: &str| Some(Once::new(1, "/v2/payouts", key.to_owned(), "", "{}"));
    let none_left = || Permit::by(async { Err::<(), _>(StoreError::TooManyReads) });
    let first = offer(&world.gateway, offer_of(once("k"), Permit::none())).await.unwrap();
    let Offered::New { record, .. } = first else { panic!("{first:?}") };
    let again = offer(&world.gateway, offer_of(once("k"), none_left())).await.unwrap();
    assert_eq!(again, Offered::Again(record.into_bytes()));
    let other = offer(&world.gateway, offer_of(once("l"), none_left())).await;
    assert!(matches!(other, Err(OfferError::Store(StoreError::TooManyReads))), "{other:?}");
}

#[tokio::test]
async fn a_skipped_address_of_our_own_is_refused_right_after_a_start() {
    let world = World::new().await;
    world.make_wallet().await;
    let many = 4_000;
    world.gateway.store.write(move |tx| tx.skip_addresses_to(many)).await.unwrap();
    let pool = &world.gateway.wallet.get().unwrap().addresses;
    let scripts = [0, many / 2, many].map(|index| pool.script(index).unwrap());
    let world = world.reopen().await;
    // Starts with the highest index, which is derived last.
    for script in scripts.iter().rev() {
        let address =
            bitcoin::Address::from_script(script, bitcoin::Network::Regtest).unwrap().to_string();
        let mut request = offer_of(None, Permit::none());
        request.payout.address = Some(address.into());
        let refused = offer(&world.gateway, request).await;
        let Err(OfferError::Invalid(field_errors)) = refused else { panic!("{refused:?}") };
        assert!(field_errors[0].message.contains("one of this wallet's own"), "{field_errors:?}");
    }
}
