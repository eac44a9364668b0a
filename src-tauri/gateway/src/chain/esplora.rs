//! An Esplora server as a backend, by its HTTP interface: it is asked about each script that matters, and so learns them.
//!
//! What it says is believed as far as it can be checked: headers by their links and their work, transactions by their ids,
//! confirmations by proofs that lead to the headers. What is in the mempool, and that there is no more, is its word alone.

mod answers;
mod broadcast;
mod chain_of;
mod deep;
mod facts;
mod fees;
mod headers;
mod history;
mod in_vain;
mod look;
mod pace;
mod positions;
mod questions;
mod recent;
mod server;
mod state;
mod strangers;

use std::time::Duration;

use bitcoin::constants::genesis_block;
use bitcoin::{FeeRate, Network, Transaction, Txid};
use parking_lot::Mutex;
use tillgate_domain::time::Timestamp;
use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::{Broadcast, Chain, ChainDown, Identity, LookRequest, Recent, Sees, Tip, View, refusals, signed};
use crate::machine::outgoing::Proxy;

pub(crate) use pace::Pace;
pub(crate) use server::BadServer;

use server::Server;
use state::State;

/// Where a server is, and how it is asked.
#[derive(Debug, Clone)]
pub(crate) struct EsploraOptions {
    /// `https://host/api`.
    pub url: String,
    /// The network that it must be on.
    pub network: Network,
    /// Where one is given, the server is asked through it.
    pub proxy: Option<Proxy>,
    /// A server that takes longer for one answer is taken for silent.
    pub answered_within: Duration,
    /// How often it may be asked.
    pub pace: Pace,
}

/// After this long a look asks nothing more: what it did not come to has its turn in the next.
const LOOK_WITHIN: Duration = Duration::from_secs(30);

/// An Esplora server.
pub(crate) struct EsploraChain {
    server: Server,
    network: Network,
    state: Mutex<State>,
    /// Once it was asked, until something fails.
    identity: Mutex<Option<Identity>>,
}

/// One look under way.
struct Asking<'a> {
    server: &'a Server,
    network: Network,
    began: Instant,
}

impl Asking<'_> {
    /// Whether the look takes so long that nothing more is asked.
    fn is_late(&self) -> bool {
        self.began.elapsed() > LOOK_WITHIN
    }

    /// Whether it is time to judge what was found, which takes questions of its own.
    fn has_asked_long(&self) -> bool {
        self.began.elapsed() > LOOK_WITHIN / 2
    }

    /// Waits until another page of a history may be asked for; no where it is time to judge what was found.
    fn take_page(&self) -> bool {
        let is_time = !self.has_asked_long();
        if is_time {
            self.server.bucket.wait();
        }
        is_time
    }

    /// How many transactions can be proved in the time that is left for it.
    fn proofs_max(&self) -> usize {
        let seconds = (LOOK_WITHIN / 2).as_secs();
        usize::try_from(seconds.saturating_mul(self.server.bucket.per_second())).unwrap_or(usize::MAX)
    }

    /// Waits until a question may be asked on which others of this look rest; answers whether it may, for nothing is asked where
    /// the look is late.
    fn take_turn(&self) -> bool {
        let is_late = self.is_late();
        if !is_late {
            self.server.bucket.wait();
        }
        !is_late
    }
}

impl EsploraChain {
    /// Asks the server that `options` name. Its connections live on `runtime`, so that its calls may not be made from there.
    ///
    /// # Errors
    /// When the URL is none, or nobody can be trusted.
    pub(crate) fn new(options: &EsploraOptions, runtime: Handle) -> Result<Self, BadServer> {
        let server = Server::new(options, runtime)?;
        Ok(Self { server, network: options.network, state: Mutex::default(), identity: Mutex::default() })
    }
}

#[cfg(test)]
impl EsploraChain {
    /// The same, which trusts this certificate, as DER, and no other.
    pub(crate) fn trusting(options: &EsploraOptions, certificate: &[u8], runtime: Handle) -> Result<Self, BadServer> {
        let server = Server::trusting(options, certificate, runtime)?;
        Ok(Self { server, network: options.network, state: Mutex::default(), identity: Mutex::default() })
    }
}

impl Chain for EsploraChain {
    fn identity(&self) -> Result<Identity, ChainDown> {
        let known = *self.identity.lock();
        if let Some(known) = known {
            return Ok(known);
        }
        let genesis = headers::hash_at(&self.server, 0)?;
        let genesis = genesis.ok_or_else(|| self.server.nonsense("/block-height", "it has no first block"))?;
        if genesis == genesis_block(self.network).block_hash() {
            let identity = Identity { genesis, instance: None };
            *self.identity.lock() = Some(identity);
            return Ok(identity);
        }
        Err(refusals::other_network("server", "server", genesis, self.network))
    }

    fn tip(&self) -> Result<Tip, ChainDown> {
        let hash = headers::tip_hash(&self.server)?;
        let (height, known) = headers::block(&self.server, self.network, hash)?;
        headers::check_floor(self.network, height, &known)?;
        Ok(Tip { height, hash, time: known.time() })
    }

    fn first_block(&self) -> Result<u32, ChainDown> {
        Ok(0)
    }

    fn software(&self) -> Result<Option<String>, ChainDown> {
        Ok(None)
    }

    fn certificate_to_pin(&self) -> Option<String> {
        None
    }

    fn height_before(&self, _at: Timestamp) -> Result<u32, ChainDown> {
        Ok(0)
    }

    fn choice(&self) -> u64 {
        0
    }

    fn look(&self, request: &LookRequest<'_>) -> Result<View, ChainDown> {
        let asking = Asking { server: &self.server, network: self.network, began: Instant::now() };
        let looked = look::look(&asking, &mut self.state.lock(), request);
        let looked = looked.and_then(|view| signed::check(view, request.watch, "server"));
        if looked.is_err() {
            *self.identity.lock() = None;
        }
        looked
    }

    fn broadcast(&self, package: &[Transaction]) -> Result<Broadcast, ChainDown> {
        Ok(broadcast::broadcast(&self.server, package)?)
    }

    fn recent(&self, txids: &[Txid], above: u32) -> Result<Recent, ChainDown> {
        Ok(recent::recent(&self.server, &mut self.state.lock(), txids, above)?)
    }

    fn fee_rate(&self, blocks: u16) -> Result<Option<FeeRate>, ChainDown> {
        Ok(fees::fee_rate(&self.server, blocks)?)
    }

    fn has_mempool(&self) -> bool {
        true
    }

    fn sees(&self) -> Sees {
        Sees::Scripts
    }

    fn wake(&self) -> Option<&Notify> {
        None
    }

    fn trouble(&self) -> Option<String> {
        None
    }

    fn trouble_once_tried(&self) -> Option<String> {
        None
    }
}
