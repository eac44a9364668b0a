//! Many notifications at once: limits, first attempts before repeats, and dead servers beside live
//! ones.

use std::time::Duration;

use tokio::time::Instant;

use super::support::{Merchant, Scene, silent_server};

#[tokio::test]
async fn at_most_8_attempts_run_to_a_server_and_64_to_all() {
    let scene = Scene::patient().await;
    let mut shops = Vec::new();
    for n in 0..9u32 {
        let shop = Merchant::open().await;
        let gate = shop.hold();
        let subjects: Vec<u32> = (n * 100..n * 100 + 9).collect();
        scene.queue_by(i64::from(n), &subjects, &shop.url).await;
        shops.push((shop, gate));
        if n == 0 {
            assert_eq!(scene.pass().await, 8, "attempts to one server");
        }
    }
    let together = 8 + scene.pass().await;
    assert!((54..=64).contains(&together), "{together}");
    assert_eq!(scene.pass().await, 0);
    for (shop, _) in &shops {
        let at_once = scene.notifier.count_under_way_at(&shop.url);
        assert!((5..=8).contains(&at_once), "{at_once}");
    }
    for (_, gate) in &shops {
        gate.add_permits(9);
    }
    while scene.waiting() > 0 {
        scene.pass().await;
        scene.quiet().await;
    }
    for (shop, _) in &shops {
        assert_eq!(shop.requests().len(), 9);
    }
}

#[tokio::test]
async fn a_key_with_hanging_servers_delays_no_other_keys_attempt() {
    let scene = Scene::patient().await;
    for port in 0..130 {
        scene
            .queue_by(
                1,
                &[port * 4, port * 4 + 1, port * 4 + 2, port * 4 + 3],
                &silent_server().await,
            )
            .await;
    }
    scene.pass().await;
    for key_id in 2..12i64 {
        let shop = Merchant::open().await;
        scene.queue_by(key_id, &[10_000 + u32::try_from(key_id).unwrap()], &shop.url).await;
        let queued = Instant::now();
        assert_eq!(scene.pass().await, 1, "key {key_id} waits for the key whose servers hang");
        shop.has_got(1).await;
        assert!(queued.elapsed() < Duration::from_secs(1), "{:?}", queued.elapsed());
    }
}

#[tokio::test]
async fn a_host_whose_ports_hang_delays_no_other_host_of_the_same_key() {
    let (scene, shop) = (Scene::patient().await, Merchant::open().await);
    for port in 0..130 {
        scene
            .queue_by(
                1,
                &[port * 4, port * 4 + 1, port * 4 + 2, port * 4 + 3],
                &silent_server().await,
            )
            .await;
    }
    scene.pass().await;
    scene.queue_by(1, &[10_000], &shop.url.replace("127.0.0.1", "localhost")).await;
    assert_eq!(scene.pass().await, 1);
    shop.has_got(1).await;
}

#[tokio::test]
async fn first_attempts_come_before_repeats() {
    let (scene, shop) = (Scene::patient().await, Merchant::open().await);
    shop.will_answer([500; 8]);
    scene.queue_many(&(0..8).collect::<Vec<_>>(), &shop.url).await;
    scene.deliver_all().await;
    scene.advance_ms(60_000);
    let gate = shop.hold();
    scene.queue_many(&(10..18).collect::<Vec<_>>(), &shop.url).await;
    assert_eq!(scene.pass().await, 8);
    shop.has_got(16).await;
    let mut bodies: Vec<u32> =
        shop.bodies()[8..].iter().map(|body| body.parse().unwrap()).collect();
    bodies.sort_unstable();
    assert_eq!(bodies, (9..=16).collect::<Vec<_>>());
    gate.add_permits(16);
    scene.quiet().await;
    scene.deliver_all().await;
    assert_eq!(shop.requests().len(), 24);
}

#[tokio::test]
async fn ten_thousand_waiting_for_a_dead_server_delay_no_other_server() {
    let (scene, shop, dead) = (Scene::new().await, Merchant::open().await, silent_server().await);
    scene.queue_many(&(0..10_000).collect::<Vec<_>>(), &dead).await;
    assert_eq!(scene.pass().await, 8);
    scene.queue(20_000, &shop.url).await;
    let began = tokio::time::Instant::now();
    assert_eq!(scene.pass().await, 1, "the dead server already has eight attempts");
    shop.has_got(1).await;
    println!("delivered {:?} after it was queued, beside 10,000 that wait", began.elapsed());
    assert_eq!(
        scene.waiting(),
        10_000 + u64::from(scene.attempts().iter().all(|row| row.status_code.is_none()))
    );
}

#[tokio::test]
async fn a_server_that_timed_out_five_times_gets_one_at_a_time() {
    let (scene, dead) = (Scene::new().await, silent_server().await);
    scene.queue_many(&(0..20).collect::<Vec<_>>(), &dead).await;
    assert_eq!(scene.pass().await, 8);
    scene.quiet().await;
    assert_eq!(scene.pass().await, 1);
    assert_eq!(scene.pass().await, 0);
}

#[tokio::test]
async fn a_slow_server_that_answers_gets_eight_attempts_at_once() {
    let (scene, shop) = (Scene::new().await, Merchant::open().await);
    let gate = shop.hold();
    scene.queue_many(&(0..30).collect::<Vec<_>>(), &shop.url).await;
    assert_eq!(scene.pass().await, 8);
    scene.quiet().await;
    gate.add_permits(1_000);
    assert_eq!(scene.pass().await, 1);
    scene.quiet().await;
    assert_eq!(scene.pass().await, 8);
}
