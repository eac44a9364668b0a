//! Ancestors found from complete, missing and forged answers.

use std::cell::Cell;

use bitcoin::absolute::LockTime;
use bitcoin::{Amount, OutPoint, ScriptBuf, Sequence, TxIn, TxOut, Witness, transaction};

use super::*;

/// A transaction that spends the first output of each parent, with `bytes` bytes of witness in each
/// input.
fn spends(parents: &[Txid], bytes: usize) -> Transaction {
    let input = |txid: &Txid| TxIn {
        previous_output: OutPoint { txid: *txid, vout: 0 },
        script_sig: ScriptBuf::new(),
        sequence: Sequence::MAX,
        witness: Witness::from_slice(&[vec![0; bytes]]),
    };
    let output = TxOut { value: Amount::from_sat(1_000), script_pubkey: ScriptBuf::new() };
    Transaction {
        version: transaction::Version::TWO,
        lock_time: LockTime::ZERO,
        input: parents.iter().map(input).collect(),
        output: vec![output],
    }
}

/// The txid of a deeply confirmed transaction.
fn deep(number: u8) -> Txid {
    Txid::from_byte_array([number; 32])
}

/// A chain of `count` transactions, the oldest first.
fn line_of(count: usize, bytes: usize) -> Vec<Transaction> {
    let mut line: Vec<Transaction> = Vec::new();
    for _ in 0..count {
        let parent = line.last().map_or(deep(1), Transaction::compute_txid);
        line.push(spends(&[parent], bytes));
    }
    line
}

/// A server that has these transactions and reports all others as deeply confirmed.
fn told(has: &[Transaction]) -> impl Fn(&[Txid]) -> Result<RecentTransactions, ChainDown> {
    let has: BTreeMap<Txid, Transaction> =
        has.iter().map(|tx| (tx.compute_txid(), tx.clone())).collect();
    move |asked| {
        let txs = asked.iter().filter_map(|txid| Some((*txid, has.get(txid)?.clone())));
        Ok(RecentTransactions { txs: txs.collect(), unknown: BTreeSet::new() })
    }
}

fn found(tx: &Transaction, ask: &dyn Fn(&[Txid]) -> Result<RecentTransactions, ChainDown>) -> Line {
    let txid = tx.compute_txid();
    lines(&BTreeMap::from([(txid, tx.clone())]), ask).unwrap().remove(&txid).unwrap()
}

#[test]
fn all_ancestors_above_the_deep_blocks_are_found() {
    let line = line_of(4, 0);
    let beside = spends(&[deep(2)], 0);
    let tx = spends(&[line[3].compute_txid(), beside.compute_txid(), deep(3)], 0);
    let Line { ancestors, is_whole } =
        found(&tx, &told(&[line.clone(), vec![beside.clone()]].concat()));
    let ids: BTreeSet<Txid> = ancestors.iter().map(Transaction::compute_txid).collect();
    assert_eq!((ids.len(), is_whole), (5, true));
    assert!(line.iter().chain([&beside]).all(|tx| ids.contains(&tx.compute_txid())));
}

#[test]
fn ancestors_are_incomplete_after_a_forged_or_missing_answer() {
    let parent = spends(&[deep(1)], 0);
    let tx = spends(&[parent.compute_txid()], 0);
    let forged = |asked: &[Txid]| {
        let txs = asked.iter().map(|txid| (*txid, spends(&[deep(9)], 7))).collect();
        Ok(RecentTransactions { txs, unknown: BTreeSet::new() })
    };
    let nothing = Line { ancestors: Vec::new(), is_whole: false };
    assert_eq!(found(&tx, &forged), nothing);
    assert_eq!(found(&tx, &|asked| Ok(RecentTransactions::unknown(asked))), nothing);
    let silent = |_: &[Txid]| Err(ChainDown::of_text("silent".to_owned()));
    assert!(lines(&BTreeMap::from([(tx.compute_txid(), tx)]), &silent).is_err());
}

#[test]
fn kept_ancestors_stay_within_the_relay_limits_of_nodes() {
    for (count, bytes, kept) in
        [(40, 0, 40), (ANCESTORS_MAX, 0, ANCESTORS_MAX), (70, 0, ANCESTORS_MAX), (10, 100_000, 4)]
    {
        let line = line_of(count, bytes);
        let tx = spends(&[line[count - 1].compute_txid()], 0);
        let Line { ancestors, is_whole } = found(&tx, &told(&line));
        assert_eq!(
            (ancestors.len(), is_whole),
            (kept, kept == count),
            "{count} ancestors of {bytes} bytes"
        );
        assert_eq!(ancestors.first(), line.last(), "the nearest ancestor is the first");
    }
}

#[test]
fn requests_to_a_server_stay_within_their_bounds() {
    let asked = Cell::new((0usize, 0usize));
    let silent = |txids: &[Txid]| {
        let (calls, most) = asked.get();
        asked.set((calls + 1, most.max(txids.len())));
        Ok(RecentTransactions::unknown(txids))
    };
    let many: Vec<Txid> = (0..=255).map(deep).filter(|txid| *txid != Txid::all_zeros()).collect();
    let tx = spends(&many, 0);
    assert!(!found(&tx, &silent).is_whole);
    assert_eq!(asked.get(), (1, PARENTS_MAX));

    let large = line_of(5, HELD_MAX / 3);
    let tx = spends(&[large[4].compute_txid()], 0);
    let calls = Cell::new(0);
    let answer = told(&large);
    let counted = |txids: &[Txid]| {
        calls.set(calls.get() + 1);
        answer(txids)
    };
    assert!(!found(&tx, &counted).is_whole);
    assert_eq!(calls.get(), 3, "no request follows after HELD_MAX bytes");
}
