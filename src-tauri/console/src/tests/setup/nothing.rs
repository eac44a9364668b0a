//! A restore that finds nothing is told, with the causes to check.

use super::*;
use crate::Status;
use crate::doctor::Doctor;
use crate::status::WarningKind;

#[tokio::test(flavor = "multi_thread")]
async fn a_restore_that_finds_nothing_is_a_warning_until_a_coin_comes() {
    let world = World::new().await;
    world.mine(3).await;
    restore(&world.gateway, request(&others(), 20), BY).await.unwrap();
    let shown =
        async || ask(&world.app, ShowRestore {}, &Actor::panel()).await.unwrap().restore.unwrap();
    assert!(!shown().await.found_nothing, "the look has not ended");
    world.look().await;
    assert!(shown().await.found_nothing);
    let check = async || {
        let doctor = ask(&world.app, Doctor {}, &Actor::panel()).await.unwrap();
        doctor.checks.into_iter().find(|check| check.name == "restore").unwrap()
    };
    let found = check().await;
    for cause in ["address type", "passphrase", "another program", "birthday"] {
        assert!(!found.ok && found.message.contains(cause), "{cause}: {found:?}");
    }
    let status = ask(&world.app, Status {}, &Actor::panel()).await.unwrap();
    assert!(
        status.warning_kinds.contains(&WarningKind::RestoreFoundNothing),
        "{:?}",
        status.warnings
    );

    let payment = world.payment_to_wallet().await;
    world.customer_pays(&payment, 1_000_000);
    world.look().await;
    assert!(!shown().await.found_nothing && check().await.ok);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restore_that_finds_coins_is_no_warning() {
    let world = world_with_wallet().await;
    let (words, _) = has_worked(&world, [0, 1, 2]).await;
    let world = beside(world).await;
    restore(&world.gateway, request(&words, 20), BY).await.unwrap();
    world.look().await;
    let shown = ask(&world.app, ShowRestore {}, &Actor::panel()).await.unwrap().restore.unwrap();
    assert!(shown.state == RestoreState::Looked && !shown.found_nothing, "{shown:?}");
}

#[tokio::test]
async fn words_with_electrums_version_are_restored_with_a_note() {
    let by_chance = (0u64..)
        .map(|number| {
            let mut bytes = [0; 16];
            bytes[8..].copy_from_slice(&number.to_be_bytes());
            bip39::Mnemonic::from_entropy(&bytes).unwrap().to_string()
        })
        .find(|words| mnemonic::is_like_electrum(words))
        .unwrap();
    let world = World::new().await;
    let asked = |words: String| RestoreWallet {
        words: Words::new(words),
        birthday: None,
        gap: None,
        beside_another: false,
    };
    let restored = ask(&world.app, asked(by_chance), &Actor::panel()).await.unwrap();
    assert!(restored.made && restored.like_electrum);
    let world = World::new().await;
    let restored =
        ask(&world.app, asked(others().reveal().to_owned()), &Actor::panel()).await.unwrap();
    assert!(restored.made && !restored.like_electrum);
}
