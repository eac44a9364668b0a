//! The environment's clock. The only file that reads the machine's.
//!
//! It starts from the wall clock and runs by the boot-time clock, which counts sleep and never
//! steps. A step of the wall clock against it by more than a minute is reported, and taken over
//! only when it has lasted five minutes. It never goes backwards:
//! after a step back it runs at half speed until it is level with the wall clock, so that nothing
//! that was decided is undone and nothing that is due waits for ever.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tillgate_domain::time::Timestamp;

use crate::machine::fail_points;

/// A step of the wall clock up to this is an adjustment, not worth a word.
const STEP_TOLERATED_MS: i64 = 60_000;

/// How long a step must last before it is believed: a clock set by mistake is usually set back soon.
const STEP_BELIEVED_AFTER_MS: i64 = 300_000;

/// Running at half speed is accounted for in portions of at least this, lest halves be lost.
const SLEW_PORTION_MS: i64 = 1_000;

/// How long a timer may run without a look at the clock.
const ASK_CLOCK_EVERY: Duration = Duration::from_secs(1);

/// The environment's clock.
pub trait Clock: Send + Sync {
    /// Now, on the environment's clock.
    fn now(&self) -> Timestamp;

    /// One of the steps forward that it took over since it began to run, by its number from 0. A step is there before any moment
    /// that it led to is told.
    fn step_forward(&self, number: usize) -> Option<StepForward> {
        let _ = number;
        None
    }
}

/// A step of the machine's clock that the environment's followed: so much time did not pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StepForward {
    /// The last moment that was told before it.
    pub from: Timestamp,
    /// How far it went.
    pub by_ms: i64,
}

/// Now on the machine's own wall clock: for `webhook-timestamp` and the like.
pub fn machine_now() -> Timestamp {
    let (step_ms, _) = fail_points::clock_steps_ms();
    Timestamp::from_ms(wall_ms().saturating_add(step_ms))
}

fn wall_ms() -> i64 {
    use std::time::{SystemTime, UNIX_EPOCH};
    #[expect(clippy::disallowed_methods, reason = "this file is the one that reads the clock")]
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// How far the time of day at the machine's place is ahead of UTC at this moment, in milliseconds.
pub(crate) fn local_offset_ms(at: Timestamp) -> i64 {
    use chrono::{DateTime, Local, Offset as _, TimeZone as _};
    let utc = DateTime::from_timestamp_millis(at.ms()).unwrap_or(DateTime::UNIX_EPOCH).naive_utc();
    i64::from(Local.offset_from_utc_datetime(&utc).fix().local_minus_utc()) * 1_000
}

/// Waits until `clock` shows `at`. The system's timers stand still while the machine sleeps, and `clock` may be moved: it is
/// asked often enough that a wait ends within a second after its time has come.
pub(crate) async fn sleep_until(clock: &dyn Clock, at: Timestamp) {
    loop {
        let left_ms = at.ms().saturating_sub(clock.now().ms());
        match u64::try_from(left_ms) {
            Ok(left_ms @ 1..) => tokio::time::sleep(ASK_CLOCK_EVERY.min(Duration::from_millis(left_ms))).await,
            Ok(0) | Err(_) => return,
        }
    }
}

/// A moment by both of the machine's clocks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moment(Reading);

impl Moment {
    pub(crate) fn now() -> Self {
        Self(read_machine())
    }

    /// Whether no more than this has passed since, by the boot-time clock and by the wall clock, which goes on where a
    /// machine's pause is hidden from the other. Where one was set back meanwhile, nobody knows.
    pub(crate) fn is_within(self, ms: i64) -> bool {
        self.is_within_at(ms, read_machine())
    }

    fn is_within_at(self, ms: i64, now: Reading) -> bool {
        let Self(then) = self;
        [(then.wall_ms, now.wall_ms), (then.boot_ms, now.boot_ms)]
            .into_iter()
            .all(|(then_ms, now_ms)| (0..=ms).contains(&now_ms.saturating_sub(then_ms)))
    }
}

/// The machine's clock as the environment sees it, plus the sandbox's offset.
pub(crate) struct SystemClock {
    running: Mutex<RunningClock>,
    offset_ms: Arc<AtomicI64>,
}

impl SystemClock {
    /// Starts from the wall clock of this moment, ahead by `offset_ms`, which only ever grows: the sandbox's own time.
    #[must_use]
    pub(crate) fn start_with_offset(offset_ms: Arc<AtomicI64>) -> Self {
        Self { running: Mutex::new(RunningClock::start(read_machine())), offset_ms }
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let mut running = self.running.lock();
        // Read under the lock, or a slower thread could bring an older reading after a newer one.
        let (now_ms, event) = running.read(read_machine());
        drop(running);
        match event {
            None => {}
            Some(StepEvent::Noticed { by_ms }) => {
                tracing::warn!(by_ms, "the machine's clock was set; the gateway's follows if that lasts five minutes");
            }
            Some(StepEvent::Undone) => tracing::info!("the machine's clock was set right again"),
            Some(StepEvent::Taken { by_ms }) => {
                tracing::warn!(by_ms, "the gateway's clock follows the machine's, which was set five minutes ago");
            }
        }
        Timestamp::from_ms(now_ms.saturating_add(self.offset_ms.load(Ordering::SeqCst)))
    }

    fn step_forward(&self, number: usize) -> Option<StepForward> {
        let step = self.running.lock().forward.get(number).copied()?;
        Some(StepForward { from: step.from.plus_ms(self.offset_ms.load(Ordering::SeqCst)), ..step })
    }
}

/// What the machine's two clocks show at one moment, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Reading {
    wall_ms: i64,
    boot_ms: i64,
}

/// Something about the wall clock that people should know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StepEvent {
    Noticed { by_ms: i64 },
    Undone,
    Taken { by_ms: i64 },
}

/// A step of the wall clock that is not believed yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Step {
    by_ms: i64,
    since_boot_ms: i64,
}

/// The rules of the clock, fed with readings.
#[derive(Debug)]
struct RunningClock {
    /// This clock minus the boot-time clock.
    ahead_of_boot_ms: i64,
    step: Option<Step>,
    /// How much is still to be lost after a step back, and since which boot time it is being lost.
    excess_ms: i64,
    slewed_boot_ms: i64,
    latest_ms: i64,
    /// The steps forward that were taken over, without the sandbox's offset.
    forward: Vec<StepForward>,
}

impl RunningClock {
    fn start(reading: Reading) -> Self {
        Self {
            ahead_of_boot_ms: reading.wall_ms.saturating_sub(reading.boot_ms),
            step: None,
            excess_ms: 0,
            slewed_boot_ms: reading.boot_ms,
            latest_ms: reading.wall_ms,
            forward: Vec::new(),
        }
    }

    fn read(&mut self, reading: Reading) -> (i64, Option<StepEvent>) {
        self.lose_excess(reading.boot_ms);
        let event = self.compare(reading);
        self.latest_ms = self.latest_ms.max(reading.boot_ms.saturating_add(self.ahead_of_boot_ms));
        (self.latest_ms, event)
    }

    fn compare(&mut self, reading: Reading) -> Option<StepEvent> {
        // What is being lost already is no new step.
        let expected_ms = reading.boot_ms.saturating_add(self.ahead_of_boot_ms).saturating_sub(self.excess_ms);
        let by_ms = reading.wall_ms.saturating_sub(expected_ms);
        if by_ms.saturating_abs() <= STEP_TOLERATED_MS {
            return self.step.take().map(|_| StepEvent::Undone);
        }
        match self.step {
            Some(step) if by_ms.saturating_sub(step.by_ms).saturating_abs() <= STEP_TOLERATED_MS => {
                if reading.boot_ms.saturating_sub(step.since_boot_ms) < STEP_BELIEVED_AFTER_MS {
                    return None;
                }
                self.step = None;
                self.take_over(by_ms, reading.boot_ms);
                Some(StepEvent::Taken { by_ms })
            }
            _ => {
                self.step = Some(Step { by_ms, since_boot_ms: reading.boot_ms });
                Some(StepEvent::Noticed { by_ms })
            }
        }
    }

    fn take_over(&mut self, by_ms: i64, boot_ms: i64) {
        let wanted_ms = by_ms.saturating_sub(self.excess_ms);
        self.excess_ms = wanted_ms.min(0).saturating_neg();
        if wanted_ms > 0 {
            self.ahead_of_boot_ms = self.ahead_of_boot_ms.saturating_add(wanted_ms);
            self.forward.push(StepForward { from: Timestamp::from_ms(self.latest_ms), by_ms: wanted_ms });
        }
        self.slewed_boot_ms = boot_ms;
    }

    fn lose_excess(&mut self, boot_ms: i64) {
        let elapsed_ms = boot_ms.saturating_sub(self.slewed_boot_ms);
        if self.excess_ms == 0 || elapsed_ms < SLEW_PORTION_MS {
            return;
        }
        let lost_ms = self.excess_ms.min(elapsed_ms / 2);
        self.excess_ms -= lost_ms;
        self.ahead_of_boot_ms = self.ahead_of_boot_ms.saturating_sub(lost_ms);
        self.slewed_boot_ms = boot_ms;
    }
}

fn read_machine() -> Reading {
    let (wall_step_ms, boot_step_ms) = fail_points::clock_steps_ms();
    Reading { wall_ms: wall_ms().saturating_add(wall_step_ms), boot_ms: boot_ms().saturating_add(boot_step_ms) }
}

#[cfg(unix)]
fn boot_ms() -> i64 {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    const BOOT_TIME: rustix::time::ClockId = rustix::time::ClockId::Boottime;
    // On macOS the monotonic clock is the one that counts sleep.
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    const BOOT_TIME: rustix::time::ClockId = rustix::time::ClockId::Monotonic;
    let time = rustix::time::clock_gettime(BOOT_TIME);
    time.tv_sec.saturating_mul(1_000).saturating_add(time.tv_nsec / 1_000_000)
}

/// On Windows `Instant` is the performance counter, which counts sleep.
#[cfg(not(unix))]
fn boot_ms() -> i64 {
    use std::sync::OnceLock;
    use std::time::Instant;
    static START: OnceLock<Instant> = OnceLock::new();
    #[expect(clippy::disallowed_methods, reason = "this file is the one that reads the clock")]
    let now = Instant::now();
    i64::try_from(now.saturating_duration_since(*START.get_or_init(|| now)).as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: i64 = 60_000;
    const START: i64 = 1_800_000_000_000;

    /// The clock after `boot_ms`, the wall clock being off by `off_ms`.
    fn read(clock: &mut RunningClock, boot_ms: i64, off_ms: i64) -> (i64, Option<StepEvent>) {
        let (now, event) = clock.read(Reading { wall_ms: START + boot_ms + off_ms, boot_ms });
        (now - START, event)
    }

    fn started() -> RunningClock {
        RunningClock::start(Reading { wall_ms: START, boot_ms: 0 })
    }

    #[test]
    fn it_runs_by_the_boot_time_clock() {
        let mut clock = started();
        assert_eq!(read(&mut clock, 5, 0), (5, None));
        assert_eq!(read(&mut clock, 10 * MINUTE, MINUTE), (10 * MINUTE, None), "a minute is an adjustment");
    }

    #[test]
    fn a_step_is_reported_once_and_taken_over_after_five_minutes() {
        let mut clock = started();
        let hour = 60 * MINUTE;
        assert_eq!(read(&mut clock, 1_000, hour), (1_000, Some(StepEvent::Noticed { by_ms: hour })));
        assert_eq!(read(&mut clock, 1_000 + 5 * MINUTE - 1, hour), (1_000 + 5 * MINUTE - 1, None));
        assert_eq!(
            read(&mut clock, 1_000 + 5 * MINUTE, hour),
            (1_000 + 5 * MINUTE + hour, Some(StepEvent::Taken { by_ms: hour }))
        );
        assert_eq!(read(&mut clock, 6 * MINUTE, hour), (6 * MINUTE + hour, None));
        // What was made up to the last moment before it has lost an hour.
        let from = Timestamp::from_ms(START + 1_000 + 5 * MINUTE - 1);
        assert_eq!(clock.forward, [StepForward { from, by_ms: hour }]);
    }

    #[test]
    fn a_step_that_is_undone_leaves_no_trace() {
        let mut clock = started();
        read(&mut clock, 0, 60 * MINUTE);
        assert_eq!(read(&mut clock, 4 * MINUTE, 0), (4 * MINUTE, Some(StepEvent::Undone)));
        assert_eq!(read(&mut clock, 20 * MINUTE, 0), (20 * MINUTE, None));
    }

    #[test]
    fn another_step_starts_the_five_minutes_anew() {
        let mut clock = started();
        read(&mut clock, 0, 60 * MINUTE);
        let (_, event) = read(&mut clock, 4 * MINUTE, 30 * MINUTE);
        assert_eq!(event, Some(StepEvent::Noticed { by_ms: 30 * MINUTE }));
        assert_eq!(read(&mut clock, 6 * MINUTE, 30 * MINUTE), (6 * MINUTE, None));
    }

    #[test]
    fn after_a_step_back_it_runs_at_half_speed_until_it_is_level() {
        let mut clock = started();
        let back = -10 * MINUTE;
        read(&mut clock, 0, back);
        assert_eq!(
            read(&mut clock, 5 * MINUTE, back),
            (5 * MINUTE, Some(StepEvent::Taken { by_ms: back })),
            "it does not go back"
        );
        assert_eq!(read(&mut clock, 7 * MINUTE, back), (6 * MINUTE, None));
        assert_eq!(read(&mut clock, 25 * MINUTE, back), (15 * MINUTE, None));
        assert_eq!(read(&mut clock, 40 * MINUTE, back), (30 * MINUTE, None), "level with the wall clock");
        assert_eq!(clock.forward, [], "nobody has lost time");
    }

    #[test]
    fn a_day_ahead_is_followed_and_a_day_behind_is_made_up_for_in_two() {
        let (day, believed) = (24 * 60 * MINUTE, 5 * MINUTE);
        let mut clock = started();
        for off in [day, 0, -day, 0] {
            let (now, _) = read(&mut clock, MINUTE, off);
            assert_eq!(now, MINUTE, "a step by {off} ms is not believed at once");
        }
        read(&mut clock, 2 * MINUTE, day);
        let ahead = 2 * MINUTE + believed;
        assert_eq!(read(&mut clock, ahead, day), (ahead + day, Some(StepEvent::Taken { by_ms: day })));
        // Set right again: nothing that was decided meanwhile is undone.
        read(&mut clock, ahead + MINUTE, 0);
        let back = ahead + MINUTE + believed;
        assert_eq!(read(&mut clock, back, 0), (back + day, Some(StepEvent::Taken { by_ms: -day })));
        assert_eq!(read(&mut clock, back + day, 0), (back + day + day / 2, None), "half a day in a whole one");
        assert_eq!(read(&mut clock, back + 2 * day, 0), (back + 2 * day, None), "level with the wall clock");
        assert_eq!(read(&mut clock, back + 3 * day, 0), (back + 3 * day, None), "and goes on at its speed");
    }

    #[test]
    fn it_never_goes_backwards_however_the_wall_clock_jumps() {
        let mut clock = started();
        let mut latest = 0;
        for tick in 0..4_000 {
            let off = match tick / 500 {
                0 | 3 => 0,
                1 | 6 => -120 * MINUTE,
                2 => 45 * MINUTE,
                _ => -2 * MINUTE,
            };
            let (now, _) = read(&mut clock, tick * 1_337, off);
            assert!(now >= latest, "tick {tick}: {now} after {latest}");
            latest = now;
        }
    }

    #[tokio::test]
    async fn a_wait_ends_when_the_machine_has_slept_through_it() {
        struct Slept(AtomicI64);
        impl Clock for Slept {
            fn now(&self) -> Timestamp {
                Timestamp::from_ms(self.0.load(Ordering::SeqCst))
            }
        }
        let clock = Slept(AtomicI64::new(START));
        let wait = sleep_until(&clock, Timestamp::from_ms(START + 60 * MINUTE));
        let sleep = async { clock.0.store(START + 60 * MINUTE, Ordering::SeqCst) };
        let both = async { tokio::join!(wait, sleep) };
        tokio::time::timeout(Duration::from_secs(60), both).await.expect("the time has come");
    }

    #[test]
    fn a_moment_is_past_once_either_clock_of_the_machine_says_so_or_one_was_set_back() {
        let then = Moment(Reading { wall_ms: START, boot_ms: 500 });
        for (wall_ms, boot_ms, is_within) in [
            (0, 0, true),
            (10_000, 10_000, true),
            (10_000, 10_001, false),
            (10_001, 10_000, false),
            (60 * MINUTE, 5, false),
            (-1, 5, false),
        ] {
            let now = Reading { wall_ms: START + wall_ms, boot_ms: 500 + boot_ms };
            assert_eq!(then.is_within_at(10_000, now), is_within, "{wall_ms} {boot_ms}");
        }
    }

    #[test]
    fn the_sandboxs_offset_is_added() {
        let offset = Arc::new(AtomicI64::new(0));
        let clock = SystemClock::start_with_offset(Arc::clone(&offset));
        let before = clock.now();
        offset.store(3_600_000, Ordering::SeqCst);
        assert!(clock.now().ms() - before.ms() >= 3_600_000);
    }
}
