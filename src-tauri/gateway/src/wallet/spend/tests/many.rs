use std::time::{Duration, Instant};

use super::*;

/// Duration of each step, over all transactions.
#[derive(Debug, Default)]
struct Took {
    transactions: usize,
    inputs: usize,
    choosing: Duration,
    signing: Duration,
    checking: Duration,
}

/// Builds, signs and checks payouts in as few transactions as the limits allow, with different
/// coins in each.
#[expect(clippy::disallowed_methods, reason = "it measures")]
fn pay_all(purse: &mut Purse, mut payees: Vec<Payee>) -> Took {
    let mut took = Took::default();
    while !payees.is_empty() {
        let seed = purse.seed();
        let fee = FeeWanted::at(sat_vb(5));
        let start = Instant::now();
        let (spend, places) = choose_most(&payees, &purse.funding(fee), seed).unwrap();
        let chosen = Instant::now();
        let tx = sign(&spend, &words(7), purse.wallet).unwrap();
        let signed = Instant::now();
        check(&spend, &tx, purse.wallet, &fee, CAP).unwrap();
        took.checking += signed.elapsed();
        took.signing += signed - chosen;
        took.choosing += chosen - start;
        took.transactions += 1;
        took.inputs += spend.inputs.len();
        purse.coins.retain(|coin| !spend.inputs.contains(coin));
        let mut place = 0..;
        payees.retain(|_| place.next().is_some_and(|place| !places.contains(&place)));
    }
    took
}

#[test]
#[ignore = "measures: 1,000 payouts take less than two seconds in a program that is built for release"]
fn a_thousand_payouts_are_built_signed_and_checked() {
    for address_type in [AddressType::Bip84, AddressType::Bip86] {
        for (coins, most_sats) in
            [(50, 100_000_000), (2_000, 2_000_000), (50_000, 200_000), (5_000, 100_000)]
        {
            let mut purse = Purse::with(1, address_type, coins, most_sats);
            let payees = purse.payees(1_000, 150_000);
            let took = pay_all(&mut purse, payees);
            eprintln!("{address_type:?}, 1,000 payouts of {coins} coins: {took:?}");
        }
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "it measures")]
fn too_many_small_payouts_are_chosen_without_a_search_for_each() {
    let mut purse = Purse::empty(1, AddressType::Bip84);
    for _ in 0..3_000 {
        purse.add(7_692, Some(1));
    }
    let payees: Vec<Payee> =
        (0..1_807).map(|_| Payee { script: purse.script(), amount_sats: 10_000 }).collect();
    let start = Instant::now();
    let (spend, places) = choose_most(&payees, &purse.at(sat_vb(1)), [1; 32]).unwrap();
    let took = start.elapsed();
    eprintln!(
        "{} of {} payouts of {} coins were chosen in {took:?}",
        places.len(),
        payees.len(),
        spend.inputs.len()
    );
    assert!(places.iter().copied().eq(0..places.len()) && places.len() < payees.len());
    assert!(took < Duration::from_secs(15), "{took:?}");
}
