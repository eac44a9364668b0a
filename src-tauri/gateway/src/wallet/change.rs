//! The scripts of our own change. They are few, so they are held in memory.

use std::collections::HashMap;

use bitcoin::{Network, Script, ScriptBuf};

use super::WalletError;
use super::addresses::KeychainAddresses;

/// Scripts known beyond those that were given: as far as a wallet looks that is restored elsewhere.
const AHEAD: u32 = 20;

/// The internal keychain's scripts, with their derivation indices.
pub struct ChangeScripts(HashMap<ScriptBuf, u32>);

impl ChangeScripts {
    /// Derives from a public descriptor all scripts before `next_index`, the first that was never given, and some more.
    ///
    /// # Errors
    /// When it is no ranged public descriptor.
    pub fn derive(descriptor: &str, network: Network, next_index: u32) -> Result<Self, WalletError> {
        let keychain = KeychainAddresses::of(descriptor, network)?;
        let address = |index| keychain.derive(index).map(|address| (address.script, index));
        Ok(Self((0..next_index.saturating_add(AHEAD)).map(address).collect::<Result<_, _>>()?))
    }

    /// The derivation index of a script, if it is one of these.
    #[must_use]
    pub fn index_of(&self, script: &Script) -> Option<u32> {
        self.0.get(script).copied()
    }
}

#[cfg(test)]
impl ChangeScripts {
    /// The script of an index.
    pub fn script(&self, index: u32) -> Option<ScriptBuf> {
        self.0.iter().find(|(_, its)| **its == index).map(|(script, _)| script.clone())
    }
}

#[cfg(test)]
mod tests {
    use bdk_wallet::template::Bip84;
    use bdk_wallet::{KeychainKind, Wallet};
    use bitcoin::bip32::Xpriv;

    use super::*;
    use crate::machine::secrets::Secret;
    use crate::settings::AddressType;
    use crate::wallet::Descriptors;

    #[test]
    fn the_scripts_are_those_of_the_wallets_change_given_or_not_yet() {
        let words = bdk_wallet::keys::bip39::Mnemonic::from_entropy(&[7; 16]).unwrap();
        let master = Xpriv::new_master(Network::Regtest, &words.to_seed("")).unwrap();
        let keychains = |keychain| Bip84(master, keychain);
        let wallet = Wallet::create(keychains(KeychainKind::External), keychains(KeychainKind::Internal))
            .network(Network::Regtest)
            .create_wallet_no_persist()
            .unwrap();
        let script = |keychain, index| wallet.peek_address(keychain, index).address.script_pubkey();

        let words = Secret::new(words.to_string());
        let descriptors = Descriptors::derive(&words, Network::Regtest, AddressType::Bip84).unwrap();
        let change = ChangeScripts::derive(&descriptors.internal, Network::Regtest, 5).unwrap();
        for index in 0..5 + AHEAD {
            assert_eq!(change.index_of(&script(KeychainKind::Internal, index)), Some(index));
        }
        assert_eq!(change.index_of(&script(KeychainKind::Internal, 5 + AHEAD)), None);
        assert_eq!(change.index_of(&script(KeychainKind::External, 0)), None);
    }
}
