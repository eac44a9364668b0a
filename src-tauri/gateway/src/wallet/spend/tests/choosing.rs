use std::collections::BTreeSet;

use super::*;
use crate::wallet::spend::payee::BadPayee;

const RATE: FeeRate = FeeRate::from_sat_per_vb_u32(10);

fn one(purse: &mut Purse, amount_sats: u64) -> Vec<Payee> {
    vec![Payee { script: purse.script(), amount_sats }]
}

fn spent(spend: &UnsignedSpend) -> BTreeSet<OutPoint> {
    spend.inputs.iter().map(|coin| coin.outpoint).collect()
}

fn these(coins: &[SpendableCoin]) -> BTreeSet<OutPoint> {
    coins.iter().map(|coin| coin.outpoint).collect()
}

#[test]
fn the_oldest_coins_are_spent_first_and_unconfirmed_change_last() {
    let mut purse = Purse::empty(1, AddressType::Bip84);
    let change = purse.add(900_000, None);
    let young = purse.add(500_000, Some(300));
    let old = purse.add(50_000, Some(100));
    let middle = purse.add(60_000, Some(200));
    for (amount_sats, expected) in [
        (10_000, vec![old]),
        (80_000, vec![old, middle]),
        (400_000, vec![old, middle, young]),
        (900_000, vec![old, middle, young, change]),
    ] {
        let payees = one(&mut purse, amount_sats);
        assert_eq!(
            spent(&choose(&payees, &purse.at(RATE), [0; 32]).unwrap()),
            these(&expected),
            "{amount_sats}"
        );
    }
}

#[test]
fn a_coin_whose_fee_takes_more_than_half_of_it_is_not_spent() {
    let mut purse = Purse::empty(2, AddressType::Bip84);
    purse.add(1_359, Some(1));
    let coin = purse.add(1_360, Some(2));
    let large = purse.add(100_000, Some(3));
    let payees = one(&mut purse, 99_200);
    assert_eq!(
        spent(&choose(&payees, &purse.at(RATE), [0; 32]).unwrap()),
        these(&[coin, large]),
        "both coins that are worth their fee are needed"
    );
    let script = payees[0].script.clone();
    let payees = [Payee { script, amount_sats: 99_600 }];
    let refused = choose(&payees, &purse.at(RATE), [0; 32]);
    assert!(
        matches!(refused, Err(SpendError::NotEnough { available_sats: 101_360, .. })),
        "{refused:?}"
    );
}

#[test]
fn one_large_coin_is_preferred_to_many_small_ones() {
    let mut purse = Purse::empty(15, AddressType::Bip84);
    for _ in 0..3_100 {
        purse.add(7_692, Some(1));
    }
    let large = purse.add(30_700_000, Some(4_000));
    // At each of these rates a small coin is worth more than the fee of its input; at the highest
    // rate, only just.
    for rate in [20, 50, 110] {
        let script = ScriptBuf::new_p2wpkh(&WPubkeyHash::all_zeros());
        let payees = [Payee { script, amount_sats: 100_000 }];
        let spend = choose(&payees, &purse.at(sat_vb(rate)), [0; 32]).unwrap();
        let told = (spend.inputs.len(), spend.inputs[0], spend.fee_sats);
        assert_eq!(told, (1, large, 141 * u64::from(rate)), "{rate} sat/vB");
    }
}

#[test]
fn small_coins_are_not_added_only_to_make_change() {
    let mut purse = Purse::empty(16, AddressType::Bip84);
    for _ in 0..1_000 {
        purse.add(1_400, Some(1));
    }
    let large = purse.add(1_000_000, Some(2));
    let payees =
        [Payee { script: ScriptBuf::new_p2wpkh(&WPubkeyHash::all_zeros()), amount_sats: 998_800 }];
    let spend = choose(&payees, &purse.at(RATE), [0; 32]).unwrap();
    assert_eq!((spend.inputs.len(), spend.inputs[0], spend.change), (1, large, None));
}

#[test]
fn the_inputs_cost_at_most_half_of_their_sum() {
    let (mut cases, mut frugal) = (0, 0);
    for seed in 0..400 {
        let mut purse = Purse::with(seed, AddressType::Bip84, 3, 2_000_000);
        let rate = purse.rng.gen_range(1..200);
        for _ in 0..300 {
            let amount_sats = purse.rng.gen_range(300..68 * 25 * 20);
            purse.add(amount_sats, Some(1));
        }
        let payee = purse.payee(1_500_000);
        let Ok(spend) = choose(std::slice::from_ref(&payee), &purse.at(sat_vb(rate)), [0; 32])
        else {
            continue;
        };
        let inputs_sats = u64::from(rate) * 68 * spend.inputs.len() as u64;
        assert!(2 * inputs_sats <= sum_sats(&spend.inputs), "{inputs_sats} at {rate} sat/vB");
        cases += 1;
        frugal += usize::from(
            spend.inputs.iter().all(|coin| coin.amount_sats >= 10 * 68 * u64::from(rate)),
        );
    }
    assert!(cases > 200 && frugal > 0 && frugal < cases, "{frugal} of {cases}");
}

#[test]
fn large_coins_are_spent_if_many_small_ones_are_too_heavy() {
    let mut purse = Purse::empty(3, AddressType::Bip84);
    for _ in 0..2_000 {
        purse.add(10_000, Some(1));
    }
    let large: Vec<_> = (0..3).map(|_| purse.add(20_000_000, Some(2))).collect();
    let payees = one(&mut purse, 50_000_000);
    let spend = choose(&payees, &purse.at(RATE), [0; 32]).unwrap();
    assert_eq!(spent(&spend), these(&large));
    // All coins sum to 80,000,000 satoshis. Those that fit into one transaction do not reach
    // 75,000,000.
    let payees = one(&mut purse, 75_000_000);
    assert_eq!(choose(&payees, &purse.at(RATE), [0; 32]), Err(SpendError::TooHeavy));
}

#[test]
fn a_lack_of_a_few_satoshis_is_not_called_too_heavy() {
    let mut purse = Purse::empty(14, AddressType::Bip84);
    for height in 1..=3 {
        purse.add(100_000, Some(height));
    }
    let script = ScriptBuf::new_p2wpkh(&WPubkeyHash::all_zeros());
    let most_sats = most(&script, &purse.coins, RATE, AddressType::Bip84);
    for more_sats in 1..100 {
        let payees = [Payee { script: script.clone(), amount_sats: most_sats + more_sats }];
        let refused = choose(&payees, &purse.at(RATE), [0; 32]);
        let Err(SpendError::NotEnough { needed_sats, available_sats: 300_000 }) = refused else {
            panic!("{refused:?}")
        };
        assert!((1..=100).contains(&(needed_sats - 300_000)));
    }
}

#[test]
fn no_transaction_has_more_than_ten_unconfirmed_ancestors() {
    let mut purse = Purse::empty(4, AddressType::Bip86);
    let mut change = |amount_sats, ancestors| {
        let coin = purse.coin(amount_sats, None);
        let coin = SpendableCoin { ancestors, ancestors_vsize: 1_000, ..coin };
        purse.coins.push(coin);
        coin
    };
    let (six, five, four) = (change(300_000, 6), change(400_000, 5), change(200_000, 4));
    let _eleven = change(9_000_000, 11);
    for (amount_sats, expected) in [
        (150_000, vec![four]),
        (550_000, vec![four, five]),
        (450_000, vec![four, five]),
        (390_000, vec![four, five]),
    ] {
        let payees = one(&mut purse, amount_sats);
        assert_eq!(
            spent(&choose(&payees, &purse.at(RATE), [0; 32]).unwrap()),
            these(&expected),
            "{amount_sats}"
        );
    }
    let payees = one(&mut purse, 650_000);
    assert_eq!(choose(&payees, &purse.at(RATE), [0; 32]), Err(SpendError::WaitsForBlock));
    // Required coins count too.
    let funding = Funding { required: &[six, five], ..purse.at(RATE) };
    let payees = [Payee { amount_sats: 1_000, ..payees[0].clone() }];
    assert_eq!(choose(&payees, &funding, [0; 32]), Err(SpendError::WaitsForBlock));
}

#[test]
fn a_payout_from_unconfirmed_change_pays_for_its_ancestors() {
    let mut purse = Purse::empty(17, AddressType::Bip84);
    let change = SpendableCoin {
        ancestors: 2,
        ancestors_vsize: 300,
        ancestors_fee_sats: 600,
        ..purse.coin(500_000, None)
    };
    purse.coins.push(change);
    let payees = one(&mut purse, 100_000);
    let spend = choose(&payees, &purse.at(RATE), [0; 32]).unwrap();
    assert_eq!(spend.fee_sats, 10 * spend.vsize + 10 * 300 - 600);
    purse.signed(&spend, &purse.at(RATE).fee_for_inputs(&spend.inputs));
    // A confirmed coin has no ancestors to pay for, so it is chosen first.
    let confirmed = purse.add(500_000, Some(1));
    let spend = choose(&payees, &purse.at(RATE), [0; 32]).unwrap();
    assert_eq!((spent(&spend), spend.fee_sats), (these(&[confirmed]), 10 * spend.vsize));
}

#[test]
fn change_with_too_costly_ancestors_waits_for_a_block() {
    let mut purse = Purse::empty(18, AddressType::Bip84);
    let change = SpendableCoin {
        ancestors: 1,
        ancestors_vsize: 4_000,
        ancestors_fee_sats: 4_000,
        ..purse.coin(70_000, None)
    };
    purse.coins.push(change);
    let payees = one(&mut purse, 10_000);
    assert_eq!(choose(&payees, &purse.at(RATE), [0; 32]), Err(SpendError::WaitsForBlock));
    purse.coins[0].amount_sats = 80_000;
    assert!(choose(&payees, &purse.at(RATE), [0; 32]).is_ok());
}

#[test]
fn change_below_the_dust_limit_goes_to_the_fee() {
    for (address_type, dust_sats) in [(AddressType::Bip84, 294), (AddressType::Bip86, 330)] {
        let mut purse = Purse::empty(5, address_type);
        purse.add(100_000, Some(1));
        let payees = one(&mut purse, 50_000);
        let with_change = choose(&payees, &purse.at(RATE), [0; 32]).unwrap();
        let rest_sats = with_change.change.as_ref().unwrap().amount_sats;
        let leaving = |sats| {
            let payees = [Payee { amount_sats: 50_000 + rest_sats - sats, ..payees[0].clone() }];
            let spend = choose(&payees, &purse.at(RATE), [0; 32]).unwrap();
            purse.signed(&spend, &FeeWanted::at(RATE));
            spend
        };
        assert_eq!(leaving(dust_sats).change.unwrap().amount_sats, dust_sats);
        let without = leaving(dust_sats - 1);
        assert_eq!(
            (without.change, without.fee_sats),
            (None, with_change.fee_sats + dust_sats - 1)
        );
    }
}

#[test]
fn the_fee_rate_is_at_least_one_satoshi_per_vbyte() {
    let mut purse = Purse::empty(6, AddressType::Bip84);
    purse.add(100_000, Some(1));
    let payees = one(&mut purse, 50_000);
    let spend = choose(&payees, &purse.at(FeeRate::ZERO), [0; 32]).unwrap();
    assert_eq!(spend.fee_sats, spend.vsize);
    let beyond = choose(&payees, &purse.at(sat_vb(100_001)), [0; 32]);
    assert_eq!(beyond, Err(SpendError::FeeRate(100_001)));
}

#[test]
fn a_fee_pays_for_ancestors_and_outbids_every_version() {
    let fee = FeeWanted::at(sat_vb(10)).paying_for_ancestors(Paid { fee_sats: 300, vsize: 200 });
    assert_eq!(fee.sats(100), 1_000 + 1_700);
    assert_eq!(
        FeeWanted::at(sat_vb(10))
            .paying_for_ancestors(Paid { fee_sats: 3_000, vsize: 200 })
            .sats(100),
        1_000
    );
    let versions = [Paid { fee_sats: 9_000, vsize: 1_000 }, Paid { fee_sats: 6_000, vsize: 300 }];
    let fee = FeeWanted::at(sat_vb(10)).replacing(&versions);
    // Slightly above the rate of the second version, and at least the fee of the first plus 1
    // sat/vB.
    assert_eq!((fee.sats(1_000), fee.sats(100)), (20_004, 9_100));
    assert_eq!(FeeWanted::at(sat_vb(10)).replacing(&[]), FeeWanted::at(sat_vb(10)));
}

#[test]
fn a_payee_that_cannot_be_paid_is_refused() {
    let mut purse = Purse::empty(7, AddressType::Bip84);
    purse.add(100_000, Some(1));
    let refused = |payees: &[Payee]| match choose(payees, &purse.at(RATE), [0; 32]) {
        Err(SpendError::Payee(bad)) => bad,
        other => panic!("{other:?}"),
    };
    let payee = |script, amount_sats| Payee { script, amount_sats };
    let p2wpkh = ScriptBuf::new_p2wpkh(&WPubkeyHash::all_zeros());
    assert_eq!(refused(&[]), BadPayee::Nobody);
    assert!(matches!(
        refused(&[payee(p2wpkh.clone(), 293)]),
        BadPayee::Dust { least_sats: 294, .. }
    ));
    assert!(matches!(refused(&[payee(p2wpkh.clone(), 0)]), BadPayee::Dust { .. }));
    assert!(matches!(refused(&[payee(ScriptBuf::new_op_return([1]), 1_000)]), BadPayee::Script(_)));
    assert!(matches!(refused(&[payee(ScriptBuf::new(), 1_000)]), BadPayee::Script(_)));
    let much = 21_000_000 * 100_000_000;
    assert_eq!(
        refused(&[payee(p2wpkh.clone(), much), payee(p2wpkh.clone(), 294)]),
        BadPayee::TooMuch
    );
    assert_eq!(
        refused(&[payee(p2wpkh.clone(), u64::MAX), payee(p2wpkh, u64::MAX)]),
        BadPayee::TooMuch
    );
    assert!(matches!(
        choose_most(&[], &purse.at(RATE), [0; 32]),
        Err(SpendError::Payee(BadPayee::Nobody))
    ));
}

#[test]
fn a_coin_is_spent_once_even_if_it_is_named_twice() {
    let mut purse = Purse::empty(8, AddressType::Bip84);
    let coin = purse.add(100_000, Some(1));
    purse.coins.push(coin);
    let payees = one(&mut purse, 150_000);
    assert!(matches!(
        choose(&payees, &purse.at(RATE), [0; 32]),
        Err(SpendError::NotEnough { available_sats: 100_000, .. })
    ));
    let required = Funding { required: &[coin], ..purse.at(RATE) };
    assert!(matches!(
        choose(&payees, &required, [0; 32]),
        Err(SpendError::NotEnough { available_sats: 100_000, .. })
    ));
    let twice = Funding { required: &[coin, coin], ..purse.at(RATE) };
    assert_eq!(choose(&payees, &twice, [0; 32]), Err(SpendError::Twice(coin.outpoint)));
}

#[test]
fn output_order_is_random_and_lock_time_is_near_the_tip() {
    let mut purse = Purse::with(9, AddressType::Bip84, 20, 2_000_000);
    let payees = purse.payees(3, 100_000);
    let mut lower = 0;
    let mut places = [0; 4];
    for _ in 0..1_000 {
        let seed = purse.seed();
        let spend = choose(&payees, &purse.at(RATE), seed).unwrap();
        places[spend.change_vout().unwrap() as usize] += 1;
        let height = spend.lock_time.to_consensus_u32();
        assert!((TIP - 99..=TIP).contains(&height));
        lower += u32::from(height < TIP);
        let tx = spend.unsigned();
        assert!(tx.version.0 == 2 && tx.input.iter().all(|input| input.sequence.0 == 0xFFFF_FFFD));
    }
    assert!(places.iter().all(|count| (180..320).contains(count)), "{places:?}");
    assert!((60..140).contains(&lower), "{lower}");
    assert_eq!(
        choose(&payees, &purse.at(RATE), [5; 32]),
        choose(&payees, &purse.at(RATE), [5; 32])
    );
}

#[test]
fn the_lock_time_on_a_young_chain_is_not_negative() {
    let mut purse = Purse::with(10, AddressType::Bip84, 20, 2_000_000);
    let payees = purse.payees(1, 100_000);
    for _ in 0..100 {
        let seed = purse.seed();
        let spend = choose(&payees, &Funding { tip_height: 3, ..purse.at(RATE) }, seed).unwrap();
        assert!(spend.lock_time.to_consensus_u32() <= 3);
    }
}
