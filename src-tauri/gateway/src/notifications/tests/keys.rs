//! Signing: rotation, restarts, crashes, and keys that cannot be read.

use std::sync::atomic::Ordering;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hmac::{Hmac, Mac as _};
use tillgate_machine::secrets::{Purpose, SecretStore as _};

use super::support::{Merchant, Request, Scene, id};

/// The expected value of `webhook-signature`, computed as a shop's verification library does.
fn webhook_signature(text: &str, request: &Request) -> String {
    let key = BASE64.decode(text.strip_prefix("whsec_").unwrap()).unwrap();
    assert_eq!(key.len(), 32);
    let header = |name: &str| request.headers[name].to_str().unwrap().to_owned();
    let signed =
        format!("{}.{}.{}", header("webhook-id"), header("webhook-timestamp"), request.body);
    let mut mac = <Hmac<sha2::Sha256>>::new_from_slice(&key).unwrap();
    mac.update(signed.as_bytes());
    format!("v1,{}", BASE64.encode(mac.finalize().into_bytes()))
}

fn bpg_signature(text: &str, request: &Request) -> String {
    let mut mac = <Hmac<sha1::Sha1>>::new_from_slice(text.as_bytes()).unwrap();
    mac.update(request.body.as_bytes());
    hex::encode(mac.finalize().into_bytes())
}

async fn sent(scene: &Scene, shop: &Merchant) -> Request {
    let before = shop.requests().len();
    scene.queue(u32::try_from(before).unwrap() + 100, &shop.url).await;
    scene.deliver_all().await;
    let mut requests = shop.requests();
    assert_eq!(requests.len(), before + 1);
    requests.pop().unwrap()
}

fn check_signed_with(request: &Request, current: &str, replaced: &[&str]) {
    assert_eq!(
        request.headers["x-bpg-signature"].to_str().unwrap(),
        bpg_signature(current, request)
    );
    let mut expected = webhook_signature(current, request);
    for key in replaced {
        expected = format!("{expected} {}", webhook_signature(key, request));
    }
    assert_eq!(request.headers["webhook-signature"].to_str().unwrap(), expected);
}

#[tokio::test]
async fn a_replaced_key_still_signs_for_a_day() {
    let (scene, shop) = (Scene::new().await, Merchant::open().await);
    assert!(!sent(&scene, &shop).await.headers.contains_key("x-bpg-signature"));
    let first = scene.notifier.keys.rotate("cli").await.unwrap();
    check_signed_with(&sent(&scene, &shop).await, first.reveal(), &[]);

    let second = scene.notifier.keys.rotate("cli").await.unwrap();
    assert_ne!(first.reveal(), second.reveal());
    check_signed_with(&sent(&scene, &shop).await, second.reveal(), &[first.reveal()]);
    let scene = scene.restarted().await;
    check_signed_with(&sent(&scene, &shop).await, second.reveal(), &[first.reveal()]);
    scene.advance_ms(24 * 3_600_000);
    check_signed_with(&sent(&scene, &shop).await, second.reveal(), &[]);
}

#[tokio::test]
async fn every_key_that_was_replaced_within_a_day_still_signs() {
    let (scene, shop) = (Scene::new().await, Merchant::open().await);
    let mut texts = Vec::new();
    for _ in 0..4 {
        texts.insert(0, scene.notifier.keys.rotate("cli").await.unwrap().reveal().to_owned());
        scene.advance_ms(3_600_000);
    }
    let scene = scene.restarted().await;
    let request = sent(&scene, &shop).await;
    let all: Vec<_> = texts.iter().map(|key| webhook_signature(key, &request)).collect();
    assert_eq!(request.headers["webhook-signature"].to_str().unwrap(), all.join(" "));
    // The first key was replaced 3 hours ago, when the second was made.
    scene.advance_ms(21 * 3_600_000);
    let request = sent(&scene, &shop).await;
    let later: Vec<_> = texts[..3].iter().map(|key| webhook_signature(key, &request)).collect();
    assert_eq!(request.headers["webhook-signature"].to_str().unwrap(), later.join(" "));
}

#[tokio::test]
async fn a_ninth_key_within_a_day_is_refused() {
    let scene = Scene::new().await;
    for _ in 0..8 {
        scene.notifier.keys.rotate("cli").await.unwrap();
    }
    let refused = scene.notifier.keys.rotate("cli").await.unwrap_err();
    assert!(refused.to_string().contains("2027-01-16T08:00:00Z"), "{refused}");
    scene.advance_ms(24 * 3_600_000);
    scene.notifier.keys.rotate("cli").await.unwrap();
}

#[tokio::test]
async fn the_webhook_id_is_the_same_only_for_retries() {
    let (scene, shop) = (Scene::new().await, Merchant::open().await);
    scene.notifier.keys.rotate("cli").await.unwrap();
    shop.will_answer([500]);
    scene.queue(1, &shop.url).await;
    scene.deliver_all().await;
    scene.advance_ms(11_000);
    scene.deliver_all().await;
    scene.queue(1, &shop.url).await;
    scene.deliver_all().await;
    let ids: Vec<_> = shop
        .requests()
        .iter()
        .map(|request| request.headers["webhook-id"].to_str().unwrap().to_owned())
        .collect();
    assert_eq!(ids, [id(1).to_string(), id(1).to_string(), id(2).to_string()]);
}

#[tokio::test]
async fn an_unreadable_key_stops_all_deliveries() {
    let (scene, shop) = (Scene::new().await, Merchant::open().await);
    let key = scene.notifier.keys.rotate("cli").await.unwrap();
    let scene = scene.restarted().await;
    scene.vault.locked.store(true, Ordering::SeqCst);
    scene.queue(1, &shop.url).await;
    assert_eq!(scene.pass().await, 0);
    assert_eq!(scene.pass().await, 0);
    assert!(scene.notifier.keys.read_failure().unwrap().message.contains("the vault is locked"));
    assert_eq!((scene.waiting(), shop.requests().len()), (1, 0));

    scene.vault.locked.store(false, Ordering::SeqCst);
    scene.advance_ms(5_000);
    scene.deliver_all().await;
    assert_eq!(scene.notifier.keys.read_failure(), None);
    check_signed_with(&shop.requests()[0], key.reveal(), &[]);
}

#[tokio::test]
async fn a_lost_key_stops_deliveries_until_a_new_one_is_made() {
    let (scene, shop) = (Scene::new().await, Merchant::open().await);
    scene.notifier.keys.rotate("cli").await.unwrap();
    scene.vault.forget();
    let scene = scene.restarted().await;
    scene.queue(1, &shop.url).await;
    assert_eq!(scene.pass().await, 0);
    assert!(scene.notifier.keys.read_failure().unwrap().message.contains("hmac-key rotate"));
    let new = scene.notifier.keys.rotate("cli").await.unwrap();
    scene.deliver_all().await;
    check_signed_with(&shop.requests()[0], new.reveal(), &[]);
}

#[tokio::test]
async fn an_interrupted_rotation_keeps_the_old_key_and_the_one_before() {
    let (scene, shop) = (Scene::new().await, Merchant::open().await);
    let first = scene.notifier.keys.rotate("cli").await.unwrap();
    let second = scene.notifier.keys.rotate("cli").await.unwrap();
    let named = scene.gateway.store.read(|reader| reader.hmac_key_id()).unwrap().unwrap();
    scene.notifier.keys.rotate("cli").await.unwrap();
    scene
        .gateway
        .store
        .write::<_, tillgate_store::StoreError>(move |tx| tx.set_hmac_key_id(&named))
        .await
        .unwrap();
    let scene = scene.restarted().await;
    check_signed_with(&sent(&scene, &shop).await, second.reveal(), &[first.reveal()]);

    let fourth = scene.notifier.keys.rotate("cli").await.unwrap();
    check_signed_with(
        &sent(&scene, &shop).await,
        fourth.reveal(),
        &[second.reveal(), first.reveal()],
    );
}

#[tokio::test]
async fn a_rotation_that_cannot_be_stored_changes_nothing() {
    let (scene, shop) = (Scene::new().await, Merchant::open().await);
    let first = scene.notifier.keys.rotate("cli").await.unwrap();
    scene.vault.locked.store(true, Ordering::SeqCst);
    assert!(scene.notifier.keys.rotate("cli").await.is_err());
    scene.vault.locked.store(false, Ordering::SeqCst);
    check_signed_with(&sent(&scene, &shop).await, first.reveal(), &[]);
    assert!(!scene.vault.get(Purpose::HmacKeys).unwrap().unwrap().reveal().is_empty());
}
