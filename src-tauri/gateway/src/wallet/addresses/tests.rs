use std::collections::BTreeSet;

use bdk_wallet::template::{Bip84, Bip86, DescriptorTemplate};
use bdk_wallet::{KeychainKind, Wallet};
use bitcoin::bip32::Xpriv;
use tillgate_machine::secrets::Secret;

use super::*;
use crate::settings::AddressType;
use crate::wallet::Descriptors;

const NETWORK: Network = Network::Regtest;

fn pool(address_type: AddressType, next_index: u32) -> (AddressPool, Wallet) {
    skipping(address_type, next_index, Vec::new())
}

fn skipping(
    address_type: AddressType,
    next_index: u32,
    skipped: Vec<(u32, u32)>,
) -> (AddressPool, Wallet) {
    let words = bip39::Mnemonic::from_entropy(&[7; 16]).unwrap();
    let descriptors =
        Descriptors::derive(&Secret::new(words.to_string()), NETWORK, address_type).unwrap();
    let master = Xpriv::new_master(NETWORK, &words.to_seed("")).unwrap();
    let wallet = match address_type {
        AddressType::Bip84 => wallet(|keychain| Bip84(master, keychain)),
        AddressType::Bip86 => wallet(|keychain| Bip86(master, keychain)),
    };
    (AddressPool::start(&descriptors.external, NETWORK, next_index, skipped, 0).unwrap(), wallet)
}

fn wallet<T: DescriptorTemplate + Clone + Send + 'static>(
    template: impl Fn(KeychainKind) -> T,
) -> Wallet {
    Wallet::create(template(KeychainKind::External), template(KeychainKind::Internal))
        .network(NETWORK)
        .create_wallet_no_persist()
        .unwrap()
}

#[test]
fn addresses_match_bdk_and_come_in_index_order() {
    for address_type in [AddressType::Bip84, AddressType::Bip86] {
        for from in [0, 1_000_000] {
            let (pool, wallet) = pool(address_type, from);
            for index in from..from + 200 {
                let given = pool.give().unwrap();
                let expected = wallet.peek_address(KeychainKind::External, index).address;
                assert_eq!(
                    (given.text, given.script),
                    (expected.to_string(), expected.script_pubkey())
                );
                assert_eq!(given.index, index);
            }
        }
    }
}

#[test]
fn simultaneous_callers_get_each_index_once() {
    let (pool, _) = pool(AddressType::Bip84, 7);
    let each = 3_000;
    let given: BTreeSet<u32> = thread::scope(|scope| {
        let ask = || (0..each).map(|_| pool.give().unwrap().index).collect::<Vec<_>>();
        let asking: Vec<_> = (0..4).map(|_| scope.spawn(ask)).collect();
        asking.into_iter().flat_map(|them| them.join().unwrap()).collect()
    });
    assert!(given.into_iter().eq(7..7 + 4 * each));
}

#[test]
fn the_pool_refills_after_the_last_request() {
    let (pool, _) = pool(AddressType::Bip84, 0);
    let fill = || {
        while pool.shared.lock().filling {
            thread::yield_now();
        }
        assert!(pool.shared.lock().ready.len() >= AHEAD);
    };
    fill();
    pool.give().unwrap();
    fill();
}

#[test]
fn an_index_skipped_before_derivation_is_known_but_not_given() {
    let (pool, wallet) = pool(AddressType::Bip84, 0);
    let far = u32::try_from(AHEAD).unwrap() * 2;
    pool.skip_to_beyond(far);
    assert_eq!(pool.give().unwrap().index, far + 1);
    for index in [0, 1, far / 2, far] {
        let script = wallet.peek_address(KeychainKind::External, index).address.script_pubkey();
        assert_eq!(pool.index_of_ungiven(&script), Some(index));
    }
}

#[test]
fn addresses_skipped_before_a_start_are_known_to_a_look() {
    let (pool, wallet) = skipping(AddressType::Bip84, 7_000, vec![(3, 3), (500, 6_999)]);
    assert_eq!(pool.give().unwrap().index, 7_000);
    let script = |index| wallet.peek_address(KeychainKind::External, index).address.script_pubkey();
    assert!(pool.wait_until_known_ahead());
    for index in [3, 500, 501, 6_998, 6_999, 7_001] {
        assert_eq!(pool.index_of_ungiven(&script(index)), Some(index));
    }
    for index in [2, 4, 499, 7_000] {
        assert_eq!(pool.index_of_ungiven(&script(index)), None, "{index} was given to a payment");
    }
}

#[test]
fn a_long_skip_before_the_start_delays_no_address() {
    // Deriving all of these would take hours.
    let many = 1 << 30;
    let (pool, _) = skipping(AddressType::Bip84, many, vec![(0, many - 1)]);
    for index in many..many + u32::try_from(ENOUGH).unwrap() + 100 {
        assert_eq!(pool.give().unwrap().index, index);
    }
}

#[test]
fn a_restored_wallet_derives_more_addresses_before_a_look() {
    let (pool, wallet) = pool(AddressType::Bip84, 0);
    let many = u32::try_from(AHEAD).unwrap() + 3_000;
    pool.know_ahead(many);
    pool.skip_to_beyond(10);
    assert!(pool.wait_until_known_ahead());
    let script = wallet.peek_address(KeychainKind::External, 10 + many).address.script_pubkey();
    assert_eq!(pool.index_of_ungiven(&script), Some(10 + many));
}

#[test]
fn no_address_is_given_while_addresses_are_withheld() {
    let (pool, _) = pool(AddressType::Bip84, 0);
    pool.withhold(true);
    assert!(matches!(pool.give(), Err(WalletError::NotReady(NotReady::NotLooked))));
    pool.withhold(false);
    assert_eq!(pool.give().unwrap().index, 0);
}

#[test]
fn an_address_is_ahead_until_it_is_given() {
    let (pool, wallet) = pool(AddressType::Bip84, 0);
    while pool.shared.lock().ready.len() < 3 {
        thread::yield_now();
    }
    let script = |keychain, index| wallet.peek_address(keychain, index).address.script_pubkey();
    assert!(
        pool.index_of_ungiven(&script(KeychainKind::External, 0)) == Some(0)
            && pool.index_of_ungiven(&script(KeychainKind::External, 2)) == Some(2)
    );
    let given = pool.give().unwrap();
    assert!(
        pool.index_of_ungiven(&given.script).is_none()
            && pool.index_of_ungiven(&script(KeychainKind::External, 1)) == Some(1)
    );
    assert!(pool.index_of_ungiven(&script(KeychainKind::Internal, 1)).is_none());
}

#[test]
fn the_dust_limit_depends_on_the_address_type() {
    assert_eq!(pool(AddressType::Bip84, 0).0.dust_limit_sats(), 294);
    assert_eq!(pool(AddressType::Bip86, 0).0.dust_limit_sats(), 330);
}

#[test]
fn no_address_is_given_beyond_the_last_index() {
    let (pool, _) = pool(AddressType::Bip84, (1 << 31) - 1);
    assert_eq!(pool.give().unwrap().index, (1 << 31) - 1);
    assert!(matches!(pool.give(), Err(WalletError::NoAddress(_))));
}
