//! The environment's clock. Only this file reads the machine's clocks.
//!
//! The clock starts from the wall clock and runs by the boot-time clock, which counts sleep and
//! never steps. A step of the wall clock by more than a minute is reported, and followed once it
//! has lasted five minutes. The clock never goes backwards: after a step back it runs at half speed
//! until it is level with the wall clock. So no decision is undone and no wait lasts for ever.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tillgate_domain::time::Timestamp;

use crate::fail_points;

/// Largest step of the wall clock that counts as an adjustment and is not reported.
const STEP_TOLERATED_MS: i64 = 60_000;

/// Time that a step must last before it is followed, because a clock set by mistake is usually set
/// back soon.
const STEP_BELIEVED_AFTER_MS: i64 = 300_000;

/// Shortest time for which half speed is computed, so that rounding loses no milliseconds.
const SLEW_PORTION_MS: i64 = 1_000;

/// Longest timer before the clock is read again.
const ASK_CLOCK_EVERY: Duration = Duration::from_secs(1);

/// The environment's clock.
pub trait Clock: Send + Sync {
    fn now(&self) -> Timestamp;

    /// The followed forward step with this number, counted from 0; `None` if there were fewer. A
    /// step is listed before `now` returns a time after the step.
    fn step_forward(&self, number: usize) -> Option<StepForward> {
        let _ = number;
        None
    }
}

/// A forward step of the machine's clock that the environment's clock followed. The skipped time
/// did not really pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StepForward {
    /// The last time that `now` returned before the step.
    pub from: Timestamp,
    /// Milliseconds of the step.
    pub by_ms: i64,
}

/// The time of the machine's wall clock, for `webhook-timestamp` and other uses outside the
/// environment.
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

/// Offset of the machine's local time from UTC at this time, in milliseconds.
pub fn local_offset_ms(at: Timestamp) -> i64 {
    use chrono::{DateTime, Local, Offset as _, TimeZone as _};
    let utc = DateTime::from_timestamp_millis(at.ms()).unwrap_or(DateTime::UNIX_EPOCH).naive_utc();
    i64::from(Local.offset_from_utc_datetime(&utc).fix().local_minus_utc()) * 1_000
}

/// Waits until `clock` shows `at`, and returns within a second after it. It polls the clock,
/// because timers stop while the machine sleeps, and `clock` may jump.
pub async fn sleep_until(clock: &dyn Clock, at: Timestamp) {
    loop {
        let left_ms = at.ms().saturating_sub(clock.now().ms());
        match u64::try_from(left_ms) {
            Ok(left_ms @ 1..) => {
                tokio::time::sleep(ASK_CLOCK_EVERY.min(Duration::from_millis(left_ms))).await
            }
            Ok(0) | Err(_) => return,
        }
    }
}

/// A moment on both of the machine's clocks.
#[derive(Debug, Clone, Copy)]
pub struct Moment(Reading);

impl Moment {
    pub fn now() -> Self {
        Self(read_machine())
    }

    /// Whether at most `ms` have passed since this moment, by both clocks. The wall clock also
    /// counts a pause of the machine that the boot-time clock misses. False if either clock was set
    /// back.
    pub fn is_within(self, ms: i64) -> bool {
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
pub struct SystemClock {
    running: Mutex<RunningClock>,
    offset_ms: Arc<AtomicI64>,
}

impl SystemClock {
    /// Starts from the present wall clock. `offset_ms` is the sandbox's lead, and only grows.
    #[must_use]
    pub fn start_with_offset(offset_ms: Arc<AtomicI64>) -> Self {
        Self { running: Mutex::new(RunningClock::start(read_machine())), offset_ms }
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let mut running = self.running.lock();
        // Read under the lock, so that an older reading never follows a newer one.
        let (now_ms, event) = running.advance(read_machine());
        drop(running);
        match event {
            None => {}
            Some(StepEvent::Noticed { by_ms }) => {
                tracing::warn!(
                    by_ms,
                    "the machine's clock was set; the gateway's clock follows if the change lasts five minutes"
                );
            }
            Some(StepEvent::Undone) => tracing::info!("the machine's clock was set right again"),
            Some(StepEvent::Taken { by_ms }) => {
                tracing::warn!(
                    by_ms,
                    "the gateway's clock follows the machine's, which was set five minutes ago"
                );
            }
        }
        Timestamp::from_ms(now_ms.saturating_add(self.offset_ms.load(Ordering::SeqCst)))
    }

    fn step_forward(&self, number: usize) -> Option<StepForward> {
        let step = self.running.lock().forward.get(number).copied()?;
        Some(StepForward { from: step.from.plus_ms(self.offset_ms.load(Ordering::SeqCst)), ..step })
    }
}

/// The machine's two clocks at one moment, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Reading {
    wall_ms: i64,
    boot_ms: i64,
}

/// An event of the wall clock for the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StepEvent {
    Noticed { by_ms: i64 },
    Undone,
    Taken { by_ms: i64 },
}

/// A step of the wall clock that is not followed yet.
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
    /// Milliseconds that this clock is still ahead of the wall clock after a step back.
    excess_ms: i64,
    slewed_boot_ms: i64,
    latest_ms: i64,
    /// The forward steps that were followed, without the sandbox's offset.
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

    fn advance(&mut self, reading: Reading) -> (i64, Option<StepEvent>) {
        self.lose_excess(reading.boot_ms);
        let event = self.compare(reading);
        self.latest_ms = self.latest_ms.max(reading.boot_ms.saturating_add(self.ahead_of_boot_ms));
        (self.latest_ms, event)
    }

    fn compare(&mut self, reading: Reading) -> Option<StepEvent> {
        // A step back that half speed is still making up for is no new step.
        let expected_ms =
            reading.boot_ms.saturating_add(self.ahead_of_boot_ms).saturating_sub(self.excess_ms);
        let by_ms = reading.wall_ms.saturating_sub(expected_ms);
        if by_ms.saturating_abs() <= STEP_TOLERATED_MS {
            return self.step.take().map(|_| StepEvent::Undone);
        }
        match self.step {
            Some(step)
                if by_ms.saturating_sub(step.by_ms).saturating_abs() <= STEP_TOLERATED_MS =>
            {
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
            self.forward
                .push(StepForward { from: Timestamp::from_ms(self.latest_ms), by_ms: wanted_ms });
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
    Reading {
        wall_ms: wall_ms().saturating_add(wall_step_ms),
        boot_ms: boot_ms().saturating_add(boot_step_ms),
    }
}

#[cfg(unix)]
fn boot_ms() -> i64 {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    const BOOT_TIME: rustix::time::ClockId = rustix::time::ClockId::Boottime;
    // On macOS the monotonic clock counts sleep.
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
    i64::try_from(now.saturating_duration_since(*START.get_or_init(|| now)).as_millis())
        .unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: i64 = 60_000;
    const START: i64 = 1_800_000_000_000;

    /// Reads the clock `boot_ms` after the start, with the wall clock off by `off_ms`.
    fn time_at(clock: &mut RunningClock, boot_ms: i64, off_ms: i64) -> (i64, Option<StepEvent>) {
        let (now, event) = clock.advance(Reading { wall_ms: START + boot_ms + off_ms, boot_ms });
        (now - START, event)
    }

    fn started() -> RunningClock {
        RunningClock::start(Reading { wall_ms: START, boot_ms: 0 })
    }

    #[test]
    fn the_clock_runs_by_the_boot_time_clock() {
        let mut clock = started();
        assert_eq!(time_at(&mut clock, 5, 0), (5, None));
        assert_eq!(
            time_at(&mut clock, 10 * MINUTE, MINUTE),
            (10 * MINUTE, None),
            "a minute is an adjustment"
        );
    }

    #[test]
    fn a_step_is_reported_once_and_taken_over_after_five_minutes() {
        let mut clock = started();
        let hour = 60 * MINUTE;
        assert_eq!(
            time_at(&mut clock, 1_000, hour),
            (1_000, Some(StepEvent::Noticed { by_ms: hour }))
        );
        assert_eq!(
            time_at(&mut clock, 1_000 + 5 * MINUTE - 1, hour),
            (1_000 + 5 * MINUTE - 1, None)
        );
        assert_eq!(
            time_at(&mut clock, 1_000 + 5 * MINUTE, hour),
            (1_000 + 5 * MINUTE + hour, Some(StepEvent::Taken { by_ms: hour }))
        );
        assert_eq!(time_at(&mut clock, 6 * MINUTE, hour), (6 * MINUTE + hour, None));
        // The step begins at the last time that was read before it.
        let from = Timestamp::from_ms(START + 1_000 + 5 * MINUTE - 1);
        assert_eq!(clock.forward, [StepForward { from, by_ms: hour }]);
    }

    #[test]
    fn a_step_that_is_undone_leaves_no_trace() {
        let mut clock = started();
        time_at(&mut clock, 0, 60 * MINUTE);
        assert_eq!(time_at(&mut clock, 4 * MINUTE, 0), (4 * MINUTE, Some(StepEvent::Undone)));
        assert_eq!(time_at(&mut clock, 20 * MINUTE, 0), (20 * MINUTE, None));
    }

    #[test]
    fn another_step_restarts_the_five_minutes() {
        let mut clock = started();
        time_at(&mut clock, 0, 60 * MINUTE);
        let (_, event) = time_at(&mut clock, 4 * MINUTE, 30 * MINUTE);
        assert_eq!(event, Some(StepEvent::Noticed { by_ms: 30 * MINUTE }));
        assert_eq!(time_at(&mut clock, 6 * MINUTE, 30 * MINUTE), (6 * MINUTE, None));
    }

    #[test]
    fn after_a_step_back_the_clock_runs_at_half_speed() {
        let mut clock = started();
        let back = -10 * MINUTE;
        time_at(&mut clock, 0, back);
        assert_eq!(
            time_at(&mut clock, 5 * MINUTE, back),
            (5 * MINUTE, Some(StepEvent::Taken { by_ms: back })),
            "the clock does not go back"
        );
        assert_eq!(time_at(&mut clock, 7 * MINUTE, back), (6 * MINUTE, None));
        assert_eq!(time_at(&mut clock, 25 * MINUTE, back), (15 * MINUTE, None));
        assert_eq!(
            time_at(&mut clock, 40 * MINUTE, back),
            (30 * MINUTE, None),
            "level with the wall clock"
        );
        assert_eq!(clock.forward, [], "a step back is no forward step");
    }

    #[test]
    fn a_day_ahead_is_followed_and_a_day_behind_takes_two_days() {
        let (day, believed) = (24 * 60 * MINUTE, 5 * MINUTE);
        let mut clock = started();
        for off in [day, 0, -day, 0] {
            let (now, _) = time_at(&mut clock, MINUTE, off);
            assert_eq!(now, MINUTE, "a step by {off} ms is not believed at once");
        }
        time_at(&mut clock, 2 * MINUTE, day);
        let ahead = 2 * MINUTE + believed;
        assert_eq!(
            time_at(&mut clock, ahead, day),
            (ahead + day, Some(StepEvent::Taken { by_ms: day }))
        );
        // Set right again, the clock undoes no decision.
        time_at(&mut clock, ahead + MINUTE, 0);
        let back = ahead + MINUTE + believed;
        assert_eq!(
            time_at(&mut clock, back, 0),
            (back + day, Some(StepEvent::Taken { by_ms: -day }))
        );
        assert_eq!(
            time_at(&mut clock, back + day, 0),
            (back + day + day / 2, None),
            "half a day passes in a whole day"
        );
        assert_eq!(
            time_at(&mut clock, back + 2 * day, 0),
            (back + 2 * day, None),
            "level with the wall clock"
        );
        assert_eq!(
            time_at(&mut clock, back + 3 * day, 0),
            (back + 3 * day, None),
            "the clock runs at full speed again"
        );
    }

    #[test]
    fn the_clock_never_goes_backwards_if_the_wall_clock_jumps() {
        let mut clock = started();
        let mut latest = 0;
        for tick in 0..4_000 {
            let off = match tick / 500 {
                0 | 3 => 0,
                1 | 6 => -120 * MINUTE,
                2 => 45 * MINUTE,
                _ => -2 * MINUTE,
            };
            let (now, _) = time_at(&mut clock, tick * 1_337, off);
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
        tokio::time::timeout(Duration::from_secs(60), both)
            .await
            .expect("the wait ends once the clock shows its time");
    }

    #[test]
    fn a_moment_is_past_by_either_clock_or_if_one_was_set_back() {
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
