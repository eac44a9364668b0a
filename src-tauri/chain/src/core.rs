//! Bitcoin Core as a backend over JSON-RPC: blocks one after the other, and the mempool by polling.
//! It never asks about addresses, so the node learns none, and a look costs the same for any number
//! of them. If the node publishes notices over ZeroMQ, they start looks at once.
//!
//! The memory between looks is valid only with the token of the last answer. With any other token,
//! and after every failure, the memory is dropped and everything that may have changed is reported
//! again.

mod blocks;
mod fees;
mod linked_headers;
mod look;
mod mempool;
mod notices;
mod options;
mod recent_blocks;
mod results;
mod resume;
mod rpc;
mod state;
mod submit;
mod unconfirmed;

use std::time::Duration;

use bitcoin::constants::genesis_block;
use bitcoin::{BlockHash, Network, Transaction, Txid};
use parking_lot::Mutex;
use serde_json::json;
use tillgate_domain::chain::{Identity, Tip};
use tillgate_domain::closing::CutOff;
use tillgate_domain::time::Timestamp;
use tillgate_told::Telling;
use tokio::runtime::Handle;
use tokio::sync::Notify;

use super::checks::sanitized::sanitized;
use super::checks::{errors, header_rules};
use super::port::{
    Broadcast, Chain, ChainDown, LookAnswer, LookRequest, NodeFeeRates, RecentTransactions, Sees,
};

pub use notices::NoNotices;
pub use notices::{NoticesOptions, NoticesPace};
pub use options::BadCookie;
pub use options::{BadNode, CoreOptions, Credentials};

use notices::Notices;
use results::{NetworkInfo, Reach};
use rpc::{Rpc, call};
use state::State;

/// The time limit of a request: longer than a slow node takes for the largest block.
pub const ANSWERED_WITHIN: Duration = Duration::from_secs(30);

pub struct CoreChain {
    rpc: Rpc,
    network: Network,
    state: Mutex<State>,
    /// As of the last answer.
    reach: Mutex<Reach>,
    notices: Option<Notices>,
}

impl CoreChain {
    /// A backend for the node in `options`. Its connections live on `runtime`, so do not call its
    /// methods there.
    ///
    /// # Errors
    /// When a URL is invalid.
    pub fn new(options: &CoreOptions, runtime: Handle) -> Result<Self, BadNode> {
        let notices = options
            .notices
            .clone()
            .map(|options| Notices::listen(options, runtime.clone()))
            .transpose()?;
        Ok(Self {
            rpc: Rpc::new(options, runtime)?,
            network: options.network,
            state: Mutex::default(),
            reach: Mutex::default(),
            notices,
        })
    }

    #[cfg(any(test, feature = "testing"))]
    pub fn last_notice(&self) -> Option<u32> {
        self.notices.as_ref()?.count()
    }
}

impl Chain for CoreChain {
    fn identity(&self) -> Result<Identity, ChainDown> {
        let genesis: BlockHash = self.rpc.ask(call("getblockhash", json!([0])))?;
        let wanted = genesis_block(self.network).block_hash();
        if genesis == wanted {
            return Ok(Identity { genesis, instance: None });
        }
        Err(errors::other_network("node", "node", genesis, self.network))
    }

    fn tip(&self) -> Result<Tip, ChainDown> {
        let synced = blocks::synced(&self.rpc)?;
        *self.reach.lock() = synced.reach;
        let header = blocks::header(&self.rpc, self.network, synced.tip)?;
        Ok(Tip {
            height: synced.tip.height,
            hash: synced.tip.hash,
            time: header_rules::time(&header),
        })
    }

    fn first_block(&self) -> Result<u32, ChainDown> {
        Ok(blocks::info(&self.rpc)?.pruneheight.unwrap_or(0))
    }

    fn software(&self) -> Result<Option<String>, ChainDown> {
        let network: NetworkInfo = self.rpc.ask(call("getnetworkinfo", json!([])))?;
        Ok(Some(sanitized(&network.subversion)))
    }

    fn certificate_to_pin(&self) -> Option<String> {
        None
    }

    fn height_before(&self, at: Timestamp) -> Result<u32, ChainDown> {
        blocks::height_before(&self.rpc, self.network, at)
    }

    fn server(&self) -> usize {
        0
    }

    fn generation(&self) -> u64 {
        0
    }

    fn look(&self, request: &LookRequest<'_>) -> Result<LookAnswer, ChainDown> {
        let mut kept = self.state.lock();
        let mut state = std::mem::take(&mut *kept);
        let looked =
            look::look(&self.rpc, self.network, &mut state, request, self.notices.as_ref());
        if looked.is_ok() {
            *self.reach.lock() = state.reach;
        } else {
            state = state.failed();
        }
        *kept = state;
        looked
    }

    fn broadcast(&self, package: &[Transaction]) -> Result<Broadcast, ChainDown> {
        submit::broadcast(&self.rpc, package)
    }

    fn recent_transactions(
        &self,
        txids: &[Txid],
        above: u32,
    ) -> Result<RecentTransactions, ChainDown> {
        recent_blocks::recent(&self.rpc, txids, above)
    }

    fn fees_with_descendants(&self, txids: &[Txid]) -> Result<Option<u64>, ChainDown> {
        fees::with_descendants(&self.rpc, txids)
    }

    fn fee_rates(&self, blocks: u16) -> Result<NodeFeeRates, ChainDown> {
        fees::fee_rates(&self.rpc, blocks)
    }

    fn has_mempool(&self) -> bool {
        self.reach.lock().has_mempool
    }

    fn cut_off(&self) -> Option<CutOff> {
        self.reach.lock().cut_off
    }

    fn sees(&self) -> Sees {
        Sees::Everything
    }

    fn wake(&self) -> Option<&Notify> {
        self.notices.as_ref().map(Notices::wake)
    }

    fn fault(&self) -> Option<Telling> {
        self.notices.as_ref()?.fault()
    }

    fn fault_once_tried(&self) -> Option<Telling> {
        self.notices.as_ref()?.fault_once_tried()
    }
}
