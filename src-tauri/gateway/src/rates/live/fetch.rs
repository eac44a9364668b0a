//! One HTTP request, with limits of time and size. Only an answer 200 succeeds; a failure is
//! described in a sentence. Redirects are not followed, answers are not decompressed, and each
//! connection is used once.

use std::time::Duration;

use http_body_util::{BodyExt as _, Empty};
use hyper::body::Bytes;
use hyper::header::{ACCEPT, ACCEPT_ENCODING, AGE, CONTENT_ENCODING, HeaderValue, USER_AGENT};
use hyper::{HeaderMap, Request, StatusCode};
use hyper_util::client::legacy;
use hyper_util::rt::TokioExecutor;
use parking_lot::Mutex;
use rustls::ClientConfig;
use tillgate_domain::rates::NoAnswer;
use tillgate_domain::time::Timestamp;
use tillgate_machine::outgoing::{self, Proxy, TooMuch, date, retry_after_ms, text};
use tillgate_told::{Telling, Told};
use tokio::time::timeout;

use super::answer::Unreadable;
use crate::rates::rate_source::SourceFailure;

/// Limit for the header `Age`. A higher age makes no difference, because the quote is stale anyway.
const CACHED_MAX_S: i64 = 24 * 3_600;

/// Sends requests to servers.
pub struct Fetcher {
    within: Duration,
    /// The TLS configuration. It is made at the first request, so that a sandbox never reads the
    /// system's certificates.
    tls: Mutex<Option<ClientConfig>>,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error, Told)]
pub enum Unfetched {
    #[error("the system's certificates cannot be read: {0}")]
    Certificates(String),
    #[error("the URL cannot be used")]
    BadUrl,
    #[error("the server did not answer within {seconds} seconds")]
    Late { seconds: u64 },
    #[error("the server redirects ({0}), and redirects are not followed")]
    Redirects(StatusCode),
    #[error("the server answered {0}")]
    Status(StatusCode),
    #[error("the server compressed its answer, and compressed answers are not read")]
    Compressed,
    #[error("the answer was cut off")]
    CutOff,
}

/// A server's answer.
#[derive(Debug)]
pub struct Fetched {
    body: Bytes,
    /// Time of the answer, by the server's clock.
    pub date: Option<Timestamp>,
    /// Time for which the answer was in a cache, in milliseconds.
    pub cached_ms: i64,
}

impl Fetched {
    /// The answer's text.
    pub fn text(&self) -> Result<&str, Unreadable> {
        std::str::from_utf8(&self.body)
            .map_err(|_| Unreadable::NotJson("it is not UTF-8".to_owned()))
    }
}

impl Fetcher {
    /// `within` is the time limit of a whole request.
    pub fn new(within: Duration) -> Self {
        Self { within, tls: Mutex::default() }
    }

    /// Requests `url`, through `proxy` if there is one. The proxy resolves the server's name.
    ///
    /// # Errors
    /// The failure, as a sentence.
    pub async fn get(&self, url: &str, proxy: Option<&Proxy>) -> Result<Fetched, SourceFailure> {
        let unreachable = |why: Telling| SourceFailure { why, kind: NoAnswer::Unreachable };
        let tls = self
            .tls()
            .map_err(|error| unreachable(Unfetched::Certificates(error.to_string()).telling()))?;
        let request = request(url).ok_or_else(|| unreachable(Unfetched::BadUrl.telling()))?;
        // A client for this request only. The next request is a minute later, possibly with another
        // proxy, and must not reuse the connection.
        let client = legacy::Client::builder(TokioExecutor::new())
            .pool_max_idle_per_host(0)
            .build(outgoing::connector(tls, proxy.cloned()));
        let ask = async {
            let response = client
                .request(request)
                .await
                .map_err(|error| unreachable(outgoing::failure(&error, url).telling()))?;
            let (head, body) = response.into_parts();
            check(head.status, &head.headers)?;
            // The connector limits the bytes of one answer, so `collect` cannot read too many.
            let body = body.collect().await.map_err(|error| unreachable(cut_off(&error)))?;
            Ok(Fetched {
                body: body.to_bytes(),
                date: date(&head.headers),
                cached_ms: cached_ms(&head.headers),
            })
        };
        let late = |_| unreachable(Unfetched::Late { seconds: self.within.as_secs() }.telling());
        timeout(self.within, ask).await.map_err(late)?
    }

    fn tls(&self) -> Result<ClientConfig, rustls::Error> {
        let mut tls = self.tls.lock();
        match tls.as_ref() {
            Some(config) => Ok(config.clone()),
            None => Ok(tls.insert(outgoing::tls()?).clone()),
        }
    }
}

fn request(url: &str) -> Option<Request<Empty<Bytes>>> {
    let uri: hyper::Uri = url.parse().ok()?;
    Request::get(uri)
        .header(ACCEPT, HeaderValue::from_static("application/json"))
        .header(ACCEPT_ENCODING, HeaderValue::from_static("identity"))
        .header(
            USER_AGENT,
            HeaderValue::from_static(concat!("Tillgate/", env!("CARGO_PKG_VERSION"))),
        )
        .body(Empty::new())
        .ok()
}

fn check(status: StatusCode, headers: &HeaderMap) -> Result<(), SourceFailure> {
    let refused = |why: Unfetched| SourceFailure { why: why.telling(), kind: NoAnswer::Refused };
    if matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE) {
        let kind = NoAnswer::TooOften { wait_ms: retry_after_ms(headers) };
        return Err(SourceFailure { why: Unfetched::Status(status).telling(), kind });
    }
    if status.is_redirection() {
        return Err(refused(Unfetched::Redirects(status)));
    }
    if status != StatusCode::OK {
        return Err(refused(Unfetched::Status(status)));
    }
    match headers.get(CONTENT_ENCODING) {
        Some(encoding) if encoding != "identity" => Err(refused(Unfetched::Compressed)),
        Some(_) | None => Ok(()),
    }
}

fn cached_ms(headers: &HeaderMap) -> i64 {
    let seconds =
        text(headers, AGE).map(|text| text.parse::<u32>().map_or(CACHED_MAX_S, i64::from));
    seconds.unwrap_or(0).min(CACHED_MAX_S).saturating_mul(1_000)
}

/// The reason why an answer ended early, as a sentence.
fn cut_off(error: &hyper::Error) -> Telling {
    TooMuch::behind(error).map_or_else(|| Unfetched::CutOff.telling(), Told::telling)
}
