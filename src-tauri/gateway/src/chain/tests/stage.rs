//! A gateway whose backend is under test, on a sandbox's chain: the customer, the miner and the clock are the sandbox's,
//! whichever backend shows what they do.

use std::sync::Arc;
use std::time::Duration;

use bitcoin::{FeeRate, Network, Transaction};
use tempfile::TempDir;
use tillgate_nodes::CoreNode;
use tokio::runtime::Handle;

use crate::chain::core::{ChosenCore, CoreOptions, SignIn};
use crate::chain::{Broadcast, Chain, ChainDown, Identity, LookRequest, Tip, View};
use crate::testing::World;

/// Longer than a busy machine takes for an answer.
pub const AT_LEISURE: Duration = Duration::from_secs(30);

/// What shows the chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backend {
    Sandbox,
    Core,
}

impl Backend {
    /// Every backend but the sandbox's own, which the others are compared with.
    pub const OTHERS: &[Self] = &[Self::Core];
}

/// A gateway and what it looks through.
pub struct Stage {
    /// `None` only while the gateway is restarted.
    world: Option<World>,
    backend: Backend,
    /// The server that the backend asks, where it asks one.
    pub node: Option<CoreNode>,
    chosen: Option<Arc<ChosenCore>>,
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
        Self { world: None, backend, node: None, chosen: None, folder: tempfile::tempdir().unwrap() }.with(world)
    }

    pub fn world(&self) -> &World {
        self.world.as_ref().unwrap()
    }

    /// Waits so long for the node's answers from now on, and has forgotten what it knew between looks.
    pub fn wait(&self, answered_within: Duration) {
        let sign_in = SignIn::CookieFile(self.node().cookie_file().to_owned());
        self.chosen.as_ref().unwrap().choose(Ok(Some(options(self.node(), sign_in, answered_within))));
    }

    pub fn node(&self) -> &CoreNode {
        self.node.as_ref().unwrap()
    }

    /// Stops the gateway as a crash does, lets `meanwhile` happen, and opens what it left. Nothing has looked then.
    pub async fn restart(mut self, meanwhile: impl FnOnce(&World)) -> Self {
        let world = self.world.take().unwrap();
        meanwhile(&world);
        let world = world.reopen().await;
        self.node = None;
        self.with(world)
    }

    fn with(mut self, world: World) -> Self {
        self.world = Some(match self.backend {
            Backend::Sandbox => world,
            Backend::Core => {
                let clock = Arc::clone(&world.gateway.clock);
                let clock = Box::new(move || clock.now().ms());
                let sandbox = Arc::clone(world.gateway.sandbox.as_ref().unwrap());
                let node = CoreNode::start(sandbox, self.folder.path(), clock).unwrap();
                let chosen = Arc::new(ChosenCore::new(Network::Regtest, Handle::current()));
                self.chosen = Some(Arc::clone(&chosen));
                self.node = Some(node);
                self.wait(AT_LEISURE);
                let instance = Some(world.gateway.sandbox.as_ref().unwrap().identity());
                world.with_chain(|_| Arc::new(Shown { chosen, instance }))
            }
        });
        self
    }
}

/// A node's chain, told from others as the sandbox's is that the node shows: it is opened as that again.
struct Shown {
    chosen: Arc<ChosenCore>,
    instance: Option<[u8; 32]>,
}

impl Chain for Shown {
    fn identity(&self) -> Result<Identity, ChainDown> {
        Ok(Identity { instance: self.instance, ..self.chosen.identity()? })
    }

    fn tip(&self) -> Result<Tip, ChainDown> {
        self.chosen.tip()
    }

    fn first_block(&self) -> Result<u32, ChainDown> {
        self.chosen.first_block()
    }

    fn look(&self, request: &LookRequest<'_>) -> Result<View, ChainDown> {
        self.chosen.look(request)
    }

    fn broadcast(&self, package: &[Transaction]) -> Result<Broadcast, ChainDown> {
        self.chosen.broadcast(package)
    }

    fn fee_rate(&self, blocks: u16) -> Result<FeeRate, ChainDown> {
        self.chosen.fee_rate(blocks)
    }

    fn has_mempool(&self) -> bool {
        self.chosen.has_mempool()
    }
}

/// How to ask this node.
pub fn options(node: &CoreNode, sign_in: SignIn, answered_within: Duration) -> CoreOptions {
    CoreOptions { url: node.url(), sign_in, network: Network::Regtest, answered_within }
}
