//! A second restore of an existing wallet skips an index only if needed, and finds every coin
//! within its lookahead.

use tillgate_domain::payment::PaymentState;
use tillgate_store::keychains::Keychain;
use tillgate_store::restore::{NewRestore, RestoreSource};

use super::*;
use tillgate_gateway::setup::{Words, adopt};
use tillgate_gateway::testing::stage::{Backend, Stage};
use tillgate_gateway::watcher::WatchError;

const SKIP: u32 = 1_000;

fn next_change(world: &World) -> u32 {
    world.gateway.store.read(|reader| reader.keychain(Keychain::Internal)).unwrap().unwrap().1
}

/// Looks until the scan has ended. A backend that is asked about scripts needs several looks.
async fn looks_to_the_end(world: &World) {
    for _ in 0..20 {
        if stands(world).state == RestoreState::Looked {
            return;
        }
        world.look().await;
    }
    panic!("the scan did not end in 20 looks");
}

/// Restores the existing wallet again and scans; returns the index of the next payment's address.
async fn next_after_restoring(world: &World, run: u32) -> u32 {
    let again = restore(&world.gateway, request(&words_of(world), run), BY).await.unwrap();
    assert!(matches!(again, Restored::Again(_)), "{again:?}");
    assert!(world.gateway.ready_wallet().is_err(), "no address may be given during the scan");
    looks_to_the_end(world).await;
    world.payment_to_wallet().await.derivation_index
}

#[tokio::test]
async fn a_second_restore_that_finds_no_coin_skips_no_address() {
    let world = world_with_wallet().await;
    pays_index(&world, 0).await;
    let words = words_of(&world);
    let world = beside(world).await;
    restore(&world.gateway, request(&words, 30), BY).await.unwrap();
    world.look().await;
    assert_eq!(world.payment_to_wallet().await.derivation_index, 1 + SKIP);
    let change = next_change(&world);
    assert_eq!(next_after_restoring(&world, 60).await, 1 + SKIP + 1);
    assert_eq!(next_after_restoring(&world, 90).await, 1 + SKIP + 2);
    let world = world.reopen().await;
    assert_eq!(world.payment_to_wallet().await.derivation_index, 1 + SKIP + 3);
    assert_eq!(next_change(&world), change);
}

#[tokio::test]
async fn only_addresses_that_another_copy_gave_are_skipped() {
    let world = world_with_wallet().await;
    let words = words_of(&world);
    let world = beside(world).await;
    restore(&world.gateway, request(&words, 30), BY).await.unwrap();
    world.look().await;
    assert_eq!(world.payment_to_wallet().await.derivation_index, SKIP);
    // A customer of another copy pays. This copy finds the coin by another scan.
    let script = world.gateway.wallet.get().unwrap().addresses.script(SKIP + 40).unwrap();
    world.sandbox().send(script, 60_000, world.now_ms()).unwrap();
    world.sandbox().mine(1, false, world.now_ms()).unwrap();
    let after = SKIP + 41 + SKIP;
    assert_eq!(next_after_restoring(&world, 60).await, after);
    assert_eq!(
        next_after_restoring(&world, 60).await,
        after + 1,
        "a known coin is not found a second time"
    );
}

#[tokio::test]
async fn a_wallet_never_restored_before_skips_indices_once() {
    let world = world_with_wallet().await;
    pays_index(&world, 0).await;
    assert_eq!(next_after_restoring(&world, 30).await, 1 + SKIP);
    assert_eq!(next_after_restoring(&world, 30).await, 1 + SKIP + 1);
}

#[tokio::test]
async fn coins_beyond_the_gap_are_found_with_a_larger_gap() {
    let world = world_with_wallet().await;
    pays_index(&world, 0).await;
    // This is the first index beyond a gap of 300 and `SKIP` further indices.
    pays_index(&world, 1 + 300 + SKIP).await;
    let words = words_of(&world);
    let world = asked_by_script(beside(world).await);
    restore(&world.gateway, request(&words, 300), BY).await.unwrap();
    looks_to_the_end(&world).await;
    assert_eq!(world.chain_balance(), 1_000_000, "the coin beyond the gap must not be found yet");
    assert_eq!(next_after_restoring(&world, 301).await, 1 + 300 + SKIP + 1 + SKIP);
    assert_eq!(world.chain_balance(), 2_000_000);
    world.check_ledger();
}

#[tokio::test]
async fn a_small_gap_finds_addresses_of_an_earlier_restored_copy() {
    let world = world_with_wallet().await;
    pays_index(&world, 0).await;
    let words = words_of(&world);
    let first = beside(world).await;
    restore(&first.gateway, request(&words, 20), BY).await.unwrap();
    first.look().await;
    pays_index(&first, 1 + SKIP + 10).await;
    let next = asked_by_script(beside(first).await);
    let restored = restore(&next.gateway, request(&words, 20), BY).await.unwrap();
    assert!(matches!(restored, Restored::Made(Restore { looks_ahead: 1_020, .. })), "{restored:?}");
    looks_to_the_end(&next).await;
    assert_eq!(next.chain_balance(), 2_000_000);
}

#[tokio::test(flavor = "multi_thread")]
async fn coins_of_an_earlier_use_of_an_address_pay_no_payment() {
    let world = world_with_wallet().await;
    let words = words_of(&world);
    let first = beside(world).await;
    restore(&first.gateway, request(&words, 20), BY).await.unwrap();
    first.look().await;
    // A customer of the first restored copy pays.
    pays_index(&first, SKIP).await;
    first.mine(110).await;
    // A node shows no blocks before the wallet's birth.
    let stage = Stage::over(Backend::Core, beside(first).await).await;
    let next = stage.world();
    let too_late = Some(Birthday::Height(next.sandbox().tip().unwrap().height));
    let request = |birthday| RestoreRequest {
        words: words.clone(),
        birthday,
        gap: Some(20),
        beside_another: false,
    };
    restore(&next.gateway, request(too_late), BY).await.unwrap();
    next.look().await;
    assert_eq!(
        (stands(next).state, next.chain_balance()),
        (RestoreState::Looked, 0),
        "a birthday above the coin must not find the coin"
    );
    let payment = next.payment_to_wallet().await;
    assert_eq!(payment.derivation_index, SKIP, "the address of the first copy is given again");
    restore(&next.gateway, request(Some(Birthday::Height(0))), BY).await.unwrap();
    looks_to_the_end(next).await;
    assert_eq!(next.state(&payment), PaymentState::New);
    assert_eq!((next.chain_balance(), stands(next).unknown), (1_000_000, 1));
    let hold = next.gateway.store.read(|reader| reader.sender_hold()).unwrap().unwrap();
    assert!(hold.reason.message.contains("1 transaction"), "{}", hold.reason);
    assert_eq!(next.payment_to_wallet().await.derivation_index, SKIP + 1 + SKIP);
    // A new coin at the address pays the second payment.
    next.pay(&payment, payment.payment.amount_sats).await;
    next.mine(1).await;
    assert_eq!(next.state(&payment), PaymentState::Confirmed);
    next.check_ledger();
}

#[tokio::test]
async fn a_birthday_above_the_best_block_is_an_error_of_the_look() {
    let world = world_with_wallet().await;
    pays_index(&world, 0).await;
    let words = words_of(&world);
    for by_script in [false, true] {
        let world = beside(World::new().await).await;
        let world = if by_script { asked_by_script(world) } else { world };
        // `restore` refuses such a birthday unless no backend is set, so `adopt` is called here.
        let new = NewRestore {
            source: RestoreSource::Words,
            at: world.gateway.time.now(),
            birth_height: Some(2_000_000),
            looks_ahead: 20,
            skip: 0,
            beside_another: false,
        };
        adopt(&world.gateway, Words::Known(words.clone()), Some(new), BY).await.unwrap();
        assert!(matches!(
            world.app.watcher.look().await,
            Err(WatchError::NotBorn { birth_height: 2_000_000, .. })
        ));
        assert_ne!(stands(&world).state, RestoreState::Looked);
        assert!(world.gateway.ready_wallet().is_err());
        let told = world.gateway.backend.last_look.status().error.unwrap();
        assert!(told.message.contains("another") && !told.message.contains("tillgate"), "{told}");
        restore(&world.gateway, request(&words, 20), BY).await.unwrap();
        looks_to_the_end(&world).await;
        assert!(world.gateway.ready_wallet().is_ok());
    }
}

#[tokio::test]
async fn a_scan_from_above_known_coins_keeps_these_coins() {
    let world = world_with_wallet().await;
    pays_index(&world, 0).await;
    world.mine(5).await;
    let tip = world.sandbox().tip().unwrap().height;
    let request = RestoreRequest {
        words: words_of(&world),
        birthday: Some(Birthday::Height(tip)),
        gap: Some(20),
        beside_another: false,
    };
    restore(&world.gateway, request, BY).await.unwrap();
    assert_eq!(
        stands(&world).birth_height,
        tip - 6,
        "the scan must start below the block of the known coin"
    );
    world.look().await;
    assert_eq!((stands(&world).state, world.chain_balance()), (RestoreState::Looked, 1_000_000));
    world.check_ledger();
}

#[tokio::test]
async fn an_earlier_copys_addresses_are_found_and_not_given_again() {
    let world = world_with_wallet().await;
    pays_index(&world, 0).await;
    let words = words_of(&world);
    let usual = || RestoreRequest {
        words: words.clone(),
        birthday: None,
        gap: None,
        beside_another: false,
    };
    let first = beside(world).await;
    restore(&first.gateway, usual(), BY).await.unwrap();
    first.look().await;
    pays_index(&first, 1 + 1_000).await;

    let next = asked_by_script(beside(first).await);
    restore(&next.gateway, usual(), BY).await.unwrap();
    for _ in 0..20 {
        next.look().await;
    }
    assert_eq!((stands(&next).state, stands(&next).unknown), (RestoreState::Looked, 2));
    assert_eq!(next.payment_to_wallet().await.derivation_index, 1_002 + 1_000);
}
