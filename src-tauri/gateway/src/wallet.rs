//! The wallet: made from a mnemonic that lies in the secret store, held by the running gateway as
//! public descriptors only. No private key outlives the function that makes the descriptors, or one signature.

mod addresses;
mod change;
mod descriptor;
mod public_keychains;
pub(crate) mod spend;

pub(crate) use addresses::AddressPool;
pub(crate) use change::ChangeScripts;
pub(crate) use descriptor::{Descriptors, WalletError};
pub(crate) use public_keychains::PublicKeychains;

use bitcoin::Network;

use crate::machine::entropy::Entropy;
use crate::machine::secrets::{Purpose, Secret, SecretStore};
use crate::settings::AddressType;
use crate::store::Store;
use crate::store::keychains::Keychain;

/// What a running gateway holds of its wallet.
pub struct Wallet {
    /// Addresses for customers, derived ahead.
    pub addresses: AddressPool,
    /// The scripts of our own change.
    pub change: ChangeScripts,
    /// The public side of both keychains: what a signature must fit.
    pub(crate) keychains: PublicKeychains,
}

impl Wallet {
    /// The wallet whose descriptors the database holds; `None` before one was made.
    ///
    /// # Errors
    /// When the database cannot be read, or holds something that is no descriptor.
    pub fn load(store: &Store, network: Network) -> Result<Option<Self>, WalletError> {
        let keychains = store.read(|reader| {
            Ok::<_, WalletError>((reader.keychain(Keychain::External)?, reader.keychain(Keychain::Internal)?))
        })?;
        let (Some((external, next_address)), Some((internal, next_change))) = keychains else { return Ok(None) };
        let keychains = PublicKeychains::of(Descriptors { external, internal }, network)?;
        let skipped = store.read(|reader| reader.skipped_addresses())?;
        Ok(Some(Self::start(keychains, next_address, &skipped, next_change)?))
    }

    /// Makes the wallet. The mnemonic is durably in the secret store before its addresses can be
    /// given; one that is there already (from a start that was cut short) is used again.
    ///
    /// # Errors
    /// When the secret store or the database refuses, or a wallet exists.
    pub async fn create(
        store: &Store,
        secrets: &dyn SecretStore,
        entropy: &dyn Entropy,
        network: Network,
        address_type: AddressType,
    ) -> Result<Self, WalletError> {
        let mnemonic = match secrets.get(Purpose::WalletMnemonic)? {
            Some(mnemonic) => mnemonic,
            None => {
                let mnemonic = descriptor::new_mnemonic(entropy)?;
                secrets.set(Purpose::WalletMnemonic, &mnemonic)?;
                mnemonic
            }
        };
        Self::adopt(store, &mnemonic, network, address_type).await
    }

    async fn adopt(
        store: &Store,
        mnemonic: &Secret,
        network: Network,
        address_type: AddressType,
    ) -> Result<Self, WalletError> {
        let descriptors = Descriptors::derive(mnemonic, network, address_type)?;
        let wallet = Self::start(PublicKeychains::of(descriptors.clone(), network)?, 0, &[], 0)?;
        store
            .write(move |tx| -> Result<(), WalletError> {
                tx.insert_keychain(Keychain::External, &descriptors.external)?;
                tx.insert_keychain(Keychain::Internal, &descriptors.internal)?;
                Ok(())
            })
            .await?;
        Ok(wallet)
    }

    fn start(
        keychains: PublicKeychains,
        next_address: u32,
        skipped: &[(u32, u32)],
        next_change: u32,
    ) -> Result<Self, WalletError> {
        let (descriptors, network) = (keychains.descriptors(), keychains.network());
        let addresses = AddressPool::start(&descriptors.external, network, next_address, skipped)?;
        let change = ChangeScripts::derive(&descriptors.internal, network, next_change)?;
        Ok(Self { addresses, change, keychains })
    }
}
