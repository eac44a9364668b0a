//! What there is to tell of our transactions that no block holds, by rules that are the same of every server: what each needs,
//! what rules it out, and in which order they are told.

use std::borrow::Borrow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use bitcoin::{FeeRate, OutPoint, Transaction, Txid};
use tillgate_domain::time::Timestamp;

use super::{Fact, TxFacts, TxPosition, WatchList};

/// Missing transactions of ours, one behind the other, that are followed: a node takes no longer lines.
pub(super) const LINE_MAX: usize = 128;

/// What a block so deep rules out is followed no longer.
const RULED_OUT_FOR: u32 = 100;

/// So many of ours that spend the same are followed without a question.
const CROWD: usize = 8;

/// No server that is asked about scripts says since when its mempool holds a transaction. Whoever looks takes the earlier of this
/// and its own time.
pub(super) const ENTERED_UNKNOWN: Timestamp = Timestamp::from_ms(i64::MAX);

/// What is told of a transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Facts {
    pub position: TxPosition,
    pub conflict_in_chain: Fact,
    pub conflict_height: Option<u32>,
    pub conflict_in_mempool: Fact,
    pub conflicts: Vec<Txid>,
    pub unconfirmed_ancestors: Fact,
    pub fee_rate: Option<FeeRate>,
}

/// What became of an output that a missing transaction needs.
#[derive(Debug, Clone, Default)]
pub(super) struct Output {
    /// Which transaction of a block spends it, behind the height of that.
    pub in_chain: Option<(u32, Txid)>,
    /// Which transactions of the mempool do.
    pub in_mempool: Vec<Txid>,
    /// Nothing of what became of it was kept back.
    pub is_known: bool,
    /// A block made it, and none holds what spends it.
    pub is_unspent: bool,
}

impl Facts {
    /// Of a transaction that no other rules out.
    pub(super) const fn undisputed(position: TxPosition) -> Self {
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

    /// The same, which names besides those of ours that spend what `tx` does. One that is missing names none: of many that
    /// replaced each other each would name all.
    pub(super) fn with_rivals(
        mut self,
        txid: &Txid,
        tx: &Transaction,
        spenders: &HashMap<OutPoint, Vec<Txid>>,
    ) -> Self {
        if self.position == TxPosition::Absent {
            return self;
        }
        let own = tx.input.iter().filter_map(|input| spenders.get(&input.previous_output)).flatten();
        let conflicts: BTreeSet<Txid> = own.chain(&self.conflicts).filter(|rival| *rival != txid).copied().collect();
        self.conflicts = conflicts.into_iter().collect();
        self
    }

    /// Whether these facts differ from those last told, but for which rivals are named: each of those names it when it is found. That
    /// there are any at all counts.
    pub(super) fn are_news_after(&self, told: Option<&Self>) -> bool {
        let unnamed = |facts: &Self| Self { conflicts: Vec::new(), ..facts.clone() };
        let is_same =
            |told: &Self| unnamed(told) == unnamed(self) && told.conflicts.is_empty() == self.conflicts.is_empty();
        !told.is_some_and(is_same)
    }

    /// Whether a block rules it out that lies so deep that it is followed no longer.
    pub(super) fn is_ruled_out_for_good(&self, tip_height: u32) -> bool {
        self.conflict_height.is_some_and(|height| is_final(height, tip_height))
    }

    /// Together with the transaction.
    pub(super) fn of(self, tx: Transaction) -> TxFacts {
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

/// Of a transaction that is in neither mempool nor chain. Where it cannot be told what became of an output that it needs, nobody
/// knows whether another spends it.
pub(super) fn of_absent<T: Borrow<Transaction>>(
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
        is_known &= waits || found.in_chain.is_some() || found.is_known || ancestors.contains_key(&outpoint.txid);
    }
    let otherwise = if is_known { Fact::No } else { Fact::Unknown };
    let own: Vec<Output> = tx.input.iter().map(|input| output(&input.previous_output)).collect();
    let spenders = own.iter().flat_map(|it| it.in_chain.iter().map(|(_, spender)| spender).chain(&it.in_mempool));
    Facts {
        conflict_in_chain: if conflict_height.is_some() { Fact::Yes } else { otherwise },
        conflict_height,
        conflict_in_mempool: if in_mempool { Fact::Yes } else { otherwise },
        conflicts: spenders.copied().collect(),
        unconfirmed_ancestors: if own.iter().all(|it| it.is_unspent) { Fact::No } else { Fact::Unknown },
        ..Facts::undisputed(TxPosition::Absent)
    }
}

/// Every output that a transaction needs, with which is to spend it: it itself, or an unconfirmed ancestor. A block's reward
/// needs none, and a node that is asked about the output of nothing that it names refuses to answer.
pub(super) fn needs<'a, T: Borrow<Transaction>>(
    tx: &'a Transaction,
    ancestors: &'a BTreeMap<Txid, T>,
) -> impl Iterator<Item = (OutPoint, Txid)> + use<'a, T> {
    let line = ancestors.iter().map(|(txid, tx)| (*txid, tx.borrow()));
    let spends = std::iter::once((tx.compute_txid(), tx)).chain(line);
    let needs = spends.flat_map(|(txid, tx)| tx.input.iter().map(move |input| (input.previous_output, txid)));
    needs.filter(|(outpoint, _)| !outpoint.is_null())
}

/// Those that a transaction rests on and that are missing as it is, by `missing`, which has each of them.
pub(crate) fn missing_ancestors<'a>(
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

/// Which of these transactions of ours, each with what was last told of it as far as this look finds it so, need be followed no longer:
/// they are ruled out, others than a few spend the same, and nobody goes by what becomes of them. One on which another rests is followed
/// with that.
pub(super) fn unfollowed<'a>(
    txs: impl Iterator<Item = (&'a Txid, &'a Transaction, Option<&'a Facts>)> + Clone,
    watch: &dyn WatchList,
) -> Vec<Txid> {
    let spenders = spenders(txs.clone().map(|(txid, tx, _)| (txid, tx)));
    let crowded: HashSet<&Txid> = spenders.values().filter(|by| by.len() > CROWD).flatten().collect();
    if crowded.is_empty() {
        return Vec::new();
    }
    let needed: HashSet<Txid> = spenders.keys().map(|outpoint| outpoint.txid).collect();
    let is_ruled_out = |told: &Facts| {
        told.position == TxPosition::Absent && [told.conflict_in_chain, told.conflict_in_mempool].contains(&Fact::Yes)
    };
    let ruled_out = txs.filter(|(txid, _, told)| crowded.contains(txid) && told.is_some_and(is_ruled_out));
    ruled_out.map(|(txid, ..)| *txid).filter(|txid| !needed.contains(txid) && !watch.is_followed(txid)).collect()
}

/// Which of these transactions spend an output.
pub(super) fn spenders<'a>(txs: impl Iterator<Item = (&'a Txid, &'a Transaction)>) -> HashMap<OutPoint, Vec<Txid>> {
    let mut spenders: HashMap<OutPoint, Vec<Txid>> = HashMap::new();
    for (txid, tx) in txs {
        for input in &tx.input {
            spenders.entry(input.previous_output).or_default().push(*txid);
        }
    }
    spenders
}

/// Whether a block of this height is so deep that what it rules out is followed no longer.
pub(super) const fn is_final(height: u32, tip_height: u32) -> bool {
    height.saturating_add(RULED_OUT_FOR) <= tip_height
}

/// In an order in which parents stand before children.
pub(crate) fn parents_first<T>(mut items: BTreeMap<Txid, T>, tx: impl Fn(&T) -> &Transaction) -> Vec<T> {
    let mut ordered = Vec::with_capacity(items.len());
    while let Some(txid) = items.keys().next().copied() {
        // Each is looked at twice: its parents go before it.
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

    /// What is told of a transaction that spends coins 1 and 2, of the second of which this is known.
    fn told(second: Output) -> Facts {
        let tx = spending(&[coin(1), coin(2)]);
        let first = Output { is_known: true, is_unspent: true, ..Output::default() };
        of_absent(&tx, &BTreeMap::<Txid, Transaction>::new(), |outpoint| {
            if *outpoint == coin(1) { first.clone() } else { second.clone() }
        })
    }

    #[test]
    fn what_another_spends_rules_out_and_what_nobody_knows_is_taken_for_no_answer() {
        let (own, other) = (spending(&[coin(1), coin(2)]).compute_txid(), coin(9).txid);
        let known = Output { is_known: true, is_unspent: true, ..Output::default() };
        for (output, in_chain, height, in_mempool, ancestors) in [
            (known.clone(), Fact::No, None, Fact::No, Fact::No),
            (Output::default(), Fact::Unknown, None, Fact::Unknown, Fact::Unknown),
            (Output { in_chain: Some((7, other)), ..Output::default() }, Fact::Yes, Some(7), Fact::No, Fact::Unknown),
            (Output { in_chain: Some((7, own)), ..Output::default() }, Fact::No, None, Fact::No, Fact::Unknown),
            (Output { in_mempool: vec![other], ..known.clone() }, Fact::No, None, Fact::Yes, Fact::No),
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
    fn what_spends_the_coin_of_a_missing_ancestor_rules_out_what_rests_on_it() {
        let parent = spending(&[coin(1)]);
        let made = OutPoint { txid: parent.compute_txid(), vout: 0 };
        let child = spending(&[made]);
        let tracked = BTreeMap::from([(made.txid, parent)]);
        let line = missing_ancestors(&child, |txid| tracked.get(txid));
        assert_eq!(line.keys().copied().collect::<Vec<_>>(), [made.txid]);
        let needed: BTreeSet<(OutPoint, Txid)> = needs(&child, &line).collect();
        assert_eq!(needed, BTreeSet::from([(made, child.compute_txid()), (coin(1), made.txid)]));
        let of = |spender: Txid| Output { in_chain: Some((5, spender)), ..Output::default() };
        let rival = of_absent(&child, &line, |it| if *it == coin(1) { of(coin(9).txid) } else { Output::default() });
        assert_eq!((rival.conflict_in_chain, rival.conflict_height), (Fact::Yes, Some(5)));
        assert_eq!(rival.conflicts, [], "its own input is spent by nobody");
        let none = of_absent(&child, &line, |it| if *it == coin(1) { of(made.txid) } else { Output::default() });
        assert_eq!(none.conflict_in_chain, Fact::No);
    }
}
