//! Tells people who do not look at the panel. The tray and the window's title show these tasks:
//!
//! - reversed payments, until staff decide about them,
//! - shops' offers, until they are approved or expire,
//! - failing nightly backups, until one succeeds.
//!
//! Each new event of the gateway is passed once to the panel, which words it for the desktop. A
//! sound is played. A person can turn both off for each kind. A failing backup is told each time
//! that backups begin to fail.

use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Weak};
use std::time::Duration;

use serde_json::json;
use tauri::{AppHandle, Emitter as _};
use tillgate_console::{Actor, CommandError, ListNews, NewsItem, ShowBackups, Status, ask};
use tillgate_gateway::App;
use tillgate_machine::environment::Environment;
use tillgate_store::news::NewsKind;
use tokio_util::sync::CancellationToken;

use crate::waiting::Waiting;
use crate::{standing, window};

/// Event for the panel, with the kind of an event: play its sound.
const SOUND: &str = "sound";

/// Shortest time between two readings, so that a burst of commits leads to few of them.
const READ_AT_MOST_EVERY: Duration = Duration::from_secs(1);

/// Event for the panel, with an environment and its new events as JSON: word them, and have the
/// desktop show them.
const NEWS: &str = "news";

/// The most ids of events that are remembered. A reading lists 50.
const SEEN_MAX: usize = 1_000;

/// Keeps tray, window title and notifications up to date while the gateway of one environment runs.
pub async fn follow(shell: AppHandle, app: Weak<App>, stop: CancellationToken) {
    let followed =
        app.upgrade().map(|app| (app.gateway.signals.changes.subscribe(), app.gateway.environment));
    let Some((mut changes, environment)) = followed else { return };
    let mut told = Waiting::default();
    let mut known = Known::default();
    loop {
        // This task must not keep the gateway alive, because the gateway holds the lock of the data
        // directory.
        let Some(gateway) = app.upgrade() else { return };
        let read = load(gateway).await;
        match read {
            Ok(Read { now, waiting, news, notices, sounds }) => {
                // A failed backup is tried again each hour, and usually fails again for the same
                // reason.
                let had_no_backup = told.no_backup;
                if waiting != told {
                    told = waiting;
                    standing::waits(&shell, environment, waiting);
                }
                let new = known.news(&news, &now);
                // A person at the window sees there that a payment is paid.
                let is_told = |kind| {
                    notices.contains(&kind)
                        && !(kind == NewsKind::Paid && window::has_focus(&shell))
                };
                let no_backup = waiting.no_backup && !had_no_backup;
                tells(&shell, environment, &told_of(&new, is_told), no_backup);
                for kind in NewsKind::ALL {
                    if sounds.contains(&kind) && new.iter().any(|one| one.kind == kind) {
                        plays(&shell, kind);
                    }
                }
            }
            Err(error) => tracing::warn!(%error, "the waiting tasks cannot be read for the tray"),
        }
        tokio::select! {
            () = stop.cancelled() => return,
            changed = changes.changed() => if changed.is_err() { return },
        }
        tokio::time::sleep(READ_AT_MOST_EVERY).await;
    }
}

/// The result of a reading.
struct Read {
    /// The gateway's time, ISO 8601.
    now: String,
    waiting: Waiting,
    /// The last events, the newest first.
    news: Vec<NewsItem>,
    /// The kinds of events that the desktop notifies of.
    notices: Vec<NewsKind>,
    /// The kinds of events with a sound.
    sounds: Vec<NewsKind>,
}

/// The events that need no notification any more.
#[derive(Debug, Default)]
struct Known {
    /// The newest time of the first reading, ISO 8601, but not a time to come. Older events are
    /// from before the start, and are not notified.
    since: Option<String>,
    /// The ids of the last events, the newest last. Events are not read in the order of their
    /// times, because a look at the chain may begin before another event and end after it.
    seen: VecDeque<String>,
    /// The ids of the servers that failed at the last reading. They are notified again if they
    /// recover and fail again.
    failing: HashSet<String>,
}

async fn load(app: Arc<App>) -> Result<Read, CommandError> {
    let status = ask(&app, Status {}, &Actor::panel()).await?;
    let backups = ask(&app, ShowBackups {}, &Actor::panel()).await?;
    let news = ask(&app, ListNews {}, &Actor::panel()).await?;
    let waiting = Waiting {
        reversals: status.open_reversals,
        offers: status.offers_waiting,
        no_backup: backups.trouble.is_some(),
    };
    Ok(Read {
        now: status.clock,
        waiting,
        news: news.items,
        notices: news.notices,
        sounds: news.sounds,
    })
}

impl Known {
    /// The events that are new. The first reading has none.
    fn news(&mut self, listed: &[NewsItem], now: &str) -> Vec<NewsItem> {
        let is_first = self.since.is_none();
        // The clock may have been ahead before the start.
        let newest = || {
            listed
                .iter()
                .map(|one| &one.time)
                .filter(|time| time.as_str() <= now)
                .max()
                .cloned()
                .unwrap_or_default()
        };
        let since = self.since.get_or_insert_with(newest).clone();
        let is_new = |one: &&NewsItem| match one.kind {
            NewsKind::Shop => !self.failing.contains(&one.id),
            _ => one.time >= since && !self.seen.contains(&one.id),
        };
        let new = listed.iter().filter(|_| !is_first).filter(is_new).cloned().collect();
        let is_failing = |one: &&NewsItem| one.kind == NewsKind::Shop;
        self.failing = listed.iter().filter(is_failing).map(|one| one.id.clone()).collect();
        for one in listed.iter().rev().filter(|one| !is_failing(one)) {
            if !self.seen.contains(&one.id) {
                self.seen.push_back(one.id.clone());
            }
        }
        self.seen.drain(..self.seen.len().saturating_sub(SEEN_MAX));
        new
    }
}

/// The new events of the kinds that are told.
fn told_of(news: &[NewsItem], is_told: impl Fn(NewsKind) -> bool) -> Vec<&NewsItem> {
    news.iter().filter(|one| is_told(one.kind)).collect()
}

/// Passes new events to the panel, which words them and calls `notify`. The panel's window is
/// hidden, never closed. `no_backup`: nightly backups have begun to fail.
fn tells(shell: &AppHandle, environment: Environment, news: &[&NewsItem], no_backup: bool) {
    if news.is_empty() && !no_backup {
        return;
    }
    window::ask_for_attention(shell);
    let told = json!({ "environment": environment.as_str(), "news": news, "noBackup": no_backup });
    if let Err(error) = shell.emit(NEWS, told.to_string()) {
        tracing::warn!(%error, "the panel cannot be told of new events");
    }
}

fn plays(shell: &AppHandle, kind: NewsKind) {
    if let Err(error) = shell.emit(SOUND, kind.as_str()) {
        tracing::warn!(%error, "the panel cannot be asked to play a sound");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: &str = "2026-01-12T13:00:00.000Z";

    /// An event as the gateway lists it.
    fn event(id: &str, kind: NewsKind, minute: u32) -> NewsItem {
        let server = json!({ "event": "server", "host": "shop.example", "notifications": 1 });
        serde_json::from_value(json!({
            "id": id,
            "kind": kind,
            "time": format!("2026-01-12T12:{minute:02}:00.000Z"),
            "event": server,
            "paymentId": null,
            "payoutId": null,
        }))
        .unwrap()
    }

    #[test]
    fn only_new_events_are_notified_once_each() {
        let mut known = Known::default();
        let mut told = |listed: &[(&str, u32)]| {
            let listed: Vec<_> =
                listed.iter().map(|(id, minute)| event(id, NewsKind::Payout, *minute)).collect();
            known.news(&listed, NOW).into_iter().map(|one| one.id).collect::<Vec<_>>()
        };
        assert_eq!(
            told(&[("b", 2), ("a", 1)]),
            [""; 0],
            "events before the start need no notification"
        );
        assert_eq!(told(&[("c", 5), ("b", 2)]), ["c"]);
        assert_eq!(told(&[("c", 5), ("b", 2)]), [""; 0]);
        assert_eq!(told(&[("c", 5), ("d", 4)]), ["d"], "an event may be read after a later one");
        assert_eq!(
            told(&[("d", 4), ("b", 2), ("a", 1), ("z", 0)]),
            [""; 0],
            "older events return to the list"
        );
    }

    #[test]
    fn a_clock_that_was_ahead_silences_nothing() {
        let mut known = Known::default();
        let ahead = || NewsItem {
            time: "2027-01-01T00:00:00.000Z".to_owned(),
            ..event("a", NewsKind::Paid, 0)
        };
        assert!(known.news(&[ahead()], NOW).is_empty());
        let paid = event("b", NewsKind::Paid, 5);
        assert_eq!(known.news(&[ahead(), paid.clone()], NOW), [paid]);
    }

    #[test]
    fn a_server_is_notified_each_time_that_it_begins_to_fail() {
        let mut known = Known::default();
        let paid = || event("p", NewsKind::Paid, 5);
        let shop = || event("s", NewsKind::Shop, 2);
        assert!(known.news(&[paid()], NOW).is_empty());
        assert_eq!(known.news(&[paid(), shop()], NOW), [shop()]);
        assert!(known.news(&[paid(), shop()], NOW).is_empty());
        assert!(known.news(&[paid()], NOW).is_empty());
        assert_eq!(known.news(&[paid(), shop()], NOW), [shop()]);
    }

    #[test]
    fn the_remembered_events_are_bounded() {
        let mut known = Known::default();
        for number in 0..2_000 {
            known.news(&[event(&number.to_string(), NewsKind::Paid, 1)], NOW);
        }
        assert_eq!((known.seen.len(), known.seen[0].as_str()), (SEEN_MAX, "1000"));
    }

    #[test]
    fn kinds_that_are_turned_off_are_not_notified() {
        let news = [event("a", NewsKind::Paid, 1), event("b", NewsKind::Shop, 2)];
        assert_eq!(told_of(&news, |kind| kind == NewsKind::Shop), [&news[1]]);
    }
}
