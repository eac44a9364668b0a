//! Which notifications start now: within the limits, first attempts before repeats, each server by
//! its own index, so that however many wait for one, another's cost the same.

use tillgate_domain::time::Timestamp;

use super::under_way::UnderWay;
use crate::store::notifications::DueNotification;
use crate::store::{Reader, StoreError};

/// What a look at the outbox found.
#[derive(Debug, Default)]
pub(super) struct Selection {
    /// To start now, each with its server.
    pub due: Vec<(String, DueNotification)>,
    /// When the next repeat is due after now. What is due already and did not fit starts when
    /// something ends.
    pub next_due_at: Option<Timestamp>,
}

/// Chooses. `under_way` must have been taken before `reader`'s snapshot: then what ended in
/// between still counts as under way, and nothing is sent twice.
pub(super) fn select(reader: &Reader<'_>, mut under_way: UnderWay, now: Timestamp) -> Result<Selection, StoreError> {
    let mut selection = Selection::default();
    let fresh = servers(|after| reader.server_with_first_attempts(after))?;
    for server in least_busy_first(fresh, &under_way) {
        choose(&mut selection, &mut under_way, &server, |limit| reader.first_attempts(&server, limit))?;
    }
    let repeating = servers(|after| reader.server_with_repeats(after))?;
    for server in least_busy_first(repeating, &under_way) {
        choose(&mut selection, &mut under_way, &server, |limit| reader.repeats(&server, now, limit))?;
        let next = reader.next_repeat_after(&server, now)?;
        selection.next_due_at = [selection.next_due_at, next].into_iter().flatten().min();
    }
    Ok(selection)
}

fn servers(next: impl Fn(&str) -> Result<Option<String>, StoreError>) -> Result<Vec<String>, StoreError> {
    let mut servers: Vec<String> = Vec::new();
    while let Some(server) = next(servers.last().map_or("", String::as_str))? {
        servers.push(server);
    }
    Ok(servers)
}

/// When there is not room for all, a server with nothing under way comes before one with much.
fn least_busy_first(mut servers: Vec<String>, under_way: &UnderWay) -> Vec<String> {
    servers.sort_by_cached_key(|server| under_way.count_at(server));
    servers
}

fn choose(
    selection: &mut Selection,
    under_way: &mut UnderWay,
    server: &str,
    rows: impl FnOnce(usize) -> Result<Vec<DueNotification>, StoreError>,
) -> Result<(), StoreError> {
    let free = under_way.free_at(server);
    if free == 0 {
        return Ok(());
    }
    // Of the first rows as many as are under way may be under way themselves.
    let mut chosen = 0;
    for due in rows(free + under_way.count_at(server))? {
        let record = (due.subject_id, due.url.clone());
        if chosen < free && !under_way.has(&record) {
            under_way.begin(server, record);
            selection.due.push((server.to_owned(), due));
            chosen += 1;
        }
    }
    Ok(())
}
