//! The last look at the chain and its outcome, for use cases and people. It is kept in memory: a
//! restart looks again.

use std::collections::VecDeque;

use parking_lot::{Mutex, MutexGuard};
use tillgate_chain::Tip;
use tillgate_domain::checked_clock::{ClockFault, latest_stored};
use tillgate_domain::closing::Doubts;
use tillgate_domain::id::Id;
use tillgate_domain::time::Timestamp;
use tillgate_machine::clock::Moment;
use tillgate_store::chain::WatchedChain;
use tillgate_store::{Reader, Store, StoreError};
use tillgate_told::{Telling, Time, Told};
use tokio::sync::watch;

use super::staff_warning::StaffWarning;
use super::standstill;

/// Greatest age of the last look at which new payments are accepted (interface, "Errors").
const WATCHED_WITHIN_MS: i64 = 10 * 60 * 1_000;

/// Limit of warnings in memory; older ones are in the log only.
const WARNINGS_MAX: usize = 100;

/// Greatest age of a look that rules out transactions of another copy of the wallet.
const CAUGHT_UP_WITHIN_MS: i64 = 10 * 60 * 1_000;

/// Time for which a changed chain is reported. Staff who open the panel once a day then see it.
const BEGUN_ANEW_TOLD_FOR_MS: i64 = 24 * 3_600_000;

/// The outcome of the looks at the chain, for people.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WatchStatus {
    /// The best block of the last look.
    pub tip: Option<Tip>,
    /// Start of the last successful look.
    pub looked_at: Option<Timestamp>,
    /// Time at which a look last found another chain than the look before it.
    pub begun_anew_at: Option<Timestamp>,
    /// Reason why the last look failed; `None` after a successful look.
    pub error: Option<Telling>,
    /// Warnings for staff, the newest last.
    pub warnings: Vec<StaffWarning>,
    /// Whether a look has succeeded or failed since the start.
    pub has_looked: bool,
    /// Progress of a look that needs several answers.
    pub catching_up: Option<CatchingUp>,
    /// Why the last look may not close payments.
    pub doubts: Doubts,
    /// The latest time among the database's open rows at the gateway's start.
    pub stored_until: Option<Timestamp>,
    /// The payments whose addresses have more transactions than the server reports.
    pub unreported: Vec<Id>,
}

/// Progress of a look that needs several answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error, Told)]
#[error(
    "the gateway catches up with the chain: block {seen_height} of {tip_height} ({} %)",
    percent(*.from_height, *.seen_height, *.tip_height)
)]
pub struct CatchingUp {
    /// The height of the first block to read.
    pub from_height: u32,
    /// The height of the last block read.
    pub seen_height: u32,
    pub tip_height: u32,
    /// Time of the restore that began this scan of all blocks since the wallet's birth.
    pub restored_at: Option<Timestamp>,
}

/// The read part of the blocks, rounded down, so that only a finished look shows 100.
fn percent(from_height: u32, seen_height: u32, tip_height: u32) -> u64 {
    let (all, seen) =
        (tip_height.saturating_sub(from_height), seen_height.saturating_sub(from_height));
    (u64::from(seen) * 100).checked_div(u64::from(all)).unwrap_or(0).min(99)
}

/// A warning about the clock or the chain.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Told)]
pub enum LookWarning {
    #[error(
        "the best block is {minutes} minutes old by this machine's clock, and no recent block was seen since the gateway started or the machine woke: if the clock is ahead, set it right; until a recent block comes, a payment is closed only once a block is later than its deadline, or a day after the deadline"
    )]
    MayBeAhead { minutes: i64 },
    #[error(
        "this machine's clock is {minutes} minutes ahead of the servers that tell exchange rates: set it right; payments are closed by those servers' time meanwhile"
    )]
    IsAhead { minutes: i64 },
    #[error(
        "this machine's clock is behind the times of blocks or servers by {minutes} minutes or more: set it right, or payments are closed too late"
    )]
    IsBehind { minutes: i64 },
    #[error(
        "the database holds times up to {until}, which are in the future: this machine's clock was ahead before the gateway started, or is behind now; set it right if it is wrong; payments with future times stay open until the deadline that customers were told; offers with future times have expired; payouts with future approvals are sent as soon as possible, and count in the daily limit until the day of their approval is over"
    )]
    StoredAhead { until: Time },
    #[error(
        "since {at} the backend shows another chain than before, or an older copy of it: it was scanned from the wallet's birth on, and payments become INVALID if their transactions stay missing"
    )]
    BegunAnew { at: Time },
}

impl WatchStatus {
    /// The warning about the clock, for people.
    #[must_use]
    pub fn clock_warning(&self) -> Option<LookWarning> {
        Some(match self.doubts.clock? {
            // The sentence about the old block names the clock too.
            ClockFault::MayBeAhead { .. } if self.doubts.standstill.is_some() => return None,
            ClockFault::MayBeAhead { by_ms } => LookWarning::MayBeAhead { minutes: by_ms / 60_000 },
            ClockFault::IsAhead { by_ms } => LookWarning::IsAhead { minutes: by_ms / 60_000 },
            ClockFault::IsBehind { by_ms } => LookWarning::IsBehind { minutes: by_ms / 60_000 },
        })
    }

    /// A warning for people, if the database holds times later than `now`.
    #[must_use]
    pub fn stored_ahead_warning(&self, now: Timestamp) -> Option<LookWarning> {
        let until = self.stored_until.filter(|until| *until > latest_stored(now))?;
        Some(LookWarning::StoredAhead { until: until.into() })
    }

    /// A warning for people, shown for a day after a look found another chain.
    #[must_use]
    pub fn begun_anew(&self, now: Timestamp) -> Option<LookWarning> {
        let at = self.begun_anew_at.filter(|at| now < at.plus_ms(BEGUN_ANEW_TOLD_FOR_MS))?;
        Some(LookWarning::BegunAnew { at: at.into() })
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedLook {
    pub reason: Telling,
    /// The backend answered, but its view could not be stored: the disk is full, or the database
    /// locked.
    pub is_for_storage: bool,
}

/// Reason why the chain's state is unknown, so that new payments are refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Told)]
pub enum NotWatched {
    #[error("the Bitcoin chain was never synchronised, or has not been watched for 10 minutes")]
    Silent,
    #[error("{0}")]
    Behind(CatchingUp),
    #[error("the state of the Bitcoin chain cannot be stored: {0}")]
    NotStored(Telling),
}

/// The last look at the chain, for all parts of the gateway.
pub struct LastLook {
    inner: Mutex<Inner>,
    has_looked: watch::Sender<bool>,
    catching_up: watch::Sender<Option<CatchingUp>>,
}

/// A look at the whole chain.
#[derive(Clone, Copy)]
struct WholeLook {
    /// Its start by the machine's clocks.
    began: Moment,
    /// Its time by the environment's clock.
    at: Timestamp,
}

#[derive(Default)]
struct Inner {
    watched: Option<WatchedChain>,
    failed: Option<FailedLook>,
    warnings: VecDeque<StaffWarning>,
    /// The last complete and successful look that no notice woke. `None` before the first such look
    /// after a start or a change of the backend; the database holds earlier looks.
    looked: Option<WholeLook>,
    doubts: Doubts,
    /// The latest time among the database's open rows at the start.
    stored_until: Option<Timestamp>,
    /// In order.
    unreported: Vec<Id>,
}

impl LastLook {
    /// Begins with the watched position in the database.
    pub fn load(store: &Store) -> Result<Self, StoreError> {
        let read = |reader: &Reader<'_>| Ok((reader.watched_chain()?, reader.latest_open_time()?));
        let (watched, stored_until) = store.read::<_, StoreError>(read)?;
        Ok(Self::from_inner(Inner { watched, stored_until, ..Inner::default() }))
    }

    fn from_inner(inner: Inner) -> Self {
        let (has_looked, catching_up) = (watch::Sender::new(false), watch::Sender::new(None));
        Self { inner: Mutex::new(inner), has_looked, catching_up }
    }

    /// Waits until a look has succeeded or failed since the start.
    pub async fn ended_once(&self) {
        // `self` holds the sender, so the channel stays open.
        let _ = self.has_looked.subscribe().wait_for(|has_looked| *has_looked).await;
    }

    /// Waits until a look needs more than one answer of the backend. Returns its progress.
    pub async fn falls_behind(&self) -> CatchingUp {
        let mut catching_up = self.catching_up.subscribe();
        loop {
            if let Some(catching_up) = *catching_up.borrow_and_update() {
                return catching_up;
            }
            // `self` holds the sender, so the channel stays open.
            let _ = catching_up.changed().await;
        }
    }

    /// Whether a complete look since the start began after `since` and at most `within_ms` ago, and
    /// no later look failed. The environment's clock and both clocks of the machine must agree,
    /// because looks stop during a sleep.
    pub fn is_fresh(&self, since: Timestamp, now: Timestamp, within_ms: i64) -> bool {
        let inner = self.lock();
        let is_recent = |look: WholeLook| {
            look.at >= since
                && now.ms().saturating_sub(look.at.ms()) <= within_ms
                && look.began.is_within(within_ms)
        };
        inner.failed.is_none()
            && self.catching_up.borrow().is_none()
            && inner.looked.is_some_and(is_recent)
    }

    #[must_use]
    pub fn status(&self) -> WatchStatus {
        let inner = self.lock();
        WatchStatus {
            tip: inner.watched.as_ref().map(|watched| watched.tip),
            // Zero means that no look has ended yet.
            looked_at: inner
                .watched
                .as_ref()
                .map(|watched| watched.looked_at)
                .filter(|at| at.ms() > 0),
            begun_anew_at: inner.watched.as_ref().and_then(|watched| watched.begun_anew_at),
            error: inner.failed.as_ref().map(|failed| failed.reason.clone()),
            warnings: inner.warnings.iter().copied().collect(),
            has_looked: *self.has_looked.borrow(),
            catching_up: *self.catching_up.borrow(),
            doubts: inner.doubts,
            stored_until: inner.stored_until,
            unreported: inner.unreported.clone(),
        }
    }

    /// The watched position of the last successful look. The database may be a minute behind.
    #[must_use]
    pub fn watched(&self) -> Option<WatchedChain> {
        self.lock().watched.clone()
    }

    /// The watched position, if the last look is recent enough for new payments and no later look
    /// is behind.
    pub fn watched_lately(&self, now: Timestamp) -> Result<WatchedChain, NotWatched> {
        let inner = self.lock();
        if let Some(catching_up) = *self.catching_up.borrow() {
            return Err(NotWatched::Behind(catching_up));
        }
        // A look in the future was stored by a clock that was ahead. Its real age may be as large
        // as the difference.
        let lately = |watched: &&WatchedChain| {
            now.ms().abs_diff(watched.looked_at.ms()) <= WATCHED_WITHIN_MS.unsigned_abs()
        };
        match (inner.watched.as_ref().filter(lately), &inner.failed) {
            (Some(watched), _) => Ok(watched.clone()),
            (None, Some(FailedLook { reason, is_for_storage: true })) => {
                Err(NotWatched::NotStored(reason.clone()))
            }
            (None, _) => Err(NotWatched::Silent),
        }
    }

    /// The watched position of a recent look since the start, if no later look is behind; otherwise
    /// `None`, even if the database holds a position.
    #[must_use]
    pub fn caught_up(&self) -> Option<WatchedChain> {
        let inner = self.lock();
        let is_caught_up =
            inner.looked.is_some_and(|looked| looked.began.is_within(CAUGHT_UP_WITHIN_MS))
                && self.catching_up.borrow().is_none();
        inner.watched.clone().filter(|_| is_caught_up)
    }

    /// Forgets the last look, because another backend was set.
    pub fn forget_looked(&self) {
        self.lock().looked = None;
    }

    /// Stores the outcome of a look that began at `began`; `None` for a look that the backend woke,
    /// because such a look may be about the news alone. Logs each outage once.
    pub fn note(
        &self,
        failed: Option<FailedLook>,
        watched: Option<WatchedChain>,
        began: Option<Moment>,
    ) {
        let mut inner = self.lock();
        if let (None, Some(began), Some(watched)) = (&failed, began, &watched) {
            inner.looked = Some(WholeLook { began, at: watched.looked_at });
        }
        inner.watched = watched;
        if failed.is_none() {
            self.catching_up.send_replace(None);
        }
        match &failed {
            None if inner.failed.is_some() => tracing::info!("the chain is watched again"),
            Some(FailedLook { reason, .. }) if inner.failed != failed => {
                tracing::error!(error = %reason, "the chain is not watched");
            }
            _ => {}
        }
        inner.failed = failed;
        drop(inner);
        self.has_looked.send_replace(true);
    }

    /// Stores the progress of an unfinished look. The height of the first block does not change.
    pub fn note_catching_up(&self, now: CatchingUp) {
        self.catching_up.send_modify(|catching_up| {
            let before = catching_up.filter(|before| before.restored_at == now.restored_at);
            let from_height =
                before.map_or(now.from_height, |before| before.from_height).min(now.seen_height);
            let now = CatchingUp { from_height, ..now };
            if before.is_none() {
                tracing::info!("{now}");
            }
            *catching_up = Some(now);
        });
    }

    /// Whether the address of a payment has more transactions than the server reports.
    pub fn is_unreported(&self, payment: &Id) -> bool {
        self.lock().unreported.binary_search(payment).is_ok()
    }

    /// Stores the payments, in order, whose addresses have more transactions than the server
    /// reports. Returns whether they changed.
    pub fn note_unreported(&self, payments: Vec<Id>) -> bool {
        let mut inner = self.lock();
        let has_changed = inner.unreported != payments;
        if has_changed && let Some(warning) = standstill::unreported(&payments) {
            tracing::warn!("{warning}");
        }
        inner.unreported = payments;
        has_changed
    }

    /// Stores the doubts of a look, and logs each once.
    pub fn note_doubts(&self, doubts: Doubts) {
        let before = std::mem::replace(&mut self.lock().doubts, doubts);
        if before.clock.is_none()
            && let Some(warning) = self.status().clock_warning()
        {
            tracing::warn!("{warning}");
        }
        if before.standstill.is_none()
            && let Some(standstill) = doubts.standstill
        {
            tracing::warn!("{}", standstill::told(standstill));
        }
    }

    /// Stores and logs a warning once, even if each look repeats it.
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
    use tillgate_domain::chain::Identity;
    use tillgate_store::chain::Cursor;

    use super::*;

    #[test]
    fn a_look_over_10_minutes_in_the_past_or_future_is_not_recent() {
        let now = Timestamp::from_ms(1_800_000_000_000);
        for (ahead_minutes, is_lately) in
            [(120, false), (11, false), (9, true), (0, true), (-9, true), (-11, false)]
        {
            let tip = Tip { height: 1, hash: BlockHash::all_zeros(), time: now };
            let looked_at = now.plus_ms(ahead_minutes * 60_000);
            let chain = Identity { genesis: BlockHash::all_zeros(), instance: None };
            let cursor = Cursor { chain, token: Vec::new() };
            let watched = WatchedChain { cursor, tip, looked_at, begun_anew_at: None };
            let look = LastLook::from_inner(Inner { watched: Some(watched), ..Inner::default() });
            assert_eq!(look.watched_lately(now).is_ok(), is_lately, "{ahead_minutes}");
        }
    }

    #[test]
    fn stored_future_times_cause_a_warning_until_they_pass() {
        let until = Timestamp::from_ms(1_800_000_000_000);
        let status =
            LastLook::from_inner(Inner { stored_until: Some(until), ..Inner::default() }).status();
        let told = status.stored_ahead_warning(until.plus_ms(-7_200_000)).unwrap().to_string();
        assert!(
            told.contains(&until.iso_seconds())
                && told.contains("was ahead before the gateway started"),
            "{told}"
        );
        assert_eq!(
            status.stored_ahead_warning(until.plus_ms(-60_000)),
            None,
            "a minute is an adjustment"
        );
        assert_eq!(status.stored_ahead_warning(until), None);
    }

    #[test]
    fn a_payment_request_tells_a_silent_chain_from_a_full_disk() {
        let look = LastLook::from_inner(Inner::default());
        let (now, began) = (Timestamp::from_ms(0), Some(Moment::now()));
        assert_eq!(look.watched_lately(now), Err(NotWatched::Silent));
        let failed =
            |is_for_storage| FailedLook { reason: Telling::of_text("why"), is_for_storage };
        look.note(Some(failed(false)), None, began);
        assert_eq!(look.watched_lately(now), Err(NotWatched::Silent));
        look.note(Some(failed(true)), None, began);
        assert_eq!(look.watched_lately(now), Err(NotWatched::NotStored(Telling::of_text("why"))));
        look.note(None, None, began);
        assert_eq!(look.watched_lately(now), Err(NotWatched::Silent));
    }

    #[test]
    fn only_a_look_that_no_notice_woke_is_fresh() {
        let look = LastLook::from_inner(Inner::default());
        let at = |second: i64| Timestamp::from_ms(second * 1_000);
        let watched = |second| {
            let tip = Tip { height: 7, hash: BlockHash::all_zeros(), time: at(0) };
            let chain = Identity { genesis: BlockHash::all_zeros(), instance: None };
            let cursor = Cursor { chain, token: Vec::new() };
            Some(WatchedChain { cursor, tip, looked_at: at(second), begun_anew_at: None })
        };
        look.note(None, watched(1), Some(Moment::now()));
        assert!(look.is_fresh(at(1), at(3), 10_000));
        look.note(None, watched(3), None);
        assert!(
            !look.is_fresh(at(2), at(3), 10_000),
            "the woken look may miss another copy's spend"
        );
        look.note(None, watched(4), Some(Moment::now()));
        assert!(look.is_fresh(at(2), at(4), 10_000));
    }
}
