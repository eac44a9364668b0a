//! The two keychains of a mnemonic (BIP39, BIP32, BIP84, BIP86): their public descriptors, and their private keys while
//! a transaction is signed.

use bip39::Mnemonic;
use bitcoin::bip32::{ChildNumber, DerivationPath, Fingerprint, Xpriv, Xpub};
use bitcoin::secp256k1::{All, Secp256k1, SecretKey};
use bitcoin::{Network, NetworkKind};
use zeroize::Zeroize as _;

use crate::machine::entropy::NoEntropy;
use crate::machine::secrets::{Secret, SecretError};
use crate::settings::AddressType;
use crate::store::StoreError;
use crate::store::keychains::Keychain;

/// Reason why there is no wallet.
#[derive(Debug, thiserror::Error)]
pub enum WalletError {
    #[error(transparent)]
    Secret(#[from] SecretError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Entropy(#[from] NoEntropy),
    #[error("the wallet's words in the secret store are not a BIP39 mnemonic: restore them from your backup")]
    BadMnemonic,
    #[error("the wallet's descriptor in the database is unreadable: restore the last backup")]
    BadDescriptor,
    #[error("no address can be derived at index {0}")]
    NoAddress(u32),
    #[error(transparent)]
    NotReady(#[from] NotReady),
    #[error("the thread that derives addresses could not be started: {0}")]
    Thread(std::io::Error),
}

/// Reason why a wallet gives no address, or offers no payout, now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotReady {
    #[error("the wallet is not set up")]
    NotMade,
    #[error("the wallet was restored, and has not looked through the whole chain yet for transactions of another copy")]
    NotLooked,
    /// The address chosen for this request was skipped meanwhile, because another copy of the wallet may have given it.
    #[error(
        "another copy of the wallet may have given the chosen address to a customer: repeat the request for a new address"
    )]
    Skipped,
    /// Addresses that another copy may have given are still being derived, so it is unknown whether an address is our own.
    #[error("it is not known yet whether the address is the wallet's own: try again in a minute")]
    NotDerived,
}

/// The public descriptors of a wallet's keychains, each with its checksum.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Descriptors {
    /// Addresses for customers.
    pub external: String,
    /// Our own change.
    pub internal: String,
}

/// The private keys of both keychains, for one signature. They are wiped when dropped.
pub(super) struct PrivateKeychains {
    external: PrivateKeychain,
    internal: PrivateKeychain,
    fingerprint: Fingerprint,
    address_type: AddressType,
    secp: Secp256k1<All>,
}

struct PrivateKeychain {
    /// One level above the addresses' keys.
    key: Xpriv,
    /// Path from the master key to `key`.
    path: DerivationPath,
}

/// The private key of one coin, wiped when dropped.
pub(super) struct WipedKey(pub(super) SecretKey);

impl Descriptors {
    /// The descriptors of account 0, at keychain level (`[fp/84'/1'/0'/0]xpub/*`), so that an address costs one
    /// derivation step.
    ///
    /// # Errors
    /// When the text is not a mnemonic.
    pub(crate) fn derive(mnemonic: &Secret, network: Network, address_type: AddressType) -> Result<Self, WalletError> {
        let private = PrivateKeychains::derive(mnemonic, network, address_type)?;
        private.descriptors()
    }
}

impl PrivateKeychains {
    pub(super) fn derive(mnemonic: &Secret, network: Network, address_type: AddressType) -> Result<Self, WalletError> {
        let words = Mnemonic::parse(mnemonic.reveal()).map_err(|_| WalletError::BadMnemonic)?;
        let mut seed = words.to_seed("");
        let master = Xpriv::new_master(network, &seed);
        seed.zeroize();
        let mut master = master.map_err(|_| WalletError::BadMnemonic)?;
        let secp = Secp256k1::new();
        let keychain = |keychain| PrivateKeychain::derive(&secp, &master, network, address_type, keychain);
        let (external, internal) = (keychain(Keychain::External), keychain(Keychain::Internal));
        let fingerprint = master.fingerprint(&secp);
        master.private_key.non_secure_erase();
        Ok(Self { external: external?, internal: internal?, fingerprint, address_type, secp })
    }

    pub(super) fn descriptors(&self) -> Result<Descriptors, WalletError> {
        Ok(Descriptors { external: self.descriptor(&self.external)?, internal: self.descriptor(&self.internal)? })
    }

    pub(super) fn key(&self, keychain: Keychain, index: u32) -> Result<WipedKey, WalletError> {
        let keychain = match keychain {
            Keychain::External => &self.external,
            Keychain::Internal => &self.internal,
        };
        let step = ChildNumber::from_normal_idx(index).map_err(|_| WalletError::NoAddress(index))?;
        let mut child = keychain.key.derive_priv(&self.secp, &[step]).map_err(|_| WalletError::NoAddress(index))?;
        let key = WipedKey(child.private_key);
        child.private_key.non_secure_erase();
        Ok(key)
    }

    fn descriptor(&self, keychain: &PrivateKeychain) -> Result<String, WalletError> {
        let function = match self.address_type {
            AddressType::Bip84 => "wpkh",
            AddressType::Bip86 => "tr",
        };
        let public = Xpub::from_priv(&self.secp, &keychain.key);
        let text = format!("{function}([{}/{}]{public}/*)", self.fingerprint, keychain.path);
        let descriptor: bdk_wallet::miniscript::Descriptor<bdk_wallet::miniscript::DescriptorPublicKey> =
            text.parse().map_err(|_| WalletError::BadDescriptor)?;
        // The formatted descriptor ends with its checksum.
        Ok(descriptor.to_string())
    }
}

impl PrivateKeychain {
    fn derive(
        secp: &Secp256k1<All>,
        master: &Xpriv,
        network: Network,
        address_type: AddressType,
        keychain: Keychain,
    ) -> Result<Self, WalletError> {
        let hardened = |index| ChildNumber::from_hardened_idx(index).map_err(|_| WalletError::BadDescriptor);
        let purpose = match address_type {
            AddressType::Bip84 => 84,
            AddressType::Bip86 => 86,
        };
        let coin = match NetworkKind::from(network) {
            NetworkKind::Main => 0,
            NetworkKind::Test => 1,
        };
        let keychain = match keychain {
            Keychain::External => 0,
            Keychain::Internal => 1,
        };
        let keychain_step = ChildNumber::from_normal_idx(keychain).map_err(|_| WalletError::BadDescriptor)?;
        let path = DerivationPath::from(vec![hardened(purpose)?, hardened(coin)?, hardened(0)?, keychain_step]);
        let key = master.derive_priv(secp, &path).map_err(|_| WalletError::BadDescriptor)?;
        Ok(Self { key, path })
    }
}

impl Drop for PrivateKeychain {
    fn drop(&mut self) {
        self.key.private_key.non_secure_erase();
    }
}

impl Drop for WipedKey {
    fn drop(&mut self) {
        self.0.non_secure_erase();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// BIP84's and BIP86's own test vectors use this mnemonic.
    const WORDS: &str = "abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon about";

    #[test]
    fn descriptors_match_bip84_and_bip86_at_keychain_level() {
        let words = Secret::new(WORDS.to_owned());
        let bip84 = Descriptors::derive(&words, Network::Bitcoin, AddressType::Bip84).unwrap();
        assert!(bip84.external.starts_with("wpkh([73c5da0a/84'/0'/0'/0]xpub"), "{}", bip84.external);
        assert!(bip84.internal.starts_with("wpkh([73c5da0a/84'/0'/0'/1]xpub"), "{}", bip84.internal);
        let bip86 = Descriptors::derive(&words, Network::Regtest, AddressType::Bip86).unwrap();
        assert!(bip86.external.starts_with("tr([73c5da0a/86'/1'/0'/0]tpub"), "{}", bip86.external);
    }

    #[test]
    fn a_text_that_is_no_mnemonic_is_refused() {
        let words = Secret::new(WORDS.replace("about", "abandon"));
        let refused = Descriptors::derive(&words, Network::Regtest, AddressType::Bip84);
        assert!(matches!(refused, Err(WalletError::BadMnemonic)));
    }
}
