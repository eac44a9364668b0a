//! A gateway whose backend is under test, on a sandbox's chain: the customer, the miner and the clock are the sandbox's,
//! whichever backend shows what they do.

use std::sync::Arc;
use std::time::Duration;

use bitcoin::{FeeRate, Network, Transaction};
use tempfile::TempDir;
use tillgate_nodes::{Bitcoind, CoreNode, Electrs, ElectrumNode, EsploraServer};
use tillgate_sandbox::Sandbox;
use tokio::runtime::Handle;
use tokio::sync::Notify;

use super::by_script::ByScript;
use crate::chain::chosen::{BackendOptions, Chosen, Protocol};
use crate::chain::core::{CoreOptions, SignIn};
use crate::chain::esplora::{EsploraOptions, Pace};
use crate::chain::{Broadcast, Chain, ChainDown, Identity, LookRequest, Sees, Tip, View};
use crate::machine::clock::Clock;
use crate::testing::World;

/// Longer than a busy machine takes for an answer.
pub const AT_LEISURE: Duration = Duration::from_secs(30);

/// What shows the chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backend {
    Sandbox,
    Core,
    /// The sandbox's own, asked about single scripts.
    ByScript,
    Electrum,
    Esplora,
    /// A real Bitcoin Core, where `BITCOIND_EXE` names one.
    Bitcoind,
    /// A real Electrum server over it, where `ELECTRS_EXE` names one too.
    Electrs,
}

/// A server that a backend asks.
enum Server {
    Core(CoreNode),
    Electrum(ElectrumNode),
    Esplora(EsploraServer),
    /// Real programs live on when the gateway is restarted.
    Real(Arc<Real>),
}

/// A real node, and what else follows the sandbox through it.
struct Real {
    node: Bitcoind,
    electrs: Option<Electrs>,
}

impl Backend {
    /// Every backend but the sandbox's own, which the others are compared with, and but real programs.
    pub const OTHERS: &[Self] = &[Self::Core, Self::ByScript, Self::Electrum, Self::Esplora];
}

/// A gateway and what it looks through.
pub struct Stage {
    /// `None` only while the gateway is restarted.
    world: Option<World>,
    backend: Backend,
    /// The server that the backend asks, where it asks one.
    server: Option<Server>,
    chosen: Option<Arc<Chosen>>,
    folder: TempDir,
}

impl Stage {
    /// A new gateway that has looked once.
    pub async fn new(backend: Backend) -> Self {
        let stage = Self::unlooked(backend).await;
        stage.world().look().await;
        stage
    }

    /// The same without that look.
    pub async fn unlooked(backend: Backend) -> Self {
        let world = World::opened(tempfile::tempdir().unwrap()).await;
        let folder = tempfile::tempdir().unwrap();
        Self { world: None, backend, server: None, chosen: None, folder }.with(world)
    }

    pub fn world(&self) -> &World {
        self.world.as_ref().unwrap()
    }

    /// Waits so long for the server's answers from now on, and has forgotten what it knew between looks.
    pub fn wait(&self, answered_within: Duration) {
        let core = |cookie_file: &std::path::Path| Protocol::Core(SignIn::CookieFile(cookie_file.to_owned()));
        let electrum = || Protocol::Electrum { certificates: Vec::new() };
        let (protocol, url) = match self.server.as_ref().unwrap() {
            Server::Core(node) => (core(node.cookie_file()), node.url()),
            Server::Electrum(server) => (electrum(), server.url()),
            Server::Esplora(server) => (Protocol::Esplora, server.url()),
            Server::Real(real) => match &real.electrs {
                None => (core(&real.node.cookie_file()), real.node.url()),
                Some(electrs) => (electrum(), electrs.url()),
            },
        };
        self.chosen.as_ref().unwrap().choose(Ok(Some(BackendOptions {
            protocol,
            urls: vec![url],
            proxy: None,
            network: Network::Regtest,
            answered_within,
        })));
    }

    pub fn node(&self) -> &CoreNode {
        let Some(Server::Core(node)) = &self.server else { panic!("it looks through no node") };
        node
    }

    pub fn electrum(&self) -> &ElectrumNode {
        let Some(Server::Electrum(server)) = &self.server else { panic!("it looks through no Electrum server") };
        server
    }

    pub fn esplora(&self) -> &EsploraServer {
        let Some(Server::Esplora(server)) = &self.server else { panic!("it looks through no Esplora server") };
        server
    }

    /// Stops the gateway as a crash does, lets `meanwhile` happen, and opens what it left. Nothing has looked then.
    pub async fn restart(mut self, meanwhile: impl FnOnce(&World)) -> Self {
        let world = self.world.take().unwrap();
        meanwhile(&world);
        let world = world.reopen().await;
        self.with(world)
    }

    fn with(mut self, world: World) -> Self {
        let sandbox = Arc::clone(world.gateway.sandbox.as_ref().unwrap());
        let clock = Arc::clone(&world.gateway.clock);
        let its_clock = {
            let clock = Arc::clone(&clock);
            Box::new(move || clock.now().ms())
        };
        let mut followed = None;
        self.server = match self.backend {
            Backend::Sandbox | Backend::ByScript => None,
            Backend::Core => {
                let node = CoreNode::start(Arc::clone(&sandbox), self.folder.path(), its_clock);
                Some(Server::Core(node.unwrap()))
            }
            Backend::Electrum => Some(Server::Electrum(ElectrumNode::start(Arc::clone(&sandbox), its_clock).unwrap())),
            Backend::Esplora => Some(Server::Esplora(EsploraServer::start(Arc::clone(&sandbox), its_clock).unwrap())),
            Backend::Bitcoind | Backend::Electrs => {
                let real = match self.server.take() {
                    Some(Server::Real(real)) => real,
                    _ => Arc::new(Real::start(self.backend, self.folder.path())),
                };
                followed = Some(Followed { real: Arc::clone(&real), sandbox: Arc::clone(&sandbox), clock });
                Some(Server::Real(real))
            }
        };
        self.world = Some(match (self.backend, &self.server) {
            (Backend::ByScript, _) => world.with_chain(|chain| Arc::new(ByScript::new(chain, sandbox))),
            (_, None) => world,
            (_, Some(_)) => {
                let chosen = Arc::new(Chosen::new(Network::Regtest, Handle::current()));
                self.chosen = Some(Arc::clone(&chosen));
                self.wait(AT_LEISURE);
                let instance = Some(sandbox.identity());
                world.with_chain(|_| Arc::new(Shown { chosen, instance, followed }))
            }
        });
        self
    }
}

impl Real {
    fn start(backend: Backend, folder: &std::path::Path) -> Self {
        let program = Bitcoind::program().expect("BITCOIND_EXE names no program");
        let node = Bitcoind::start(&program, folder).unwrap();
        let electrs = (backend == Backend::Electrs).then(|| {
            let program = Electrs::program().expect("ELECTRS_EXE names no program");
            Electrs::start(&program, folder, &node).unwrap()
        });
        Self { node, electrs }
    }
}

/// A node's chain, told from others as the sandbox's is that the node shows: it is opened as that again.
struct Shown {
    chosen: Arc<Chosen>,
    instance: Option<[u8; 32]>,
    /// The real node behind it, where it is one.
    followed: Option<Followed>,
}

/// A real node, and the sandbox that it follows.
struct Followed {
    real: Arc<Real>,
    sandbox: Arc<Sandbox>,
    clock: Arc<dyn Clock>,
}

impl Shown {
    /// Brings a real node to where the sandbox is.
    fn follow(&self) -> Result<(), ChainDown> {
        let Some(Followed { real, sandbox, clock }) = &self.followed else { return Ok(()) };
        let followed = real.node.follow(sandbox, clock.now().ms()).and_then(|()| match &real.electrs {
            Some(electrs) => electrs.follow(sandbox, &real.node),
            None => Ok(()),
        });
        followed.map_err(|error| ChainDown(error.to_string()))
    }

    /// What a real node took the sandbox must take too: its miner is the only one.
    fn tell_the_sandbox(&self, package: &[Transaction], answer: &Broadcast) -> Result<(), ChainDown> {
        let (Some(Followed { sandbox, clock, .. }), Broadcast::Accepted) = (&self.followed, answer) else {
            return Ok(());
        };
        let taken = sandbox.broadcast_package(package, clock.now().ms());
        taken.map(|_| ()).map_err(|refusal| ChainDown(format!("the node took what the sandbox refuses: {refusal}")))
    }
}

impl Chain for Shown {
    fn identity(&self) -> Result<Identity, ChainDown> {
        self.follow()?;
        Ok(Identity { instance: self.instance, ..self.chosen.identity()? })
    }

    fn tip(&self) -> Result<Tip, ChainDown> {
        self.follow()?;
        self.chosen.tip()
    }

    fn first_block(&self) -> Result<u32, ChainDown> {
        self.chosen.first_block()
    }

    fn look(&self, request: &LookRequest<'_>) -> Result<View, ChainDown> {
        self.follow()?;
        self.chosen.look(request)
    }

    fn broadcast(&self, package: &[Transaction]) -> Result<Broadcast, ChainDown> {
        self.follow()?;
        let answer = self.chosen.broadcast(package)?;
        self.tell_the_sandbox(package, &answer)?;
        Ok(answer)
    }

    fn fee_rate(&self, blocks: u16) -> Result<Option<FeeRate>, ChainDown> {
        self.chosen.fee_rate(blocks)
    }

    fn has_mempool(&self) -> bool {
        self.chosen.has_mempool()
    }

    fn sees(&self) -> Sees {
        self.chosen.sees()
    }

    fn wake(&self) -> Option<&Notify> {
        self.chosen.wake()
    }
}

/// How to ask this node.
pub fn options(node: &CoreNode, sign_in: SignIn, answered_within: Duration) -> CoreOptions {
    CoreOptions { url: node.url(), sign_in, network: Network::Regtest, answered_within, proxy: None }
}

/// How to ask this server, as often as a test likes.
pub fn esplora_options(server: &EsploraServer, answered_within: Duration) -> EsploraOptions {
    EsploraOptions { url: server.url(), network: Network::Regtest, proxy: None, answered_within, pace: Pace::HERE }
}
