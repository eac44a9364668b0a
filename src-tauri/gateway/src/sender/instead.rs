//! Pays a payout instead of another copy's transaction (interface, section 4, "Twin"). The payout
//! has a transaction of its own, which spends a coin of each twin, so that only one of them can be
//! mined. If a twin is in the mempool, the fee replaces it there (BIP125).

use std::collections::BTreeMap;
use tillgate_chain::Chain;

use bitcoin::{FeeRate, OutPoint, Transaction, Txid};
use tillgate_domain::batch::Position;
use tillgate_store::payouts::PayoutRow;
use tillgate_store::twins::TwinRow;
use tillgate_store::{Reader, StoreError};

use super::chosen::{Chosen, seed};
use super::double_payments::{inputs, with_twin_ancestors};
use super::error::Unsent;
use crate::funds::PayoutFeeRate;
use crate::gateway::{Gateway, WaitCause, Waits};
use crate::settlement::twins::UnminedTwins;
use crate::wallet::spend::{self, FeeWanted, Funding, Paid, Payee, SpendableCoin};

/// A payout that twins pay, and the coins of its own transaction.
pub struct Contested {
    pub payout: PayoutRow,
    /// One coin of each twin, which the transaction spends.
    pub required: Vec<SpendableCoin>,
    /// All coins of its twins that can be spent.
    pub coins: Vec<SpendableCoin>,
    pub replaced: Replaced,
}

/// The transactions of another copy that leave the mempool once a node accepts ours.
#[derive(Debug, Default)]
pub struct Replaced {
    /// Their fees and sizes. An entry's fee is 0 if an input is not ours.
    paid: Vec<Paid>,
    /// Those among them that spend no other of them.
    roots: Vec<Txid>,
}

impl Replaced {
    /// The payout's twins in the mempool with their ancestors there, and the twins that spend
    /// outputs of these.
    pub fn load(
        reader: &Reader<'_>,
        twins: &UnminedTwins,
        payout: &PayoutRow,
    ) -> Result<Self, StoreError> {
        let mut txs: BTreeMap<Txid, Transaction> = BTreeMap::new();
        for twin in twins.paying(payout) {
            for (txid, tx) in with_twin_ancestors(reader, twin)? {
                if reader.twin(&txid)?.is_some_and(|it| it.position == Position::Mempool) {
                    txs.insert(txid, tx);
                }
            }
        }
        Self::with_descendants(reader, txs)
    }

    /// The twins in the mempool that spend one of these coins, and those that spend outputs of
    /// these.
    pub fn spending(reader: &Reader<'_>, coins: &[OutPoint]) -> Result<Self, StoreError> {
        let mut txs: BTreeMap<Txid, Transaction> = BTreeMap::new();
        for twin in in_mempool(reader)? {
            if inputs(&twin.tx).any(|input| coins.contains(&input)) {
                txs.insert(twin.txid, twin.tx);
            }
        }
        Self::with_descendants(reader, txs)
    }

    fn with_descendants(
        reader: &Reader<'_>,
        mut txs: BTreeMap<Txid, Transaction>,
    ) -> Result<Self, StoreError> {
        let mut others = in_mempool(reader)?;
        others.retain(|twin| !txs.contains_key(&twin.txid));
        loop {
            let is_child = |tx: &Transaction| inputs(tx).any(|input| txs.contains_key(&input.txid));
            let (children, rest): (Vec<_>, Vec<_>) =
                others.into_iter().partition(|twin| is_child(&twin.tx));
            if children.is_empty() {
                break;
            }
            txs.extend(children.into_iter().map(|twin| (twin.txid, twin.tx)));
            others = rest;
        }
        let mut replaced = Self::default();
        for (txid, tx) in &txs {
            let vsize = tx.weight().to_vbytes_ceil();
            replaced.paid.push(Paid { fee_sats: known_fee_sats(reader, tx)?.unwrap_or(0), vsize });
            if !inputs(tx).any(|input| txs.contains_key(&input.txid)) {
                replaced.roots.push(*txid);
            }
        }
        Ok(replaced)
    }

    /// The fee at this rate, at least that of BIP125. `increment` is the rate that a replacement
    /// adds. Blocks.
    pub fn fee(&self, gateway: &Gateway, rate: FeeRate, increment: FeeRate) -> FeeWanted {
        let fee = FeeWanted::at(rate).adding(increment);
        if self.paid.is_empty() {
            return fee;
        }
        fee.replacing(&self.paid).replacing_fees(self.fees_sats(gateway.backend.chain.as_ref()))
    }

    /// Their fees and sizes.
    pub fn paid(&self) -> &[Paid] {
        &self.paid
    }

    /// The sum of their fees. Asks the backend, which may know further descendants. Blocks.
    pub fn fees_sats(&self, chain: &dyn Chain) -> u64 {
        let known_sats = self.paid.iter().fold(0u64, |sum, paid| sum.saturating_add(paid.fee_sats));
        // Without an answer the fee may be too low. Then the backend's refusal names the needed
        // fee.
        let told = |root: &Txid| chain.fees_with_descendants(&[*root]).ok().flatten().unwrap_or(0);
        let told_sats = self.roots.iter().map(told).fold(0u64, u64::saturating_add);
        known_sats.max(told_sats)
    }
}

fn in_mempool(reader: &Reader<'_>) -> Result<Vec<TwinRow>, StoreError> {
    let mut twins = reader.unmined_twins(reader.tip_height()?)?;
    twins.retain(|twin| twin.position == Position::Mempool);
    Ok(twins)
}

/// Fee of a transaction that spends coins of ours alone; `None` for any other.
fn known_fee_sats(reader: &Reader<'_>, tx: &Transaction) -> Result<Option<u64>, StoreError> {
    let mut spent_sats = 0u64;
    for outpoint in inputs(tx) {
        let Some(coin) = reader.coin_facts(&outpoint)? else { return Ok(None) };
        spent_sats = spent_sats.saturating_add(coin.amount_sats);
    }
    let paid_sats =
        tx.output.iter().fold(0u64, |sum, output| sum.saturating_add(output.value.to_sat()));
    Ok(spent_sats.checked_sub(paid_sats))
}

/// Chooses coins for the payout alone: one of each twin, and those of `funding`. Another payout of
/// the same twin needs a coin of it, so the twins' other coins are taken only if these do not
/// suffice. Blocks.
pub fn choose(
    gateway: &Gateway,
    contested: &Contested,
    funding: &Funding<'_>,
    rate: PayoutFeeRate,
) -> Result<Chosen, Unsent> {
    let Contested { payout, required, coins, replaced } = contested;
    let fee = replaced.fee(gateway, rate.estimate, rate.increment);
    let payees = [Payee { script: payout.script.clone(), amount_sats: payout.amount_sats }];
    let with_theirs: Vec<SpendableCoin> = funding.optional.iter().chain(coins).copied().collect();
    let funding = Funding { required, fee, ..*funding };
    let seed = seed(gateway.machine.entropy.as_ref())?;
    let spend = spend::choose(&payees, &funding, seed)
        .or_else(|_| spend::choose(&payees, &Funding { optional: &with_theirs, ..funding }, seed))
        .map_err(|error| Unsent::Obstacle(error.into()))?;
    if fee.replaced_sats.is_some() && spend.fee_sats > payout.amount_sats {
        return Err(Unsent::Waits(
            WaitCause::PaidByCopy.because(&Waits::ReplacingCosts { fee_sats: spend.fee_sats }),
        ));
    }
    let fee = funding.fee_for_inputs(&spend.inputs);
    // BIP125 may need a rate above `feeCapSatVb`.
    Ok(Chosen { spend, payouts: vec![payout.seq], fee, cap: rate.cap.max(fee.rate) })
}
