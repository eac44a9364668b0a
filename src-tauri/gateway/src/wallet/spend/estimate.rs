//! The cost of a payout, and the largest possible payout, with the present coins.

use bitcoin::{FeeRate, Script};

use super::build::divide;
use super::error::SpendError;
use super::fee::FeeWanted;
use super::funding::{FreshChange, Funding};
use super::payee::Payee;
use super::select::{Coins, Rest};
use super::size::{Shape, some_script};
use super::spendable_coin::SpendableCoin;
use crate::settings::AddressType;

/// The fee of a transaction for one payee alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FeeForOne {
    pub fee_sats: u64,
    /// Whether the coins suffice.
    pub is_payable: bool,
}

/// The exact fee of a transaction that pays this payee alone with the coins that would be chosen
/// now. If they do not suffice, the fee for one input and a change.
pub fn fee_for_one(
    payee: &Payee,
    coins: &[SpendableCoin],
    fee_rate: FeeRate,
    address_type: AddressType,
) -> FeeForOne {
    let change = some_change(address_type);
    let funding = funding(coins, fee_rate, address_type, &change);
    let shape = Shape::paying(address_type, [payee.script.as_script()]);
    let chosen = || -> Result<u64, SpendError> {
        let inputs =
            Coins::worth_spending(&funding)?.select(shape, payee.amount_sats, Rest::Change)?;
        Ok(divide(shape, payee.amount_sats, &inputs, &funding)?.fee_sats)
    };
    match chosen() {
        Ok(fee_sats) => FeeForOne { fee_sats, is_payable: true },
        Err(_) => {
            let fee_sats = funding.fee.sats(shape.spending(1).and_to(&change.script).vsize());
            FeeForOne { fee_sats, is_payable: false }
        }
    }
}

/// The sum of the coins that are worth their fee, less the fee; 0 if that would be dust. One payout
/// can have this amount. The largest possible amount is at most three satoshis and the fee of one
/// vbyte higher.
pub fn most(
    script: &Script,
    coins: &[SpendableCoin],
    fee_rate: FeeRate,
    address_type: AddressType,
) -> u64 {
    let change = some_change(address_type);
    let funding = funding(coins, fee_rate, address_type, &change);
    let most_sats = Coins::worth_spending(&funding)
        .map_or(0, |coins| coins.most_sats(Shape::paying(address_type, [script])));
    if most_sats < script.minimal_non_dust().to_sat() { 0 } else { most_sats }
}

fn some_change(address_type: AddressType) -> FreshChange {
    FreshChange { script: some_script(address_type), index: 0 }
}

const fn funding<'a>(
    optional: &'a [SpendableCoin],
    fee_rate: FeeRate,
    address_type: AddressType,
    change: &'a FreshChange,
) -> Funding<'a> {
    Funding {
        required: &[],
        optional,
        fee: FeeWanted::at(fee_rate),
        change,
        address_type,
        tip_height: 0,
    }
}
