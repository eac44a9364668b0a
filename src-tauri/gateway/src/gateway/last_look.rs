//! How far the chain was watched, and how that goes, for use cases and people. Held in memory: a restart looks anew.

use std::collections::VecDeque;

use parking_lot::{Mutex, MutexGuard};
use tillgate_domain::checked_clock::{ClockFault, latest_stored};
use tillgate_domain::time::Timestamp;
use tokio::sync::watch;

use super::StaffWarning;
use crate::chain::Tip;
use crate::machine::clock::Moment;
use crate::store::chain::WatchedChain;
use crate::store::{Reader, Store, StoreError};

/// A chain not watched for so long says nothing about new payments any more (interface, "Errors").
const WATCHED_WITHIN_MS: i64 = 10 * 60 * 1_000;

/// Warnings remembered; older ones are in the log.
const WARNINGS_MAX: usize = 100;

/// A look that is older says nothing of what another copy of the wallet did since.
const CAUGHT_UP_WITHIN_MS: i64 = 10 * 60 * 1_000;

/// How long people are told that the chain is another: whoever looks once a day hears of it.
const BEGUN_ANEW_TOLD_FOR_MS: i64 = 24 * 3_600_000;

/// How the watching goes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WatchStatus {
    /// The best block of the last look.
    pub tip: Option<Tip>,
    /// Start of the last successful look.
    pub looked_at: Option<Timestamp>,
    /// When a look last found another chain than the look before it.
    pub begun_anew_at: Option<Timestamp>,
    /// Why the last look failed, if it did.
    pub error: Option<String>,
    /// What staff should know, the newest last.
    pub warnings: Vec<StaffWarning>,
    /// Whether a look has ended since the start, well or not.
    pub has_looked: bool,
    /// How far a look has come that does not fit into one answer.
    pub catching_up: Option<CatchingUp>,
    /// What speaks against the clock.
    pub clock_fault: Option<ClockFault>,
    /// The latest time of what waited in the database when the gateway started.
    pub stored_until: Option<Timestamp>,
}

/// How far a look has come that has more to read than one answer holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CatchingUp {
    /// The height at which it began.
    pub from_height: u32,
    /// The blocks up to this height were looked at.
    pub seen_height: u32,
    /// The best block's.
    pub tip_height: u32,
    /// When the copy was restored for which all blocks since its birth are read.
    pub restored_at: Option<Timestamp>,
}

impl std::fmt::Display for CatchingUp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { from_height, seen_height, tip_height, .. } = *self;
        let (all, seen) = (tip_height.saturating_sub(from_height), seen_height.saturating_sub(from_height));
        // Rounded down: it is not done before it is.
        let percent = (u64::from(seen) * 100).checked_div(u64::from(all)).unwrap_or(0).min(99);
        write!(f, "the gateway catches up with the chain: block {seen_height} of {tip_height} ({percent} %)")
    }
}

impl WatchStatus {
    /// What people should know of the clock.
    #[must_use]
    pub fn clock_warning(&self) -> Option<String> {
        Some(match self.clock_fault? {
            ClockFault::MayBeAhead { by_ms } => format!(
                "the best block is {} minutes old by this machine's clock, and none was young since the gateway started or the machine woke: if the clock is ahead, set it right; payments are not closed by it before the blocks are past their deadline, or a day after it",
                by_ms / 60_000
            ),
            ClockFault::IsAhead { by_ms } => format!(
                "this machine's clock is {} minutes ahead of the servers that tell exchange rates: set it right; payments are closed by those servers' time meanwhile",
                by_ms / 60_000
            ),
            ClockFault::IsBehind { by_ms } => format!(
                "this machine's clock is behind the times of blocks or servers by {} minutes or more: set it right, or payments are closed too late",
                by_ms / 60_000
            ),
        })
    }

    /// What people should know where the database holds times that have not come by the clock that shows `now`.
    #[must_use]
    pub fn stored_ahead_warning(&self, now: Timestamp) -> Option<String> {
        let until = self.stored_until.filter(|until| *until > latest_stored(now))?;
        Some(format!(
            "the database holds times up to {}, which have not come yet: this machine's clock was ahead before the gateway started, or is behind now; set it right if it is wrong; payments that were made by the other clock stay open until the time that was told, offers have lapsed, what was approved is sent as soon as it can be, and on a day that has not come it uses the limit of each day until that one is over",
            until.iso_seconds()
        ))
    }

    /// What people should know for a day after the chain was found to be another.
    #[must_use]
    pub fn begun_anew(&self, now: Timestamp) -> Option<String> {
        let at = self.begun_anew_at.filter(|at| now < at.plus_ms(BEGUN_ANEW_TOLD_FOR_MS))?;
        Some(format!(
            "since {} another chain is there than before, or an older copy of it: it was watched from the wallet's birth on, and payments that rest on what it does not hold fall if that stays away",
            at.iso_seconds()
        ))
    }
}

/// Why the last look failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FailedLook {
    /// For people.
    pub reason: String,
    /// The chain answered, and what it showed could not be stored just now: the disk is full, or the database locked.
    pub is_for_storage: bool,
}

/// Why nothing is known of the chain on which a new payment may rest.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotWatched {
    /// Coins that come would not be seen.
    #[error("the Bitcoin chain was never synchronised, or has not been watched for 10 minutes")]
    Silent,
    /// Coins that come would be seen late.
    #[error("{0}")]
    Behind(CatchingUp),
    /// Coins that come would be seen, but not stored.
    #[error("what the Bitcoin chain shows cannot be stored: {0}")]
    NotStored(String),
}

/// The last look at the chain, as all of the gateway may ask for it.
pub struct LastLook {
    inner: Mutex<Inner>,
    /// Whether a look has ended since the start.
    has_looked: watch::Sender<bool>,
    /// How far a look has come that does not fit into one answer.
    catching_up: watch::Sender<Option<CatchingUp>>,
}

#[derive(Default)]
struct Inner {
    watched: Option<WatchedChain>,
    failed: Option<FailedLook>,
    warnings: VecDeque<StaffWarning>,
    /// When the last whole look began that ended well, by the machine's clocks; `None` where none has since the start, or since
    /// another backend was set: the database tells of looks from before.
    looked: Option<Moment>,
    clock_fault: Option<ClockFault>,
    /// The latest time of what waited in the database at the start.
    stored_until: Option<Timestamp>,
}

impl LastLook {
    /// Goes on where the database says that the chain was watched to.
    pub fn load(store: &Store) -> Result<Self, StoreError> {
        let read = |reader: &Reader<'_>| Ok((reader.watched_chain()?, reader.latest_of_what_waits()?));
        let (watched, stored_until) = store.read::<_, StoreError>(read)?;
        Ok(Self::of(Inner { watched, stored_until, ..Inner::default() }))
    }

    fn of(inner: Inner) -> Self {
        let (has_looked, catching_up) = (watch::Sender::new(false), watch::Sender::new(None));
        Self { inner: Mutex::new(inner), has_looked, catching_up }
    }

    /// Waits until a look has ended since the start, well or not.
    pub(crate) async fn ended_once(&self) {
        // Whoever waits has what holds the other end.
        let _ = self.has_looked.subscribe().wait_for(|has_looked| *has_looked).await;
    }

    /// Waits until a look has more to read than one answer holds, and tells how far it has come.
    pub(crate) async fn falls_behind(&self) -> CatchingUp {
        let mut catching_up = self.catching_up.subscribe();
        loop {
            if let Some(catching_up) = *catching_up.borrow_and_update() {
                return catching_up;
            }
            // Whoever waits has what holds the other end.
            let _ = catching_up.changed().await;
        }
    }

    /// Whether the chain is known as it was no longer ago than `within_ms` and not before `since`: by a look to the best block that
    /// ended since the start, after which none has failed. The environment's
    /// clock and both of the machine's must say so, for after a sleep nothing is known of what happened meanwhile.
    pub(crate) fn is_fresh(&self, since: Timestamp, now: Timestamp, within_ms: i64) -> bool {
        let inner = self.lock();
        let is_recent = |watched: &WatchedChain| {
            watched.looked_at >= since && now.ms().saturating_sub(watched.looked_at.ms()) <= within_ms
        };
        inner.failed.is_none()
            && self.catching_up.borrow().is_none()
            && inner.looked.is_some_and(|looked| looked.is_within(within_ms))
            && inner.watched.as_ref().is_some_and(is_recent)
    }

    /// How the watching goes.
    #[must_use]
    pub fn status(&self) -> WatchStatus {
        let inner = self.lock();
        WatchStatus {
            tip: inner.watched.as_ref().map(|watched| watched.tip),
            // Before the first look came to its end there is no time of one.
            looked_at: inner.watched.as_ref().map(|watched| watched.looked_at).filter(|at| at.ms() > 0),
            begun_anew_at: inner.watched.as_ref().and_then(|watched| watched.begun_anew_at),
            error: inner.failed.as_ref().map(|failed| failed.reason.clone()),
            warnings: inner.warnings.iter().copied().collect(),
            has_looked: *self.has_looked.borrow(),
            catching_up: *self.catching_up.borrow(),
            clock_fault: inner.clock_fault,
            stored_until: inner.stored_until,
        }
    }

    /// How far the chain was watched, at the last successful look. The database may be a minute behind.
    #[must_use]
    pub fn watched(&self) -> Option<WatchedChain> {
        self.lock().watched.clone()
    }

    /// How far the chain was watched, where the last look is not so old that it says nothing about new payments any more, and none
    /// since has more to read than one answer holds.
    ///
    /// # Errors
    /// Why there is none.
    pub(crate) fn watched_lately(&self, now: Timestamp) -> Result<WatchedChain, NotWatched> {
        let inner = self.lock();
        if let Some(catching_up) = *self.catching_up.borrow() {
            return Err(NotWatched::Behind(catching_up));
        }
        // A look of a time that has not come was made before the start, by a clock that was ahead: it may be as old.
        let lately =
            |watched: &&WatchedChain| now.ms().abs_diff(watched.looked_at.ms()) <= WATCHED_WITHIN_MS.unsigned_abs();
        match (inner.watched.as_ref().filter(lately), &inner.failed) {
            (Some(watched), _) => Ok(watched.clone()),
            (None, Some(FailedLook { reason, is_for_storage: true })) => Err(NotWatched::NotStored(reason.clone())),
            (None, _) => Err(NotWatched::Silent),
        }
    }

    /// How far the chain was watched, where the last look was made since the start and not long ago, and none since has more
    /// to read than one answer holds. `None` otherwise, whatever the database says.
    #[must_use]
    pub(crate) fn caught_up(&self) -> Option<WatchedChain> {
        let inner = self.lock();
        let is_caught_up = inner.looked.is_some_and(|looked| looked.is_within(CAUGHT_UP_WITHIN_MS))
            && self.catching_up.borrow().is_none();
        inner.watched.clone().filter(|_| is_caught_up)
    }

    /// Notes that another backend was set: what was told before is not its word.
    pub(crate) fn forget_looked(&self) {
        self.lock().looked = None;
    }

    /// Notes how a look ended that began at a moment, and logs each outage once.
    pub(crate) fn note(&self, failed: Option<FailedLook>, watched: Option<WatchedChain>, began: Moment) {
        let mut inner = self.lock();
        inner.watched = watched;
        if failed.is_none() {
            inner.looked = Some(began);
            self.catching_up.send_replace(None);
        }
        match &failed {
            None if inner.failed.is_some() => tracing::info!("the chain is watched again"),
            Some(FailedLook { reason, .. }) if inner.failed != failed => {
                tracing::error!(error = reason, "the chain is not watched");
            }
            _ => {}
        }
        inner.failed = failed;
        drop(inner);
        self.has_looked.send_replace(true);
    }

    /// Notes how far a look has come that is not at its end; the height at which it began stays.
    pub(crate) fn note_catching_up(&self, now: CatchingUp) {
        self.catching_up.send_modify(|catching_up| {
            let before = catching_up.filter(|before| before.restored_at == now.restored_at);
            let from_height = before.map_or(now.from_height, |before| before.from_height).min(now.seen_height);
            let now = CatchingUp { from_height, ..now };
            if before.is_none() {
                tracing::info!("{now}");
            }
            *catching_up = Some(now);
        });
    }

    /// Notes what speaks against the clock, and logs it once.
    pub(crate) fn note_clock(&self, fault: Option<ClockFault>) {
        let mut inner = self.lock();
        let is_new = inner.clock_fault.is_none() && fault.is_some();
        inner.clock_fault = fault;
        drop(inner);
        if is_new && let Some(warning) = self.status().clock_warning() {
            tracing::warn!("{warning}");
        }
    }

    /// Tells people once, however many looks see it.
    pub fn warn(&self, warning: StaffWarning) {
        let mut inner = self.lock();
        if inner.warnings.contains(&warning) {
            return;
        }
        tracing::warn!(%warning, "staff should know");
        if inner.warnings.len() == WARNINGS_MAX {
            inner.warnings.pop_front();
        }
        inner.warnings.push_back(warning);
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock()
    }
}

#[cfg(test)]
mod tests {
    use bitcoin::BlockHash;
    use bitcoin::hashes::Hash as _;

    use super::*;

    #[test]
    fn a_look_by_a_clock_that_was_ahead_says_nothing_about_new_payments_after_a_restart() {
        let now = Timestamp::from_ms(1_800_000_000_000);
        for (ahead_minutes, is_lately) in [(120, false), (11, false), (9, true), (0, true), (-9, true), (-11, false)] {
            let tip = Tip { height: 1, hash: BlockHash::all_zeros(), time: now };
            let looked_at = now.plus_ms(ahead_minutes * 60_000);
            let watched = WatchedChain { cursor: None, tip, looked_at, begun_anew_at: None };
            let look = LastLook::of(Inner { watched: Some(watched), ..Inner::default() });
            assert_eq!(look.watched_lately(now).is_ok(), is_lately, "{ahead_minutes}");
        }
    }

    #[test]
    fn people_hear_of_stored_times_that_have_not_come_until_they_have() {
        let until = Timestamp::from_ms(1_800_000_000_000);
        let status = LastLook::of(Inner { stored_until: Some(until), ..Inner::default() }).status();
        let told = status.stored_ahead_warning(until.plus_ms(-7_200_000)).unwrap();
        assert!(told.contains(&until.iso_seconds()) && told.contains("was ahead before the gateway started"), "{told}");
        assert_eq!(status.stored_ahead_warning(until.plus_ms(-60_000)), None, "a minute is an adjustment");
        assert_eq!(status.stored_ahead_warning(until), None);
    }

    #[test]
    fn who_asks_for_a_payment_hears_whether_the_chain_is_silent_or_the_disk_is_full() {
        let look = LastLook::of(Inner::default());
        let (now, began) = (Timestamp::from_ms(0), Moment::now());
        assert_eq!(look.watched_lately(now), Err(NotWatched::Silent));
        let failed = |is_for_storage| FailedLook { reason: "why".to_owned(), is_for_storage };
        look.note(Some(failed(false)), None, began);
        assert_eq!(look.watched_lately(now), Err(NotWatched::Silent));
        look.note(Some(failed(true)), None, began);
        assert_eq!(look.watched_lately(now), Err(NotWatched::NotStored("why".to_owned())));
        look.note(None, None, began);
        assert_eq!(look.watched_lately(now), Err(NotWatched::Silent));
    }
}
