//! The place of the running gateway's wallet: empty before a wallet exists. The look of a restore
//! may replace the wallet by that of the other address type.

use std::sync::Arc;

use parking_lot::RwLock;

use crate::wallet::Wallet;

#[derive(Default)]
pub struct WalletSlot(RwLock<Option<Arc<Wallet>>>);

impl WalletSlot {
    #[must_use]
    pub fn get(&self) -> Option<Arc<Wallet>> {
        self.0.read().clone()
    }

    pub fn set(&self, wallet: Arc<Wallet>) {
        // The former wallet waits for its thread when it is dropped, so it is dropped outside the
        // lock.
        let former = self.0.write().replace(wallet);
        drop(former);
    }
}
