//! Bitcoin Core's JSON-RPC over a sandbox's chain and mempool, with its names, error codes and
//! batches, and its ZeroMQ publisher. Clients sign in with the cookie file, or with a user and
//! password.

pub(crate) mod calls;
mod fault;
mod node_view;
mod zmq;

use std::collections::HashMap;
use std::io;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bitcoin::{Transaction, Txid};
use serde_json::{Value, json};
use tillgate_sandbox::{Sandbox, SandboxError};

use crate::clock::Clock;
use crate::counted::Counted;
use crate::http::{self, Answer, Manner};
use crate::listener::{Listener, Stop};
use calls::Refusal;
pub use fault::{CoreFault, ZmqFault};
use zmq::Told;

/// The user that may sign in without the cookie.
pub const USER: &str = "gateway";

/// Password of [`USER`].
pub const PASSWORD: &str = "correct horse";

/// A node that runs until it is dropped.
pub struct CoreNode {
    shared: Arc<Shared>,
    listener: Listener,
    publisher: Listener,
}

/// State that all connections of a node share.
struct Shared {
    clock: Clock,
    cookie_file: PathBuf,
    inner: Mutex<Inner>,
    told: Mutex<Told>,
}

struct Inner {
    sandbox: Arc<Sandbox>,
    cookie: String,
    fault: Option<CoreFault>,
    zmq_fault: Option<ZmqFault>,
    crowd: Arc<HashMap<Txid, Transaction>>,
    counted: Counted,
}

impl CoreNode {
    /// Shows the chain of `sandbox`. A broadcast transaction enters the mempool at `clock`'s time.
    /// The cookie file is in `folder`.
    ///
    /// # Errors
    /// There is no free port, or the cookie cannot be written.
    pub fn start(sandbox: Arc<Sandbox>, folder: &Path, clock: Clock) -> io::Result<Self> {
        let cookie_file = folder.join(".cookie");
        let inner = Inner {
            sandbox,
            cookie: String::new(),
            fault: None,
            zmq_fault: None,
            crowd: Arc::default(),
            counted: Counted::default(),
        };
        let shared = Arc::new(Shared {
            clock,
            cookie_file,
            inner: Mutex::new(inner),
            told: Mutex::default(),
        });
        shared.renew_cookie()?;
        let serving = Arc::clone(&shared);
        let listener = Listener::start(move |stream, stop| serving.serve(stream, stop))?;
        let publishing = Arc::clone(&shared);
        let publisher = Listener::start(move |stream, stop| publishing.publish(stream, stop))?;
        Ok(Self { shared, listener, publisher })
    }

    /// The address of the RPC server.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.listener.address())
    }

    /// The address of the ZeroMQ publisher.
    #[must_use]
    pub fn zmq_url(&self) -> String {
        format!("tcp://{}", self.publisher.address())
    }

    /// Sets the publisher's fault. `None` means no fault.
    pub fn misbehave_over_zmq(&self, fault: impl Into<Option<ZmqFault>>) {
        self.shared.lock().zmq_fault = fault.into();
    }

    /// Number of subscriptions to the publisher, and the count of the last message to the last
    /// subscriber.
    ///
    /// # Errors
    /// The chain cannot be read.
    pub fn published(&self) -> io::Result<(u64, Option<u32>)> {
        let mut published = (0, None);
        let lent =
            self.shared.tell(&mut |told| published = (told.subscriptions, told.last_count()));
        lent.map_err(io::Error::other)?;
        Ok(published)
    }

    /// The file with the RPC cookie.
    #[must_use]
    pub fn cookie_file(&self) -> &Path {
        &self.shared.cookie_file
    }

    /// Sets the node's fault. `None` means no fault.
    pub fn misbehave(&self, fault: impl Into<Option<CoreFault>>) {
        self.shared.lock().fault = fault.into();
    }

    /// Shows the chain of this sandbox from now on.
    pub fn show(&self, sandbox: Arc<Sandbox>) {
        self.shared.lock().sandbox = sandbox;
    }

    /// Adds this number of unrelated transactions to the mempool, in place of those added before.
    pub fn crowd(&self, count: u32) {
        self.shared.lock().crowd = Arc::new(node_view::crowd(count));
    }

    /// Makes a new cookie, as each start of a node does. The old cookie is then refused.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn renew_cookie(&self) -> io::Result<()> {
        self.shared.renew_cookie()
    }

    /// Number of calls of this method since the start.
    #[must_use]
    pub fn asked(&self, method: &str) -> u64 {
        self.shared.lock().counted.asked(method)
    }

    /// Number of requests since the start; each may hold several calls.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.shared.lock().counted.requests()
    }

    /// Bytes of requests and answers since the start.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.shared.lock().counted.bytes()
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn renew_cookie(&self) -> io::Result<()> {
        let mut random = [0; 32];
        getrandom::fill(&mut random).map_err(io::Error::other)?;
        let cookie = format!("__cookie__:{}", hex::encode(random));
        std::fs::write(&self.cookie_file, &cookie)?;
        self.lock().cookie = cookie;
        Ok(())
    }

    /// Publishes the changes of the sandbox, then calls `use_it` with the published state, even
    /// after an error.
    fn tell(&self, use_it: &mut dyn FnMut(&mut Told)) -> Result<(), SandboxError> {
        let sandbox = Arc::clone(&self.lock().sandbox);
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let followed = told.follow(&sandbox);
        use_it(&mut told);
        followed
    }

    /// Serves one subscriber until it ends.
    fn publish(&self, stream: TcpStream, stop: &Stop) {
        // If the sandbox cannot be read now, the next check reads it again.
        let tell = |use_it: &mut dyn FnMut(&mut Told)| drop(self.tell(use_it));
        zmq::serve(stream, stop, tell, || self.lock().zmq_fault);
    }

    /// Serves one connection until it ends.
    fn serve(&self, mut stream: TcpStream, stop: &Stop) {
        while let Some(request) = http::read_request(&mut stream, stop) {
            let fault = self.lock().fault.clone();
            let (status, body) = if fault.as_ref().is_some_and(CoreFault::is_refusal_to_sign_in)
                || !self.may(request.authorization.as_deref())
            {
                ("401 Unauthorized", Vec::new())
            } else {
                let Some(answer) = self.answer(&request.body) else { return };
                answer
            };
            let manner = match &fault {
                Some(CoreFault::Slow(wait)) => Manner::After(*wait),
                Some(CoreFault::Dripping(between)) => Manner::Dripping(*between),
                Some(CoreFault::CutOff) => Manner::CutOff,
                Some(CoreFault::Flood) => Manner::Endless,
                Some(CoreFault::Continues) => Manner::Continues,
                Some(CoreFault::Closed) => return,
                Some(CoreFault::Silent) => {
                    while !stop.within(Duration::from_millis(50)) {}
                    return;
                }
                _ => Manner::Whole,
            };
            let (status, body) = match &fault {
                Some(CoreFault::QueueFull) => {
                    ("503 Service Unavailable", b"Work queue depth exceeded".to_vec())
                }
                Some(CoreFault::Forbidden) => ("403 Forbidden", Vec::new()),
                Some(CoreFault::NotJson) => {
                    ("200 OK", b"<html><body>It works!</body></html>".to_vec())
                }
                _ => (status, body),
            };
            let Ok(written) = http::write(&mut stream, stop, &Answer::json(status, body), manner)
            else {
                return;
            };
            self.lock().counted.traffic(request.bytes.saturating_add(written));
        }
    }

    fn may(&self, authorization: Option<&str>) -> bool {
        let given = authorization.and_then(|value| value.strip_prefix("Basic "));
        let given = given.and_then(|value| STANDARD.decode(value).ok());
        let Some(given) = given.and_then(|bytes| String::from_utf8(bytes).ok()) else {
            return false;
        };
        given == self.lock().cookie || given == format!("{USER}:{PASSWORD}")
    }

    /// The status line and the body of the answer to a request's body. `None` means no answer.
    fn answer(&self, body: &[u8]) -> Option<(&'static str, Vec<u8>)> {
        let fault = {
            let mut inner = self.lock();
            inner.counted.request();
            inner.fault.clone()
        };
        let Ok(request) = serde_json::from_slice::<Value>(body) else {
            let refused = reply(&Value::Null, Err(Refusal::new(-32_700, "Parse error")));
            return Some(("500 Internal Server Error", line(&refused)));
        };
        if let Value::Array(batch) = &request {
            let denies = fault.as_ref().is_some_and(|fault| fault.denies(batch));
            let another = json!({ "method": "getblockhash", "params": [0] });
            let mut replies = Vec::with_capacity(batch.len());
            for one in batch {
                let outcome = self.call(if denies { &another } else { one });
                if outcome.as_ref().is_err_and(|refusal| refusal.code == calls::UNANSWERED) {
                    return None;
                }
                replies.push(reply(&one["id"], outcome));
            }
            if fault == Some(CoreFault::ShortBatches) {
                replies.pop();
            }
            return Some(("200 OK", line(&Value::Array(replies))));
        }
        let outcome = self.call(&request);
        let status = match &outcome {
            Ok(_) => "200 OK",
            Err(refusal) if refusal.code == calls::UNANSWERED => return None,
            Err(refusal) if refusal.code == -32_601 => "404 Not Found",
            Err(_) => "500 Internal Server Error",
        };
        Some((status, line(&reply(&request["id"], outcome))))
    }

    fn call(&self, request: &Value) -> Result<Value, Refusal> {
        let method = request["method"].as_str().unwrap_or_default();
        let (sandbox, fault, crowd) = {
            let mut inner = self.lock();
            inner.counted.question(method);
            (Arc::clone(&inner.sandbox), inner.fault.clone(), Arc::clone(&inner.crowd))
        };
        if let Some(from) = fault.as_ref().and_then(|fault| fault.leaves_from(request)) {
            self.lock().fault = None;
            let depth = sandbox.tip()?.height.saturating_sub(from).saturating_add(1);
            sandbox.reorg(depth, true, (self.clock)())?;
        }
        let none = Vec::new();
        let params = request["params"].as_array().unwrap_or(&none);
        if let Some(CoreFault::WrongTypes) = fault {
            return Ok(json!({ "surprise": [1, null, "x"] }));
        }
        let view = node_view::NodeView {
            sandbox: &sandbox,
            fault: fault.as_ref(),
            told: &self.told,
            crowd: &crowd,
        };
        calls::answer(method, params, &view, (self.clock)())
    }
}

fn reply(id: &Value, outcome: Result<Value, Refusal>) -> Value {
    match outcome {
        Ok(result) => json!({ "result": result, "error": null, "id": id }),
        Err(Refusal { code, message }) => {
            json!({ "result": null, "error": { "code": code, "message": message }, "id": id })
        }
    }
}

fn line(value: &Value) -> Vec<u8> {
    format!("{value}\n").into_bytes()
}
