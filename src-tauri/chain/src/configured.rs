//! The backend that the settings name. It is replaced when the settings change, and missing when
//! they name no backend.

use std::sync::Arc;
use std::time::Duration;

use bitcoin::{Network, Transaction, Txid};
use parking_lot::RwLock;
use tillgate_domain::chain::{Identity, Tip};
use tillgate_domain::closing::CutOff;
use tillgate_domain::time::Timestamp;
use tillgate_machine::outgoing::Proxy;
use tillgate_told::Telling;
use tillgate_told::Told;
use tokio::runtime::Handle;
use tokio::sync::Notify;

use super::backend_kind::BackendKind;
use super::core::{CoreChain, CoreOptions, Credentials, NoticesOptions, NoticesPace};
use super::electrum::{ElectrumChain, ElectrumOptions, Fingerprint};
use super::port::{
    Broadcast, Chain, ChainDown, LookAnswer, LookRequest, NodeFeeRates, RecentTransactions, Sees,
};
use super::servers::Servers;
use super::waker::{Active, Waker};
use crate::down::Down;

#[derive(Debug, Clone)]
pub struct BackendOptions {
    pub kind: BackendKind,
    /// At least one, the preferred first.
    pub urls: Vec<String>,
    /// The login; `None` for a kind without one.
    pub credentials: Option<Credentials>,
    /// The ZeroMQ address of the first node.
    pub notices: Option<String>,
    /// Certificates that are accepted in addition to those of public authorities.
    pub certificates: Vec<Fingerprint>,
    /// The proxy for servers on other machines.
    pub proxy: Option<Proxy>,
    pub network: Network,
    /// The timeout of one request.
    pub answered_within: Duration,
}

pub struct Configured {
    network: Network,
    runtime: Handle,
    wake: Arc<Notify>,
    current: RwLock<Current>,
}

struct Current {
    /// The number of times that servers were configured.
    number: u64,
    chain: Result<Arc<dyn Chain>, ChainDown>,
}

impl Configured {
    /// Starts without a server.
    pub fn new(network: Network, runtime: Handle) -> Self {
        Self {
            network,
            runtime,
            wake: Arc::default(),
            current: RwLock::new(Current { number: 0, chain: Err(none()) }),
        }
    }

    pub const fn network(&self) -> Network {
        self.network
    }

    /// Replaces the servers; `Err` says why there is none. The memory about the previous servers is
    /// dropped.
    pub fn configure(&self, options: Result<Option<BackendOptions>, Telling>) {
        let chain = match options {
            Ok(Some(options)) => self.open(&options),
            Ok(None) => Err(none()),
            Err(why) => Err(ChainDown(why)),
        };
        let mut current = self.current.write();
        *current = Current { number: current.number.wrapping_add(1), chain };
        drop(current);
        self.wake.notify_one();
    }

    fn open(&self, options: &BackendOptions) -> Result<Arc<dyn Chain>, ChainDown> {
        let active = Active::new(Arc::clone(&self.wake));
        let open = |(number, url): (usize, &String)| {
            open_one(options, url, self.runtime.clone(), active.waker(number))
        };
        let mut servers =
            options.urls.iter().enumerate().map(open).collect::<Result<Vec<_>, _>>()?;
        match (servers.pop(), servers.is_empty()) {
            (None, _) => Err(none()),
            (Some(server), true) => Ok(server),
            (Some(last), false) => {
                servers.push(last);
                let named = options.urls.iter().cloned().zip(servers).collect();
                Ok(Arc::new(Servers::new(named, options.network, active)))
            }
        }
    }

    fn chain(&self) -> Result<Arc<dyn Chain>, ChainDown> {
        self.current.read().chain.clone()
    }
}

/// A backend that asks only this server. Its calls block on `runtime`, so no task of `runtime` may
/// make them. `waker` starts a look when the server notifies of a change.
pub fn open_one(
    options: &BackendOptions,
    url: &str,
    runtime: Handle,
    waker: Waker,
) -> Result<Arc<dyn Chain>, ChainDown> {
    let BackendOptions { kind, urls, network, answered_within, .. } = options;
    let (network, answered_within) = (*network, *answered_within);
    let (named, proxy) = (url.to_owned(), options.proxy.clone());
    match kind {
        BackendKind::Sandbox => Err(none()),
        BackendKind::Core => {
            let credentials = options.credentials.clone().ok_or_else(none)?;
            // The notices belong to the first node.
            let notices =
                options.notices.as_ref().filter(|_| urls.first().is_some_and(|first| first == url));
            let notices = notices.map(|notices| NoticesOptions {
                url: notices.clone(),
                proxy: proxy.clone(),
                pace: NoticesPace::USUAL,
                waker: waker.clone(),
            });
            let options =
                CoreOptions { url: named, credentials, network, answered_within, proxy, notices };
            opened(CoreChain::new(&options, runtime))
        }
        BackendKind::Electrum => {
            let pinned = options.certificates.clone();
            let options =
                ElectrumOptions { url: named, pinned, proxy, network, answered_within, waker };
            opened(ElectrumChain::new(options, runtime))
        }
    }
}

fn opened<C: Chain + 'static>(chain: Result<C, impl Told>) -> Result<Arc<dyn Chain>, ChainDown> {
    chain.map(|chain| Arc::new(chain) as Arc<dyn Chain>).map_err(|error| ChainDown(error.telling()))
}

fn none() -> ChainDown {
    Down::NotSet.into()
}

impl Chain for Configured {
    fn identity(&self) -> Result<Identity, ChainDown> {
        self.chain()?.identity()
    }

    fn tip(&self) -> Result<Tip, ChainDown> {
        self.chain()?.tip()
    }

    fn first_block(&self) -> Result<u32, ChainDown> {
        self.chain()?.first_block()
    }

    fn software(&self) -> Result<Option<String>, ChainDown> {
        self.chain()?.software()
    }

    fn certificate_to_pin(&self) -> Option<String> {
        self.chain().ok()?.certificate_to_pin()
    }

    fn height_before(&self, at: Timestamp) -> Result<u32, ChainDown> {
        self.chain()?.height_before(at)
    }

    fn generation(&self) -> u64 {
        self.current.read().number
    }

    fn server(&self) -> usize {
        self.chain().map_or(0, |chain| chain.server())
    }

    fn look(&self, request: &LookRequest<'_>) -> Result<LookAnswer, ChainDown> {
        self.chain()?.look(request)
    }

    fn broadcast(&self, package: &[Transaction]) -> Result<Broadcast, ChainDown> {
        self.chain()?.broadcast(package)
    }

    fn recent_transactions(
        &self,
        txids: &[Txid],
        above: u32,
    ) -> Result<RecentTransactions, ChainDown> {
        self.chain()?.recent_transactions(txids, above)
    }

    fn fees_with_descendants(&self, txids: &[Txid]) -> Result<Option<u64>, ChainDown> {
        self.chain()?.fees_with_descendants(txids)
    }

    fn fee_rates(&self, blocks: u16) -> Result<NodeFeeRates, ChainDown> {
        self.chain()?.fee_rates(blocks)
    }

    fn has_mempool(&self) -> bool {
        // Without a backend no look decides anything.
        self.chain().map_or(true, |chain| chain.has_mempool())
    }

    fn cut_off(&self) -> Option<CutOff> {
        self.chain().ok()?.cut_off()
    }

    fn sees(&self) -> Sees {
        self.chain().map_or(Sees::Scripts, |chain| chain.sees())
    }

    fn wake(&self) -> Option<&Notify> {
        Some(&self.wake)
    }

    fn fault(&self) -> Option<Telling> {
        self.chain().ok()?.fault()
    }

    fn fault_once_tried(&self) -> Option<Telling> {
        self.chain().ok()?.fault_once_tried()
    }
}
