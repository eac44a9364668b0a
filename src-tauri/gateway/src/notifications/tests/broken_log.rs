//! Attempts while the log cannot be written, as after the program that reads it has ended.

use std::sync::atomic::Ordering;

use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use super::support::{Merchant, Scene};

/// A log that panics on each line, as `eprintln!` does.
struct BrokenLog;

impl Subscriber for BrokenLog {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("tillgate")
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &Event<'_>) {
        panic!("nobody reads the log");
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

async fn pass_often(scene: &Scene) {
    let _broken = tracing::subscriber::set_default(BrokenLog);
    for _ in 0..20 {
        scene.pass().await;
        scene.quiet().await;
    }
}

#[tokio::test]
async fn an_attempt_is_stored_although_the_log_panics() {
    let (scene, shop) = (Scene::new().await, Merchant::open().await);
    shop.always_answers(500);
    scene.queue(1, &shop.url).await;
    pass_often(&scene).await;
    assert_eq!((shop.requests().len(), scene.attempts().len()), (1, 1));
}

#[tokio::test]
async fn an_attempt_that_could_not_be_stored_is_not_repeated_at_once() {
    let (scene, shop) = (Scene::new().await, Merchant::open().await);
    // Without an identifier no attempt can be stored.
    scene.entropy.is_dry.store(true, Ordering::SeqCst);
    scene.queue(1, &shop.url).await;
    scene.queue(2, &shop.url).await;
    pass_often(&scene).await;
    assert_eq!((shop.requests().len(), scene.attempts().len()), (2, 0));
}
