//! Questions to an Esplora server over HTTP: each has a time to be answered in and a size that its answer may have. Follows
//! no redirect and decompresses nothing. It knows no question's meaning.

use std::time::Duration;

use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE, HeaderValue, USER_AGENT};
use hyper::{Method, Request, Response, StatusCode, Uri};
use hyper_util::client::legacy::{self, Client};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::ClientConfig;
use serde::de::DeserializeOwned;
use tokio::runtime::Handle;
use tokio::time::timeout;

use super::EsploraOptions;
use super::pace::Bucket;
use crate::chain::ChainDown;
use crate::chain::shown::shown;
use crate::machine::outgoing::{self, Budget, Outgoing, TooMuch, retry_after_ms, sentence};

/// Bytes of an answer at most: 75 transactions of usual sizes need a hundredth of it, one as large as nodes relay a half.
const ANSWER_MAX: usize = 8 * 1_024 * 1_024;

/// Bytes of a short answer at most.
const SHORT_MAX: usize = 64 * 1_024;

/// A connection that idles so long is closed, sooner than servers close it.
const IDLE_FOR: Duration = Duration::from_secs(20);

/// A URL under which no server can be asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BadServer {
    /// The URL is none.
    #[error(
        "{0:?} is no address of an Esplora server: set backendUrl to one like http://127.0.0.1:3000 or https://host/api"
    )]
    Url(String),
    /// Whom to trust cannot be read.
    #[error("the system's certificates cannot be read: {0}")]
    Certificates(String),
}

/// Why there is no answer.
#[derive(Debug, Clone)]
pub(super) enum NoAnswer {
    /// The server is not to be asked for a while.
    Busy(ChainDown),
    /// It is larger than is read.
    TooMuch(ChainDown),
    /// To this question it answers that it failed, or half of an answer, or nothing, or nothing in time. It may answer others.
    Failed(ChainDown),
    /// The server cannot be used.
    Down(ChainDown),
}

impl From<NoAnswer> for ChainDown {
    fn from(none: NoAnswer) -> Self {
        match none {
            NoAnswer::Busy(down) | NoAnswer::TooMuch(down) | NoAnswer::Failed(down) | NoAnswer::Down(down) => down,
        }
    }
}

impl From<ChainDown> for NoAnswer {
    fn from(down: ChainDown) -> Self {
        Self::Down(down)
    }
}

/// A server.
pub(super) struct Server {
    client: Client<Outgoing, Full<Bytes>>,
    /// Without a slash at its end.
    base: String,
    /// For people.
    pub host: String,
    pub bucket: Bucket,
    runtime: Handle,
    answered_within: Duration,
}

impl Server {
    pub(super) fn new(options: &EsploraOptions, runtime: Handle) -> Result<Self, BadServer> {
        let tls = outgoing::tls().map_err(|error| BadServer::Certificates(error.to_string()))?;
        Self::over(options, tls, runtime)
    }

    /// One that is reached over TLS by whom `tls` trusts.
    fn over(options: &EsploraOptions, tls: ClientConfig, runtime: Handle) -> Result<Self, BadServer> {
        let bad = || BadServer::Url(options.url.clone());
        let parsed = url::Url::parse(&options.url).map_err(|_| bad())?;
        let plain = parsed.username().is_empty()
            && parsed.password().is_none()
            && parsed.query().is_none()
            && parsed.fragment().is_none();
        let host =
            parsed.host_str().filter(|_| plain && matches!(parsed.scheme(), "http" | "https")).ok_or_else(bad)?;
        let host = parsed.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE_FOR)
            .build(outgoing::connector_up_to(ANSWER_MAX, tls, options.proxy.clone()));
        let base = parsed.as_str().trim_end_matches('/').to_owned();
        let (bucket, answered_within) = (Bucket::new(options.pace), options.answered_within);
        Ok(Self { client, base, host, bucket, runtime, answered_within })
    }

    /// Asks for what stands under a path; `None` where the server has nothing there. Whoever asks has taken the question
    /// from the bucket.
    pub(super) fn get(&self, path: &str) -> Result<Option<Bytes>, NoAnswer> {
        let (status, body) = self.ask(Method::GET, path, Bytes::new())?;
        match status {
            StatusCode::OK => Ok(Some(body)),
            StatusCode::NOT_FOUND => Ok(None),
            status => Err(NoAnswer::Failed(self.refuses(status, &body))),
        }
    }

    /// The same, read as JSON.
    pub(super) fn json<T: DeserializeOwned>(&self, path: &str) -> Result<Option<T>, NoAnswer> {
        let Some(body) = self.get(path)? else { return Ok(None) };
        let read = serde_json::from_slice(&body);
        Ok(Some(read.map_err(|error| self.nonsense(path, &error.to_string()))?))
    }

    /// The same of an answer that is never long: of one that is nothing is read.
    pub(super) fn short_json<T: DeserializeOwned>(&self, path: &str) -> Result<Option<T>, NoAnswer> {
        let Some(body) = self.get(path)? else { return Ok(None) };
        if body.len() > SHORT_MAX {
            return Err(self.nonsense(path, "it is longer than 64 KiB").into());
        }
        let read = serde_json::from_slice(&body);
        Ok(Some(read.map_err(|error| self.nonsense(path, &error.to_string()))?))
    }

    /// The same, read from its text.
    pub(super) fn text<T: std::str::FromStr>(&self, path: &str) -> Result<Option<T>, NoAnswer> {
        let Some(body) = self.get(path)? else { return Ok(None) };
        let read = std::str::from_utf8(&body).ok().and_then(|text| text.trim().parse().ok());
        Ok(Some(read.ok_or_else(|| self.nonsense(path, &String::from_utf8_lossy(&body)))?))
    }

    /// Gives it a body. Answers the status and what it says to that.
    pub(super) fn post(&self, path: &str, body: String) -> Result<(StatusCode, String), NoAnswer> {
        let (status, body) = self.ask(Method::POST, path, Bytes::from(body))?;
        Ok((status, String::from_utf8_lossy(&body).into_owned()))
    }

    /// Why an answer cannot be used.
    pub(super) fn nonsense(&self, path: &str, what: &str) -> ChainDown {
        let question = path.split('/').nth(1).unwrap_or_default();
        ChainDown(format!("what answers at {} is no Esplora server ({question}): {}", self.host, shown(what)))
    }

    /// A status that is no answer.
    pub(super) fn refuses(&self, status: StatusCode, body: &[u8]) -> ChainDown {
        let words = shown(&String::from_utf8_lossy(body));
        ChainDown(format!("the Esplora server at {} answered {status}: {words}", self.host))
    }

    fn ask(&self, method: Method, path: &str, body: Bytes) -> Result<(StatusCode, Bytes), NoAnswer> {
        self.bucket.check_silence(&self.host).map_err(NoAnswer::Busy)?;
        let request = self.request(method, path, body)?;
        let exchange = async {
            let response =
                self.client.request(request).await.map_err(|error| NoAnswer::Failed(self.unreached(&error)))?;
            self.check(&response)?;
            let status = response.status();
            Ok((status, self.whole(response).await?))
        };
        let late = || ChainDown(format!("the Esplora server at {} did not answer in time", self.host));
        let answered = self.runtime.block_on(async { timeout(self.answered_within, exchange).await });
        answered.map_err(|_| NoAnswer::Failed(late()))?
    }

    fn request(&self, method: Method, path: &str, body: Bytes) -> Result<Request<Full<Bytes>>, NoAnswer> {
        let bad = || ChainDown(format!("the Esplora server at {} cannot be asked for {path}", self.host));
        let uri: Uri = format!("{}{path}", self.base).parse().map_err(|_| bad())?;
        let request = Request::builder()
            .method(method)
            .uri(uri)
            .header(ACCEPT, HeaderValue::from_static("*/*"))
            .header(ACCEPT_ENCODING, HeaderValue::from_static("identity"))
            .header(CONTENT_TYPE, HeaderValue::from_static("text/plain"))
            .header(USER_AGENT, HeaderValue::from_static(concat!("Tillgate/", env!("CARGO_PKG_VERSION"))))
            .body(Full::from(body));
        request.map_err(|_| bad().into())
    }

    fn check(&self, response: &Response<Incoming>) -> Result<(), NoAnswer> {
        let (status, headers) = (response.status(), response.headers());
        if matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE) {
            self.bucket.be_silent(retry_after_ms(headers));
            let silent = self.bucket.check_silence(&self.host).err();
            let down = silent.unwrap_or_else(|| ChainDown(format!("the Esplora server at {} is busy", self.host)));
            return Err(NoAnswer::Busy(down));
        }
        let refused = |why: &str| Err(ChainDown(format!("the Esplora server at {} {why}", self.host)).into());
        if status.is_redirection() {
            return refused("leads elsewhere, which is not followed: set backendUrl to the address itself");
        }
        match headers.get(CONTENT_ENCODING) {
            Some(encoding) if encoding != "identity" => refused("compressed its answer, which is not read"),
            Some(_) | None => Ok(()),
        }
    }

    async fn whole(&self, response: Response<Incoming>) -> Result<Bytes, NoAnswer> {
        let budget = response.extensions().get::<Budget>().cloned();
        let body = response.into_body().collect().await.map_err(|error| self.cut_off(&error))?;
        if let Some(budget) = budget {
            budget.refill();
        }
        Ok(body.to_bytes())
    }

    fn unreached(&self, error: &legacy::Error) -> ChainDown {
        ChainDown(format!("the Esplora server at {}: {}", self.host, sentence(error, &self.base)))
    }

    fn cut_off(&self, error: &hyper::Error) -> NoAnswer {
        match TooMuch::behind(error) {
            Some(too_much) => NoAnswer::TooMuch(ChainDown(format!("the Esplora server at {}: {too_much}", self.host))),
            None => NoAnswer::Failed(ChainDown(format!(
                "the Esplora server at {} broke off in the middle of an answer",
                self.host
            ))),
        }
    }
}

#[cfg(test)]
impl Server {
    /// The same, which trusts this certificate and no other.
    pub(super) fn trusting(options: &EsploraOptions, certificate: &[u8], runtime: Handle) -> Result<Self, BadServer> {
        let unread = |error: rustls::Error| BadServer::Certificates(error.to_string());
        let mut roots = rustls::RootCertStore::empty();
        roots.add(certificate.to_vec().into()).map_err(unread)?;
        let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
        let tls =
            ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().map_err(unread)?;
        Self::over(options, tls.with_root_certificates(roots).with_no_client_auth(), runtime)
    }
}
