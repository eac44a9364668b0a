//! The state of the gateway in one view.

mod backend;
mod sources;
mod warnings;

use serde::{Deserialize, Serialize};
use tillgate_domain::time::Timestamp;
use tillgate_told::{Telling, Told};
use ts_rs::TS;

pub use self::backend::BackendItem;
pub use self::sources::RateSources;
pub use self::sources::{silent, strays};
pub use self::warnings::GivenUp;
pub use self::warnings::WarningKind;
use tillgate_gateway::gateway::{Gateway, WaitCause, WatchStatus};
use tillgate_gateway::rates::{RatesRow, SourceRow};
use tillgate_store::backups::BackupState;
use tillgate_store::notifications::FailingServer;
use tillgate_store::payment_lists::PaymentFilter;
use tillgate_store::{Reader, StoreError};

use self::warnings::{Seen, Warnings};
use super::alarms::{AlarmItem, alarms};
use super::ask::{Ask, Asker};
use super::btc::BtcView;
use super::error::CommandError;
use super::payouts::{self, HeldFor, StuckItem, StuckPayouts, TwinItem, Waiting};

/// The most failing servers that are named, because the panel's footer has no room for more.
const SERVERS_NAMED: usize = 3;

/// The state before the first look since the start has ended.
#[derive(Debug, thiserror::Error, Told)]
#[error("the first look at the chain since the start has not ended")]
pub struct FirstLook;

/// Asks for the state of the gateway.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct Status {}

/// The state of the gateway.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct StatusView {
    /// `test` or `production`.
    pub environment: String,
    pub version: String,
    /// Whether a gateway serves the API. If not, the command line opened the data itself.
    pub serving: bool,
    /// The URL of the API; absent unless a gateway serves.
    pub api: Option<String>,
    /// The URL of the payment pages; absent unless a gateway serves.
    pub pages: Option<String>,
    /// The time of the environment's clock, ISO 8601 with milliseconds.
    pub clock: String,
    /// The chain backend; absent if none is set.
    #[serde(default)]
    pub backend: Option<BackendItem>,
    /// The height of the best block of the last look. While a long look is under way, the height
    /// that it has reached.
    pub chain_height: u32,
    /// The time of the last successful look, ISO 8601 with milliseconds; absent before the first
    /// look.
    pub chain_looked_at: Option<String>,
    /// The reason why the last look failed; absent if it succeeded.
    pub chain_error: Option<Telling>,
    /// The reason why the state of the chain forbids new payments; absent if the last complete look
    /// is recent.
    #[serde(default)]
    pub payments_refused: Option<Telling>,
    /// A sentence while the chain is not known up to the best block: the progress of a long look,
    /// or a note that no look has ended since the start.
    #[serde(default)]
    pub catching_up: Option<Telling>,
    pub rates: Vec<RateItem>,
    /// The sources of rates, and the state of each.
    pub rate_sources: Vec<RateSourceItem>,
    /// The number of payments that are NEW, UNDERPAID or UNCONFIRMED.
    #[ts(type = "number")]
    pub open_payments: u64,
    /// The number of OPEN anomalies.
    #[ts(type = "number")]
    pub open_anomalies: u64,
    /// The number of notifications that are still to be sent.
    #[ts(type = "number")]
    pub waiting_notifications: u64,
    /// Whether there is an HMAC key, so that notifications are signed.
    pub hmac_key: bool,
    /// Whether the backend is the built-in sandbox.
    pub sandbox: bool,
    /// Whether there is a wallet. Without a wallet no payment can be created.
    pub has_wallet: bool,
    /// Whether this installation ever made a complete backup.
    #[serde(default)]
    pub is_backed_up: bool,
    /// The place where the secrets are stored, for people.
    pub secrets: String,
    /// The folder of this environment's data.
    #[serde(default)]
    pub folder: String,
    /// Warnings for staff: sentences with the remedy at the command line.
    pub warnings: Vec<Telling>,
    /// The kind of each warning, in the order of `warnings`.
    #[serde(default)]
    pub warning_kinds: Vec<WarningKind>,
    /// The number of notifications that were given up after three days of attempts.
    #[serde(default)]
    #[ts(type = "number")]
    pub given_up_notifications: u64,
    /// The ISO codes of the setting `currencies`, in its order.
    pub currencies: Vec<String>,
    /// The number of OPEN anomalies of type `REVERSED_PAYMENT`.
    #[ts(type = "number")]
    pub open_reversals: u64,
    /// The number of notifications that failed and will be tried again.
    #[ts(type = "number")]
    pub failing_notifications: u64,
    /// The servers to which these notifications fail: the first ones by name, then the number of
    /// the others.
    pub failing_servers: Vec<String>,
    /// The number of payouts that API keys requested and that wait for approval.
    #[ts(type = "number")]
    pub offers_waiting: u64,
    /// The number of payouts that staff requested and that wait for approval.
    #[serde(default)]
    #[ts(type = "number")]
    pub own_offers_waiting: u64,
    /// The number of payouts in state QUEUED.
    #[ts(type = "number")]
    pub payouts_queued: u64,
    /// The reason why approved payouts wait, without a remedy; absent if they wait only for the
    /// next batch.
    pub sender_waits_for: Option<Telling>,
    /// The kind of `sender_waits_for`.
    pub sender_wait_cause: Option<WaitCause>,
    /// The reason why the sender is on hold, so that it signs nothing; absent if it is not on hold.
    pub sender_hold: Option<Telling>,
    /// The cause of the hold. `HOLD` and `HOLD_RESTORED` end when staff release the sender.
    /// `RESTORED` ends by itself, and `RESTORE_STOPPED` after staff continue the look.
    #[serde(default)]
    pub sender_hold_cause: Option<WaitCause>,
    /// The transactions of another copy of the wallet that caused the hold, the oldest first. Only
    /// the first ones are listed.
    #[serde(default)]
    pub sender_hold_transactions: Vec<TwinItem>,
    /// The number of all transactions that caused the hold.
    #[serde(default)]
    #[ts(type = "number")]
    pub sender_hold_transactions_count: u64,
    /// The balance of the wallet: the sum of the ledger.
    pub balance: BtcView,
    /// The first stuck payouts.
    #[serde(default)]
    pub stuck: Vec<StuckItem>,
    /// The number of all stuck payouts.
    #[serde(default)]
    #[ts(type = "number")]
    pub stuck_payouts: u64,
    /// The alarms about payouts that staff have not dismissed.
    #[serde(default)]
    pub alarms: Vec<AlarmItem>,
}

/// An exchange rate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
pub struct RateItem {
    /// The currency's ISO code.
    pub currency: String,
    /// The price of one Bitcoin in the currency.
    pub rate: String,
    /// Whether the rate is recent enough for new payments and payouts.
    pub fresh: bool,
    /// The rate for people: `64,210.55`.
    pub shown: String,
    /// Number of decimals of an amount in the currency: 2 for USD, 0 for JPY.
    #[serde(default)]
    pub decimals: u8,
}

/// A source of exchange rates.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct RateSourceItem {
    pub name: String,
    /// The time of its last answer, ISO 8601; absent if it has not answered since the start.
    pub answered_at: Option<String>,
    /// The age of that answer.
    #[ts(type = "number | null")]
    pub age_seconds: Option<u64>,
    /// The reason why the source did not answer when it was last asked; absent if it answered.
    pub error: Option<Telling>,
    /// When the source will be asked next, ISO 8601; absent if that is due now.
    pub next_at: Option<String>,
}

impl RateItem {
    /// The row's rate; `None` if no rate was ever known.
    fn from_row(row: &RatesRow) -> Option<Self> {
        let rate = row.rate?;
        Some(Self {
            currency: row.currency.code().to_owned(),
            rate: rate.format(),
            fresh: row.fresh_at.is_some(),
            shown: rate.show(),
            decimals: row.currency.minor_units(),
        })
    }
}

impl RateSourceItem {
    fn from_row(source: SourceRow, now: Timestamp) -> Self {
        let age_ms = source.answered_at.map(|at| now.ms().saturating_sub(at.ms()));
        Self {
            name: source.name.to_owned(),
            answered_at: source.answered_at.map(Timestamp::iso_seconds),
            age_seconds: age_ms.map(|ms| u64::try_from(ms / 1_000).unwrap_or(0)),
            error: source.failed,
            next_at: source.due_at.filter(|at| *at > now).map(Timestamp::iso_seconds),
        }
    }
}

impl Ask for Status {
    type Answer = StatusView;

    async fn answer(self, by: &Asker<'_>) -> Result<StatusView, CommandError> {
        let key_fault = by.app.notifier.keys.read_failure();
        StuckPayouts::learn_wanted_rate(by.gateway()).await;
        by.read(move |gateway, reader| status(gateway, reader, key_fault)).await
    }
}

fn status(
    gateway: &Gateway,
    reader: &Reader<'_>,
    key_fault: Option<Telling>,
) -> Result<StatusView, StoreError> {
    let watched = gateway.backend.last_look.status();
    let served = gateway.served.get();
    let now = gateway.time.now();
    let catching_up = watched.catching_up.map(|catching_up| catching_up.telling());
    let is_first = served.is_some() && !watched.has_looked;
    let catching_up = catching_up.or_else(|| is_first.then(|| FirstLook.telling()));
    let (rates, currencies) =
        (gateway.market.rates.rows(now), &gateway.settings.snapshot().currencies);
    let (sources, given_up) = (gateway.market.rates.source_rows(), reader.count_given_up()?);
    let seen = Seen {
        watched: &watched,
        sources: &sources,
        rates: &rates,
        currencies,
        key_fault,
        given_up,
    };
    let warnings = Warnings::collect(gateway, reader, seen)?;
    let failing = reader.failing_servers()?;
    let (waiting, hold) = (Waiting::load(gateway, reader)?, reader.sender_hold()?);
    let stuck = StuckPayouts::load(gateway, reader)?;
    let held_for = HeldFor::load(gateway, reader, hold.as_ref())?;
    let (offers_waiting, own_offers_waiting) = reader.offers_waiting_counts(now)?;
    Ok(StatusView {
        environment: gateway.environment.as_str().to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        serving: served.is_some(),
        api: served.map(|served| served.api.clone()),
        pages: served.map(|_| gateway.pages_base()),
        clock: now.iso_millis(),
        backend: BackendItem::from_gateway(gateway),
        chain_height: seen_height(&watched),
        chain_looked_at: watched.looked_at.map(|at| at.iso_millis()),
        chain_error: watched.error,
        payments_refused: gateway
            .backend
            .last_look
            .watched_lately(now)
            .err()
            .map(|error| error.telling()),
        catching_up,
        rates: rates.iter().filter_map(RateItem::from_row).collect(),
        rate_sources: sources
            .into_iter()
            .map(|source| RateSourceItem::from_row(source, now))
            .collect(),
        open_payments: reader.payments_count(&PaymentFilter::open())?,
        open_anomalies: reader.open_anomalies_count(None)?,
        waiting_notifications: reader.count_waiting_notifications()?,
        hmac_key: reader.hmac_key_id()?.is_some(),
        sandbox: gateway.backend.sandbox.is_some(),
        has_wallet: gateway.wallet.get().is_some(),
        is_backed_up: reader.last_backup(BackupState::Good)?.is_some(),
        secrets: gateway.machine.secrets.describe(),
        folder: gateway.machine.data_dir.path().display().to_string(),
        warnings: warnings.sentences,
        warning_kinds: warnings.kinds,
        given_up_notifications: given_up,
        currencies: currencies.iter().map(|one| one.code().to_owned()).collect(),
        open_reversals: reader.open_reversals_count()?,
        failing_notifications: failing.iter().map(|one| one.notifications).sum(),
        failing_servers: named(&failing),
        offers_waiting,
        own_offers_waiting,
        payouts_queued: payouts::queued(reader)?,
        sender_wait_cause: waiting.as_ref().map(|waiting| waiting.why.cause),
        sender_waits_for: waiting.map(|waiting| waiting.why.reason),
        sender_hold_cause: hold.as_ref().map(|hold| WaitCause::from(hold.cause)),
        sender_hold: hold.map(|hold| hold.reason),
        sender_hold_transactions: held_for.listed,
        sender_hold_transactions_count: held_for.count,
        balance: BtcView::from_signed_sats(reader.ledger_sats()?),
        stuck: stuck.named,
        stuck_payouts: stuck.count,
        alarms: alarms(reader)?,
    })
}

/// The height up to which the chain was looked at.
fn seen_height(watched: &WatchStatus) -> u32 {
    let caught_up = || watched.tip.map_or(0, |tip| tip.height);
    watched.catching_up.map_or_else(caught_up, |catching_up| catching_up.seen_height)
}

/// The hosts of at most [`SERVERS_NAMED`] servers, and the number of the others.
pub fn named(failing: &[FailingServer]) -> Vec<String> {
    let mut names: Vec<String> =
        failing.iter().take(SERVERS_NAMED).map(|one| host(&one.server).to_owned()).collect();
    let more = failing.len().saturating_sub(SERVERS_NAMED);
    if more > 0 {
        names.push(format!("{more} more"));
    }
    names
}

/// The host of a server, with its port if it is not the scheme's default.
pub fn host(server: &str) -> &str {
    let host = server.split_once("://").map_or(server, |(_, host)| host);
    host.strip_suffix(":443").or_else(|| host.strip_suffix(":80")).unwrap_or(host)
}

#[cfg(test)]
mod tests;
