//! One POST to a merchant's server, and a sentence about its answer. Does not schedule attempts.

use std::time::Duration;

use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue, USER_AGENT};
use hyper::{Request, Response, StatusCode, Uri};
use hyper_util::client::legacy;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use parking_lot::Mutex;
use rustls::ClientConfig;
use tillgate_domain::id::Id;
use tillgate_domain::time::Timestamp;
use tillgate_machine::clock::machine_now;
use tillgate_machine::fail_points::{self, Point};
use tillgate_machine::outgoing::{self, Budget, Outgoing, Proxy, failure};
use tillgate_told::{Telling, Told};
use tokio::time::{Instant, timeout_at};

use crate::notifications::signature::SigningKeys;

/// The most bytes read of an answer's body: only the status code of a merchant's server is needed.
const READ_MAX: usize = 64 * 1_024;

/// Bytes of an answer's body that are stored, for people to read.
const ANSWER_STORED: usize = 1_024;

/// Idle connections kept open to each server: as many as may be in use at once.
const IDLE_CONNECTIONS: usize = 8;

/// Idle connections are closed after this time, before servers usually close theirs.
const IDLE_FOR: Duration = Duration::from_secs(20);

const BPG_SIGNATURE: HeaderName = HeaderName::from_static("x-bpg-signature");
const WEBHOOK_ID: HeaderName = HeaderName::from_static("webhook-id");
const WEBHOOK_TIMESTAMP: HeaderName = HeaderName::from_static("webhook-timestamp");
const WEBHOOK_SIGNATURE: HeaderName = HeaderName::from_static("webhook-signature");

/// A server's answer, or the reason why there is none.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Answer {
    /// The server's status code, if it gave one.
    pub status_code: Option<u16>,
    /// The reason why the attempt failed; `None` if it succeeded.
    pub error: Option<Telling>,
    /// The first KiB of the answer's body.
    pub body: Option<Vec<u8>>,
    /// Whether no status code came in time.
    pub timed_out: bool,
}

/// Why an attempt failed.
#[derive(Debug, thiserror::Error, Told)]
pub enum NotPosted {
    #[error("the URL cannot be used")]
    BadUrl,
    #[error("the server did not answer within {seconds} seconds")]
    Late { seconds: u64 },
    #[error("the server redirects ({0}), and redirects are not followed: set the final URL")]
    Redirects(StatusCode),
    #[error("the server answered {0}")]
    Status(StatusCode),
}

/// The HTTP client for attempts.
pub type Client = legacy::Client<Outgoing, Full<Bytes>>;

/// Makes the client for attempts anew when the setting `proxy` changes.
pub struct Clients {
    tls: ClientConfig,
    made: Mutex<(Option<Proxy>, Client)>,
}

impl Clients {
    /// # Errors
    /// The system's certificates cannot be read.
    pub fn new() -> Result<Self, rustls::Error> {
        let tls = outgoing::tls()?;
        Ok(Self { made: Mutex::new((None, client(tls.clone(), None))), tls })
    }

    /// The client whose connections go through `proxy`.
    pub fn through(&self, proxy: Option<&Proxy>) -> Client {
        let mut made = self.made.lock();
        if made.0.as_ref() != proxy {
            *made = (proxy.cloned(), client(self.tls.clone(), proxy.cloned()));
        }
        made.1.clone()
    }
}

/// A client without redirects, proxies from the environment, cookies and compression, so that
/// signed bytes are sent only to the given URL.
fn client(tls: ClientConfig, proxy: Option<Proxy>) -> Client {
    legacy::Client::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .pool_max_idle_per_host(IDLE_CONNECTIONS)
        .pool_idle_timeout(IDLE_FOR)
        .build(outgoing::connector(tls, proxy))
}

/// Sends `body` once, signed if there are keys.
pub async fn post(
    client: &Client,
    timeout: Duration,
    url: &str,
    id: Id,
    body: Vec<u8>,
    keys: Option<&SigningKeys>,
    now: Timestamp,
) -> Answer {
    let until = Instant::now() + timeout;
    let Some(request) = request(url, id, body, keys, now) else {
        return Answer { error: Some(NotPosted::BadUrl.telling()), ..Answer::default() };
    };
    fail_points::pass(Point::SendBefore);
    let sent = timeout_at(until, client.request(request)).await;
    fail_points::pass(Point::SendAfter);
    match sent {
        Ok(Ok(response)) => {
            let status = response.status();
            Answer {
                status_code: Some(status.as_u16()),
                error: (!status.is_success()).then(|| refusal(status).telling()),
                body: Some(first_kib(response, until).await),
                timed_out: false,
            }
        }
        Ok(Err(error)) => Answer {
            error: Some(first_kib_of(failure(&error, url).telling())),
            ..Answer::default()
        },
        Err(_) => {
            let error = NotPosted::Late { seconds: timeout.as_secs() };
            Answer { error: Some(error.telling()), timed_out: true, ..Answer::default() }
        }
    }
}

/// The request; `None` if the URL cannot be used.
fn request(
    url: &str,
    id: Id,
    body: Vec<u8>,
    keys: Option<&SigningKeys>,
    now: Timestamp,
) -> Option<Request<Full<Bytes>>> {
    let uri: Uri = url::Url::parse(url).ok()?.as_str().parse().ok()?;
    let mut request = Request::post(uri)
        .header(CONTENT_TYPE, HeaderValue::from_static("application/json"))
        .header(ACCEPT, HeaderValue::from_static("*/*"))
        .header(
            USER_AGENT,
            HeaderValue::from_static(concat!("Tillgate/", env!("CARGO_PKG_VERSION"))),
        );
    if let Some(keys) = keys {
        let (webhook_id, timestamp_s) = (id.to_string(), machine_now().ms().div_euclid(1_000));
        let signatures = keys.sign(&webhook_id, timestamp_s, &body, now);
        request = request
            .header(BPG_SIGNATURE, signatures.bpg)
            .header(WEBHOOK_ID, webhook_id)
            .header(WEBHOOK_TIMESTAMP, timestamp_s)
            .header(WEBHOOK_SIGNATURE, signatures.webhook);
    }
    request.body(Full::from(body)).ok()
}

/// The first KiB of the answer's body, for people. Reads up to `READ_MAX`, so that the connection
/// can be used again. An error only shortens the text, because the status code alone decides about
/// success.
async fn first_kib(response: Response<Incoming>, until: Instant) -> Vec<u8> {
    let budget = response.extensions().get::<Budget>().cloned();
    let mut body = response.into_body();
    let (mut first, mut read) = (Vec::new(), 0usize);
    while let Ok(frame) = timeout_at(until, body.frame()).await {
        let Some(frame) = frame else {
            // The whole answer was read, so the connection will be used again: its budget of bytes
            // to read starts anew.
            if let Some(budget) = budget {
                budget.refill();
            }
            break;
        };
        let Ok(frame) = frame else { break };
        let Some(chunk) = frame.data_ref() else { continue };
        first.extend(chunk.iter().take(ANSWER_STORED.saturating_sub(first.len())));
        read = read.saturating_add(chunk.len());
        if read >= READ_MAX {
            break;
        }
    }
    first
}

/// A sentence, cut to its first KiB and without values if it contains a host's or certificate's
/// name of many KiB.
fn first_kib_of(telling: Telling) -> Telling {
    let sentence = &telling.message;
    if sentence.len() <= ANSWER_STORED {
        return telling;
    }
    let end = (0..=ANSWER_STORED).rev().find(|end| sentence.is_char_boundary(*end)).unwrap_or(0);
    Telling::of_text(&sentence[..end])
}

fn refusal(status: StatusCode) -> NotPosted {
    if status.is_redirection() { NotPosted::Redirects(status) } else { NotPosted::Status(status) }
}
