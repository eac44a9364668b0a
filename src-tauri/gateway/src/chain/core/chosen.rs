//! The node that the settings name: another from one look to the next where they change, and none where they name none.

use std::sync::Arc;

use bitcoin::{FeeRate, Network, Transaction};
use parking_lot::RwLock;
use tokio::runtime::Handle;

use super::{CoreChain, CoreOptions};
use crate::chain::{Broadcast, Chain, ChainDown, Identity, LookRequest, Tip, View};

/// The node that the settings name.
pub(crate) struct ChosenCore {
    network: Network,
    runtime: Handle,
    node: RwLock<Result<Arc<CoreChain>, ChainDown>>,
}

impl ChosenCore {
    /// None yet.
    pub(crate) fn new(network: Network, runtime: Handle) -> Self {
        Self { network, runtime, node: RwLock::new(Err(none())) }
    }

    /// The network that every node must be on.
    pub(crate) const fn network(&self) -> Network {
        self.network
    }

    /// Asks this node from now on; `Err` says why there is none. What is remembered of the one before is forgotten.
    pub(crate) fn choose(&self, options: Result<Option<CoreOptions>, String>) {
        let chosen = match options {
            Ok(Some(options)) => CoreChain::new(&options, self.runtime.clone())
                .map(Arc::new)
                .map_err(|error| ChainDown(error.to_string())),
            Ok(None) => Err(none()),
            Err(why) => Err(ChainDown(why)),
        };
        *self.node.write() = chosen;
    }

    fn node(&self) -> Result<Arc<CoreChain>, ChainDown> {
        self.node.read().clone()
    }
}

fn none() -> ChainDown {
    ChainDown("no Bitcoin backend is set: tillgate settings set backendUrl http://127.0.0.1:8332 (your node's address), and backendCookieFile or backendUser".to_owned())
}

impl Chain for ChosenCore {
    fn identity(&self) -> Result<Identity, ChainDown> {
        self.node()?.identity()
    }

    fn tip(&self) -> Result<Tip, ChainDown> {
        self.node()?.tip()
    }

    fn first_block(&self) -> Result<u32, ChainDown> {
        self.node()?.first_block()
    }

    fn look(&self, request: &LookRequest<'_>) -> Result<View, ChainDown> {
        self.node()?.look(request)
    }

    fn broadcast(&self, package: &[Transaction]) -> Result<Broadcast, ChainDown> {
        self.node()?.broadcast(package)
    }

    fn fee_rate(&self, blocks: u16) -> Result<FeeRate, ChainDown> {
        self.node()?.fee_rate(blocks)
    }

    fn has_mempool(&self) -> bool {
        true
    }
}
