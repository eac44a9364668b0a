//! What is being attempted at this moment, and which servers are slow. Memory only: after a
//! restart nothing is under way, and a slow server shows itself again.

use std::collections::{HashMap, HashSet};

use tillgate_domain::id::Id;

/// Attempts at the same time in all: each holds a socket and a body.
pub(super) const TOGETHER_MAX: usize = 64;

/// Attempts at the same time at one server, so that none is flooded.
pub(super) const SERVER_MAX: usize = 8;

/// After as many time-outs in a row a server gets one attempt at a time, until it answers.
const SLOW_AFTER: u32 = 5;

/// A record: subject and URL. One attempt at a time.
pub(super) type Record = (Id, String);

/// How an attempt ended, as far as its server's speed is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pace {
    /// The server gave a status code.
    Answered,
    /// It gave none in time.
    TimedOut,
    /// It failed otherwise, or was cut short by ourselves.
    Neither,
}

/// The attempts under way.
#[derive(Debug, Clone, Default)]
pub(super) struct UnderWay {
    records: HashSet<Record>,
    at_server: HashMap<String, usize>,
    time_outs: HashMap<String, u32>,
}

impl UnderWay {
    pub(super) fn begin(&mut self, server: &str, record: Record) {
        if self.records.insert(record) {
            *self.at_server.entry(server.to_owned()).or_default() += 1;
        }
    }

    pub(super) fn end(&mut self, server: &str, record: &Record, pace: Pace) {
        if !self.records.remove(record) {
            return;
        }
        if let Some(count) = self.at_server.get_mut(server) {
            *count -= 1;
            if *count == 0 {
                self.at_server.remove(server);
            }
        }
        match pace {
            Pace::Answered => {
                self.time_outs.remove(server);
            }
            Pace::TimedOut => {
                let count = self.time_outs.entry(server.to_owned()).or_default();
                *count = count.saturating_add(1);
            }
            // Breaks the row, but only an answer shows that a slow server is well again.
            Pace::Neither if !self.is_slow(server) => {
                self.time_outs.remove(server);
            }
            Pace::Neither => {}
        }
    }

    pub(super) fn has(&self, record: &Record) -> bool {
        self.records.contains(record)
    }

    pub(super) fn count(&self) -> usize {
        self.records.len()
    }

    pub(super) fn count_at(&self, server: &str) -> usize {
        self.at_server.get(server).copied().unwrap_or(0)
    }

    /// How many more attempts may start at this server now.
    pub(super) fn free_at(&self, server: &str) -> usize {
        let most = if self.is_slow(server) { 1 } else { SERVER_MAX };
        most.saturating_sub(self.count_at(server)).min(TOGETHER_MAX.saturating_sub(self.count()))
    }

    fn is_slow(&self, server: &str) -> bool {
        self.time_outs.get(server).is_some_and(|count| *count >= SLOW_AFTER)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEAD: &str = "http://dead.example:80";

    fn record(n: u8) -> Record {
        (Id::from_bytes([n; 20]), "http://dead.example/".to_owned())
    }

    fn ends(under_way: &mut UnderWay, paces: &[Pace]) {
        for pace in paces {
            under_way.begin(DEAD, record(0));
            under_way.end(DEAD, &record(0), *pace);
        }
    }

    #[test]
    fn a_server_gets_eight_at_once_and_all_together_sixty_four() {
        let mut under_way = UnderWay::default();
        for n in 0..8 {
            assert_eq!(under_way.free_at(DEAD), 8 - usize::from(n));
            under_way.begin(DEAD, record(n));
        }
        assert_eq!(under_way.free_at(DEAD), 0);
        for n in 8..64 {
            assert!(under_way.free_at(&format!("other {n}")) > 0);
            under_way.begin(&format!("other {n}"), record(n));
        }
        assert_eq!(under_way.free_at("yet another"), 0);
        under_way.end(DEAD, &record(0), Pace::Answered);
        assert_eq!((under_way.free_at(DEAD), under_way.free_at("yet another")), (1, 1));
    }

    #[test]
    fn five_time_outs_in_a_row_leave_one_at_a_time_until_an_answer() {
        let mut under_way = UnderWay::default();
        ends(&mut under_way, &[Pace::TimedOut; 4]);
        ends(&mut under_way, &[Pace::Neither]);
        ends(&mut under_way, &[Pace::TimedOut; 4]);
        assert_eq!(under_way.free_at(DEAD), SERVER_MAX, "the row was broken");
        ends(&mut under_way, &[Pace::TimedOut]);
        assert_eq!(under_way.free_at(DEAD), 1);
        ends(&mut under_way, &[Pace::Neither]);
        assert_eq!(under_way.free_at(DEAD), 1, "a refusal is no answer");
        ends(&mut under_way, &[Pace::Answered]);
        assert_eq!(under_way.free_at(DEAD), SERVER_MAX);
    }

    #[test]
    fn a_record_has_one_attempt_at_a_time() {
        let mut under_way = UnderWay::default();
        under_way.begin(DEAD, record(1));
        assert!(under_way.has(&record(1)));
        under_way.end(DEAD, &record(1), Pace::Answered);
        under_way.end(DEAD, &record(1), Pace::Answered);
        assert!(!under_way.has(&record(1)));
        assert_eq!(under_way.count(), 0);
    }
}
