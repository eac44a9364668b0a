//! The addresses of one keychain, from its public descriptor.

use bdk_wallet::miniscript::descriptor::Wildcard;
use bdk_wallet::miniscript::{Descriptor, DescriptorPublicKey};
use bitcoin::bip32::{ChildNumber, DerivationPath, Xpub};
use bitcoin::secp256k1::{Secp256k1, VerifyOnly};
use bitcoin::{CompressedPublicKey, Network, ScriptBuf};

use super::descriptor::WalletError;
use crate::settings::AddressType;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    pub index: u32,
    pub text: String,
    pub script: ScriptBuf,
}

/// A descriptor, parsed once: otherwise each address would copy and check it anew.
pub struct KeychainAddresses {
    /// One level above the addresses' keys.
    key: Xpub,
    /// Path from the master key to `key`.
    origin: DerivationPath,
    address_type: AddressType,
    network: Network,
    secp: Secp256k1<VerifyOnly>,
}

impl KeychainAddresses {
    /// Parses `wpkh([…]xpub/0/*)` or `tr([…]xpub/0/*)`, with any one step in the place of `0`.
    pub fn parse(descriptor: &str, network: Network) -> Result<Self, WalletError> {
        let descriptor: Descriptor<DescriptorPublicKey> =
            descriptor.parse().map_err(|_| WalletError::BadDescriptor)?;
        let (key, address_type) = match &descriptor {
            Descriptor::Wpkh(wpkh) => (wpkh.as_inner(), AddressType::Bip84),
            Descriptor::Tr(tr) if tr.tap_tree().is_none() => {
                (tr.internal_key(), AddressType::Bip86)
            }
            _ => return Err(WalletError::BadDescriptor),
        };
        match key {
            DescriptorPublicKey::XPub(key)
                if key.wildcard == Wildcard::Unhardened && key.derivation_path.len() == 1 =>
            {
                let secp = Secp256k1::verification_only();
                let account = key.origin.as_ref().map(|(_, path)| path.clone()).unwrap_or_default();
                let origin = account.extend(&key.derivation_path);
                let keychain = key.xkey.derive_pub(&secp, &key.derivation_path);
                let key = keychain.map_err(|_| WalletError::BadDescriptor)?;
                Ok(Self { key, origin, address_type, network, secp })
            }
            _ => Err(WalletError::BadDescriptor),
        }
    }

    pub const fn origin(&self) -> &DerivationPath {
        &self.origin
    }

    pub const fn address_type(&self) -> AddressType {
        self.address_type
    }

    pub fn derive(&self, index: u32) -> Result<Address, WalletError> {
        let step =
            ChildNumber::from_normal_idx(index).map_err(|_| WalletError::NoAddress(index))?;
        let child =
            self.key.ckd_pub(&self.secp, step).map_err(|_| WalletError::NoAddress(index))?;
        let address = match self.address_type {
            AddressType::Bip84 => {
                bitcoin::Address::p2wpkh(&CompressedPublicKey(child.public_key), self.network)
            }
            AddressType::Bip86 => bitcoin::Address::p2tr(
                &self.secp,
                child.public_key.x_only_public_key().0,
                None,
                self.network,
            ),
        };
        Ok(Address { index, text: address.to_string(), script: address.script_pubkey() })
    }
}

#[cfg(test)]
mod tests {
    use tillgate_machine::secrets::Secret;

    use super::*;
    use crate::wallet::Descriptors;

    const NETWORK: Network = Network::Regtest;

    #[test]
    fn only_wpkh_and_tr_keychain_descriptors_are_accepted() {
        let words = bip39::Mnemonic::from_entropy(&[7; 16]).unwrap();
        let ours = |address_type| {
            let words = Secret::new(words.to_string());
            Descriptors::derive(&words, NETWORK, address_type).unwrap().external
        };
        let (wpkh, tr) = (ours(AddressType::Bip84), ours(AddressType::Bip86));
        let unsigned = |descriptor: &str| descriptor.split('#').next().unwrap().to_owned();
        assert!(
            KeychainAddresses::parse(&wpkh, NETWORK).is_ok()
                && KeychainAddresses::parse(&tr, NETWORK).is_ok()
        );
        for other in [
            String::new(),
            wpkh.replacen("wpkh", "pkh", 1),
            unsigned(&wpkh).replacen("wpkh", "pkh", 1),
            unsigned(&wpkh).replace("/0/*", "/*"),
            unsigned(&wpkh).replace("/0/*", "/0/0/*"),
            unsigned(&wpkh).replace("/0/*", "/<0;1>/*"),
            unsigned(&wpkh).replace("/*", ""),
            unsigned(&wpkh).replace("/*", "/*h"),
            format!("sh({})", unsigned(&wpkh)),
            unsigned(&tr).replace("/*)", &format!("/*,pk({}))", "02".repeat(33))),
        ] {
            let refused = KeychainAddresses::parse(&other, NETWORK).err();
            assert!(matches!(refused, Some(WalletError::BadDescriptor)), "{other}");
        }
    }
}
