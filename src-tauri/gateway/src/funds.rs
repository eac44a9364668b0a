//! The coins that payouts may spend now, and their fee rate. This module writes nothing.

use std::collections::BTreeMap;

use bitcoin::{FeeRate, Transaction, Txid};
use tillgate_chain::NodeFeeRates;
use tillgate_domain::batch::Position;
use tillgate_store::coins::{CHOICE_MAX, CoinFacts, UnspentCoin};
use tillgate_store::{Reader, StoreError};

use crate::gateway::{Gateway, KnownFeeRates, WalletSlot};
use crate::settings::{AddressType, Settings};
use crate::wallet::spend::{self, Paid, SpendableCoin};

/// Assumed fee, in satoshis, of an unconfirmed transaction that is not ours, such as a customer's
/// or another copy's. Its real fee is not known. With this value, our transaction never pays a part
/// for such an ancestor.
const FEE_OF_OTHERS: u64 = 1 << 40;

/// The fee rate for payouts at present, and its limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PayoutFeeRate {
    /// The backend's estimate or the setting `feeFallbackSatVb`, at least the floor and the
    /// backend's minimum.
    pub estimate: FeeRate,
    /// The setting `feeCapSatVb`.
    pub cap: FeeRate,
    /// The rate that a replacement adds (BIP125, rule 4).
    pub increment: FeeRate,
}

/// The reason why there is no fee rate for a transaction that is signed now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error, tillgate_told::Told)]
pub enum NoFeeRate {
    #[error("the Bitcoin backend did not say what fee the network asks for")]
    Silent,
    /// The setting `feeFallbackSatVb` names no rate either.
    #[error("the Bitcoin backend has no estimate of the network's fee rate")]
    NoEstimate,
}

impl PayoutFeeRate {
    /// Whether the estimate is above the cap. Then payouts wait.
    pub fn is_above_cap(&self) -> bool {
        self.estimate > self.cap
    }

    /// The estimate, at most the cap. Offers and abandonments use it.
    pub fn capped(&self) -> FeeRate {
        self.estimate.min(self.cap)
    }

    /// Applies the settings `feeFloorSatVb` and `feeCapSatVb`.
    fn new(rate: FeeRate, node: Option<NodeFeeRates>, settings: &Settings) -> Self {
        let minimum = node.map_or(FeeRate::ZERO, |node| node.minimum);
        Self {
            estimate: rate.max(sat_vb(settings.fee_floor_sat_vb)).max(minimum),
            cap: sat_vb(settings.fee_cap_sat_vb),
            increment: node.map_or(FeeRate::BROADCAST_MIN, |node| node.increment),
        }
    }

    /// The rate of offers: as for a transaction that is signed now, or else the last estimate, or
    /// else the floor.
    fn of_offers(known: Option<KnownFeeRates>, settings: &Settings) -> Self {
        let rate = known.and_then(|known| last_rate(&known, settings)).unwrap_or(FeeRate::ZERO);
        Self::new(rate, known.map(|known| known.rates), settings)
    }
}

/// The estimate, or else the setting `feeFallbackSatVb`, which never exceeds the cap.
fn estimate_or_fallback(rates: &NodeFeeRates, settings: &Settings) -> Option<FeeRate> {
    let fallback = settings.fee_fallback_sat_vb.min(settings.fee_cap_sat_vb);
    rates.estimate.or_else(|| (fallback > 0).then(|| sat_vb(fallback)))
}

/// As [`estimate_or_fallback`], or else the last estimate.
fn last_rate(known: &KnownFeeRates, settings: &Settings) -> Option<FeeRate> {
    estimate_or_fallback(&known.rates, settings).or(known.estimate)
}

const fn sat_vb(rate: u32) -> FeeRate {
    FeeRate::from_sat_per_vb_u32(rate)
}

/// The rate of offers and estimates. While the backend is silent, its last answer is used, or else
/// the floor.
pub async fn fee_rate(gateway: &Gateway, settings: &Settings) -> PayoutFeeRate {
    PayoutFeeRate::of_offers(gateway.fee_rates_of_offers().await, settings)
}

/// The last known rate, to explain why payouts wait. Asks no backend.
pub fn fee_rate_known(gateway: &Gateway, settings: &Settings) -> PayoutFeeRate {
    PayoutFeeRate::of_offers(gateway.fee_rates_known(), settings)
}

/// As [`fee_rate_known`]; `None` if the backend has named no estimate since the start, and no
/// fallback is set.
pub fn fee_rate_wanted(gateway: &Gateway, settings: &Settings) -> Option<FeeRate> {
    let known = gateway.fee_rates_known()?;
    last_rate(&known, settings)
        .map(|rate| PayoutFeeRate::new(rate, Some(known.rates), settings).estimate)
}

/// The rate of a transaction signed now, from an answer at most a minute old.
///
/// # Errors
/// The reason why there is none.
pub async fn fee_rate_now(
    gateway: &Gateway,
    settings: &Settings,
) -> Result<PayoutFeeRate, NoFeeRate> {
    let rates = gateway.fee_rates_now().await.ok_or(NoFeeRate::Silent)?;
    let rate = estimate_or_fallback(&rates, settings).ok_or(NoFeeRate::NoEstimate)?;
    Ok(PayoutFeeRate::new(rate, Some(rates), settings))
}

/// Coins that a payout could spend now, the oldest first. If there are very many, only those that
/// `unspent_coins` chooses for one transaction.
pub fn spendable_coins(
    reader: &Reader<'_>,
    settings: &Settings,
) -> Result<Vec<SpendableCoin>, StoreError> {
    let coins = reader.unspent_coins(reader.tip_height()?, settings.spend_confirmations)?;
    let mut spendable = Vec::with_capacity(coins.len());
    for coin in &coins {
        if coin.height.is_some() || !may_never_be_mined(reader, &coin.outpoint.txid)? {
            spendable.push(with_ancestors(reader, coin)?);
        }
    }
    Ok(spendable)
}

/// Whether a paying transaction of ours, or an unconfirmed ancestor of it, is being given up.
pub fn is_given_up(reader: &Reader<'_>, txid: &Txid) -> Result<bool, StoreError> {
    for ancestor in unconfirmed(reader, txid)?.keys() {
        if let Some(version) = reader.version(ancestor)?
            && version.pays
            && reader.is_given_up(version.batch_seq)?
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether a transaction of ours may never be mined. This is so if it or an unconfirmed ancestor is
/// being given up, has a payout that another copy pays, or has an input that another transaction
/// spends.
fn may_never_be_mined(reader: &Reader<'_>, txid: &Txid) -> Result<bool, StoreError> {
    for ancestor in unconfirmed(reader, txid)?.keys() {
        let Some(batch_seq) = reader.batch_of_version(ancestor)? else { continue };
        if reader.is_given_up(batch_seq)? || reader.is_paid_by_twin(batch_seq)? {
            return Ok(true);
        }
        for outpoint in reader.inputs_of_batch(batch_seq)? {
            let facts = reader.coin_facts(&outpoint)?;
            let is_disputed = |facts: CoinFacts| {
                facts.conflict_height.is_some()
                    || facts.spent_by.is_some_and(|spender| spender != *ancestor)
            };
            if facts.is_some_and(is_disputed) {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// Sum of all coins that are worth spending at a rate, in satoshis.
pub fn spendable_sats(
    reader: &Reader<'_>,
    settings: &Settings,
    fee_rate: PayoutFeeRate,
    address_type: AddressType,
) -> Result<u64, StoreError> {
    let (tip_height, confirmations) = (reader.tip_height()?, settings.spend_confirmations);
    let coins = spendable_coins(reader, settings)?;
    let worth =
        coins.iter().filter(|coin| spend::is_worth_spending(coin, fee_rate.capped(), address_type));
    let (count, worth_sats) = worth.fold((0usize, 0u64), |(count, sum), coin| {
        (count + 1, sum.saturating_add(coin.amount_sats))
    });
    // `unspent_coins` includes the `CHOICE_MAX` largest coins. If fewer coins are worth spending,
    // no smaller coin is.
    if count < CHOICE_MAX as usize {
        return Ok(worth_sats);
    }
    let choice = reader.unspent_coins(tip_height, confirmations)?;
    let choice_sats = choice.iter().fold(0u64, |sum, coin| sum.saturating_add(coin.amount_sats));
    let left_out_sats = reader.unspent_sats(tip_height, confirmations)?.saturating_sub(choice_sats);
    Ok(worth_sats.saturating_add(left_out_sats))
}

pub fn address_type(wallet: &WalletSlot, settings: &Settings) -> AddressType {
    wallet.get().map_or(settings.address_type, |wallet| wallet.keychains.address_type())
}

/// A coin with its unconfirmed ancestors.
pub fn with_ancestors(
    reader: &Reader<'_>,
    coin: &UnspentCoin,
) -> Result<SpendableCoin, StoreError> {
    let UnspentCoin { outpoint, keychain, index, amount_sats, height } = *coin;
    let ancestors = match height {
        Some(_) => BTreeMap::new(),
        None => unconfirmed(reader, &outpoint.txid)?,
    };
    let (mut ancestors_vsize, mut ancestors_fee_sats) = (0u64, 0u64);
    for Unconfirmed { paid, .. } in ancestors.values() {
        ancestors_vsize = ancestors_vsize.saturating_add(paid.vsize);
        ancestors_fee_sats = ancestors_fee_sats.saturating_add(paid.fee_sats);
    }
    let ancestors = u32::try_from(ancestors.len()).unwrap_or(u32::MAX);
    Ok(SpendableCoin {
        outpoint,
        amount_sats,
        keychain,
        index,
        height,
        ancestors,
        ancestors_vsize,
        ancestors_fee_sats,
    })
}

pub struct Unconfirmed {
    pub tx: Transaction,
    /// Its fee and size. The fee of a transaction that is not ours is `FEE_OF_OTHERS`.
    pub paid: Paid,
}

/// A transaction with an output of ours, and its ancestors, by txid. Transactions that are
/// confirmed or not in the database are left out.
pub fn unconfirmed(
    reader: &Reader<'_>,
    txid: &Txid,
) -> Result<BTreeMap<Txid, Unconfirmed>, StoreError> {
    let mut found: BTreeMap<Txid, Unconfirmed> = BTreeMap::new();
    let mut open = vec![*txid];
    while let Some(txid) = open.pop() {
        if found.contains_key(&txid) {
            continue;
        }
        let Some(one) = unconfirmed_one(reader, &txid)? else { continue };
        open.extend(one.tx.input.iter().map(|input| input.previous_output.txid));
        found.insert(txid, one);
    }
    Ok(found)
}

fn unconfirmed_one(reader: &Reader<'_>, txid: &Txid) -> Result<Option<Unconfirmed>, StoreError> {
    if let Some(version) = reader.version(txid)? {
        return Ok(match version.position {
            Position::Block { .. } => None,
            Position::Mempool | Position::Absent => {
                let paid = Paid { fee_sats: version.fee_sats, vsize: version.vsize };
                Some(Unconfirmed { tx: version.tx, paid })
            }
        });
    }
    if let Some(twin) = reader.twin(txid)? {
        return Ok(match twin.position {
            Position::Block { .. } => None,
            Position::Mempool | Position::Absent => Some(of_others(twin.tx)),
        });
    }
    match reader.position_of_coins(txid)? {
        None | Some(Position::Block { .. }) => Ok(None),
        Some(Position::Mempool | Position::Absent) => {
            Ok(reader.stored_transaction(txid)?.map(of_others))
        }
    }
}

fn of_others(tx: Transaction) -> Unconfirmed {
    let vsize = tx.weight().to_vbytes_ceil();
    Unconfirmed { paid: Paid { fee_sats: FEE_OF_OTHERS, vsize }, tx }
}
