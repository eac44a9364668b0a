//! The wallet, or the error before there is one.

use std::sync::Arc;

use crate::console::error::CommandError;
use crate::gateway::Gateway;
use crate::wallet::Wallet;

pub(super) fn existing_wallet(gateway: &Gateway) -> Result<Arc<Wallet>, CommandError> {
    let none = "there is no wallet yet: `tillgate wallet create` makes one, `tillgate wallet restore` brings one back";
    gateway.wallet.get().cloned().ok_or_else(|| CommandError::of("WALLET_NOT_READY", &none))
}
