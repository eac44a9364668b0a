//! Words that were used with the other address type: both types are looked at, and the one with
//! coins is taken.

use bitcoin::Network;
use tillgate_gateway::settings::AddressType;
use tillgate_gateway::wallet::{Descriptors, PublicKeychains};
use tillgate_store::keychains::Keychain;

use super::*;
use crate::doctor::Doctor;
use crate::settings::SetSetting;

async fn set_type(world: &World, address_type: AddressType) {
    let (name, value) = ("addressType".to_owned(), address_type.as_str().to_owned());
    ask(&world.app, SetSetting { name, value }, &Actor::panel()).await.unwrap();
}

/// Words with a history at BIP86 addresses, their balance, and a new world on the same chain.
async fn used_with_taproot() -> (Secret, u64, World) {
    let world = World::new().await;
    set_type(&world, AddressType::Bip86).await;
    world.make_wallet().await;
    world.look().await;
    let (words, coins) = has_worked(&world, [0, 1, 30]).await;
    (words, coins, beside(world).await)
}

/// The customer pays an address of these words and this type.
async fn pays(
    world: &World,
    words: &Secret,
    address_type: AddressType,
    index: u32,
    amount_sats: u64,
) {
    let descriptors = Descriptors::derive(words, Network::Regtest, address_type).unwrap();
    let keychains = PublicKeychains::parse(descriptors, Network::Regtest).unwrap();
    let script = keychains.script(Keychain::External, index).unwrap();
    let at = world.now_ms();
    world.sandbox().send(script, amount_sats, at).unwrap();
    world.sandbox().mine(1, false, at).unwrap();
}

async fn looked_through(world: &World) -> Restore {
    let mut looks = 0;
    while stands(world).state != RestoreState::Looked {
        assert!(world.gateway.ready_wallet().is_err() && looks < 30, "{:?}", stands(world));
        world.look().await;
        looks += 1;
    }
    world.check_ledger();
    stands(world)
}

fn type_of(world: &World) -> AddressType {
    world.gateway.wallet.get().unwrap().keychains.address_type()
}

fn balance(world: &World) -> u64 {
    u64::try_from(world.gateway.store.read(|reader| reader.ledger_sats()).unwrap()).unwrap()
}

fn at_other_type(world: &World) -> u64 {
    world.gateway.store.read(|reader| reader.other_sats()).unwrap()
}

#[tokio::test]
async fn the_type_with_coins_is_taken_on_each_kind_of_backend() {
    for asks_by_script in [false, true] {
        let (words, coins, world) = used_with_taproot().await;
        let world = if asks_by_script { asked_by_script(world) } else { world };
        restore(&world.gateway, request(&words, 60), BY).await.unwrap();
        assert_eq!(type_of(&world), AddressType::Bip84);
        assert_eq!(looked_through(&world).await.unknown, 4, "by script: {asks_by_script}");
        assert_eq!(
            (type_of(&world), balance(&world), at_other_type(&world)),
            (AddressType::Bip86, coins, 0)
        );
        let payment = world.payment_to_wallet().await;
        assert!(payment.script.is_p2tr() && payment.derivation_index == 31 + 1_000, "{payment:?}");
        world.pay(&payment, 500_000).await;
        world.mine(1).await;
        assert_eq!(balance(&world), coins + 500_000);
        world.app.sender.release(BY, None, true).await.unwrap();
        let payout = world.approved_payout(300_000).await;
        world.mine(2).await;
        world.send().await;
        assert_eq!(world.outputs_of(&payout), 1, "by script: {asks_by_script}");
        world.check_ledger();
    }
}

#[tokio::test]
async fn with_coins_at_both_types_the_set_one_is_kept_and_the_other_told() {
    for asks_by_script in [false, true] {
        let (words, coins, world) = used_with_taproot().await;
        pays(&world, &words, AddressType::Bip84, 2, 700_000).await;
        let world = if asks_by_script { asked_by_script(world) } else { world };
        restore(&world.gateway, request(&words, 60), BY).await.unwrap();
        assert_eq!(looked_through(&world).await.unknown, 1);
        assert_eq!((type_of(&world), balance(&world)), (AddressType::Bip84, 700_000));
        assert_eq!(
            at_other_type(&world),
            coins,
            "coins that were spent are not told; by script: {asks_by_script}"
        );
        let shown =
            ask(&world.app, ShowRestore {}, &Actor::panel()).await.unwrap().restore.unwrap();
        let other = shown.at_other_type.unwrap();
        assert_eq!(
            (other.address_type.as_str(), other.sum.sats),
            ("bip86", i64::try_from(coins).unwrap())
        );
        let doctor = ask(&world.app, Doctor {}, &Actor::panel()).await.unwrap();
        let check = doctor.checks.iter().find(|check| check.name == "restore").unwrap();
        assert!(check.ok && check.message.contains("bip86"), "{check:?}");
        assert!(
            check.message.starts_with("the look that ended at "),
            "the coins may have moved since: {check:?}"
        );
        let info = ask(&world.app, WalletInfo::default(), &Actor::panel()).await.unwrap();
        assert_eq!((info.balance.sats, info.address_type.as_str()), (700_000, "bip84"));
        world.look().await;
        assert_eq!(
            (balance(&world), at_other_type(&world)),
            (700_000, coins),
            "later looks watch one type"
        );
    }
}

#[tokio::test]
async fn a_transaction_in_no_block_changes_no_type() {
    let world = World::new().await;
    world.make_wallet().await;
    let words = words_of(&world);
    let world = beside(world).await;
    let descriptors = Descriptors::derive(&words, Network::Regtest, AddressType::Bip86).unwrap();
    let keychains = PublicKeychains::parse(descriptors, Network::Regtest).unwrap();
    world
        .sandbox()
        .send(keychains.script(Keychain::External, 0).unwrap(), 50_000, world.now_ms())
        .unwrap();
    restore(&world.gateway, request(&words, 60), BY).await.unwrap();
    looked_through(&world).await;
    assert_eq!((type_of(&world), at_other_type(&world)), (AddressType::Bip84, 0));
}

#[tokio::test]
async fn a_restart_between_the_looks_keeps_the_taken_type() {
    let (words, coins, world) = used_with_taproot().await;
    restore(&world.gateway, request(&words, 60), BY).await.unwrap();
    let world = world.reopen().await;
    world.look().await;
    assert_eq!(
        stands(&world).state,
        RestoreState::Awaited,
        "the look begins again for the other type"
    );
    assert_eq!(
        (type_of(&world), balance(&world)),
        (AddressType::Bip84, 0),
        "nothing is counted for two types"
    );
    let world = world.reopen().await;
    assert_eq!(type_of(&world), AddressType::Bip86);
    assert!(world.gateway.ready_wallet().is_err(), "no address is given before the second look");
    looked_through(&world).await;
    assert_eq!((balance(&world), at_other_type(&world)), (coins, 0));
    let world = world.reopen().await;
    assert_eq!((type_of(&world), balance(&world)), (AddressType::Bip86, coins));
}

#[tokio::test]
async fn words_without_coins_keep_the_set_type() {
    for address_type in [AddressType::Bip84, AddressType::Bip86] {
        let world = World::new().await;
        set_type(&world, address_type).await;
        world.mine(3).await;
        restore(&world.gateway, request(&others(), 20), BY).await.unwrap();
        looked_through(&world).await;
        assert_eq!((type_of(&world), at_other_type(&world)), (address_type, 0));
    }
}

#[tokio::test]
async fn another_look_never_changes_the_type_of_a_used_wallet() {
    let world = world_with_wallet().await;
    let payment = world.payment_to_wallet().await;
    let words = words_of(&world);
    pays(&world, &words, AddressType::Bip86, 0, 900_000).await;
    restore(&world.gateway, request(&words, 20), BY).await.unwrap();
    looked_through(&world).await;
    assert_eq!(
        (type_of(&world), at_other_type(&world)),
        (AddressType::Bip84, 900_000),
        "a customer has {payment:?}"
    );
}
