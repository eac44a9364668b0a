//! Addresses for customers, each given once. A thread of its own derives them ahead of need.
//!
//! The next index is kept in memory. The gateway reads its first value from the database, where a
//! payment's row stores the index of its address. An address given to a payment that was never
//! stored may be given again after a restart, because nobody saw it.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use bitcoin::{Network, Script, ScriptBuf};
use parking_lot::{Condvar, Mutex, MutexGuard};
use tillgate_machine::threads::{Thread, Threads};

use super::descriptor::{NotReady, WalletError};
use super::keychain::{Address, KeychainAddresses};

/// Number of addresses derived ahead: enough for a burst of five thousand payments, and half as
/// many again. Tests start hundreds of wallets and take few addresses of each.
const AHEAD: usize = if cfg!(any(test, feature = "testing")) { 64 } else { 8_192 };

/// Number of addresses derived before a look, beyond the given ones and those that a restored copy
/// skips. Another copy of the wallet gives the same addresses in the same order; of this many, at
/// least one is likely paid. A restored wallet may derive more.
const KNOWN_AHEAD: u32 = 200;

/// With at least this many ready, the pool is filled only in quiet moments, so that payments get
/// the processor.
const ENOUGH: usize = AHEAD / 4;

/// Time without a request that counts as a quiet moment.
const QUIET: Duration = Duration::from_millis(10);

/// Interval at which a waiting caller checks that the deriving thread still runs.
const LOOKS_AFTER: Duration = Duration::from_millis(100);

/// Number of addresses derived at a time. It bounds the wait of a caller that finds none ready.
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
    /// Wakes the deriving thread.
    wanted: Condvar,
    /// Wakes callers that found no address ready.
    derived: Condvar,
    /// The wallet was restored and has not looked at the whole chain: another copy may have given
    /// these addresses.
    withheld: AtomicBool,
}

/// Kind of addresses to derive next.
enum Wanted {
    /// Addresses for the next customers.
    Ahead,
    /// Addresses that another copy gave.
    Skipped,
}

#[derive(Default)]
struct Ahead {
    /// In the order of their indices, without a gap.
    ready: VecDeque<Address>,
    /// Index of each ready or skipped address, by its script.
    scripts: HashMap<ScriptBuf, u32>,
    /// The highest skipped index. It may not be derived yet.
    skipped_to: Option<u32>,
    /// Some of the indices that another copy gave before the start are not derived yet.
    is_skipped_left: bool,
    /// Number of addresses that must be ready before a look.
    known_ahead: usize,
    /// Count of given addresses.
    given: u64,
    /// Set by each request. Cleared once enough addresses are ready or the keychain is exhausted.
    filling: bool,
    /// First index for which the keychain has no address.
    exhausted_at: Option<u32>,
    stopping: bool,
}

impl AddressPool {
    /// Reads a public descriptor and starts to derive from `next_index`, the first index never
    /// given. `skipped` are earlier ranges of indices that another copy of the wallet gave, both
    /// ends included. All of them are derived once [`Self::wait_until_known_ahead`] has returned. A
    /// copy restored from a backup of this one skips `skip` indices, so that many more are derived
    /// ahead.
    ///
    /// # Errors
    /// When the descriptor is not a ranged public one, or the thread cannot be started.
    pub fn start(
        descriptor: &str,
        network: Network,
        next_index: u32,
        skipped: Vec<(u32, u32)>,
        skip: u32,
    ) -> Result<Self, WalletError> {
        let keychain = KeychainAddresses::parse(descriptor, network)?;
        let first = keychain.derive(next_index)?;
        let dust_limit_sats = first.script.minimal_non_dust().to_sat();
        let known_ahead = usize::try_from(skip.saturating_add(KNOWN_AHEAD)).unwrap_or(usize::MAX);
        let mut ahead = Ahead { known_ahead, ..Ahead::default() };
        ahead.push(first);
        let ahead =
            Mutex::new(Ahead { filling: true, is_skipped_left: !skipped.is_empty(), ..ahead });
        let (wanted, derived, withheld) = (Condvar::new(), Condvar::new(), AtomicBool::new(false));
        let shared = Arc::new(Shared { keychain, ahead, wanted, derived, withheld });
        let worker = Arc::clone(&shared);
        let threads = Threads::default();
        let skipped = skipped.into_iter().flat_map(|(first, last)| first..=last);
        let work = move || worker.derive_ahead(next_index.saturating_add(1), skipped);
        let thread = threads
            .start("the derivation of addresses", "addresses", work)
            .map_err(WalletError::Thread)?;
        Ok(Self { shared, dust_limit_sats, thread, threads })
    }

    /// Gives the next address, in the order of the indices, because a wallet restored elsewhere
    /// looks only a few indices beyond the last used one. If none is ready, waits less than a
    /// millisecond for the derivation.
    ///
    /// # Errors
    /// When the keychain has no more addresses, and while addresses are withheld.
    pub fn give(&self) -> Result<Address, WalletError> {
        let mut ahead = self.shared.lock();
        loop {
            // The check is under the lock, so that no address is given once withholding began.
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

    /// The index of a script that this copy has not given, because it is only derived ahead, or
    /// skipped.
    #[must_use]
    pub fn index_of_ungiven(&self, script: &Script) -> Option<u32> {
        self.shared.lock().scripts.get(script).copied()
    }

    /// Pauses or resumes giving addresses.
    pub fn withhold(&self, withheld: bool) {
        let _ahead = self.shared.lock();
        self.shared.withheld.store(withheld, Ordering::SeqCst);
    }

    #[must_use]
    pub fn is_withheld(&self) -> bool {
        self.shared.withheld.load(Ordering::SeqCst)
    }

    /// Derives at least this many addresses beyond the highest that was given or seen in use.
    pub fn know_ahead(&self, count: u32) {
        let mut ahead = self.shared.lock();
        ahead.known_ahead = ahead.known_ahead.max(usize::try_from(count).unwrap_or(usize::MAX));
        ahead.filling = true;
        self.shared.wanted.notify_one();
    }

    /// The next `KNOWN_AHEAD` scripts to be given, even if more are derived.
    #[must_use]
    pub fn scripts_ahead(&self) -> Vec<ScriptBuf> {
        let ahead = self.shared.lock();
        ahead
            .ready
            .iter()
            .take(KNOWN_AHEAD as usize)
            .map(|address| address.script.clone())
            .collect()
    }

    /// The script of any index, given or not.
    ///
    /// # Errors
    /// When the keychain has no such index.
    pub fn script(&self, index: u32) -> Result<ScriptBuf, WalletError> {
        Ok(self.shared.keychain.derive(index)?.script)
    }

    /// Whether [`Self::wait_until_known_ahead`] would return at once.
    #[must_use]
    pub fn is_known_ahead(&self) -> bool {
        self.shared.lock().is_known()
    }

    /// Waits until all skipped addresses are derived, and enough others to notice another copy of
    /// the wallet. That takes milliseconds; with a hundred thousand skipped, seconds. Returns false
    /// if the deriving thread has ended.
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

    /// Skips all addresses up to this index, because another copy of the wallet may have given
    /// them.
    pub fn skip_to_beyond(&self, index: u32) {
        let mut ahead = self.shared.lock();
        ahead.skipped_to = ahead.skipped_to.max(Some(index));
        while ahead.ready.front().is_some_and(|address| address.index <= index) {
            // `scripts` keeps the address, so that a look still finds coins that come to it.
            ahead.ready.pop_front();
            ahead.given += 1;
        }
        ahead.filling = true;
        self.shared.wanted.notify_one();
    }

    /// Waits until the deriving thread ends, which is always a failure. Returns its name.
    pub async fn ended(&self) -> &'static str {
        self.threads.ended().await
    }

    /// The smallest amount to one of these addresses that nodes relay, in satoshis.
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
                    ahead
                        .scripts
                        .extend(batch.drain(..).map(|address| (address.script, address.index)));
                }
            }
            self.derived.notify_all();
        }
    }

    /// Derives a batch, or less if the indices or the keychain run out.
    fn derive(&self, batch: &mut Vec<Address>, mut next: impl FnMut() -> Option<u32>) {
        while batch.len() < BATCH
            && let Some(Ok(address)) = next().map(|index| self.keychain.derive(index))
        {
            batch.push(address);
            // A thread that answers requests then waits for one address at most. Otherwise it would
            // wait for the rest of a time slice, two milliseconds.
            thread::yield_now();
        }
    }

    /// Waits until addresses are wanted, and returns their kind; `None` when the pool is dropped.
    /// Customers' addresses go first while few are ready. `given_before` is the count of given
    /// addresses before the last wait.
    fn wait_until_wanted(&self, given_before: &mut Option<u64>) -> Option<Wanted> {
        let mut ahead = self.lock();
        while !ahead.stopping {
            let is_exhausted = ahead.exhausted_at.is_some();
            if ahead.is_skipped_left && (is_exhausted || ahead.ready.len() >= ENOUGH) {
                return Some(Wanted::Skipped);
            }
            if is_exhausted || ahead.ready.len() >= ahead.wanted() {
                // A thread that ends counts as failed, so it waits even without work.
                ahead.filling = false;
                self.wanted.wait(&mut ahead);
            } else if ahead.ready.len() < ENOUGH.max(ahead.known_ahead)
                || *given_before == Some(ahead.given)
            {
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

    /// Whether all skipped addresses and enough others are derived for a look.
    fn is_known(&self) -> bool {
        !self.is_skipped_left
            && (self.ready.len() >= self.known_ahead || self.exhausted_at.is_some())
    }

    /// Number of addresses to have ready.
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
