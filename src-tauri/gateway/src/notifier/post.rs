//! One POST to a merchant's server, and a sentence on what came of it. Knows nothing of schedules.

use std::error::Error as _;
use std::io::ErrorKind;
use std::time::Duration;

use reqwest::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use reqwest::{Client, StatusCode, redirect};
use tillgate_domain::id::Id;
use tillgate_domain::time::Timestamp;

use crate::clock::machine_now;
use crate::fail_points::{self, Point};
use crate::signature::SigningKeys;

/// Of an answer at most this is read: a merchant's server owes us a status code and nothing else.
const READ_MAX: usize = 64 * 1_024;

/// Of an answer this is kept, for people.
const ANSWER_KEPT: usize = 1_024;

/// Idle connections kept open to each server; as many as may be in use.
const IDLE_CONNECTIONS: usize = 8;

/// Idle connections are closed after this: shorter than the usual servers close theirs.
const IDLE_FOR: Duration = Duration::from_secs(20);

const BPG_SIGNATURE: HeaderName = HeaderName::from_static("x-bpg-signature");
const WEBHOOK_ID: HeaderName = HeaderName::from_static("webhook-id");
const WEBHOOK_TIMESTAMP: HeaderName = HeaderName::from_static("webhook-timestamp");
const WEBHOOK_SIGNATURE: HeaderName = HeaderName::from_static("webhook-signature");

/// What an attempt came to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Answer {
    /// The server's status code, if it gave one.
    pub status_code: Option<u16>,
    /// Why it failed; `None` is success.
    pub error: Option<String>,
    /// The first KiB of the answer's body.
    pub body: Option<Vec<u8>>,
    /// No status code came in time.
    pub timed_out: bool,
}

/// A client without redirects, proxies from the environment, cookies or compression: what is
/// signed goes to the URL that was given and nowhere else.
pub(super) fn client(timeout: Duration) -> Result<Client, reqwest::Error> {
    // Another part of the process may have installed it first; both mean the same provider.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder()
        .user_agent(concat!("Tillgate/", env!("CARGO_PKG_VERSION")))
        .redirect(redirect::Policy::none())
        .no_proxy()
        .http1_only()
        // Trying again is the schedule's affair, and each attempt is recorded.
        .retry(reqwest::retry::never())
        .pool_max_idle_per_host(IDLE_CONNECTIONS)
        .pool_idle_timeout(IDLE_FOR)
        .timeout(timeout)
        .build()
}

/// Sends `body` once, signed when there are keys.
pub(super) async fn post(
    client: &Client,
    timeout: Duration,
    url: &str,
    id: Id,
    body: Vec<u8>,
    keys: Option<&SigningKeys>,
    now: Timestamp,
) -> Answer {
    let mut request = client.post(url).header(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if let Some(keys) = keys {
        let (webhook_id, timestamp_s) = (id.to_string(), machine_now().ms().div_euclid(1_000));
        let signatures = keys.sign(&webhook_id, timestamp_s, &body, now);
        request = request
            .header(BPG_SIGNATURE, signatures.bpg)
            .header(WEBHOOK_ID, webhook_id)
            .header(WEBHOOK_TIMESTAMP, timestamp_s)
            .header(WEBHOOK_SIGNATURE, signatures.webhook);
    }
    fail_points::pass(Point::SendBefore);
    let sent = request.body(body).send().await;
    fail_points::pass(Point::SendAfter);
    match sent {
        Ok(response) => {
            let status = response.status();
            Answer {
                status_code: Some(status.as_u16()),
                error: (!status.is_success()).then(|| refusal(status)),
                body: Some(first_kib(response).await),
                timed_out: false,
            }
        }
        Err(error) => {
            Answer { error: Some(sentence(&error, url, timeout)), timed_out: error.is_timeout(), ..Answer::default() }
        }
    }
}

/// Reads the answer up to its limit, so that the connection can be used again. The status code
/// decides; whatever goes wrong here only shortens what is kept.
async fn first_kib(mut response: reqwest::Response) -> Vec<u8> {
    let mut kept = Vec::new();
    let mut read = 0usize;
    while let Ok(Some(chunk)) = response.chunk().await {
        kept.extend(chunk.iter().take(ANSWER_KEPT.saturating_sub(kept.len())));
        read = read.saturating_add(chunk.len());
        if read >= READ_MAX {
            break;
        }
    }
    kept
}

fn refusal(status: StatusCode) -> String {
    if status.is_redirection() {
        return format!("the server redirects elsewhere ({status}), which is not followed: give the final URL");
    }
    format!("the server answered {status}")
}

/// What went wrong, for people. Never shows the URL's path or query: they may hold a secret.
fn sentence(error: &reqwest::Error, url: &str, timeout: Duration) -> String {
    let host = url::Url::parse(url).ok().and_then(|url| url.host_str().map(str::to_owned)).unwrap_or_default();
    if error.is_builder() {
        return "the URL cannot be used".to_owned();
    }
    if error.is_timeout() {
        return format!("the server did not answer within {} seconds", timeout.as_secs());
    }
    if error.is_dns() {
        return format!("the name {host} cannot be found");
    }
    let mut cause = error.source();
    let mut deepest = None;
    while let Some(error) = cause {
        if let Some(tls) = error.downcast_ref::<rustls::Error>() {
            return format!("no secure connection to {host}: {tls}");
        }
        let mut io = error.downcast_ref::<std::io::Error>();
        while let Some(error) = io {
            if let Some(sentence) = io_sentence(error.kind()) {
                return sentence.to_owned();
            }
            // What an IO error wraps is stepped over by its `source`.
            let inner = error.get_ref();
            if let Some(tls) = inner.and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
                return format!("no secure connection to {host}: {tls}");
            }
            io = inner.and_then(|inner| inner.downcast_ref());
        }
        if error.downcast_ref::<hyper::Error>().is_some_and(hyper::Error::is_incomplete_message) {
            return "the server closed the connection without an answer".to_owned();
        }
        deepest = Some(error.to_string());
        cause = error.source();
    }
    match deepest {
        Some(detail) if error.is_connect() => format!("no connection to {host}: {detail}"),
        Some(detail) => format!("the server's answer makes no sense: {detail}"),
        None => "the notification could not be sent".to_owned(),
    }
}

const fn io_sentence(kind: ErrorKind) -> Option<&'static str> {
    match kind {
        ErrorKind::ConnectionRefused => Some("the server refuses connections"),
        ErrorKind::ConnectionReset
        | ErrorKind::ConnectionAborted
        | ErrorKind::BrokenPipe
        | ErrorKind::UnexpectedEof => Some("the server closed the connection without an answer"),
        ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable => Some("the server cannot be reached from here"),
        ErrorKind::TimedOut => Some("the server did not answer"),
        _ => None,
    }
}
