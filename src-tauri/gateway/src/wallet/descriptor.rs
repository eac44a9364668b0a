//! The two keychains of a mnemonic (BIP39, BIP32, BIP84, BIP86): their public descriptors, and
//! their private keys while a transaction is signed.

use bdk_wallet::miniscript::descriptor::checksum::desc_checksum;
use bip39::{Language, Mnemonic};
use bitcoin::bip32::{ChildNumber, DerivationPath, Fingerprint, Xpriv, Xpub};
use bitcoin::secp256k1::{All, Secp256k1, SecretKey};
use bitcoin::{Network, NetworkKind};
use tillgate_machine::entropy::NoEntropy;
use tillgate_machine::secrets::{Secret, SecretError};
use tillgate_store::StoreError;
use tillgate_store::keychains::Keychain;
use zeroize::Zeroize as _;

use crate::settings::AddressType;

/// Reason why there is no wallet.
#[derive(Debug, thiserror::Error, tillgate_told::Told)]
pub enum WalletError {
    #[error(transparent)]
    Secret(#[from] SecretError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Entropy(#[from] NoEntropy),
    #[error(
        "the wallet's words in the secret store are not a BIP39 mnemonic: restore them from your backup"
    )]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error, tillgate_told::Told)]
pub enum NotReady {
    #[error("the wallet is not set up")]
    NotMade,
    #[error(
        "the wallet was restored, and has not looked through the whole chain yet for transactions of another copy"
    )]
    NotLooked,
    /// The address chosen for this request was skipped meanwhile, because another copy of the
    /// wallet may have given it.
    #[error(
        "another copy of the wallet may have given the chosen address to a customer: repeat the request for a new address"
    )]
    Skipped,
    /// Addresses that another copy may have given are still being derived, so it is unknown whether
    /// an address is our own.
    #[error("it is not known yet whether the address is the wallet's own: try again in a minute")]
    NotDerived,
}

/// The public descriptors of a wallet's keychains, each with its checksum.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Descriptors {
    /// Addresses for customers.
    pub external: String,
    /// Our own change.
    pub internal: String,
}

/// The private keys of both keychains, for one signature. They are wiped when dropped.
pub struct PrivateKeychains {
    external: PrivateKeychain,
    internal: PrivateKeychain,
    /// The public key of account 0, and its path from the master key.
    account: Xpub,
    path: DerivationPath,
    fingerprint: Fingerprint,
    address_type: AddressType,
    secp: Secp256k1<All>,
}

/// One level above the addresses' keys.
struct PrivateKeychain(Xpriv);

/// The private key of one coin, wiped when dropped.
pub struct WipedKey(pub(super) SecretKey);

impl Descriptors {
    /// The descriptors of account 0, at its level (`wpkh([fp/84h/1h/0h]xpub/0/*)`), as other wallet
    /// programs read them.
    ///
    /// # Errors
    /// When the text is not a mnemonic.
    pub fn derive(
        mnemonic: &Secret,
        network: Network,
        address_type: AddressType,
    ) -> Result<Self, WalletError> {
        let private = PrivateKeychains::derive(mnemonic, network, address_type)?;
        private.descriptors()
    }

    /// One descriptor of both keychains, as BIP389 writes it: `wpkh([fp/84h/1h/0h]xpub/<0;1>/*)`.
    ///
    /// # Errors
    /// When the descriptor in the database is malformed.
    pub fn multipath(&self) -> Result<String, WalletError> {
        let text = self.external.split('#').next().unwrap_or_default();
        with_checksum(&text.replacen("/0/*)", "/<0;1>/*)", 1))
    }
}

impl PrivateKeychains {
    pub fn derive(
        mnemonic: &Secret,
        network: Network,
        address_type: AddressType,
    ) -> Result<Self, WalletError> {
        let words = Mnemonic::parse_in(Language::English, mnemonic.reveal())
            .map_err(|_| WalletError::BadMnemonic)?;
        let mut seed = words.to_seed("");
        let master = Xpriv::new_master(network, &seed);
        seed.zeroize();
        let mut master = master.map_err(|_| WalletError::BadMnemonic)?;
        let secp = Secp256k1::new();
        let path = account_path(network, address_type)?;
        let fingerprint = master.fingerprint(&secp);
        let account = master.derive_priv(&secp, &path).map_err(|_| WalletError::BadDescriptor);
        master.private_key.non_secure_erase();
        let mut private = account?;
        let keychain = |keychain| PrivateKeychain::derive(&secp, &private, keychain);
        let (external, internal) = (keychain(Keychain::External), keychain(Keychain::Internal));
        let account = Xpub::from_priv(&secp, &private);
        private.private_key.non_secure_erase();
        Ok(Self {
            external: external?,
            internal: internal?,
            account,
            path,
            fingerprint,
            address_type,
            secp,
        })
    }

    pub fn descriptors(&self) -> Result<Descriptors, WalletError> {
        Ok(Descriptors {
            external: self.descriptor(Keychain::External)?,
            internal: self.descriptor(Keychain::Internal)?,
        })
    }

    pub fn key(&self, keychain: Keychain, index: u32) -> Result<WipedKey, WalletError> {
        let keychain = match keychain {
            Keychain::External => &self.external,
            Keychain::Internal => &self.internal,
        };
        let step =
            ChildNumber::from_normal_idx(index).map_err(|_| WalletError::NoAddress(index))?;
        let mut child = keychain
            .0
            .derive_priv(&self.secp, &[step])
            .map_err(|_| WalletError::NoAddress(index))?;
        let key = WipedKey(child.private_key);
        child.private_key.non_secure_erase();
        Ok(key)
    }

    fn descriptor(&self, keychain: Keychain) -> Result<String, WalletError> {
        let function = match self.address_type {
            AddressType::Bip84 => "wpkh",
            AddressType::Bip86 => "tr",
        };
        // The mark `h` needs no quoting in a shell.
        let path = self.path.to_string().replace('\'', "h");
        with_checksum(&format!(
            "{function}([{}/{path}]{}/{}/*)",
            self.fingerprint,
            self.account,
            step(keychain)
        ))
    }
}

impl PrivateKeychain {
    fn derive(
        secp: &Secp256k1<All>,
        account: &Xpriv,
        keychain: Keychain,
    ) -> Result<Self, WalletError> {
        let step =
            ChildNumber::from_normal_idx(step(keychain)).map_err(|_| WalletError::BadDescriptor)?;
        account.derive_priv(secp, &[step]).map(Self).map_err(|_| WalletError::BadDescriptor)
    }
}

/// The step from the account's key to the keychain's.
const fn step(keychain: Keychain) -> u32 {
    match keychain {
        Keychain::External => 0,
        Keychain::Internal => 1,
    }
}

/// The path from the master key to the key of account 0.
fn account_path(
    network: Network,
    address_type: AddressType,
) -> Result<DerivationPath, WalletError> {
    let hardened =
        |index| ChildNumber::from_hardened_idx(index).map_err(|_| WalletError::BadDescriptor);
    let purpose = match address_type {
        AddressType::Bip84 => 84,
        AddressType::Bip86 => 86,
    };
    let coin = match NetworkKind::from(network) {
        NetworkKind::Main => 0,
        NetworkKind::Test => 1,
    };
    Ok(DerivationPath::from(vec![hardened(purpose)?, hardened(coin)?, hardened(0)?]))
}

fn with_checksum(descriptor: &str) -> Result<String, WalletError> {
    let checksum = desc_checksum(descriptor).map_err(|_| WalletError::BadDescriptor)?;
    Ok(format!("{descriptor}#{checksum}"))
}

impl Drop for PrivateKeychain {
    fn drop(&mut self) {
        self.0.private_key.non_secure_erase();
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
    fn descriptors_name_the_account_with_its_origin() {
        let words = Secret::new(WORDS.to_owned());
        let bip84 = Descriptors::derive(&words, Network::Bitcoin, AddressType::Bip84).unwrap();
        // BIP84's own account key.
        let account = "xpub6CatWdiZiodmUeTDp8LT5or8nmbKNcuyvz7WyksVFkKB4RHwCD3XyuvPEbvqAQY3rAPshWcMLoP2fMFMKHPJ4ZeZXYVUhLv1VMrjPC7PW6V";
        assert!(
            bip84.external.starts_with(&format!("wpkh([73c5da0a/84h/0h/0h]{account}/0/*)#")),
            "{}",
            bip84.external
        );
        assert!(
            bip84.internal.starts_with(&format!("wpkh([73c5da0a/84h/0h/0h]{account}/1/*)#")),
            "{}",
            bip84.internal
        );
        let both = bip84.multipath().unwrap();
        assert!(
            both.starts_with(&format!("wpkh([73c5da0a/84h/0h/0h]{account}/<0;1>/*)#")),
            "{both}"
        );
        let bip86 = Descriptors::derive(&words, Network::Regtest, AddressType::Bip86).unwrap();
        assert!(bip86.external.starts_with("tr([73c5da0a/86h/1h/0h]tpub"), "{}", bip86.external);
    }

    #[test]
    fn a_text_that_is_no_mnemonic_is_refused() {
        let words = Secret::new(WORDS.replace("about", "abandon"));
        let refused = Descriptors::derive(&words, Network::Regtest, AddressType::Bip84);
        assert!(matches!(refused, Err(WalletError::BadMnemonic)));
    }
}
