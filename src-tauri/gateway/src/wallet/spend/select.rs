//! Chooses the coins that a transaction spends.
//!
//! BDK's selection takes coins in a given order until they suffice. Our order is total, so that the
//! fee named in an offer holds while the coins stay the same.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use bdk_wallet::chain::{BlockId, ChainPosition, ConfirmationBlockTime};
use bdk_wallet::coin_selection::{CoinSelectionAlgorithm as _, OldestFirstCoinSelection};
use bdk_wallet::{KeychainKind, LocalOutput, Utxo, WeightedUtxo};
use bitcoin::hashes::Hash as _;
use bitcoin::secp256k1::rand::SeedableRng as _;
use bitcoin::secp256k1::rand::rngs::StdRng;
use bitcoin::{Amount, BlockHash, FeeRate, OutPoint, ScriptBuf, TxIn, TxOut, Weight};

use super::error::SpendError;
use super::fee::{FeeWanted, MAX_RATE};
use super::funding::Funding;
use super::size::{Shape, input_wu, output_wu};
use super::spendable_coin::SpendableCoin;
use crate::settings::AddressType;

/// The most unconfirmed ancestors of a transaction of ours, itself not counted. Nodes relay 63,
/// those of Bitcoin Core before 31.0 only 24, so all relay ours.
pub const MAX_ANCESTORS: u32 = 10;

/// The largest vsize of a transaction of ours with its unconfirmed ancestors. Nodes relay 101 kvB.
pub const MAX_VSIZE_WITH_ANCESTORS: u64 = 90_000;

/// A coin of at least this many times the cost of spending it is tried first: at most a tenth of it
/// goes to the fee. So the wallet consolidates small coins while fees are low, and not while fees
/// are high.
const THRIFTY_TIMES: u64 = 10;

/// A coin of less than this many times the cost of spending it is not spent until the fee rate
/// falls. So the inputs cost at most half of their sum, even if an attacker sent many small coins.
const WORTH_TIMES: u64 = 2;

/// Whether a coin is worth spending at a fee rate. Its cost includes the fees that its unconfirmed
/// ancestors lack.
pub fn is_worth_spending(
    coin: &SpendableCoin,
    fee_rate: FeeRate,
    address_type: AddressType,
) -> bool {
    let fee = FeeWanted::at(fee_rate);
    covers(
        coin,
        WORTH_TIMES,
        input_sats(&fee, address_type).saturating_add(fee.shortfall_sats(coin.ancestors_paid())),
    )
}

/// Whether a coin is worth at least this many times the cost of spending it.
const fn covers(coin: &SpendableCoin, times: u64, cost_sats: u64) -> bool {
    coin.amount_sats >= times.saturating_mul(cost_sats)
}

fn input_sats(fee: &FeeWanted, address_type: AddressType) -> u64 {
    fee.by_rate(input_wu(address_type).div_ceil(4))
}

/// The part of the coins that returns to us.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rest {
    /// Change, so that a child can pay for its parent; none if the coins do not suffice for it.
    Change,
    /// The whole sum after the fee: the transaction pays only ourselves.
    All,
}

/// The coins of one environment, in the orders in which they are tried.
pub struct Coins<'a> {
    funding: &'a Funding<'a>,
    /// Coins of which the fee takes at most a tenth. The first order is the oldest first.
    thrifty: Orders<'a>,
    /// All coins worth spending. The first order is the largest first, which takes the fewest
    /// inputs.
    all: Orders<'a>,
    has_small: bool,
    /// Sum of all these coins and the required ones in satoshis, less the fees that their
    /// unconfirmed ancestors lack.
    available_sats: u64,
}

/// The same coins in three orders: the oldest first with our unconfirmed change last; the largest
/// first with that change last; the largest first.
type Orders<'a> = [Vec<&'a SpendableCoin>; 3];

/// The part of the limits that a transaction uses.
#[derive(Clone, Copy)]
struct Load {
    own_wu: u64,
    ancestors: u32,
    ancestors_vsize: u64,
}

impl<'a> Coins<'a> {
    /// Sorts the coins that are worth spending.
    pub fn worth_spending(funding: &'a Funding<'a>) -> Result<Self, SpendError> {
        if funding.fee.rate > MAX_RATE {
            return Err(SpendError::FeeRate(funding.fee.rate.to_sat_per_vb_ceil()));
        }
        let mut required = HashSet::with_capacity(funding.required.len());
        if let Some(twice) = funding.required.iter().find(|coin| !required.insert(coin.outpoint)) {
            return Err(SpendError::Twice(twice.outpoint));
        }
        let input_sats = input_sats(&funding.fee, funding.address_type);
        let is_worth = |coin: &SpendableCoin, times: u64| {
            covers(coin, times, input_sats.saturating_add(funding.lacking_sats(coin)))
        };
        let worth = |coin: &&SpendableCoin| {
            is_worth(coin, WORTH_TIMES) && !required.contains(&coin.outpoint)
        };
        // A replacement must not add ancestors that the replaced transaction did not have (BIP125).
        let replaces = funding.fee.replaced_sats.is_some();
        let allowed = |coin: &&SpendableCoin| !replaces || coin.height.is_some();
        let mut oldest: Vec<_> = funding.optional.iter().filter(worth).filter(allowed).collect();
        oldest.sort_unstable_by_key(|coin| {
            (coin.height.is_none(), coin.height, coin.ancestors, coin.outpoint)
        });
        oldest.dedup_by_key(|coin| coin.outpoint);
        let all = funding.required.iter().chain(oldest.iter().copied());
        let available_sats =
            all.fold(0u64, |sum, coin| sum.saturating_add(effective_sats(funding, coin)));
        let thrifty: Vec<_> =
            oldest.iter().filter(|coin| is_worth(coin, THRIFTY_TIMES)).copied().collect();
        let has_small = thrifty.len() < oldest.len();
        let mut all = orders(oldest);
        all.rotate_left(1);
        Ok(Self { funding, thrifty: orders(thrifty), all, has_small, available_sats })
    }

    /// Coins for a transaction that pays `pay_sats` to the outputs of `shape`, required coins
    /// first. They cover `pay_sats`, the fee, and with [`Rest::All`] a change above dust.
    pub fn select(
        &self,
        shape: Shape,
        pay_sats: u64,
        rest: Rest,
    ) -> Result<Vec<SpendableCoin>, SpendError> {
        self.select_now(shape, pay_sats, rest).map_err(|refusal| {
            if self.would_suffice_once_mined(shape, pay_sats, rest) {
                SpendError::WaitsForBlock
            } else {
                refusal
            }
        })
    }

    /// Whether mining all unconfirmed ancestors would make the payment possible.
    fn would_suffice_once_mined(&self, shape: Shape, pay_sats: u64, rest: Rest) -> bool {
        let Funding { required, optional, fee, tip_height, .. } = *self.funding;
        let has_unconfirmed = optional.iter().any(|coin| coin.height.is_none());
        if !has_unconfirmed || fee.replaced_sats.is_some() {
            return false;
        }
        let mined = |coin: &SpendableCoin| SpendableCoin {
            height: coin.height.or(Some(tip_height)),
            ancestors: 0,
            ancestors_vsize: 0,
            ancestors_fee_sats: 0,
            ..*coin
        };
        let required: Vec<_> = required.iter().map(mined).collect();
        let optional: Vec<_> = optional.iter().map(mined).collect();
        let funding = Funding { required: &required, optional: &optional, ..*self.funding };
        Coins::worth_spending(&funding)
            .is_ok_and(|coins| coins.select_now(shape, pay_sats, rest).is_ok())
    }

    fn select_now(
        &self,
        shape: Shape,
        pay_sats: u64,
        rest: Rest,
    ) -> Result<Vec<SpendableCoin>, SpendError> {
        let change = &self.funding.change.script;
        let with_change =
            (shape.and_to(change), pay_sats.saturating_add(change.minimal_non_dust().to_sat()));
        let wanted = match rest {
            Rest::Change => vec![with_change, (shape, pay_sats)],
            Rest::All => vec![with_change],
        };
        // The least sum that is needed, with the fewest coins. The last element of `wanted` needs
        // least.
        let (least_shape, least_sats) = wanted[wanted.len() - 1];
        let fewest = self.funding.required.len().max(1);
        let needed_sats =
            least_sats.saturating_add(self.funding.fee.sats(least_shape.spending(fewest).vsize()));
        if needed_sats > self.available_sats {
            return Err(SpendError::NotEnough { needed_sats, available_sats: self.available_sats });
        }
        let thrifty =
            wanted.iter().flat_map(|wanted| self.thrifty.iter().map(move |order| (order, *wanted)));
        // Small coins are spent only to cover the payment, never for a change.
        let small = self
            .all
            .iter()
            .filter(|_| self.has_small)
            .map(|order| (order, (least_shape, least_sats)));
        let mut tries = thrifty.chain(small);
        if let Some(chosen) = tries
            .find_map(|(order, (shape, target_sats))| self.try_order(order, shape, target_sats))
        {
            return Ok(chosen);
        }
        // Checks whether all coins would suffice without limits.
        let all = self.funding.required.len() + self.all[0].len();
        let needed_sats = self.needed_sats(least_shape, all, least_sats);
        if needed_sats > self.available_sats {
            return Err(SpendError::NotEnough { needed_sats, available_sats: self.available_sats });
        }
        Err(SpendError::TooHeavy)
    }

    /// The most that the coins of one order within the limits could pay to one output of `shape`,
    /// after the fee.
    pub fn most_sats(&self, shape: Shape) -> u64 {
        let most = |order| {
            let within = self.within_limits(order, self.load(shape)?);
            let sum = within
                .iter()
                .fold(0u64, |sum, coin| sum.saturating_add(effective_sats(self.funding, coin)));
            sum.checked_sub(self.needed_sats(shape, within.len(), 0))
        };
        self.all.iter().filter_map(|order| most(order)).max().unwrap_or(0)
    }

    fn try_order(
        &self,
        order: &[&SpendableCoin],
        shape: Shape,
        target_sats: u64,
    ) -> Option<Vec<SpendableCoin>> {
        let within = self.within_limits(order, self.load(shape)?);
        let fee_rate = self.funding.fee.own_rate();
        let all = self.funding.required.len() + within.len();
        let target = Amount::from_sat(self.fixed_sats(shape, all, target_sats));
        let required = self.funding.required.iter().collect::<Vec<_>>();
        let chosen = OldestFirstCoinSelection
            .coin_select(
                self.weighted(&required),
                self.weighted(&within),
                fee_rate,
                target,
                &self.funding.change.script,
                // This selection never uses the random numbers.
                &mut StdRng::from_seed([0; 32]),
            )
            .ok()?;
        let coins: HashMap<OutPoint, &SpendableCoin> =
            required.into_iter().chain(within).map(|coin| (coin.outpoint, coin)).collect();
        chosen.selected.iter().map(|utxo| coins.get(&utxo.outpoint()).map(|coin| **coin)).collect()
    }

    /// The coins as BDK's selection takes them. It sorts by height, so each coin's rank stands for
    /// its height.
    fn weighted(&self, coins: &[&SpendableCoin]) -> Vec<WeightedUtxo> {
        let bare = TxIn::default().segwit_weight();
        let satisfaction_weight = Weight::from_wu(input_wu(self.funding.address_type)) - bare;
        let weigh = |(rank, coin): (u32, &&SpendableCoin)| {
            let block_id = BlockId { height: rank, hash: BlockHash::all_zeros() };
            let anchor = ConfirmationBlockTime { block_id, confirmation_time: 0 };
            let utxo = LocalOutput {
                outpoint: coin.outpoint,
                // The selection ignores the script.
                txout: TxOut {
                    value: Amount::from_sat(effective_sats(self.funding, coin)),
                    script_pubkey: ScriptBuf::new(),
                },
                keychain: KeychainKind::External,
                is_spent: false,
                derivation_index: coin.index,
                chain_position: ChainPosition::Confirmed { anchor, transitively: None },
            };
            WeightedUtxo { satisfaction_weight, utxo: Utxo::Local(utxo) }
        };
        (0u32..).zip(coins).map(weigh).collect()
    }

    /// Satoshis that this many coins must be worth for BDK's selection, which rounds up the fee of
    /// the inputs separately.
    fn needed_sats(&self, shape: Shape, inputs: usize, target_sats: u64) -> u64 {
        let inputs_wu = Weight::from_wu(input_wu(self.funding.address_type) * inputs as u64);
        let by_inputs =
            self.funding.fee.own_rate().fee_wu(inputs_wu).map_or(u64::MAX, Amount::to_sat);
        self.fixed_sats(shape, inputs, target_sats).saturating_add(by_inputs)
    }

    /// Satoshis that the coins must be worth beyond the fee of their inputs.
    fn fixed_sats(&self, shape: Shape, inputs: usize, target_sats: u64) -> u64 {
        let frame_vsize = shape.spending(inputs).frame_wu().div_ceil(4);
        let smallest = shape.spending(self.funding.required.len().max(1)).vsize();
        // One vB more, because the whole size is rounded up too.
        let frame_sats = self.funding.fee.by_rate(frame_vsize + 1);
        target_sats
            .saturating_add(frame_sats)
            .saturating_add(self.funding.fee.max_beyond_rate(smallest))
    }

    /// The load without optional coins; `None` if it exceeds the limits. It always includes a
    /// change output, so that the choice does not depend on whether there is change.
    fn load(&self, shape: Shape) -> Option<Load> {
        let MeansLoad { inputs, ancestors, ancestors_vsize } =
            MeansLoad::from_funding(self.funding);
        let most_inputs = inputs + self.all[0].len();
        let frame_wu =
            shape.spending(most_inputs).frame_wu() + output_wu(&self.funding.change.script);
        let own_wu = frame_wu + input_wu(self.funding.address_type) * inputs as u64;
        let load = Load { own_wu, ancestors, ancestors_vsize };
        load.is_within().then_some(load)
    }

    /// The coins of an order that stay within the limits together. A coin that would break them is
    /// left out.
    fn within_limits(&self, order: &[&'a SpendableCoin], mut load: Load) -> Vec<&'a SpendableCoin> {
        let input_wu = input_wu(self.funding.address_type);
        let fits = |coin: &&&SpendableCoin| {
            let more = Load {
                own_wu: load.own_wu + input_wu,
                ancestors: load.ancestors.saturating_add(coin.ancestors),
                ancestors_vsize: load.ancestors_vsize.saturating_add(coin.ancestors_vsize),
            };
            let within = more.is_within();
            if within {
                load = more;
            }
            within
        };
        order.iter().filter(fits).copied().collect()
    }
}

/// The amount of a coin in satoshis, less the fees that its unconfirmed ancestors lack.
fn effective_sats(funding: &Funding<'_>, coin: &SpendableCoin) -> u64 {
    coin.amount_sats.saturating_sub(funding.lacking_sats(coin))
}

fn orders<'a>(oldest: Vec<&'a SpendableCoin>) -> Orders<'a> {
    let mut largest_confirmed = oldest.clone();
    largest_confirmed.sort_by_key(|coin| (coin.height.is_none(), Reverse(coin.amount_sats)));
    let mut largest = oldest.clone();
    largest.sort_by_key(|coin| Reverse(coin.amount_sats));
    [oldest, largest_confirmed, largest]
}

struct MeansLoad {
    inputs: usize,
    ancestors: u32,
    ancestors_vsize: u64,
}

impl MeansLoad {
    /// An ancestor that two coins share is counted twice, so the sums are upper bounds. Two changes
    /// of ours share none, unless a reorganisation made others' transactions unconfirmed again.
    fn from_funding(funding: &Funding<'_>) -> Self {
        let none = Self { inputs: funding.required.len(), ancestors: 0, ancestors_vsize: 0 };
        funding.required.iter().fold(none, |sum, coin| Self {
            ancestors: sum.ancestors.saturating_add(coin.ancestors),
            ancestors_vsize: sum.ancestors_vsize.saturating_add(coin.ancestors_vsize),
            ..sum
        })
    }
}

impl Load {
    fn is_within(&self) -> bool {
        self.ancestors <= MAX_ANCESTORS
            && self.ancestors_vsize.saturating_add(self.own_wu.div_ceil(4))
                <= MAX_VSIZE_WITH_ANCESTORS
    }
}
