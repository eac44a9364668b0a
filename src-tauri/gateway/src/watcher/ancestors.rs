//! Keeps transactions of others that are ancestors of our transactions. A node that dropped the
//! whole package accepts our transaction again only together with its ancestors.
//!
//! Ancestors in no block, or in a block that a reorganisation may still remove, are requested once.
//! They are kept until the descendant is settled. Requests run after the look, outside database
//! transactions. A missing answer does not fail the look, and the request is repeated after the
//! next block.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;
use tillgate_store::Store;

use bitcoin::hashes::Hash as _;
use bitcoin::{BlockHash, Transaction, Txid};
use tillgate_chain::{ChainDown, Fact, RecentTransactions, Tip, TxFacts, TxPosition};
use tillgate_domain::batch::Position;
use tillgate_store::{Reader, StoreError, Tx};
use tokio::time::Instant;

use super::asked_scripts::SETTLED_AFTER;
use super::error::WatchError;
use super::findings::Findings;
use super::watch_list::FOLLOWED_FOR_MS;
use crate::gateway::Gateway;

/// Most ancestors of one transaction. Nodes accept clusters of 64 unconfirmed transactions; Bitcoin
/// Core before 31.0 accepts 25.
const ANCESTORS_MAX: usize = 63;

/// Most bytes of the ancestors of one transaction: nodes relay packages up to 101 kvB, and a vB is
/// at most four bytes.
const BYTES_MAX: usize = 404_000;

/// Most transactions whose ancestors are requested after one look.
const ASKED_MAX: usize = 20;

/// Most parents in one request. Nodes relay transactions up to 400 kB, so an answer has at most 20
/// MB.
const PARENTS_MAX: usize = 50;

/// Bytes in memory from which no further generation is requested after one look.
const HELD_MAX: usize = ASKED_MAX * BYTES_MAX;

/// Looks wait for these requests, so no further generation is requested after this time.
const ASKED_FOR: Duration = Duration::from_secs(5);

/// Transactions whose ancestors were or will be requested.
#[derive(Debug, Default)]
pub struct Ancestors {
    /// Whether the mempool transactions of an earlier run were read into `waiting`.
    has_begun: bool,
    /// Whether more requests are due than fit after one look.
    has_more: bool,
    /// Mempool transactions that may have unconfirmed ancestors.
    waiting: BTreeSet<Txid>,
    /// Transactions whose ancestors were requested. After an incomplete answer the value is the
    /// best block of that time; after a complete answer it is `None`.
    asked: BTreeMap<Txid, Option<BlockHash>>,
    /// Generation of the backend at the last request.
    generation: Option<u64>,
    /// No request is sent before this time. The pause is as long as the requests took, so that a
    /// server with a request limit can also answer looks.
    paused_until: Option<Instant>,
}

/// The known ancestors of one transaction.
#[derive(Debug, PartialEq, Eq)]
struct Line {
    ancestors: Vec<Transaction>,
    /// Whether every ancestor is known.
    is_whole: bool,
}

struct Work {
    /// Transactions whose ancestors are to be requested.
    ask: BTreeMap<Txid, Transaction>,
    /// Transactions that no longer need their ancestors.
    settled: Vec<Txid>,
}

impl Ancestors {
    /// Whether requests are due even if a look finds nothing.
    pub fn is_due(&self) -> bool {
        !self.has_begun || self.has_more
    }

    /// Notes the transactions of a look that may have unconfirmed ancestors.
    pub fn note(&mut self, findings: &Findings) {
        let incoming = findings.payments.values().flat_map(|affected| &affected.incoming);
        let incoming = incoming.map(|(txid, incoming)| (txid, &incoming.facts));
        let moves = findings.moves.iter().map(|(txid, moved)| (txid, &moved.facts));
        let found =
            incoming.chain(moves).filter(|(_, facts)| may_have_unconfirmed_ancestors(facts));
        self.waiting.extend(found.map(|(txid, _)| *txid));
    }

    /// Requests and stores missing ancestors, and deletes those no longer needed. After a failed
    /// request, the next look with findings tries again.
    pub async fn keep(&mut self, gateway: &Arc<Gateway>, tip: &Tip) -> Result<(), WatchError> {
        let began = Instant::now();
        let is_paused = self.paused_until.is_some_and(|until| began < until);
        let generation = gateway.backend.chain.generation();
        if self.generation.replace(generation).is_some_and(|before| before != generation) {
            // A server may forge witnesses; another may return valid ones.
            self.asked.clear();
        }
        if is_paused {
            self.has_more = true;
            return Ok(());
        }
        let above = tip.height.saturating_sub(SETTLED_AFTER);
        let Work { ask, settled } =
            gateway.store.read(|reader| self.work(gateway, reader, tip, above))?;
        let (asking, txs) = (Arc::clone(gateway), ask.clone());
        let recent = move |txids: &[Txid]| match began.elapsed() > ASKED_FOR {
            true => Ok(RecentTransactions::unknown(txids)),
            false => asking.backend.chain.recent_transactions(txids, above),
        };
        let lines = move || lines(&txs, &recent);
        let lines = match tokio::task::spawn_blocking(lines)
            .await
            .map_err(|_| WatchError::Interrupted)?
        {
            Ok(lines) => lines,
            Err(error) => {
                tracing::debug!(%error, "the backend does not report the ancestors of our transactions");
                BTreeMap::new()
            }
        };
        self.paused_until =
            began.elapsed().checked_mul(2).and_then(|twice| began.checked_add(twice));
        let asked: Vec<(Txid, bool)> =
            lines.iter().map(|(txid, line)| (*txid, line.is_whole)).collect();
        store(&gateway.store, settled, lines).await?;
        for (txid, is_whole) in asked {
            let before = self.asked.insert(txid, (!is_whole).then_some(tip.hash));
            if !is_whole && before.is_none() {
                tracing::info!(
                    %txid,
                    "some ancestors of a transaction are unknown: if nodes drop the package, others must rebroadcast it"
                );
            }
        }
        Ok(())
    }

    fn work(
        &mut self,
        gateway: &Gateway,
        reader: &Reader<'_>,
        tip: &Tip,
        above: u32,
    ) -> Result<Work, StoreError> {
        if !self.has_begun {
            self.waiting.extend(reader.waiting_without_ancestors()?);
            self.has_begun = true;
        }
        let mut wanted = BTreeSet::new();
        for txid in std::mem::take(&mut self.waiting) {
            if reader.position_of_coins(&txid)? == Some(Position::Mempool)
                && reader.version(&txid)?.is_none()
            {
                self.waiting.insert(txid);
                wanted.insert(txid);
            }
        }
        wanted.extend(reader.shallow_inputs(above)?);
        self.asked.retain(|txid, _| wanted.contains(txid));
        wanted.retain(|txid| match self.asked.get(txid) {
            None => true,
            Some(None) => false,
            Some(Some(asked_at)) => *asked_at != tip.hash,
        });
        self.has_more = wanted.len() > ASKED_MAX;
        let (again, new): (Vec<Txid>, Vec<Txid>) =
            wanted.into_iter().partition(|txid| self.asked.contains_key(txid));
        let mut ask = BTreeMap::new();
        for txid in new.into_iter().chain(again).take(ASKED_MAX) {
            ask.extend(reader.stored_transaction(&txid)?.map(|tx| (txid, tx)));
        }
        let since = gateway.time.now().plus_ms(-FOLLOWED_FOR_MS);
        Ok(Work { ask, settled: reader.settled_descendants(above, since)? })
    }
}

async fn store(
    store: &Store,
    settled: Vec<Txid>,
    lines: BTreeMap<Txid, Line>,
) -> Result<(), StoreError> {
    if settled.is_empty() && lines.values().all(|line| line.ancestors.is_empty()) {
        return Ok(());
    }
    let kept = move |tx: &Tx<'_>| {
        settled.iter().try_for_each(|txid| tx.forget_ancestors_of(txid))?;
        for (txid, line) in &lines {
            if !tx.keep_ancestors(txid, &line.ancestors)? {
                tracing::warn!(%txid, "some ancestors of a transaction are not kept: their disk quota is full");
            }
        }
        Ok::<_, StoreError>(())
    };
    store.write(kept).await
}

const fn may_have_unconfirmed_ancestors(facts: &TxFacts) -> bool {
    matches!(facts.position, TxPosition::Mempool { .. })
        && !matches!(facts.unconfirmed_ancestors, Fact::No)
}

/// Finds the ancestors of each transaction that are unconfirmed or in a shallow block, one
/// generation at a time.
fn lines(
    txs: &BTreeMap<Txid, Transaction>,
    ask: &dyn Fn(&[Txid]) -> Result<RecentTransactions, ChainDown>,
) -> Result<BTreeMap<Txid, Line>, ChainDown> {
    let (mut known, mut bytes) = (RecentTransactions::default(), 0usize);
    let mut asked: BTreeSet<Txid> = BTreeSet::new();
    let mut generation: BTreeSet<Txid> = txs.values().flat_map(parents).collect();
    // The last pass requests the parents of the longest package's oldest transaction, to learn that
    // they are deep.
    for _ in 0..=ANCESTORS_MAX {
        if bytes > HELD_MAX {
            break;
        }
        let open: Vec<Txid> =
            generation.iter().filter(|txid| !asked.contains(*txid)).copied().collect();
        let (now, later) = open.split_at(open.len().min(PARENTS_MAX));
        if now.is_empty() {
            break;
        }
        asked.extend(now);
        let told = ask(now)?;
        known.unknown.extend(told.unknown.into_iter().chain(later.iter().copied()));
        generation.clear();
        for (txid, tx) in told.txs {
            // A transaction with a different txid counts as no answer.
            if tx.compute_txid() == txid {
                generation.extend(parents(&tx));
                bytes = bytes.saturating_add(tx.total_size());
                known.txs.insert(txid, tx);
            } else {
                known.unknown.insert(txid);
            }
        }
    }
    known.unknown.extend(generation.into_iter().filter(|txid| !asked.contains(txid)));
    Ok(txs.iter().map(|(txid, tx)| (*txid, line(tx, &known))).collect())
}

/// The ancestors of one transaction, nearest first, up to [`ANCESTORS_MAX`] and [`BYTES_MAX`].
fn line(tx: &Transaction, known: &RecentTransactions) -> Line {
    let (mut ancestors, mut bytes, mut is_whole) = (Vec::new(), 0usize, true);
    let (mut seen, mut generation) = (BTreeSet::new(), parents(tx).collect::<BTreeSet<_>>());
    while !generation.is_empty() {
        let mut next = BTreeSet::new();
        for txid in generation {
            if !seen.insert(txid) {
                continue;
            }
            is_whole &= !known.unknown.contains(&txid);
            let Some(ancestor) = known.txs.get(&txid) else { continue };
            bytes = bytes.saturating_add(ancestor.total_size());
            if ancestors.len() >= ANCESTORS_MAX || bytes > BYTES_MAX {
                return Line { ancestors, is_whole: false };
            }
            next.extend(parents(ancestor));
            ancestors.push(ancestor.clone());
        }
        generation = next;
    }
    Line { ancestors, is_whole }
}

fn parents(tx: &Transaction) -> impl Iterator<Item = Txid> {
    // A coinbase transaction has no parents.
    tx.input
        .iter()
        .map(|input| input.previous_output.txid)
        .filter(|txid| *txid != Txid::all_zeros())
}

#[cfg(test)]
mod tests;
