mod foreign;

use tillgate_machine::secrets::Secret;
use tokio::time::Instant;

use super::*;
use crate::settings::AddressType;

#[test]
#[ignore = "prints figures"]
fn loading_time_of_a_wallet_with_skipped_addresses() {
    let words = bip39::Mnemonic::from_entropy(&[7; 16]).unwrap();
    let descriptors =
        Descriptors::derive(&Secret::new(words.to_string()), Network::Regtest, AddressType::Bip84)
            .unwrap();
    for skipped in [1_000, 11_000, 100_000] {
        let keychains = PublicKeychains::parse(descriptors.clone(), Network::Regtest).unwrap();
        let begun = Instant::now();
        let wallet =
            Wallet::start(keychains, skipped, vec![(0, skipped - 1)], 1_000, 1_000).unwrap();
        let loaded = begun.elapsed();
        assert!(wallet.addresses.wait_until_known_ahead());
        println!(
            "{skipped} skipped: wallet loaded in {loaded:?}, all addresses derived after {:?}",
            begun.elapsed()
        );
    }
}
