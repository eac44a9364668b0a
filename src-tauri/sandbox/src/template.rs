//! Chooses the transactions of the next block, as Bitcoin Core does: whole packages, the best
//! paying first.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use rusqlite::Connection;

use crate::error::SandboxError;

/// The consensus limit of 4,000,000 weight units, less the room that Bitcoin Core reserves for
/// header and coinbase.
const MAX_TRANSACTIONS_WEIGHT: u64 = 4_000_000 - 4_000;
/// The consensus limit of 80,000, less room for the coinbase.
const MAX_SIGOP_COST: u64 = 80_000 - 400;
/// The least weight of a transaction: a block with less room is full.
const MIN_TRANSACTION_WEIGHT: u64 = 240;
/// Most packages that do not fit before the search ends (Bitcoin Core's
/// `MAX_CONSECUTIVE_FAILURES`).
const MAX_MISFITS: usize = 1_000;

/// An unconfirmed transaction.
#[derive(Debug, Default)]
struct Entry {
    fee_sats: u64,
    weight: u64,
    sigop_cost: u64,
    /// Its parents in the mempool.
    parents: Vec<i64>,
    /// Its children in the mempool.
    children: Vec<i64>,
}

/// A fee rate, compared without rounding.
#[derive(Debug, Clone, Copy)]
struct Rate {
    fee_sats: u64,
    vsize: u64,
}

/// The fee rate of a package, a transaction with its ancestors. The greatest in the heap is tried
/// first.
#[derive(Debug, PartialEq, Eq)]
struct Bid {
    rate: Rate,
    id: i64,
}

/// The mempool, and the part of it that the new block already holds.
struct Template {
    entries: BTreeMap<i64, Entry>,
    taken: BTreeSet<i64>,
}

/// The mempool's transactions for the next block, parents first. A transaction counts with its
/// ancestors that are not yet in the block, so that a child can pay for its parent. Its rate is the
/// lower of its own and the package's. A transaction with a rate below `min_fee_rate_sat_kvb` is
/// not chosen.
pub(crate) fn choose(
    conn: &Connection,
    min_fee_rate_sat_kvb: u64,
) -> Result<Vec<i64>, SandboxError> {
    let mut template = Template { entries: read_mempool(conn)?, taken: BTreeSet::new() };
    let mut bids: BinaryHeap<Bid> = template.entries.keys().map(|id| template.bid(*id)).collect();
    let least = Rate { fee_sats: min_fee_rate_sat_kvb, vsize: 1_000 };
    let mut misfits = BTreeSet::new();
    let (mut chosen, mut weight, mut sigop_cost) = (Vec::new(), 0u64, 0u64);
    while let Some(bid) = bids.pop() {
        // An outdated bid is skipped, because the heap holds a newer one for its transaction.
        if template.taken.contains(&bid.id)
            || misfits.contains(&bid.id)
            || template.bid(bid.id) != bid
        {
            continue;
        }
        if bid.rate.cmp(&least) == Ordering::Less {
            break;
        }
        let package = template.package(bid.id);
        let all = template.sum(&package);
        let (heavier, costlier) =
            (weight.saturating_add(all.weight), sigop_cost.saturating_add(all.sigop_cost));
        if heavier > MAX_TRANSACTIONS_WEIGHT || costlier > MAX_SIGOP_COST {
            misfits.insert(bid.id);
            let is_full = weight.saturating_add(MIN_TRANSACTION_WEIGHT) > MAX_TRANSACTIONS_WEIGHT;
            if is_full || misfits.len() > MAX_MISFITS {
                break;
            }
            continue;
        }
        (weight, sigop_cost) = (heavier, costlier);
        template.taken.extend(&package);
        bids.extend(template.descendants(&package).into_iter().map(|id| template.bid(id)));
        chosen.extend(package);
    }
    Ok(chosen)
}

fn read_mempool(conn: &Connection) -> Result<BTreeMap<i64, Entry>, SandboxError> {
    let mut statement = conn.prepare_cached(
        "SELECT tx_id, coalesce(fee_sats, 0), weight, sigop_cost FROM transactions INDEXED BY transactions_by_fee_rate
         WHERE entered_ms IS NOT NULL",
    )?;
    let mut entries = BTreeMap::new();
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (fee_sats, weight, sigop_cost) = (row.get(1)?, row.get(2)?, row.get(3)?);
        entries.insert(row.get(0)?, Entry { fee_sats, weight, sigop_cost, ..Entry::default() });
    }
    let mut statement =
        conn.prepare_cached("SELECT DISTINCT prev_tx_id FROM spends WHERE spender_tx_id = ?1")?;
    let ids: Vec<i64> = entries.keys().copied().collect();
    for id in ids {
        let mut rows = statement.query([id])?;
        while let Some(row) = rows.next()? {
            let parent: i64 = row.get(0)?;
            let Some(entry) = entries.get_mut(&parent) else { continue };
            entry.children.push(id);
            if let Some(entry) = entries.get_mut(&id) {
                entry.parents.push(parent);
            }
        }
    }
    Ok(entries)
}

impl Template {
    /// A transaction and its ancestors that are not taken yet. Parents have smaller ids, so they
    /// are first.
    fn package(&self, id: i64) -> Vec<i64> {
        self.reach(&[id], |entry| &entry.parents)
            .into_iter()
            .filter(|id| !self.taken.contains(id))
            .collect()
    }

    /// The descendants of transactions, without those already taken.
    fn descendants(&self, ids: &[i64]) -> Vec<i64> {
        self.reach(ids, |entry| &entry.children)
            .into_iter()
            .filter(|id| !self.taken.contains(id))
            .collect()
    }

    fn reach(&self, from: &[i64], next: impl Fn(&Entry) -> &Vec<i64>) -> BTreeSet<i64> {
        let mut reached = BTreeSet::new();
        let mut open = from.to_vec();
        while let Some(id) = open.pop() {
            if reached.insert(id) {
                open.extend(self.entries.get(&id).map(&next).into_iter().flatten());
            }
        }
        reached
    }

    fn sum(&self, ids: &[i64]) -> Entry {
        ids.iter().filter_map(|id| self.entries.get(id)).fold(Entry::default(), |sum, entry| {
            Entry {
                fee_sats: sum.fee_sats.saturating_add(entry.fee_sats),
                weight: sum.weight.saturating_add(entry.weight),
                sigop_cost: sum.sigop_cost.saturating_add(entry.sigop_cost),
                ..sum
            }
        })
    }

    fn bid(&self, id: i64) -> Bid {
        let own = self.sum(&[id]).rate();
        Bid { rate: own.min(self.sum(&self.package(id)).rate()), id }
    }
}

impl Entry {
    fn rate(&self) -> Rate {
        Rate { fee_sats: self.fee_sats, vsize: self.weight.div_ceil(4) }
    }
}

impl Ord for Rate {
    fn cmp(&self, other: &Self) -> Ordering {
        let cross = |rate: &Rate, other: &Rate| u128::from(rate.fee_sats) * u128::from(other.vsize);
        cross(self, other).cmp(&cross(other, self))
    }
}

impl PartialOrd for Rate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Rate {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Rate {}

impl Ord for Bid {
    /// Among equal rates, the transaction that was accepted first is greater.
    fn cmp(&self, other: &Self) -> Ordering {
        self.rate.cmp(&other.rate).then(other.id.cmp(&self.id))
    }
}

impl PartialOrd for Bid {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
