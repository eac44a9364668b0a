//! Bitcoin Core as a backend, by its JSON-RPC: blocks one after the other, and the mempool by polling. It asks about no
//! address, so that the node learns nothing of them, and a look costs the same however many there are.
//!
//! What is remembered between looks belongs to the token that the last answer gave. With any other token, and after
//! every failure, it is thrown away, and what may have moved since is told again.

pub(super) mod blocks;
pub(super) mod broadcast;
mod facts;
mod fees;
mod look;
pub(super) mod mempool;
mod read;
pub(super) mod rpc;
mod sign_in;
pub(super) mod state;
pub(super) mod token;

use std::time::Duration;

use bitcoin::constants::genesis_block;
use bitcoin::{BlockHash, FeeRate, Network, Transaction};
use parking_lot::Mutex;
use serde_json::json;
use tillgate_domain::time::Timestamp;
use tokio::runtime::Handle;

use super::{Broadcast, Chain, ChainDown, Identity, LookRequest, Tip, View};
use crate::machine::outgoing::Proxy;

use rpc::BadUrl;
pub(crate) use sign_in::SignIn;

use read::NetworkInfo;
use rpc::{Rpc, call};
use state::State;

/// Where a node is, and how to sign in.
#[derive(Debug, Clone)]
pub(crate) struct CoreOptions {
    /// `http://127.0.0.1:8332`.
    pub url: String,
    pub sign_in: SignIn,
    /// The network that it must be on.
    pub network: Network,
    /// A node that takes longer for one request is taken for silent.
    pub answered_within: Duration,
    /// Through which it is asked.
    pub proxy: Option<Proxy>,
}

/// What a block of the largest size takes a slow node, and more.
pub(crate) const ANSWERED_WITHIN: Duration = Duration::from_secs(30);

/// A node of Bitcoin Core.
pub(crate) struct CoreChain {
    rpc: Rpc,
    network: Network,
    state: Mutex<State>,
}

impl CoreChain {
    /// Asks the node that `options` name. Its connections live on `runtime`, so that its calls may not be made from there.
    ///
    /// # Errors
    /// When the URL is none.
    pub(crate) fn new(options: &CoreOptions, runtime: Handle) -> Result<Self, BadUrl> {
        Ok(Self { rpc: Rpc::new(options, runtime)?, network: options.network, state: Mutex::default() })
    }
}

impl Chain for CoreChain {
    fn identity(&self) -> Result<Identity, ChainDown> {
        let genesis: BlockHash = self.rpc.ask(call("getblockhash", json!([0])))?;
        let wanted = genesis_block(self.network).block_hash();
        if genesis == wanted {
            return Ok(Identity { genesis, instance: None });
        }
        let all = [Network::Bitcoin, Network::Testnet4, Network::Signet, Network::Regtest, Network::Testnet];
        let found = all.into_iter().find(|network| genesis_block(network).block_hash() == genesis);
        let found = found.map_or_else(|| format!("a network that begins with block {genesis}"), |it| it.to_string());
        Err(ChainDown(format!(
            "the node is on {found}, and the setting network says {}: set backendUrl to a node of that network",
            self.network
        )))
    }

    fn tip(&self) -> Result<Tip, ChainDown> {
        let synced = blocks::synced(&self.rpc)?;
        let header = blocks::header(&self.rpc, synced.tip)?;
        let time = Timestamp::from_ms(i64::from(header.time).saturating_mul(1_000));
        Ok(Tip { height: synced.tip.height, hash: synced.tip.hash, time })
    }

    fn first_block(&self) -> Result<u32, ChainDown> {
        Ok(blocks::info(&self.rpc)?.pruneheight.unwrap_or(0))
    }

    fn software(&self) -> Result<Option<String>, ChainDown> {
        let network: NetworkInfo = self.rpc.ask(call("getnetworkinfo", json!([])))?;
        Ok(Some(network.subversion))
    }

    fn height_before(&self, at: Timestamp) -> Result<u32, ChainDown> {
        blocks::height_before(&self.rpc, at)
    }

    fn look(&self, request: &LookRequest<'_>) -> Result<View, ChainDown> {
        let mut kept = self.state.lock();
        let mut state = std::mem::take(&mut *kept);
        let looked = look::look(&self.rpc, self.network, &mut state, request);
        if looked.is_err() {
            state = state.failed();
        }
        *kept = state;
        looked
    }

    fn broadcast(&self, package: &[Transaction]) -> Result<Broadcast, ChainDown> {
        broadcast::broadcast(&self.rpc, package)
    }

    fn fee_rate(&self, blocks: u16) -> Result<Option<FeeRate>, ChainDown> {
        fees::fee_rate(&self.rpc, blocks).map(Some)
    }

    fn has_mempool(&self) -> bool {
        true
    }
}
