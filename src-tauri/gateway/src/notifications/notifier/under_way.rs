//! The running attempts, the slow servers, and the attempts that could not be stored. They are kept
//! only in memory: a restart ends every attempt, and slow servers are detected again.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use tillgate_domain::id::Id;
use tillgate_store::notifications::DueNotification;
use tokio::time::Instant;

/// The most attempts at once: each holds a socket and a body.
pub const TOGETHER_MAX: usize = 64;

/// The most attempts at once to one server, so that none is flooded.
pub const SERVER_MAX: usize = 8;

/// Time-outs in a row after which a server gets one attempt at a time, until it answers.
const SLOW_AFTER: u32 = 5;

/// The most servers whose time-outs are counted. At one more, all counts are reset.
const SLOW_KNOWN_MAX: usize = 1_024;

/// The pause of a subject after the first attempt that could not be stored. Each further failure
/// doubles the pause, up to `NOT_STORED_MAX`.
const NOT_STORED_FIRST: Duration = Duration::from_secs(10);
const NOT_STORED_MAX: Duration = Duration::from_secs(3_600);

/// A record, and the URL to which its notifications are sent. A subject has one attempt at a time,
/// so that its notifications arrive in order.
pub type Subject = (Id, String);

/// The key, server and subject whose limits an attempt counts against.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempted {
    /// The API key that made the record; 0 is the panel.
    pub key_id: i64,
    /// Scheme, host and port.
    pub server: String,
    pub subject: Subject,
}

impl Attempted {
    pub fn from_due(due: &DueNotification) -> Self {
        let subject = (due.subject_id, due.url.clone());
        Self { key_id: due.key_id, server: due.server.clone(), subject }
    }
}

/// The evidence of an attempt about the speed of its server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Responsiveness {
    /// The server gave a status code.
    Answered,
    /// The server gave no status code in time.
    TimedOut,
    /// The attempt failed without a time-out and without a status code, or was interrupted.
    Neither,
}

/// The pause of a subject whose attempts could not be stored.
#[derive(Debug, Clone, Copy)]
struct Pause {
    until: Instant,
    /// The number of attempts in a row that could not be stored.
    times: u32,
}

/// The running attempts, counted by each limit.
#[derive(Debug, Clone, Default)]
pub struct UnderWay {
    subjects: HashSet<Subject>,
    of_key: HashMap<i64, usize>,
    /// Attempts by key and host, over all ports.
    at_host: HashMap<(i64, String), usize>,
    at_server: HashMap<String, usize>,
    /// Time-outs in a row, by key and server, so that the time-outs of one key do not slow the
    /// server for another key.
    time_outs: HashMap<(i64, String), u32>,
    paused: HashMap<Subject, Pause>,
}

impl UnderWay {
    pub fn begin(&mut self, attempted: &Attempted) {
        if self.subjects.insert(attempted.subject.clone()) {
            *self.of_key.entry(attempted.key_id).or_default() += 1;
            *self
                .at_host
                .entry((attempted.key_id, host_of(&attempted.server).to_owned()))
                .or_default() += 1;
            *self.at_server.entry(attempted.server.clone()).or_default() += 1;
        }
    }

    pub fn end(&mut self, attempted: &Attempted, responsiveness: Responsiveness) {
        if !self.subjects.remove(&attempted.subject) {
            return;
        }
        one_less(&mut self.of_key, &attempted.key_id);
        one_less(&mut self.at_host, &(attempted.key_id, host_of(&attempted.server).to_owned()));
        one_less(&mut self.at_server, &attempted.server);
        let at = (attempted.key_id, attempted.server.clone());
        match responsiveness {
            Responsiveness::Answered => {
                self.time_outs.remove(&at);
            }
            Responsiveness::TimedOut => {
                if self.time_outs.len() >= SLOW_KNOWN_MAX && !self.time_outs.contains_key(&at) {
                    self.time_outs.clear();
                }
                let count = self.time_outs.entry(at).or_default();
                *count = count.saturating_add(1);
            }
            // Another failure ends the row of time-outs. A server that is already slow stays slow
            // until it answers.
            Responsiveness::Neither if !self.is_slow(attempted.key_id, &attempted.server) => {
                self.time_outs.remove(&at);
            }
            Responsiveness::Neither => {}
        }
    }

    /// Ends the pause of a subject whose attempt was stored. The database now has the time of the
    /// next attempt.
    pub fn stored(&mut self, subject: &Subject) {
        self.paused.remove(subject);
    }

    /// Pauses a subject whose attempt was not stored. In the database its notification is still
    /// due.
    pub fn not_stored(&mut self, subject: &Subject, now: Instant) {
        let pause = self.paused.entry(subject.clone()).or_insert(Pause { until: now, times: 0 });
        let lasts =
            NOT_STORED_FIRST.saturating_mul(2u32.saturating_pow(pause.times)).min(NOT_STORED_MAX);
        *pause = Pause { until: now + lasts, times: pause.times.saturating_add(1) };
    }

    /// Whether the subject has neither a running attempt nor a pause.
    pub fn is_free(&self, subject: &Subject, now: Instant) -> bool {
        !self.subjects.contains(subject)
            && self.paused.get(subject).is_none_or(|pause| pause.until <= now)
    }

    pub fn count(&self) -> usize {
        self.subjects.len()
    }

    pub fn count_of(&self, key_id: i64) -> usize {
        self.of_key.get(&key_id).copied().unwrap_or(0)
    }

    pub fn count_at(&self, server: &str) -> usize {
        self.at_server.get(server).copied().unwrap_or(0)
    }

    /// Upper bound of a server's notifications that must not be attempted now, because their
    /// subjects are not free.
    pub fn not_free_at(&self, server: &str) -> usize {
        self.count_at(server) + self.paused.len()
    }

    /// The number of free places minus the key's running attempts. The key may start another
    /// attempt while this is above 0, so that it leaves as many places free as it uses.
    pub fn room_of(&self, key_id: i64) -> usize {
        TOGETHER_MAX.saturating_sub(self.count()).saturating_sub(self.count_of(key_id))
    }

    /// Whether a key may start another attempt at a server's host: it must have fewer running
    /// attempts there than [`Self::room_of`] leaves for its other hosts.
    pub fn has_room_at_host(&self, key_id: i64, server: &str) -> bool {
        let at_host = self.at_host.get(&(key_id, host_of(server).to_owned())).copied().unwrap_or(0);
        at_host < self.room_of(key_id)
    }

    /// The number of further attempts that a key may start at this server now, by the server's own
    /// limits.
    pub fn free_at(&self, key_id: i64, server: &str) -> usize {
        let most = if self.is_slow(key_id, server) { 1 } else { SERVER_MAX };
        most.saturating_sub(self.count_at(server))
    }

    fn is_slow(&self, key_id: i64, server: &str) -> bool {
        self.time_outs.get(&(key_id, server.to_owned())).is_some_and(|count| *count >= SLOW_AFTER)
    }
}

/// The scheme and host of a server, without the port.
pub fn host_of(server: &str) -> &str {
    server.rsplit_once(':').map_or(server, |(host, _)| host)
}

fn one_less<K: std::hash::Hash + Eq>(counts: &mut HashMap<K, usize>, key: &K) {
    if let Some(count) = counts.get_mut(key) {
        *count -= 1;
        if *count == 0 {
            counts.remove(key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEAD: &str = "http://dead.example:80";

    fn attempt(key_id: i64, server: &str, n: u8) -> Attempted {
        Attempted {
            key_id,
            server: server.to_owned(),
            subject: (Id::from_bytes([n; 20]), format!("{server}/")),
        }
    }

    fn ends(under_way: &mut UnderWay, endings: &[Responsiveness]) {
        for ending in endings {
            under_way.begin(&attempt(0, DEAD, 0));
            under_way.end(&attempt(0, DEAD, 0), *ending);
        }
    }

    #[test]
    fn a_server_gets_eight_attempts_at_once() {
        let mut under_way = UnderWay::default();
        for n in 0..8 {
            assert_eq!(under_way.free_at(0, DEAD), 8 - usize::from(n));
            under_way.begin(&attempt(i64::from(n), DEAD, n));
        }
        assert_eq!(under_way.free_at(0, DEAD), 0);
        under_way.end(&attempt(0, DEAD, 0), Responsiveness::Answered);
        assert_eq!(under_way.free_at(0, DEAD), 1);
    }

    /// Begins as many attempts of a key as the limits allow, each at another host. Returns their
    /// number.
    fn starts(under_way: &mut UnderWay, key_id: i64) -> usize {
        let mut started = 0;
        while under_way.room_of(key_id) > 0 {
            under_way.begin(&attempt(
                key_id,
                &format!("http://{key_id}.{started}.example:80"),
                started.try_into().unwrap(),
            ));
            started += 1;
        }
        started
    }

    #[test]
    fn a_key_uses_half_of_the_free_places_and_all_keys_use_64() {
        let mut under_way = UnderWay::default();
        assert_eq!(
            [1, 2, 3, 4, 5, 6, 7, 8].map(|key_id| starts(&mut under_way, key_id)),
            [32, 16, 8, 4, 2, 1, 1, 0]
        );
        assert_eq!(under_way.count(), 64);
        under_way.end(&attempt(1, "http://1.0.example:80", 0), Responsiveness::Neither);
        assert_eq!(
            starts(&mut under_way, 1),
            0,
            "the key still has more attempts than it leaves free"
        );
        assert_eq!(starts(&mut under_way, 8), 1);
    }

    #[test]
    fn one_host_gets_about_a_third_of_all_places() {
        let mut under_way = UnderWay::default();
        let mut started = 0;
        while under_way.has_room_at_host(1, "http://dead.example:1") {
            under_way.begin(&attempt(1, &format!("http://dead.example:{started}"), started));
            started += 1;
        }
        assert_eq!(started, 22);
        assert!(under_way.has_room_at_host(1, "http://dead.example.org:1"));
        assert_eq!(under_way.room_of(2), 42);
    }

    #[test]
    fn five_time_outs_limit_a_server_to_one_attempt_at_a_time() {
        let mut under_way = UnderWay::default();
        ends(&mut under_way, &[Responsiveness::TimedOut; 4]);
        ends(&mut under_way, &[Responsiveness::Neither]);
        ends(&mut under_way, &[Responsiveness::TimedOut; 4]);
        assert_eq!(
            under_way.free_at(0, DEAD),
            SERVER_MAX,
            "another failure ends the row of time-outs"
        );
        ends(&mut under_way, &[Responsiveness::TimedOut]);
        assert_eq!(under_way.free_at(0, DEAD), 1);
        assert_eq!(
            under_way.free_at(1, DEAD),
            SERVER_MAX,
            "the time-outs of one key slow another key"
        );
        ends(&mut under_way, &[Responsiveness::Neither]);
        assert_eq!(under_way.free_at(0, DEAD), 1, "only an answer ends the slowness");
        ends(&mut under_way, &[Responsiveness::Answered]);
        assert_eq!(under_way.free_at(0, DEAD), SERVER_MAX);
    }

    #[test]
    fn a_subject_has_one_attempt_at_a_time() {
        let (mut under_way, now, one) = (UnderWay::default(), Instant::now(), attempt(0, DEAD, 1));
        under_way.begin(&one);
        assert!(!under_way.is_free(&one.subject, now));
        under_way.end(&one, Responsiveness::Answered);
        under_way.end(&one, Responsiveness::Answered);
        assert!(under_way.is_free(&one.subject, now));
        assert_eq!((under_way.count(), under_way.count_of(0), under_way.count_at(DEAD)), (0, 0, 0));
    }

    #[test]
    fn an_attempt_not_stored_waits_twice_as_long_each_time() {
        let (mut under_way, now, one) =
            (UnderWay::default(), Instant::now(), attempt(0, DEAD, 1).subject);
        for seconds in [10, 20, 40, 80] {
            under_way.not_stored(&one, now);
            assert!(!under_way.is_free(&one, now + Duration::from_millis(seconds * 1_000 - 1)));
            assert!(under_way.is_free(&one, now + Duration::from_secs(seconds)));
        }
        under_way.stored(&one);
        assert!(under_way.is_free(&one, now));
    }
}
