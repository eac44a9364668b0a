//! An Electrum server as a backend. Requests name single scripts, so the server learns the
//! merchant's scripts. The server notifies of changes, so a look requests little more than a sign
//! of life.
//!
//! Its answers are checked as far as possible: a header by its work and its link to known blocks, a
//! confirmation by its Merkle path. A transaction is checked by its txid, a history by its status.
//! A server can still withhold unconfirmed or new transactions, which delays them. The memory
//! between looks is valid only with the token of the last answer, as in [`super::core`].
//!
//! Follows the protocol's description (spesmilo/electrum-protocol, docs/), versions 1.4 to 1.6.

mod backoff;
mod calls;
mod connection;
mod header_chain;
mod histories;
mod look;
mod relay;
mod state;
mod transactions;

use bitcoin::{Network, Transaction, Txid};
use parking_lot::Mutex;
use serde::de::IgnoredAny;
use tillgate_domain::chain::{Identity, Tip};
use tillgate_domain::closing::CutOff;
use tillgate_domain::time::Timestamp;
use tillgate_told::Telling;
use tokio::runtime::Handle;
use tokio::sync::Notify;

use super::checks::errors::tip_changed;
use super::port::{
    Broadcast, Chain, ChainDown, LookAnswer, LookRequest, NodeFeeRates, RecentTransactions, Sees,
};
use super::waker::Waker;

use calls::subscribe_tip;
pub use connection::NotAccepted;
use connection::{Asker, Client};
pub use connection::{BadServer, ElectrumOptions, Fingerprint};
use state::State;

/// Limit of tries for one look. A look is retried if a block arrived meanwhile, or if the server
/// hung up over a script or transaction that a customer chose.
const TRIES: usize = 3;

pub struct ElectrumChain {
    client: Client,
    network: Network,
    waker: Waker,
    state: Mutex<State>,
}

impl ElectrumChain {
    /// The first call connects to the server in `options`. Calls block on `runtime`, so no task of
    /// `runtime` may make them.
    ///
    /// # Errors
    /// If the URL is invalid, or TLS cannot be set up.
    pub fn new(options: ElectrumOptions, runtime: Handle) -> Result<Self, BadServer> {
        let (network, waker) = (options.network, options.waker.clone());
        Ok(Self { client: Client::new(options, runtime)?, network, waker, state: Mutex::default() })
    }

    fn try_look(
        &self,
        state: &mut State,
        request: &LookRequest<'_>,
    ) -> Result<LookAnswer, ChainDown> {
        let connection = self.client.connection()?;
        let asker = Asker { client: &self.client, connection: &connection };
        let before = connection.session.tip();
        let view = look::look(asker, self.network, state, request).map_err(|error| {
            // The tip changed during the look, so its answers may belong to two different tips.
            let is_alive = connection.session.closed().is_none();
            if is_alive && connection.session.tip() != before { tip_changed() } else { error }
        })?;
        if !view.more {
            connection.session.close_if_busy();
        }
        Ok(view)
    }
}

impl Chain for ElectrumChain {
    fn identity(&self) -> Result<Identity, ChainDown> {
        self.client.connection()?;
        Ok(self.client.identity())
    }

    fn tip(&self) -> Result<Tip, ChainDown> {
        let connection = self.client.connection()?;
        Asker { client: &self.client, connection: &connection }
            .one::<IgnoredAny>(subscribe_tip())?;
        let tip = connection.session.tip().ok_or_else(tip_changed)?;
        header_chain::check_announced(self.network, &tip)?;
        Ok(Tip { height: tip.height, hash: tip.id().hash, time: tip.time() })
    }

    fn first_block(&self) -> Result<u32, ChainDown> {
        Ok(0)
    }

    fn software(&self) -> Result<Option<String>, ChainDown> {
        Ok(Some(self.client.connection()?.software.clone()))
    }

    fn certificate_to_pin(&self) -> Option<String> {
        self.client.certificate_to_pin()
    }

    fn height_before(&self, _at: Timestamp) -> Result<u32, ChainDown> {
        Ok(0)
    }

    fn server(&self) -> usize {
        0
    }

    fn generation(&self) -> u64 {
        0
    }

    fn look(&self, request: &LookRequest<'_>) -> Result<LookAnswer, ChainDown> {
        let mut kept = self.state.lock();
        let mut tries = 1..=TRIES;
        loop {
            let mut state = std::mem::take(&mut *kept);
            let looked = self.try_look(&mut state, request);
            *kept = if looked.is_ok() { state } else { state.failed() };
            match looked {
                Err(error)
                    if (error.is_tip_changed() || self.client.take_customers_fault())
                        && tries.next().is_some_and(|tried| tried < TRIES) => {}
                looked => {
                    if looked.is_ok() {
                        self.client.note_success();
                    }
                    return looked;
                }
            }
        }
    }

    fn broadcast(&self, package: &[Transaction]) -> Result<Broadcast, ChainDown> {
        let connection = self.client.connection()?;
        relay::broadcast(&Asker { client: &self.client, connection: &connection }, package)
    }

    fn recent_transactions(
        &self,
        txids: &[Txid],
        above: u32,
    ) -> Result<RecentTransactions, ChainDown> {
        let connection = self.client.connection()?;
        let mut state = self.state.lock();
        let backoff = &mut state.retained.backoff;
        let told = transactions::recent(
            &Asker { client: &self.client, connection: &connection },
            txids,
            above,
            backoff,
        );
        connection.session.close_if_busy();
        told
    }

    fn fees_with_descendants(&self, _txids: &[Txid]) -> Result<Option<u64>, ChainDown> {
        // The protocol has no call for it.
        Ok(None)
    }

    fn fee_rates(&self, blocks: u16) -> Result<NodeFeeRates, ChainDown> {
        let connection = self.client.connection()?;
        relay::fee_rates(&Asker { client: &self.client, connection: &connection }, blocks)
    }

    fn has_mempool(&self) -> bool {
        true
    }

    fn cut_off(&self) -> Option<CutOff> {
        None
    }

    fn sees(&self) -> Sees {
        Sees::Scripts
    }

    fn wake(&self) -> Option<&Notify> {
        Some(self.waker.notify())
    }

    fn fault(&self) -> Option<Telling> {
        None
    }

    fn fault_once_tried(&self) -> Option<Telling> {
        None
    }
}
