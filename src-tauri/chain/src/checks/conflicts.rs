//! Facts about our transactions that are in no block, by the same rules for every server: the
//! outputs that a transaction needs, its conflicts, and the order of reports.

use std::borrow::Borrow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use bitcoin::{FeeRate, OutPoint, Transaction, Txid};
use tillgate_domain::chain::{Fact, TxPosition};
use tillgate_domain::time::Timestamp;

use crate::port::{TxFacts, WatchList};

/// Ancestors of a transaction that are followed at most; a node accepts no more.
pub const LINE_MAX: usize = 128;

/// A transaction is no longer followed once a block this deep rules it out.
const RULED_OUT_FOR: u32 = 100;

/// Up to this many spenders of the same output are always followed.
const CROWD: usize = 8;

/// Stands for the entry time of a mempool transaction, which an Electrum server does not report.
/// The caller takes the earlier of this and its own time.
pub const ENTERED_UNKNOWN: Timestamp = Timestamp::from_ms(i64::MAX);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    pub position: TxPosition,
    pub conflict_in_chain: Fact,
    pub conflict_height: Option<u32>,
    pub conflict_in_mempool: Fact,
    pub conflicts: Vec<Txid>,
    pub unconfirmed_ancestors: Fact,
    pub fee_rate: Option<FeeRate>,
}

/// The known state of an output that a missing transaction needs.
#[derive(Debug, Clone, Default)]
pub struct Output {
    /// Height and id of the mined transaction that spends it.
    pub in_chain: Option<(u32, Txid)>,
    /// The transactions of the mempool that spend it.
    pub in_mempool: Vec<Txid>,
    /// Its spenders are all known.
    pub is_known: bool,
    /// A block created it, and no block spends it.
    pub is_unspent: bool,
}

impl Facts {
    /// The facts of a transaction without conflicts.
    pub const fn undisputed(position: TxPosition) -> Self {
        Self {
            position,
            conflict_in_chain: Fact::No,
            conflict_height: None,
            conflict_in_mempool: Fact::No,
            conflicts: Vec::new(),
            unconfirmed_ancestors: Fact::No,
            fee_rate: None,
        }
    }

    /// Adds our transactions that spend the same outputs as `tx`. A missing transaction names none:
    /// after many replacements each would name all others.
    pub fn with_rivals(
        mut self,
        txid: &Txid,
        tx: &Transaction,
        spenders: &HashMap<OutPoint, Vec<Txid>>,
    ) -> Self {
        if self.position == TxPosition::Absent {
            return self;
        }
        let own =
            tx.input.iter().filter_map(|input| spenders.get(&input.previous_output)).flatten();
        let conflicts: BTreeSet<Txid> =
            own.chain(&self.conflicts).filter(|rival| *rival != txid).copied().collect();
        self.conflicts = conflicts.into_iter().collect();
        self
    }

    /// Whether these facts differ from the last reported ones. Compares whether there is a rival,
    /// but not the rivals' ids, since each rival names this transaction.
    pub fn differ_from(&self, told: Option<&Self>) -> bool {
        let unnamed = |facts: &Self| Self { conflicts: Vec::new(), ..facts.clone() };
        let is_same = |told: &Self| {
            unnamed(told) == unnamed(self) && told.conflicts.is_empty() == self.conflicts.is_empty()
        };
        !told.is_some_and(is_same)
    }

    /// Whether the transaction is no longer followed, because the block that rules it out is deep
    /// enough.
    pub fn is_ruled_out_for_good(&self, tip_height: u32) -> bool {
        self.conflict_height.is_some_and(|height| is_final(height, tip_height))
    }

    pub fn of(self, tx: Transaction) -> TxFacts {
        let Self {
            position,
            conflict_in_chain,
            conflict_height,
            conflict_in_mempool,
            conflicts,
            unconfirmed_ancestors,
            fee_rate,
        } = self;
        TxFacts {
            tx,
            position,
            conflict_in_chain,
            conflict_height,
            conflict_in_mempool,
            conflicts,
            unconfirmed_ancestors,
            fee_rate,
        }
    }
}

/// The facts of a transaction in neither mempool nor chain. If the spenders of a needed output are
/// unknown, the transaction's conflicts are unknown.
pub fn of_absent<T: Borrow<Transaction>>(
    tx: &Transaction,
    ancestors: &BTreeMap<Txid, T>,
    output: impl Fn(&OutPoint) -> Output,
) -> Facts {
    let (mut conflict_height, mut in_mempool, mut is_known) = (None::<u32>, false, true);
    for (outpoint, by) in needs(tx, ancestors) {
        let found = output(&outpoint);
        let mined = found.in_chain.filter(|(_, spender)| *spender != by).map(|(height, _)| height);
        let waits = found.in_mempool.iter().any(|spender| *spender != by);
        conflict_height = [conflict_height, mined].into_iter().flatten().min();
        in_mempool |= waits;
        is_known &= waits
            || found.in_chain.is_some()
            || found.is_known
            || ancestors.contains_key(&outpoint.txid);
    }
    let otherwise = if is_known { Fact::No } else { Fact::Unknown };
    let own: Vec<Output> = tx.input.iter().map(|input| output(&input.previous_output)).collect();
    let spenders = own
        .iter()
        .flat_map(|it| it.in_chain.iter().map(|(_, spender)| spender).chain(&it.in_mempool));
    Facts {
        conflict_in_chain: if conflict_height.is_some() { Fact::Yes } else { otherwise },
        conflict_height,
        conflict_in_mempool: if in_mempool { Fact::Yes } else { otherwise },
        conflicts: spenders.copied().collect(),
        unconfirmed_ancestors: if own.iter().all(|it| it.is_unspent) {
            Fact::No
        } else {
            Fact::Unknown
        },
        ..Facts::undisputed(TxPosition::Absent)
    }
}

/// Each output that a transaction or its unconfirmed ancestors spend, with the spender's id. The
/// null outpoint of a coinbase transaction is left out: a node refuses calls about it.
pub fn needs<'a, T: Borrow<Transaction>>(
    tx: &'a Transaction,
    ancestors: &'a BTreeMap<Txid, T>,
) -> impl Iterator<Item = (OutPoint, Txid)> + use<'a, T> {
    let line = ancestors.iter().map(|(txid, tx)| (*txid, tx.borrow()));
    let spends = std::iter::once((tx.compute_txid(), tx)).chain(line);
    let needs = spends
        .flat_map(|(txid, tx)| tx.input.iter().map(move |input| (input.previous_output, txid)));
    needs.filter(|(outpoint, _)| !outpoint.is_null())
}

/// The ancestors of a transaction that are missing too. `missing` returns a transaction if it is
/// missing.
pub fn missing_ancestors<'a>(
    tx: &'a Transaction,
    missing: impl Fn(&Txid) -> Option<&'a Transaction>,
) -> BTreeMap<Txid, &'a Transaction> {
    let (mut found, mut open) = (BTreeMap::new(), vec![tx]);
    while let Some(child) = open.pop() {
        for parent in child.input.iter().map(|input| input.previous_output.txid) {
            let Some(tx) = missing(&parent) else { continue };
            if found.len() < LINE_MAX && found.insert(parent, tx).is_none() {
                open.push(tx);
            }
        }
    }
    found
}

/// The transactions that need no longer be followed, by the last report of each. Such a transaction
/// is ruled out, is one of many spenders of an output, and no longer matters to the watch list. An
/// ancestor of another transaction stays followed.
pub fn unfollowed<'a>(
    txs: impl Iterator<Item = (&'a Txid, &'a Transaction, Option<&'a Facts>)> + Clone,
    watch: &dyn WatchList,
) -> Vec<Txid> {
    let spenders = spenders(txs.clone().map(|(txid, tx, _)| (txid, tx)));
    let crowded: HashSet<&Txid> =
        spenders.values().filter(|by| by.len() > CROWD).flatten().collect();
    if crowded.is_empty() {
        return Vec::new();
    }
    let needed: HashSet<Txid> = spenders.keys().map(|outpoint| outpoint.txid).collect();
    let is_ruled_out = |told: &Facts| {
        told.position == TxPosition::Absent
            && [told.conflict_in_chain, told.conflict_in_mempool].contains(&Fact::Yes)
    };
    let ruled_out =
        txs.filter(|(txid, _, told)| crowded.contains(txid) && told.is_some_and(is_ruled_out));
    ruled_out
        .map(|(txid, ..)| *txid)
        .filter(|txid| !needed.contains(txid) && !watch.is_followed(txid))
        .collect()
}

/// The spenders of each output.
pub fn spenders<'a>(
    txs: impl Iterator<Item = (&'a Txid, &'a Transaction)>,
) -> HashMap<OutPoint, Vec<Txid>> {
    let mut spenders: HashMap<OutPoint, Vec<Txid>> = HashMap::new();
    for (txid, tx) in txs {
        for input in &tx.input {
            spenders.entry(input.previous_output).or_default().push(*txid);
        }
    }
    spenders
}

/// Whether a block at this height is deep enough to stop following the transactions that it rules
/// out.
pub const fn is_final(height: u32, tip_height: u32) -> bool {
    height.saturating_add(RULED_OUT_FOR) <= tip_height
}

pub fn parents_first<T>(mut items: BTreeMap<Txid, T>, tx: impl Fn(&T) -> &Transaction) -> Vec<T> {
    let mut ordered = Vec::with_capacity(items.len());
    while let Some(txid) = items.keys().next().copied() {
        // Each transaction is visited twice, so that its parents are added before it.
        let mut open = vec![(txid, false)];
        while let Some((txid, parents_are_in)) = open.pop() {
            if parents_are_in {
                ordered.extend(items.remove(&txid));
            } else if let Some(item) = items.get(&txid) {
                open.push((txid, true));
                open.extend(tx(item).input.iter().map(|input| (input.previous_output.txid, false)));
            }
        }
    }
    ordered
}

#[cfg(test)]
mod tests {
    use bitcoin::hashes::Hash as _;
    use bitcoin::{Amount, ScriptBuf, Sequence, TxIn, TxOut, Witness, absolute, transaction};

    use super::*;

    fn coin(number: u8) -> OutPoint {
        OutPoint { txid: Txid::from_byte_array([number; 32]), vout: 0 }
    }

    fn spending(coins: &[OutPoint]) -> Transaction {
        let input = |previous_output: &OutPoint| TxIn {
            previous_output: *previous_output,
            script_sig: ScriptBuf::new(),
            sequence: Sequence::MAX,
            witness: Witness::new(),
        };
        Transaction {
            version: transaction::Version::TWO,
            lock_time: absolute::LockTime::ZERO,
            input: coins.iter().map(input).collect(),
            output: vec![TxOut { value: Amount::from_sat(1_000), script_pubkey: ScriptBuf::new() }],
        }
    }

    /// The facts of a transaction that spends coins 1 and 2, given the state of coin 2.
    fn told(second: Output) -> Facts {
        let tx = spending(&[coin(1), coin(2)]);
        let first = Output { is_known: true, is_unspent: true, ..Output::default() };
        of_absent(&tx, &BTreeMap::<Txid, Transaction>::new(), |outpoint| {
            if *outpoint == coin(1) { first.clone() } else { second.clone() }
        })
    }

    #[test]
    fn a_spent_output_rules_out_and_an_unknown_one_decides_nothing() {
        let (own, other) = (spending(&[coin(1), coin(2)]).compute_txid(), coin(9).txid);
        let known = Output { is_known: true, is_unspent: true, ..Output::default() };
        for (output, in_chain, height, in_mempool, ancestors) in [
            (known.clone(), Fact::No, None, Fact::No, Fact::No),
            (Output::default(), Fact::Unknown, None, Fact::Unknown, Fact::Unknown),
            (
                Output { in_chain: Some((7, other)), ..Output::default() },
                Fact::Yes,
                Some(7),
                Fact::No,
                Fact::Unknown,
            ),
            (
                Output { in_chain: Some((7, own)), ..Output::default() },
                Fact::No,
                None,
                Fact::No,
                Fact::Unknown,
            ),
            (
                Output { in_mempool: vec![other], ..known.clone() },
                Fact::No,
                None,
                Fact::Yes,
                Fact::No,
            ),
            (Output { in_mempool: vec![own], ..known }, Fact::No, None, Fact::No, Fact::No),
        ] {
            let facts = told(output.clone());
            let found = (
                facts.conflict_in_chain,
                facts.conflict_height,
                facts.conflict_in_mempool,
                facts.unconfirmed_ancestors,
            );
            assert_eq!(found, (in_chain, height, in_mempool, ancestors), "{output:?}");
        }
    }

    #[test]
    fn a_spender_of_a_missing_ancestors_coin_rules_out_the_child() {
        let parent = spending(&[coin(1)]);
        let made = OutPoint { txid: parent.compute_txid(), vout: 0 };
        let child = spending(&[made]);
        let tracked = BTreeMap::from([(made.txid, parent)]);
        let line = missing_ancestors(&child, |txid| tracked.get(txid));
        assert_eq!(line.keys().copied().collect::<Vec<_>>(), [made.txid]);
        let needed: BTreeSet<(OutPoint, Txid)> = needs(&child, &line).collect();
        assert_eq!(needed, BTreeSet::from([(made, child.compute_txid()), (coin(1), made.txid)]));
        let of = |spender: Txid| Output { in_chain: Some((5, spender)), ..Output::default() };
        let rival = of_absent(&child, &line, |it| {
            if *it == coin(1) { of(coin(9).txid) } else { Output::default() }
        });
        assert_eq!((rival.conflict_in_chain, rival.conflict_height), (Fact::Yes, Some(5)));
        assert_eq!(rival.conflicts, [], "its own input is spent by nobody");
        let none = of_absent(&child, &line, |it| {
            if *it == coin(1) { of(made.txid) } else { Output::default() }
        });
        assert_eq!(none.conflict_in_chain, Fact::No);
    }
}
