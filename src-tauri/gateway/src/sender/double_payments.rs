//! Transactions of ours that must not be made or broadcast (interface, section 4, "Twin"), because
//! another copy of this wallet pays the same payout with other coins. If both transactions were
//! mined, the payout would be paid twice.

use std::collections::{BTreeMap, BTreeSet};

use bitcoin::{OutPoint, Transaction, Txid};
use tillgate_chain::parents_first;
use tillgate_domain::batch::Position;
use tillgate_domain::money::format_btc;
use tillgate_store::payouts::PayoutRow;
use tillgate_store::twins::TwinRow;
use tillgate_store::{Reader, StoreError};
use tillgate_told::Sum;

use crate::funds::{self, Unconfirmed};
use crate::gateway::{Wait, WaitCause, Waits};
use crate::settlement::twins::{self, UnminedTwins};
use crate::wallet::spend::SpendableCoin;

/// Effect of unmined twins on a payout.
pub enum Payable {
    /// Without coins no twin pays it. Else a transaction of its own may pay it ([`super::instead`])
    /// if it also spends these coins, one input of each twin. Then only one of the transactions can
    /// be mined.
    Spending(Vec<SpendableCoin>),
    /// It waits until a block holds the twin or rules it out.
    Waits(Wait),
}

/// Whether a payout can be paid although unmined twins pay it too.
pub fn payable(
    reader: &Reader<'_>,
    twins: &UnminedTwins,
    payout: &PayoutRow,
) -> Result<Payable, StoreError> {
    let mut coins: Vec<SpendableCoin> = Vec::new();
    for twin in twins.paying(payout) {
        let left = coins_of(reader, twin)?;
        match left.iter().max_by_key(|coin| coin.amount_sats) {
            _ if left.iter().any(|coin| coins.contains(coin)) => {}
            Some(coin) => coins.push(*coin),
            None if is_ruled_out(reader, twin)? => {}
            None => return Ok(Payable::Waits(waits_for(twin, payout))),
        }
    }
    Ok(Payable::Spending(coins))
}

/// A twin and its unmined ancestors that are twins. A transaction that spends a coin of any of them
/// rules the twin out.
pub fn with_twin_ancestors(
    reader: &Reader<'_>,
    twin: &TwinRow,
) -> Result<BTreeMap<Txid, Transaction>, StoreError> {
    let mut line = BTreeMap::from([(twin.txid, twin.tx.clone())]);
    let mut open: Vec<Txid> = inputs(&twin.tx).map(|input| input.txid).collect();
    while let Some(txid) = open.pop() {
        if let Some(below) = reader.twin(&txid)?.filter(|below| !below.position.is_in_block())
            && !line.contains_key(&txid)
        {
            open.extend(inputs(&below.tx).map(|input| input.txid));
            line.insert(txid, below.tx);
        }
    }
    Ok(line)
}

pub fn inputs(tx: &Transaction) -> impl Iterator<Item = OutPoint> {
    tx.input.iter().map(|input| input.previous_output)
}

/// The coins that a twin or its unmined ancestors spend, and that our transaction can spend
/// instead.
pub fn coins_of(reader: &Reader<'_>, twin: &TwinRow) -> Result<Vec<SpendableCoin>, StoreError> {
    let mut coins = Vec::new();
    let line = with_twin_ancestors(reader, twin)?;
    for outpoint in line.values().flat_map(inputs) {
        let Some(facts) = reader.coin_facts(&outpoint)? else { continue };
        let is_left = facts.spent_height.is_none()
            && facts.conflict_height.is_none()
            && facts.position.is_in_block()
            && facts.spent_by.is_none_or(|spender| line.contains_key(&spender))
            && reader.live_batch_of_input(&outpoint)?.is_none();
        if let Some(coin) = reader.coin_of_input(&outpoint)?.filter(|_| is_left) {
            coins.push(funds::with_ancestors(reader, &coin)?);
        }
    }
    Ok(coins)
}

/// Whether a block rules a twin out, and none of its coins can be spent any more. Any block
/// suffices then: no transaction of ours could wait for it with a coin of the twin.
fn is_ruled_out(reader: &Reader<'_>, twin: &TwinRow) -> Result<bool, StoreError> {
    if !coins_of(reader, twin)?.is_empty() {
        return Ok(false);
    }
    for (txid, tx) in with_twin_ancestors(reader, twin)? {
        if reader.twin(&txid)?.is_some_and(|it| it.conflict_height.is_some()) {
            return Ok(true);
        }
        for outpoint in inputs(&tx) {
            let facts = reader.coin_facts(&outpoint)?;
            if facts
                .is_some_and(|coin| coin.spent_height.is_some() || coin.conflict_height.is_some())
            {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

fn waits_for(twin: &TwinRow, payout: &PayoutRow) -> Wait {
    WaitCause::PaidByCopy.because(&Waits::CopyPays {
        txid: twin.txid,
        noticed_at: twin.noticed_at.into(),
        amount: Sum(format_btc(payout.amount_sats)),
        address: payout.address.clone(),
    })
}

/// Whether a transaction must not be broadcast: another copy of the wallet pays one of its payouts,
/// or one of its unconfirmed ancestors'.
pub fn is_held_back(reader: &Reader<'_>, txid: &Txid) -> Result<bool, StoreError> {
    is_any_paid_otherwise(reader, &funds::unconfirmed(reader, txid)?)
}

/// A stored transaction after its unconfirmed ancestors, parents first; `None` if it must not be
/// broadcast.
pub fn package(reader: &Reader<'_>, txid: &Txid) -> Result<Option<Vec<Transaction>>, StoreError> {
    let unconfirmed = funds::unconfirmed(reader, txid)?;
    if is_any_paid_otherwise(reader, &unconfirmed)? || funds::is_given_up(reader, txid)? {
        return Ok(None);
    }
    Ok(Some(parents_first(unconfirmed, |one| &one.tx).into_iter().map(|one| one.tx).collect()))
}

fn is_any_paid_otherwise(
    reader: &Reader<'_>,
    unconfirmed: &BTreeMap<Txid, Unconfirmed>,
) -> Result<bool, StoreError> {
    for ancestor in unconfirmed.keys() {
        if let Some(version) = reader.version(ancestor)?
            && version.pays
            && is_paid_otherwise(reader, version.batch_seq)?
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether another copy of the wallet pays a payout of this batch. A twin in a block counts. An
/// unmined twin counts if it spends other coins than ours and no node accepted our transaction.
pub fn is_paid_otherwise(reader: &Reader<'_>, batch_seq: i64) -> Result<bool, StoreError> {
    let versions = reader.versions(batch_seq)?;
    let was_taken = versions
        .iter()
        .any(|version| version.accepted_at.is_some() || version.position != Position::Absent);
    let ours: BTreeSet<OutPoint> = reader.inputs_of_batch(batch_seq)?.into_iter().collect();
    let is_beside = |twin: &TwinRow| {
        let line = with_twin_ancestors(reader, twin)?;
        Ok::<_, StoreError>(!line.values().flat_map(inputs).any(|input| ours.contains(&input)))
    };
    let tip_height = reader.tip_height()?;
    let unmined = if was_taken { None } else { Some(UnminedTwins::load(reader)?) };
    for payout in reader.payouts_of_batch(batch_seq)? {
        for twin in reader.twins_of_payout(payout.seq)? {
            let may_be_mined = !twins::facts(reader, &twin)?.is_ruled_out(tip_height);
            if twin.position.is_in_block() || (may_be_mined && is_beside(&twin)?) {
                return Ok(true);
            }
        }
        for twin in unmined.iter().flat_map(|twins| twins.paying(&payout)) {
            if is_beside(twin)? && !is_ruled_out(reader, twin)? {
                return Ok(true);
            }
        }
    }
    Ok(false)
}
