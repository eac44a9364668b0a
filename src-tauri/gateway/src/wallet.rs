//! The wallet, made from a mnemonic in the secret store. The running gateway holds only its public
//! descriptors. A private key lives only while the descriptors are made or a transaction is signed.

mod addresses;
mod change;
mod descriptor;
mod keychain;
pub mod mark;
mod other_type;
mod public_keychains;
pub mod spend;
#[cfg(test)]
mod tests;
pub mod words;
mod words_drafts;

pub use addresses::AddressPool;
pub use change::ChangeScripts;
pub use descriptor::{Descriptors, NotReady, WalletError};
pub use other_type::OtherType;
pub use public_keychains::PublicKeychains;
pub use words_drafts::{DRAFT_KEPT_FOR, WordsDraft, WordsDrafts};

use std::sync::Arc;

use bitcoin::Network;
use parking_lot::RwLock;
use tillgate_store::keychains::Keychain;
use tillgate_store::restore::Restore;
use tillgate_store::{Store, StoreError};

/// The wallet of a running gateway.
pub struct Wallet {
    /// Addresses for customers, derived ahead.
    pub addresses: AddressPool,
    /// The scripts of our own change.
    pub change: ChangeScripts,
    /// The public side of both keychains, against which each signature is checked.
    pub keychains: PublicKeychains,
    /// The other address type of the same words, while the look of a restore has not ended.
    other: RwLock<Option<Arc<OtherType>>>,
}

impl Wallet {
    /// The wallet of the stored descriptors; `None` before a wallet was made. `skip` is the setting
    /// `restoreSkip`.
    ///
    /// # Errors
    /// When the database cannot be read, or a stored descriptor is malformed.
    pub fn load(store: &Store, network: Network, skip: u32) -> Result<Option<Self>, WalletError> {
        let keychains = store.read(|reader| {
            Ok::<_, WalletError>((
                reader.keychain(Keychain::External)?,
                reader.keychain(Keychain::Internal)?,
            ))
        })?;
        let (Some((external, next_address)), Some((internal, next_change))) = keychains else {
            return Ok(None);
        };
        let keychains = PublicKeychains::parse(Descriptors { external, internal }, network)?;
        let (skipped, restore) = store
            .read(|reader| Ok::<_, StoreError>((reader.skipped_addresses()?, reader.restore()?)))?;
        let wallet = Self::start(keychains, next_address, skipped, next_change, skip)?;
        if let Some(restore) = restore {
            wallet.apply_restore(&restore, next_address, next_change)?;
            wallet.watch_other_type(store, &restore)?;
        }
        Ok(Some(wallet))
    }

    /// The other address type, if the look of a restore watches it.
    pub fn other(&self) -> Option<Arc<OtherType>> {
        self.other.read().clone()
    }

    /// Watches the other address type for the look of a restore, if the database names its
    /// descriptors.
    ///
    /// # Errors
    /// When the database cannot be read, or a descriptor is malformed.
    pub fn watch_other_type(&self, store: &Store, restore: &Restore) -> Result<(), WalletError> {
        let (descriptors, external, internal) = store.read(|reader| {
            let ends =
                (reader.other_end(Keychain::External)?, reader.other_end(Keychain::Internal)?);
            Ok::<_, StoreError>((reader.other_descriptors()?, ends.0, ends.1))
        })?;
        let derive = |descriptors| {
            OtherType::derive(
                descriptors,
                self.keychains.network(),
                (external, internal),
                restore.looks_ahead,
            )
        };
        *self.other.write() = descriptors.as_ref().map(derive).transpose()?.map(Arc::new);
        Ok(())
    }

    /// Pauses or resumes giving addresses.
    pub fn withhold(&self, withheld: bool) {
        self.addresses.withhold(withheld);
    }

    /// Applies the state of a restore: gives no addresses until the restored copy has looked at the
    /// whole chain. Derives as many indices ahead as its look needs. `next_address` and
    /// `next_change` are the first free indices.
    ///
    /// # Errors
    /// When a keychain has no more indices.
    pub fn apply_restore(
        &self,
        restore: &Restore,
        next_address: u32,
        next_change: u32,
    ) -> Result<(), WalletError> {
        self.addresses.know_ahead(restore.looks_ahead);
        self.change.know_ahead(restore.looks_ahead, next_change)?;
        if let Some(last) = next_address.checked_sub(1) {
            self.addresses.skip_to_beyond(last);
        }
        if !restore.is_dangerous() {
            *self.other.write() = None;
        }
        self.addresses.withhold(restore.is_dangerous());
        Ok(())
    }

    fn start(
        keychains: PublicKeychains,
        next_address: u32,
        skipped: Vec<(u32, u32)>,
        next_change: u32,
        skip: u32,
    ) -> Result<Self, WalletError> {
        let (descriptors, network) = (keychains.descriptors(), keychains.network());
        let addresses =
            AddressPool::start(&descriptors.external, network, next_address, skipped, skip)?;
        let change = ChangeScripts::derive(&descriptors.internal, network, next_change, skip)?;
        Ok(Self { addresses, change, keychains, other: RwLock::default() })
    }
}
