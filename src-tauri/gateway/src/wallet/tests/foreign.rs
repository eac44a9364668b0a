//! Our addresses equal those that foreign wallet programs derive from the same words.

use bitcoin::Network;
use bitcoin::hashes::{Hash as _, sha256};
use serde::Deserialize;

use crate::settings::AddressType;
use crate::wallet::keychain::KeychainAddresses;
use crate::wallet::{Descriptors, words};

const FOREIGN: &str = include_str!("../fixtures/foreign.json");

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Wallet {
    words: String,
    network: String,
    address_type: String,
    external: Keychain,
    internal: Keychain,
}

#[derive(Deserialize)]
struct Keychain {
    addresses: std::collections::BTreeMap<u32, String>,
    sha256: String,
}

#[test]
fn a_thousand_addresses_match_those_of_foreign_implementations() {
    let wallets: Vec<Wallet> = serde_json::from_str(FOREIGN).unwrap();
    assert!(wallets.len() >= 12);
    for wallet in wallets {
        let address_type = match wallet.address_type.as_str() {
            "bip84" => AddressType::Bip84,
            "bip86" => AddressType::Bip86,
            other => panic!("{other}"),
        };
        let network: Network = wallet.network.parse().unwrap();
        let words = words::parse(&wallet.words).unwrap();
        let ours = Descriptors::derive(&words, network, address_type).unwrap();
        for (ours, theirs) in [(ours.external, wallet.external), (ours.internal, wallet.internal)] {
            let keychain = KeychainAddresses::parse(&ours, network).unwrap();
            let addresses: Vec<String> =
                (0..1_000).map(|index| keychain.derive(index).unwrap().text).collect();
            for (index, address) in theirs.addresses {
                assert_eq!(addresses[index as usize], address, "{network} {index}");
            }
            let lines: String = addresses.iter().map(|address| format!("{address}\n")).collect();
            assert_eq!(sha256::Hash::hash(lines.as_bytes()).to_string(), theirs.sha256);
        }
    }
}
