//! Several servers of one kind, as one backend. Each request goes to the first server that answers.
//! All answers of one look come from one server. A server on another network is asked only for its
//! network.

use std::sync::Arc;
use std::time::Duration;

use bitcoin::constants::genesis_block;
use bitcoin::{BlockHash, Network, Transaction, Txid};
use parking_lot::Mutex;
use tillgate_domain::chain::{Identity, Tip};
use tillgate_domain::closing::CutOff;
use tillgate_domain::time::Timestamp;
use tillgate_told::Telling;
use tillgate_told::Told as _;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::port::{
    Broadcast, Chain, ChainDown, LookAnswer, LookRequest, NodeFeeRates, RecentTransactions, Sees,
};
use super::waker::Active;
use crate::down::Down;

/// The time for which a failed server is asked only after the others.
const RETRIED_AFTER: Duration = Duration::from_secs(300);

/// This many tip changes in a row, each during a request, count as a failure: one name may hide two
/// servers.
const CHANGES_MAX: u32 = 3;

/// Servers, the preferred first.
pub struct Servers {
    servers: Vec<Server>,
    genesis: BlockHash,
    network: Network,
    active: Active,
    retried_after: Duration,
    /// The incomplete look: the server of its last answer, and that answer's token.
    under_way: Mutex<Option<(usize, Vec<u8>)>>,
}

struct Server {
    name: String,
    chain: Arc<dyn Chain>,
    health: Mutex<Health>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Health {
    /// The server has shown that it is on our network, and has not failed since.
    is_ours: bool,
    failed_at: Option<Instant>,
    /// The number of requests in a row during which the server's tip changed.
    changes: u32,
}

impl Servers {
    pub fn new(servers: Vec<(String, Arc<dyn Chain>)>, network: Network, active: Active) -> Self {
        let servers = servers.into_iter().map(|(name, chain)| Server {
            name,
            chain,
            health: Mutex::default(),
        });
        Self {
            servers: servers.collect(),
            genesis: genesis_block(network).block_hash(),
            network,
            active,
            retried_after: RETRIED_AFTER,
            under_way: Mutex::new(None),
        }
    }

    /// Asks the servers in turn until one answers. Servers without a recent failure come first, in
    /// the order of the settings. Fails with each server's reason. Also fails if a block arrived
    /// meanwhile; the next request then goes to the same server.
    fn ask<T>(
        &self,
        ask: impl Fn(&dyn Chain) -> Result<T, ChainDown>,
    ) -> Result<(usize, T), ChainDown> {
        let mut reasons = Vec::new();
        for (number, server) in self.by_preference() {
            match self.ask_one(server, &ask) {
                Ok(answer) => {
                    if self.active.switch_to(number) != number {
                        tracing::warn!(server = server.name, "another server is asked from now on");
                    }
                    return Ok((number, answer));
                }
                Err(error) if error.is_tip_changed() && !self.has_failed(server) => {
                    return Err(error);
                }
                Err(error) => reasons
                    .push(Down::OfServer { name: server.name.clone(), why: error.0 }.telling()),
            }
        }
        let both = |first, next| Down::Both { first, next }.telling();
        Err(ChainDown(reasons.into_iter().reduce(both).unwrap_or_else(|| Down::NotSet.telling())))
    }

    /// Asks a server on our network and notes a failure. A block that arrived meanwhile is no
    /// failure.
    fn ask_one<T>(
        &self,
        server: &Server,
        ask: impl Fn(&dyn Chain) -> Result<T, ChainDown>,
    ) -> Result<T, ChainDown> {
        let asked = self.check_network(server).and_then(|()| ask(server.chain.as_ref()));
        let mut health = server.health.lock();
        let changes = health.changes.saturating_add(1);
        *health = match &asked {
            Ok(_) => Health { is_ours: true, ..Health::default() },
            Err(error) if error.is_tip_changed() && changes < CHANGES_MAX => {
                Health { changes, ..*health }
            }
            Err(_) => Health { failed_at: Some(Instant::now()), ..Health::default() },
        };
        drop(health);
        asked
    }

    /// Fails if the server is on another network.
    fn check_network(&self, server: &Server) -> Result<(), ChainDown> {
        if server.health.lock().is_ours {
            return Ok(());
        }
        let genesis = server.chain.identity()?.genesis;
        if genesis == self.genesis {
            return Ok(());
        }
        Err(Down::OtherServersNetwork { genesis: genesis.to_string(), network: self.network }
            .into())
    }

    fn by_preference(&self) -> Vec<(usize, &Server)> {
        let numbered = || self.servers.iter().enumerate();
        let (failed, well): (Vec<_>, Vec<_>) =
            numbered().partition(|(_, server)| self.has_failed(server));
        well.into_iter().chain(failed).collect()
    }

    fn has_failed(&self, server: &Server) -> bool {
        server.health.lock().failed_at.is_some_and(|at| at.elapsed() < self.retried_after)
    }

    fn active_server(&self) -> Option<&Server> {
        self.servers.get(self.active.number())
    }
}

impl Chain for Servers {
    fn identity(&self) -> Result<Identity, ChainDown> {
        Ok(self.ask(|chain| chain.identity())?.1)
    }

    fn tip(&self) -> Result<Tip, ChainDown> {
        Ok(self.ask(|chain| chain.tip())?.1)
    }

    fn first_block(&self) -> Result<u32, ChainDown> {
        Ok(self.ask(|chain| chain.first_block())?.1)
    }

    fn software(&self) -> Result<Option<String>, ChainDown> {
        Ok(self.ask(|chain| chain.software())?.1)
    }

    fn certificate_to_pin(&self) -> Option<String> {
        self.servers.iter().find_map(|server| server.chain.certificate_to_pin())
    }

    fn height_before(&self, at: Timestamp) -> Result<u32, ChainDown> {
        Ok(self.ask(|chain| chain.height_before(at))?.1)
    }

    fn generation(&self) -> u64 {
        0
    }

    fn server(&self) -> usize {
        self.active.number()
    }

    fn look(&self, request: &LookRequest<'_>) -> Result<LookAnswer, ChainDown> {
        let under_way = self.under_way.lock().take();
        let goes_on =
            under_way.filter(|(_, token)| request.token == Some(token)).map(|(number, _)| number);
        let (number, view) = match goes_on
            .and_then(|number| Some((number, self.servers.get(number)?)))
        {
            // If this server fails now, the whole look fails, and another server answers the next
            // look.
            Some((number, server)) => (number, self.ask_one(server, |chain| chain.look(request))?),
            None => self.ask(|chain| chain.look(request))?,
        };
        *self.under_way.lock() = view.more.then(|| (number, view.token.clone()));
        Ok(view)
    }

    fn broadcast(&self, package: &[Transaction]) -> Result<Broadcast, ChainDown> {
        // A silent server may have accepted the package. A repetition is harmless, since its
        // transactions are the same.
        Ok(self.ask(|chain| chain.broadcast(package))?.1)
    }

    fn recent_transactions(
        &self,
        txids: &[Txid],
        above: u32,
    ) -> Result<RecentTransactions, ChainDown> {
        Ok(self.ask(|chain| chain.recent_transactions(txids, above))?.1)
    }

    fn fees_with_descendants(&self, txids: &[Txid]) -> Result<Option<u64>, ChainDown> {
        Ok(self.ask(|chain| chain.fees_with_descendants(txids))?.1)
    }

    fn fee_rates(&self, blocks: u16) -> Result<NodeFeeRates, ChainDown> {
        Ok(self.ask(|chain| chain.fee_rates(blocks))?.1)
    }

    fn has_mempool(&self) -> bool {
        self.active_server().is_none_or(|server| server.chain.has_mempool())
    }

    fn cut_off(&self) -> Option<CutOff> {
        self.active_server()?.chain.cut_off()
    }

    fn sees(&self) -> Sees {
        self.active_server().map_or(Sees::Scripts, |server| server.chain.sees())
    }

    fn wake(&self) -> Option<&Notify> {
        Some(self.active.notify())
    }

    fn fault(&self) -> Option<Telling> {
        self.servers.iter().find_map(|server| server.chain.fault())
    }

    fn fault_once_tried(&self) -> Option<Telling> {
        self.servers.iter().find_map(|server| server.chain.fault_once_tried())
    }
}

#[cfg(test)]
mod tests;
