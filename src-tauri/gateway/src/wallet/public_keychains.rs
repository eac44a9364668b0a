//! The public side of the wallet's two keychains, as stored in the database. Every signature is
//! checked against it.

use bitcoin::{Network, ScriptBuf};
use tillgate_store::keychains::Keychain;

use super::descriptor::{Descriptors, WalletError};
use super::keychain::KeychainAddresses;
use crate::settings::AddressType;

/// Both stored descriptors and their scripts.
pub struct PublicKeychains {
    descriptors: Descriptors,
    network: Network,
    external: KeychainAddresses,
    internal: KeychainAddresses,
}

impl PublicKeychains {
    /// Parses the stored descriptors.
    ///
    /// # Errors
    /// When they are not two ranged public descriptors of one type.
    pub fn parse(descriptors: Descriptors, network: Network) -> Result<Self, WalletError> {
        let external = KeychainAddresses::parse(&descriptors.external, network)?;
        let internal = KeychainAddresses::parse(&descriptors.internal, network)?;
        if external.address_type() != internal.address_type() {
            return Err(WalletError::BadDescriptor);
        }
        Ok(Self { descriptors, network, external, internal })
    }

    pub const fn descriptors(&self) -> &Descriptors {
        &self.descriptors
    }

    pub const fn network(&self) -> Network {
        self.network
    }

    pub const fn address_type(&self) -> AddressType {
        self.external.address_type()
    }

    /// Path from the master key to the key of an address, as in `m/84'/0'/0'/0/17`.
    pub fn path(&self, keychain: Keychain, index: u32) -> String {
        let keychain = match keychain {
            Keychain::External => &self.external,
            Keychain::Internal => &self.internal,
        };
        format!("m/{}/{index}", keychain.origin())
    }

    /// The script of an index, used or not.
    ///
    /// # Errors
    /// When the keychain has no such index.
    pub fn script(&self, keychain: Keychain, index: u32) -> Result<ScriptBuf, WalletError> {
        let keychain = match keychain {
            Keychain::External => &self.external,
            Keychain::Internal => &self.internal,
        };
        Ok(keychain.derive(index)?.script)
    }
}
