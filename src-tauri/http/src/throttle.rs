//! Slows down guessers of secrets: too many failed sign-ins from one address are answered 429 for a
//! while. Valid credentials are never counted, so a guesser behind the same proxy locks out no
//! other client.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};

use parking_lot::Mutex;
use tillgate_domain::time::Timestamp;

use super::peer::network_of;

/// Failed sign-ins of one address within a window that are answered 401.
const FAILURES_MAX: u32 = 10;

/// The period over which failed sign-ins are counted.
const WINDOW_MS: i64 = 60_000;

/// Limit of addresses with their own count, which bounds memory. Further addresses share one count.
const ADDRESSES_MAX: usize = 10_000;

/// Failed sign-ins by address, on the machine's clock.
#[derive(Default)]
pub struct Throttle {
    windows: Mutex<HashMap<IpAddr, Window>>,
}

struct Window {
    begun_at: Timestamp,
    failures: u32,
}

impl Window {
    /// Whether the window has ended; a clock that stepped back ends it too.
    fn is_over(&self, now: Timestamp) -> bool {
        !(0..WINDOW_MS).contains(&(now.ms() - self.begun_at.ms()))
    }
}

impl Throttle {
    /// Counts a failed sign-in; `Err` is the seconds to wait when there were too many.
    pub fn failed(&self, address: IpAddr, now: Timestamp) -> Result<(), u32> {
        let mut windows = self.windows.lock();
        let mut key = network_of(address);
        if windows.len() >= ADDRESSES_MAX && !windows.contains_key(&key) {
            windows.retain(|_, window| !window.is_over(now));
            if windows.len() >= ADDRESSES_MAX {
                key = IpAddr::V6(Ipv6Addr::UNSPECIFIED);
            }
        }
        let window = windows.entry(key).or_insert(Window { begun_at: now, failures: 0 });
        if window.is_over(now) {
            *window = Window { begun_at: now, failures: 0 };
        }
        if window.failures >= FAILURES_MAX {
            let left_ms = (window.begun_at.ms() + WINDOW_MS - now.ms()).max(0);
            return Err(u32::try_from(left_ms.unsigned_abs().div_ceil(1_000)).unwrap_or(u32::MAX));
        }
        window.failures += 1;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_ms(1_000_000);

    fn fail_often(throttle: &Throttle, address: &str, now: Timestamp) {
        for _ in 0..FAILURES_MAX {
            assert_eq!(throttle.failed(address.parse().unwrap(), now), Ok(()));
        }
    }

    #[test]
    fn too_many_failures_of_one_address_wait_for_the_windows_end() {
        let throttle = Throttle::default();
        let guesser = "192.0.2.1".parse().unwrap();
        fail_often(&throttle, "192.0.2.1", NOW);
        assert_eq!(throttle.failed(guesser, NOW), Err(60));
        assert_eq!(throttle.failed(guesser, NOW.plus_ms(59_500)), Err(1));
        assert_eq!(throttle.failed("192.0.2.2".parse().unwrap(), NOW), Ok(()));
        assert_eq!(throttle.failed(guesser, NOW.plus_ms(60_000)), Ok(()));
    }

    #[test]
    fn an_ipv6_slash_64_and_a_mapped_ipv4_count_as_one_address() {
        let throttle = Throttle::default();
        fail_often(&throttle, "2001:db8::1", NOW);
        assert!(throttle.failed("2001:db8::2".parse().unwrap(), NOW).is_err());
        fail_often(&throttle, "192.0.2.1", NOW);
        assert!(throttle.failed("::ffff:192.0.2.1".parse().unwrap(), NOW).is_err());
    }

    #[test]
    fn memory_is_bounded_however_many_addresses_fail() {
        let throttle = Throttle::default();
        for address in 0..(ADDRESSES_MAX as u32 + 100) {
            let _ = throttle.failed(IpAddr::V4(address.into()), NOW);
        }
        assert!(throttle.windows.lock().len() <= ADDRESSES_MAX + 1);
        assert_eq!(throttle.failed("203.0.113.9".parse().unwrap(), NOW.plus_ms(WINDOW_MS)), Ok(()));
        assert!(throttle.windows.lock().len() < 10, "windows that are over are forgotten");
    }
}
