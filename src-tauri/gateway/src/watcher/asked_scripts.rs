//! The scripts that a look asks about, for a backend that delivers no whole blocks. They are
//! required scripts (mainly of due payments and pending batches), hot scripts (on which
//! transactions are likely), and the next part of an endless round over all others. This module
//! writes nothing.

use std::collections::{BTreeSet, HashMap};

use bitcoin::ScriptBuf;
use tillgate_chain::{HotScripts, KnownScripts, Scripts};
use tillgate_domain::chain::Urgency;
use tillgate_domain::time::Timestamp;
use tillgate_store::keychains::Keychain;
use tillgate_store::scripts::{RoundPart, RoundPlace, ScriptOf};
use tillgate_store::{Reader, StoreError};

use super::batch_progress::{BatchProgress, PendingScripts};
use super::error::WatchError;
use super::lookahead::{LookaheadRound, NEAR};
use super::watch_list::wait_until_known_ahead;
use crate::gateway::Gateway;
use crate::wallet::Wallet;

/// Most due payments in one look. The longest overdue come first; later looks take the others.
const MUST_MAX: u32 = 1_000;

/// Most scripts of the round in one look.
const COLD_MAX: usize = 100;

/// Most rows read to find these scripts: hot ones are skipped, and most scripts of a young shop are
/// hot.
const COLD_READ_MAX: u32 = 1_000;

/// Confirmations after which a transaction counts as settled: only a catastrophic reorganisation is
/// deeper.
pub const SETTLED_AFTER: u32 = 10;

/// Payments younger than this are hot in any state: customers pay late, or twice.
const RECENT_MS: i64 = 24 * 3_600_000;

/// Used change indices that stay hot.
const CHANGE_BEHIND: u32 = 50;

/// Change indices watched on each side of the next index, and after each of the highest runs of
/// indices with coins. Another copy of the wallet uses these first.
const CHANGES: u32 = 20;

/// Interval for reading the hot scripts again; new ones are added as they are made.
const HOT_READ_EVERY_MS: i64 = 60_000;

/// The same interval after a look found a transaction of ours.
const HOT_READ_EVERY_MS_WHEN_MOVED: i64 = 10_000;

pub struct AskedScripts {
    /// Scripts that the look must ask about.
    required: Vec<ScriptBuf>,
    /// Scripts of pending batches, some of which are in `required`; `None` for the scan of a
    /// restored wallet.
    pending_scripts: Option<PendingScripts>,
    /// The next scripts of the round.
    cold: Vec<ScriptBuf>,
    /// Position of the round before the first script of `cold`, and after each script.
    places: Vec<RoundPlace>,
    /// Whether the round ended with the last look.
    round_ended: bool,
    lookahead: LookaheadRound,
}

/// The round over all scripts that are not hot.
#[derive(Debug, Clone, Copy, Default)]
pub struct Round {
    /// Position of the round; `None` before the database was read.
    place: Option<RoundPlace>,
    /// Whether the round ended with the last look, so that it has covered each script.
    has_ended: bool,
    /// Position of the separate round over the scripts far ahead.
    lookahead: LookaheadRound,
}

/// When the hot scripts were last read.
#[derive(Debug, Default)]
pub struct HotRead {
    at: Option<Timestamp>,
    has_moved: bool,
}

impl HotRead {
    pub const fn note_move(&mut self) {
        self.has_moved = true;
    }

    /// Whether the hot scripts must be read again.
    pub fn is_due(&self, now: Timestamp) -> bool {
        let every_ms =
            if self.has_moved { HOT_READ_EVERY_MS_WHEN_MOVED } else { HOT_READ_EVERY_MS };
        // After the clock was set back, the interval would last too long.
        self.at.is_none_or(|at| now >= at.plus_ms(every_ms) || now < at)
    }

    pub const fn note(&mut self, now: Timestamp) {
        *self = Self { at: Some(now), has_moved: false };
    }
}

impl Round {
    /// Notes the position of the round after a look.
    pub fn advance(&mut self, place: RoundPlace, lookahead: LookaheadRound) {
        let went_on = self.place.is_some_and(|before| before != RoundPlace::START);
        *self = Self {
            place: Some(place),
            has_ended: went_on && place == RoundPlace::START,
            lookahead,
        };
    }
}

impl AskedScripts {
    /// No scripts: the backend sees everything.
    pub fn nothing() -> Self {
        Self {
            required: Vec::new(),
            pending_scripts: Some(PendingScripts::default()),
            cold: Vec::new(),
            places: Vec::new(),
            round_ended: false,
            lookahead: LookaheadRound::default(),
        }
    }

    /// Only these scripts, for the scan of a restored wallet.
    pub fn all_of(scripts: Vec<ScriptBuf>) -> Self {
        Self { required: scripts, pending_scripts: None, ..Self::nothing() }
    }

    /// The scripts due at `at` under the last tip, and the next part of the round.
    pub fn load(
        gateway: &Gateway,
        at: Timestamp,
        round: Round,
        batch_progress: &BatchProgress,
    ) -> Result<Self, StoreError> {
        let place =
            round.place.map_or_else(|| gateway.store.read(|reader| reader.round_place()), Ok)?;
        let wallet = gateway.wallet.get();
        let wallet = wallet.as_deref();
        gateway.store.read(|reader| {
            let mut due = reader.payments_due_by_time(at, MUST_MAX)?;
            due.extend(reader.payments_due_by_height(reader.tip_height()?, MUST_MAX)?);
            let pending_scripts = pending_scripts(reader, wallet, batch_progress.reads())?;
            // The sender waits for these few scripts.
            let mut required = gateway.sending.to_sign.scripts();
            for seq in due {
                required.extend(reader.script_of_payment(seq)?);
            }
            required.extend(batch_progress.to_ask(&pending_scripts));
            let skip = gateway.settings.snapshot().restore_skip;
            let (ahead, lookahead) = match wallet {
                Some(wallet) => round.lookahead.take(reader, wallet, skip, at)?,
                None => (Vec::new(), round.lookahead),
            };
            required.extend(ahead);
            dedup(&mut required);
            let (cold, places) = cold(reader, wallet, &gateway.backend.hot, place)?;
            Ok(Self {
                required,
                pending_scripts: Some(pending_scripts),
                cold,
                places,
                round_ended: round.has_ended,
                lookahead,
            })
        })
    }

    /// The scripts as a part of the request to the backend.
    pub fn scripts<'a>(&'a self, hot: &'a HotScripts, known: &'a dyn KnownScripts) -> Scripts<'a> {
        Scripts {
            required: &self.required,
            hot,
            cold: &self.cold,
            round_ended: self.round_ended,
            known,
        }
    }

    pub const fn pending_scripts(&self) -> Option<&PendingScripts> {
        self.pending_scripts.as_ref()
    }

    pub const fn lookahead(&self) -> LookaheadRound {
        self.lookahead
    }

    pub fn place_after(&self, cold_taken: usize) -> Option<RoundPlace> {
        self.places.get(cold_taken).or(self.places.last()).copied()
    }
}

/// Reads the hot scripts again, once all addresses ahead are derived.
pub fn read_hot(gateway: &Gateway, now: Timestamp) -> Result<(), WatchError> {
    wait_until_known_ahead(&gateway.wallet)?;
    let mark = gateway.backend.hot.mark();
    let wallet = gateway.wallet.get();
    let wallet = wallet.as_deref();
    let mut hot: HashMap<ScriptBuf, Urgency> = HashMap::new();
    gateway.store.read(|reader| {
        let settled_height = reader.tip_height()?.saturating_sub(SETTLED_AFTER);
        let coins = scripts(wallet, reader.hot_coins(settled_height)?);
        let next_change = reader.keychain(Keychain::Internal)?.map_or(0, |(_, next)| next);
        let mut ahead = wallet.map_or_else(Vec::new, |wallet| scripts_ahead(wallet, next_change));
        ahead.extend(scripts(wallet, next_changes(reader)?));
        let possible = coins.into_iter().chain(ahead).map(|script| (script, Urgency::Possible));
        for (script, urgency) in
            possible.chain(reader.hot_payments(settled_height, now.plus_ms(-RECENT_MS))?)
        {
            let known = hot.entry(script).or_insert(urgency);
            *known = urgency.min(*known);
        }
        Ok::<_, StoreError>(())
    })?;
    gateway.backend.hot.replace(hot, mark);
    Ok(())
}

/// Change scripts near the next index, and addresses not given yet. Another copy of the wallet may
/// use them, and a restored wallet finds its coins by them.
fn scripts_ahead(wallet: &Wallet, next_change: u32) -> Vec<ScriptBuf> {
    let mut ahead = wallet.addresses.scripts_ahead();
    let change = next_change.saturating_sub(CHANGE_BEHIND)..next_change.saturating_add(NEAR);
    ahead.extend(wallet.change.known_within(&change));
    ahead
}

/// Change indices that another copy of the wallet may use next: those around this copy's next
/// index, and those after each of the highest runs of indices with coins.
fn next_changes(reader: &Reader<'_>) -> Result<Vec<ScriptOf>, StoreError> {
    let next = reader.keychain(Keychain::Internal)?.map_or(0, |(_, next)| next);
    let mut indices: BTreeSet<u32> =
        (next.saturating_sub(CHANGES)..next.saturating_add(CHANGES)).collect();
    for behind in reader.ends_of_change()? {
        indices.extend(behind..behind.saturating_add(CHANGES));
    }
    Ok(indices.into_iter().map(|index| ScriptOf::Wallet(Keychain::Internal, index)).collect())
}

/// At most `reads` scripts of pending batches.
fn pending_scripts(
    reader: &Reader<'_>,
    wallet: Option<&Wallet>,
    reads: usize,
) -> Result<PendingScripts, StoreError> {
    let mut of = reader.scripts_of_pending_batches(reads.saturating_add(1))?;
    let is_cut = of.len() > reads;
    of.truncate(reads);
    let scripts = of.into_iter().filter_map(|(batch, of)| Some((batch, script(wallet, of)?)));
    Ok(PendingScripts { scripts: scripts.collect(), is_cut })
}

/// Derives the scripts. Without the wallet, its scripts are left out.
fn scripts(wallet: Option<&Wallet>, of: Vec<ScriptOf>) -> Vec<ScriptBuf> {
    of.into_iter().filter_map(|of| script(wallet, of)).collect()
}

fn script(wallet: Option<&Wallet>, of: ScriptOf) -> Option<ScriptBuf> {
    match (of, wallet) {
        (ScriptOf::Payment(script), _) => Some(script),
        (ScriptOf::Wallet(keychain, index), Some(wallet)) => script_at(wallet, keychain, index),
        (ScriptOf::Wallet(..), None) => None,
    }
}

fn script_at(wallet: &Wallet, keychain: Keychain, index: u32) -> Option<ScriptBuf> {
    // Every stored index has a script, so `ok` hides no error.
    match keychain {
        Keychain::External => wallet.addresses.script(index).ok(),
        Keychain::Internal => wallet.change.script(index).ok(),
    }
}

/// The next scripts of the round that are not hot, with the position before the first and after
/// each.
fn cold(
    reader: &Reader<'_>,
    wallet: Option<&Wallet>,
    hot: &HotScripts,
    place: RoundPlace,
) -> Result<(Vec<ScriptBuf>, Vec<RoundPlace>), StoreError> {
    let (mut cold, mut places) = (Vec::new(), vec![place]);
    let mut passed = place;
    for (script, after) in next_of_round(reader, wallet, place)? {
        if cold.len() == COLD_MAX {
            return Ok((cold, places));
        }
        passed = after;
        if !hot.contains(&script) {
            cold.push(script);
            places.push(after);
        }
    }
    // All rows were taken or hot, so the round continues after the last. Without rows, this part of
    // the round is done.
    if let Some(last) = places.last_mut() {
        *last = if passed == place { next_part(place) } else { passed };
    }
    Ok((cold, places))
}

/// The scripts after a position within its part, each with the position after it.
fn next_of_round(
    reader: &Reader<'_>,
    wallet: Option<&Wallet>,
    place: RoundPlace,
) -> Result<Vec<(ScriptBuf, RoundPlace)>, StoreError> {
    let behind = |number: u32| RoundPlace { next: number.saturating_add(1), ..place };
    let of_indices = |keychain, indices: Vec<u32>| {
        let script = |index| Some((script_at(wallet?, keychain, index)?, behind(index)));
        indices.into_iter().take(COLD_MAX).filter_map(script).collect()
    };
    match place.part {
        RoundPart::Payments => {
            let rows = reader.payment_scripts_from(place.next, COLD_READ_MAX)?;
            Ok(rows.into_iter().map(|(seq, script)| (script, behind(seq))).collect())
        }
        RoundPart::Change => {
            let given = reader.keychain(Keychain::Internal)?.map_or(0, |(_, next)| next);
            Ok(of_indices(Keychain::Internal, (place.next..given).take(COLD_MAX).collect()))
        }
        RoundPart::Skipped => {
            let ranges = reader
                .skipped_addresses()?
                .into_iter()
                .map(|(first, last)| first.max(place.next)..=last);
            Ok(of_indices(Keychain::External, ranges.flatten().take(COLD_MAX).collect()))
        }
    }
}

const fn next_part(place: RoundPlace) -> RoundPlace {
    let part = match place.part {
        RoundPart::Payments => RoundPart::Change,
        RoundPart::Change => RoundPart::Skipped,
        RoundPart::Skipped => RoundPart::Payments,
    };
    RoundPlace { part, next: 0 }
}

fn dedup(scripts: &mut Vec<ScriptBuf>) {
    let mut seen = std::collections::HashSet::new();
    scripts.retain(|script| seen.insert(script.clone()));
}
