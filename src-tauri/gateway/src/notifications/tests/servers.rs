//! The sent requests, and the results with each kind of server.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tillgate_domain::notification::NotificationState;
use tillgate_store::deliveries::DeliveryRow;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::Notify;

use super::support::{Merchant, Scene, id, raw_server, silent_server, write_for_ever};
use crate::settings::Act;
use crate::testing::socks;

async fn only_attempt(scene: &Scene, url: &str) -> DeliveryRow {
    scene.queue(1, url).await;
    assert_eq!(scene.pass().await, 1);
    scene.quiet().await;
    let mut attempts = scene.attempts();
    assert_eq!(attempts.len(), 1);
    attempts.remove(0)
}

fn says(attempt: &DeliveryRow, words: &str) {
    let error = attempt.error.as_ref().map_or("no error", |error| error.message.as_str());
    assert!(error.contains(words), "{error}");
    assert_eq!(attempt.notification_state, NotificationState::Waiting);
    assert!(attempt.next_attempt_at.is_some());
}

#[tokio::test]
async fn without_a_key_the_stored_bytes_are_sent_unsigned() {
    let (scene, shop) = (Scene::new().await, Merchant::open().await);
    let attempt = only_attempt(&scene, &shop.url).await;
    let request = &shop.requests()[0];
    assert_eq!(request.body, "1");
    assert_eq!(request.headers["content-type"], "application/json");
    assert_eq!(request.headers["user-agent"], format!("Tillgate/{}", env!("CARGO_PKG_VERSION")));
    for name in ["x-bpg-signature", "webhook-id", "webhook-signature", "accept-encoding", "cookie"]
    {
        assert!(!request.headers.contains_key(name), "{name}");
    }
    assert_eq!(attempt.notification_state, NotificationState::Delivered);
    assert_eq!((attempt.status_code, attempt.error), (Some(200), None));
    assert_eq!(attempt.answer.as_deref(), Some(b"said 200".as_slice()));
    assert_eq!((attempt.notification_id, attempt.subject_id), (id(1), id(1_000_001)));
}

#[tokio::test]
async fn one_kib_of_a_long_error_is_stored() {
    let scene = Scene::new().await;
    let host = vec!["h".repeat(60); 30].join(".");
    let attempt = only_attempt(&scene, &format!("http://{host}/")).await;
    assert_eq!(attempt.error.unwrap().message.len(), 1_024);
}

#[tokio::test]
async fn any_2xx_is_success() {
    for code in [201, 202, 204, 299] {
        let (scene, shop) = (Scene::new().await, Merchant::open().await);
        shop.will_answer([code]);
        assert_eq!(
            only_attempt(&scene, &shop.url).await.notification_state,
            NotificationState::Delivered,
            "{code}"
        );
    }
}

#[tokio::test]
async fn an_error_answer_is_a_failure_stored_with_code_and_text() {
    let (scene, shop) = (Scene::new().await, Merchant::open().await);
    shop.will_answer([500]);
    let attempt = only_attempt(&scene, &shop.url).await;
    says(&attempt, "answered 500");
    assert_eq!(attempt.status_code, Some(500));
    assert_eq!(attempt.answer.as_deref(), Some(b"said 500".as_slice()));
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let (scene, shop) = (Scene::new().await, Merchant::open().await);
    let target = shop.url.clone();
    let url = raw_server(move |mut stream| {
        let answer = format!(
            "HTTP/1.1 307 Temporary Redirect\r\nlocation: {target}\r\ncontent-length: 0\r\n\r\n"
        );
        async move {
            let _ = stream.write_all(answer.as_bytes()).await;
        }
    })
    .await;
    let attempt = only_attempt(&scene, &url).await;
    says(&attempt, "redirects");
    assert_eq!(attempt.status_code, Some(307));
    assert!(shop.requests().is_empty());
}

#[tokio::test]
async fn a_server_that_never_answers_is_a_time_out() {
    let scene = Scene::new().await;
    let attempt = only_attempt(&scene, &silent_server().await).await;
    says(&attempt, "did not answer within");
    assert_eq!(attempt.status_code, None);
}

#[tokio::test]
async fn endless_bytes_are_cut_off_and_the_status_code_counts() {
    let scene = Scene::new().await;
    let (written, ended) = (Arc::new(AtomicUsize::new(0)), Arc::new(Notify::new()));
    let (written_there, ended_there) = (written.clone(), ended.clone());
    let url = raw_server(move |stream| {
        let (written, ended) = (written_there.clone(), ended_there.clone());
        async move {
            written
                .store(write_for_ever(stream, "HTTP/1.1 200 OK\r\n\r\n").await, Ordering::SeqCst);
            ended.notify_one();
        }
    })
    .await;
    let attempt = only_attempt(&scene, &url).await;
    assert_eq!(attempt.notification_state, NotificationState::Delivered);
    assert_eq!(attempt.answer, Some(vec![b'x'; 1_024]));
    ended.notified().await;
    // The kernel's buffers take some bytes beyond the 64 KiB. Without the limit the server could
    // write far more.
    assert!(
        written.load(Ordering::SeqCst) < 16 * 1_024 * 1_024,
        "{}",
        written.load(Ordering::SeqCst)
    );
}

#[tokio::test]
async fn endless_continue_answers_are_cut_off_after_256_kib() {
    let scene = Scene::patient().await;
    let (written, ended) = (Arc::new(AtomicUsize::new(0)), Arc::new(Notify::new()));
    let (written_there, ended_there) = (written.clone(), ended.clone());
    let url = raw_server(move |mut stream| {
        let (written, ended) = (written_there.clone(), ended_there.clone());
        async move {
            let go_on = b"HTTP/1.1 100 Continue\r\n\r\n".repeat(100);
            while stream.write_all(&go_on).await.is_ok() {
                // Only a gateway without a limit reads this many bytes.
                if written.fetch_add(go_on.len(), Ordering::SeqCst) > 64 * 1_024 * 1_024 {
                    break;
                }
            }
            ended.notify_one();
        }
    })
    .await;
    let attempt = only_attempt(&scene, &url).await;
    says(&attempt, "256 KiB");
    assert_eq!(attempt.status_code, None);
    ended.notified().await;
    // The kernel's buffers take some bytes beyond the limit.
    assert!(
        written.load(Ordering::SeqCst) < 16 * 1_024 * 1_024,
        "{}",
        written.load(Ordering::SeqCst)
    );
}

#[tokio::test]
async fn each_attempt_over_a_connection_has_its_own_read_limit() {
    let (scene, connections) = (Scene::patient().await, Arc::new(AtomicUsize::new(0)));
    let counted = connections.clone();
    let url = raw_server(move |mut stream| {
        counted.fetch_add(1, Ordering::SeqCst);
        async move {
            let answer =
                format!("HTTP/1.1 200 OK\r\ncontent-length: 60000\r\n\r\n{}", "x".repeat(60_000));
            let mut request = [0u8; 4_096];
            while stream.write_all(answer.as_bytes()).await.is_ok()
                && stream.read(&mut request).await.is_ok_and(|read| read > 0)
            {}
        }
    })
    .await;
    for subject in 0..10 {
        scene.queue(subject, &url).await;
        scene.deliver_all().await;
    }
    let attempts = scene.attempts();
    assert_eq!((attempts.len(), connections.load(Ordering::SeqCst)), (10, 1));
    assert!(
        attempts.iter().all(|attempt| attempt.notification_state == NotificationState::Delivered)
    );
}

#[tokio::test]
async fn a_200_whose_body_never_ends_is_a_success() {
    let scene = Scene::new().await;
    let url = raw_server(|mut stream| async move {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf").await;
        std::future::pending::<()>().await;
    })
    .await;
    let attempt = only_attempt(&scene, &url).await;
    assert_eq!(attempt.notification_state, NotificationState::Delivered);
    assert_eq!(attempt.answer.as_deref(), Some(b"half".as_slice()));
}

#[tokio::test]
async fn each_kind_of_failed_connection_has_its_own_error() {
    let hangs_up = raw_server(|stream| async move { drop(stream) }).await;
    says(
        &only_attempt(&Scene::new().await, &hangs_up).await,
        "closed the connection without an answer",
    );

    let refuses = {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        format!("http://{}/", listener.local_addr().unwrap())
    };
    says(&only_attempt(&Scene::new().await, &refuses).await, "refuses connections");

    let babbles = raw_server(|mut stream| async move {
        let _ = stream.write_all(b"hello, I am no web server\r\n\r\n").await;
    })
    .await;
    says(&only_attempt(&Scene::new().await, &babbles).await, "makes no sense");
    says(
        &only_attempt(&Scene::new().await, "http://nowhere.invalid/").await,
        "nowhere.invalid cannot be found",
    );
    says(&only_attempt(&Scene::new().await, "no url at all").await, "URL cannot be used");
}

#[tokio::test]
async fn a_server_without_tls_is_named_as_such() {
    let plain = raw_server(|mut stream| async move {
        let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
    })
    .await;
    let url = plain.replace("http://", "https://");
    says(
        &only_attempt(&Scene::new().await, &url).await,
        "no secure connection to 127.0.0.1: it speaks no TLS at this port",
    );
}

#[tokio::test]
async fn an_onion_shop_is_reached_through_the_proxy_alone() {
    let (scene, merchant) = (Scene::new().await, Merchant::open().await);
    scene.queue(1, "http://shop.onion/notify").await;
    scene.deliver_all().await;
    says(&scene.attempts()[0], "shop.onion can be reached through Tor alone: set proxy");

    let (proxy, names) =
        socks::leading_to(merchant.url.trim_start_matches("http://").trim_end_matches("/hook"))
            .await;
    let gateway = &scene.gateway;
    let act = Act { actor: "cli", at: gateway.time.now() };
    gateway.settings.set(&gateway.store, "proxy", &proxy.to_string(), act).await.unwrap();
    for (subject, url) in [(2, "http://shop.onion/notify"), (3, "http://shop.example/notify")] {
        scene.queue(subject, url).await;
        scene.deliver_all().await;
    }
    assert_eq!(*names.lock().unwrap(), ["shop.onion:80", "shop.example:80"]);
    // A shop on this machine is reached without it.
    scene.queue(4, &merchant.url).await;
    scene.deliver_all().await;
    assert_eq!((names.lock().unwrap().len(), merchant.requests().len()), (2, 3));
}
