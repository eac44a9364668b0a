//! Taking a view of the chain and finding the payments and coins that it affects. Blocks; writes nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bitcoin::{FeeRate, Txid};
use tillgate_domain::payment::Cause;
use tillgate_domain::time::Timestamp;

use super::WatchError;
use super::coins::Move;
use super::ours::Ours;
use crate::chain::{LookRequest, Tip, TxFacts, TxPosition, View};
use crate::gateway::Gateway;
use crate::store::chain::{Cursor, WatchedChain};
use crate::store::{Reader, StoreError};

/// Due payments in one look; those beyond have their turn in the next, the longest overdue first.
const DUE_MAX: u32 = 100_000;

/// Whoever is accepted without confirmation must pay for one within so many blocks.
const SOON_BLOCKS: u16 = 6;

/// What one look found.
pub(super) struct Findings {
    pub cursor: Cursor,
    pub tip: Tip,
    /// The view begins with the chain's first block.
    pub from_start: bool,
    /// The estimated rate for a confirmation soon, where a transaction waits for one.
    pub fee_rate: Option<FeeRate>,
    /// By number.
    pub payments: BTreeMap<i64, AffectedPayment>,
    /// What transactions do to our coins, but for what they pay to payments.
    pub moves: BTreeMap<Txid, Move>,
    /// Transactions of ours of which this chain knows nothing.
    pub unknown: Vec<Txid>,
}

/// Why a payment is computed afresh, and the transactions of it that moved.
#[derive(Debug)]
pub(super) struct AffectedPayment {
    pub cause: Cause,
    /// By id, in an order of no meaning.
    pub incoming: BTreeMap<Txid, IncomingTransaction>,
    /// Those of which this chain knows nothing.
    pub unknown: BTreeSet<Txid>,
}

/// What one transaction pays to one payment's address.
#[derive(Debug)]
pub(super) struct IncomingTransaction {
    pub facts: Arc<TxFacts>,
    pub derivation_index: u32,
    /// Output number and satoshis.
    pub outputs: Vec<(u32, u64)>,
}

/// Asks the backend for all that changed since the look `watched`, and the database for what is due.
pub(super) fn take(gateway: &Gateway, watched: Option<&WatchedChain>, at: Timestamp) -> Result<Findings, WatchError> {
    let chain = gateway.chain.identity()?;
    let cursor = watched.and_then(|watched| watched.cursor.as_ref());
    if let Some(Cursor { chain: known, .. }) = cursor
        && known.genesis != chain.genesis
    {
        return Err(WatchError::OtherNetwork { known: known.genesis, found: chain.genesis });
    }
    let token = cursor.filter(|cursor| cursor.chain == chain).map(|cursor| cursor.token.as_slice());
    let birth_height = gateway.store.read(|reader| reader.birth_height())?;
    let (mut view, ours) = first_view(gateway, token, birth_height)?;
    let from_start = view.from_start;
    let (mut payments, mut moves) = (BTreeMap::new(), BTreeMap::new());
    loop {
        ours.check()?;
        for facts in std::mem::take(&mut view.txs) {
            sort(&ours, facts, &mut payments, &mut moves)?;
        }
        if !view.more {
            break;
        }
        view = gateway.chain.look(&LookRequest { token: Some(&view.token), birth_height, watch: &ours })?;
    }
    let mut waiting = payments.values().flat_map(|affected| affected.incoming.values());
    let fee_rate = if waiting.any(|incoming| matches!(incoming.facts.position, TxPosition::Mempool { .. })) {
        Some(gateway.chain.fee_rate(SOON_BLOCKS)?)
    } else {
        None
    };
    gateway.store.read(|reader| {
        add_unknown(reader, &view.unknown, &mut payments)?;
        add_due(reader, at, view.tip.height, &mut payments)
    })?;
    let cursor = Cursor { chain, token: view.token };
    Ok(Findings { cursor, tip: view.tip, from_start, fee_rate, payments, moves, unknown: view.unknown })
}

/// The first answer of a look. One that begins with the chain's first block tells what becomes of all that we know.
fn first_view<'a>(
    gateway: &'a Gateway,
    token: Option<&[u8]>,
    birth_height: Option<u32>,
) -> Result<(View, Ours<'a>), WatchError> {
    let mut ours = Ours::new(gateway)?;
    if token.is_some() {
        let view = gateway.chain.look(&LookRequest { token, birth_height, watch: &ours })?;
        if !view.from_start {
            return Ok((view, ours));
        }
    }
    ours.expect_all_known()?;
    Ok((gateway.chain.look(&LookRequest { token: None, birth_height, watch: &ours })?, ours))
}

/// A later answer knows better: what it says of a transaction replaces what an earlier one said.
fn sort(
    ours: &Ours<'_>,
    facts: TxFacts,
    payments: &mut BTreeMap<i64, AffectedPayment>,
    moves: &mut BTreeMap<Txid, Move>,
) -> Result<(), StoreError> {
    let txid = facts.tx.compute_txid();
    let found = ours.of(&facts.tx, &txid)?;
    let facts = Arc::new(facts);
    for (seq, (derivation_index, outputs)) in found.payments {
        let incoming = IncomingTransaction { facts: Arc::clone(&facts), derivation_index, outputs };
        payments.entry(seq).or_insert_with(|| AffectedPayment::by(Cause::Chain)).incoming.insert(txid, incoming);
    }
    if !found.change.is_empty() || !found.spends.is_empty() {
        moves.insert(txid, Move { facts, change: found.change, spends: found.spends });
    }
    Ok(())
}

fn add_unknown(
    reader: &Reader<'_>,
    unknown: &[Txid],
    payments: &mut BTreeMap<i64, AffectedPayment>,
) -> Result<(), StoreError> {
    for txid in unknown {
        for seq in reader.payments_of_transaction(txid)? {
            payments.entry(seq).or_insert_with(|| AffectedPayment::by(Cause::Chain)).unknown.insert(*txid);
        }
    }
    Ok(())
}

fn add_due(
    reader: &Reader<'_>,
    at: Timestamp,
    tip_height: u32,
    payments: &mut BTreeMap<i64, AffectedPayment>,
) -> Result<(), StoreError> {
    for seq in reader.payments_due_by_height(tip_height, DUE_MAX)? {
        payments.entry(seq).or_insert_with(|| AffectedPayment::by(Cause::Chain));
    }
    for seq in reader.payments_due_by_time(at, DUE_MAX)? {
        payments.entry(seq).or_insert_with(|| AffectedPayment::by(Cause::Time));
    }
    Ok(())
}

impl Findings {
    /// Whether anything of ours moved or is due.
    pub(super) fn affects_us(&self) -> bool {
        !(self.payments.is_empty() && self.moves.is_empty() && self.unknown.is_empty())
    }
}

impl AffectedPayment {
    /// Affected without a transaction that moved.
    pub(super) fn by(cause: Cause) -> Self {
        Self { cause, incoming: BTreeMap::new(), unknown: BTreeSet::new() }
    }
}
