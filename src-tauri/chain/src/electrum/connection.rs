//! The client of one server. It connects, agrees on a protocol version, checks the network and
//! makes calls. It reconnects after a lost connection, with longer pauses while connections keep
//! failing.

mod allowance;
mod certificate;
mod lines;
mod session;

use std::sync::Arc;
use std::time::Duration;

use bitcoin::block::Header;
use bitcoin::consensus::encode::deserialize_hex;
use bitcoin::constants::genesis_block;
use bitcoin::{BlockHash, Network, Txid};
use parking_lot::Mutex;
use rustls::pki_types::ServerName;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use tillgate_domain::chain::Identity;
use tillgate_told::{Telling, Told};
use tokio::runtime::Handle;
use tokio::time::{Instant, timeout};
use tokio_rustls::TlsConnector;

use super::backoff::BatchSize;
use super::calls::{Answer, Call, Refused, call, subscribe_tip, typed};
use crate::checks::errors;
use crate::checks::sanitized::{quoted, sanitized};
use crate::down::Down;
use crate::port::ChainDown;
use crate::waker::Waker;
use tillgate_machine::outgoing::{Prompt, Proxy, TlsFault, Unreached, connect};

pub use certificate::Fingerprint;
use certificate::{LastRefused, tls};

use allowance::Allowance;
pub use session::AnnouncedTip;
use session::{Session, Stream};

#[derive(Debug, thiserror::Error, tillgate_told::Told)]
pub enum BadServer {
    #[error(
        "{0:?} is no address of an Electrum server: set backendUrl to one like ssl://electrum.example:50002"
    )]
    Url(String),
    #[error("no secure connections can be made: {0}")]
    Tls(#[from] rustls::Error),
}

/// The timeout for reaching a server, TLS handshake included.
const REACHED_WITHIN: Duration = Duration::from_secs(5);

/// The timeout for reaching a server through a proxy, which may be Tor.
const REACHED_BY_PROXY_WITHIN: Duration = Duration::from_secs(30);

const VERSIONS: [&str; 2] = ["1.4", "1.6"];

/// Limits of calls in flight: in general, and if any of them asks for a history. The second is
/// lower, because that many of the longest histories must fit into the session's byte budget.
const WINDOW: usize = 100;
const WINDOW_OF_HISTORIES: usize = 35;

/// The pause after the second failure in a row, and the longest pause. Each further failure doubles
/// the pause.
const PAUSE: Duration = Duration::from_secs(2);
const PAUSE_MAX: Duration = Duration::from_secs(60);

pub struct ElectrumOptions {
    /// For example `tcp://127.0.0.1:50001`; `ssl` for TLS.
    pub url: String,
    /// Certificates accepted in addition to those of public authorities.
    pub pinned: Vec<Fingerprint>,
    /// The proxy for a server on another machine.
    pub proxy: Option<Proxy>,
    pub network: Network,
    /// The timeout of one answer.
    pub answered_within: Duration,
    /// Starts a look when the server notifies of a change, or when the connection ends.
    pub waker: Waker,
}

/// The numbers of a protocol version.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(Vec<u16>);

pub struct Client {
    options: ElectrumOptions,
    runtime: Handle,
    host: String,
    port: u16,
    /// `None` for a plain connection.
    tls: Option<TlsConnector>,
    last_refused: LastRefused,
    to_pin: Mutex<Option<Fingerprint>>,
    link: Mutex<Link>,
    pub batch_size: Mutex<BatchSize>,
    notices: Arc<Mutex<Allowance>>,
}

/// A connection after the handshake.
pub struct Connection {
    pub session: Session,
    pub version: Version,
    pub software: String,
    /// Distinguishes this connection from earlier ones.
    pub number: u64,
}

#[derive(Default)]
struct Link {
    connection: Option<Arc<Connection>>,
    number: u64,
    /// The connection has not delivered a whole look yet.
    is_untried: bool,
    /// The server hung up over a script or transaction that a customer chose. This is no failure of
    /// the server.
    is_customers_fault: bool,
    failures: u32,
    /// The end of the pause, and its reason.
    pause: Option<(Instant, ChainDown)>,
}

#[derive(Deserialize)]
struct Features {
    genesis_hash: BlockHash,
}

/// A certificate that was refused for a reason of its own.
#[derive(Debug, thiserror::Error, Told)]
#[error("is not accepted")]
pub struct NotAccepted;

impl Version {
    fn parse(text: &str) -> Option<Self> {
        text.split('.').map(|part| part.parse().ok()).collect::<Option<_>>().map(Self)
    }

    pub fn is_at_least(&self, numbers: &[u16]) -> bool {
        self.0.as_slice() >= numbers
    }
}

impl Link {
    /// Notes a failure. From the second failure in a row on, a pause follows, longer each time.
    fn note_failure(&mut self, why: &ChainDown) {
        self.failures = self.failures.saturating_add(1);
        if let Some(doubled) = self.failures.checked_sub(2) {
            let pause = PAUSE.saturating_mul(1 << doubled.min(8)).min(PAUSE_MAX);
            self.pause = Instant::now().checked_add(pause).map(|until| (until, why.clone()));
        }
    }
}

impl Client {
    /// Does not connect yet.
    ///
    /// # Errors
    /// If the URL is invalid, or TLS cannot be set up.
    pub fn new(options: ElectrumOptions, runtime: Handle) -> Result<Self, BadServer> {
        let bad = || BadServer::Url(options.url.clone());
        let url = url::Url::parse(&options.url).map_err(|_| bad())?;
        let is_secure = match url.scheme() {
            "tcp" => false,
            "ssl" => true,
            _ => return Err(bad()),
        };
        let is_plain =
            url.username().is_empty() && url.password().is_none() && url.query().is_none();
        let host =
            url.host_str().filter(|host| is_plain && !host.is_empty()).ok_or_else(bad)?.to_owned();
        let port = url.port().ok_or_else(bad)?;
        let last_refused = LastRefused::default();
        let tls = if is_secure {
            Some(TlsConnector::from(Arc::new(tls(&options.pinned, &last_refused)?)))
        } else {
            None
        };
        Ok(Self {
            options,
            runtime,
            host,
            port,
            tls,
            last_refused,
            to_pin: Mutex::default(),
            link: Mutex::default(),
            batch_size: Mutex::default(),
            notices: Arc::default(),
        })
    }

    fn name(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }

    /// The identity of the configured network. Each new connection checks that the server is on it.
    pub fn identity(&self) -> Identity {
        Identity { genesis: genesis_block(self.options.network).block_hash(), instance: None }
    }

    /// The open connection, or a new one if it ended.
    pub fn connection(&self) -> Result<Arc<Connection>, ChainDown> {
        let mut link = self.link.lock();
        if let Some(connection) =
            link.connection.take_if(|connection| connection.session.closed().is_some())
        {
            let why = connection.session.closed().unwrap_or_default();
            tracing::debug!(why, "the connection to the Electrum server ended");
            if link.is_untried {
                link.note_failure(&ChainDown::of_text(why));
            }
        }
        if let Some(connection) = &link.connection {
            return Ok(Arc::clone(connection));
        }
        if let Some((until, why)) = &link.pause
            && Instant::now() < *until
        {
            return Err(why.clone());
        }
        link.number = link.number.saturating_add(1);
        match self.connect(link.number, self.options.waker.clone()) {
            Ok(connection) => {
                let connection = Arc::new(connection);
                link.connection = Some(Arc::clone(&connection));
                link.is_untried = true;
                Ok(connection)
            }
            Err(error) => {
                link.note_failure(&error);
                Err(error)
            }
        }
    }

    /// Notes that the server hung up over a script or transaction that a customer chose. No pause
    /// follows, since [`super::backoff`] limits such requests.
    pub fn note_customers_fault(&self) {
        let mut link = self.link.lock();
        (link.is_untried, link.is_customers_fault) = (false, true);
    }

    /// Whether [`Self::note_customers_fault`] was called since the last success or the last call of
    /// this function. The look can then be repeated at once.
    pub fn take_customers_fault(&self) -> bool {
        std::mem::take(&mut self.link.lock().is_customers_fault)
    }

    /// Resets the failures: the server has answered a whole look.
    pub fn note_success(&self) {
        let mut link = self.link.lock();
        (link.is_untried, link.is_customers_fault, link.failures, link.pause) =
            (false, false, 0, None);
    }

    /// Makes calls concurrently, within the limit of calls in flight. The answers are in the order
    /// of the calls.
    pub fn ask(
        &self,
        connection: &Connection,
        calls: &[Call],
    ) -> Result<Vec<Result<Answer, Refused>>, ChainDown> {
        let mut answers = Vec::with_capacity(calls.len());
        let window = if calls.iter().any(Call::may_be_long) { WINDOW_OF_HISTORIES } else { WINDOW };
        for window in calls.chunks(window) {
            answers.extend(self.runtime.block_on(connection.session.ask(window))?);
        }
        Ok(answers)
    }

    fn connect(&self, number: u64, waker: Waker) -> Result<Connection, ChainDown> {
        let is_by_proxy = self.options.proxy.as_ref().is_some_and(|proxy| proxy.serves(&self.host));
        let within = if is_by_proxy { REACHED_BY_PROXY_WITHIN } else { REACHED_WITHIN };
        let within = within.min(self.options.answered_within);
        let reached = self.runtime.block_on(async { timeout(within, self.open_stream()).await });
        let stream = reached.map_err(|_| self.silent())??;
        let session = Session::over(
            stream,
            self.name(),
            self.options.answered_within,
            (waker, Arc::clone(&self.notices)),
            &self.runtime,
        );
        let (version, software) = self.negotiate_version(&session)?;
        let connection = Connection { session, version, software, number };
        self.check_network(&connection)?;
        Ok(connection)
    }

    fn silent(&self) -> ChainDown {
        let host = self.name();
        match &self.tls {
            Some(_) => Down::LateOverTls { host }.into(),
            None => Down::Late { who: "server", host }.into(),
        }
    }

    async fn open_stream(&self) -> Result<Box<dyn Stream>, ChainDown> {
        let stream = connect(&self.host, self.port, self.options.proxy.as_ref()).await;
        let stream = stream.map_err(|error| {
            let host = self.name();
            ChainDown::from(match error {
                Unreached::Server(error) => Down::NoServer { host, why: error.to_string() },
                Unreached::Proxy(_) | Unreached::Name(_) => {
                    Down::NoWay { who: "server", host, why: Telling::of_text(error.to_string()) }
                }
            })
        })?;
        let stream = Prompt(stream);
        let Some(tls) = &self.tls else { return Ok(Box::new(stream)) };
        let name = ServerName::try_from(self.host.trim_matches(['[', ']']).to_owned());
        let name = name.map_err(|_| {
            ChainDown::of_text(format!("{} is not a name that a certificate can have", self.host))
        })?;
        match tls.connect(name, stream).await {
            Ok(stream) => Ok(Box::new(stream)),
            Err(error) => Err(self.insecure(&error)),
        }
    }

    /// The last refused certificate, in the form of the setting backendCertificate; `None` if a
    /// certificate is pinned.
    pub fn certificate_to_pin(&self) -> Option<String> {
        self.to_pin.lock().filter(|_| self.options.pinned.is_empty()).map(|found| found.to_string())
    }

    /// The error for a failed TLS handshake, with the remedy if there is one.
    fn insecure(&self, error: &std::io::Error) -> ChainDown {
        let (name, found) = (self.name(), self.last_refused.take());
        *self.to_pin.lock() = found;
        let host = name;
        match found {
            Some(found) if !self.options.pinned.is_empty() => {
                Down::OtherCertificate { host, found: found.to_string() }.into()
            }
            Some(found) => {
                let fault = match TlsFault::behind(error) {
                    Some(TlsFault::Certificate(fault)) => fault.telling(),
                    Some(_) | None => NotAccepted.telling(),
                };
                Down::Certificate { host, fault, found: found.to_string() }.into()
            }
            None => self.without_tls(error),
        }
    }

    /// The reason of a handshake that failed before a certificate was judged.
    fn without_tls(&self, error: &std::io::Error) -> ChainDown {
        let host = self.name();
        match TlsFault::behind(error) {
            Some(TlsFault::NoTls) => Down::NoTls { host }.into(),
            Some(fault) => Down::Insecure { host, fault: fault.telling() }.into(),
            None => ChainDown::of_text(format!(
                "the server at {host} broke off the beginning of TLS ({}): if it speaks no TLS at this port, set backendUrl to the port of its TLS, or to tcp://{host} on your own machine or network",
                quoted(&error.to_string())
            )),
        }
    }

    /// Agrees on a protocol version, which must be the first call. Also returns the name of the
    /// server's software.
    fn negotiate_version(&self, session: &Session) -> Result<(Version, String), ChainDown> {
        let client = format!("Tillgate {}", env!("CARGO_PKG_VERSION"));
        let hello = [call("server.version", json!([client, VERSIONS]))];
        let none = |why: &str| {
            let [from, to] = VERSIONS;
            ChainDown::of_text(format!(
                "the server at {} speaks no version of the protocol from {from} to {to}: {why}",
                self.name(),
            ))
        };
        let mut answers = self
            .runtime
            .block_on(session.ask(&hello))
            .map_err(|down| self.maybe_tls(session, down))?;
        let answer = answers
            .pop()
            .ok_or_else(|| none("no answer"))?
            .map_err(|refused| none(&refused.why()))?;
        let (software, agreed): (String, String) = typed("server.version", &answer)?;
        let range = VERSIONS.map(Version::parse);
        let version = Version::parse(&agreed).filter(|version| match &range {
            [Some(from), Some(to)] => (from..=to).contains(&version),
            _ => false,
        });
        Ok((version.ok_or_else(|| none(&quoted(&agreed)))?, sanitized(&software)))
    }

    /// A server that expects TLS may hang up on a plain request without a word.
    fn maybe_tls(&self, session: &Session, down: ChainDown) -> ChainDown {
        if self.tls.is_some() || session.has_heard() {
            return down;
        }
        Down::MaybeTls { why: down.telling(), host: self.name() }.into()
    }

    /// Fails if the server's genesis block is not that of our network. Also subscribes to the tip.
    fn check_network(&self, connection: &Connection) -> Result<(), ChainDown> {
        let calls = [
            call("blockchain.block.header", json!([0])),
            call("server.features", json!([])),
            subscribe_tip(),
        ];
        let mut answers = self.ask(connection, &calls)?.into_iter().zip(&calls);
        let mut next = || answers.next().unwrap_or((Ok(None), &calls[0]));
        let (first, call) = next();
        let hex: String = typed(call.method, &first.map_err(|refused| refused.down(call.method))?)?;
        let first: Header = deserialize_hex(&hex).map_err(|_| {
            ChainDown::of_text(format!("the server at {} sent an invalid first block", self.name()))
        })?;
        // Features are optional; if present, they must name the same network.
        let (features, call) = next();
        let named = match features {
            Ok(features) => Some(typed::<Features>(call.method, &features)?.genesis_hash),
            Err(_) => None,
        };
        let wanted = self.identity().genesis;
        let other = [Some(first.block_hash()), named]
            .into_iter()
            .flatten()
            .find(|genesis| *genesis != wanted);
        if let Some(genesis) = other {
            return Err(self.other_network(genesis));
        }
        let (tip, call) = next();
        tip.map(|_| ()).map_err(|refused| refused.down(call.method))
    }

    fn other_network(&self, genesis: BlockHash) -> ChainDown {
        errors::other_network(
            &format!("server at {}", self.name()),
            "server",
            genesis,
            self.options.network,
        )
    }
}

#[derive(Clone, Copy)]
pub struct Asker<'a> {
    pub client: &'a Client,
    pub connection: &'a Connection,
}

impl Asker<'_> {
    /// The tip height that the server last announced, or 0.
    pub fn best_height(&self) -> u32 {
        self.connection.session.tip().map_or(0, |tip| tip.height)
    }

    /// Whether a transaction must wait, because the server did not deliver it even when requested
    /// alone.
    pub fn is_undeliverable(&self, txid: &Txid) -> bool {
        self.client.batch_size.lock().is_backed_off(txid, self.best_height())
    }

    /// Makes a call. A refusal is an error.
    pub fn one<T: DeserializeOwned>(&self, call: Call) -> Result<T, ChainDown> {
        let method = call.method;
        let answer = self
            .tries(&[call])?
            .pop()
            .unwrap_or(Ok(None))
            .map_err(|refused| refused.down(method))?;
        typed(method, &answer)
    }

    /// Makes calls concurrently; the answers are in the order of the calls. A refusal is an error.
    pub fn all<T: DeserializeOwned>(&self, calls: &[Call]) -> Result<Vec<T>, ChainDown> {
        let answers = self.tries(calls)?.into_iter().zip(calls);
        answers
            .map(|(answer, call)| {
                typed(call.method, &answer.map_err(|refused| refused.down(call.method))?)
            })
            .collect()
    }

    /// Makes calls concurrently. A refusal of one call does not fail the others.
    pub fn tries(&self, calls: &[Call]) -> Result<Vec<Result<Answer, Refused>>, ChainDown> {
        self.client.ask(self.connection, calls)
    }
}
