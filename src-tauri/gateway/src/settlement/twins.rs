//! Twins ([`tillgate_store::twins`]): the first sight of a twin puts the sender on hold, and a
//! mined twin settles payouts (interface, section 4, "Twin"). A twin in the mempool settles
//! nothing.

use std::collections::BTreeMap;

use bitcoin::{Address, Script, Txid};
use tillgate_chain::{TxFacts, TxPosition};
use tillgate_domain::batch::{Position, Version};
use tillgate_domain::money::format_btc;
use tillgate_domain::time::Timestamp;
use tillgate_store::coins::Coin;
use tillgate_store::payouts::PayoutRow;
use tillgate_store::twins::TwinRow;
use tillgate_store::{Reader, StoreError, Tx};
use tillgate_told::{Sum, Telling, Time, Told as _};

use super::conflict_height::conflict_height;
use super::touched::Touched;
use crate::gateway::StaffWarning;
use crate::notifications::outbox::{Outbox, OutboxError};

/// Outputs named in the reason of a hold. Nobody would read a longer list.
const OUTPUTS_NAMED: usize = 3;

/// The hold after signs of another copy of the wallet.
#[derive(Debug, thiserror::Error, tillgate_told::Told)]
pub enum CopyInUse {
    #[error(
        "another copy of this wallet is in use: it made transaction {txid} of {at}, which pays {paid}"
    )]
    Paid { txid: Txid, at: Time, paid: PaidTo },
    #[error(
        "another copy of this wallet is in use: it made transaction {txid} of {at}, which pays this wallet alone"
    )]
    PaidItself { txid: Txid, at: Time },
    #[error(
        "another copy of this wallet is in use: it gave a customer the address of index {index}, to which transaction {txid} of {at} pays {amount} BTC"
    )]
    GaveAddress { index: u32, txid: Txid, at: Time, amount: Sum },
    #[error(
        "another copy of this wallet may be in use: transaction {txid} of {at} pays {amount} BTC to the change address of index {index}, which this copy has not used"
    )]
    PaidChange { txid: Txid, at: Time, amount: Sum, index: u32 },
}

/// The payments of a transaction to others.
#[derive(Debug, thiserror::Error, tillgate_told::Told)]
pub enum PaidTo {
    #[error("{amount} BTC ({payee})")]
    One { amount: Sum, payee: String },
    #[error("{before}, {next}")]
    And { before: Telling, next: Telling },
    #[error("{before}, …")]
    More { before: Telling },
}

/// Stores the position of a twin. Its first sight puts the sender on hold.
pub fn store_position(
    outbox: &Outbox<'_>,
    txid: &Txid,
    facts: &TxFacts,
    pays_an_address: bool,
    touched: &mut Touched,
) -> Result<Option<StaffWarning>, OutboxError> {
    let tx = outbox.tx;
    let (known, made_at) = (tx.is_twin(txid)?, facts.position.made_at(outbox.now));
    if !known && facts.position == TxPosition::Absent {
        return Ok(None);
    }
    tx.store_transaction(&facts.tx, txid, outbox.now)?;
    touched.twins.insert(*txid);
    if known {
        tx.move_twin(txid, &facts.position, facts.conflict_height)?;
        if let (TxPosition::Block { .. }, Some(made_at)) = (facts.position, made_at) {
            tx.date_twin(txid, made_at)?;
        }
        return Ok(None);
    }
    // Twins noticed since the restore are listed, so this time is never earlier, even if the clock
    // was set back.
    let noticed_at = tx.restore()?.map_or(outbox.now, |restore| restore.begun_at.max(outbox.now));
    tx.insert_twin(txid, &facts.position, noticed_at, made_at)?;
    hold(outbox, txid, facts, pays_an_address)
}

/// Matches each output of a mined twin with a payout of the same address and exact amount. QUEUED
/// payouts come first, then FAILED ones, then offers.
pub fn match_mined(tx: &Tx<'_>, txid: &Txid) -> Result<(), StoreError> {
    let Some(twin) = tx.twin(txid)?.filter(|twin| !twin.is_matched) else { return Ok(()) };
    let Position::Block { height } = twin.position else { return Ok(()) };
    let mut outputs: BTreeMap<(&Script, u64), Vec<u32>> = BTreeMap::new();
    for (vout, output) in (0u32..).zip(&twin.tx.output) {
        outputs
            .entry((output.script_pubkey.as_script(), output.value.to_sat()))
            .or_default()
            .push(vout);
    }
    for (paid, vouts) in outputs {
        let payouts = tx.payouts_to_match(paid, vouts.len(), height)?;
        for (vout, payout_seq) in vouts.into_iter().zip(payouts) {
            tx.store_twin_output(txid, vout, payout_seq)?;
        }
    }
    tx.note_matched(txid)
}

/// Puts the sender on hold. During a restored copy's scan, the twin is only counted, and reported
/// at the end of the scan. A twin that pays one of our addresses is counted by [`notice_address`].
fn hold(
    outbox: &Outbox<'_>,
    txid: &Txid,
    facts: &TxFacts,
    pays_an_address: bool,
) -> Result<Option<StaffWarning>, OutboxError> {
    let tx = outbox.tx;
    if tx.dangerous_restore()?.is_some() {
        if !pays_an_address {
            tx.count_unknown()?;
        }
        return Ok(None);
    }
    let reason = made(outbox, txid, facts)?;
    tx.hold_sender(outbox.now, &reason)?;
    Ok(Some(StaffWarning::TwinWallet { txid: *txid }))
}

/// The hold after a transaction, with its time, and the addresses and amounts outside this wallet.
fn made(outbox: &Outbox<'_>, txid: &Txid, facts: &TxFacts) -> Result<CopyInUse, StoreError> {
    let network = outbox.gateway.network;
    let at = facts.position.made_at(outbox.now).unwrap_or(outbox.now);
    let mut paid = Vec::new();
    for output in &facts.tx.output {
        if !outbox.gateway.is_ours(outbox.tx, &output.script_pubkey)? {
            let address = Address::from_script(&output.script_pubkey, network);
            let payee = address.map_or_else(
                |_| output.script_pubkey.to_hex_string(),
                |address| address.to_string(),
            );
            paid.push(PaidTo::One { amount: Sum(format_btc(output.value.to_sat())), payee });
        }
    }
    let (txid, at) = (*txid, at.into());
    Ok(match all_of(paid) {
        Some(paid) => CopyInUse::Paid { txid, at, paid },
        None => CopyInUse::PaidItself { txid, at },
    })
}

/// The payments as one sentence, with [`OUTPUTS_NAMED`] of them at most; `None` if there are none.
fn all_of(paid: Vec<PaidTo>) -> Option<PaidTo> {
    let are_more = paid.len() > OUTPUTS_NAMED;
    let named = paid.into_iter().take(OUTPUTS_NAMED);
    let all = named
        .reduce(|before, next| PaidTo::And { before: before.telling(), next: next.telling() })?;
    Some(if are_more { PaidTo::More { before: all.telling() } } else { all })
}

/// Puts the sender on hold after a transaction paid addresses that no payment here has: another
/// copy of this wallet gave them. `index` is the highest of these addresses. Call this at the first
/// sight of the transaction.
///
/// A restored copy ignores indices below the first index that it gave: customers from before the
/// restore may still pay.
pub fn notice_address(
    outbox: &Outbox<'_>,
    (txid, amount_sats, at): (&Txid, u64, Timestamp),
    index: u32,
) -> Result<Option<StaffWarning>, StoreError> {
    let tx = outbox.tx;
    if tx.count_unknown()? {
        return Ok(None);
    }
    if tx
        .restore()?
        .and_then(|restore| restore.first_given)
        .is_some_and(|first_given| index < first_given)
    {
        tracing::info!(%txid, index, "coins came to an address that was given before the wallet was restored");
        return Ok(None);
    }
    let (at, amount) = (at.into(), Sum(format_btc(amount_sats)));
    let reason = CopyInUse::GaveAddress { index, txid: *txid, at, amount };
    tx.hold_sender(outbox.now, &reason)?;
    Ok(Some(StaffWarning::TwinWallet { txid: *txid }))
}

/// Puts the sender on hold after a payment to a change address that no transaction of ours used.
/// Either another copy of this wallet spent coins unknown here, or somebody pays that address.
/// During its scan a restored copy sends nothing anyway.
pub fn notice_change(
    outbox: &Outbox<'_>,
    (txid, at): (&Txid, Timestamp),
    coin: &Coin,
) -> Result<Option<StaffWarning>, StoreError> {
    if outbox.tx.dangerous_restore()?.is_some() {
        return Ok(None);
    }
    let (at, amount) = (at.into(), Sum(format_btc(coin.amount_sats)));
    let reason = CopyInUse::PaidChange { txid: *txid, at, amount, index: coin.index };
    outbox.tx.hold_sender(outbox.now, &reason)?;
    Ok(Some(StaffWarning::TwinWallet { txid: *txid }))
}

/// A twin as input for [`tillgate_domain::batch::settle`]. Its conflicts come from the backend and
/// from our own coins.
pub fn facts(reader: &Reader<'_>, twin: &TwinRow) -> Result<Version, StoreError> {
    let TwinRow { txid, position, .. } = *twin;
    let of_coins = conflict_height(reader, &twin.tx, &txid)?;
    let conflict_height = [twin.conflict_height, of_coins].into_iter().flatten().min();
    Ok(Version { txid, pays: true, accepted: false, position, conflict_height })
}

/// Twins that were never mined and may still be.
pub struct UnminedTwins(Vec<TwinRow>);

impl UnminedTwins {
    pub fn load(reader: &Reader<'_>) -> Result<Self, StoreError> {
        let tip_height = reader.tip_height()?;
        let mut twins = Vec::new();
        for twin in reader.unmined_twins(tip_height)? {
            if !twin.is_matched && !facts(reader, &twin)?.is_ruled_out(tip_height) {
                twins.push(twin);
            }
        }
        Ok(Self(twins))
    }

    /// Twins with an output to the payout's address of its exact amount.
    pub fn paying<'a>(&'a self, payout: &'a PayoutRow) -> impl Iterator<Item = &'a TwinRow> {
        let pays = move |twin: &&TwinRow| {
            let mut outputs = twin.tx.output.iter();
            outputs.any(|it| {
                it.script_pubkey == payout.script && it.value.to_sat() == payout.amount_sats
            })
        };
        self.0.iter().filter(pays)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_most_three_payments_of_another_copy_are_named() {
        let paid = |count: u64| {
            let one =
                |sats| PaidTo::One { amount: Sum(format_btc(sats)), payee: format!("payee{sats}") };
            all_of((1..=count).map(one).collect()).map(|paid| paid.to_string())
        };
        assert_eq!(paid(0), None);
        let first = "0.00000001 BTC (payee1)";
        assert_eq!(paid(1).as_deref(), Some(first));
        let three = format!("{first}, 0.00000002 BTC (payee2), 0.00000003 BTC (payee3)");
        assert_eq!(paid(3), Some(three.clone()));
        assert_eq!(paid(4), Some(three + ", …"));
    }
}
