//! The same words restore the same wallet on every backend.

use tillgate_nodes::ElectrumFault;
use tillgate_store::keychains::Keychain;

use super::*;
use tillgate_gateway::gateway::StaffWarning;
use tillgate_gateway::testing::stage::{Backend, Stage};

/// A history of this many transactions exceeds the longest line that is accepted from an Electrum
/// server.
const VERY_MANY: u32 = 110_000;

/// A wallet after its look: the sums that `wallet info` shows, the number of coins found, and the
/// next index of both keychains.
#[derive(Debug, PartialEq, Eq)]
struct Brought {
    record: String,
    found: u32,
    next_address: u32,
    next_change: u32,
    is_held: bool,
}

/// Restores the wallet and looks until the scan has ended.
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
    let next =
        |keychain| world.gateway.store.read(|reader| reader.keychain(keychain)).unwrap().unwrap().1;
    let (next_address, next_change) = (next(Keychain::External), next(Keychain::Internal));
    let info = ask(&world.app, WalletInfo::default(), &Actor::panel()).await.unwrap();
    // `looked` is true with every backend, because the scan has ended.
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
async fn every_backend_restores_the_same_coins_and_next_index() {
    let world = world_with_wallet().await;
    let (words, confirmed) = has_worked(&world, [0, 5, 41]).await;
    // One payment waits in the mempool, and another was dropped.
    let waits = world.payment_to_wallet().await;
    world.pay(&waits, 300_000).await;
    let dropped = world.payment_to_wallet().await;
    let txid = world.pay(&dropped, 200_000).await;
    world.sandbox().evict(txid, world.now_ms()).unwrap();
    let highest = waits.derivation_index;

    let mut stage = Stage::over(Backend::Sandbox, beside(world).await).await;
    let expected = brought(&stage, &words).await;
    assert_eq!(
        (expected.found, expected.is_held),
        (5, true),
        "three payments, a payout, and the payment in the mempool"
    );
    assert_eq!(expected.next_address, highest + 1 + 1_000);
    assert_eq!(stage.world().chain_balance(), confirmed);
    assert!(expected.record.contains(r#""pendingBtc":0.00300000"#), "{}", expected.record);
    for backend in Backend::OTHERS {
        stage = Stage::over(*backend, beside(stage.into_world()).await).await;
        assert_eq!(brought(&stage, &words).await, expected, "{backend:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_with_too_long_a_history_blocks_no_restore() {
    let world = world_with_wallet().await;
    let (words, coins) = has_worked(&world, [0, 5, 41]).await;
    let planted = world.gateway.wallet.get().unwrap().addresses.script(20).unwrap();
    let stage = Stage::over(Backend::Electrum, beside(world).await).await;
    stage.electrum().misbehave(ElectrumFault::LongHistory(planted, VERY_MANY));
    let brought = brought(&stage, &words).await;
    assert_eq!((brought.next_address, stage.world().chain_balance()), (42 + 1_000, coins));
    let warnings = stage.world().gateway.backend.last_look.status().warnings;
    assert!(
        warnings.contains(&StaffWarning::TooLong { is_change: false, index: 20 }),
        "{warnings:?}"
    );
}
