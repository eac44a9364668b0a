use super::*;

#[test]
fn the_estimated_fee_is_exact_to_the_satoshi() {
    let (mut cases, mut worst_sats, mut case) = (0, 0, 0);
    while cases < 1_000 {
        case += 1;
        let address_type = if case % 2 == 0 { AddressType::Bip84 } else { AddressType::Bip86 };
        let coins = 1 + usize::try_from(case % 60).unwrap();
        let mut purse = Purse::with(case, address_type, coins, 1_000_000).with_poor_ancestors();
        let payee = purse.payee(sum_sats(&purse.coins));
        let rate = FeeRate::from_sat_per_kwu(purse.rng.gen_range(250..75_000));
        let estimate_sats = fee_for_one(&payee, &purse.coins, rate, address_type).fee_sats;
        // A second read returns the coins in another order.
        purse.coins.reverse();
        let seed = purse.seed();
        let payees = [payee];
        let funding = purse.at(rate);
        let Ok(spend) = choose(&payees, &funding, seed) else { continue };
        let tx = purse.signed(&spend, &funding.fee_for_inputs(&spend.inputs));
        let out_sats: u64 = tx.output.iter().map(|output| output.value.to_sat()).sum();
        worst_sats = worst_sats.max((sum_sats(&spend.inputs) - out_sats).abs_diff(estimate_sats));
        cases += 1;
    }
    eprintln!(
        "an offer's fee against the fee paid, {cases} random cases: at most {worst_sats} satoshis apart"
    );
    assert_eq!(worst_sats, 0);
}

#[test]
fn with_too_few_coins_the_fee_is_for_one_input_and_a_change() {
    for (address_type, vsize) in [(AddressType::Bip84, 141), (AddressType::Bip86, 142)] {
        let purse = Purse::empty(1, address_type);
        let payee =
            Payee { script: ScriptBuf::new_p2wpkh(&WPubkeyHash::all_zeros()), amount_sats: 50_000 };
        let fee = fee_for_one(&payee, &purse.coins, sat_vb(3), address_type);
        assert_eq!((fee.fee_sats, fee.is_payable), (3 * vsize, false));
    }
}

#[test]
fn the_largest_payout_can_be_paid_and_a_larger_one_cannot() {
    for seed in 0..300 {
        let address_type = if seed % 2 == 0 { AddressType::Bip84 } else { AddressType::Bip86 };
        let coins = 1 + usize::try_from(seed % 40).unwrap();
        let mut purse = Purse::with(seed, address_type, coins, 100_000).with_poor_ancestors();
        let rate = FeeRate::from_sat_per_kwu(purse.rng.gen_range(250..30_000));
        let script = purse.script();
        let most_sats = most(&script, &purse.coins, rate, address_type);
        let pay = |amount_sats| {
            let payees = [Payee { script: script.clone(), amount_sats }];
            choose(&payees, &purse.at(rate), [1; 32])
        };
        if most_sats > 0 {
            let spend = pay(most_sats).unwrap();
            purse.signed(&spend, &purse.at(rate).fee_for_inputs(&spend.inputs));
            // No change may be left: the computed maximum would then be too small.
            assert_eq!(spend.change, None);
        }
        // Roundings cost at most three satoshis, and the fee of a whole vbyte.
        let beyond = most_sats + 3 + rate.to_sat_per_vb_ceil();
        assert!(pay(beyond.max(600)).is_err());
    }
}

#[test]
fn the_largest_payout_fits_into_one_transaction() {
    let mut purse = Purse::empty(3, AddressType::Bip84);
    for _ in 0..2_000 {
        purse.add(10_000, Some(1));
    }
    purse.add(20_000_000, Some(2));
    let script = purse.script();
    let most_sats = most(&script, &purse.coins, sat_vb(1), AddressType::Bip84);
    assert!((33_000_000..34_000_000).contains(&most_sats), "{most_sats}");
    let payees = [Payee { script, amount_sats: most_sats }];
    let spend = choose(&payees, &purse.at(sat_vb(1)), [1; 32]).unwrap();
    assert!(spend.vsize > 89_000 && spend.vsize <= MAX_VSIZE_WITH_ANCESTORS);
}

#[test]
fn an_empty_wallet_can_pay_nothing() {
    let purse = Purse::empty(4, AddressType::Bip84);
    let script = ScriptBuf::new_p2wpkh(&WPubkeyHash::all_zeros());
    assert_eq!(most(&script, &purse.coins, sat_vb(1), AddressType::Bip84), 0);
}
