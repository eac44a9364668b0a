//! Alerts people who do not look at the panel. The tray and the window's title show these tasks:
//!
//! - reversed payments, until staff decide about them,
//! - shops' offers, until they are approved or expire,
//! - failing nightly backups, until one succeeds.
//!
//! A desktop notification is shown once for each offer, and once for each payout that an API key approved. For backups
//! it is shown each time that they begin to fail.

use std::collections::HashSet;
use std::sync::{Arc, Weak};
use std::time::Duration;

use tauri::AppHandle;
use tillgate_gateway::{
    Actor, App, CommandError, Environment, ListPayouts, PayoutItem, PayoutState, ShowBackups, Status, ask,
};
use tokio_util::sync::CancellationToken;

use crate::desktop::Note;
use crate::{desktop, standing};

/// Shortest time between two readings, so that a burst of commits leads to few of them.
const READ_AT_MOST_EVERY: Duration = Duration::from_secs(1);

/// The most new payouts that are notified one by one. If there are more at once, one notification shows their number.
const TOLD_EACH: usize = 3;

/// The most offers that are read.
const OFFERS_READ: u32 = 500;

/// The most approved payouts that are read.
const APPROVED_READ: u32 = 100;

/// The tasks that wait for a person.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Waiting {
    reversals: u64,
    /// Offers requested by API keys. An offer that a person requested needs no alert.
    offers: u64,
    /// Nightly backups are set up, and the last one failed or is overdue.
    no_backup: bool,
}

/// Keeps tray, window title and notifications up to date while the gateway of one environment runs.
pub async fn follow(shell: AppHandle, app: Weak<App>, stop: CancellationToken) {
    let followed = app.upgrade().map(|app| (app.gateway.changes.subscribe(), app.gateway.environment));
    let Some((mut changes, environment)) = followed else { return };
    let mut told = Waiting::default();
    let (mut known, mut approved) = (HashSet::new(), Approved::default());
    loop {
        // This task must not keep the gateway alive, because the gateway holds the lock of the data directory.
        let Some(gateway) = app.upgrade() else { return };
        let read = read(gateway).await;
        match read {
            Ok(Read { waiting, offers, by_keys, backup_trouble }) => {
                let of_backup = note_of_backup(told, backup_trouble);
                if waiting != told {
                    told = waiting;
                    standing::waits(&shell, environment, words(waiting));
                }
                let of_payouts = notes(&news(&mut known, offers)).into_iter();
                let of_payouts = of_payouts.chain(notes_of_approved(&approved.news(by_keys)));
                for note in of_payouts.chain(of_backup) {
                    desktop::notify(&shell, environment, note.of(environment));
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
    waiting: Waiting,
    /// The shops' offers.
    offers: Vec<PayoutItem>,
    /// Payouts that API keys approved.
    by_keys: Vec<PayoutItem>,
    /// The fault of the nightly backups, for people.
    backup_trouble: Option<String>,
}

/// The payouts approved by API keys that need no notification any more.
#[derive(Debug, Default)]
struct Approved {
    /// The ids of the last reading; absent before the first reading, which notifies of no payout.
    known: Option<HashSet<String>>,
    /// The newest approval time of all readings, ISO 8601.
    newest: Option<String>,
}

async fn read(app: Arc<App>) -> Result<Read, CommandError> {
    let status = ask(&app, Status {}, &Actor::panel()).await?;
    let backup_trouble = ask(&app, ShowBackups {}, &Actor::panel()).await?.trouble;
    let waiting = Waiting {
        reversals: status.open_reversals,
        offers: status.offers_waiting,
        no_backup: backup_trouble.is_some(),
    };
    let list = |limit, states| ask_list(&app, limit, states);
    let mut by_keys = list(APPROVED_READ, vec![PayoutState::Queued, PayoutState::Sent]).await?;
    by_keys.retain(is_approved_by_key);
    let mut offers = Vec::new();
    if waiting.offers > 0 {
        offers = list(OFFERS_READ, vec![PayoutState::New]).await?;
        offers.retain(|offer| offer.requested_by_shop);
    }
    Ok(Read { waiting, offers, by_keys, backup_trouble })
}

async fn ask_list(app: &Arc<App>, limit: u32, states: Vec<PayoutState>) -> Result<Vec<PayoutItem>, CommandError> {
    let list = ListPayouts { limit, offset: 0, states, search: None };
    Ok(ask(app, list, &Actor::panel()).await?.items)
}

/// Whether an API key approved the payout. A key's name has no colon, but a person is recorded as in `panel:ann`.
fn is_approved_by_key(payout: &PayoutItem) -> bool {
    payout.approved_by.as_ref().is_some_and(|name| !name.contains(':'))
}

/// The offers that are not in `known`, the ids of the last reading. Then `known` becomes the ids of `offers`.
fn news(known: &mut HashSet<String>, offers: Vec<PayoutItem>) -> Vec<PayoutItem> {
    let waiting: HashSet<String> = offers.iter().map(|offer| offer.payout_id.clone()).collect();
    let before = std::mem::replace(known, waiting);
    offers.into_iter().filter(|offer| !before.contains(&offer.payout_id)).collect()
}

impl Note {
    /// Puts the environment's name before the title.
    fn of(self, environment: Environment) -> Self {
        Self { title: format!("{}: {}", standing::name_of(environment), self.title), ..self }
    }
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

impl Approved {
    /// The payouts in `by_keys` that need a notification. An older payout can return to the list, because a newer one
    /// left it. Its approval time shows that it is not new.
    fn news(&mut self, by_keys: Vec<PayoutItem>) -> Vec<PayoutItem> {
        let before = self.newest.clone();
        self.newest = by_keys.iter().filter_map(|payout| payout.approval_time.clone()).chain(before.clone()).max();
        let now = by_keys.iter().map(|payout| payout.payout_id.clone()).collect();
        let Some(known) = self.known.replace(now) else { return Vec::new() };
        let is_new = |payout: &PayoutItem| !known.contains(&payout.payout_id) && payout.approval_time >= before;
        by_keys.into_iter().filter(is_new).collect()
    }
}

fn notes_of_approved(news: &[PayoutItem]) -> Vec<Note> {
    if news.len() > TOLD_EACH {
        let title = format!("{} payouts were approved by API keys", news.len());
        return vec![Note { title, body: "Open Tillgate to see where they go, and to stop them.".to_owned() }];
    }
    let note = |payout: &PayoutItem| Note {
        title: format!("{} BTC were approved by an API key", payout.amount.shown),
        body: format!(
            "{} approved a payout of {} {} to {}. If that was wrong, open Tillgate and cancel the payout.",
            payout.approved_by.as_deref().unwrap_or_default(),
            payout.worth.shown,
            payout.worth.currency,
            payout.address
        ),
    };
    news.iter().map(note).collect()
}

/// The note about a failed backup, unless it was shown since backups began to fail. A failed backup is tried again each
/// hour, and usually fails again for the same reason.
fn note_of_backup(told: Waiting, trouble: Option<String>) -> Option<Note> {
    let body = trouble.filter(|_| !told.no_backup)?;
    Some(Note { title: "No nightly backup is made".to_owned(), body })
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
    let backups = waiting.no_backup.then(|| "no nightly backup is made".to_owned());
    let all: Vec<String> = reversals.into_iter().chain(offers).chain(backups).collect();
    (!all.is_empty()).then(|| all.join(", "))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A payout as the gateway lists it.
    fn payout(id: &str, approved_by: &str, minute: u32) -> PayoutItem {
        let btc = json!({"sats": 1_000_000, "text": "0.01000000", "shown": "0.01000000"});
        let usd = json!({"minor": 64_210, "text": "642.10", "shown": "642.10", "currency": "USD"});
        let item = json!({"payoutId": id, "state": "QUEUED", "address": "bcrt1q", "amount": btc, "worth": usd,
            "currency": "USD", "fee": btc, "feePaid": null, "total": btc, "totalWorth": usd, "rate": "64210.5500",
            "rateShown": "64,210.55", "comment": null, "requestedBy": "till", "requestedByShop": true,
            "approvedBy": approved_by, "creationTime": "2026-01-12T12:00:00Z",
            "expirationTime": "2026-01-12T12:10:00Z", "approvalTime": format!("2026-01-12T12:{minute:02}:00Z"),
            "sentTime": null, "btcTxId": null, "confirmations": 0, "failureReason": null, "balanceShort": false,
            "anomalyId": null, "beingGivenUp": false, "waitsFor": null, "record": "{}"});
        serde_json::from_value(item).unwrap()
    }

    #[test]
    fn only_payouts_that_keys_approve_are_notified_once_each() {
        assert!(is_approved_by_key(&payout("a", "till", 1)));
        assert!(!is_approved_by_key(&payout("a", "panel:ann", 1)) && !is_approved_by_key(&payout("a", "cli:ann", 1)));
        let mut approved = Approved::default();
        let mut told = |payouts: &[(&str, u32)]| {
            let payouts = payouts.iter().map(|(id, minute)| payout(id, "till", *minute)).collect();
            notes_of_approved(&approved.news(payouts)).into_iter().map(|note| note.title).collect::<Vec<_>>()
        };
        assert_eq!(told(&[("a", 1)]), [""; 0], "a payout approved before the start needs no notification");
        let one = "0.01000000 BTC were approved by an API key";
        assert_eq!(told(&[("b", 2), ("a", 1)]), [one]);
        assert_eq!(told(&[("b", 2), ("a", 1)]), [""; 0]);
        assert_eq!(told(&[("c", 2), ("b", 2)]), [one], "a payout approved in the same second as a known one is new");
        assert_eq!(told(&[("b", 2), ("a", 1)]), [""; 0], "an older payout that returns to the list is not new");
        let many: Vec<_> = ["d", "e", "f", "g"].map(|id| (id, 3)).into();
        assert_eq!(told(&many), ["4 payouts were approved by API keys"]);
    }

    #[test]
    fn a_notification_begins_with_its_environment() {
        let note = || Note { title: "2 payouts wait for approval".to_owned(), body: String::new() };
        assert_eq!(note().of(Environment::Production).title, "Production: 2 payouts wait for approval");
        assert_eq!(note().of(Environment::Test).title, "Test: 2 payouts wait for approval");
    }

    #[test]
    fn waiting_tasks_are_counted_in_the_text() {
        let said = |reversals, offers| words(Waiting { reversals, offers, no_backup: false });
        assert_eq!(said(0, 0), None);
        assert_eq!(said(1, 0).as_deref(), Some("1 payment reversed"));
        assert_eq!(said(12, 1).as_deref(), Some("12 payments reversed, 1 payout waits for approval"));
        assert_eq!(said(0, 2).as_deref(), Some("2 payouts wait for approval"));
        let both = Waiting { reversals: 1, offers: 0, no_backup: true };
        assert_eq!(words(both).as_deref(), Some("1 payment reversed, no nightly backup is made"));
    }

    #[test]
    fn only_the_first_of_several_failed_backups_is_notified() {
        let why = || Some("the last nightly backup failed: the disk is full".to_owned());
        let (well, failing) = (Waiting::default(), Waiting { no_backup: true, ..Waiting::default() });
        let note = note_of_backup(well, why()).unwrap();
        assert!(note.title.contains("backup") && note.body.contains("the disk is full"), "{}", note.body);
        assert!(note_of_backup(failing, why()).is_none(), "a second failure is not notified");
        assert!(note_of_backup(failing, None).is_none() && note_of_backup(well, None).is_none());
    }
}
