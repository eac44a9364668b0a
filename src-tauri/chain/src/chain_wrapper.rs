//! Chains for tests that answer some questions differently from the chain that they wrap.

use bitcoin::{Transaction, Txid};
use tillgate_domain::closing::CutOff;
use tillgate_domain::time::Timestamp;
use tillgate_told::Telling;
use tokio::sync::Notify;

use crate::{
    Broadcast, Chain, ChainDown, Identity, LookAnswer, LookRequest, NodeFeeRates,
    RecentTransactions, Sees, Tip,
};

/// A wrapper of a chain. It forwards each question to `chain`, except in the methods that a test
/// overrides.
pub trait ChainWrapper: Send + Sync {
    fn chain(&self) -> &dyn Chain;

    fn identity(&self) -> Result<Identity, ChainDown> {
        self.chain().identity()
    }

    fn tip(&self) -> Result<Tip, ChainDown> {
        self.chain().tip()
    }

    fn first_block(&self) -> Result<u32, ChainDown> {
        self.chain().first_block()
    }

    fn height_before(&self, at: Timestamp) -> Result<u32, ChainDown> {
        self.chain().height_before(at)
    }

    fn look(&self, request: &LookRequest<'_>) -> Result<LookAnswer, ChainDown> {
        self.chain().look(request)
    }

    fn broadcast(&self, package: &[Transaction]) -> Result<Broadcast, ChainDown> {
        self.chain().broadcast(package)
    }

    fn recent_transactions(
        &self,
        txids: &[Txid],
        above: u32,
    ) -> Result<RecentTransactions, ChainDown> {
        self.chain().recent_transactions(txids, above)
    }

    fn fee_rates(&self, blocks: u16) -> Result<NodeFeeRates, ChainDown> {
        self.chain().fee_rates(blocks)
    }

    fn fees_with_descendants(&self, txids: &[Txid]) -> Result<Option<u64>, ChainDown> {
        self.chain().fees_with_descendants(txids)
    }

    fn sees(&self) -> Sees {
        self.chain().sees()
    }
}

impl<T: ChainWrapper> Chain for T {
    fn identity(&self) -> Result<Identity, ChainDown> {
        ChainWrapper::identity(self)
    }

    fn tip(&self) -> Result<Tip, ChainDown> {
        ChainWrapper::tip(self)
    }

    fn first_block(&self) -> Result<u32, ChainDown> {
        ChainWrapper::first_block(self)
    }

    fn software(&self) -> Result<Option<String>, ChainDown> {
        self.chain().software()
    }

    fn certificate_to_pin(&self) -> Option<String> {
        self.chain().certificate_to_pin()
    }

    fn height_before(&self, at: Timestamp) -> Result<u32, ChainDown> {
        ChainWrapper::height_before(self, at)
    }

    fn server(&self) -> usize {
        self.chain().server()
    }

    fn generation(&self) -> u64 {
        self.chain().generation()
    }

    fn look(&self, request: &LookRequest<'_>) -> Result<LookAnswer, ChainDown> {
        ChainWrapper::look(self, request)
    }

    fn broadcast(&self, package: &[Transaction]) -> Result<Broadcast, ChainDown> {
        ChainWrapper::broadcast(self, package)
    }

    fn recent_transactions(
        &self,
        txids: &[Txid],
        above: u32,
    ) -> Result<RecentTransactions, ChainDown> {
        ChainWrapper::recent_transactions(self, txids, above)
    }

    fn fee_rates(&self, blocks: u16) -> Result<NodeFeeRates, ChainDown> {
        ChainWrapper::fee_rates(self, blocks)
    }

    fn fees_with_descendants(&self, txids: &[Txid]) -> Result<Option<u64>, ChainDown> {
        ChainWrapper::fees_with_descendants(self, txids)
    }

    fn has_mempool(&self) -> bool {
        self.chain().has_mempool()
    }

    fn cut_off(&self) -> Option<CutOff> {
        self.chain().cut_off()
    }

    fn sees(&self) -> Sees {
        ChainWrapper::sees(self)
    }

    fn wake(&self) -> Option<&Notify> {
        self.chain().wake()
    }

    fn fault(&self) -> Option<Telling> {
        self.chain().fault()
    }

    fn fault_once_tried(&self) -> Option<Telling> {
        self.chain().fault_once_tried()
    }
}
