//! Addresses for customers, derived ahead of their need on a thread of their own, so that the
//! database's writer finds them at hand. Memory only: which index is given to whom is decided by the
//! database, never here.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use bdk_wallet::miniscript::{Descriptor, DescriptorPublicKey};
use bitcoin::secp256k1::{Secp256k1, VerifyOnly};
use bitcoin::{Network, ScriptBuf};

use super::WalletError;

/// Addresses kept ready: a few hundred milliseconds of the writer's best pace.
const AHEAD: u32 = 4_096;

/// The pool is filled up again when so few are left.
const REFILL_AT: u32 = AHEAD / 2;

/// Addresses derived between two looks at what is asked, so that a reader never waits long.
const BATCH: u32 = 64;

/// An address and its script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// As shown.
    pub text: String,
    /// Its script.
    pub script: ScriptBuf,
}

/// The external keychain's addresses.
pub struct AddressPool {
    shared: Arc<Shared>,
    dust_limit_sats: u64,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    keychain: KeychainAddresses,
    ahead: Mutex<Ahead>,
    wanted: Condvar,
}

/// What is derived: the indices from `next` up to `end`, but for those taken out.
struct Ahead {
    ready: BTreeMap<u32, Address>,
    /// The lowest index that may still be asked for.
    next: u32,
    /// The lowest index not yet derived.
    end: u32,
    /// Below [`REFILL_AT`], and not yet back at [`AHEAD`].
    filling: bool,
    stopping: bool,
}

struct KeychainAddresses {
    descriptor: Descriptor<DescriptorPublicKey>,
    network: Network,
    secp: Secp256k1<VerifyOnly>,
}

impl AddressPool {
    /// Reads a public descriptor and starts to derive from `next_index` on.
    ///
    /// # Errors
    /// When it is no ranged public descriptor, or the thread cannot be started.
    pub fn start(descriptor: &str, network: Network, next_index: u32) -> Result<Self, WalletError> {
        let descriptor = descriptor.parse().map_err(|_| WalletError::BadDescriptor)?;
        let keychain = KeychainAddresses { descriptor, network, secp: Secp256k1::verification_only() };
        let first = keychain.derive(next_index)?;
        let dust_limit_sats = first.script.minimal_non_dust().to_sat();
        let ahead = Ahead { ready: BTreeMap::new(), next: next_index, end: next_index, filling: true, stopping: false };
        let shared = Arc::new(Shared { keychain, ahead: Mutex::new(ahead), wanted: Condvar::new() });
        let worker = Arc::clone(&shared);
        let thread = thread::Builder::new()
            .name("addresses".to_owned())
            .spawn(move || worker.derive_ahead())
            .map_err(WalletError::Thread)?;
        Ok(Self { shared, dust_limit_sats, thread: Some(thread) })
    }

    /// The address of `index`, from the pool or derived at once.
    ///
    /// # Errors
    /// When the index is beyond the keychain's last.
    pub fn take(&self, index: u32) -> Result<Address, WalletError> {
        let ready = {
            let mut ahead = self.shared.lock();
            ahead.next = ahead.next.max(index.saturating_add(1));
            if ahead.left() < REFILL_AT {
                ahead.filling = true;
                self.shared.wanted.notify_one();
            }
            ahead.ready.remove(&index)
        };
        match ready {
            Some(address) => Ok(address),
            None => self.shared.keychain.derive(index),
        }
    }

    /// The least that an output to one of these addresses may hold and still be relayed.
    #[must_use]
    pub const fn dust_limit_sats(&self) -> u64 {
        self.dust_limit_sats
    }
}

impl Drop for AddressPool {
    fn drop(&mut self) {
        self.shared.lock().stopping = true;
        self.shared.wanted.notify_one();
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the thread that derives addresses had panicked");
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Ahead> {
        self.ahead.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn derive_ahead(&self) {
        while let Some((from, to)) = self.next_batch() {
            let batch: Result<Vec<_>, WalletError> =
                (from..to).map(|index| Ok((index, self.keychain.derive(index)?))).collect();
            match batch {
                Ok(batch) => {
                    let mut ahead = self.lock();
                    let next = ahead.next;
                    ahead.ready.extend(batch.into_iter().filter(|(index, _)| *index >= next));
                }
                // Whoever asks for such an index derives it alone and hears the error.
                Err(error) => return tracing::error!(%error, "addresses are no longer derived ahead"),
            }
        }
    }

    /// Waits until addresses are wanted and claims some; `None` when the pool is dropped.
    fn next_batch(&self) -> Option<(u32, u32)> {
        let mut ahead = self.lock();
        loop {
            if ahead.stopping {
                return None;
            }
            if ahead.filling && ahead.left() < AHEAD {
                let next = ahead.next;
                // What lies below was derived inline or rolled back: nobody takes it from here again.
                ahead.ready = ahead.ready.split_off(&next);
                let from = ahead.end.max(next);
                ahead.end = from.saturating_add(BATCH);
                return Some((from, ahead.end));
            }
            ahead.filling = false;
            ahead = self.wanted.wait(ahead).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Ahead {
    fn left(&self) -> u32 {
        self.end.saturating_sub(self.next)
    }
}

impl KeychainAddresses {
    fn derive(&self, index: u32) -> Result<Address, WalletError> {
        let derived =
            self.descriptor.derived_descriptor(&self.secp, index).map_err(|_| WalletError::NoAddress(index))?;
        let address = derived.address(self.network).map_err(|_| WalletError::NoAddress(index))?;
        Ok(Address { text: address.to_string(), script: address.script_pubkey() })
    }
}

#[cfg(test)]
mod tests {
    use bdk_wallet::template::{Bip84, Bip86, DescriptorTemplate};
    use bdk_wallet::{KeychainKind, Wallet};
    use bitcoin::bip32::Xpriv;

    use super::*;
    use crate::secrets::Secret;
    use crate::settings::AddressType;
    use crate::wallet::Descriptors;

    const NETWORK: Network = Network::Regtest;

    fn pool(address_type: AddressType, next_index: u32) -> (AddressPool, Wallet) {
        let words = bdk_wallet::keys::bip39::Mnemonic::from_entropy(&[7; 16]).unwrap();
        let descriptors = Descriptors::derive(&Secret::new(words.to_string()), NETWORK, address_type).unwrap();
        let master = Xpriv::new_master(NETWORK, &words.to_seed("")).unwrap();
        let wallet = match address_type {
            AddressType::Bip84 => wallet(|keychain| Bip84(master, keychain)),
            AddressType::Bip86 => wallet(|keychain| Bip86(master, keychain)),
        };
        (AddressPool::start(&descriptors.external, NETWORK, next_index).unwrap(), wallet)
    }

    fn wallet<T: DescriptorTemplate + Clone + Send + 'static>(template: impl Fn(KeychainKind) -> T) -> Wallet {
        Wallet::create(template(KeychainKind::External), template(KeychainKind::Internal))
            .network(NETWORK)
            .create_wallet_no_persist()
            .unwrap()
    }

    #[test]
    fn addresses_are_those_of_the_wallet_whether_derived_ahead_or_inline() {
        for address_type in [AddressType::Bip84, AddressType::Bip86] {
            let (pool, wallet) = pool(address_type, 0);
            // In order, skipping, backward (rolled back), and far beyond what is derived ahead.
            for index in [0, 1, 2, 70, 3, 2, 1_000_000, 1_000_001, 5] {
                let expected = wallet.peek_address(KeychainKind::External, index).address;
                let taken = pool.take(index).unwrap();
                assert_eq!((taken.text, taken.script), (expected.to_string(), expected.script_pubkey()), "{index}");
            }
        }
    }

    #[test]
    fn the_pool_fills_itself_and_follows_a_jump() {
        let (pool, _) = pool(AddressType::Bip84, 10);
        let filled = |index: u32| loop {
            let ahead = pool.shared.lock();
            if ahead.ready.contains_key(&index) {
                break;
            }
            drop(ahead);
            thread::yield_now();
        };
        filled(10 + AHEAD - 1);
        pool.take(1_000_000).unwrap();
        filled(1_000_001);
        assert!(pool.shared.lock().ready.keys().all(|index| *index > 1_000_000));
    }

    #[test]
    fn the_dust_limit_goes_by_the_kind_of_address() {
        assert_eq!(pool(AddressType::Bip84, 0).0.dust_limit_sats(), 294);
        assert_eq!(pool(AddressType::Bip86, 0).0.dust_limit_sats(), 330);
    }

    #[test]
    fn no_address_is_given_beyond_the_last_index() {
        let (pool, _) = pool(AddressType::Bip84, 0);
        assert!(matches!(pool.take(1 << 31), Err(WalletError::NoAddress(_))));
    }
}
