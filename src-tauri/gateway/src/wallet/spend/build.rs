//! Builds an unsigned transaction from coins and payees.

use bitcoin::absolute::LockTime;
use bitcoin::secp256k1::rand::rngs::StdRng;
use bitcoin::secp256k1::rand::seq::SliceRandom as _;
use bitcoin::secp256k1::rand::{Rng as _, SeedableRng as _};
use bitcoin::transaction::Version;
use bitcoin::{Amount, ScriptBuf, Sequence, Transaction, TxIn, TxOut, Witness};

use super::error::SpendError;
use super::funding::Funding;
use super::payee::{self, BadPayee, Payee};
use super::select::{Coins, Rest};
use super::size::Shape;
use super::spendable_coin::SpendableCoin;
use super::unsigned_spend::{Change, Seed, UnsignedSpend};

/// One transaction in ten has a lock time below the tip's height, by less than [`LOWER_BY`].
/// Bitcoin Core does the same, so that transactions signed some time before their broadcast do not
/// stand out.
const LOWER_ONE_IN: u32 = 10;

const LOWER_BY: u32 = 100;

/// A transaction that pays each payee once, and returns the change unless it is dust.
///
/// # Errors
/// When the coins do not suffice, or a payee cannot be paid.
pub fn choose(
    payees: &[Payee],
    funding: &Funding<'_>,
    seed: Seed,
) -> Result<UnsignedSpend, SpendError> {
    payee::sum_sats(payees)?;
    let coins = Coins::worth_spending(funding)?;
    unsigned_spend(payees.to_vec(), &coins, funding, Rest::Change, seed)
}

/// A transaction that pays as many payees as coins and limits allow, earlier ones first. A payee
/// that does not fit is skipped; once the transaction is full, the rest is for the next one. Also
/// returns the positions of the paid payees in `payees`.
///
/// # Errors
/// When no payee can be paid: the reason for the first one. Also when the script or amount of a
/// payee can never be paid.
pub fn choose_most(
    payees: &[Payee],
    funding: &Funding<'_>,
    seed: Seed,
) -> Result<(UnsignedSpend, Vec<usize>), SpendError> {
    if payees.is_empty() {
        return Err(BadPayee::Nobody.into());
    }
    payees.iter().try_for_each(payee::payable)?;
    let coins = Coins::worth_spending(funding)?;
    let mut taken = Taken { payees, coins: &coins, funding, places: Vec::new() };
    let mut left: Vec<usize> = (0..payees.len()).collect();
    // Usually the coins suffice for all.
    let mut first_trial = left.len();
    let mut first_refusal = None;
    loop {
        let (fits, refusal) = taken.longest_run(&left, first_trial);
        taken.places.extend(left.drain(..fits));
        let (Some(refusal), Some(stopped_by)) = (refusal, left.first().copied()) else { break };
        let is_limit = matches!(refusal, SpendError::TooHeavy | SpendError::WaitsForBlock);
        let is_full = is_limit && taken.fits_alone(stopped_by);
        first_refusal = first_refusal.or(Some(refusal));
        if is_full {
            break;
        }
        // This payee is skipped. So are all later payees that need at least as much, without a
        // search for each.
        let stopper = &payees[stopped_by];
        let takes_less = |payee: &Payee| {
            payee.amount_sats < stopper.amount_sats || payee.script.len() < stopper.script.len()
        };
        left.retain(|place| takes_less(&payees[*place]));
        first_trial = 1;
    }
    match first_refusal {
        Some(refusal) if taken.places.is_empty() => Err(refusal),
        _ => {
            let them = taken.places.iter().map(|place| payees[*place].clone()).collect();
            Ok((unsigned_spend(them, &coins, funding, Rest::Change, seed)?, taken.places))
        }
    }
}

/// A transaction that spends the required coins, and pays the sum less the fee to ourselves.
///
/// # Errors
/// When the coins do not suffice for the fee and a change above dust.
pub fn to_ourselves(funding: &Funding<'_>, seed: Seed) -> Result<UnsignedSpend, SpendError> {
    let coins = Coins::worth_spending(funding)?;
    unsigned_spend(Vec::new(), &coins, funding, Rest::All, seed)
}

struct Taken<'a> {
    payees: &'a [Payee],
    coins: &'a Coins<'a>,
    funding: &'a Funding<'a>,
    /// Positions of the taken payees in `payees`.
    places: Vec<usize>,
}

impl Taken<'_> {
    /// Largest number of payees at the head of `left` that fit together, and the reason why one
    /// more does not. If a number fits, every smaller one fits, so that the search can bisect.
    fn longest_run(&self, left: &[usize], first_trial: usize) -> (usize, Option<SpendError>) {
        let (mut fits, mut too_many, mut refusal) = (0, left.len() + 1, None);
        let mut trial = first_trial.min(left.len());
        while fits + 1 < too_many {
            match self.and(&left[..trial]) {
                Ok(()) => fits = trial,
                Err(error) => {
                    too_many = trial;
                    refusal = Some(error);
                }
            }
            // The number doubles until it is too large.
            trial = if refusal.is_some() {
                fits.midpoint(too_many)
            } else {
                (fits * 2).min(left.len())
            };
        }
        (fits, refusal)
    }

    /// Whether this payee can be paid alone.
    fn fits_alone(&self, place: usize) -> bool {
        Taken { places: Vec::new(), ..*self }.and(&[place]).is_ok()
    }

    /// Checks that the taken payees can be paid together with others.
    fn and(&self, others: &[usize]) -> Result<(), SpendError> {
        let them = || self.places.iter().chain(others).map(|place| &self.payees[*place]);
        let shape =
            Shape::paying(self.funding.address_type, them().map(|payee| payee.script.as_script()));
        let pay_sats = them().fold(0u64, |sum, payee| sum.saturating_add(payee.amount_sats));
        self.coins.select(shape, pay_sats, Rest::Change).map(drop)
    }
}

fn unsigned_spend(
    payees: Vec<Payee>,
    coins: &Coins<'_>,
    funding: &Funding<'_>,
    rest: Rest,
    seed: Seed,
) -> Result<UnsignedSpend, SpendError> {
    let shape =
        Shape::paying(funding.address_type, payees.iter().map(|payee| payee.script.as_script()));
    let pay_sats = payees.iter().fold(0u64, |sum, payee| sum.saturating_add(payee.amount_sats));
    let inputs = coins.select(shape, pay_sats, rest)?;
    Ok(arrange(&divide(shape, pay_sats, &inputs, funding)?, payees, inputs, funding, seed))
}

/// The division of the inputs' sum.
pub struct Division {
    pub fee_sats: u64,
    /// `None` if it would be dust.
    pub change_sats: Option<u64>,
    /// Vsize of the transaction, including the change if there is one.
    pub vsize: u64,
}

/// Divides the inputs' sum between payees, fee and change.
pub fn divide(
    shape: Shape,
    pay_sats: u64,
    inputs: &[SpendableCoin],
    funding: &Funding<'_>,
) -> Result<Division, SpendError> {
    let in_sats = inputs.iter().fold(0u64, |sum, coin| sum.saturating_add(coin.amount_sats));
    let change = &funding.change.script;
    let vsize = shape.spending(inputs.len()).and_to(change).vsize();
    let fee = funding.fee_for_inputs(inputs);
    let fee_sats = fee.sats(vsize);
    let change_sats = in_sats.checked_sub(pay_sats.saturating_add(fee_sats));
    if let Some(change_sats) =
        change_sats.filter(|sats| *sats >= change.minimal_non_dust().to_sat())
    {
        return Ok(Division { fee_sats, change_sats: Some(change_sats), vsize });
    }
    let vsize = shape.spending(inputs.len()).vsize();
    let needed_sats = pay_sats.saturating_add(fee.sats(vsize));
    match in_sats.checked_sub(pay_sats) {
        // A transaction needs an output.
        Some(fee_sats) if in_sats >= needed_sats && shape.has_outputs() => {
            Ok(Division { fee_sats, change_sats: None, vsize })
        }
        _ => Err(SpendError::NotEnough { needed_sats, available_sats: in_sats }),
    }
}

fn arrange(
    division: &Division,
    payees: Vec<Payee>,
    mut inputs: Vec<SpendableCoin>,
    funding: &Funding<'_>,
    seed: Seed,
) -> UnsignedSpend {
    let mut rng = StdRng::from_seed(seed);
    let change = division.change_sats.map(|amount_sats| Change {
        script: funding.change.script.clone(),
        index: funding.change.index,
        amount_sats,
    });
    let mut outputs: Vec<Option<usize>> =
        (0..payees.len()).map(Some).chain(change.iter().map(|_| None)).collect();
    // A random order does not tell which output is our change.
    outputs.shuffle(&mut rng);
    inputs.shuffle(&mut rng);
    let lower_by = if rng.gen_ratio(1, LOWER_ONE_IN) { rng.gen_range(0..LOWER_BY) } else { 0 };
    let lock_time = LockTime::from_height(funding.tip_height.saturating_sub(lower_by))
        .unwrap_or(LockTime::ZERO);
    UnsignedSpend {
        inputs,
        payees,
        change,
        outputs,
        fee_sats: division.fee_sats,
        vsize: division.vsize,
        lock_time,
    }
}

impl UnsignedSpend {
    /// The transaction without signatures.
    pub fn unsigned(&self) -> Transaction {
        let input = |coin: &SpendableCoin| TxIn {
            previous_output: coin.outpoint,
            script_sig: ScriptBuf::new(),
            // Enables replacement (BIP125) and the lock time.
            sequence: Sequence::ENABLE_RBF_NO_LOCKTIME,
            witness: Witness::new(),
        };
        let output = |(script, sats): (&ScriptBuf, u64)| TxOut {
            value: Amount::from_sat(sats),
            script_pubkey: script.clone(),
        };
        let paid = |number: &Option<usize>| match number {
            Some(number) => {
                self.payees.get(*number).map(|payee| (&payee.script, payee.amount_sats))
            }
            None => self.change.as_ref().map(|change| (&change.script, change.amount_sats)),
        };
        Transaction {
            version: Version::TWO,
            lock_time: self.lock_time,
            input: self.inputs.iter().map(input).collect(),
            output: self.outputs.iter().filter_map(paid).map(output).collect(),
        }
    }

    /// The output that pays the payee at this position in [`UnsignedSpend::payees`].
    pub fn payee_vout(&self, number: usize) -> Option<u32> {
        self.vout(Some(number))
    }

    /// The output of our change.
    pub fn change_vout(&self) -> Option<u32> {
        self.vout(None)
    }

    fn vout(&self, whose: Option<usize>) -> Option<u32> {
        self.outputs
            .iter()
            .position(|output| *output == whose)
            .and_then(|vout| u32::try_from(vout).ok())
    }
}
