//! Transactions that another copy of the wallet makes.

use bitcoin::Transaction;
use tillgate_domain::id::Id;
use tillgate_machine::secrets::Purpose;

use super::World;
use crate::funds;
use crate::wallet::spend::{self, FeeWanted, FreshChange, Funding, Payee, SpendableCoin};

/// A transaction that another copy of this wallet makes.
pub fn twin_of(world: &World, payees: &[Payee]) -> Transaction {
    twin_spending(world, payees, &[], 3).unwrap()
}

/// Like [`twin_of`], but also spends the coins in `required`, at a rate in sat/vB; `None` if the
/// coins do not suffice.
pub fn twin_spending(
    world: &World,
    payees: &[Payee],
    required: &[SpendableCoin],
    fee_rate_sat_vb: u32,
) -> Option<Transaction> {
    let gateway = &world.gateway;
    let wallet = gateway.wallet.get().unwrap();
    let settings = gateway.settings.snapshot();
    let coins = gateway.store.read(|reader| funds::spendable_coins(reader, &settings)).unwrap();
    let change = FreshChange { script: wallet.change.script(0).unwrap(), index: 0 };
    let funding = Funding {
        required,
        optional: &coins,
        fee: FeeWanted::at(bitcoin::FeeRate::from_sat_per_vb_u32(fee_rate_sat_vb)),
        change: &change,
        address_type: wallet.keychains.address_type(),
        tip_height: 1,
    };
    let spend = spend::choose(payees, &funding, [7; 32]).ok()?;
    let words = gateway.machine.secrets.get(Purpose::WalletMnemonic).unwrap().unwrap();
    Some(spend::sign(&spend, &words, &wallet.keychains).unwrap())
}

/// A transaction of another copy that pays a payout with coins that no transaction of ours spends.
pub fn twin_paying(world: &World, paid: &Id) -> Transaction {
    let row = world.payout(paid);
    twin_spending(world, &[Payee { script: row.script, amount_sats: row.amount_sats }], &[], 3)
        .unwrap()
}
