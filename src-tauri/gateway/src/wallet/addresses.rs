//! Addresses for customers, each given once, derived ahead of their need on a thread of their own.
//!
//! Which is the next is known here, in memory, from where the database was when the gateway opened it; the row of the
//! payment that an address is given to says its index. So one that was given to a payment which was never stored may be
//! given again after a restart: nobody has seen it.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use bitcoin::{Network, Script, ScriptBuf};
use parking_lot::{Condvar, Mutex, MutexGuard};

use super::keychain::{Address, KeychainAddresses};
use super::{NotReady, WalletError};
use crate::machine::threads::{Thread, Threads};

/// Addresses derived ahead: a burst of five thousand payments, and half as many again.
const AHEAD: usize = 8_192;

/// Addresses that are known before a look, beyond those that were given and those that a restored copy skips. Another copy of the wallet
/// gives the same ones in the same order, and among so many one at least is paid. A restored wallet may know more.
const KNOWN_AHEAD: u32 = 200;

/// While so many are left, the pool is filled up only when nobody asks: the processor is for the payments then.
const ENOUGH: usize = AHEAD / 4;

/// Nobody asks when nobody has asked for so long.
const QUIET: Duration = Duration::from_millis(10);

/// Whoever waits for the thread that derives looks so often whether it has ended.
const LOOKS_AFTER: Duration = Duration::from_millis(100);

/// Addresses derived between two looks at what is asked: whoever finds none ready waits for one such batch.
const BATCH: usize = 16;

/// The external keychain's addresses.
pub struct AddressPool {
    shared: Arc<Shared>,
    dust_limit_sats: u64,
    thread: Thread,
    threads: Threads,
}

struct Shared {
    keychain: KeychainAddresses,
    ahead: Mutex<Ahead>,
    /// Wakes the thread that derives.
    wanted: Condvar,
    /// Wakes those who found none ready.
    derived: Condvar,
    /// The wallet was restored and has not looked at the whole chain: another copy may have given these.
    withheld: AtomicBool,
}

/// Which addresses are to be derived next.
enum Wanted {
    /// Those that customers are given next.
    Ahead,
    /// Those that another copy gave.
    Skipped,
}

#[derive(Default)]
struct Ahead {
    /// In the order of their indices, without a gap.
    ready: VecDeque<Address>,
    /// The index of each that is ready, and of those that were skipped, by its script.
    scripts: HashMap<ScriptBuf, u32>,
    /// The highest index that is given to nobody, though it may not be derived yet.
    skipped_to: Option<u32>,
    /// Of the indices that another copy gave before this gateway was opened, some are not derived yet.
    is_skipped_left: bool,
    /// So many are to be ready before a look asks about any.
    known_ahead: usize,
    /// Counts what was given.
    given: u64,
    /// Some were given since `ready` held [`AHEAD`].
    filling: bool,
    /// The index for which the keychain has no address any more.
    exhausted_at: Option<u32>,
    stopping: bool,
}

impl AddressPool {
    /// Reads a public descriptor and starts to derive from `next_index`, the first that was never given. `skipped` are ranges
    /// of indices before it, both ends included, that another copy of the wallet gave: they may be very many, and are known
    /// only when [`Self::wait_until_known_ahead`] has returned. A copy that is restored from a backup of this one passes over `skip`.
    ///
    /// # Errors
    /// When it is no ranged public descriptor, or the thread cannot be started.
    pub fn start(
        descriptor: &str,
        network: Network,
        next_index: u32,
        skipped: Vec<(u32, u32)>,
        skip: u32,
    ) -> Result<Self, WalletError> {
        let keychain = KeychainAddresses::of(descriptor, network)?;
        let first = keychain.derive(next_index)?;
        let dust_limit_sats = first.script.minimal_non_dust().to_sat();
        let known_ahead = usize::try_from(skip.saturating_add(KNOWN_AHEAD)).unwrap_or(usize::MAX);
        let mut ahead = Ahead { known_ahead, ..Ahead::default() };
        ahead.push(first);
        let ahead = Mutex::new(Ahead { filling: true, is_skipped_left: !skipped.is_empty(), ..ahead });
        let (wanted, derived, withheld) = (Condvar::new(), Condvar::new(), AtomicBool::new(false));
        let shared = Arc::new(Shared { keychain, ahead, wanted, derived, withheld });
        let worker = Arc::clone(&shared);
        let threads = Threads::default();
        let skipped = skipped.into_iter().flat_map(|(first, last)| first..=last);
        let work = move || worker.derive_ahead(next_index.saturating_add(1), skipped);
        let thread = threads.start("the derivation of addresses", "addresses", work).map_err(WalletError::Thread)?;
        Ok(Self { shared, dust_limit_sats, thread, threads })
    }

    /// An address that nobody was given, in the order of the indices: a wallet that is restored elsewhere looks only a
    /// few indices beyond the last one used. Waits for the derivation where none is ready (under a millisecond).
    ///
    /// # Errors
    /// When the keychain has no more, and while addresses are withheld.
    pub fn give(&self) -> Result<Address, WalletError> {
        let mut ahead = self.shared.lock();
        loop {
            // Under the lock: whoever withholds them is sure that none is given any more.
            if self.is_withheld() {
                return Err(NotReady::NotLooked.into());
            }
            if !ahead.filling {
                ahead.filling = true;
                self.shared.wanted.notify_one();
            }
            if let Some(address) = ahead.pop() {
                ahead.given += 1;
                return Ok(address);
            }
            if let Some(index) = ahead.exhausted_at {
                return Err(WalletError::NoAddress(index));
            }
            self.shared.derived.wait(&mut ahead);
        }
    }

    /// The index of a script that was given to nobody here: derived ahead, or skipped.
    #[must_use]
    pub fn index_ahead(&self, script: &Script) -> Option<u32> {
        self.shared.lock().scripts.get(script).copied()
    }

    /// Gives nobody an address any more, or everybody who asks again.
    pub(super) fn withhold(&self, withheld: bool) {
        let _ahead = self.shared.lock();
        self.shared.withheld.store(withheld, Ordering::SeqCst);
    }

    /// Whether nobody is given an address.
    #[must_use]
    pub fn is_withheld(&self) -> bool {
        self.shared.withheld.load(Ordering::SeqCst)
    }

    /// Lets looks know so many beyond the highest that was given or seen in use.
    pub(super) fn know_ahead(&self, count: u32) {
        let mut ahead = self.shared.lock();
        ahead.known_ahead = ahead.known_ahead.max(usize::try_from(count).unwrap_or(usize::MAX));
        ahead.filling = true;
        self.shared.wanted.notify_one();
    }

    /// The scripts that are given next, `KNOWN_AHEAD` of them however many more are known.
    #[must_use]
    pub fn scripts_ahead(&self) -> Vec<ScriptBuf> {
        let ahead = self.shared.lock();
        ahead.ready.iter().take(KNOWN_AHEAD as usize).map(|address| address.script.clone()).collect()
    }

    /// The script of any index, whether it was given or not.
    ///
    /// # Errors
    /// When the keychain has no such index.
    pub fn script(&self, index: u32) -> Result<ScriptBuf, WalletError> {
        Ok(self.shared.keychain.derive(index)?.script)
    }

    /// Whether all is known for which [`Self::wait_until_known_ahead`] waits.
    #[must_use]
    pub fn is_known_ahead(&self) -> bool {
        self.shared.lock().is_known()
    }

    /// Waits until so many are derived ahead that what another copy of the wallet gave is known, and all that was skipped (a few
    /// milliseconds, once; seconds for a hundred thousand that were skipped). Answers whether it is: not where the thread that derives has ended.
    #[must_use]
    pub fn wait_until_known_ahead(&self) -> bool {
        let mut ahead = self.shared.lock();
        while !ahead.is_known() {
            if ahead.stopping || self.threads.has_ended() {
                return false;
            }
            self.shared.derived.wait_for(&mut ahead, LOOKS_AFTER);
        }
        true
    }

    /// Gives nobody an address up to this index any more: another copy of the wallet gave it.
    pub fn skip_to_beyond(&self, index: u32) {
        let mut ahead = self.shared.lock();
        ahead.skipped_to = ahead.skipped_to.max(Some(index));
        while ahead.ready.front().is_some_and(|address| address.index <= index) {
            // What comes to one of these later is found by its script all the same.
            ahead.ready.pop_front();
            ahead.given += 1;
        }
        ahead.filling = true;
        self.shared.wanted.notify_one();
    }

    /// Waits until the thread that derives ends, and tells its name. It does not while all is well.
    pub async fn ended(&self) -> &'static str {
        self.threads.ended().await
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
        self.thread.join();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Ahead> {
        self.ahead.lock()
    }

    fn derive_ahead(&self, mut next_index: u32, mut skipped: impl Iterator<Item = u32>) {
        let mut given_before = None;
        let mut batch = Vec::with_capacity(BATCH);
        while let Some(wanted) = self.wait_until_wanted(&mut given_before) {
            match wanted {
                Wanted::Ahead => {
                    self.derive(&mut batch, || {
                        let index = next_index;
                        next_index = next_index.saturating_add(1);
                        Some(index)
                    });
                    let exhausted = batch.len() < BATCH;
                    let mut ahead = self.lock();
                    batch.drain(..).for_each(|address| ahead.push(address));
                    if exhausted {
                        let at = next_index.saturating_sub(1);
                        ahead.exhausted_at = Some(at);
                        tracing::error!(next_index = at, "the keychain has no more addresses");
                    }
                }
                Wanted::Skipped => {
                    self.derive(&mut batch, || skipped.next());
                    let mut ahead = self.lock();
                    ahead.is_skipped_left = batch.len() == BATCH;
                    ahead.scripts.extend(batch.drain(..).map(|address| (address.script, address.index)));
                }
            }
            self.derived.notify_all();
        }
    }

    /// Derives a batch, or fewer where there are no more indices or the keychain has none of them.
    fn derive(&self, batch: &mut Vec<Address>, mut next: impl FnMut() -> Option<u32>) {
        while batch.len() < BATCH
            && let Some(Ok(address)) = next().map(|index| self.keychain.derive(index))
        {
            batch.push(address);
            // A thread that answers requests waits for the processor no longer than one address takes; without
            // this, for what is left of a time slice: two milliseconds.
            thread::yield_now();
        }
    }

    /// Waits until addresses are wanted, and tells which; `None` when the pool is dropped. Those for customers go first while
    /// few are ready. `given_before` is how many had been given before the last wait.
    fn wait_until_wanted(&self, given_before: &mut Option<u64>) -> Option<Wanted> {
        let mut ahead = self.lock();
        while !ahead.stopping {
            let is_exhausted = ahead.exhausted_at.is_some();
            if ahead.is_skipped_left && (is_exhausted || ahead.ready.len() >= ENOUGH) {
                return Some(Wanted::Skipped);
            }
            if is_exhausted || ahead.ready.len() >= ahead.wanted() {
                // A thread that ends counts as failed, so it waits though nothing may be left to do.
                ahead.filling = false;
                self.wanted.wait(&mut ahead);
            } else if ahead.ready.len() < ENOUGH.max(ahead.known_ahead) || *given_before == Some(ahead.given) {
                return Some(Wanted::Ahead);
            } else {
                *given_before = Some(ahead.given);
                self.wanted.wait_for(&mut ahead, QUIET);
            }
        }
        None
    }
}

impl Ahead {
    fn push(&mut self, address: Address) {
        self.scripts.insert(address.script.clone(), address.index);
        if self.skipped_to.is_none_or(|skipped_to| address.index > skipped_to) {
            self.ready.push_back(address);
        }
    }

    /// Whether as many are derived as a look is to know, and all that were skipped.
    fn is_known(&self) -> bool {
        !self.is_skipped_left && (self.ready.len() >= self.known_ahead || self.exhausted_at.is_some())
    }

    /// How many are to be ready.
    fn wanted(&self) -> usize {
        AHEAD.max(self.known_ahead)
    }

    fn pop(&mut self) -> Option<Address> {
        let address = self.ready.pop_front()?;
        self.scripts.remove(&address.script);
        Some(address)
    }
}

#[cfg(test)]
mod tests;
