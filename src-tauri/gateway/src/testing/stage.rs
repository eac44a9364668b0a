//! A gateway over a sandbox's chain, through the backend under test. The customer, the miner and
//! the clock are always the sandbox's.

mod synced_chain;

use std::sync::Arc;
use std::time::Duration;

use bitcoin::Network;
use parking_lot::Mutex;
use tempfile::TempDir;
use tillgate_chain::configured::{BackendOptions, Configured};
use tillgate_chain::core::{CoreChain, CoreOptions, Credentials, NoticesOptions, NoticesPace};
use tillgate_chain::waker::Waker;
use tillgate_chain::{BackendKind, Chain};
use tillgate_nodes::{Bitcoind, CoreNode, Electrs, ElectrumFault, ElectrumNode};
use tillgate_sandbox::Sandbox;
use tokio::runtime::Handle;

use self::synced_chain::{Followed, NoticeReceiver, SyncedChain};
use super::World;
use super::by_script::ByScript;
use super::set_meanwhile::{SetMeanwhile, When};

/// Longer than a busy machine takes for an answer.
pub const AT_LEISURE: Duration = Duration::from_secs(30);

/// The backend that shows the chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backend {
    Sandbox,
    Core,
    /// A node with notices over ZeroMQ.
    CoreZmq,
    /// The sandbox, asked about single scripts.
    ByScript,
    Electrum,
    /// A node and an Electrum server over the same chain, asked by turns.
    Switched,
    /// Two Electrum servers over the same chain; the second is asked when the first is silent.
    Two,
    /// A real Bitcoin Core, if `BITCOIND_EXE` names one.
    Bitcoind,
    /// A real Bitcoin Core with notices over ZeroMQ.
    BitcoindZmq,
    /// A real Bitcoin Core that relays blocks alone.
    BitcoindBlocksOnly,
    /// A real electrs over a real Bitcoin Core, if `ELECTRS_EXE` names one too.
    Electrs,
}

enum Server {
    Core(Arc<CoreNode>),
    Electrum(ElectrumNode),
    Two(ElectrumNode, ElectrumNode),
    Each {
        node: Arc<CoreNode>,
        electrum: ElectrumNode,
    },
    /// Real programs survive a restart of the gateway.
    Real(Arc<Real>),
}

/// A real node, and the electrs behind it, if there is one.
struct Real {
    node: Bitcoind,
    electrs: Option<Electrs>,
}

impl Backend {
    /// Every simulated backend except the sandbox's own, which the others are compared with.
    pub const OTHERS: &[Self] = &[Self::Core, Self::CoreZmq, Self::ByScript, Self::Electrum];
}

pub struct Stage {
    /// `None` only while the gateway restarts.
    world: Option<World>,
    backend: Backend,
    /// The server being asked, if there are several.
    asked: Backend,
    server: Option<Server>,
    chosen: Option<Arc<Configured>>,
    /// The backend that hears notices over ZeroMQ.
    heard: Option<Arc<CoreChain>>,
    /// Looks wait until all notices are heard.
    waits: bool,
    folder: TempDir,
}

impl Stage {
    pub async fn new(backend: Backend) -> Self {
        let stage = Self::unlooked(backend).await;
        stage.world().look().await;
        stage
    }

    pub async fn unlooked(backend: Backend) -> Self {
        Self::opened(backend, true).await
    }

    /// A new gateway that has looked once. Its looks do not wait for notices over ZeroMQ.
    pub async fn hearing(backend: Backend) -> Self {
        let stage = Self::opened(backend, false).await;
        stage.world().look().await;
        stage
    }

    async fn opened(backend: Backend, waits: bool) -> Self {
        let world = World::opened(tempfile::tempdir().unwrap()).await;
        let folder = tempfile::tempdir().unwrap();
        let asked = match backend {
            Backend::Switched => Backend::Core,
            Backend::Electrs => Backend::Electrum,
            other => other,
        };
        Self { world: None, backend, asked, server: None, chosen: None, heard: None, waits, folder }
            .with(world)
    }

    /// The same gateway, whose backend no longer waits for notices or follows the sandbox. Also
    /// returns that backend.
    pub fn alone(mut self) -> (Self, Arc<CoreChain>) {
        let chain = Arc::clone(self.heard.as_ref().unwrap());
        let world = self.world.take().unwrap();
        let instance = Some(world.sandbox().identity());
        let synced = SyncedChain {
            chain: Arc::clone(&chain) as Arc<dyn Chain>,
            instance,
            followed: None,
            receiver: None,
        };
        self.world = Some(world.with_chain(|_| Arc::new(synced)));
        (self, chain)
    }

    /// The same gateway, with `change` wrapped around its backend.
    pub fn behind(mut self, change: impl FnOnce(Arc<dyn Chain>) -> Arc<dyn Chain>) -> Self {
        self.world = self.world.map(|world| world.with_chain(change));
        self
    }

    pub const fn hears(&self) -> bool {
        self.heard.is_some()
    }

    /// A stage for a gateway that is open already. It makes no look.
    pub async fn over(backend: Backend, world: World) -> Self {
        Self::unlooked(backend).await.with(world)
    }

    /// The gateway without its server.
    pub fn into_world(mut self) -> World {
        self.world.take().unwrap()
    }

    pub fn world(&self) -> &World {
        self.world.as_ref().unwrap()
    }

    /// Options for the server whose turn it is.
    fn options(&self, answered_within: Duration) -> BackendOptions {
        let core =
            |cookie_file: &std::path::Path| Some(Credentials::CookieFile(cookie_file.to_owned()));
        let (credentials, urls) = match (self.server.as_ref().unwrap(), self.asked) {
            (Server::Core(node), _) | (Server::Each { node, .. }, Backend::Core) => {
                (core(node.cookie_file()), vec![node.url()])
            }
            (Server::Electrum(server) | Server::Each { electrum: server, .. }, _) => {
                (None, vec![server.url()])
            }
            (Server::Two(first, second), _) => (None, vec![first.url(), second.url()]),
            (Server::Real(real), asked) => match (asked, &real.electrs) {
                (Backend::Electrum, Some(electrs)) => (None, vec![electrs.url()]),
                _ => (core(&real.node.cookie_file()), vec![real.node.url()]),
            },
        };
        let kind = if credentials.is_some() { BackendKind::Core } else { BackendKind::Electrum };
        BackendOptions {
            kind,
            urls,
            credentials,
            notices: None,
            certificates: Vec::new(),
            proxy: None,
            network: Network::Regtest,
            answered_within,
        }
    }

    /// Sets the time limit for the server's answers. The memory between looks is lost.
    pub fn wait(&self, answered_within: Duration) {
        self.chosen.as_ref().unwrap().configure(Ok(Some(self.options(answered_within))));
    }

    /// The same gateway; another server is set as the backend during its next look.
    pub fn switching_in_a_look(mut self, to: Backend, when: When) -> Self {
        let world = self.world.take().unwrap();
        self.asked = to;
        let options = Mutex::new(Some(self.options(AT_LEISURE)));
        let chosen = Arc::clone(self.chosen.as_ref().unwrap());
        self.world =
            Some(world.with_chain(|chain| Arc::new(SetMeanwhile { chain, chosen, when, options })));
        self
    }

    /// Sets the server of this kind as the backend, if there are several. With two servers of one
    /// kind, `Core` makes the first hang up from now on, `Electrum` the second, and any other value
    /// neither.
    pub fn switch(&mut self, to: Backend) {
        if matches!(self.backend, Backend::Switched | Backend::Electrs) {
            self.asked = to;
            self.wait(AT_LEISURE);
        }
        if let Some(Server::Two(first, second)) = &self.server {
            first.misbehave((to == Backend::Core).then_some(ElectrumFault::Closed));
            second.misbehave((to == Backend::Electrum).then_some(ElectrumFault::Closed));
        }
    }

    pub fn node(&self) -> &CoreNode {
        let Some(Server::Core(node) | Server::Each { node, .. }) = &self.server else {
            panic!("the stage has no node")
        };
        node
    }

    /// The real Bitcoin Core.
    pub fn real_node(&self) -> &Bitcoind {
        let Some(Server::Real(real)) = &self.server else { panic!("the stage has no real node") };
        &real.node
    }

    pub fn electrum(&self) -> &ElectrumNode {
        let Some(Server::Electrum(server) | Server::Each { electrum: server, .. }) = &self.server
        else {
            panic!("the stage has no Electrum server")
        };
        server
    }

    pub fn two(&self) -> [&ElectrumNode; 2] {
        let Some(Server::Two(first, second)) = &self.server else {
            panic!("the stage has no two servers")
        };
        [first, second]
    }

    /// Crashes the gateway, runs `meanwhile`, and reopens it without a look.
    pub async fn restart(mut self, meanwhile: impl FnOnce(&World)) -> Self {
        let world = self.world.take().unwrap();
        meanwhile(&world);
        let world = world.reopen().await;
        self.with(world)
    }

    fn with(mut self, world: World) -> Self {
        let sandbox = Arc::clone(world.gateway.backend.sandbox.as_ref().unwrap());
        let clock = Arc::clone(&world.gateway.time.clock);
        let its_clock = || {
            let clock = Arc::clone(&clock);
            Box::new(move || clock.now().ms())
        };
        let node = || {
            Arc::new(
                CoreNode::start(Arc::clone(&sandbox), self.folder.path(), its_clock()).unwrap(),
            )
        };
        let electrum = || ElectrumNode::start(Arc::clone(&sandbox), its_clock()).unwrap();
        let mut followed = None;
        self.server = match self.backend {
            Backend::Sandbox | Backend::ByScript => None,
            Backend::Core | Backend::CoreZmq => Some(Server::Core(node())),
            Backend::Electrum => Some(Server::Electrum(electrum())),
            Backend::Two => Some(Server::Two(electrum(), electrum())),
            Backend::Switched => Some(Server::Each { node: node(), electrum: electrum() }),
            Backend::Bitcoind
            | Backend::BitcoindZmq
            | Backend::BitcoindBlocksOnly
            | Backend::Electrs => {
                let real = match self.server.take() {
                    Some(Server::Real(real)) => real,
                    _ => Arc::new(Real::start(self.backend, self.folder.path())),
                };
                let clock = Arc::clone(&clock);
                followed = Some(Followed {
                    real: Arc::clone(&real),
                    sandbox: Arc::clone(&sandbox),
                    clock,
                });
                Some(Server::Real(real))
            }
        };
        self.world = Some(match (self.backend, &self.server) {
            (Backend::ByScript, _) => {
                world.with_chain(|chain| Arc::new(ByScript::new(chain, sandbox)))
            }
            (_, None) => world,
            (Backend::CoreZmq | Backend::BitcoindZmq, Some(server)) => {
                let chain =
                    Arc::new(CoreChain::new(&heard_options(server), Handle::current()).unwrap());
                let receiver = self
                    .waits
                    .then(|| NoticeReceiver { chain: Arc::clone(&chain), by: server.node() });
                self.heard = Some(Arc::clone(&chain));
                let instance = Some(sandbox.identity());
                world.with_chain(|_| Arc::new(SyncedChain { chain, instance, followed, receiver }))
            }
            (_, Some(_)) => {
                let chosen = Arc::new(Configured::new(Network::Regtest, Handle::current()));
                self.chosen = Some(Arc::clone(&chosen));
                self.wait(AT_LEISURE);
                let instance = Some(sandbox.identity());
                world.with_chain(|_| {
                    Arc::new(SyncedChain { chain: chosen, instance, followed, receiver: None })
                })
            }
        });
        self
    }
}

impl Server {
    /// The node over the sandbox's chain, if there is one.
    fn node(&self) -> Option<Arc<CoreNode>> {
        match self {
            Self::Core(node) => Some(Arc::clone(node)),
            Self::Electrum(_) | Self::Two(..) | Self::Each { .. } | Self::Real(_) => None,
        }
    }
}

impl Real {
    fn start(backend: Backend, folder: &std::path::Path) -> Self {
        let program = Bitcoind::program().expect("BITCOIND_EXE names no program");
        let node = match backend {
            Backend::BitcoindZmq => Bitcoind::start_publishing(&program, folder),
            Backend::BitcoindBlocksOnly => Bitcoind::start_with_blocks_only(&program, folder),
            _ => Bitcoind::start(&program, folder),
        };
        let node = node.unwrap();
        let electrs = (backend == Backend::Electrs).then(|| {
            let program = Electrs::program().expect("ELECTRS_EXE names no program");
            Electrs::start(&program, folder, &node).unwrap()
        });
        Self { node, electrs }
    }

    /// Brings the node, and the programs behind it, to the sandbox's state.
    fn follow(&self, sandbox: &Sandbox, now_ms: i64) -> std::io::Result<()> {
        self.node.follow(sandbox, now_ms)?;
        if let Some(electrs) = &self.electrs {
            electrs.follow(sandbox, &self.node)?;
        }
        Ok(())
    }
}

/// Options for a node with notices over ZeroMQ. All pauses are short.
fn heard_options(server: &Server) -> CoreOptions {
    let (url, zmq_url, cookie_file) = match server {
        Server::Core(node) => (node.url(), node.zmq_url(), node.cookie_file().to_owned()),
        Server::Real(real) => {
            (real.node.url(), real.node.zmq_url().unwrap(), real.node.cookie_file())
        }
        _ => panic!("no node publishes over ZeroMQ"),
    };
    let soon = Duration::from_millis(100);
    let pace = NoticesPace { reached_within: soon, pause: soon, silent_at_most: AT_LEISURE };
    CoreOptions {
        url,
        credentials: Credentials::CookieFile(cookie_file),
        network: Network::Regtest,
        answered_within: AT_LEISURE,
        proxy: None,
        notices: Some(NoticesOptions { url: zmq_url, proxy: None, pace, waker: Waker::default() }),
    }
}

pub fn options(
    node: &CoreNode,
    credentials: Credentials,
    answered_within: Duration,
) -> CoreOptions {
    CoreOptions {
        url: node.url(),
        credentials,
        network: Network::Regtest,
        answered_within,
        proxy: None,
        notices: None,
    }
}
