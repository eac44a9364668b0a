//! Compares words with the wallet of this installation.

use tillgate_machine::secrets::{Purpose, Secret, SecretError};

use crate::gateway::Gateway;
use crate::wallet::{Descriptors, WalletError};

/// The relation of words to the wallet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fit {
    /// The words are the wallet's own.
    Fits,
    /// The words belong to another wallet.
    Other,
    /// There is no wallet.
    NoWallet,
}

/// Whether the words would restore this wallet.
///
/// # Errors
/// The text is not a list of words.
pub fn fit(gateway: &Gateway, words: &Secret) -> Result<Fit, WalletError> {
    let Some(wallet) = gateway.wallet.get() else { return Ok(Fit::NoWallet) };
    let derived = Descriptors::derive(words, gateway.network, wallet.keychains.address_type())?;
    Ok(if derived == *wallet.keychains.descriptors() { Fit::Fits } else { Fit::Other })
}

/// Whether the words in the secret store would restore this wallet; `None` if it holds no words.
/// Blocks the thread.
///
/// # Errors
/// The secret store cannot be read.
pub fn secrets_fit(gateway: &Gateway) -> Result<Option<Fit>, SecretError> {
    let Some(words) = gateway.machine.secrets.get(Purpose::WalletMnemonic)? else {
        return Ok(None);
    };
    // A text that is not a list of words counts as other words: it was changed by another program.
    Ok(Some(fit(gateway, &words).unwrap_or(Fit::Other)))
}
