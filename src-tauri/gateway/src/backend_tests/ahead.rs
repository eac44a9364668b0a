//! Another copy of the wallet gives addresses and makes change beyond the indices of this one.

use tillgate_store::keychains::Keychain;

use crate::testing::stage::{Backend, Stage};

/// Indices known ahead: 200 more than a restored copy skips by default.
const KNOWN: u32 = 1_200;

/// The longest time of a round over all these indices.
const ROUND_MS: i64 = 600_000;

/// The time between two looks of a test; each look asks about some addresses.
const EVERY_MS: i64 = 10_000;

/// Pays the script at this index, and looks for `within_ms`. Returns whether the sender is on hold
/// then.
async fn is_noticed(backend: Backend, keychain: Keychain, index: u32, within_ms: i64) -> bool {
    let stage = Stage::new(backend).await;
    let world = stage.world();
    world.make_wallet().await;
    world.pass_ms(61_000).await;
    let script = world.gateway.wallet.get().unwrap().keychains.script(keychain, index).unwrap();
    world.sandbox().send(script, 500_000, world.now_ms()).unwrap();
    world.mine(1).await;
    for _ in 0..within_ms / EVERY_MS {
        world.pass_ms(EVERY_MS).await;
    }
    world.gateway.store.read(|reader| reader.sender_hold()).unwrap().is_some()
}

#[tokio::test]
async fn a_copy_just_ahead_is_noticed_at_once() {
    for backend in [Backend::Sandbox, Backend::Core, Backend::Electrum] {
        for keychain in [Keychain::External, Keychain::Internal] {
            assert!(is_noticed(backend, keychain, 199, 0).await, "{backend:?} {keychain:?}");
        }
    }
}

#[tokio::test]
async fn a_copy_far_ahead_is_noticed_within_ten_minutes() {
    for (backend, within_ms) in
        [(Backend::Sandbox, 0), (Backend::Core, 0), (Backend::Electrum, ROUND_MS)]
    {
        for keychain in [Keychain::External, Keychain::Internal] {
            assert!(
                is_noticed(backend, keychain, KNOWN - 1, within_ms).await,
                "{backend:?} {keychain:?}"
            );
        }
    }
}
