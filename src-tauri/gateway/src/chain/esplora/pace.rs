//! How many questions a server is asked: so many at once, then so many a second, and none while it wants to be left alone.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use crate::chain::ChainDown;

/// The longest that a server is left alone because it says so.
const SILENT_MAX: Duration = Duration::from_secs(3_600);

/// How long a server is left alone that refuses a question as one too many and does not say how long.
const SILENT_WITHOUT_WORD: Duration = Duration::from_secs(30);

/// Parts into which a question is divided for counting.
const PARTS: u64 = 1_000;

/// How often a server may be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pace {
    /// Questions at once.
    pub burst: u32,
    /// Questions a second in the long run.
    pub per_second: u32,
}

impl Pace {
    /// What strangers who serve everybody bear.
    pub(crate) const ELSEWHERE: Self = Self { burst: 60, per_second: 5 };
    /// A server on this machine.
    pub(crate) const HERE: Self = Self { burst: 10_000, per_second: 2_000 };
}

/// Counts the questions to one server.
pub(super) struct Bucket {
    pace: Pace,
    inner: Mutex<Inner>,
}

struct Inner {
    /// Thousandths of questions that may be asked.
    left: u64,
    /// When that was reckoned.
    at: Instant,
    /// The server is not asked before.
    silent_until: Option<Instant>,
    /// How often it wanted to be left alone.
    silences: u64,
    /// What was left when it last wanted to be.
    left_before: u64,
}

impl Bucket {
    pub(super) fn new(pace: Pace) -> Self {
        let left = u64::from(pace.burst).saturating_mul(PARTS);
        Self {
            pace,
            inner: Mutex::new(Inner { left, at: Instant::now(), silent_until: None, silences: 0, left_before: 0 }),
        }
    }

    /// Questions a second in the long run.
    pub(super) fn per_second(&self) -> u64 {
        u64::from(self.pace.per_second)
    }

    /// Takes one question, if one may be asked now.
    pub(super) fn take(&self) -> bool {
        self.take_at(Instant::now())
    }

    fn take_at(&self, now: Instant) -> bool {
        let mut inner = self.inner.lock();
        self.fill(&mut inner, now);
        let left = inner.left.checked_sub(PARTS);
        inner.left = left.unwrap_or(inner.left);
        left.is_some()
    }

    /// Takes one question that must be asked, if need be at the cost of later ones.
    pub(super) fn take_in_any_case(&self) {
        let mut inner = self.inner.lock();
        self.fill(&mut inner, Instant::now());
        inner.left = inner.left.saturating_sub(PARTS);
    }

    /// Waits until a question may be asked, and takes it.
    pub(super) fn wait(&self) {
        while !self.take() {
            std::thread::sleep(Duration::from_millis(u64::from(1_000 / self.pace.per_second.clamp(1, 1_000))));
        }
    }

    /// Why the server may not be asked now.
    pub(super) fn check_silence(&self, host: &str) -> Result<(), ChainDown> {
        self.check_silence_at(Instant::now(), host)
    }

    fn check_silence_at(&self, now: Instant, host: &str) -> Result<(), ChainDown> {
        let until = self.inner.lock().silent_until;
        let left = until.and_then(|until| until.checked_duration_since(now)).filter(|left| !left.is_zero());
        left.map_or(Ok(()), |left| {
            let seconds = left.as_secs().saturating_add(1);
            Err(ChainDown(format!(
                "the Esplora server at {host} was asked too often and wants to be left alone for {seconds} s more: set a server of your own as backendUrl, or another behind it"
            )))
        })
    }

    /// Leaves the server alone as long as it says, an hour at most.
    pub(super) fn be_silent(&self, wait_ms: Option<i64>) {
        let wait = wait_ms.map_or(SILENT_WITHOUT_WORD, |ms| Duration::from_millis(u64::try_from(ms).unwrap_or(0)));
        let mut inner = self.inner.lock();
        inner.silent_until = Instant::now().checked_add(wait.min(SILENT_MAX));
        inner.silences = inner.silences.saturating_add(1);
        inner.left_before = std::mem::take(&mut inner.left);
    }

    /// Leaves it alone for no longer than where it does not say how long. It said so to a question that a stranger chose, and says so again
    /// to the next where it means all.
    pub(super) fn be_silent_briefly(&self) {
        let mut inner = self.inner.lock();
        inner.silent_until = inner.silent_until.min(Instant::now().checked_add(SILENT_WITHOUT_WORD));
    }

    /// Asks it once more before it is left alone. It said so to a question that a stranger chose, and says so again where it means all.
    /// Answers until when it wanted to be. What the merchant's own questions had left is theirs again.
    pub(super) fn put_off_silence(&self) -> Option<Instant> {
        let mut inner = self.inner.lock();
        inner.left = inner.left.max(inner.left_before);
        inner.silences = inner.silences.saturating_sub(1);
        inner.silent_until.take()
    }

    /// It meant what was put off.
    pub(super) fn be_silent_until(&self, until: Option<Instant>) {
        let mut inner = self.inner.lock();
        (inner.silent_until, inner.left) = (inner.silent_until.max(until), 0);
        inner.silences = inner.silences.saturating_add(1);
    }

    /// How often it wanted to be left alone so far, without what was put off.
    pub(super) fn silences(&self) -> u64 {
        self.inner.lock().silences
    }

    fn fill(&self, inner: &mut Inner, now: Instant) {
        let passed = now.saturating_duration_since(inner.at);
        let passed_ms = u64::try_from(passed.as_millis()).unwrap_or(u64::MAX);
        // A thousandth of a question for each millisecond and question a second.
        let more = passed_ms.saturating_mul(u64::from(self.pace.per_second));
        if more > 0 {
            inner.at = now;
        }
        let most = u64::from(self.pace.burst).saturating_mul(PARTS);
        inner.left = inner.left.saturating_add(more).min(most);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_asked_so_often_at_once_and_then_so_often_a_second() {
        let bucket = Bucket::new(Pace { burst: 3, per_second: 2 });
        let began = Instant::now();
        let taken = |after_ms: u64| {
            let now = began + Duration::from_millis(after_ms);
            (0..100).filter(|_| bucket.take_at(now)).count()
        };
        assert_eq!(taken(0), 3);
        assert_eq!(taken(450), 0);
        assert_eq!(taken(510), 1);
        assert_eq!(taken(3_600_000), 3, "no more than at once, however long it was not asked");
    }

    #[test]
    fn a_server_that_wants_to_be_left_alone_is_for_as_long_as_it_says_but_no_longer_than_an_hour() {
        for (says_ms, s) in [(Some(120_000), 120), (Some(i64::MAX), 3_600), (None, 30)] {
            let bucket = Bucket::new(Pace::HERE);
            let began = Instant::now();
            bucket.be_silent(says_ms);
            let is_silent = |after: u64| bucket.check_silence_at(began + Duration::from_secs(after), "here").is_err();
            assert!(is_silent(s - 1), "{says_ms:?}");
            assert!(!is_silent(s + 1), "{says_ms:?}");
        }
    }

    #[test]
    fn what_a_server_says_to_a_strangers_question_leaves_it_alone_for_half_a_minute_at_most() {
        for (says_ms, s) in [(3_600_000, 30), (10_000, 10)] {
            let bucket = Bucket::new(Pace::HERE);
            let began = Instant::now();
            bucket.be_silent(Some(says_ms));
            bucket.be_silent_briefly();
            let is_silent = |after: u64| bucket.check_silence_at(began + Duration::from_secs(after), "here").is_err();
            assert!(is_silent(s - 1) && !is_silent(s + 1), "{says_ms}");
        }
    }
}
