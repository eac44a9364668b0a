//! Taking a view of the chain and finding the payments and coins that it affects. Blocks; writes nothing.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use bitcoin::constants::genesis_block;
use bitcoin::{FeeRate, Network, ScriptBuf, Txid};
use tillgate_domain::checked_clock::{CheckedClock, ClockFault};
use tillgate_domain::payment::{Cause, Payment};
use tillgate_domain::restore::RestoreState;
use tillgate_domain::time::Timestamp;

use super::ahead::Turn;
use super::asked::{Asked, Round, SETTLED_AFTER};
use super::error::WatchError;
use super::ours::{Found, Ours};
use super::restored::{self, Asking, Scan};
use super::settling::{Rests, Settling};
use crate::chain::{
    ChainDown, Covered, Fact, Identity, LookRequest, ScriptState, Sees, Tip, TxFacts, TxPosition, View,
    height_of_reward,
};
use crate::gateway::{CatchingUp, Gateway, SOON_BLOCKS};
use crate::settlement::coins::Move;
use crate::settlement::payment::{AffectedPayment, IncomingTransaction};
use crate::store::chain::{Cursor, WatchedChain};
use crate::store::keychains::Keychain;
use crate::store::restore::Restore;
use crate::store::scripts::RoundPlace;
use crate::store::{Reader, StoreError};

/// Due payments in one look; those beyond have their turn in the next, the longest overdue first.
const DUE_MAX: u32 = 100_000;

/// What one look found, or a part of it.
pub(super) struct Findings {
    pub cursor: Cursor,
    pub tip: Tip,
    /// The blocks up to this height were looked at.
    pub seen_height: u32,
    /// What the times of blocks say of the clock, and against it; `None` where blocks come only when somebody makes them.
    pub clock: Option<(CheckedClock, Option<ClockFault>)>,
    /// The view begins with the first block that is looked at.
    pub from_start: bool,
    /// The restored copy that has not looked yet, as it stood when this answer was asked for.
    pub restore: Option<Restore>,
    /// What was asked for it, where the backend asks about single scripts.
    pub scan: Option<Asking>,
    /// Indices of a restored wallet of which the backend does not tell all.
    pub passed_by: Vec<(Keychain, u32)>,
    /// The backend has told of everything up to the best block, whatever it was asked about.
    pub covers_all: bool,
    /// The look is not at its end: this is to be stored, and the rest to be asked for.
    pub more: bool,
    /// The estimated rate for a confirmation soon, where a transaction waits for one.
    pub fee_rate: Option<FeeRate>,
    /// By number.
    pub payments: BTreeMap<i64, AffectedPayment>,
    /// What transactions do to our coins, but for what they pay to payments.
    pub moves: BTreeMap<Txid, Move>,
    /// Transactions of ours of which this chain knows nothing, or nothing yet.
    pub unknown: Vec<Txid>,
    /// The height up to which the blocks are those that were there at the last look; `None`: all.
    pub known_up_to: Option<u32>,
    /// What the backend is to remember of scripts.
    pub states: Vec<ScriptState>,
    /// How far the round over all scripts has come.
    pub place: Option<RoundPlace>,
    /// Whose turn is next of the scripts far ahead.
    pub turn: Turn,
    /// The scripts on which pending batches rest; `None` where other ones were asked about.
    pub rests: Option<Rests>,
    /// About which scripts all is known, and which the server refuses to tell.
    pub covered: Covered,
    pub refused: HashSet<ScriptBuf>,
}

/// What the answers of a look told so far of what is ours.
#[derive(Default)]
struct Told {
    /// By number.
    payments: BTreeMap<i64, AffectedPayment>,
    /// What transactions do to our coins otherwise.
    moves: BTreeMap<Txid, Move>,
    /// What the backend is to remember of scripts.
    states: Vec<ScriptState>,
}

/// Asks the backend for what changed since the look `watched`, as much as one answer holds, and with the last answer the
/// database for what is due. `choice` is the backend for which the look began; of any other nothing is taken. `round` is the one
/// over all scripts, `settling` what was told of pending batches.
pub(super) fn take(
    gateway: &Gateway,
    choice: u64,
    watched: Option<&WatchedChain>,
    at: Timestamp,
    (round, settling): (Round, &Settling),
    clock: CheckedClock,
) -> Result<Findings, WatchError> {
    let cursor = watched.and_then(|watched| watched.cursor.as_ref());
    let chain = identity(gateway, cursor)?;
    let (birth_height, restore) =
        gateway.store.read(|reader| Ok::<_, StoreError>((reader.birth_height()?, reader.dangerous_restore()?)))?;
    if restore.is_some_and(|restore| restore.state == RestoreState::Stopped) {
        return Err(WatchError::Stopped);
    }
    let begins_at_birth = restored::begins_at_birth(restore.as_ref());
    let token = cursor.filter(|cursor| cursor.chain == chain && !begins_at_birth).map(|cursor| cursor.token.as_slice());
    let scan = restore.as_ref().map(|restore| Scan::of(gateway, restore)).transpose()?.flatten();
    let asked = match &scan {
        Some(scan) => Asked::all_of(scan.scripts.clone()),
        None => asked(gateway, at, round, settling)?,
    };
    let (mut view, ours) = first_view(gateway, (token, birth_height), restore.is_some(), &asked)?;
    let tip_height = view.tip.height;
    if let Some(Restore { birth_height, .. }) = restore
        && birth_height > tip_height
    {
        return Err(WatchError::NotBorn { birth_height, tip_height });
    }
    let (from_start, left_above) = (view.from_start, view.left_above);
    let known_up_to = match (from_start, &restore, watched) {
        (false, ..) | (true, Some(_), None) => left_above,
        // It is the same chain, but for what may have been left since the copy was made.
        (true, Some(_), Some(watched)) => Some(watched.tip.height.saturating_sub(SETTLED_AFTER)),
        // Of another one nothing is known.
        (true, None, _) => Some(0),
    };
    ours.know_up_to(known_up_to);
    let mut told = Told::default();
    loop {
        if gateway.chain.choice() != choice {
            return Err(
                ChainDown("another one was set while it was asked; that one is asked from now on".to_owned()).into()
            );
        }
        ours.check()?;
        told.take(&ours, &mut view)?;
        // What another chain knows nothing of shows only at the end. All else is stored answer by answer.
        if !(view.more && ours.expects_known()) {
            break;
        }
        note_catching_up(gateway, &view, birth_height, restore.as_ref())?;
        let scripts = asked.scripts(&gateway.hot, &ours);
        view = gateway.chain.look(&LookRequest { token: Some(&view.token), birth_height, watch: &ours, scripts })?;
    }
    let unknown = gateway.store.read(|reader| told.unknown(reader, std::mem::take(&mut view.unknown), left_above))?;
    let Told { mut payments, moves, states } = told;
    let mut waiting = payments.values().flat_map(|affected: &AffectedPayment| affected.incoming.values());
    let fee_rate = if waiting.any(|incoming| matches!(incoming.facts.position, TxPosition::Mempool { .. })) {
        gateway.chain.fee_rate(SOON_BLOCKS)?
    } else {
        None
    };
    let is_regular = chain.genesis != genesis_block(Network::Regtest).block_hash();
    let clock = is_regular.then(|| {
        let mut clock = clock;
        let fault = clock.look(at, view.tip.time, view.median_time, gateway.rates.servers_ahead_ms(at));
        (clock, fault)
    });
    if !view.more {
        let may_close =
            |payment: &Payment| clock.is_none_or(|(clock, _)| clock.may_close(payment.told_first(), at, view.tip.time));
        gateway.store.read(|reader| {
            for (seq, affected) in &mut payments {
                affected.is_covered = is_covered(reader, *seq, &view.covered)?;
            }
            add_due(reader, at, view.tip.height, &view.covered, &may_close, &mut payments)
        })?;
    }
    Ok(Findings {
        cursor: Cursor { chain, token: view.token },
        tip: view.tip,
        seen_height: view.seen_height,
        clock,
        from_start,
        restore,
        passed_by: scan.as_ref().map_or_else(Vec::new, |scan| scan.passed_by(&view.refused)),
        scan: scan.map(|scan| scan.asking(&view.covered, &view.refused)),
        covers_all: !view.more && view.seen_height == view.tip.height && view.covered == Covered::Everything,
        more: view.more,
        fee_rate,
        payments,
        moves,
        unknown,
        known_up_to,
        states,
        // What a look that is cut off did not come to has its turn again.
        place: if view.more { None } else { asked.place_after(view.cold_taken) },
        turn: asked.turn(),
        rests: asked.rests().cloned(),
        covered: view.covered,
        refused: view.refused,
    })
}

/// Which chain the backend shows: one of the network that the database belongs to.
fn identity(gateway: &Gateway, cursor: Option<&Cursor>) -> Result<Identity, WatchError> {
    let found = gateway.chain.identity()?;
    match cursor {
        Some(Cursor { chain: known, .. }) if known.genesis != found.genesis => {
            Err(WatchError::OtherNetwork { known: known.genesis, found: found.genesis })
        }
        _ => Ok(found),
    }
}

/// What a backend is to ask about that is shown no whole blocks.
fn asked(gateway: &Gateway, at: Timestamp, round: Round, settling: &Settling) -> Result<Asked, StoreError> {
    match gateway.chain.sees() {
        Sees::Everything => Ok(Asked::nothing()),
        Sees::Scripts => Asked::read(gateway, at, round, settling),
    }
}

/// The first answer of a look. One that begins with the first block that is looked at tells what becomes of all that we know: a
/// backend that sees everything names what it does not know, and is asked once more for that; of another nothing is left of the
/// blocks that were seen.
fn first_view<'a>(
    gateway: &'a Gateway,
    (token, birth_height): (Option<&[u8]>, Option<u32>),
    is_restored: bool,
    asked: &Asked,
) -> Result<(View, Ours<'a>), WatchError> {
    let mut ours = Ours::new(gateway)?;
    let sees_everything = gateway.chain.sees() == Sees::Everything;
    let look = |ours: &Ours<'_>| {
        let scripts = asked.scripts(&gateway.hot, ours);
        gateway.chain.look(&LookRequest { token, birth_height, watch: ours, scripts })
    };
    let mut begun = None;
    if token.is_some() {
        let view = look(&ours)?;
        if !view.from_start {
            return Ok((view, ours));
        }
        begun = Some(view);
    }
    ours.begin_anew();
    if !sees_everything {
        let view = begun.map_or_else(|| look(&ours), Ok)?;
        // A restored copy's chain is the one before: what became of what it knows is told script by script.
        let left_above = if is_restored { view.left_above } else { Some(0) };
        return Ok((View { left_above, ..view }, ours));
    }
    ours.expect_all_known()?;
    // With the same token: it may not show less work than was seen.
    let view = look(&ours)?;
    if view.from_start {
        return Ok((view, ours));
    }
    Err(ChainDown("it told another chain, and then the one before: the next look makes up for it".to_owned()).into())
}

/// No block but its own can hold a block's reward. One that stands in no block is ruled out by the block that has its
/// place in the chain, as a transaction is by one that spends its inputs; back with its block, it is as it was.
fn with_lost_reward(facts: TxFacts, tip: &Tip) -> TxFacts {
    if facts.position != TxPosition::Absent || !facts.tx.is_coinbase() {
        return facts;
    }
    let conflict_height = height_of_reward(&facts.tx);
    if conflict_height.is_some_and(|height| height > tip.height) {
        return facts;
    }
    TxFacts { conflict_in_chain: Fact::Yes, conflict_height, ..facts }
}

/// Says how far a look has come that goes on without being stored; a restored copy's may have been stopped.
fn note_catching_up(
    gateway: &Gateway,
    view: &View,
    birth_height: Option<u32>,
    restore: Option<&Restore>,
) -> Result<(), WatchError> {
    if restore.is_some() {
        restored::goes_on(gateway)?;
    }
    gateway.last_look.note_catching_up(CatchingUp {
        from_height: birth_height.unwrap_or(0),
        seen_height: view.seen_height,
        tip_height: view.tip.height,
        restored_at: restore.map(|restore| restore.begun_at),
    });
    gateway.note_change();
    Ok(())
}

impl Told {
    /// Takes what an answer tells. A later one knows better: what it says of a transaction replaces what an earlier one said.
    fn take(&mut self, ours: &Ours<'_>, view: &mut View) -> Result<(), StoreError> {
        for facts in std::mem::take(&mut view.txs) {
            let facts = with_lost_reward(facts, &view.tip);
            let txid = facts.tx.compute_txid();
            let found = ours.of(&facts, &txid)?;
            let facts = Arc::new(facts);
            let moves_coins = found.moves_coins();
            let Found { payments, change, spends, .. } = found;
            for (seq, (derivation_index, outputs)) in payments {
                let incoming = IncomingTransaction { facts: Arc::clone(&facts), derivation_index, outputs };
                let affected = self.payments.entry(seq).or_insert_with(|| AffectedPayment::by(Cause::Chain));
                affected.incoming.insert(txid, incoming);
            }
            if moves_coins {
                self.moves.insert(txid, Move { facts, change, spends });
            }
        }
        self.states.append(&mut view.states);
        Ok(())
    }

    /// All transactions of ours of which this chain knows nothing, or nothing yet; the payments that they pay are computed
    /// afresh. Beside those that the backend names, `unknown`, it is what was seen in blocks above a height that are not in the
    /// chain any more, or was ruled out by one of them, but for what was told: no block is known to hold it, or what rules it out,
    /// until a later answer tells where it is. Without that, either would go on gaining confirmations where that answer never comes:
    /// it is lost with what the backend remembers, or the server does not tell of the script.
    fn unknown(
        &mut self,
        reader: &Reader<'_>,
        mut unknown: Vec<Txid>,
        left_above: Option<u32>,
    ) -> Result<Vec<Txid>, StoreError> {
        if let Some(height) = left_above {
            let mut seen = reader.transactions_decided_above(height)?;
            seen.retain(|txid| !self.tells_of(txid));
            unknown.append(&mut seen);
        }
        for txid in &unknown {
            for seq in reader.payments_of_transaction(txid)? {
                let affected = self.payments.entry(seq).or_insert_with(|| AffectedPayment::by(Cause::Chain));
                affected.unknown.insert(*txid);
            }
        }
        Ok(unknown)
    }

    fn tells_of(&self, txid: &Txid) -> bool {
        self.moves.contains_key(txid) || self.payments.values().any(|affected| affected.incoming.contains_key(txid))
    }
}

fn add_due(
    reader: &Reader<'_>,
    at: Timestamp,
    tip_height: u32,
    covered: &Covered,
    may_close: &dyn Fn(&Payment) -> bool,
    payments: &mut BTreeMap<i64, AffectedPayment>,
) -> Result<(), StoreError> {
    let by_height = reader.payments_due_by_height(tip_height, DUE_MAX)?.into_iter().map(|seq| (seq, Cause::Chain));
    let by_time = reader.payments_due_by_time(at, DUE_MAX)?.into_iter().map(|seq| (seq, Cause::Time));
    for (seq, cause) in by_height.chain(by_time) {
        // What nobody asked about, and what a clock would close that is distrusted, stays as it is: late, and not wrong.
        if payments.contains_key(&seq) || !is_covered(reader, seq, covered)? {
            continue;
        }
        let is_put_off = match cause {
            Cause::Time => {
                let row = reader.payment_by_seq(seq)?;
                row.is_some_and(|row| {
                    row.payment.closed_at.is_none() && at > row.payment.expires_at && !may_close(&row.payment)
                })
            }
            Cause::Chain | Cause::Staff => false,
        };
        if !is_put_off {
            payments.insert(seq, AffectedPayment::by(cause));
        }
    }
    Ok(())
}

/// Whether all is known that came to a payment's address.
fn is_covered(reader: &Reader<'_>, seq: i64, covered: &Covered) -> Result<bool, StoreError> {
    match covered {
        Covered::Everything => Ok(true),
        Covered::Scripts(_) => Ok(reader.script_of_payment(seq)?.is_some_and(|script| covered.holds(&script))),
    }
}

impl Findings {
    /// Whether anything of ours moved or is due.
    pub(super) fn affects_us(&self) -> bool {
        !(self.payments.is_empty() && self.moves.is_empty() && self.unknown.is_empty())
    }

    /// Whether something is to be noted all the same: of scripts, or how far a restored wallet was looked for.
    pub(super) fn is_to_be_noted(&self) -> bool {
        !self.states.is_empty() || self.restore.is_some()
    }

    /// When the copy was restored for which all blocks since its birth are read.
    pub(super) fn restored_at(&self) -> Option<Timestamp> {
        self.restore.filter(|_| self.scan.is_none()).map(|restore| restore.begun_at)
    }
}
