//! The way to one server: connecting to it, agreeing on a version of the protocol, making sure of the network, and doing so
//! again where the connection broke, later and later while it keeps breaking.

use std::sync::Arc;
use std::time::Duration;

use bitcoin::block::Header;
use bitcoin::consensus::encode::deserialize_hex;
use bitcoin::constants::genesis_block;
use bitcoin::{BlockHash, Network};
use parking_lot::Mutex;
use rustls::pki_types::ServerName;
use serde::Deserialize;
use serde_json::json;
use tokio::runtime::Handle;
use tokio::time::{Instant, timeout};
use tokio_rustls::TlsConnector;

use super::BadServer;
use super::allowance::Allowance;
use super::call::{Answer, Call, Refused, call, subscribe_tip, typed};
use super::certificate::{Fingerprint, Seen, tls};
use super::gets::Gets;
use super::session::{Session, Stream};
use crate::chain::bell::Bell;
use crate::chain::shown::{quoted, shown};
use crate::chain::{ChainDown, Identity, refusals};
use crate::machine::outgoing::{Proxy, connect};

/// The time to reach a server, its certificate included.
const REACHED_WITHIN: Duration = Duration::from_secs(5);

/// The same through a proxy, which may be Tor.
const REACHED_BY_PROXY_WITHIN: Duration = Duration::from_secs(30);

/// The versions of the protocol that are spoken here.
const VERSIONS: [&str; 2] = ["1.4", "1.6"];

/// Calls that are on their way side by side at most, and those for histories: so many of the longest are less than is read at a time.
const WINDOW: usize = 100;
const WINDOW_OF_HISTORIES: usize = 35;

/// The first pause after two failures in a row, and the longest; each is twice the one before.
const PAUSE: Duration = Duration::from_secs(2);
const PAUSE_MAX: Duration = Duration::from_secs(60);

/// Where a server is, and how it is asked.
pub(crate) struct ElectrumOptions {
    /// `tcp://127.0.0.1:50001`, or with `ssl`.
    pub url: String,
    /// Certificates that are believed beside those of public authorities.
    pub pinned: Vec<Fingerprint>,
    /// Through which it is asked, where it is elsewhere.
    pub proxy: Option<Proxy>,
    /// The network that it must be on.
    pub network: Network,
    /// A server that takes longer for an answer is taken for silent.
    pub answered_within: Duration,
    /// Rung when the server says something that a look should follow on.
    pub bell: Bell,
}

/// A version of the protocol, by its numbers.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Version(Vec<u16>);

/// The way to a server.
pub(super) struct Client {
    options: ElectrumOptions,
    runtime: Handle,
    host: String,
    port: u16,
    /// `None` where the connection is plain.
    tls: Option<TlsConnector>,
    seen: Seen,
    to_pin: Mutex<Option<Fingerprint>>,
    link: Mutex<Link>,
    /// How it is asked for transactions.
    pub gets: Mutex<Gets>,
    /// What it may send of notices.
    notices: Arc<Mutex<Allowance>>,
}

/// A connection over which everything was agreed on.
pub(super) struct Connection {
    pub session: Session,
    pub version: Version,
    /// What the server says that it is.
    pub software: String,
    /// Tells it from those before it.
    pub number: u64,
}

#[derive(Default)]
struct Link {
    connection: Option<Arc<Connection>>,
    number: u64,
    /// Nothing has come of the connection yet.
    is_untried: bool,
    /// The server hung up at what a customer chose, and nobody looked again since.
    is_excused: bool,
    failures: u32,
    /// When to try again, and why not before.
    pause: Option<(Instant, ChainDown)>,
}

#[derive(Deserialize)]
struct Features {
    genesis_hash: BlockHash,
}

impl Version {
    fn read(text: &str) -> Option<Self> {
        text.split('.').map(|part| part.parse().ok()).collect::<Option<_>>().map(Self)
    }

    /// Whether it is this one or a later one.
    pub(super) fn is_at_least(&self, numbers: &[u16]) -> bool {
        self.0.as_slice() >= numbers
    }
}

impl Link {
    /// After the second in a row there is a pause, longer each time.
    fn note_failure(&mut self, why: &ChainDown) {
        self.failures = self.failures.saturating_add(1);
        if let Some(doubled) = self.failures.checked_sub(2) {
            let pause = PAUSE.saturating_mul(1 << doubled.min(8)).min(PAUSE_MAX);
            self.pause = Instant::now().checked_add(pause).map(|until| (until, why.clone()));
        }
    }
}

impl Client {
    /// Connects to nobody yet.
    ///
    /// # Errors
    /// When the URL is none, or no secure connection could be made to anybody.
    pub(super) fn new(options: ElectrumOptions, runtime: Handle) -> Result<Self, BadServer> {
        let bad = || BadServer::Url(options.url.clone());
        let url = url::Url::parse(&options.url).map_err(|_| bad())?;
        let is_secure = match url.scheme() {
            "tcp" => false,
            "ssl" => true,
            _ => return Err(bad()),
        };
        let is_plain = url.username().is_empty() && url.password().is_none() && url.query().is_none();
        let host = url.host_str().filter(|host| is_plain && !host.is_empty()).ok_or_else(bad)?.to_owned();
        let port = url.port().ok_or_else(bad)?;
        let seen = Seen::default();
        let tls = if is_secure { Some(TlsConnector::from(Arc::new(tls(&options.pinned, &seen)?))) } else { None };
        Ok(Self {
            options,
            runtime,
            host,
            port,
            tls,
            seen,
            to_pin: Mutex::default(),
            link: Mutex::default(),
            gets: Mutex::default(),
            notices: Arc::default(),
        })
    }

    /// The server, for people.
    fn name(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }

    /// The chain that the server shows, of which every connection makes sure.
    pub(super) fn identity(&self) -> Identity {
        Identity { genesis: genesis_block(self.options.network).block_hash(), instance: None }
    }

    /// The connection, made anew where it ended.
    pub(super) fn connection(&self) -> Result<Arc<Connection>, ChainDown> {
        let mut link = self.link.lock();
        if let Some(connection) = link.connection.take_if(|connection| connection.session.closed().is_some()) {
            let why = connection.session.closed().unwrap_or_default();
            tracing::debug!(why, "the connection to the Electrum server ended");
            if link.is_untried {
                link.note_failure(&ChainDown(why));
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
        match self.connect(link.number, self.options.bell.clone()) {
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

    /// The server hung up at what a customer chose, which it is not asked again in the same way: no pause follows on that.
    pub(super) fn excuse(&self) {
        let mut link = self.link.lock();
        (link.is_untried, link.is_excused) = (false, true);
    }

    /// Whether the server hung up so since this was last asked: the look can be made again at once.
    pub(super) fn take_excused(&self) -> bool {
        std::mem::take(&mut self.link.lock().is_excused)
    }

    /// The server has done all that it was asked for: the next failure is the first.
    pub(super) fn did_well(&self) {
        let mut link = self.link.lock();
        (link.is_untried, link.is_excused, link.failures, link.pause) = (false, false, 0, None);
    }

    /// Makes calls, so many side by side as a server bears. The answers are in their order.
    pub(super) fn ask(
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

    fn connect(&self, number: u64, bell: Bell) -> Result<Connection, ChainDown> {
        let within = if self.options.proxy.is_some() { REACHED_BY_PROXY_WITHIN } else { REACHED_WITHIN };
        let within = within.min(self.options.answered_within);
        let reached = self.runtime.block_on(async { timeout(within, self.reach()).await });
        let stream =
            reached.map_err(|_| ChainDown(format!("the server at {} did not answer in time", self.name())))??;
        let session = Session::over(
            stream,
            self.name(),
            self.options.answered_within,
            (bell, Arc::clone(&self.notices)),
            &self.runtime,
        );
        let (version, software) = self.agree(&session)?;
        let connection = Connection { session, version, software, number };
        self.check_network(&connection)?;
        Ok(connection)
    }

    async fn reach(&self) -> Result<Box<dyn Stream>, ChainDown> {
        let stream = connect(&self.host, self.port, self.options.proxy.as_ref()).await;
        let stream = stream.map_err(|error| {
            ChainDown(format!(
                "no connection to the server at {} ({error}): see that it runs, or set backendUrl to where it answers",
                self.name()
            ))
        })?;
        let Some(tls) = &self.tls else { return Ok(Box::new(stream)) };
        let name = ServerName::try_from(self.host.trim_matches(['[', ']']).to_owned());
        let name = name.map_err(|_| ChainDown(format!("{} is no name that a certificate could have", self.host)))?;
        match tls.connect(name, stream).await {
            Ok(stream) => Ok(Box::new(stream)),
            Err(error) => Err(self.insecure(&error)),
        }
    }

    /// The certificate that was refused last, in the form in which one is pinned; `None` where one is pinned.
    pub(super) fn certificate_to_pin(&self) -> Option<String> {
        self.to_pin.lock().filter(|_| self.options.pinned.is_empty()).map(|found| found.to_string())
    }

    /// Why there is no secure connection, and the remedy where there may be one.
    fn insecure(&self, error: &std::io::Error) -> ChainDown {
        let (name, found) = (self.name(), self.seen.take());
        *self.to_pin.lock() = found;
        ChainDown(match found {
            Some(found) if !self.options.pinned.is_empty() => format!(
                "the server at {name} shows a certificate that is not the pinned one, nor of a public authority; somebody may be listening in. If you know that the server's certificate was renewed, pin the new one, with those of your other servers by commas where they have one: `tillgate settings set backendCertificate {found}`"
            ),
            Some(found) => format!(
                "the certificate of the server at {name} {}. If it is your server, and its certificate has this SHA-256, pin it: `tillgate settings set backendCertificate {found}`",
                refused_as(error)
            ),
            None => format!("no secure connection to the server at {name}: {}", quoted(&error.to_string())),
        })
    }

    /// The version that both speak, and what the server is. It must be the first that is said.
    fn agree(&self, session: &Session) -> Result<(Version, String), ChainDown> {
        let client = format!("Tillgate {}", env!("CARGO_PKG_VERSION"));
        let hello = [call("server.version", json!([client, VERSIONS]))];
        let none = |why: &str| {
            let [from, to] = VERSIONS;
            ChainDown(format!(
                "the server at {} speaks no version of the protocol from {from} to {to}: {why}",
                self.name(),
            ))
        };
        let mut answers = self.runtime.block_on(session.ask(&hello))?;
        let answer = answers.pop().ok_or_else(|| none("no answer"))?.map_err(|refused| none(&refused.why()))?;
        let (software, agreed): (String, String) = typed("server.version", &answer)?;
        let range = VERSIONS.map(Version::read);
        let version = Version::read(&agreed).filter(|version| match &range {
            [Some(from), Some(to)] => (from..=to).contains(&version),
            _ => false,
        });
        Ok((version.ok_or_else(|| none(&quoted(&agreed)))?, shown(&software)))
    }

    /// Refuses a server of another network before anything of it is used: its first block must be this network's.
    fn check_network(&self, connection: &Connection) -> Result<(), ChainDown> {
        let calls = [call("blockchain.block.header", json!([0])), call("server.features", json!([])), subscribe_tip()];
        let mut answers = self.ask(connection, &calls)?.into_iter().zip(&calls);
        let mut next = || answers.next().unwrap_or((Ok(None), &calls[0]));
        let (first, call) = next();
        let hex: String = typed(call.method, &first.map_err(|refused| refused.down(call.method))?)?;
        let first: Header = deserialize_hex(&hex)
            .map_err(|_| ChainDown(format!("the first block that the server at {} tells is none", self.name())))?;
        // Not every server has features; one that has must mean the same.
        let (features, call) = next();
        let named = match features {
            Ok(features) => Some(typed::<Features>(call.method, &features)?.genesis_hash),
            Err(_) => None,
        };
        let wanted = self.identity().genesis;
        let other = [Some(first.block_hash()), named].into_iter().flatten().find(|genesis| *genesis != wanted);
        if let Some(genesis) = other {
            return Err(self.other_network(genesis));
        }
        let (tip, call) = next();
        tip.map(|_| ()).map_err(|refused| refused.down(call.method))
    }

    fn other_network(&self, genesis: BlockHash) -> ChainDown {
        refusals::other_network(&format!("server at {}", self.name()), "server", genesis, self.options.network)
    }
}

/// What is wrong with a certificate, in the words of the field: the library's own are for programmers.
fn refused_as(error: &std::io::Error) -> &'static str {
    use rustls::{CertificateError as C, Error};

    match error.get_ref().and_then(|inner| inner.downcast_ref::<Error>()) {
        Some(Error::InvalidCertificate(C::Expired | C::ExpiredContext { .. })) => "has expired",
        Some(Error::InvalidCertificate(C::NotValidYet | C::NotValidYetContext { .. })) => "is not valid yet",
        Some(Error::InvalidCertificate(C::NotValidForName | C::NotValidForNameContext { .. })) => "is of another name",
        Some(_) | None => "is of no public authority",
    }
}
