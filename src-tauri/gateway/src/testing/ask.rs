//! One answer of the backend, outside the watcher.

use bitcoin::{Transaction, Txid};
use tillgate_chain::{ChainDown, LookAnswer, LookRequest, Scripts, WatchList};

use super::World;

/// A watch list that every transaction concerns.
struct Everything;

impl WatchList for Everything {
    fn concerns(&self, _: &Transaction) -> bool {
        true
    }

    fn txids(&self) -> &[Txid] {
        &[]
    }

    fn unsettled(&self, _: u32) -> Vec<Transaction> {
        Vec::new()
    }
}

impl World {
    /// Asks the backend for all transactions of these scripts since `token`. The test needs a
    /// runtime of several threads.
    pub fn ask(&self, token: Option<&[u8]>, scripts: Scripts<'_>) -> Result<LookAnswer, ChainDown> {
        let request =
            LookRequest { token, birth_height: None, watch: &Everything, scripts, is_woken: false };
        tokio::task::block_in_place(|| self.gateway.backend.chain.look(&request))
    }
}
