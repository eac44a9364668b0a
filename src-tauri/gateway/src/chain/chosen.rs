//! The backend that the settings name: another from one look to the next where they change, and none where they name none.

use std::sync::Arc;
use std::time::Duration;

use bitcoin::{FeeRate, Network, Transaction};
use parking_lot::RwLock;
use tillgate_domain::time::Timestamp;
use tokio::runtime::Handle;
use tokio::sync::Notify;
use url::{Host, Url};

use super::core::{CoreChain, CoreOptions, NoticesOptions, NoticesPace, SignIn};
use super::electrum::{ElectrumChain, ElectrumOptions, Fingerprint};
use super::esplora::{EsploraChain, EsploraOptions, Pace};
use super::several::Several;
use super::{Broadcast, Chain, ChainDown, Identity, LookRequest, Sees, Tip, View};
use crate::machine::outgoing::Proxy;

/// How a server that tells of the chain is asked, and what for that.
#[derive(Debug, Clone)]
pub(crate) enum Protocol {
    /// JSON-RPC of a node of Bitcoin Core; `notices` is where the first one tells by itself, by ZeroMQ.
    Core { sign_in: SignIn, notices: Option<String> },
    /// The Electrum protocol. Of servers whose certificates no public authority vouches for these are taken: the SHA-256 of
    /// each.
    Electrum { certificates: Vec<[u8; 32]> },
    /// The HTTP interface of Esplora.
    Esplora,
}

/// What the settings say of the backend.
#[derive(Debug, Clone)]
pub(crate) struct BackendOptions {
    pub protocol: Protocol,
    /// One at least, the preferred first.
    pub urls: Vec<String>,
    /// Through which servers elsewhere are asked.
    pub proxy: Option<Proxy>,
    /// The network that every server must be on.
    pub network: Network,
    /// A server that takes longer for one request is taken for silent.
    pub answered_within: Duration,
}

/// What a backend of one server is made with, beside its protocol.
pub(crate) struct ServerOptions {
    pub url: String,
    /// Through which it is asked: none where the server is on this machine.
    pub proxy: Option<Proxy>,
    pub network: Network,
    pub answered_within: Duration,
    /// Where its connections live, so that its calls may not be made from there.
    pub runtime: Handle,
    /// To be told when the server says something that a look should follow on.
    pub wake: Arc<Notify>,
    /// Where a node tells by itself.
    pub notices: Option<NoticesOptions>,
}

/// The backend that the settings name.
pub(crate) struct Chosen {
    network: Network,
    runtime: Handle,
    wake: Arc<Notify>,
    chain: RwLock<Result<Arc<dyn Chain>, ChainDown>>,
}

impl Chosen {
    /// None yet.
    pub(crate) fn new(network: Network, runtime: Handle) -> Self {
        Self { network, runtime, wake: Arc::default(), chain: RwLock::new(Err(none())) }
    }

    /// The network that every server must be on.
    pub(crate) const fn network(&self) -> Network {
        self.network
    }

    /// Asks these servers from now on; `Err` says why there is none. What is remembered of those before is forgotten.
    pub(crate) fn choose(&self, options: Result<Option<BackendOptions>, String>) {
        let chosen = match options {
            Ok(Some(options)) => self.open(&options),
            Ok(None) => Err(none()),
            Err(why) => Err(ChainDown(why)),
        };
        *self.chain.write() = chosen;
        self.wake.notify_one();
    }

    fn open(&self, options: &BackendOptions) -> Result<Arc<dyn Chain>, ChainDown> {
        let servers = options.urls.iter().map(|url| open_one(options, url, self.runtime.clone(), &self.wake));
        let mut servers = servers.collect::<Result<Vec<_>, _>>()?;
        match (servers.pop(), servers.is_empty()) {
            (None, _) => Err(none()),
            (Some(server), true) => Ok(server),
            (Some(last), false) => {
                servers.push(last);
                let named = options.urls.iter().cloned().zip(servers).collect();
                Ok(Arc::new(Several::new(named, options.network, Arc::clone(&self.wake))))
            }
        }
    }

    fn chain(&self) -> Result<Arc<dyn Chain>, ChainDown> {
        self.chain.read().clone()
    }
}

/// The backend that asks one of the servers alone. Its connections live on `runtime`; `wake` is told what it notices.
pub(crate) fn open_one(
    options: &BackendOptions,
    url: &str,
    runtime: Handle,
    wake: &Arc<Notify>,
) -> Result<Arc<dyn Chain>, ChainDown> {
    let notices = match &options.protocol {
        // It belongs to one node.
        Protocol::Core { notices: Some(notices), .. } if options.urls.first().is_some_and(|first| first == url) => {
            let proxy = options.proxy.clone().filter(|_| !is_on_this_machine(notices));
            Some(NoticesOptions { url: notices.clone(), proxy, pace: NoticesPace::USUAL, wake: Arc::clone(wake) })
        }
        Protocol::Core { .. } | Protocol::Electrum { .. } | Protocol::Esplora => None,
    };
    let server = ServerOptions {
        notices,
        url: url.to_owned(),
        proxy: options.proxy.clone().filter(|_| !is_on_this_machine(url)),
        network: options.network,
        answered_within: options.answered_within,
        runtime,
        wake: Arc::clone(wake),
    };
    open_server(&options.protocol, server)
}

/// The backend that asks one server.
fn open_server(protocol: &Protocol, server: ServerOptions) -> Result<Arc<dyn Chain>, ChainDown> {
    match protocol {
        Protocol::Core { sign_in, .. } => {
            let options = CoreOptions {
                url: server.url,
                sign_in: sign_in.clone(),
                network: server.network,
                answered_within: server.answered_within,
                proxy: server.proxy,
                notices: server.notices,
            };
            let chain = CoreChain::new(&options, server.runtime).map_err(|error| ChainDown(error.to_string()))?;
            Ok(Arc::new(chain))
        }
        Protocol::Electrum { certificates } => {
            let options = ElectrumOptions {
                url: server.url,
                pinned: certificates.iter().copied().map(Fingerprint::from).collect(),
                proxy: server.proxy,
                network: server.network,
                answered_within: server.answered_within,
                wake: server.wake,
            };
            let chain = ElectrumChain::new(options, server.runtime).map_err(|error| ChainDown(error.to_string()))?;
            Ok(Arc::new(chain))
        }
        Protocol::Esplora => {
            let pace = if is_on_this_machine(&server.url) { Pace::HERE } else { Pace::ELSEWHERE };
            let ServerOptions { url, proxy, network, answered_within, runtime, .. } = server;
            let options = EsploraOptions { url, network, proxy, answered_within, pace };
            let chain = EsploraChain::new(&options, runtime).map_err(|error| ChainDown(error.to_string()))?;
            Ok(Arc::new(chain))
        }
    }
}

/// Whether a server is on this machine: no proxy reaches it, and nobody on the way hears what it is asked.
fn is_on_this_machine(url: &str) -> bool {
    let Ok(url) = Url::parse(url) else { return false };
    match url.host() {
        Some(Host::Domain(name)) => is_loopback_name(name),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.to_canonical().is_loopback(),
        None => false,
    }
}

/// Of a scheme that it does not know, a URL's host is a name even where it is the address 127.0.0.1.
fn is_loopback_name(name: &str) -> bool {
    let address = name.parse::<std::net::IpAddr>();
    name.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.to_canonical().is_loopback())
}

fn none() -> ChainDown {
    ChainDown("no Bitcoin backend is set: tillgate settings set backendUrl http://127.0.0.1:8332 (your node's address), and backendCookieFile or backendUser".to_owned())
}

impl Chain for Chosen {
    fn identity(&self) -> Result<Identity, ChainDown> {
        self.chain()?.identity()
    }

    fn tip(&self) -> Result<Tip, ChainDown> {
        self.chain()?.tip()
    }

    fn first_block(&self) -> Result<u32, ChainDown> {
        self.chain()?.first_block()
    }

    fn height_before(&self, at: Timestamp) -> Result<u32, ChainDown> {
        self.chain()?.height_before(at)
    }

    fn look(&self, request: &LookRequest<'_>) -> Result<View, ChainDown> {
        self.chain()?.look(request)
    }

    fn broadcast(&self, package: &[Transaction]) -> Result<Broadcast, ChainDown> {
        self.chain()?.broadcast(package)
    }

    fn fee_rate(&self, blocks: u16) -> Result<Option<FeeRate>, ChainDown> {
        self.chain()?.fee_rate(blocks)
    }

    fn has_mempool(&self) -> bool {
        // Where there is none, nothing is decided.
        self.chain().is_ok_and(|chain| chain.has_mempool())
    }

    fn sees(&self) -> Sees {
        self.chain().map_or(Sees::Scripts, |chain| chain.sees())
    }

    fn wake(&self) -> Option<&Notify> {
        Some(&self.wake)
    }

    fn trouble(&self) -> Option<String> {
        self.chain().ok()?.trouble()
    }

    fn trouble_once_tried(&self) -> Option<String> {
        self.chain().ok()?.trouble_once_tried()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_on_this_machine_is_told_from_one_elsewhere() {
        for (url, is_here) in [
            ("http://127.0.0.1:8332", true),
            ("tcp://127.0.0.1:50001", true),
            ("ssl://localhost:50002", true),
            ("http://[::1]:3000", true),
            ("tcp://[::1]:50001", true),
            ("http://192.168.1.7:8332", false),
            ("ssl://electrum.example:50002", false),
            ("https://localhost.example", false),
            ("tcp://127.0.0.1.example:50001", false),
            ("nonsense", false),
        ] {
            assert_eq!(is_on_this_machine(url), is_here, "{url}");
        }
    }
}
