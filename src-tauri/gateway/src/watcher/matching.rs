//! Which payouts a twin pays, at its first sight. It may have thousands of equal outputs, and there may be as many payouts like them: they are
//! matched in one go, and what tells where a payout belongs is read once.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use bitcoin::{OutPoint, Script, Transaction, Txid};

use crate::chain::TxFacts;
use crate::store::{Reader, StoreError, Tx};

/// Transactions that are followed upwards from a twin, its own history of which may go back for years: far more than may be
/// in a mempool.
const RESTS_ON_MAX: usize = 200;

/// What a payout is to a twin, the first that it pays first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Standing {
    /// This twin replaces all its other twins, or its own transaction where it has none.
    Replaced,
    /// Nothing else pays it for certain.
    Unpaid,
    /// Another twin pays it that is in no block.
    Waiting,
    /// It is paid; a reorganisation may take that back.
    Paid,
}

/// What is known of the twin that is matched, and of what it may replace.
struct Matching<'a> {
    reader: &'a Reader<'a>,
    inputs: BTreeSet<OutPoint>,
    /// The batches on which it rests, through others of ours and of other copies of the wallet. It does not pay them: both are mined, or
    /// neither.
    rests_on: BTreeSet<i64>,
    /// Whether it replaces these twins.
    replaces: HashMap<Txid, bool>,
    /// Whether it replaces these batches, and whether a block holds one of their versions that pay.
    batches: HashMap<i64, (bool, bool)>,
}

/// Notes which payouts a twin pays that is stored already, and `moves_ours` or not: each of its outputs one whose address it pays exactly its
/// amount, in the order of their [`Standing`].
pub(super) fn store_outputs(tx: &Tx<'_>, txid: &Txid, facts: &TxFacts, moves_ours: bool) -> Result<(), StoreError> {
    let mut outputs: BTreeMap<(&Script, u64), Vec<u32>> = BTreeMap::new();
    for (vout, output) in (0u32..).zip(&facts.tx.output) {
        outputs.entry((output.script_pubkey.as_script(), output.value.to_sat())).or_default().push(vout);
    }
    let mut matching = Matching::of(tx, &facts.tx)?;
    for (paid, vouts) in outputs {
        let mut payouts = Vec::new();
        for (payout_seq, batch_seq) in tx.payouts_like(paid, vouts.len(), moves_ours, &facts.position)? {
            if let Some(standing) = matching.standing(payout_seq, batch_seq)? {
                payouts.push((standing, payout_seq));
            }
        }
        // Otherwise they stay in the order in which they are to be paid.
        payouts.sort_by_key(|(standing, _)| *standing);
        for (vout, (_, payout_seq)) in vouts.into_iter().zip(payouts) {
            tx.store_twin_output(txid, vout, payout_seq)?;
        }
    }
    Ok(())
}

impl<'a> Matching<'a> {
    fn of(reader: &'a Reader<'a>, twin: &Transaction) -> Result<Self, StoreError> {
        Ok(Self {
            reader,
            inputs: twin.input.iter().map(|input| input.previous_output).collect(),
            rests_on: rests_on(reader, twin)?,
            replaces: HashMap::new(),
            batches: HashMap::new(),
        })
    }

    /// What a payout of a batch, or of none yet, is to the twin; `None` where that rests on it.
    fn standing(&mut self, payout_seq: i64, batch_seq: Option<i64>) -> Result<Option<Standing>, StoreError> {
        if batch_seq.is_some_and(|batch_seq| self.rests_on.contains(&batch_seq)) {
            return Ok(None);
        }
        let (replaces_own, is_own_mined) = batch_seq.map_or(Ok((false, false)), |batch_seq| self.batch(batch_seq))?;
        let others = self.reader.twins_and_whether_mined(payout_seq)?;
        let mut replaces_all = !others.is_empty() || replaces_own;
        for (other, _) in &others {
            // One that stays is enough.
            if !replaces_all {
                break;
            }
            replaces_all = self.replaces(other)?;
        }
        let is_mined = is_own_mined || others.iter().any(|(_, is_mined)| *is_mined);
        Ok(Some(match (replaces_all, is_mined, others.is_empty()) {
            (true, ..) => Standing::Replaced,
            (false, false, true) => Standing::Unpaid,
            (false, false, false) => Standing::Waiting,
            (false, true, _) => Standing::Paid,
        }))
    }

    fn replaces(&mut self, other: &Txid) -> Result<bool, StoreError> {
        if let Some(replaces) = self.replaces.get(other) {
            return Ok(*replaces);
        }
        let other_tx = self.reader.twin(other)?.map(|twin| twin.tx);
        let mut spent = other_tx.iter().flat_map(|tx| &tx.input).map(|input| &input.previous_output);
        let replaces = spent.any(|outpoint| self.inputs.contains(outpoint));
        self.replaces.insert(*other, replaces);
        Ok(replaces)
    }

    fn batch(&mut self, batch_seq: i64) -> Result<(bool, bool), StoreError> {
        if let Some(known) = self.batches.get(&batch_seq) {
            return Ok(*known);
        }
        let replaces = self.reader.inputs_of_batch(batch_seq)?.iter().any(|outpoint| self.inputs.contains(outpoint));
        let versions = self.reader.versions(batch_seq)?;
        let is_mined = versions.iter().any(|version| version.pays && version.position.is_in_block());
        self.batches.insert(batch_seq, (replaces, is_mined));
        Ok((replaces, is_mined))
    }
}

/// The batches of which a transaction spends, through others of ours and of other copies of the wallet, what they make.
fn rests_on(reader: &Reader<'_>, tx: &Transaction) -> Result<BTreeSet<i64>, StoreError> {
    let parents = |tx: &Transaction| tx.input.iter().map(|input| input.previous_output.txid).collect::<Vec<_>>();
    let (mut batches, mut seen, mut open) = (BTreeSet::new(), BTreeSet::new(), parents(tx));
    while let Some(txid) = open.pop() {
        if seen.len() >= RESTS_ON_MAX || !seen.insert(txid) {
            continue;
        }
        match reader.version(&txid)? {
            Some(version) => {
                batches.insert(version.batch_seq);
                open.extend(parents(&version.tx));
            }
            None => open.extend(reader.twin(&txid)?.iter().flat_map(|twin| parents(&twin.tx))),
        }
    }
    Ok(batches)
}
