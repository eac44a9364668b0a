//! The HTTP interface of Esplora over a sandbox's chain and mempool, as Blockstream's `electrs` describes it (`API.md` of
//! `Blockstream/esplora`) and mempool.space's answers it (`src/rest.rs` of `mempool/electrs`).

mod calls;
mod fault;
mod index;
mod shown;

use std::collections::BTreeSet;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bitcoin::BlockHash;
use bitcoin::hashes::Hash as _;
use tillgate_sandbox::Sandbox;

use crate::Clock;
use crate::counted::Counted;
use crate::http::{self, Answer, Manner, Request};
use crate::listener::{Listener, Stop};
use crate::tls::Tls;
pub use fault::EsploraFault;
use index::Index;
use shown::Shown;

/// Bytes of an answer that claims to be compressed.
const BOMB: usize = 4_096;

/// A server that runs until it is dropped.
pub struct EsploraServer {
    shared: Arc<Shared>,
    listener: Listener,
    scheme: &'static str,
    certificate: Vec<u8>,
}

/// What all connections share.
struct Shared {
    clock: Clock,
    inner: Mutex<Inner>,
}

struct Inner {
    sandbox: Arc<Sandbox>,
    index: Index,
    fault: Option<EsploraFault>,
    /// Of which heights another block was named than the one that is there.
    denied: BTreeSet<String>,
    /// Questions by the first word of the path, and the last where there are more than two.
    counted: Counted,
}

impl EsploraServer {
    /// Shows the chain of `sandbox` over HTTP; what is broadcast enters its mempool at `clock`'s time.
    ///
    /// # Errors
    /// When there is no port.
    pub fn start(sandbox: Arc<Sandbox>, clock: Clock) -> io::Result<Self> {
        let shared = Arc::new(Shared::new(sandbox, clock));
        let serving = Arc::clone(&shared);
        let listener = Listener::start(move |mut stream, stop| serving.serve(&mut stream, stop))?;
        Ok(Self { shared, listener, scheme: "http", certificate: Vec::new() })
    }

    /// The same over TLS, with a certificate that nobody vouches for.
    ///
    /// # Errors
    /// When there is no port or no certificate.
    pub fn start_tls(sandbox: Arc<Sandbox>, clock: Clock) -> io::Result<Self> {
        let tls = Tls::new()?;
        let certificate = tls.certificate().to_vec();
        let shared = Arc::new(Shared::new(sandbox, clock));
        let serving = Arc::clone(&shared);
        let listener = Listener::start(move |stream: TcpStream, stop| {
            if let Ok(mut stream) = tls.accept(stream) {
                serving.serve(&mut stream, stop);
            }
        })?;
        Ok(Self { shared, listener, scheme: "https", certificate })
    }

    /// Its certificate as DER; nothing over HTTP.
    #[must_use]
    pub fn certificate(&self) -> &[u8] {
        &self.certificate
    }

    /// Where it is reached.
    #[must_use]
    pub fn url(&self) -> String {
        format!("{}://{}", self.scheme, self.listener.address())
    }

    /// Misbehaves in this way until told otherwise; `None` is well-behaved.
    pub fn misbehave(&self, fault: impl Into<Option<EsploraFault>>) {
        let mut inner = self.shared.lock();
        let mut fault = fault.into();
        if let Some(EsploraFault::BusyAfter { questions, .. }) = &mut fault {
            *questions = questions.saturating_add(inner.counted.requests());
        }
        inner.fault = fault;
        inner.denied.clear();
    }

    /// Shows the chain of this sandbox from now on.
    pub fn show(&self, sandbox: Arc<Sandbox>) {
        let mut inner = self.shared.lock();
        inner.sandbox = sandbox;
        inner.index = Index::default();
    }

    /// How often something was asked since the start, by the first word of its path and the last where there are more than
    /// two: `scripthash/txs`, `tx`.
    #[must_use]
    pub fn asked(&self, what: &str) -> u64 {
        self.shared.lock().counted.asked(what)
    }

    /// Requests since the start.
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

impl Answer {
    /// The server says that it is not to be asked for an hour.
    fn leave_alone(&mut self) {
        self.status = "429 Too Many Requests";
        self.headers.push(("Retry-After", "3600".to_owned()));
    }
}

impl Shared {
    fn new(sandbox: Arc<Sandbox>, clock: Clock) -> Self {
        let inner = Inner {
            sandbox,
            index: Index::default(),
            fault: None,
            denied: BTreeSet::new(),
            counted: Counted::default(),
        };
        Self { clock, inner: Mutex::new(inner) }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Serves one connection to its end.
    fn serve(&self, stream: &mut (impl Read + Write), stop: &Stop) {
        while let Some(request) = http::read(stream, stop) {
            let (fault, number) = self.note(&request);
            let (denies, fault) = EsploraFault::parts(fault);
            let Some(mut answer) = self.answer(&request, fault.as_ref(), number) else { return };
            if denies && self.is_denied(&request.path) {
                answer.body = BlockHash::from_byte_array([9; 32]).to_string().into_bytes();
            }
            let mut manner = Manner::Whole;
            match fault {
                Some(EsploraFault::LeaveAloneAt(part)) if request.path.contains(&part) => answer.leave_alone(),
                Some(EsploraFault::LeaveAloneFrom(part)) if request.path.contains(&part) => {
                    self.lock().fault = Some(EsploraFault::LeaveAloneAt("/".to_owned()));
                    answer.leave_alone();
                }
                Some(EsploraFault::Slow(wait)) => manner = Manner::After(wait),
                Some(EsploraFault::Dripping(between)) => manner = Manner::Dripping(between),
                Some(EsploraFault::CutOff) => manner = Manner::CutOff,
                Some(EsploraFault::Flood) => manner = Manner::Endless,
                Some(EsploraFault::EndlessHistory(script)) if request.path.contains(&script) => {
                    manner = Manner::Endless;
                }
                Some(EsploraFault::CutOffAt(script)) if request.path.contains(&script) => manner = Manner::CutOff,
                Some(EsploraFault::BusyAt(script)) if request.path.contains(&script) => {
                    answer.status = "503 Service Unavailable";
                    answer.headers.push(("Retry-After", "0".to_owned()));
                }
                Some(EsploraFault::Closed) => return,
                Some(EsploraFault::FailsAt(script)) if request.path.contains(&script) => {
                    answer.status = "504 Gateway Timeout";
                }
                Some(EsploraFault::StuckAt(script)) if request.path.contains(&script) => {
                    while !stop.within(Duration::from_millis(50)) {}
                    return;
                }
                Some(EsploraFault::Silent) => {
                    while !stop.within(Duration::from_millis(50)) {}
                    return;
                }
                Some(EsploraFault::GzipBomb) => {
                    answer.headers.push(("Content-Encoding", "gzip".to_owned()));
                    answer.body = vec![0; BOMB];
                }
                Some(EsploraFault::Html) => {
                    answer.status = "200 OK";
                    answer.body = b"<html><body>Checking your browser</body></html>".to_vec();
                }
                Some(EsploraFault::Busy(after)) => {
                    answer.status = "429 Too Many Requests";
                    answer.headers.extend(after.map(|after| ("Retry-After", after)));
                }
                Some(EsploraFault::BusyAfter { questions, for_s }) if number > questions => {
                    answer.status = "429 Too Many Requests";
                    answer.headers.push(("Retry-After", for_s.to_string()));
                }
                Some(EsploraFault::Broken) => answer.status = "500 Internal Server Error",
                Some(EsploraFault::Redirect(to)) => {
                    answer.status = "302 Found";
                    answer.headers.push(("Location", to));
                }
                _ => {}
            }
            let Ok(written) = http::write(stream, stop, &answer, manner) else { return };
            self.lock().counted.traffic(request.bytes.saturating_add(written));
        }
    }

    /// Counts a question; answers the fault in force and its number.
    fn note(&self, request: &Request) -> (Option<EsploraFault>, u64) {
        let words: Vec<&str> = request.path.split('/').skip(1).collect();
        let what = match words.as_slice() {
            [first, _, third, ..] => format!("{first}/{third}"),
            [first, ..] => (*first).to_owned(),
            [] => String::new(),
        };
        let mut inner = self.lock();
        inner.counted.question(&what);
        (inner.fault.clone(), inner.counted.request())
    }

    /// Whether somebody asks for the first time which block, behind the first, has a height.
    fn is_denied(&self, path: &str) -> bool {
        let height = path.strip_prefix("/block-height/").filter(|height| *height != "0");
        height.is_some_and(|height| self.lock().denied.insert(height.to_owned()))
    }

    /// `None` is silence.
    fn answer(&self, request: &Request, fault: Option<&EsploraFault>, number: u64) -> Option<Answer> {
        let mut inner = self.lock();
        let sandbox = Arc::clone(&inner.sandbox);
        if let Err(error) = inner.index.refresh(&sandbox) {
            return Some(calls::broken(&error));
        }
        let tip = u32::try_from(inner.index.blocks.len().saturating_sub(1)).unwrap_or(u32::MAX);
        let is_about_tip = request.path.starts_with("/block");
        let ends_at = match fault {
            Some(EsploraFault::OlderTip(height)) => Some(*height),
            Some(EsploraFault::TwoServers(behind)) if number.is_multiple_of(2) => Some(tip.saturating_sub(*behind)),
            Some(EsploraFault::BehindBut { behind }) if !is_about_tip => Some(tip.saturating_sub(*behind)),
            _ => None,
        };
        let shown = Shown { index: &inner.index, fault, ends_at };
        calls::answer((&request.method, &request.path), &request.body, &shown, &sandbox, (self.clock)())
    }
}
