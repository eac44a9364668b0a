//! Returns the wallet, or an error that names the remedy if there is no wallet yet.

use std::sync::Arc;

use crate::console::error::CommandError;
use crate::console::refusal::Refusal;
use crate::gateway::Gateway;
use crate::wallet::Wallet;

pub fn existing_wallet(gateway: &Gateway) -> Result<Arc<Wallet>, CommandError> {
    gateway.wallet.get().ok_or_else(|| CommandError::told("WALLET_NOT_READY", &Refusal::NoWallet))
}
