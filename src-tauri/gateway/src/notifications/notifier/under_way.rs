//! What is being attempted at this moment, which servers are slow, and what could not be recorded. Memory only: after a
//! restart nothing is under way, and a slow server shows itself again.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use tillgate_domain::id::Id;
use tokio::time::Instant;

use crate::store::notifications::DueNotification;

/// Attempts at the same time in all: each holds a socket and a body.
pub(super) const TOGETHER_MAX: usize = 64;

/// Attempts at the same time at one server, so that none is flooded.
pub(super) const SERVER_MAX: usize = 8;

/// After as many time-outs in a row a server gets one attempt at a time, until it answers.
const SLOW_AFTER: u32 = 5;

/// Slow servers that are remembered; beyond that all are forgotten, and show themselves again.
const SLOW_KNOWN_MAX: usize = 1_024;

/// A notification of which an attempt could not be recorded is not attempted again before this, each time twice as long.
const UNRECORDED_FIRST: Duration = Duration::from_secs(10);
const UNRECORDED_MAX: Duration = Duration::from_secs(3_600);

/// A record: subject and URL. One attempt at a time.
pub(super) type Record = (Id, String);

/// Whose place an attempt takes, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    pub key_id: i64,
    pub server: String,
    pub record: Record,
}

impl Place {
    pub(super) fn of(due: &DueNotification) -> Self {
        let record = (due.subject_id, due.url.clone());
        Self { key_id: due.key_id, server: due.server.clone(), record }
    }
}

/// How an attempt ended, as far as its server's speed is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Responsiveness {
    /// The server gave a status code.
    Answered,
    /// It gave none in time.
    TimedOut,
    /// It failed otherwise, or was cut short by ourselves.
    Neither,
}

/// A record of which an attempt could not be recorded.
#[derive(Debug, Clone, Copy)]
struct Held {
    until: Instant,
    times: u32,
}

/// The attempts under way.
#[derive(Debug, Clone, Default)]
pub(super) struct UnderWay {
    records: HashSet<Record>,
    of_key: HashMap<i64, usize>,
    at_host: HashMap<(i64, String), usize>,
    at_server: HashMap<String, usize>,
    /// By key too: what one points at another's server makes that one no slower for its owner.
    time_outs: HashMap<(i64, String), u32>,
    held: HashMap<Record, Held>,
}

impl UnderWay {
    pub(super) fn begin(&mut self, place: &Place) {
        if self.records.insert(place.record.clone()) {
            *self.of_key.entry(place.key_id).or_default() += 1;
            *self.at_host.entry((place.key_id, host_of(&place.server).to_owned())).or_default() += 1;
            *self.at_server.entry(place.server.clone()).or_default() += 1;
        }
    }

    pub(super) fn end(&mut self, place: &Place, responsiveness: Responsiveness) {
        if !self.records.remove(&place.record) {
            return;
        }
        one_less(&mut self.of_key, &place.key_id);
        one_less(&mut self.at_host, &(place.key_id, host_of(&place.server).to_owned()));
        one_less(&mut self.at_server, &place.server);
        let at = (place.key_id, place.server.clone());
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
            // Breaks the row, but only an answer shows that a slow server is well again.
            Responsiveness::Neither if !self.is_slow(place.key_id, &place.server) => {
                self.time_outs.remove(&at);
            }
            Responsiveness::Neither => {}
        }
    }

    /// An attempt was recorded: the database says when the next is due.
    pub(super) fn recorded(&mut self, record: &Record) {
        self.held.remove(record);
    }

    /// An attempt was made and not recorded: the database says that it is still due.
    pub(super) fn unrecorded(&mut self, record: &Record, now: Instant) {
        let held = self.held.entry(record.clone()).or_insert(Held { until: now, times: 0 });
        let pause = UNRECORDED_FIRST.saturating_mul(2u32.saturating_pow(held.times)).min(UNRECORDED_MAX);
        *held = Held { until: now + pause, times: held.times.saturating_add(1) };
    }

    /// Whether this record may be attempted, as far as it alone is concerned.
    pub(super) fn is_free(&self, record: &Record, now: Instant) -> bool {
        !self.records.contains(record) && self.held.get(record).is_none_or(|held| held.until <= now)
    }

    pub(super) fn count(&self) -> usize {
        self.records.len()
    }

    pub(super) fn count_of(&self, key_id: i64) -> usize {
        self.of_key.get(&key_id).copied().unwrap_or(0)
    }

    pub(super) fn count_at(&self, server: &str) -> usize {
        self.at_server.get(server).copied().unwrap_or(0)
    }

    /// Of the first rows of a server so many may not be attempted now.
    pub(super) fn taken_at(&self, server: &str) -> usize {
        self.count_at(server) + self.held.len()
    }

    /// How many more attempts a key may start now: it takes no more places than it leaves to the others.
    pub(super) fn room_of(&self, key_id: i64) -> usize {
        TOGETHER_MAX.saturating_sub(self.count()).saturating_sub(self.count_of(key_id))
    }

    /// Whether a key may start one more at a server's host: a host takes no more places than it leaves to its key's others.
    pub(super) fn has_room_at_host(&self, key_id: i64, server: &str) -> bool {
        let at_host = self.at_host.get(&(key_id, host_of(server).to_owned())).copied().unwrap_or(0);
        at_host < self.room_of(key_id)
    }

    /// How many more attempts of a key may start at this server now, as far as it alone is concerned.
    pub(super) fn free_at(&self, key_id: i64, server: &str) -> usize {
        let most = if self.is_slow(key_id, server) { 1 } else { SERVER_MAX };
        most.saturating_sub(self.count_at(server))
    }

    fn is_slow(&self, key_id: i64, server: &str) -> bool {
        self.time_outs.get(&(key_id, server.to_owned())).is_some_and(|count| *count >= SLOW_AFTER)
    }
}

/// The scheme and host of a server, without the port.
pub(super) fn host_of(server: &str) -> &str {
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

    fn place(key_id: i64, server: &str, n: u8) -> Place {
        Place { key_id, server: server.to_owned(), record: (Id::from_bytes([n; 20]), format!("{server}/")) }
    }

    fn ends(under_way: &mut UnderWay, endings: &[Responsiveness]) {
        for ending in endings {
            under_way.begin(&place(0, DEAD, 0));
            under_way.end(&place(0, DEAD, 0), *ending);
        }
    }

    #[test]
    fn a_server_gets_eight_at_once() {
        let mut under_way = UnderWay::default();
        for n in 0..8 {
            assert_eq!(under_way.free_at(0, DEAD), 8 - usize::from(n));
            under_way.begin(&place(i64::from(n), DEAD, n));
        }
        assert_eq!(under_way.free_at(0, DEAD), 0);
        under_way.end(&place(0, DEAD, 0), Responsiveness::Answered);
        assert_eq!(under_way.free_at(0, DEAD), 1);
    }

    /// How many places a key takes that wants all it can have, each at a host of its own.
    fn takes(under_way: &mut UnderWay, key_id: i64) -> usize {
        let mut taken = 0;
        while under_way.room_of(key_id) > 0 {
            under_way.begin(&place(key_id, &format!("http://{key_id}.{taken}.example:80"), taken.try_into().unwrap()));
            taken += 1;
        }
        taken
    }

    #[test]
    fn a_key_takes_no_more_places_than_it_leaves_and_all_together_sixty_four() {
        let mut under_way = UnderWay::default();
        assert_eq!([1, 2, 3, 4, 5, 6, 7, 8].map(|key_id| takes(&mut under_way, key_id)), [32, 16, 8, 4, 2, 1, 1, 0]);
        assert_eq!(under_way.count(), 64);
        under_way.end(&place(1, "http://1.0.example:80", 0), Responsiveness::Neither);
        assert_eq!(takes(&mut under_way, 1), 0, "it still has more than its part");
        assert_eq!(takes(&mut under_way, 8), 1);
    }

    #[test]
    fn a_host_takes_no_more_places_than_it_leaves_to_the_others_of_its_key() {
        let mut under_way = UnderWay::default();
        let mut taken = 0;
        while under_way.has_room_at_host(1, "http://dead.example:1") {
            under_way.begin(&place(1, &format!("http://dead.example:{taken}"), taken));
            taken += 1;
        }
        assert_eq!(taken, 22);
        assert!(under_way.has_room_at_host(1, "http://dead.example.org:1"));
        assert_eq!(under_way.room_of(2), 42);
    }

    #[test]
    fn five_time_outs_in_a_row_leave_one_at_a_time_until_an_answer() {
        let mut under_way = UnderWay::default();
        ends(&mut under_way, &[Responsiveness::TimedOut; 4]);
        ends(&mut under_way, &[Responsiveness::Neither]);
        ends(&mut under_way, &[Responsiveness::TimedOut; 4]);
        assert_eq!(under_way.free_at(0, DEAD), SERVER_MAX, "the row was broken");
        ends(&mut under_way, &[Responsiveness::TimedOut]);
        assert_eq!(under_way.free_at(0, DEAD), 1);
        assert_eq!(under_way.free_at(1, DEAD), SERVER_MAX, "another key's are no slower for it");
        ends(&mut under_way, &[Responsiveness::Neither]);
        assert_eq!(under_way.free_at(0, DEAD), 1, "a refusal is no answer");
        ends(&mut under_way, &[Responsiveness::Answered]);
        assert_eq!(under_way.free_at(0, DEAD), SERVER_MAX);
    }

    #[test]
    fn a_record_has_one_attempt_at_a_time() {
        let (mut under_way, now, one) = (UnderWay::default(), Instant::now(), place(0, DEAD, 1));
        under_way.begin(&one);
        assert!(!under_way.is_free(&one.record, now));
        under_way.end(&one, Responsiveness::Answered);
        under_way.end(&one, Responsiveness::Answered);
        assert!(under_way.is_free(&one.record, now));
        assert_eq!((under_way.count(), under_way.count_of(0), under_way.count_at(DEAD)), (0, 0, 0));
    }

    #[test]
    fn what_could_not_be_recorded_waits_twice_as_long_each_time() {
        let (mut under_way, now, one) = (UnderWay::default(), Instant::now(), place(0, DEAD, 1).record);
        for seconds in [10, 20, 40, 80] {
            under_way.unrecorded(&one, now);
            assert!(!under_way.is_free(&one, now + Duration::from_millis(seconds * 1_000 - 1)));
            assert!(under_way.is_free(&one, now + Duration::from_secs(seconds)));
        }
        under_way.recorded(&one);
        assert!(under_way.is_free(&one, now));
    }
}
