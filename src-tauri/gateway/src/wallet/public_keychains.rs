//! The public side of the wallet's two keychains, as the database holds it: what every signature is held against.

use bitcoin::{Network, ScriptBuf};

use super::keychain::KeychainAddresses;
use super::{Descriptors, WalletError};
use crate::settings::AddressType;
use crate::store::keychains::Keychain;

/// Both stored descriptors, and the scripts that they give.
pub(crate) struct PublicKeychains {
    descriptors: Descriptors,
    network: Network,
    external: KeychainAddresses,
    internal: KeychainAddresses,
}

impl PublicKeychains {
    /// Takes the stored descriptors apart.
    ///
    /// # Errors
    /// When they are no ranged public descriptors of one kind.
    pub(crate) fn of(descriptors: Descriptors, network: Network) -> Result<Self, WalletError> {
        let external = KeychainAddresses::of(&descriptors.external, network)?;
        let internal = KeychainAddresses::of(&descriptors.internal, network)?;
        if external.address_type() != internal.address_type() {
            return Err(WalletError::BadDescriptor);
        }
        Ok(Self { descriptors, network, external, internal })
    }

    /// The stored descriptors.
    pub(crate) const fn descriptors(&self) -> &Descriptors {
        &self.descriptors
    }

    pub(crate) const fn network(&self) -> Network {
        self.network
    }

    /// The kind of all addresses of this wallet.
    pub(crate) const fn address_type(&self) -> AddressType {
        self.external.address_type()
    }

    /// From the master key to the key of an address: `m/84'/0'/0'/0/17`.
    pub(crate) fn path(&self, keychain: Keychain, index: u32) -> String {
        let keychain = match keychain {
            Keychain::External => &self.external,
            Keychain::Internal => &self.internal,
        };
        format!("m/{}/{index}", keychain.origin())
    }

    /// The script of an index, whether it was given or not.
    ///
    /// # Errors
    /// When the keychain has no such index.
    pub(crate) fn script(&self, keychain: Keychain, index: u32) -> Result<ScriptBuf, WalletError> {
        let keychain = match keychain {
            Keychain::External => &self.external,
            Keychain::Internal => &self.internal,
        };
        Ok(keychain.derive(index)?.script)
    }
}
