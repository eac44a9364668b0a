//! Selects the notifications to attempt now, within the limits, and first attempts before repeats.
//! API keys take turns, and each key's servers take turns. Therefore, many notifications of one key
//! or server do not delay those of another.

use std::collections::{HashMap, VecDeque};

use tillgate_domain::time::Timestamp;
use tillgate_store::notifications::{DueNotification, Turn};
use tillgate_store::{Reader, StoreError};
use tokio::time::Instant;

use super::under_way::{Attempted, UnderWay, host_of};

/// The most servers of one key that one pass searches for due repeats: there may be many servers
/// whose repeats are due only in hours. The next pass continues after them.
const SERVERS_PER_LOOK: usize = 128;

/// The result of `select`.
#[derive(Debug, Default)]
pub struct Selection {
    /// The notifications to start now.
    pub due: Vec<DueNotification>,
    /// The time of the next repeat that is not due yet. A notification that is due now, but exceeds
    /// a limit, is selected when another attempt has ended.
    pub next_due_at: Option<Timestamp>,
    /// Whether some servers were not searched, so that due notifications may be missing.
    pub is_unfinished: bool,
}

/// For each API key, the server at which the last pass ended, of first attempts and of repeats. The
/// next pass continues after it.
#[derive(Debug, Clone, Default)]
pub struct Rounds {
    first: HashMap<i64, String>,
    again: HashMap<i64, String>,
}

impl Rounds {
    fn for_turn(&mut self, turn: Turn) -> &mut HashMap<i64, String> {
        match turn {
            Turn::First => &mut self.first,
            Turn::Again => &mut self.again,
        }
    }
}

/// Selects the notifications to attempt now. `under_way` must be copied before `reader`'s snapshot
/// is taken. Then an attempt that ended in between still counts as running, and its notification is
/// not sent twice.
pub fn select(
    reader: &Reader<'_>,
    mut under_way: UnderWay,
    rounds: &mut Rounds,
    now: Timestamp,
) -> Result<Selection, StoreError> {
    let mut selection =
        Selection { next_due_at: reader.next_repeat_after(now)?, ..Selection::default() };
    choose(reader, Turn::First, &mut selection, &mut under_way, rounds, now)?;
    if reader.has_due_repeats(now)? {
        choose(reader, Turn::Again, &mut selection, &mut under_way, rounds, now)?;
    }
    Ok(selection)
}

fn choose(
    reader: &Reader<'_>,
    turn: Turn,
    selection: &mut Selection,
    under_way: &mut UnderWay,
    rounds: &mut Rounds,
    now: Timestamp,
) -> Result<(), StoreError> {
    let mut keys = Vec::new();
    let mut last = i64::MIN;
    while let Some(key_id) = reader.key_with_attempts(turn, last)? {
        let from = rounds.for_turn(turn).get(&key_id).cloned().unwrap_or_default();
        keys.push(Round {
            reader,
            turn,
            now,
            key_id,
            at: from,
            looked_at: 0,
            rows: HashMap::new(),
        });
        last = key_id;
    }
    // Each iteration selects one attempt, of the key with the fewest running attempts.
    while let Some((index, round)) =
        keys.iter_mut().enumerate().min_by_key(|(_, round)| under_way.count_of(round.key_id))
    {
        match round.next(under_way)? {
            Some(due) => {
                under_way.begin(&Attempted::from_due(&due));
                selection.due.push(due);
            }
            None => {
                selection.is_unfinished |= round.looked_at > SERVERS_PER_LOOK;
                let round = keys.swap_remove(index);
                rounds.for_turn(turn).insert(round.key_id, round.at);
            }
        }
    }
    Ok(())
}

/// The search for due notifications of one API key, whose servers take turns.
struct Round<'a> {
    reader: &'a Reader<'a>,
    turn: Turn,
    now: Timestamp,
    key_id: i64,
    /// The server that was searched last.
    at: String,
    /// The number of servers that were searched.
    looked_at: usize,
    /// The waiting notifications of the servers that were searched.
    rows: HashMap<String, VecDeque<DueNotification>>,
}

impl Round<'_> {
    /// The key's next notification that may be sent. After each notification it is the next
    /// server's turn.
    fn next(&mut self, under_way: &UnderWay) -> Result<Option<DueNotification>, StoreError> {
        let began = self.at.clone();
        let mut is_around = false;
        while under_way.room_of(self.key_id) > 0 {
            self.looked_at += 1;
            if self.turn == Turn::Again && self.looked_at > SERVERS_PER_LOOK {
                return Ok(None);
            }
            let Some(server) =
                self.reader.server_with_attempts(self.turn, self.key_id, &self.at)?
            else {
                if is_around {
                    return Ok(None);
                }
                is_around = true;
                self.at.clear();
                continue;
            };
            if is_around && server > began {
                return Ok(None);
            }
            if !under_way.has_room_at_host(self.key_id, &server) {
                // Skips all ports of this host: `;` sorts after the `:` before a port.
                self.at = format!("{};", host_of(&server));
                continue;
            }
            let found = self.first_at(&server, under_way)?;
            self.at = server;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    fn first_at(
        &mut self,
        server: &str,
        under_way: &UnderWay,
    ) -> Result<Option<DueNotification>, StoreError> {
        let free = under_way.free_at(self.key_id, server);
        if free == 0 {
            return Ok(None);
        }
        if !self.rows.contains_key(server) {
            // Enough rows to find `free` sendable ones, even if all running or paused notifications
            // come first.
            let limit = free + under_way.not_free_at(server);
            let rows =
                self.reader.attempts_at(self.turn, (self.key_id, server), self.now, limit)?;
            self.rows.insert(server.to_owned(), rows.into());
        }
        let Some(rows) = self.rows.get_mut(server) else { return Ok(None) };
        while let Some(due) = rows.pop_front() {
            if under_way.is_free(&Attempted::from_due(&due).subject, Instant::now()) {
                return Ok(Some(due));
            }
        }
        Ok(None)
    }
}
