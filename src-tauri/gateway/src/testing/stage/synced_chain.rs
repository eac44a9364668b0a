//! A node's chain as a test's gateway sees it: at the sandbox's current state.

use std::sync::Arc;
use std::time::Duration;

use bitcoin::{FeeRate, Transaction, Txid};
use tillgate_chain::chain_wrapper::ChainWrapper;
use tillgate_chain::core::CoreChain;
use tillgate_chain::{
    Broadcast, Chain, ChainDown, Identity, LookAnswer, LookRequest, NodeFeeRates,
    RecentTransactions, Tip,
};
use tillgate_machine::clock::Clock;
use tillgate_nodes::CoreNode;
use tillgate_sandbox::Sandbox;

use super::Real;

/// A node's chain with the sandbox's identity, so that a reopened gateway takes it for the same
/// chain.
pub struct SyncedChain {
    pub chain: Arc<dyn Chain>,
    pub instance: Option<[u8; 32]>,
    /// The real node behind it, if there is one.
    pub followed: Option<Followed>,
    /// Set if looks wait until all notices are heard.
    pub receiver: Option<NoticeReceiver>,
}

/// A node with notices over ZeroMQ, and their receiver.
pub struct NoticeReceiver {
    pub chain: Arc<CoreChain>,
    /// `None` for a real node.
    pub by: Option<Arc<CoreNode>>,
}

/// A real node, and the sandbox that it follows.
pub struct Followed {
    pub real: Arc<Real>,
    pub sandbox: Arc<Sandbox>,
    pub clock: Arc<dyn Clock>,
}

impl NoticeReceiver {
    fn wait_until_heard(&self) {
        let is_heard = || match &self.by {
            Some(node) => {
                let (subscriptions, count) = node.published().unwrap();
                subscriptions > 0 && self.chain.last_notice() == count
            }
            None => {
                // A real node does not report the number of its notices: wait until none arrives
                // for a while.
                let before = self.chain.last_notice();
                std::thread::sleep(Duration::from_millis(30));
                before == self.chain.last_notice()
            }
        };
        for _ in 0..5_000 {
            if is_heard() {
                return;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        panic!("the node's notices did not arrive: {:?}", self.chain.fault());
    }
}

impl SyncedChain {
    /// Brings a real node to the sandbox's state.
    fn follow(&self) -> Result<(), ChainDown> {
        if let Some(Followed { real, sandbox, clock }) = &self.followed {
            real.follow(sandbox, clock.now().ms())
                .map_err(|error| ChainDown::of_text(error.to_string()))?;
        }
        if let Some(receiver) = &self.receiver {
            receiver.wait_until_heard();
        }
        Ok(())
    }

    /// Passes a transaction that a real node accepted to the sandbox, which is the only miner.
    fn tell_the_sandbox(
        &self,
        package: &[Transaction],
        answer: &Broadcast,
    ) -> Result<(), ChainDown> {
        let (Some(Followed { sandbox, clock, .. }), Broadcast::Accepted) = (&self.followed, answer)
        else {
            return Ok(());
        };
        let taken = sandbox.broadcast_package(package, clock.now().ms());
        taken.map(|_| ()).map_err(|refusal| {
            ChainDown::of_text(format!("the node accepted, the sandbox refuses: {refusal}"))
        })
    }
}

impl ChainWrapper for SyncedChain {
    fn chain(&self) -> &dyn Chain {
        self.chain.as_ref()
    }

    fn identity(&self) -> Result<Identity, ChainDown> {
        self.follow()?;
        Ok(Identity { instance: self.instance, ..self.chain.identity()? })
    }

    fn tip(&self) -> Result<Tip, ChainDown> {
        self.follow()?;
        self.chain.tip()
    }

    fn look(&self, request: &LookRequest<'_>) -> Result<LookAnswer, ChainDown> {
        self.follow()?;
        self.chain.look(request)
    }

    fn broadcast(&self, package: &[Transaction]) -> Result<Broadcast, ChainDown> {
        self.follow()?;
        let answer = self.chain.broadcast(package)?;
        self.tell_the_sandbox(package, &answer)?;
        Ok(answer)
    }

    fn recent_transactions(
        &self,
        txids: &[Txid],
        above: u32,
    ) -> Result<RecentTransactions, ChainDown> {
        self.follow()?;
        self.chain.recent_transactions(txids, above)
    }

    fn fee_rates(&self, blocks: u16) -> Result<NodeFeeRates, ChainDown> {
        let told = self.chain.fee_rates(blocks)?;
        let Some(Followed { sandbox, .. }) = &self.followed else { return Ok(told) };
        // A real node has no estimate on regtest, so it gets the sandbox's.
        let faults = sandbox.faults().map_err(|error| ChainDown::of_text(error.to_string()))?;
        Ok(NodeFeeRates {
            estimate: FeeRate::from_sat_per_vb(faults.fee_estimate_sat_vb()),
            ..told
        })
    }
}
