//! Faulty signed transactions, which `check` refuses.

use bitcoin::{Amount, Sequence, TxOut, Witness};

use super::*;
use crate::wallet::spend::check::CheckError;
use crate::wallet::spend::sign::SignError;

const FEE: FeeWanted = FeeWanted::at(FeeRate::from_sat_per_vb_u32(10));

/// An unsigned spend of three payees and a change, with its signed transaction.
fn signed_spend(address_type: AddressType) -> (Purse, UnsignedSpend, Transaction) {
    let mut purse = Purse::empty(11, address_type);
    for height in 1..=4 {
        purse.add(100_000, Some(height));
    }
    let payees = purse.payees(3, 100_000);
    let payees: Vec<_> =
        payees.into_iter().map(|payee| Payee { amount_sats: 90_000, ..payee }).collect();
    let spend = choose(&payees, &purse.funding(FEE), [3; 32]).unwrap();
    let tx = purse.signed(&spend, &FEE);
    (purse, spend, tx)
}

fn both() -> [(Purse, UnsignedSpend, Transaction); 2] {
    [signed_spend(AddressType::Bip84), signed_spend(AddressType::Bip86)]
}

fn judged(purse: &Purse, spend: &UnsignedSpend, tx: &Transaction) -> Result<(), CheckError> {
    check(spend, tx, purse.wallet, &FEE, CAP)
}

#[test]
fn a_flipped_bit_of_any_signature_is_found() {
    for (purse, spend, tx) in both() {
        for input in 0..tx.input.len() {
            for bit in [0, 100, 300] {
                let mut tx = tx.clone();
                let mut items = tx.input[input].witness.to_vec();
                // Skips the tags and lengths of a DER signature.
                let byte = 5 + bit / 8;
                items[0][byte] ^= 1 << (bit % 8);
                tx.input[input].witness = Witness::from_slice(&items);
                let refused = judged(&purse, &spend, &tx);
                assert!(
                    matches!(refused, Err(CheckError::Script(which)) if which == input),
                    "{refused:?}"
                );
            }
            let mut unsigned = tx.clone();
            unsigned.input[input].witness = Witness::new();
            assert!(matches!(judged(&purse, &spend, &unsigned), Err(CheckError::Script(_))));
        }
    }
}

#[test]
fn one_wrong_signature_among_hundreds_is_found() {
    for address_type in [AddressType::Bip84, AddressType::Bip86] {
        let mut purse = Purse::empty(13, address_type);
        for _ in 0..220 {
            purse.add(10_000, Some(1));
        }
        let payee = Payee { amount_sats: 1_900_000, ..purse.payee(1_000) };
        let spend = choose(&[payee], &purse.at(sat_vb(1)), [3; 32]).unwrap();
        let tx = purse.signed(&spend, &FeeWanted::at(sat_vb(1)));
        for input in [0, 101, tx.input.len() - 1] {
            let mut tx = tx.clone();
            let mut items = tx.input[input].witness.to_vec();
            items[0][20] ^= 1;
            tx.input[input].witness = Witness::from_slice(&items);
            let refused = check(&spend, &tx, purse.wallet, &FeeWanted::at(sat_vb(1)), CAP);
            assert!(
                matches!(refused, Err(CheckError::Script(which)) if which == input),
                "{refused:?}"
            );
        }
    }
}

#[test]
fn a_coin_of_another_amount_or_another_index_is_found() {
    for (purse, spend, tx) in both() {
        // Signed for amounts other than the coins', with the same sum.
        let mut other = spend.clone();
        other.inputs[0].amount_sats += 5;
        other.inputs[1].amount_sats -= 5;
        assert!(matches!(judged(&purse, &other, &tx), Err(CheckError::Script(_))));
        let mut other = spend.clone();
        other.inputs[2].amount_sats += 1;
        assert!(matches!(judged(&purse, &other, &tx), Err(CheckError::Amounts)));
        let mut other = spend.clone();
        other.inputs[1].index += 1;
        assert!(matches!(judged(&purse, &other, &tx), Err(CheckError::Script(_))));
        // Signed with a wrong key.
        let tx = sign(&other, &words(7), purse.wallet).unwrap();
        assert!(matches!(judged(&purse, &spend, &tx), Err(CheckError::Script(_))));
    }
}

#[test]
fn words_of_another_wallet_sign_nothing() {
    for (purse, spend, _) in both() {
        let refused = sign(&spend, &words(8), purse.wallet);
        assert!(matches!(refused, Err(SignError::WrongWords)), "{refused:?}");
        let none = sign(&spend, &Secret::new("no words".to_owned()), purse.wallet);
        assert!(matches!(none, Err(SignError::Wallet(_))));
    }
}

#[test]
fn a_change_that_is_not_ours_is_found() {
    for (purse, spend, _) in both() {
        let foreign = ScriptBuf::new_p2wpkh(&WPubkeyHash::all_zeros());
        let external = purse.wallet.script(Keychain::External, purse.change.index).unwrap();
        let next = purse.wallet.script(Keychain::Internal, purse.change.index + 1).unwrap();
        for script in [foreign, external, next] {
            let mut spend = spend.clone();
            spend.change.as_mut().unwrap().script = script.clone();
            let tx = sign(&spend, &words(7), purse.wallet).unwrap();
            let refused = judged(&purse, &spend, &tx);
            assert!(
                matches!(refused, Err(CheckError::Change { script: found, .. }) if found == script)
            );
        }
    }
}

#[test]
fn any_changed_output_is_found() {
    for (purse, spend, tx) in both() {
        let changes: [fn(&mut Transaction); 5] = [
            |tx| tx.output[0].value += Amount::from_sat(1),
            |tx| tx.output.swap(0, 1),
            |tx| tx.output[1].script_pubkey = ScriptBuf::new_p2wpkh(&WPubkeyHash::all_zeros()),
            |tx| drop(tx.output.pop()),
            |tx| {
                tx.output
                    .push(TxOut { value: Amount::from_sat(1_000), script_pubkey: ScriptBuf::new() })
            },
        ];
        for change in changes {
            let mut tx = tx.clone();
            change(&mut tx);
            assert!(matches!(judged(&purse, &spend, &tx), Err(CheckError::Outputs)));
        }
    }
}

#[test]
fn one_output_for_two_equal_payees_is_found() {
    let (purse, spend, tx) = signed_spend(AddressType::Bip84);
    // Two payees have the same script and amount, but only one is paid.
    let mut twins = spend.clone();
    twins.payees[1] = twins.payees[0].clone();
    assert!(matches!(judged(&purse, &twins, &tx), Err(CheckError::Outputs)));
    let mut doubled = spend;
    doubled.payees.push(doubled.payees[0].clone());
    assert!(matches!(judged(&purse, &doubled, &tx), Err(CheckError::Outputs)));
}

#[test]
fn other_inputs_version_sequence_or_lock_time_are_found() {
    for (purse, spend, tx) in both() {
        let mut other = tx.clone();
        other.input[0].previous_output = purse.coins[3].outpoint;
        other.input.swap(1, 2);
        assert!(matches!(judged(&purse, &spend, &other), Err(CheckError::Inputs)));
        let mut fewer = tx.clone();
        fewer.input.pop();
        assert!(matches!(judged(&purse, &spend, &fewer), Err(CheckError::Inputs)));
        let mut twice = spend.clone();
        twice.inputs[1] = twice.inputs[0];
        let mut spent_twice = tx.clone();
        spent_twice.input[1] = spent_twice.input[0].clone();
        assert!(matches!(judged(&purse, &twice, &spent_twice), Err(CheckError::Inputs)));
        let changes: [fn(&mut Transaction); 3] = [
            |tx| tx.input[0].sequence = Sequence::MAX,
            |tx| tx.lock_time = bitcoin::absolute::LockTime::ZERO,
            |tx| tx.version = bitcoin::transaction::Version::ONE,
        ];
        for change in changes {
            let mut tx = tx.clone();
            change(&mut tx);
            assert!(matches!(judged(&purse, &spend, &tx), Err(CheckError::Frame)));
        }
    }
}

#[test]
fn a_fee_above_the_cap_or_off_the_wanted_fee_is_found() {
    let (purse, spend, tx) = signed_spend(AddressType::Bip84);
    let at =
        |rate, cap| check(&spend, &tx, purse.wallet, &FeeWanted::at(sat_vb(rate)), sat_vb(cap));
    assert!(at(10, 10).is_ok());
    assert!(matches!(at(10, 9), Err(CheckError::Fee { .. })));
    assert!(matches!(at(9, 100), Err(CheckError::Fee { .. })));
    assert!(matches!(at(11, 100), Err(CheckError::Fee { .. })));
}

#[test]
fn a_transaction_larger_than_its_draft_is_found() {
    let (purse, mut spend, tx) = signed_spend(AddressType::Bip84);
    spend.vsize = tx.weight().to_vbytes_ceil() - 1;
    assert!(matches!(judged(&purse, &spend, &tx), Err(CheckError::Size { .. })));
}

#[test]
fn a_replacement_may_pay_the_bip125_minimum_above_the_cap() {
    let mut purse = Purse::with(12, AddressType::Bip84, 30, 1_000_000);
    let payees = purse.payees(20, 30_000);
    let first = choose(&payees, &purse.at(sat_vb(50)), [0; 32]).unwrap();
    let fee = FeeWanted { replaced_sats: Some(first.fee_sats), ..FeeWanted::at(sat_vb(50)) };
    let given_up = to_ourselves(
        &Funding { required: &first.inputs, optional: &[], ..purse.funding(fee) },
        [0; 32],
    )
    .unwrap();
    assert!(given_up.fee_sats > 55 * given_up.vsize);
    let tx = sign(&given_up, &words(7), purse.wallet).unwrap();
    check(&given_up, &tx, purse.wallet, &fee, sat_vb(50)).unwrap();
}

#[test]
fn a_signature_is_the_same_each_time() {
    for (purse, spend, tx) in both() {
        assert_eq!(sign(&spend, &words(7), purse.wallet).unwrap(), tx);
    }
}

#[test]
fn each_input_with_a_known_spent_output_is_verified() {
    for (address_type, beside_unknown) in
        [(AddressType::Bip84, Some(true)), (AddressType::Bip86, None)]
    {
        let mut purse = Purse::empty(31, address_type);
        purse.add(50_000, Some(100));
        purse.add(60_000, Some(200));
        let payees = purse.payees(1, 700);
        let payees = [Payee { amount_sats: 90_000, ..payees[0].clone() }];
        let spend = choose(&payees, &purse.at(sat_vb(2)), [0; 32]).unwrap();
        let tx = purse.signed(&spend, &FeeWanted::at(sat_vb(2)));
        let known = spend.inputs.iter().map(|coin| {
            let script_pubkey = purse.wallet.script(coin.keychain, coin.index).unwrap();
            Some(TxOut { value: Amount::from_sat(coin.amount_sats), script_pubkey })
        });
        let known: Vec<Option<TxOut>> = known.collect();
        let judge = |tx: &Transaction, spent: &[Option<TxOut>]| {
            tillgate_sandbox::verify_each_script(tx, spent).collect::<Vec<_>>()
        };
        assert_eq!(judge(&tx, &known), [Some(true), Some(true)], "{address_type:?}");
        assert_eq!(
            judge(&tx, &[known[0].clone(), None]),
            [beside_unknown, None],
            "{address_type:?}"
        );
        assert_eq!(judge(&tx, &[None, None]), [None, None]);
        let mut spoilt = tx.clone();
        let mut items = spoilt.input[0].witness.to_vec();
        items[0][20] ^= 1;
        spoilt.input[0].witness = Witness::from_slice(&items);
        assert_eq!(judge(&spoilt, &known), [Some(false), Some(true)], "{address_type:?}");
        let mut pays_more = tx;
        pays_more.output[0].value += Amount::ONE_SAT;
        assert_eq!(judge(&pays_more, &known), [Some(false), Some(false)], "{address_type:?}");
    }
}
