//! Returns the wallet, or an error that names the remedy if there is no wallet yet.

use std::sync::Arc;

use crate::console::error::CommandError;
use crate::gateway::Gateway;
use crate::wallet::Wallet;

pub(super) fn existing_wallet(gateway: &Gateway) -> Result<Arc<Wallet>, CommandError> {
    let none = "there is no wallet yet: `tillgate wallet create` makes one, `tillgate wallet restore` restores one";
    gateway.wallet.get().ok_or_else(|| CommandError::of("WALLET_NOT_READY", &none))
}
