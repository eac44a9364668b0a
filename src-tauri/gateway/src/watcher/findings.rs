//! Takes a view of the chain and finds the affected payments and coins. The calls block the thread
//! and write nothing.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use tillgate_chain::Chain;

use bitcoin::{OutPoint, ScriptBuf, Txid};
use tillgate_chain::{
    ChainDown, Covered, Identity, LookAnswer, LookRequest, ScriptState, Sees, Tip, TxPosition,
};
use tillgate_domain::advance::ZeroConf;
use tillgate_domain::closing::{Closing, Doubts, Seen};
use tillgate_domain::id::Id;
use tillgate_domain::payment::{Cause, Payment};
use tillgate_domain::restore::RestoreState;
use tillgate_domain::time::Timestamp;
use tillgate_store::chain::{Cursor, WatchedChain};
use tillgate_store::keychains::Keychain;
use tillgate_store::other_type::OtherCoin;
use tillgate_store::restore::Restore;
use tillgate_store::scripts::RoundPlace;
use tillgate_store::{Reader, StoreError};

use super::asked_scripts::{AskedScripts, Round, SETTLED_AFTER};
use super::batch_progress::{BatchProgress, PendingScripts};
use super::error::WatchError;
use super::lookahead::LookaheadRound;
use super::reorg;
use super::restored::{self, Scan, ScanProgress};
use super::watch_list::{OurParts, OurTransactions};
use crate::gateway::{CatchingUp, Gateway, SOON_BLOCKS};
use crate::settlement::coins::CoinMove;
use crate::settlement::payment::{AffectedPayment, IncomingTransaction};

/// Most due payments in one look. The longest overdue come first; later looks take the others.
const DUE_MAX: u32 = 100_000;

/// The result of one look, or of a part of it.
pub struct Findings {
    pub cursor: Cursor,
    pub tip: Tip,
    /// Height of the last block looked at.
    pub seen_height: u32,
    /// The evidence so far on whether looks may close payments, and its doubts; `None` on a regtest
    /// chain.
    pub closing: Option<(Closing, Doubts)>,
    /// Whether the view starts at the wallet's birth.
    pub from_start: bool,
    /// The restored copy still to be scanned, as it was when this answer was requested.
    pub restore: Option<Restore>,
    /// Progress of the scan, for a backend that is asked about scripts.
    pub scan: Option<ScanProgress>,
    /// Indices of a restored wallet whose scripts the backend refuses to report in full.
    pub skipped: Vec<(Keychain, u32)>,
    /// Whether the backend has reported everything up to the best block, for any script.
    pub covers_all: bool,
    /// Whether more answers follow after this part is stored.
    pub more: bool,
    pub zero_conf: ZeroConf,
    /// Affected payments, by `seq`.
    pub payments: BTreeMap<i64, AffectedPayment>,
    /// Effects of transactions on our coins, except outputs to payments.
    pub moves: BTreeMap<Txid, CoinMove>,
    /// Coins at the other address type that a restore looks at, and spends of such coins.
    pub others: Vec<OtherCoin>,
    pub other_spends: Vec<OutPoint>,
    /// Transactions of ours that this chain does not know, or not yet.
    pub unknown: Vec<Txid>,
    /// Blocks up to this height are unchanged since the last look; `None`: all blocks.
    pub known_up_to: Option<u32>,
    /// Script states to store for the backend.
    pub states: Vec<ScriptState>,
    /// Position of the round over all scripts after this look.
    pub place: Option<RoundPlace>,
    pub lookahead: LookaheadRound,
    pub pending_scripts: Option<PendingScripts>,
    /// Scripts with a complete history; `refused` holds those that the server refuses to report.
    pub covered: Covered,
    pub refused: HashSet<ScriptBuf>,
    /// The payments with such scripts, in the last answer of a look.
    pub unreported: Vec<Id>,
}

/// Effects of the answers so far on our payments and coins.
#[derive(Default)]
struct Effects {
    /// Affected payments, by `seq`.
    payments: BTreeMap<i64, AffectedPayment>,
    /// Effects of transactions on our coins, except outputs to payments.
    moves: BTreeMap<Txid, CoinMove>,
    others: Vec<OtherCoin>,
    other_spends: Vec<OutPoint>,
    states: Vec<ScriptState>,
}

/// The state from which a look asks for changes.
pub struct LookStart {
    pub at: Timestamp,
    /// Whether a notice of the backend woke the watcher for this look.
    pub is_woken: bool,
    /// The chain as the last look left it.
    pub watched: Option<WatchedChain>,
    /// The backend's generation when its scripts were read: a look fails if it was replaced since.
    pub generation: u64,
    /// The round over all scripts.
    pub round: Round,
    pub batch_progress: BatchProgress,
    pub closing: Closing,
}

/// Asks the backend for the changes since `start`, as many as one answer holds. After the last
/// answer, it also reads due payments from the database.
pub fn take(gateway: &Gateway, start: &LookStart) -> Result<Findings, WatchError> {
    let at = start.at;
    let watched = start.watched.as_ref();
    let cursor = watched.map(|watched| &watched.cursor);
    let chain = identity(gateway.backend.chain.as_ref(), cursor)?;
    let (birth_height, restore) = gateway.store.read(|reader| {
        Ok::<_, StoreError>((reader.birth_height()?, reader.dangerous_restore()?))
    })?;
    if restore.is_some_and(|restore| restore.state == RestoreState::Stopped) {
        return Err(WatchError::Stopped);
    }
    if restore.is_some() {
        restored::follow_type(gateway)?;
    }
    let begins_at_birth = restored::begins_at_birth(restore.as_ref());
    let token = cursor
        .filter(|cursor| cursor.chain == chain && !begins_at_birth)
        .map(|cursor| cursor.token.as_slice());
    let scan = restore.as_ref().map(|restore| Scan::load(gateway, restore)).transpose()?.flatten();
    let asked = match &scan {
        Some(scan) => AskedScripts::all_of(scan.scripts()),
        None => asked(gateway, start)?,
    };
    let look = |token: Option<&[u8]>, ours: &OurTransactions<'_>| {
        gateway.backend.chain.look(&LookRequest {
            token,
            birth_height,
            watch: ours,
            scripts: asked.scripts(&gateway.backend.hot, ours),
            is_woken: start.is_woken,
        })
    };
    let (mut view, ours) = first_view(gateway, token, restore.is_some(), look)?;
    let tip_height = view.tip.height;
    if let Some(Restore { birth_height, .. }) = restore
        && birth_height > tip_height
    {
        return Err(WatchError::NotBorn { birth_height, tip_height });
    }
    // The restored database knows a higher block of this chain than the backend.
    if begins_at_birth
        && let Some(watched) = watched
        && watched.cursor.chain == chain
        && watched.tip.height > tip_height
    {
        return Err(WatchError::BehindBackup { known_height: watched.tip.height, tip_height });
    }
    let (from_start, left_above) = (view.from_start, view.left_above);
    let known_up_to = match (from_start, &restore, watched) {
        (false, ..) | (true, Some(_), None) => left_above,
        // The chain is the same, except for blocks removed since the copy was made.
        (true, Some(_), Some(watched)) => Some(watched.tip.height.saturating_sub(SETTLED_AFTER)),
        // On another chain, no block is known.
        (true, None, _) => Some(0),
    };
    ours.know_up_to(known_up_to);
    let mut effects = Effects::default();
    loop {
        if gateway.backend.chain.generation() != start.generation {
            return Err(ChainDown::of_text(
                "it was replaced in the settings during the look".to_owned(),
            )
            .into());
        }
        ours.check()?;
        effects.take(&ours, &mut view)?;
        // After a change of chain, only the last answer shows which transactions are unknown. All
        // other looks are stored answer by answer.
        if !(view.more && ours.expects_known()) {
            break;
        }
        note_catching_up(gateway, &view, birth_height, restore.as_ref())?;
        view = look(Some(&view.token), &ours)?;
    }
    let unknown = gateway
        .store
        .read(|reader| effects.unknown(reader, std::mem::take(&mut view.unknown), left_above))?;
    let Effects { mut payments, moves, others, other_spends, states } = effects;
    let closing = (!chain.is_regtest()).then(|| {
        let mut closing = start.closing;
        let doubts = closing.look(&Seen {
            at,
            tip_time: view.tip.time,
            median_time: view.median_time,
            servers_ahead_ms: gateway.market.rates.servers_ahead_ms(at),
            cut_off: gateway.backend.chain.cut_off(),
        });
        (closing, doubts)
    });
    let mut zero_conf = ZeroConf::NotAsked;
    if !view.more {
        let may_close = |payment: &Payment| {
            closing.is_none_or(|(closing, _)| closing.may_close(payment, at, view.tip.time))
        };
        let needs_estimate = gateway.store.read(|reader| {
            for (seq, affected) in &mut payments {
                affected.is_covered = is_covered(reader, *seq, &view.covered)?;
            }
            add_due(reader, at, view.tip.height, &view.covered, &may_close, &mut payments)
        })?;
        if needs_estimate {
            let hears = closing.is_none_or(|(closing, _)| closing.hears(at));
            zero_conf =
                if hears { accepted_rate(gateway.backend.chain.as_ref()) } else { ZeroConf::Never };
        }
    }
    let unreported = if view.more {
        Vec::new()
    } else {
        gateway.store.read(|reader| unreported(reader, &view.refused))?
    };
    Ok(Findings {
        cursor: Cursor { chain, token: view.token },
        tip: view.tip,
        seen_height: view.seen_height,
        closing,
        from_start,
        restore,
        skipped: scan.as_ref().map_or_else(Vec::new, |scan| scan.skipped(&view.refused)),
        scan: scan.map(|scan| scan.progress(&view.covered, &view.refused)),
        covers_all: !view.more
            && view.seen_height == view.tip.height
            && view.covered == Covered::Everything,
        more: view.more,
        zero_conf,
        payments,
        moves,
        others,
        other_spends,
        unknown,
        known_up_to,
        states,
        // An incomplete look does not advance the round, so no script misses its turn.
        place: if view.more { None } else { asked.place_after(view.cold_taken) },
        lookahead: asked.lookahead(),
        pending_scripts: asked.pending_scripts().cloned(),
        covered: view.covered,
        refused: view.refused,
        unreported,
    })
}

/// The fee rate from which transactions are accepted unconfirmed: the estimate for [`SOON_BLOCKS`].
/// The shop is told of an arrival before this question, and even if it has no answer.
fn accepted_rate(chain: &dyn Chain) -> ZeroConf {
    let rates = chain.fee_rates(SOON_BLOCKS);
    let rates = rates.inspect_err(|error| tracing::debug!(%error, "no estimate of the fee rate"));
    rates.ok().and_then(|rates| rates.estimate).map_or(ZeroConf::Never, ZeroConf::From)
}

/// The chain of the backend, which must be on the database's network.
fn identity(chain: &dyn Chain, cursor: Option<&Cursor>) -> Result<Identity, WatchError> {
    let found = chain.identity()?;
    match cursor {
        Some(Cursor { chain: known, .. }) if known.genesis != found.genesis => {
            Err(WatchError::OtherNetwork { known: known.genesis, found: found.genesis })
        }
        _ => Ok(found),
    }
}

/// The scripts to ask about, for a backend that delivers no whole blocks.
fn asked(gateway: &Gateway, start: &LookStart) -> Result<AskedScripts, StoreError> {
    match gateway.backend.chain.sees() {
        Sees::Everything => Ok(AskedScripts::nothing()),
        Sees::Scripts => AskedScripts::load(gateway, start.at, start.round, &start.batch_progress),
    }
}

/// The first answer of a look. If it starts at the wallet's birth, the positions of all known
/// transactions are outdated. A backend that sees everything is then asked again, and names the
/// transactions that it does not know. With any other backend, all blocks seen before count as
/// removed.
fn first_view<'a>(
    gateway: &'a Gateway,
    token: Option<&[u8]>,
    is_restored: bool,
    look: impl Fn(Option<&[u8]>, &OurTransactions<'_>) -> Result<LookAnswer, ChainDown>,
) -> Result<(LookAnswer, OurTransactions<'a>), WatchError> {
    let mut ours = OurTransactions::new(gateway)?;
    let sees_everything = gateway.backend.chain.sees() == Sees::Everything;
    let mut begun = None;
    if token.is_some() {
        let view = look(token, &ours)?;
        if !view.from_start {
            return Ok((view, ours));
        }
        begun = Some(view);
    }
    ours.begin_anew();
    if !sees_everything {
        let view = begun.map_or_else(|| look(token, &ours), Ok)?;
        // A restored copy stays on the same chain. The positions of its transactions are reported
        // script by script.
        let left_above = if is_restored { view.left_above } else { Some(0) };
        return Ok((LookAnswer { left_above, ..view }, ours));
    }
    ours.expect_all_known()?;
    // With the same token the backend refuses a chain with less work.
    let view = look(token, &ours)?;
    if view.from_start {
        return Ok((view, ours));
    }
    Err(ChainDown::of_text(
        "it reported another chain, and then the earlier one: the next look asks again".to_owned(),
    )
    .into())
}

/// Reports the progress of a look that continues without being stored. Fails if staff stopped a
/// restored copy's scan.
fn note_catching_up(
    gateway: &Gateway,
    view: &LookAnswer,
    birth_height: Option<u32>,
    restore: Option<&Restore>,
) -> Result<(), WatchError> {
    if restore.is_some() {
        restored::check_not_stopped(&gateway.store)?;
    }
    gateway.backend.last_look.note_catching_up(CatchingUp {
        from_height: birth_height.unwrap_or(0),
        seen_height: view.seen_height,
        tip_height: view.tip.height,
        restored_at: restore.map(|restore| restore.begun_at),
    });
    gateway.signals.note_change();
    Ok(())
}

impl Effects {
    /// Adds the facts of an answer. Facts about a transaction replace those of an earlier answer.
    fn take(
        &mut self,
        ours: &OurTransactions<'_>,
        view: &mut LookAnswer,
    ) -> Result<(), StoreError> {
        for facts in std::mem::take(&mut view.txs) {
            let facts = reorg::with_lost_reward(facts, &view.tip);
            let txid = facts.tx.compute_txid();
            let found = ours.parts_of(&facts, &txid)?;
            let facts = Arc::new(facts);
            let moves_coins = found.moves_coins();
            let OurParts { payments, change, spends, others, other_spends, .. } = found;
            // A server may invent a transaction that is in no block, and coins of the other type
            // decide for good.
            if matches!(facts.position, TxPosition::Block { .. }) {
                self.others.extend(others);
                self.other_spends.extend(other_spends);
            }
            for (seq, (derivation_index, outputs)) in payments {
                let incoming =
                    IncomingTransaction { facts: Arc::clone(&facts), derivation_index, outputs };
                let affected =
                    self.payments.entry(seq).or_insert_with(|| AffectedPayment::by(Cause::Chain));
                affected.incoming.insert(txid, incoming);
            }
            if moves_coins {
                self.moves.insert(txid, CoinMove { facts, change, spends });
            }
        }
        self.states.append(&mut view.states);
        Ok(())
    }

    /// Collects our transactions that this chain does not know, or not yet, and marks their
    /// payments as affected. The backend names some of them, `unknown`. A reorganisation removed
    /// the blocks of the others, which are above `left_above`.
    fn unknown(
        &mut self,
        reader: &Reader<'_>,
        mut unknown: Vec<Txid>,
        left_above: Option<u32>,
    ) -> Result<Vec<Txid>, StoreError> {
        if let Some(height) = left_above {
            unknown.extend(reorg::unmined(reader, height, |txid| self.reports(txid))?);
        }
        for txid in &unknown {
            for seq in reader.payments_of_transaction(txid)? {
                let affected =
                    self.payments.entry(seq).or_insert_with(|| AffectedPayment::by(Cause::Chain));
                affected.unknown.insert(*txid);
            }
        }
        Ok(unknown)
    }

    fn reports(&self, txid: &Txid) -> bool {
        self.moves.contains_key(txid)
            || self.payments.values().any(|affected| affected.incoming.contains_key(txid))
    }
}

/// Adds the payments that are due. Returns whether some of them may be accepted unconfirmed.
fn add_due(
    reader: &Reader<'_>,
    at: Timestamp,
    tip_height: u32,
    covered: &Covered,
    may_close: &dyn Fn(&Payment) -> bool,
    payments: &mut BTreeMap<i64, AffectedPayment>,
) -> Result<bool, StoreError> {
    let mut needs_estimate = false;
    let by_height = reader
        .payments_due_by_height(tip_height, DUE_MAX)?
        .into_iter()
        .map(|seq| (seq, Cause::Chain));
    let by_time =
        reader.payments_due_by_time(at, DUE_MAX)?.into_iter().map(|seq| (seq, Cause::Time));
    for (seq, mut cause) in by_height.chain(by_time) {
        // A payment stays unchanged if its script is not covered, or if it is due only by a
        // distrusted clock.
        if payments.contains_key(&seq) || !is_covered(reader, seq, covered)? {
            continue;
        }
        if cause == Cause::Time
            && let Some(payment) = reader.payment_by_seq(seq)?.map(|row| row.payment)
        {
            needs_estimate |= payment.may_be_accepted_unconfirmed();
            if payment.closed_at.is_none() && at > payment.expires_at {
                if !may_close(&payment) {
                    continue;
                }
                if payment.is_cancelled() {
                    cause = Cause::Staff;
                }
            }
        }
        payments.insert(seq, AffectedPayment::by(cause));
    }
    Ok(needs_estimate)
}

/// The payments to which these scripts belong.
fn unreported(reader: &Reader<'_>, refused: &HashSet<ScriptBuf>) -> Result<Vec<Id>, StoreError> {
    let mut payments = Vec::new();
    for script in refused {
        if let Some((seq, _)) = reader.payment_of_script(script)? {
            payments.extend(reader.payment_by_seq(seq)?.map(|row| row.payment.id));
        }
    }
    payments.sort_unstable();
    Ok(payments)
}

/// Whether everything that came to a payment's address is known.
fn is_covered(reader: &Reader<'_>, seq: i64, covered: &Covered) -> Result<bool, StoreError> {
    match covered {
        Covered::Everything => Ok(true),
        Covered::Scripts(_) => {
            Ok(reader.script_of_payment(seq)?.is_some_and(|script| covered.holds(&script)))
        }
    }
}

impl Findings {
    /// Whether a transaction of ours moved or a payment is due.
    pub fn affects_us(&self) -> bool {
        !(self.payments.is_empty() && self.moves.is_empty() && self.unknown.is_empty())
    }

    /// Whether script states, or the progress of a scan, must be stored.
    pub fn is_to_be_noted(&self) -> bool {
        !self.states.is_empty() || self.restore.is_some()
    }

    /// Time of the restore, if this look scans whole blocks for it.
    pub fn restored_at(&self) -> Option<Timestamp> {
        self.restore.filter(|_| self.scan.is_none()).map(|restore| restore.begun_at)
    }
}
