//! Whether words are those of the wallet that is there.

use crate::gateway::Gateway;
use crate::machine::secrets::{Purpose, Secret, SecretError};
use crate::wallet::{Descriptors, WalletError};

/// What words are to the wallet that is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fit {
    /// Its own.
    Fits,
    /// Another wallet's.
    Other,
    /// There is no wallet.
    NoWallet,
}

/// Whether words would restore the wallet that is there.
///
/// # Errors
/// When they are no words.
pub(crate) fn fit(gateway: &Gateway, words: &Secret) -> Result<Fit, WalletError> {
    let Some(wallet) = gateway.wallet.get() else { return Ok(Fit::NoWallet) };
    let derived = Descriptors::derive(words, gateway.network, wallet.keychains.address_type())?;
    Ok(if derived == *wallet.keychains.descriptors() { Fit::Fits } else { Fit::Other })
}

/// The same of the words that lie with the secrets; `None` where none do. Blocks.
///
/// # Errors
/// When the secret store refuses them.
pub(crate) fn secrets_fit(gateway: &Gateway) -> Result<Option<Fit>, SecretError> {
    let Some(words) = gateway.secrets.get(Purpose::WalletMnemonic)? else { return Ok(None) };
    // What lies there may be anything: somebody changed it.
    Ok(Some(fit(gateway, &words).unwrap_or(Fit::Other)))
}
