//! The place of the running gateway's wallet, the lock of its making, and the draft of its words.
//! It is empty before a wallet exists. The look of a restore
//! may replace the wallet by that of the other address type.

use std::sync::Arc;

use parking_lot::RwLock;
use tokio::sync::Mutex;

use crate::wallet::{Wallet, WordsDrafts};

#[derive(Default)]
pub struct WalletSlot {
    wallet: RwLock<Option<Arc<Wallet>>>,
    /// Held while a wallet is made or restored, one at a time.
    pub setup: Mutex<()>,
    /// Words that were shown to staff but belong to no wallet yet.
    pub drafts: WordsDrafts,
}

impl WalletSlot {
    #[must_use]
    pub fn get(&self) -> Option<Arc<Wallet>> {
        self.wallet.read().clone()
    }

    pub fn set(&self, wallet: Arc<Wallet>) {
        // The former wallet waits for its thread when it is dropped, so it is dropped outside the
        // lock.
        let former = self.wallet.write().replace(wallet);
        drop(former);
    }
}
