//! Payments, offers and payouts while the machine's clock is set.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering::SeqCst};
use std::task::{Context, Waker};

use parking_lot::Mutex;
use tillgate_domain::payment::PaymentState;
use tillgate_domain::payout::PayoutState;
use tillgate_domain::payout::limit::UtcDay;
use tillgate_domain::policy::{PolicySettings, PriceBound};
use tillgate_domain::time::Timestamp;
use tillgate_machine::clock::{Clock, StepForward};

use crate::access::idempotency::{Once, PriorRequest};
use crate::access::record_scope::RecordScope;
use crate::gateway::LastLook;
use crate::open::correct_future_times;
use crate::payouts::{ApproveError, Approver, approve};
use crate::settings::Act;
use crate::testing::{HALF_AN_HOUR_MS, World};

const MINUTE_MS: i64 = 60_000;
const HOUR_MS: i64 = 60 * MINUTE_MS;
const HOURS_MS: i64 = 8 * HOUR_MS;
const DAY_MS: i64 = 24 * HOUR_MS;
const YEAR_MS: i64 = 365 * DAY_MS;

/// A clock that tests set forward, and that reports each step.
struct SetForward {
    clock: Arc<dyn Clock>,
    ahead_ms: AtomicI64,
    steps: Mutex<Vec<StepForward>>,
}

impl SetForward {
    /// Undoes all steps of the clock.
    fn is_right_again(&self) {
        self.ahead_ms.store(0, SeqCst);
    }

    fn by_ms(&self, by_ms: i64) {
        self.steps.lock().push(StepForward { from: self.now(), by_ms });
        self.ahead_ms.fetch_add(by_ms, SeqCst);
    }
}

impl Clock for SetForward {
    fn now(&self) -> Timestamp {
        self.clock.now().plus_ms(self.ahead_ms.load(SeqCst))
    }

    fn step_forward(&self, number: usize) -> Option<StepForward> {
        self.steps.lock().get(number).copied()
    }
}

async fn world_with_settable_clock() -> (World, Arc<SetForward>) {
    let world = World::new().await;
    let mut settable = None;
    let world = world.with_clock(|clock| {
        let clock =
            Arc::new(SetForward { clock, ahead_ms: AtomicI64::new(0), steps: Mutex::default() });
        settable = Some(Arc::clone(&clock));
        clock
    });
    (world, settable.unwrap())
}

impl World {
    /// Repeats the clock's part of a start. A real restart would move the sandbox's clock
    /// forward to the last look.
    async fn starts_again(&self) {
        correct_future_times(&self.gateway).await;
        self.look().await;
        self.pass_sender().await;
    }

    /// Moves the clock ahead without a step that the gateway follows, as if it was set while the
    /// gateway was stopped.
    fn is_ahead_by_ms(&self, ms: i64) {
        self.gateway.time.offset_ms.fetch_add(ms, SeqCst);
    }
}

/// A shop's request that was answered just now.
async fn answered_once(world: &World) -> Once {
    let once = Once::new(1, "/v2/payouts", "order-1".to_owned(), "", "{}");
    let (first, now) = (once.clone(), world.gateway.time.now());
    world.gateway.store.write(move |tx| first.store(tx, b"answered", now)).await.unwrap();
    once
}

fn staff() -> Approver {
    Approver { name: "cli:ann".to_owned(), scope: RecordScope::Everything, is_person: true }
}

#[tokio::test]
async fn a_forward_step_leaves_each_customer_the_rest_of_the_time() {
    let (world, clock) = world_with_settable_clock().await;
    let early = world.payment().await;
    world.pass_ms(25 * MINUTE_MS).await;
    let (late, offer) = (world.payment().await, world.offered_payout(50_000).await);
    clock.by_ms(HOURS_MS);
    let after = world.payment().await;
    world.look().await;
    world.pass_sender().await;
    assert_eq!([world.state(&early), world.state(&late)], [PaymentState::New; 2]);
    assert_eq!(world.payout(&offer).state, PayoutState::New);
    assert_eq!(
        world.reload_payment(&late.payment.id).payment.expires_at,
        late.payment.expires_at.plus_ms(HOURS_MS),
        "the deadline moves with the clock"
    );
    assert_eq!(
        world.reload_payment(&after.payment.id).payment.expires_at,
        after.payment.expires_at,
        "not extended"
    );

    world.pass_ms(6 * MINUTE_MS).await;
    assert_eq!(
        [world.state(&early), world.state(&late)],
        [PaymentState::Expired, PaymentState::New]
    );
    assert_eq!(world.payout(&offer).state, PayoutState::New);
    world.pay(&late, late.payment.amount_sats).await;
    assert_eq!(world.state(&late), PaymentState::Unconfirmed, "paid in time");
    world.pass_ms(5 * MINUTE_MS).await;
    world.pass_sender().await;
    assert_eq!(world.payout(&offer).state, PayoutState::Expired);
    world.pass_ms(20 * MINUTE_MS).await;
    assert_eq!(world.state(&after), PaymentState::Expired);
}

#[tokio::test]
async fn an_offer_can_be_approved_right_after_a_forward_step() {
    let (world, clock) = world_with_settable_clock().await;
    let offer = world.offered_payout(50_000).await;
    clock.by_ms(HOURS_MS);
    approve(&world.gateway, offer, staff()).await.unwrap();
}

#[tokio::test]
async fn an_idempotency_key_survives_a_forward_step_of_days() {
    let (world, clock) = world_with_settable_clock().await;
    let once = answered_once(&world).await;
    clock.by_ms(72 * 60 * MINUTE_MS);
    let now = world.gateway.follow_clock().await.unwrap();
    let prior = world.gateway.store.read(|reader| once.prior(reader, now)).unwrap();
    assert_eq!(prior, PriorRequest::Same(b"answered".to_vec()));
}

#[tokio::test]
async fn a_step_extends_rows_once_even_if_the_client_hangs_up() {
    let (world, clock) = world_with_settable_clock().await;
    let (payment, offer) = (world.payment().await, world.offered_payout(50_000).await);
    let told = world.payout(&offer).expires_at;
    clock.by_ms(HOURS_MS);
    {
        let mut context = Context::from_waker(Waker::noop());
        let approval = pin!(approve(&world.gateway, offer, staff()));
        assert!(approval.poll(&mut context).is_pending());
    }
    world.look().await;
    let expires_at = world.reload_payment(&payment.payment.id).payment.expires_at;
    assert_eq!(expires_at, payment.payment.expires_at.plus_ms(HOURS_MS));
    assert_eq!(world.payout(&offer).expires_at, told.plus_ms(HOURS_MS));
}

#[tokio::test]
async fn a_forward_step_does_not_shorten_the_day_of_a_queued_payout() {
    let (world, clock) = world_with_settable_clock().await;
    world.make_wallet().await;
    let payout = world.approved_payout(50_000_000).await;
    let approved_at = world.payout(&payout).approved_at;
    let state_after = async |ms: i64| {
        world.pass_ms(ms).await;
        world.pass_sender().await;
        world.payout(&payout).state
    };
    assert_eq!(state_after(HOUR_MS).await, PayoutState::Queued, "there are no coins for it");
    clock.by_ms(25 * HOUR_MS);
    assert_eq!(state_after(MINUTE_MS).await, PayoutState::Queued);
    assert_eq!(state_after(22 * HOUR_MS).await, PayoutState::Queued);
    assert_eq!(state_after(HOUR_MS).await, PayoutState::Failed, "it was tried for a day");
    assert_eq!(world.payout(&payout).approved_at, approved_at, "the approval time does not move");
}

#[tokio::test]
async fn a_forward_step_does_not_shorten_the_quiet_time() {
    let (world, clock) = world_with_settable_clock().await;
    let policy =
        PolicySettings { zero_conf_up_to: PriceBound::usd(100), ..PolicySettings::default() };
    let payment = world.payment_under(policy).await;
    world.pay(&payment, payment.payment.amount_sats).await;
    clock.by_ms(HOURS_MS);
    world.look().await;
    assert_eq!(world.state(&payment), PaymentState::Unconfirmed);
    world.pass_ms(4_000).await;
    assert_eq!(world.state(&payment), PaymentState::Confirmed);
}

#[tokio::test]
async fn an_approval_in_the_future_counts_until_its_day_is_over() {
    let world = World::new().await;
    let until = UtcDay::of(world.gateway.time.now().plus_ms(DAY_MS)).end.iso_seconds();
    let is_refused = async || {
        let refused =
            approve(&world.gateway, world.offered_payout(50_000_000).await, staff()).await;
        let Err(ApproveError::Limit(refusals)) = refused else { return false };
        assert!(
            refusals.iter().any(|refusal| refusal.to_string().contains(&until)),
            "{refusals:?}"
        );
        true
    };
    world.is_ahead_by_ms(DAY_MS);
    world.approved_payout(60_000_000).await;
    world.is_ahead_by_ms(-DAY_MS);
    assert!(is_refused().await, "too little is left of the daily limit of 1 BTC");
    world.is_ahead_by_ms(DAY_MS);
    assert!(is_refused().await, "the approval counts on its own day too");
    world.is_ahead_by_ms(DAY_MS);
    assert!(!is_refused().await);
}

#[tokio::test]
async fn an_offer_made_in_the_future_expires_at_the_next_start() {
    let world = World::new().await;
    world.is_ahead_by_ms(HOURS_MS);
    let offer = world.offered_payout(50_000).await;
    world.is_ahead_by_ms(-HOURS_MS);
    let refused = approve(&world.gateway, offer, staff()).await;
    assert!(matches!(refused, Err(ApproveError::OfferExpired)), "{refused:?}");
    correct_future_times(&world.gateway).await;
    assert_eq!(world.payout(&offer).state, PayoutState::Expired);
    // An offer made by the present clock stays.
    let offer = world.offered_payout(50_000).await;
    correct_future_times(&world.gateway).await;
    assert_eq!(world.payout(&offer).state, PayoutState::New);
}

#[tokio::test]
async fn a_start_warns_of_a_payment_made_in_the_future() {
    let world = World::new().await;
    assert_eq!(
        LastLook::load(&world.gateway.store)
            .unwrap()
            .status()
            .stored_ahead_warning(world.gateway.time.now()),
        None
    );
    world.is_ahead_by_ms(HOURS_MS);
    let payment = world.payment().await;
    world.is_ahead_by_ms(-HOURS_MS);
    let status = LastLook::load(&world.gateway.store).unwrap().status();
    let told = status.stored_ahead_warning(world.gateway.time.now()).unwrap();
    assert!(told.to_string().contains(&payment.payment.created_at.iso_seconds()), "{told}");
    world.is_ahead_by_ms(HALF_AN_HOUR_MS + MINUTE_MS);
    world.look().await;
    assert_eq!(world.state(&payment), PaymentState::New, "the payment's deadline is still ahead");
}

#[tokio::test]
async fn a_restart_undoes_the_extensions_of_a_mistaken_step() {
    let (world, clock) = world_with_settable_clock().await;
    let (payment, offer) = (world.payment().await, world.offered_payout(50_000).await);
    let (told, valid_until) = (payment.payment.expires_at, world.payout(&offer).expires_at);
    clock.by_ms(YEAR_MS);
    world.look().await;
    assert_eq!(world.reload_payment(&payment.payment.id).payment.expires_at, told.plus_ms(YEAR_MS));
    assert_eq!(world.payout(&offer).expires_at, valid_until.plus_ms(YEAR_MS));
    clock.is_right_again();
    world.starts_again().await;
    assert_eq!(world.reload_payment(&payment.payment.id).payment.expires_at, told);
    assert_eq!(world.state(&payment), PaymentState::New);
    assert_eq!(
        (world.payout(&offer).state, world.payout(&offer).expires_at),
        (PayoutState::New, valid_until)
    );
    world.pass_ms(10 * MINUTE_MS).await;
    let refused = approve(&world.gateway, offer, staff()).await;
    assert!(matches!(refused, Err(ApproveError::OfferExpired)), "{refused:?}");
    world.pass_ms(HALF_AN_HOUR_MS + MINUTE_MS).await;
    assert_eq!(world.state(&payment), PaymentState::Expired);
}

#[tokio::test]
async fn an_extended_offer_is_tried_for_a_day_after_its_approval() {
    let (world, clock) = world_with_settable_clock().await;
    world.make_wallet().await;
    let offer = world.offered_payout(50_000_000).await;
    clock.by_ms(YEAR_MS);
    world.look().await;
    approve(&world.gateway, offer, staff()).await.unwrap();
    world.pass_ms(DAY_MS + MINUTE_MS).await;
    world.pass_sender().await;
    assert_eq!(world.payout(&offer).state, PayoutState::Failed, "there are no coins for it");
}

#[tokio::test]
async fn a_start_keeps_the_validity_of_an_offer_under_old_settings() {
    let world = World::new().await;
    let offer = world.offered_payout(50_000).await;
    let valid_until = world.payout(&offer).expires_at;
    let act = Act { actor: "cli", at: world.gateway.time.now() };
    world
        .gateway
        .settings
        .set(&world.gateway.store, "offerValidityMinutes", "1", act)
        .await
        .unwrap();
    correct_future_times(&world.gateway).await;
    assert_eq!(
        (world.payout(&offer).state, world.payout(&offer).expires_at),
        (PayoutState::New, valid_until)
    );
}

#[tokio::test]
async fn an_idempotency_key_lives_a_day_after_a_mistaken_step() {
    let (world, clock) = world_with_settable_clock().await;
    let once = answered_once(&world).await;
    clock.by_ms(YEAR_MS);
    world.look().await;
    clock.is_right_again();
    world.starts_again().await;
    let prior =
        || world.gateway.store.read(|reader| once.prior(reader, world.gateway.time.now())).unwrap();
    assert_eq!(prior(), PriorRequest::Same(b"answered".to_vec()));
    world.pass_ms(2 * DAY_MS).await;
    assert_eq!(prior(), PriorRequest::None);
}

#[tokio::test]
async fn a_restart_keeps_the_extensions_of_a_right_step() {
    let (world, clock) = world_with_settable_clock().await;
    let (payment, offer) = (world.payment().await, world.offered_payout(50_000).await);
    clock.by_ms(HOURS_MS);
    world.look().await;
    world.starts_again().await;
    assert_eq!(
        world.reload_payment(&payment.payment.id).payment.expires_at,
        payment.payment.expires_at.plus_ms(HOURS_MS)
    );
    assert_eq!(
        (world.state(&payment), world.payout(&offer).state),
        (PaymentState::New, PayoutState::New)
    );
}

#[tokio::test]
async fn a_restart_with_a_clock_behind_a_block_keeps_the_extensions() {
    let (world, clock) = world_with_settable_clock().await;
    let (payment, offer) = (world.payment().await, world.offered_payout(50_000).await);
    let valid_until = world.payout(&offer).expires_at;
    clock.by_ms(HOURS_MS);
    world.sandbox().mine(1, true, clock.now().ms()).unwrap();
    world.look().await;
    clock.is_right_again();
    world.starts_again().await;
    assert_eq!(
        world.reload_payment(&payment.payment.id).payment.expires_at,
        payment.payment.expires_at.plus_ms(HOURS_MS)
    );
    assert_eq!(world.payout(&offer).expires_at, valid_until.plus_ms(HOURS_MS));
}

#[tokio::test]
async fn a_queued_payout_is_tried_for_a_day_after_a_mistaken_step() {
    let (world, clock) = world_with_settable_clock().await;
    world.make_wallet().await;
    let payout = world.approved_payout(50_000_000).await;
    clock.by_ms(YEAR_MS);
    world.look().await;
    world.pass_sender().await;
    clock.is_right_again();
    world.starts_again().await;
    assert_eq!(world.payout(&payout).state, PayoutState::Queued, "there are no coins for it");
    world.pass_ms(DAY_MS + MINUTE_MS).await;
    world.pass_sender().await;
    assert_eq!(world.payout(&payout).state, PayoutState::Failed);
}

#[tokio::test]
async fn coins_seen_in_the_future_become_quiet_after_the_next_start() {
    let (world, clock) = world_with_settable_clock().await;
    let policy =
        PolicySettings { zero_conf_up_to: PriceBound::usd(100), ..PolicySettings::default() };
    let payment = world.payment_under(policy).await;
    clock.by_ms(YEAR_MS);
    world.pay(&payment, payment.payment.amount_sats).await;
    clock.is_right_again();
    world.starts_again().await;
    assert_eq!(
        world.state(&payment),
        PaymentState::Unconfirmed,
        "the quiet time begins at the start"
    );
    world.pass_ms(4_000).await;
    assert_eq!(world.state(&payment), PaymentState::Confirmed);
}
