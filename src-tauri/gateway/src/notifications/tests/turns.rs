//! The order, superseding, retries and giving up of notifications, and restarts.

use std::sync::Arc;

use tillgate_domain::notification::{NotificationState, Outcome, after_failure};
use tillgate_machine::clock::Clock as _;
use tillgate_store::notifications::{FailingServer, server_of};
use tokio_util::sync::CancellationToken;

use super::support::{Merchant, SHORT, Scene};

const DAY_MS: i64 = 24 * 3_600_000;

#[tokio::test]
async fn notifications_of_a_record_are_sent_one_at_a_time_in_order() {
    let (scene, shop) = (Scene::patient().await, Merchant::open().await);
    let gate = shop.hold();
    scene.queue_many(&[1, 1, 1], &shop.url).await;
    assert_eq!(scene.pass().await, 1);
    shop.has_got(1).await;
    assert_eq!(scene.pass().await, 0, "the first notification is still being sent");
    gate.add_permits(3);
    scene.quiet().await;
    scene.deliver_all().await;
    assert_eq!(shop.bodies(), ["1", "2", "3"]);
}

#[tokio::test]
async fn a_record_does_not_wait_for_another() {
    let (scene, shop) = (Scene::patient().await, Merchant::open().await);
    let _gate = shop.hold();
    scene.queue(1, &shop.url).await;
    assert_eq!(scene.pass().await, 1);
    scene.queue(2, &shop.url).await;
    assert_eq!(scene.pass().await, 1);
    shop.has_got(2).await;
}

#[tokio::test]
async fn each_notification_is_attempted_and_only_the_newest_retried() {
    let (scene, shop) = (Scene::new().await, Merchant::open().await);
    shop.will_answer([500, 500, 500]);
    scene.queue_many(&[1, 1, 1], &shop.url).await;
    scene.deliver_all().await;
    assert_eq!(shop.bodies(), ["1", "2", "3"]);
    let states: Vec<_> = scene.attempts().into_iter().map(|row| row.notification_state).collect();
    assert_eq!(
        states,
        [NotificationState::Superseded, NotificationState::Superseded, NotificationState::Waiting]
    );
    let failing = scene.gateway.store.read(|reader| reader.failing_servers()).unwrap();
    assert_eq!(failing, [FailingServer { server: server_of(&shop.url), notifications: 1 }]);
    scene.advance_ms(11_000);
    scene.deliver_all().await;
    assert_eq!(shop.bodies(), ["1", "2", "3", "3"]);
    assert_eq!(scene.waiting(), 0);
    assert_eq!(scene.gateway.store.read(|reader| reader.failing_servers()).unwrap(), []);
}

#[tokio::test]
async fn a_newer_notification_does_not_wait_for_the_olders_retry() {
    let (scene, shop) = (Scene::new().await, Merchant::open().await);
    shop.will_answer([500]);
    scene.queue(1, &shop.url).await;
    scene.deliver_all().await;
    scene.queue(1, &shop.url).await;
    scene.deliver_all().await;
    assert_eq!(shop.bodies(), ["1", "2"]);
    scene.advance_ms(DAY_MS);
    scene.deliver_all().await;
    assert_eq!(shop.bodies().len(), 2, "the superseded notification was sent again");
}

#[tokio::test]
async fn a_notification_queued_during_a_retry_waits_for_its_end() {
    let (scene, shop) = (Scene::patient().await, Merchant::open().await);
    shop.will_answer([500, 500]);
    scene.queue(1, &shop.url).await;
    scene.deliver_all().await;
    scene.advance_ms(11_000);
    let gate = shop.hold();
    assert_eq!(scene.pass().await, 1);
    shop.has_got(2).await;
    scene.queue(1, &shop.url).await;
    assert_eq!(scene.pass().await, 0, "two notifications of one record were sent at once");
    gate.add_permits(2);
    scene.quiet().await;
    scene.deliver_all().await;
    assert_eq!(shop.bodies(), ["1", "1", "2"]);
    assert_eq!(scene.attempts()[1].notification_state, NotificationState::Superseded);
    assert_eq!(scene.waiting(), 0);
}

#[tokio::test]
async fn retries_follow_the_schedule_on_the_environments_clock() {
    let (scene, shop) = (Scene::new().await, Merchant::open().await);
    shop.always_answers(503);
    scene.queue(1, &shop.url).await;
    let queued_at = scene.clock.now();
    for attempts in 1..=9u32 {
        scene.deliver_all().await;
        assert_eq!(shop.requests().len(), attempts as usize);
        let attempt = scene.attempts().pop().unwrap();
        let ended_at = attempt.at.plus_ms(attempt.duration_ms);
        let bound = |jitter| match after_failure(attempts, queued_at, ended_at, jitter) {
            Outcome::RetryAt(at) => at,
            Outcome::GiveUp | Outcome::Delivered => {
                panic!("attempt {attempts} should be followed by another")
            }
        };
        let next = attempt.next_attempt_at.unwrap();
        assert!((bound(-100)..=bound(100)).contains(&next), "attempt {attempts}");
        scene.advance_ms(next.ms() - scene.clock.now().ms() - 1);
        let pass = scene.notifier.start_due().await.unwrap();
        assert_eq!(
            (pass.started, pass.next_due_at),
            (0, Some(next)),
            "an attempt began a millisecond too early"
        );
        scene.advance_ms(1);
    }
}

#[tokio::test]
async fn a_notification_is_given_up_only_after_a_last_attempt() {
    let (scene, shop) = (Scene::new().await, Merchant::open().await);
    shop.always_answers(500);
    scene.queue(1, &shop.url).await;
    scene.deliver_all().await;
    scene.advance_ms(30 * DAY_MS);
    assert_eq!(scene.attempts()[0].notification_state, NotificationState::Waiting);
    scene.deliver_all().await;
    assert_eq!(shop.requests().len(), 2);
    assert_eq!(scene.attempts()[1].notification_state, NotificationState::GivenUp);
    assert_eq!(scene.gateway.store.read(|reader| reader.count_given_up()).unwrap(), 1);

    shop.always_answers(200);
    scene.queue(1, &shop.url).await;
    scene.deliver_all().await;
    assert_eq!(shop.bodies(), ["1", "1", "2"]);
}

#[tokio::test]
async fn a_clock_jump_during_an_attempt_does_not_make_it_the_last() {
    let (scene, shop) = (Scene::patient().await, Merchant::open().await);
    shop.always_answers(500);
    let gate = shop.hold();
    scene.queue(1, &shop.url).await;
    scene.pass().await;
    shop.has_got(1).await;
    scene.advance_ms(4 * DAY_MS);
    gate.add_permits(2);
    scene.quiet().await;
    assert_eq!(scene.attempts()[0].notification_state, NotificationState::Waiting);
    scene.deliver_all().await;
    let attempts = scene.attempts();
    assert_eq!(attempts.len(), 2);
    assert_eq!(attempts[1].notification_state, NotificationState::GivenUp);
}

#[tokio::test]
async fn an_attempt_interrupted_by_a_stop_is_repeated() {
    let (scene, shop) = (Scene::patient().await, Merchant::open().await);
    let _gate = shop.hold();
    scene.queue(1, &shop.url).await;
    let shutdown = CancellationToken::new();
    let running = tokio::spawn(Arc::clone(&scene.notifier).run(shutdown.clone()));
    shop.has_got(1).await;
    shutdown.cancel();
    running.await.unwrap();
    assert!(scene.attempts().is_empty());

    let scene = scene.restarted().await;
    let other = Merchant::open().await;
    scene.queue(2, &other.url).await;
    assert_eq!(scene.pass().await, 2);
    shop.has_got(2).await;
    assert_eq!(shop.bodies(), ["1", "1"]);
}

#[tokio::test]
async fn run_delivers_queued_notifications_when_it_is_woken() {
    let (scene, shop) = (Scene::new().await, Merchant::open().await);
    let shutdown = CancellationToken::new();
    let running = tokio::spawn(Arc::clone(&scene.notifier).run(shutdown.clone()));
    scene.queue_many(&[1, 2, 2], &shop.url).await;
    scene.gateway.signals.notifier.notify_one();
    shop.has_got(3).await;
    shutdown.cancel();
    running.await.unwrap();
    assert_eq!(scene.waiting(), 0, "the running attempt was not stored");
}

#[tokio::test]
async fn bodies_are_dropped_thirty_days_after_the_last_attempt() {
    let (scene, shop) = (Scene::new().await, Merchant::open().await);
    scene.queue_many(&[1, 2], &shop.url).await;
    scene.deliver_all().await;
    scene.advance_ms(30 * DAY_MS);
    assert_eq!(scene.notifier.sweep_once().await.unwrap(), 0);
    scene.advance_ms(i64::try_from(SHORT.as_millis()).unwrap() * 10);
    assert_eq!(scene.notifier.sweep_once().await.unwrap(), 2);
    assert_eq!(scene.attempts().len(), 2, "the attempts are kept");
}
