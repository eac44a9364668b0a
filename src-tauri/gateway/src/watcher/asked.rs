//! The scripts that a look asks about, for a backend that is shown no whole blocks: those that are due, those that matter now, and the
//! next of a round over all others that never ends. Reads; writes nothing.

use std::collections::{BTreeSet, HashMap};

use bitcoin::ScriptBuf;
use tillgate_domain::time::Timestamp;

use crate::chain::{HotScripts, KnownScripts, Scripts};
use crate::gateway::Gateway;
use crate::store::keychains::Keychain;
use crate::store::scripts::{RoundPart, RoundPlace, ScriptOf};
use crate::store::{Reader, StoreError};
use crate::wallet::Wallet;
use tillgate_domain::chain::Urgency;

use super::ahead::{NEAR, Turn};
use super::error::WatchError;
use super::ours::wait_until_known_ahead;
use super::settling::{Rests, Settling};

/// Payments that are due in one look at most; those beyond have their turn in the next, the longest overdue first.
const MUST_MAX: u32 = 1_000;

/// Scripts of the round over all that one look may take.
const COLD_MAX: usize = 100;

/// Rows that are read for these: most of a young shop's scripts are hot, and left out.
const COLD_READ_MAX: u32 = 1_000;

/// What came is settled after so many blocks: no reorganisation that is not a catastrophe takes it back.
pub(super) const SETTLED_AFTER: u32 = 10;

/// A payment that was made since then matters, whatever became of it: customers pay late, or twice.
const RECENT_MS: i64 = 24 * 3_600_000;

/// Indices of our change that matter though they were given.
const CHANGE_BEHIND: u32 = 50;

/// Indices of our change around the next one, and behind skipped ones: they show first that another copy of the wallet pays.
const CHANGES: u32 = 20;

/// What matters now is read again after so long: what is new is added as it is made.
const HOT_READ_EVERY_MS: i64 = 60_000;

/// The same where the looks since found something of ours.
const HOT_READ_EVERY_MS_WHEN_MOVED: i64 = 10_000;

/// What a look asks about.
pub(super) struct Asked {
    must: Vec<ScriptBuf>,
    /// Those on which pending batches rest, of which some must be asked about; `None` where other ones are.
    rests: Option<Rests>,
    cold: Vec<ScriptBuf>,
    /// Where the round stands before the first of `cold`, and after each.
    places: Vec<RoundPlace>,
    /// It came to its end with the last look.
    round_ended: bool,
    /// Whose turn is next of the scripts far ahead.
    turn: Turn,
}

/// The round over all scripts that do not matter now.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Round {
    /// How far it has come; `None` before the database was asked.
    place: Option<RoundPlace>,
    /// It came to its end with the last look, so that each script was asked about since it began.
    has_ended: bool,
    /// Whose turn is next of the scripts far ahead, which have a round of their own.
    turn: Turn,
}

/// When what matters now was last read.
#[derive(Debug, Default)]
pub(super) struct HotRead {
    at: Option<Timestamp>,
    has_moved: bool,
}

impl HotRead {
    /// Something of ours moved.
    pub(super) const fn note_move(&mut self) {
        self.has_moved = true;
    }

    /// Whether it is to be read again.
    pub(super) fn is_due(&self, now: Timestamp) -> bool {
        let every_ms = if self.has_moved { HOT_READ_EVERY_MS_WHEN_MOVED } else { HOT_READ_EVERY_MS };
        // A clock that was set back is no reason to wait for it.
        self.at.is_none_or(|at| now >= at.plus_ms(every_ms) || now < at)
    }

    /// Notes that it was read.
    pub(super) const fn note(&mut self, now: Timestamp) {
        *self = Self { at: Some(now), has_moved: false };
    }
}

impl Round {
    /// Notes where it stands behind a look that asked about it.
    pub(super) fn go_on(&mut self, place: RoundPlace, turn: Turn) {
        let went_on = self.place.is_some_and(|before| before != RoundPlace::START);
        *self = Self { place: Some(place), has_ended: went_on && place == RoundPlace::START, turn };
    }
}

impl Asked {
    /// Nothing: the backend sees all.
    pub(super) fn nothing() -> Self {
        Self {
            must: Vec::new(),
            rests: Some(Rests::default()),
            cold: Vec::new(),
            places: Vec::new(),
            round_ended: false,
            turn: Turn::default(),
        }
    }

    /// These, and nothing else: a restored wallet is looked for.
    pub(super) fn all_of(scripts: Vec<ScriptBuf>) -> Self {
        Self { must: scripts, rests: None, ..Self::nothing() }
    }

    /// What is due at `at` under the last tip, and the next of the round from where it stands.
    pub(super) fn read(
        gateway: &Gateway,
        at: Timestamp,
        round: Round,
        settling: &Settling,
    ) -> Result<Self, StoreError> {
        let place = round.place.map_or_else(|| gateway.store.read(|reader| reader.round_place()), Ok)?;
        let wallet = gateway.wallet.get().map(AsRef::as_ref);
        gateway.store.read(|reader| {
            let mut due = reader.payments_due_by_time(at, MUST_MAX)?;
            due.extend(reader.payments_due_by_height(reader.tip_height()?, MUST_MAX)?);
            let rests = rests(reader, wallet, settling.reads())?;
            // A few, and the sender waits for them.
            let mut must = gateway.to_sign.scripts();
            for seq in due {
                must.extend(reader.script_of_payment(seq)?);
            }
            must.extend(settling.to_ask(&rests));
            let skip = gateway.settings.snapshot().restore_skip;
            let (ahead, turn) = match wallet {
                Some(wallet) => round.turn.take(reader, wallet, skip, at)?,
                None => (Vec::new(), round.turn),
            };
            must.extend(ahead);
            dedup(&mut must);
            let (cold, places) = cold(reader, wallet, &gateway.hot, place)?;
            Ok(Self { must, rests: Some(rests), cold, places, round_ended: round.has_ended, turn })
        })
    }

    /// As the backend is asked.
    pub(super) fn scripts<'a>(&'a self, hot: &'a HotScripts, known: &'a dyn KnownScripts) -> Scripts<'a> {
        Scripts { must: &self.must, hot, cold: &self.cold, round_ended: self.round_ended, known }
    }

    /// The scripts on which pending batches rest; `None` where other ones are asked about.
    pub(super) const fn rests(&self) -> Option<&Rests> {
        self.rests.as_ref()
    }

    /// Whose turn is next of the scripts far ahead.
    pub(super) const fn turn(&self) -> Turn {
        self.turn
    }

    /// Where the round stands when so many of its scripts were taken.
    pub(super) fn place_after(&self, cold_taken: usize) -> Option<RoundPlace> {
        self.places.get(cold_taken).or(self.places.last()).copied()
    }
}

/// Reads anew which scripts matter now, as soon as all addresses ahead are known.
pub(super) fn read_hot(gateway: &Gateway, now: Timestamp) -> Result<(), WatchError> {
    wait_until_known_ahead(gateway)?;
    let mark = gateway.hot.mark();
    let wallet = gateway.wallet.get().map(AsRef::as_ref);
    let mut hot: HashMap<ScriptBuf, Urgency> = HashMap::new();
    gateway.store.read(|reader| {
        let settled_height = reader.tip_height()?.saturating_sub(SETTLED_AFTER);
        let coins = scripts(wallet, reader.hot_coins(settled_height)?);
        let next_change = reader.keychain(Keychain::Internal)?.map_or(0, |(_, next)| next);
        let mut ahead = wallet.map_or_else(Vec::new, |wallet| scripts_ahead(wallet, next_change));
        ahead.extend(scripts(wallet, next_changes(reader)?));
        let possible = coins.into_iter().chain(ahead).map(|script| (script, Urgency::Possible));
        for (script, urgency) in possible.chain(reader.hot_payments(settled_height, now.plus_ms(-RECENT_MS))?) {
            let known = hot.entry(script).or_insert(urgency);
            *known = urgency.min(*known);
        }
        Ok::<_, StoreError>(())
    })?;
    gateway.hot.replace(hot, mark);
    Ok(())
}

/// The wallet's scripts that nobody was given yet, or that our transactions make: another copy of the wallet may use them, and a
/// restored one finds itself by them.
fn scripts_ahead(wallet: &Wallet, next_change: u32) -> Vec<ScriptBuf> {
    let mut ahead = wallet.addresses.scripts_ahead();
    let change = next_change.saturating_sub(CHANGE_BEHIND)..next_change.saturating_add(NEAR);
    ahead.extend(wallet.change.known_within(&change));
    ahead
}

/// Indices to which another copy of the wallet sends its change now: the next ones, those that this copy gave lately, and those behind
/// skipped ones.
fn next_changes(reader: &Reader<'_>) -> Result<Vec<ScriptOf>, StoreError> {
    let next = reader.keychain(Keychain::Internal)?.map_or(0, |(_, next)| next);
    let mut indices: BTreeSet<u32> = (next.saturating_sub(CHANGES)..next.saturating_add(CHANGES)).collect();
    for behind in reader.ends_of_change()? {
        indices.extend(behind..behind.saturating_add(CHANGES));
    }
    Ok(indices.into_iter().map(|index| ScriptOf::Wallet(Keychain::Internal, index)).collect())
}

/// The scripts on which pending batches rest, as many as are to be read.
fn rests(reader: &Reader<'_>, wallet: Option<&Wallet>, reads: usize) -> Result<Rests, StoreError> {
    let mut of = reader.scripts_of_pending_batches(reads.saturating_add(1))?;
    let is_cut = of.len() > reads;
    of.truncate(reads);
    let scripts = of.into_iter().filter_map(|(batch, of)| Some((batch, script(wallet, of)?)));
    Ok(Rests { scripts: scripts.collect(), is_cut })
}

/// The scripts themselves; those of the wallet need one.
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
    // There is one at every index that was ever stored.
    match keychain {
        Keychain::External => wallet.addresses.script(index).ok(),
        Keychain::Internal => wallet.change.script(index).ok(),
    }
}

/// The next scripts of the round, without those that are hot, and where it stands before the first and after each. What is
/// passed over stands before the next that is not.
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
    // All that was read is behind: the end of a part, or a thousand that are hot.
    if let Some(last) = places.last_mut() {
        *last = if passed == place { next_part(place) } else { passed };
    }
    Ok((cold, places))
}

/// The scripts from a place on, within one part, each with the place behind it.
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
            let ranges = reader.skipped_addresses()?.into_iter().map(|(first, last)| first.max(place.next)..=last);
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
