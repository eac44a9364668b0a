//! JSON-RPC over HTTP. One request holds one or more calls, and has a limit for its time and for
//! the size of its answer. This module does not interpret calls.

use std::fmt;
use std::time::Duration;

use bitcoin::Network;
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use hyper::{Request, Response, StatusCode, Uri};
use hyper_util::client::legacy::{self, Client};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use serde::de::{self, DeserializeOwned, DeserializeSeed, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tillgate_machine::outgoing::{self, Budget, Failure, Outgoing};
use tillgate_told::Told as _;
use tokio::runtime::Handle;
use tokio::time::timeout;

use super::options::Credentials;
use super::options::{BadNode, BadUrl, CoreOptions};
use crate::checks::sanitized::{quoted, sanitized};
use crate::down::Down;
use crate::port::ChainDown;

/// The time to reach a node.
const REACHED_WITHIN: Duration = Duration::from_secs(5);

/// Bytes of an answer at most. The largest block in hexadecimal has 8 MB, the ids of a full mempool
/// some 20 MB.
const ANSWER_MAX: usize = 48 * 1_024 * 1_024;

/// Bytes read from the connection for one answer at most. Bounds headers and framing too.
const READ_MAX: usize = 64 * 1_024 * 1_024;

/// Bytes of a refusal at most: a code and a sentence.
const REFUSAL_MAX: usize = 64 * 1_024;

/// An idle connection is closed after this time, before a node closes it.
const IDLE_FOR: Duration = Duration::from_secs(20);

/// The code of a node that is still starting.
const IN_WARMUP: i64 = -28;

#[derive(Debug, Clone)]
pub struct Call {
    pub method: &'static str,
    params: Value,
}

/// Core's code for a transaction that it does not find.
pub const NOT_FOUND: i64 = -5;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    pub code: i64,
    /// The node's own words, made safe to show.
    pub message: String,
}

pub struct Rpc {
    client: Client<Outgoing, Full<Bytes>>,
    uri: Uri,
    /// Host and port, for messages.
    host: String,
    credentials: Credentials,
    network: Network,
    runtime: Handle,
    answered_within: Duration,
}

/// An unparsed result: a slice of the answer's bytes. An untyped JSON value takes many times the
/// memory of its text, and a stranger at the node's port could choose the text.
#[derive(Debug, Clone)]
pub struct RawResult(Bytes);

/// The reply to one call, parsed enough to tell a result from a refusal.
#[derive(Deserialize)]
struct Reply<'a> {
    id: u64,
    #[serde(borrow, default)]
    result: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

/// The limit for the number of replies: a list of very many small replies could fill the memory.
struct Replies {
    most: usize,
}

#[derive(Deserialize)]
struct ReplyError {
    code: i64,
    message: String,
}

/// A call with its parameters, a JSON array.
pub const fn call(method: &'static str, params: Value) -> Call {
    Call { method, params }
}

impl Refused {
    /// The refusal as a reason why the chain cannot be looked at.
    pub fn down(&self, method: &str) -> ChainDown {
        ChainDown::of_text(format!(
            "the node refuses {method}: {} (code {})",
            quoted(&self.message),
            self.code
        ))
    }
}

impl RawResult {
    pub const fn nothing() -> Self {
        Self(Bytes::from_static(b"null"))
    }

    pub fn is_null(&self) -> bool {
        *self.0 == *b"null"
    }
}

pub fn typed<T: DeserializeOwned>(method: &str, told: &RawResult) -> Result<T, ChainDown> {
    serde_json::from_slice(&told.0).map_err(|error| {
        ChainDown::of_text(format!(
            "the node's answer to {method} makes no sense: {}",
            quoted(&error.to_string())
        ))
    })
}

impl Rpc {
    pub fn new(options: &CoreOptions, runtime: Handle) -> Result<Self, BadNode> {
        let CoreOptions { url, credentials, network, answered_within, proxy, .. } = options.clone();
        let bad = || BadUrl(url.clone());
        let parsed = url::Url::parse(&url).map_err(|_| bad())?;
        let plain =
            parsed.username().is_empty() && parsed.password().is_none() && parsed.query().is_none();
        let host = parsed
            .host_str()
            .filter(|_| plain && matches!(parsed.scheme(), "http" | "https"))
            .ok_or_else(bad)?;
        let host = parsed.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
        let uri: Uri = parsed.as_str().parse().map_err(|_| bad())?;
        let tls = outgoing::tls().map_err(|error| BadNode::Certificates(error.to_string()))?;
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE_FOR)
            .build(outgoing::connector_for_large(tls, proxy, READ_MAX, REACHED_WITHIN));
        Ok(Self { client, uri, host, credentials, network, runtime, answered_within })
    }

    /// Makes one call. A refusal is an error.
    pub fn ask<T: DeserializeOwned>(&self, call: Call) -> Result<T, ChainDown> {
        let method = call.method;
        let told = self.try_ask(call)?.map_err(|refused| refused.down(method))?;
        typed(method, &told)
    }

    /// Makes one call that may be refused.
    pub fn try_ask(&self, call: Call) -> Result<Result<RawResult, Refused>, ChainDown> {
        let mut replies = self.batch(&[call])?;
        replies.pop().ok_or_else(|| self.nonsense("no reply"))
    }

    /// Makes calls in one request. The replies have the order of the calls.
    pub fn batch(&self, calls: &[Call]) -> Result<Vec<Result<RawResult, Refused>>, ChainDown> {
        if calls.is_empty() {
            return Ok(Vec::new());
        }
        let numbered = (0u64..).zip(calls);
        let request: Vec<Value> = numbered
            .map(|(id, call)| json!({ "jsonrpc": "1.0", "id": id, "method": call.method, "params": call.params }))
            .collect();
        let answer = self.post(Bytes::from(Value::Array(request).to_string()), calls)?;
        let read = Replies { most: calls.len() }
            .deserialize(&mut serde_json::Deserializer::from_slice(&answer));
        let replies = read.map_err(|error| self.nonsense(&error.to_string()))?;
        let in_order = (0u64..).zip(&replies).all(|(id, reply)| reply.id == id);
        if replies.len() != calls.len() || !in_order {
            return Err(self.nonsense("replies are missing"));
        }
        replies.into_iter().map(|reply| self.outcome(&answer, &reply)).collect()
    }

    /// Posts a body and returns the answer's body. The cookie file is read for each request: if it
    /// is missing, the node has stopped and another program may hold its port. After a refusal it
    /// is read once more, since the node may have restarted.
    fn post(&self, body: Bytes, calls: &[Call]) -> Result<Bytes, ChainDown> {
        let signed_in = self.credentials.authorization(self.network)?;
        if let Some(answer) = self.post_as(&signed_in, body.clone(), calls)? {
            return Ok(answer);
        }
        let renewed = self.credentials.authorization(self.network)?;
        let answer =
            if *renewed == *signed_in { None } else { self.post_as(&renewed, body, calls)? };
        answer.ok_or_else(|| self.credentials.refused(self.host.clone()))
    }

    /// `None` if the credentials are refused.
    fn post_as(
        &self,
        authorization: &str,
        body: Bytes,
        calls: &[Call],
    ) -> Result<Option<Bytes>, ChainDown> {
        let mut header =
            HeaderValue::from_str(authorization).map_err(|_| self.nonsense("an invalid cookie"))?;
        header.set_sensitive(true);
        let request = Request::post(self.uri.clone())
            .header(CONTENT_TYPE, HeaderValue::from_static("application/json"))
            .header(AUTHORIZATION, header)
            .body(Full::from(body))
            .map_err(|error| self.nonsense(&error.to_string()))?;
        let exchange = async {
            let response =
                self.client.request(request).await.map_err(|error| self.unreached(&error))?;
            let status = response.status();
            let body = self.whole(response).await?;
            Ok::<_, ChainDown>((status, body))
        };
        let (status, body) = self
            .runtime
            .block_on(async { timeout(self.answered_within, exchange).await })
            .map_err(|_| ChainDown::from(Down::Late { who: "node", host: self.host.clone() }))??;
        match status {
            StatusCode::UNAUTHORIZED => Ok(None),
            StatusCode::FORBIDDEN => Err(self.forbidden(calls)),
            // Refusals of single calls use these statuses; the body has the details.
            StatusCode::OK
            | StatusCode::INTERNAL_SERVER_ERROR
            | StatusCode::NOT_FOUND
            | StatusCode::BAD_REQUEST => Ok(Some(body)),
            status => Err(ChainDown::of_text(format!(
                "the node at {} answered {status}: {}",
                self.host,
                quoted(&String::from_utf8_lossy(&body))
            ))),
        }
    }

    async fn whole(&self, response: Response<Incoming>) -> Result<Bytes, ChainDown> {
        let budget = response.extensions().get::<Budget>().cloned();
        let mut body = response.into_body();
        let mut read = Vec::new();
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|_| {
                ChainDown::of_text(format!(
                    "the node at {} broke off in the middle of an answer",
                    self.host
                ))
            })?;
            let Some(chunk) = frame.data_ref() else { continue };
            if read.len().saturating_add(chunk.len()) > ANSWER_MAX {
                return Err(ChainDown::of_text(format!(
                    "the node at {} sent an answer of more than 48 MiB",
                    self.host
                )));
            }
            read.extend_from_slice(chunk);
        }
        if let Some(budget) = budget {
            budget.refill();
        }
        Ok(Bytes::from(read))
    }

    /// Parses one reply; `answer` holds its bytes.
    fn outcome(
        &self,
        answer: &Bytes,
        reply: &Reply<'_>,
    ) -> Result<Result<RawResult, Refused>, ChainDown> {
        let Some(error) = reply.error else {
            let told =
                reply.result.map(|result| RawResult(answer.slice_ref(result.get().as_bytes())));
            return Ok(Ok(told.unwrap_or_else(RawResult::nothing)));
        };
        if error.get().len() > REFUSAL_MAX {
            return Err(self.nonsense("a refusal of more than 64 KiB"));
        }
        match serde_json::from_str(error.get())
            .map_err(|error| self.nonsense(&error.to_string()))?
        {
            ReplyError { code: IN_WARMUP, message } => {
                Err(Down::Starting { words: quoted(&message) }.into())
            }
            ReplyError { code, message } => Ok(Err(Refused { code, message: sanitized(&message) })),
        }
    }

    /// The node does not say which of its two rules forbids the request.
    fn forbidden(&self, calls: &[Call]) -> ChainDown {
        let mut methods: Vec<&str> = calls.iter().map(|call| call.method).collect();
        methods.sort_unstable();
        methods.dedup();
        Down::Forbidden { host: self.host.clone(), methods: methods.join(", ") }.into()
    }

    fn unreached(&self, error: &legacy::Error) -> ChainDown {
        let failure = outgoing::failure(error, &self.uri.to_string());
        let (host, why) = (self.host.clone(), failure.telling());
        match &failure {
            Failure::TooMuch(too_much) => ChainDown::of_text(format!(
                "the node at {host} did not complete its answer: {too_much}"
            )),
            Failure::NoWay(_) | Failure::Insecure { .. } | Failure::SpeaksTls(_) => {
                Down::NoWay { who: "node", host, why }.into()
            }
            Failure::Refused
            | Failure::Closed
            | Failure::Unreachable
            | Failure::Silent
            | Failure::Other(_) => Down::NoNode { host, why }.into(),
        }
    }

    fn nonsense(&self, what: &str) -> ChainDown {
        Down::NoCore { host: self.host.clone(), words: quoted(what) }.into()
    }
}

impl<'de> DeserializeSeed<'de> for Replies {
    type Value = Vec<Reply<'de>>;

    fn deserialize<D: Deserializer<'de>>(self, replies: D) -> Result<Self::Value, D::Error> {
        replies.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Replies {
    type Value = Vec<Reply<'de>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of replies")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut replies: A) -> Result<Self::Value, A::Error> {
        let mut read = Vec::with_capacity(self.most);
        while let Some(reply) = replies.next_element()? {
            if read.len() == self.most {
                return Err(de::Error::custom("more replies than calls"));
            }
            read.push(reply);
        }
        Ok(read)
    }
}
