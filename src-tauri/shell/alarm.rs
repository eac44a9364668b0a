//! Tells who looks away from the panel of what cannot wait: confirmed payments that were reversed, until somebody decided
//! on them, and payouts that a shop asks for, until they are approved or lapse. Both stand at the tray and in lists of
//! windows; of each offer the desktop is notified once.

use std::collections::HashSet;
use std::sync::{Arc, Weak};
use std::time::Duration;

use tauri::AppHandle;
use tillgate_gateway::{Actor, App, CommandError, ListPayouts, PayoutItem, PayoutState, Status, ask};
use tokio_util::sync::CancellationToken;

use crate::desktop::Note;
use crate::{desktop, tray, window};

/// A burst of commits is one reading.
const READ_AT_MOST_EVERY: Duration = Duration::from_secs(1);

/// Offers that are told by themselves; of more at once the desktop hears their number.
const TOLD_EACH: usize = 3;

/// The newest offers that are looked at for new ones.
const OFFERS_READ: u32 = 500;

/// What waits for a person.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Waiting {
    reversals: u64,
    /// Those made by shops: whoever made one at the panel knows of it.
    offers: u64,
}

/// Keeps tray, window title and notifications in step as long as the gateway runs.
pub async fn follow(shell: AppHandle, app: Weak<App>, stop: CancellationToken) {
    let Some(mut changes) = app.upgrade().map(|app| app.gateway.changes.subscribe()) else { return };
    let mut told = Waiting::default();
    let mut known = HashSet::new();
    loop {
        // The follower must not keep the gateway, and with it the lock on its data, alive.
        let Some(gateway) = app.upgrade() else { return };
        let read = read(gateway).await;
        match read {
            Ok((waiting, offers)) => {
                if waiting != told {
                    told = waiting;
                    let words = words(waiting);
                    tray::tell(&shell, words.as_deref());
                    window::tell(&shell, words.as_deref());
                }
                for note in notes(&news(&mut known, offers)) {
                    desktop::notify(&shell, note);
                }
            }
            Err(error) => tracing::warn!(%error, "the tray cannot be kept in step"),
        }
        tokio::select! {
            () = stop.cancelled() => return,
            changed = changes.changed() => if changed.is_err() { return },
        }
        tokio::time::sleep(READ_AT_MOST_EVERY).await;
    }
}

/// What waits, and the offers of shops among it.
async fn read(app: Arc<App>) -> Result<(Waiting, Vec<PayoutItem>), CommandError> {
    let status = ask(&app, Status {}, &Actor::panel()).await?;
    let waiting = Waiting { reversals: status.open_reversals, offers: status.offers_waiting };
    if waiting.offers == 0 {
        return Ok((waiting, Vec::new()));
    }
    let new = ListPayouts { limit: OFFERS_READ, offset: 0, states: vec![PayoutState::New], search: None };
    let mut offers = ask(&app, new, &Actor::panel()).await?.items;
    offers.retain(|offer| offer.requested_by_shop);
    Ok((waiting, offers))
}

/// Those of `offers` that were not told yet. `known` forgets those that no longer wait.
fn news(known: &mut HashSet<String>, offers: Vec<PayoutItem>) -> Vec<PayoutItem> {
    let waiting: HashSet<String> = offers.iter().map(|offer| offer.payout_id.clone()).collect();
    let before = std::mem::replace(known, waiting);
    offers.into_iter().filter(|offer| !before.contains(&offer.payout_id)).collect()
}

fn notes(news: &[PayoutItem]) -> Vec<Note> {
    if news.len() > TOLD_EACH {
        let title = format!("{} payouts wait for approval", news.len());
        return vec![Note { title, body: "Open Tillgate to approve them, or let them lapse.".to_owned() }];
    }
    let note = |offer: &PayoutItem| Note {
        title: format!("{} BTC wait for approval", offer.amount.shown),
        body: format!(
            "{} asks to pay {} {} to {}. Open Tillgate to approve it, or let it lapse.",
            offer.requested_by, offer.worth.shown, offer.worth.currency, offer.address
        ),
    };
    news.iter().map(note).collect()
}

fn words(waiting: Waiting) -> Option<String> {
    let reversals = match waiting.reversals {
        0 => None,
        1 => Some("1 payment reversed".to_owned()),
        many => Some(format!("{many} payments reversed")),
    };
    let offers = match waiting.offers {
        0 => None,
        1 => Some("1 payout waits for approval".to_owned()),
        many => Some(format!("{many} payouts wait for approval")),
    };
    let all: Vec<String> = reversals.into_iter().chain(offers).collect();
    (!all.is_empty()).then(|| all.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_is_counted_and_nothing_says_nothing() {
        let said = |reversals, offers| words(Waiting { reversals, offers });
        assert_eq!(said(0, 0), None);
        assert_eq!(said(1, 0).as_deref(), Some("1 payment reversed"));
        assert_eq!(said(12, 1).as_deref(), Some("12 payments reversed, 1 payout waits for approval"));
        assert_eq!(said(0, 2).as_deref(), Some("2 payouts wait for approval"));
    }
}
