//! Payments, offers and payouts while the machine's clock is set.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering::SeqCst};
use std::task::{Context, Waker};

use parking_lot::Mutex;
use tillgate_domain::payment::PaymentState;
use tillgate_domain::payout::PayoutState;
use tillgate_domain::payout::limit::UtcDay;
use tillgate_domain::policy::PolicySettings;
use tillgate_domain::time::Timestamp;

use crate::access::idempotency::{Once, PriorRequest};
use crate::access::record_scope::RecordScope;
use crate::daemon::leave_another_clock;
use crate::gateway::LastLook;
use crate::machine::clock::{Clock, StepForward};
use crate::payouts::{ApproveError, Approver, approve};
use crate::settings::Act;
use crate::testing::{HALF_AN_HOUR_MS, World};

const MINUTE_MS: i64 = 60_000;
const HOUR_MS: i64 = 60 * MINUTE_MS;
const HOURS_MS: i64 = 8 * HOUR_MS;
const DAY_MS: i64 = 24 * HOUR_MS;
const YEAR_MS: i64 = 365 * DAY_MS;

/// A clock that follows the machine's when it is set forward.
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
        let clock = Arc::new(SetForward { clock, ahead_ms: AtomicI64::new(0), steps: Mutex::default() });
        settable = Some(Arc::clone(&clock));
        clock
    });
    (world, settable.unwrap())
}

impl World {
    /// Repeats the clock's part of a start. A newly opened sandbox would turn its own clock on.
    async fn starts_again(&self) {
        leave_another_clock(&self.gateway).await;
        self.look().await;
        self.pass_sender().await;
    }

    /// Sets how far the clock is ahead, as found by a start, in milliseconds.
    fn is_ahead_by_ms(&self, ms: i64) {
        self.gateway.clock_offset_ms.fetch_add(ms, SeqCst);
    }
}

/// A shop's request that was answered just now.
async fn answered_once(world: &World) -> Once {
    let once = Once::new(1, "/v2/payouts", "order-1".to_owned(), "", b"{}");
    let (first, now) = (once.clone(), world.gateway.clock.now());
    world.gateway.store.write(move |tx| first.store(tx, b"answered", now)).await.unwrap();
    once
}

fn staff() -> Approver {
    Approver { name: "cli:ann".to_owned(), scope: RecordScope::Everything, is_person: true }
}

#[tokio::test]
async fn a_clock_that_was_behind_and_is_set_right_leaves_each_customer_the_rest_of_his_half_hour() {
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
    assert_eq!(world.now_of(&late.payment.id).payment.expires_at, late.payment.expires_at.plus_ms(HOURS_MS), "as told");
    assert_eq!(world.now_of(&after.payment.id).payment.expires_at, after.payment.expires_at, "it lost nothing");

    world.pass_ms(6 * MINUTE_MS).await;
    assert_eq!([world.state(&early), world.state(&late)], [PaymentState::Expired, PaymentState::New]);
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
async fn an_offer_can_be_approved_right_after_the_clock_was_set_ahead() {
    let (world, clock) = world_with_settable_clock().await;
    let offer = world.offered_payout(50_000).await;
    clock.by_ms(HOURS_MS);
    approve(&world.gateway, offer, staff()).await.unwrap();
}

#[tokio::test]
async fn a_request_is_known_again_after_the_clock_was_set_days_ahead() {
    let (world, clock) = world_with_settable_clock().await;
    let once = answered_once(&world).await;
    clock.by_ms(72 * 60 * MINUTE_MS);
    let now = world.gateway.follow_clock().await.unwrap();
    let prior = world.gateway.store.read(|reader| once.prior(reader, now)).unwrap();
    assert_eq!(prior, PriorRequest::Same(b"answered".to_vec()));
}

#[tokio::test]
async fn a_step_is_followed_once_though_the_shop_hangs_up_while_that_is_stored() {
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
    let expires_at = world.now_of(&payment.payment.id).payment.expires_at;
    assert_eq!(expires_at, payment.payment.expires_at.plus_ms(HOURS_MS));
    assert_eq!(world.payout(&offer).expires_at, told.plus_ms(HOURS_MS));
}

#[tokio::test]
async fn a_payout_is_not_given_up_for_the_day_by_which_the_clock_was_set_forward() {
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
    assert_eq!(world.payout(&payout).approved_at, approved_at, "as told");
}

#[tokio::test]
async fn what_came_just_before_the_clock_was_set_forward_is_accepted_unconfirmed_once_it_was_quiet() {
    let (world, clock) = world_with_settable_clock().await;
    let policy = PolicySettings { zero_conf_up_to: 100.into(), ..PolicySettings::default() };
    let payment = world.payment_under(policy).await;
    world.pay(&payment, payment.payment.amount_sats).await;
    clock.by_ms(HOURS_MS);
    world.look().await;
    assert_eq!(world.state(&payment), PaymentState::Unconfirmed);
    world.pass_ms(4_000).await;
    assert_eq!(world.state(&payment), PaymentState::Confirmed);
}

#[tokio::test]
async fn what_a_clock_that_was_ahead_approved_uses_the_limit_until_its_day_is_over() {
    let world = World::new().await;
    let until = UtcDay::of(world.gateway.clock.now().plus_ms(DAY_MS)).end.iso_seconds();
    let is_refused = async || {
        let refused = approve(&world.gateway, world.offered_payout(50_000_000).await, staff()).await;
        let Err(ApproveError::Limit(refusals)) = refused else { return false };
        assert!(refusals.iter().any(|refusal| refusal.to_string().contains(&until)), "{refusals:?}");
        true
    };
    world.is_ahead_by_ms(DAY_MS);
    world.approved_payout(60_000_000).await;
    world.is_ahead_by_ms(-DAY_MS);
    assert!(is_refused().await, "of the day's limit, a bitcoin, too little is left");
    world.is_ahead_by_ms(DAY_MS);
    assert!(is_refused().await, "and on that day as well");
    world.is_ahead_by_ms(DAY_MS);
    assert!(!is_refused().await);
}

#[tokio::test]
async fn an_offer_of_a_clock_that_was_ahead_lapses_at_the_next_start_and_is_never_approved() {
    let world = World::new().await;
    world.is_ahead_by_ms(HOURS_MS);
    let offer = world.offered_payout(50_000).await;
    world.is_ahead_by_ms(-HOURS_MS);
    let refused = approve(&world.gateway, offer, staff()).await;
    assert!(matches!(refused, Err(ApproveError::OfferExpired)), "{refused:?}");
    leave_another_clock(&world.gateway).await;
    assert_eq!(world.payout(&offer).state, PayoutState::Expired);
    // An offer made by the present clock stays.
    let offer = world.offered_payout(50_000).await;
    leave_another_clock(&world.gateway).await;
    assert_eq!(world.payout(&offer).state, PayoutState::New);
}

#[tokio::test]
async fn people_hear_at_the_next_start_that_the_clock_was_ahead_when_a_payment_was_made() {
    let world = World::new().await;
    assert_eq!(
        LastLook::load(&world.gateway.store).unwrap().status().stored_ahead_warning(world.gateway.clock.now()),
        None
    );
    world.is_ahead_by_ms(HOURS_MS);
    let payment = world.payment().await;
    world.is_ahead_by_ms(-HOURS_MS);
    let status = LastLook::load(&world.gateway.store).unwrap().status();
    let told = status.stored_ahead_warning(world.gateway.clock.now()).unwrap();
    assert!(told.contains(&payment.payment.created_at.iso_seconds()), "{told}");
    world.is_ahead_by_ms(HALF_AN_HOUR_MS + MINUTE_MS);
    world.look().await;
    assert_eq!(world.state(&payment), PaymentState::New, "the customer was told a later time");
}

#[tokio::test]
async fn what_was_open_when_the_clock_was_set_a_year_ahead_by_mistake_ends_when_it_was_told_after_the_next_start() {
    let (world, clock) = world_with_settable_clock().await;
    let (payment, offer) = (world.payment().await, world.offered_payout(50_000).await);
    let (told, valid_until) = (payment.payment.expires_at, world.payout(&offer).expires_at);
    clock.by_ms(YEAR_MS);
    world.look().await;
    assert_eq!(world.now_of(&payment.payment.id).payment.expires_at, told.plus_ms(YEAR_MS));
    assert_eq!(world.payout(&offer).expires_at, valid_until.plus_ms(YEAR_MS));
    clock.is_right_again();
    world.starts_again().await;
    assert_eq!(world.now_of(&payment.payment.id).payment.expires_at, told);
    assert_eq!(world.state(&payment), PaymentState::New);
    assert_eq!((world.payout(&offer).state, world.payout(&offer).expires_at), (PayoutState::New, valid_until));
    world.pass_ms(10 * MINUTE_MS).await;
    let refused = approve(&world.gateway, offer, staff()).await;
    assert!(matches!(refused, Err(ApproveError::OfferExpired)), "{refused:?}");
    world.pass_ms(HALF_AN_HOUR_MS + MINUTE_MS).await;
    assert_eq!(world.state(&payment), PaymentState::Expired);
}

#[tokio::test]
async fn an_offer_that_was_given_time_and_approved_by_a_right_clock_is_tried_for_a_day() {
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
async fn an_offer_keeps_its_longer_old_validity_after_a_start() {
    let world = World::new().await;
    let offer = world.offered_payout(50_000).await;
    let valid_until = world.payout(&offer).expires_at;
    let act = Act { actor: "cli", at: world.gateway.clock.now() };
    world.gateway.settings.set(&world.gateway.store, "offerValidityMinutes", "1", act).await.unwrap();
    leave_another_clock(&world.gateway).await;
    assert_eq!((world.payout(&offer).state, world.payout(&offer).expires_at), (PayoutState::New, valid_until));
}

#[tokio::test]
async fn an_answer_is_known_again_for_a_day_and_no_year_where_the_clock_was_set_a_year_ahead_by_mistake() {
    let (world, clock) = world_with_settable_clock().await;
    let once = answered_once(&world).await;
    clock.by_ms(YEAR_MS);
    world.look().await;
    clock.is_right_again();
    world.starts_again().await;
    let prior = || world.gateway.store.read(|reader| once.prior(reader, world.gateway.clock.now())).unwrap();
    assert_eq!(prior(), PriorRequest::Same(b"answered".to_vec()));
    world.pass_ms(2 * DAY_MS).await;
    assert_eq!(prior(), PriorRequest::None);
}

#[tokio::test]
async fn what_a_clock_that_was_behind_and_set_right_gave_stands_after_a_restart() {
    let (world, clock) = world_with_settable_clock().await;
    let (payment, offer) = (world.payment().await, world.offered_payout(50_000).await);
    clock.by_ms(HOURS_MS);
    world.look().await;
    world.starts_again().await;
    assert_eq!(world.now_of(&payment.payment.id).payment.expires_at, payment.payment.expires_at.plus_ms(HOURS_MS));
    assert_eq!((world.state(&payment), world.payout(&offer).state), (PaymentState::New, PayoutState::New));
}

#[tokio::test]
async fn what_a_step_gave_stands_where_a_block_shows_that_the_clock_of_the_next_start_is_behind() {
    let (world, clock) = world_with_settable_clock().await;
    let (payment, offer) = (world.payment().await, world.offered_payout(50_000).await);
    let valid_until = world.payout(&offer).expires_at;
    clock.by_ms(HOURS_MS);
    world.sandbox().mine(1, true, clock.now().ms()).unwrap();
    world.look().await;
    clock.is_right_again();
    world.starts_again().await;
    assert_eq!(world.now_of(&payment.payment.id).payment.expires_at, payment.payment.expires_at.plus_ms(HOURS_MS));
    assert_eq!(world.payout(&offer).expires_at, valid_until.plus_ms(HOURS_MS));
}

#[tokio::test]
async fn a_payout_that_waited_when_the_clock_was_set_a_year_ahead_is_tried_for_a_day_after_the_next_start() {
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
async fn what_was_seen_while_the_clock_was_a_year_ahead_is_accepted_unconfirmed_after_the_next_start() {
    let (world, clock) = world_with_settable_clock().await;
    let policy = PolicySettings { zero_conf_up_to: 100.into(), ..PolicySettings::default() };
    let payment = world.payment_under(policy).await;
    clock.by_ms(YEAR_MS);
    world.pay(&payment, payment.payment.amount_sats).await;
    clock.is_right_again();
    world.starts_again().await;
    assert_eq!(world.state(&payment), PaymentState::Unconfirmed, "it is quiet since the start");
    world.pass_ms(4_000).await;
    assert_eq!(world.state(&payment), PaymentState::Confirmed);
}
