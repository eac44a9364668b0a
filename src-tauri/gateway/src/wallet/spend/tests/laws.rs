use proptest::prelude::*;

use super::*;

fn address_types() -> impl Strategy<Value = AddressType> {
    prop_oneof![Just(AddressType::Bip84), Just(AddressType::Bip86)]
}

/// Fee rates from 1 to 300 sat/vB, in thousandths of a satoshi for each weight unit.
fn rates() -> impl Strategy<Value = FeeRate> {
    prop_oneof![250u64..2_500, 250u64..75_000].prop_map(FeeRate::from_sat_per_kwu)
}

/// Checks the properties that every signed transaction has.
fn sound(purse: &Purse, spend: &UnsignedSpend, tx: &Transaction, fee: &FeeWanted) {
    let out_sats: u64 = tx.output.iter().map(|output| output.value.to_sat()).sum();
    assert_eq!(sum_sats(&spend.inputs) - out_sats, spend.fee_sats);
    let vsize = tx.weight().to_vbytes_ceil();
    assert!(vsize <= spend.vsize && spend.vsize - vsize <= 1 + spend.inputs.len() as u64 / 4);
    let wanted_sats = fee.sats(vsize);
    assert!(spend.fee_sats >= wanted_sats);
    if let Some(change) = &spend.change {
        // The fee exceeds the wanted fee by at most 1 % and one satoshi.
        assert!(
            spend.fee_sats * 100 <= wanted_sats * 101 + 100,
            "{} for {wanted_sats}",
            spend.fee_sats
        );
        let output = &tx.output[spend.change_vout().unwrap() as usize];
        assert_eq!(
            (&output.script_pubkey, output.value.to_sat()),
            (&change.script, change.amount_sats)
        );
        assert_eq!(change.script, purse.change.script);
    }
    for (number, payee) in spend.payees.iter().enumerate() {
        let output = &tx.output[spend.payee_vout(number).unwrap() as usize];
        assert_eq!(
            (&output.script_pubkey, output.value.to_sat()),
            (&payee.script, payee.amount_sats)
        );
    }
    assert_eq!(tx.output.len(), spend.payees.len() + usize::from(spend.change.is_some()));
    let ancestors: u32 = spend.inputs.iter().map(|coin| coin.ancestors).sum();
    let ancestors_vsize: u64 = spend.inputs.iter().map(|coin| coin.ancestors_vsize).sum();
    assert!(
        ancestors <= MAX_ANCESTORS && ancestors_vsize + spend.vsize <= MAX_VSIZE_WITH_ANCESTORS
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 120, ..ProptestConfig::default() })]

    #[test]
    fn each_payee_is_paid_once_and_every_input_is_validly_signed(
        seed: u64, address_type in address_types(), coins in 1usize..40, payees in 1usize..25, rate in rates(),
    ) {
        let mut purse = Purse::with(seed, address_type, coins, 2_000_000).with_poor_ancestors();
        let most_sats = sum_sats(&purse.coins) / payees as u64 * 3 / 2;
        let payees = purse.payees(payees, most_sats);
        let seed = purse.seed();
        let funding = purse.at(rate);
        match choose(&payees, &funding, seed) {
            Ok(spend) => {
                prop_assert_eq!(&spend.payees, &payees);
                let fee = funding.fee_for_inputs(&spend.inputs);
                sound(&purse, &spend, &purse.signed(&spend, &fee), &fee);
                let ancestors = |of: fn(&SpendableCoin) -> u64| spend.inputs.iter().map(of).sum::<u64>();
                let vsize = spend.vsize + ancestors(|coin| coin.ancestors_vsize);
                let paid_sats = spend.fee_sats + ancestors(|coin| coin.ancestors_fee_sats);
                prop_assert!(paid_sats >= fee.by_rate(vsize) - 1 - spend.inputs.len() as u64, "the package pays too little");
            }
            Err(SpendError::NotEnough { needed_sats, available_sats }) => {
                prop_assert!(needed_sats > available_sats);
                prop_assert!(available_sats <= sum_sats(&purse.coins) && needed_sats > paid_sats(&payees));
            }
            // Two unconfirmed change coins can have more ancestors together than a transaction may.
            Err(SpendError::WaitsForBlock) => prop_assert!(purse.coins.iter().any(|coin| coin.height.is_none())),
            Err(other) => prop_assert!(false, "{}", other),
        }
    }

    #[test]
    fn a_bump_pays_a_higher_fee_and_spends_all_earlier_inputs(
        seed: u64, address_type in address_types(), coins in 2usize..30, payees in 1usize..12, rate in rates(),
        more in 0u64..20_000,
    ) {
        let mut purse = Purse::with(seed, address_type, coins, 2_000_000);
        let most_sats = sum_sats(&purse.coins) / payees as u64;
        let payees = purse.payees(payees, most_sats);
        let seeds = [purse.seed(), purse.seed()];
        let first_fee = FeeWanted::at(rate);
        let Ok(first) = choose(&payees, &purse.funding(first_fee), seeds[0]) else { return Ok(()) };
        let rate = FeeRate::from_sat_per_kwu(rate.to_sat_per_kwu() + more);
        let paid = Paid { fee_sats: first.fee_sats, vsize: purse.signed(&first, &first_fee).weight().to_vbytes_ceil() };
        let fee = FeeWanted { for_ancestors_sats: more, ..FeeWanted::at(rate) }.replacing(&[paid]);
        let funding = Funding { required: &first.inputs, ..purse.funding(fee) };
        match choose(&payees, &funding, seeds[1]) {
            Ok(bump) => {
                let spends = |coin| bump.inputs.contains(coin);
                let added = |coin: &&SpendableCoin| !first.inputs.contains(coin);
                prop_assert!(bump.inputs.iter().filter(added).all(|coin| coin.height.is_some()));
                prop_assert!(first.inputs.iter().all(spends));
                prop_assert!(bump.fee_sats >= first.fee_sats + bump.vsize);
                prop_assert!(bump.fee_sats >= more + fee.by_rate(bump.vsize));
                prop_assert!(bump.fee_sats * paid.vsize > paid.fee_sats * bump.vsize);
                prop_assert_eq!(&bump.payees, &payees);
                sound(&purse, &bump, &purse.signed(&bump, &fee), &fee);
            }
            Err(SpendError::NotEnough { needed_sats, available_sats }) => prop_assert!(needed_sats > available_sats),
            Err(SpendError::TooHeavy) => prop_assert!(first.inputs.iter().any(|coin| coin.height.is_none())),
            Err(other) => prop_assert!(false, "{}", other),
        }
    }

    #[test]
    fn an_abandonment_spends_all_earlier_inputs_and_pays_only_us(
        seed: u64, address_type in address_types(), coins in 1usize..20, payees in 1usize..40, rate in rates(),
    ) {
        let mut purse = Purse::with(seed, address_type, coins, 2_000_000);
        let most_sats = sum_sats(&purse.coins) / payees as u64;
        let payees = purse.payees(payees, most_sats);
        let seeds = [purse.seed(), purse.seed()];
        let Ok(first) = choose(&payees, &purse.at(rate), seeds[0]) else { return Ok(()) };
        let fee = FeeWanted { replaced_sats: Some(first.fee_sats), ..FeeWanted::at(rate) };
        let funding = Funding { required: &first.inputs, optional: &[], ..purse.funding(fee) };
        let given_up = to_ourselves(&funding, seeds[1]).unwrap();
        prop_assert_eq!(given_up.inputs.len(), first.inputs.len());
        prop_assert!(first.inputs.iter().all(|coin| given_up.inputs.contains(coin)));
        prop_assert!(given_up.payees.is_empty() && given_up.change.is_some());
        prop_assert!(given_up.fee_sats >= first.fee_sats + given_up.vsize);
        let tx = purse.signed(&given_up, &fee);
        prop_assert_eq!(tx.output.len(), 1);
        sound(&purse, &given_up, &tx, &fee);
    }

    #[test]
    fn a_batch_takes_payouts_in_order_and_skips_those_too_large(
        seed: u64, address_type in address_types(), coins in 1usize..12, payees in 1usize..30, rate in rates(),
    ) {
        let mut purse = Purse::with(seed, address_type, coins, 300_000).with_poor_ancestors();
        let payees = purse.payees(payees, 200_000);
        let seed = purse.seed();
        let funding = purse.at(rate);
        match choose_most(&payees, &funding, seed) {
            Ok((spend, places)) => {
                prop_assert!(places.is_sorted() && !places.is_empty());
                let taken: Vec<_> = places.iter().map(|place| payees[*place].clone()).collect();
                prop_assert_eq!(&taken, &spend.payees);
                let fee = funding.fee_for_inputs(&spend.inputs);
                sound(&purse, &spend, &purse.signed(&spend, &fee), &fee);
                // Each skipped payee does not fit with those before it.
                for missed in (0..payees.len()).filter(|place| !places.contains(place)) {
                    let before = places.iter().filter(|place| **place < missed).chain([&missed]);
                    let them: Vec<_> = before.map(|place| payees[*place].clone()).collect();
                    match choose(&them, &funding, seed) {
                        // The transaction is full; later payees are for the next one.
                        Err(SpendError::TooHeavy | SpendError::WaitsForBlock) if choose(&them[them.len() - 1..], &funding, seed).is_ok() => break,
                        tried => prop_assert!(tried.is_err()),
                    }
                }
            }
            Err(_) => {
                for payee in &payees {
                    prop_assert!(choose(std::slice::from_ref(payee), &funding, seed).is_err());
                }
            }
        }
    }
}
