//! The scripts of our own change. They are few, so memory holds them all.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};

use bitcoin::{Network, Script, ScriptBuf};
use parking_lot::RwLock;

use super::descriptor::WalletError;
use super::keychain::KeychainAddresses;

/// Number of scripts derived beyond the used ones and those that a restored copy skips. A restored
/// wallet may derive more.
const AHEAD: u32 = 200;

pub struct ChangeScripts {
    keychain: KeychainAddresses,
    /// Index of each derived script. The indices run from 0 to `ahead` beyond the used ones.
    known: RwLock<HashMap<ScriptBuf, u32>>,
    /// Number of scripts derived beyond the used ones.
    ahead: AtomicU32,
}

impl ChangeScripts {
    /// Derives all scripts before `next_index`, the first unused index, and some beyond. Those
    /// beyond include the `skip` indices that a copy restored from a backup of this one skips.
    ///
    /// # Errors
    /// When the descriptor is not a ranged public one.
    pub fn derive(
        descriptor: &str,
        network: Network,
        next_index: u32,
        skip: u32,
    ) -> Result<Self, WalletError> {
        let ahead = AtomicU32::new(skip.saturating_add(AHEAD));
        let keychain = KeychainAddresses::parse(descriptor, network)?;
        let change = Self { keychain, known: RwLock::default(), ahead };
        change.derive_up_to(next_index)?;
        Ok(change)
    }

    /// The derivation index of a known script.
    #[must_use]
    pub fn index_of(&self, script: &Script) -> Option<u32> {
        self.known.read().get(script).copied()
    }

    /// The script of any index, used or not.
    ///
    /// # Errors
    /// When the keychain has no such index.
    pub fn script(&self, index: u32) -> Result<ScriptBuf, WalletError> {
        Ok(self.keychain.derive(index)?.script)
    }

    #[must_use]
    pub fn known_within(&self, indices: &Range<u32>) -> Vec<ScriptBuf> {
        let known = self.known.read();
        known
            .iter()
            .filter(|(_, index)| indices.contains(index))
            .map(|(script, _)| script.clone())
            .collect()
    }

    /// Derives all scripts before `next_index`, the first unused index, and some beyond. Call it
    /// before a transaction with a new change script leaves the machine, because the watcher finds
    /// our change by these scripts.
    ///
    /// # Errors
    /// When the keychain has no more indices.
    pub fn derive_up_to(&self, next_index: u32) -> Result<(), WalletError> {
        // Derived outside the lock, because the watcher reads the map for each output that it sees.
        let first = self.count();
        let missing = first..next_index.saturating_add(self.ahead.load(Ordering::SeqCst));
        let derived = missing
            .map(|index| Ok((self.script(index)?, index)))
            .collect::<Result<Vec<_>, WalletError>>()?;
        self.known.write().extend(derived);
        Ok(())
    }

    /// Derives at least `count` scripts from `next_index` on, the first unused index.
    ///
    /// # Errors
    /// When the keychain has no more indices.
    pub fn know_ahead(&self, count: u32, next_index: u32) -> Result<(), WalletError> {
        self.ahead.fetch_max(count, Ordering::SeqCst);
        self.derive_up_to(next_index)
    }

    /// Number of known scripts, and so the first unknown index.
    fn count(&self) -> u32 {
        u32::try_from(self.known.read().len()).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use bdk_wallet::template::Bip84;
    use bdk_wallet::{KeychainKind, Wallet};
    use bitcoin::bip32::Xpriv;
    use tillgate_machine::secrets::Secret;

    use super::*;
    use crate::settings::AddressType;
    use crate::wallet::Descriptors;

    #[test]
    fn change_scripts_match_bdk_for_used_and_unused_indices() {
        let words = bip39::Mnemonic::from_entropy(&[7; 16]).unwrap();
        let master = Xpriv::new_master(Network::Regtest, &words.to_seed("")).unwrap();
        let keychains = |keychain| Bip84(master, keychain);
        let wallet =
            Wallet::create(keychains(KeychainKind::External), keychains(KeychainKind::Internal))
                .network(Network::Regtest)
                .create_wallet_no_persist()
                .unwrap();
        let script = |keychain, index| wallet.peek_address(keychain, index).address.script_pubkey();

        let words = Secret::new(words.to_string());
        let descriptors =
            Descriptors::derive(&words, Network::Regtest, AddressType::Bip84).unwrap();
        let change = ChangeScripts::derive(&descriptors.internal, Network::Regtest, 5, 0).unwrap();
        for index in 0..5 + AHEAD {
            assert_eq!(change.index_of(&script(KeychainKind::Internal, index)), Some(index));
        }
        assert_eq!(change.index_of(&script(KeychainKind::Internal, 5 + AHEAD)), None);
        assert_eq!(change.index_of(&script(KeychainKind::External, 0)), None);

        change.derive_up_to(7).unwrap();
        for index in 0..7 + AHEAD {
            assert_eq!(change.index_of(&script(KeychainKind::Internal, index)), Some(index));
        }
        assert_eq!(change.index_of(&script(KeychainKind::Internal, 7 + AHEAD)), None);
        // A lower index removes no script.
        change.derive_up_to(3).unwrap();
        assert_eq!(change.index_of(&script(KeychainKind::Internal, 6 + AHEAD)), Some(6 + AHEAD));
        assert_eq!(change.script(1_000).unwrap(), script(KeychainKind::Internal, 1_000));

        change.know_ahead(300, 7).unwrap();
        assert_eq!(change.index_of(&script(KeychainKind::Internal, 306)), Some(306));
        change.derive_up_to(8).unwrap();
        assert_eq!(change.index_of(&script(KeychainKind::Internal, 307)), Some(307));
        assert_eq!(change.index_of(&script(KeychainKind::Internal, 308)), None);

        // A copy restored from a backup, which skips 100 indices, starts at index 105.
        let change =
            ChangeScripts::derive(&descriptors.internal, Network::Regtest, 5, 100).unwrap();
        assert_eq!(change.index_of(&script(KeychainKind::Internal, 105)), Some(105));
    }
}
