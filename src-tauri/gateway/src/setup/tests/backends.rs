//! The same words bring back the same wallet, whichever backend shows the chain.

use tillgate_nodes::ElectrumFault;

use super::*;
use crate::chain::tests::stage::{Backend, Stage};
use crate::gateway::StaffWarning;
use crate::store::keychains::Keychain;

/// As many transactions as make a history a longer line than any that is taken.
const VERY_MANY: u32 = 110_000;

/// What there is of a wallet that has looked: its sums as `wallet info` tells them, what was found, and where both keychains go on.
#[derive(Debug, PartialEq, Eq)]
struct Brought {
    record: String,
    found: u32,
    next_address: u32,
    next_change: u32,
    is_held: bool,
}

/// Restores the wallet and looks until it has seen all of the chain.
async fn brought(stage: &Stage, words: &Secret) -> Brought {
    let world = stage.world();
    restore(&world.gateway, request(words, 60), BY).await.unwrap();
    let mut looks = 0;
    while stands(world).state != RestoreState::Looked {
        assert!(world.gateway.ready_wallet().is_err() && looks < 30, "{:?}", stands(world));
        world.look().await;
        looks += 1;
    }
    world.check_ledger();
    let next = |keychain| world.gateway.store.read(|reader| reader.keychain(keychain)).unwrap().unwrap().1;
    let (next_address, next_change) = (next(Keychain::External), next(Keychain::Internal));
    let info = ask(&world.app, WalletInfo {}, &Actor::panel()).await.unwrap();
    // When it was made and looked at is not the backend's.
    let mut record: serde_json::Value = serde_json::from_str(&info.record).unwrap();
    record.as_object_mut().unwrap().remove("looked");
    Brought {
        record: record.to_string(),
        found: stands(world).unknown,
        next_address,
        next_change,
        is_held: world.gateway.store.read(|reader| reader.sender_hold()).unwrap().is_some(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_backend_brings_back_the_same_coins_and_goes_on_at_the_same_index() {
    let world = world_with_wallet().await;
    let (words, confirmed) = has_worked(&world, [0, 5, 41]).await;
    // One waits in the mempool, and one was taken back by its customer.
    let waits = world.payment_to_wallet().await;
    world.pay(&waits, 300_000).await;
    let dropped = world.payment_to_wallet().await;
    let txid = world.pay(&dropped, 200_000).await;
    world.sandbox().evict(txid, world.now_ms()).unwrap();
    let highest = waits.derivation_index;

    let mut stage = Stage::over(Backend::Sandbox, beside(world).await).await;
    let expected = brought(&stage, &words).await;
    assert_eq!((expected.found, expected.is_held), (5, true), "three payments, a payout, and what waits");
    assert_eq!(expected.next_address, highest + 1 + 1_000);
    assert_eq!(stage.world().chain_balance(), confirmed);
    assert!(expected.record.contains(r#""pendingBtc":0.00300000"#), "{}", expected.record);
    for backend in Backend::OTHERS {
        stage = Stage::over(*backend, beside(stage.into_world()).await).await;
        assert_eq!(brought(&stage, &words).await, expected, "{backend:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_that_the_server_does_not_tell_holds_up_no_restore_and_is_told_to_staff() {
    let world = world_with_wallet().await;
    let (words, coins) = has_worked(&world, [0, 5, 41]).await;
    let planted = world.gateway.wallet.get().unwrap().addresses.script(20).unwrap();
    let stage = Stage::over(Backend::Electrum, beside(world).await).await;
    stage.electrum().misbehave(ElectrumFault::LongHistory(planted, VERY_MANY));
    let brought = brought(&stage, &words).await;
    assert_eq!((brought.next_address, stage.world().chain_balance()), (42 + 1_000, coins));
    let warnings = stage.world().gateway.last_look.status().warnings;
    assert!(warnings.contains(&StaffWarning::TooLong { is_change: false, index: 20 }), "{warnings:?}");
}
