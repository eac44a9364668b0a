//! The scripts of the other address type of a restored wallet's words. Its look watches them too,
//! because the words do not say which type their coins are at.

use bitcoin::{Network, Script, ScriptBuf};
use tillgate_store::keychains::Keychain;

use super::change::ChangeScripts;
use super::descriptor::WalletError;

/// The scripts of both keychains, up to the range of the look beyond the used ones.
pub struct OtherType {
    external: ChangeScripts,
    internal: ChangeScripts,
}

impl OtherType {
    /// Derives the scripts. `ends` are the first unused indices, external and internal.
    ///
    /// # Errors
    /// When a descriptor is malformed.
    pub fn derive(
        (external, internal): &(String, String),
        network: Network,
        ends: (u32, u32),
        looks_ahead: u32,
    ) -> Result<Self, WalletError> {
        Ok(Self {
            external: ChangeScripts::derive(external, network, ends.0, looks_ahead)?,
            internal: ChangeScripts::derive(internal, network, ends.1, looks_ahead)?,
        })
    }

    /// Keychain and index of a script. Derives the scripts that the look then needs beyond it.
    pub fn find(&self, script: &Script) -> Option<(Keychain, u32)> {
        let found =
            |keychain| self.scripts(keychain).index_of(script).map(|index| (keychain, index));
        let (keychain, index) = found(Keychain::External).or_else(|| found(Keychain::Internal))?;
        if let Err(error) = self.scripts(keychain).derive_up_to(index.saturating_add(1)) {
            tracing::error!(%error, index, "the scripts after a used index of the other type cannot be derived");
        }
        Some((keychain, index))
    }

    /// The script of any index; `None` beyond the end of the keychain.
    pub fn script(&self, keychain: Keychain, index: u32) -> Option<ScriptBuf> {
        self.scripts(keychain).script(index).ok()
    }

    const fn scripts(&self, keychain: Keychain) -> &ChangeScripts {
        match keychain {
            Keychain::External => &self.external,
            Keychain::Internal => &self.internal,
        }
    }
}
