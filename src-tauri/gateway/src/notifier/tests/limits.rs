//! Many at once: limits, first attempts before repeats, and dead servers beside live ones.

use super::support::{Merchant, Scene, silent_server};

#[tokio::test]
async fn a_server_gets_eight_at_once_and_all_together_sixty_four() {
    let scene = Scene::patient().await;
    let mut shops = Vec::new();
    for n in 0..9u32 {
        let shop = Merchant::open().await;
        let gate = shop.hold();
        let subjects: Vec<u32> = (n * 100..n * 100 + 9).collect();
        scene.queue_many(&subjects, &shop.url).await;
        shops.push((shop, gate));
    }
    assert_eq!(scene.pass().await, 64);
    assert_eq!(scene.pass().await, 0);
    let mut of_each: Vec<_> =
        shops.iter().map(|(shop, _)| scene.gateway.notifier.count_under_way_at(&shop.url)).collect();
    of_each.sort_unstable();
    assert_eq!(of_each, [0, 8, 8, 8, 8, 8, 8, 8, 8]);
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
    let mut bodies: Vec<u32> = shop.bodies()[8..].iter().map(|body| body.parse().unwrap()).collect();
    bodies.sort_unstable();
    assert_eq!(bodies, (9..=16).collect::<Vec<_>>());
    gate.add_permits(16);
    scene.quiet().await;
    scene.deliver_all().await;
    assert_eq!(shop.requests().len(), 24);
}

#[tokio::test]
async fn ten_thousand_that_wait_for_a_dead_server_delay_nobody_else() {
    let (scene, shop, dead) = (Scene::new().await, Merchant::open().await, silent_server().await);
    scene.queue_many(&(0..10_000).collect::<Vec<_>>(), &dead).await;
    assert_eq!(scene.pass().await, 8);
    scene.queue(20_000, &shop.url).await;
    let began = tokio::time::Instant::now();
    assert_eq!(scene.pass().await, 1, "the dead server has its eight");
    shop.has_got(1).await;
    println!("delivered {:?} after it was queued, beside 10,000 that wait", began.elapsed());
    assert_eq!(scene.waiting(), 10_000 + u64::from(scene.attempts().iter().all(|row| row.status_code.is_none())));
}

#[tokio::test]
async fn a_server_that_times_out_five_times_gets_one_at_a_time() {
    let (scene, dead) = (Scene::new().await, silent_server().await);
    scene.queue_many(&(0..20).collect::<Vec<_>>(), &dead).await;
    assert_eq!(scene.pass().await, 8);
    scene.quiet().await;
    assert_eq!(scene.pass().await, 1);
    assert_eq!(scene.pass().await, 0);
}

#[tokio::test]
async fn a_slow_server_that_answers_again_gets_eight_again() {
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
