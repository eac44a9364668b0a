//! Returns the wallet, or an error that names the remedy if there is no wallet yet.

use std::sync::Arc;
use tillgate_gateway::error_type::ErrorType;

use tillgate_gateway::gateway::Gateway;
use tillgate_gateway::wallet::Wallet;

use crate::error::CommandError;
use crate::refusal::Refusal;

pub fn existing_wallet(gateway: &Gateway) -> Result<Arc<Wallet>, CommandError> {
    gateway
        .wallet
        .get()
        .ok_or_else(|| CommandError::told(ErrorType::WalletNotReady, &Refusal::NoWallet))
}
