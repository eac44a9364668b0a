//! A shop's server: it records each notification, and misbehaves if a test wants it to.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::header::LOCATION;
use axum::http::{HeaderMap, Response, StatusCode};
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::wait_for;

/// Limit for the body of a notification, in bytes; far more than any record needs.
const MAX_BODY: usize = 1024 * 1024;

/// The shop's behaviour towards the next notifications.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Behaviour {
    /// Answers with 200.
    Accept,
    /// Answers with this status code.
    Status(u16),
    /// Redirects the caller.
    Redirect(String),
    /// Reads the notification, and never answers.
    Hang,
}

/// One notification as it arrived.
#[derive(Debug, Clone)]
pub struct Received {
    pub path: String,
    pub headers: HeaderMap,
    pub body: Bytes,
    /// Whether the shop accepted it.
    pub accepted: bool,
}

impl Received {
    /// The record in the body.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    /// A header's text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }
}

struct Shared {
    received: Mutex<Vec<Received>>,
    behaviour: Mutex<Behaviour>,
}

/// The server; it ends with the test's runtime.
#[derive(Clone)]
pub struct Shop {
    shared: Arc<Shared>,
    url: String,
}

impl Shop {
    /// Opens on a free port of the loopback.
    pub async fn open() -> Self {
        let shared = Arc::new(Shared {
            received: Mutex::default(),
            behaviour: Mutex::new(Behaviour::Accept),
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let router = Router::new().fallback(receive).with_state(Arc::clone(&shared));
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { shared, url }
    }

    /// `http://address:port`.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Changes the behaviour from now on.
    pub fn behave(&self, behaviour: Behaviour) {
        *self.shared.behaviour.lock().unwrap() = behaviour;
    }

    /// All notifications in the order of arrival.
    pub fn received(&self) -> Vec<Received> {
        self.shared.received.lock().unwrap().clone()
    }

    /// The records about `id` (a payment's or an anomaly's own id), in the order of arrival.
    pub fn records_of(&self, id: &str) -> Vec<Value> {
        self.received().iter().map(Received::json).filter(|record| own_id(record) == id).collect()
    }

    /// The states of a payment in the order of arrival, without repetitions.
    pub fn states_of(&self, payment_id: &str) -> Vec<String> {
        let mut states: Vec<String> = self
            .records_of(payment_id)
            .iter()
            .map(|record| record["status"].as_str().unwrap().to_owned())
            .collect();
        states.dedup();
        states
    }

    /// Waits until the shop has received exactly these states of a payment, in this order.
    pub async fn expect_states(&self, payment_id: &str, states: &[&str]) {
        let wanted = format!("notifications of the states {states:?}");
        wait_for(&wanted, async || {
            (self.states_of(payment_id).len() >= states.len()).then_some(())
        })
        .await;
        assert_eq!(self.states_of(payment_id), states);
    }

    /// Waits for a notified record about `id` for which `fits` is true.
    pub async fn wait_for_record(
        &self,
        id: &str,
        what: &str,
        fits: impl Fn(&Value) -> bool,
    ) -> Value {
        let found = async || self.records_of(id).into_iter().find(|record| fits(record));
        wait_for(&format!("a notification of {what}"), found).await
    }
}

/// The id of the record that a notification carries.
fn own_id(record: &Value) -> &str {
    let name = match record["notificationType"].as_str() {
        Some("ANOMALY") => "anomalyId",
        Some("PAYOUT") => "payoutId",
        _ => "paymentId",
    };
    record[name].as_str().unwrap_or_default()
}

async fn receive(State(shared): State<Arc<Shared>>, request: Request) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let body = axum::body::to_bytes(body, MAX_BODY).await.unwrap_or_default();
    let behaviour = shared.behaviour.lock().unwrap().clone();
    let accepted = behaviour == Behaviour::Accept;
    let received =
        Received { path: parts.uri.path().to_owned(), headers: parts.headers, body, accepted };
    shared.received.lock().unwrap().push(received);
    let mut response = Response::new(Body::empty());
    match behaviour {
        Behaviour::Accept => {}
        Behaviour::Status(code) => *response.status_mut() = StatusCode::from_u16(code).unwrap(),
        Behaviour::Redirect(to) => {
            *response.status_mut() = StatusCode::TEMPORARY_REDIRECT;
            response.headers_mut().insert(LOCATION, to.parse().unwrap());
        }
        Behaviour::Hang => std::future::pending().await,
    }
    response
}

/// A TCP server that closes each connection or sends without end, and counts its connections.
pub struct RawShop {
    url: String,
    calls: Arc<AtomicU32>,
}

impl RawShop {
    /// Closes each connection at once.
    pub async fn closing() -> Self {
        Self::open(|connection| async move { drop(connection) }).await
    }

    /// Answers 200, and then never stops sending.
    pub async fn endless() -> Self {
        Self::open(|mut connection| async move {
            let mut request = [0; 16 * 1024];
            drop(connection.read(&mut request).await);
            let head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
            let mut sent = connection.write_all(head).await;
            let chunk = [b"400\r\n".as_slice(), &[b'x'; 1024], b"\r\n"].concat();
            while sent.is_ok() {
                sent = connection.write_all(&chunk).await;
            }
        })
        .await
    }

    async fn open<F: Future<Output = ()> + Send + 'static>(
        serve: impl Fn(TcpStream) -> F + Send + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let calls = Arc::new(AtomicU32::new(0));
        let counter = Arc::clone(&calls);
        tokio::spawn(async move {
            while let Ok((connection, _)) = listener.accept().await {
                counter.fetch_add(1, Ordering::Relaxed);
                tokio::spawn(serve(connection));
            }
        });
        Self { url, calls }
    }

    /// `http://address:port`.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Number of connections so far.
    pub fn calls(&self) -> u32 {
        self.calls.load(Ordering::Relaxed)
    }
}
