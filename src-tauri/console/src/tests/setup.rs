//! Wallets are made and restored on the sandbox's chain, also through other backends. An
//! interrupted making is resumed, and the words alone find the coins that another copy received.

mod again;
mod backends;
mod looks;
mod nothing;
mod order;
mod types;

use std::sync::Arc;

use tillgate_domain::restore::RestoreState;
use tillgate_domain::time::Timestamp;
use tillgate_machine::secrets::{Purpose, Secret};
use tillgate_store::restore::Restore;
use tillgate_store::sender_hold::HoldCause;

use crate::wallet::{RestoreWallet, ShowRestore, WalletInfo, Words};
use crate::{Actor, ask};
use tillgate_gateway::setup::*;
use tillgate_gateway::testing::World;
use tillgate_gateway::testing::by_script::ByScript;
use tillgate_gateway::wallet::words::{self as mnemonic, WordCount};

const BY: &str = "cli:ann";

fn words_of(world: &World) -> Secret {
    world.gateway.machine.secrets.get(Purpose::WalletMnemonic).unwrap().unwrap()
}

fn others() -> Secret {
    mnemonic::parse("zoo zoo zoo zoo zoo zoo zoo zoo zoo zoo zoo wrong").unwrap()
}

fn has_wallet(world: &World) -> bool {
    world.gateway.store.read(|reader| reader.has_wallet()).unwrap()
}

fn request(words: &Secret, gap: u32) -> RestoreRequest {
    RestoreRequest { words: words.clone(), birthday: None, gap: Some(gap), beside_another: false }
}

/// Closes the gateway of `world`, and opens a new one without a wallet on a copy of its chain.
async fn beside(world: World) -> World {
    let fresh = World::opened(tempfile::tempdir().unwrap()).await;
    let (gateway, folder) = fresh.into_gateway();
    drop(gateway);
    let (gateway, old) = world.into_gateway();
    drop(gateway);
    for name in ["sandbox.db", "sandbox.db-wal", "sandbox.db-shm"] {
        let (from, to) =
            (old.path().join("test").join(name), folder.path().join("test").join(name));
        let _ = std::fs::remove_file(&to);
        if from.exists() {
            std::fs::copy(from, to).unwrap();
        }
    }
    World::opened(folder).await
}

fn stands(world: &World) -> Restore {
    world.gateway.store.read(|reader| reader.restore()).unwrap().unwrap()
}

async fn pays_index(world: &World, index: u32) {
    let payment = loop {
        let payment = world.payment_to_wallet().await;
        if payment.derivation_index >= index {
            break payment;
        }
    };
    assert_eq!(payment.derivation_index, index);
    world.customer_pays(&payment, 1_000_000);
    world.mine(1).await;
}

/// Customers pay the addresses with these indices, and a payout makes change. Returns the words and
/// the balance.
async fn has_worked(world: &World, indices: [u32; 3]) -> (Secret, u64) {
    for index in indices {
        pays_index(world, index).await;
    }
    world.mine(2).await;
    world.approved_payout(400_000).await;
    world.send().await;
    world.mine_and_pass(1).await;
    (words_of(world), world.chain_balance())
}

/// The same world with a backend that is asked about single scripts, as an Electrum server is.
fn asked_by_script(world: World) -> World {
    let sandbox = Arc::clone(world.gateway.backend.sandbox.as_ref().unwrap());
    world.with_chain(|chain| Arc::new(ByScript::new(chain, sandbox)))
}

async fn world_with_wallet() -> World {
    let world = World::new().await;
    world.make_wallet().await;
    world.look().await;
    world
}

#[tokio::test]
async fn the_words_restore_all_coins_and_the_next_address() {
    let world = world_with_wallet().await;
    let (words, coins) = has_worked(&world, [0, 1, 40]).await;
    let descriptors = world.gateway.wallet.get().unwrap().keychains.descriptors().clone();

    let world = beside(world).await;
    let restored = restore(&world.gateway, request(&words, 60), BY).await.unwrap();
    assert!(matches!(
        restored,
        Restored::Made(Restore { state: RestoreState::Awaited, birth_height: 0, .. })
    ));
    assert_eq!(*world.gateway.wallet.get().unwrap().keychains.descriptors(), descriptors);
    assert!(world.gateway.ready_wallet().is_err(), "no address may be given before the look");
    world.look().await;
    assert_eq!(stands(&world).state, RestoreState::Looked);
    assert_eq!((world.chain_balance(), stands(&world).unknown), (coins, 4));
    let balance = world.gateway.store.read(|reader| reader.ledger_sats()).unwrap();
    assert_eq!(u64::try_from(balance).unwrap(), coins);
    world.check_ledger();
    assert_eq!(world.payment_to_wallet().await.derivation_index, 41 + 1_000);
    let info = ask(&world.app, WalletInfo::default(), &Actor::panel()).await.unwrap();
    assert_eq!((info.longest_unused, info.gap_limit), (38, 39));

    // After staff release the sender, it spends the coins that were found.
    let hold = world.gateway.store.read(|reader| reader.sender_hold()).unwrap().unwrap();
    assert!(
        hold.cause == HoldCause::UntilCompared && hold.reason.message.contains("4 transactions"),
        "{}",
        hold.reason
    );
    world.app.sender.release(BY, None, true).await.unwrap();
    let payout = world.approved_payout(1_500_000).await;
    world.mine(2).await;
    world.send().await;
    assert_eq!(world.outputs_of(&payout), 1);
}

#[tokio::test]
async fn coins_found_in_either_keychain_extend_the_lookahead() {
    let world = world_with_wallet().await;
    for index in [190, 380, 570] {
        pays_index(&world, index).await;
    }
    let wallet = world.gateway.wallet.get().unwrap();
    for index in [150, 300] {
        // Replaced transactions leave gaps in the indices of change like these.
        let script = wallet.change.script(index).unwrap();
        world.sandbox().send(script, 60_000, world.now_ms()).unwrap();
        world.sandbox().mine(1, false, world.now_ms()).unwrap();
    }
    let words = words_of(&world);
    let world = beside(world).await;
    restore(&world.gateway, request(&words, 200), BY).await.unwrap();
    world.look().await;
    assert_eq!(world.chain_balance(), 3_000_000 + 120_000);
}

#[tokio::test]
async fn a_restored_wallet_gives_no_index_twice_after_a_restart() {
    let world = world_with_wallet().await;
    pays_index(&world, 3).await;
    let words = words_of(&world);
    let world = beside(world).await;
    restore(&world.gateway, request(&words, 100), BY).await.unwrap();
    let world = world.reopen().await;
    assert!(
        world.gateway.ready_wallet().is_err(),
        "a restart must not allow addresses before the look"
    );
    world.look().await;
    let first = world.payment_to_wallet().await.derivation_index;
    let world = world.reopen().await;
    assert_eq!(world.payment_to_wallet().await.derivation_index, first + 1);
    assert_eq!(world.chain_balance(), 1_000_000);
}

#[tokio::test]
async fn words_of_an_interrupted_making_are_used_and_not_overwritten() {
    let world = World::new().await;
    assert!(matches!(make(&world.gateway, BY).await, Err(SetupError::NoWords)));
    let left = mnemonic::new(world.gateway.machine.entropy.as_ref(), WordCount::Twelve).unwrap();
    world.gateway.machine.secrets.set(Purpose::WalletMnemonic, &left).unwrap();
    let refused = restore(&world.gateway, request(&others(), 10), BY).await.unwrap_err();
    assert!(matches!(refused, SetupError::OtherWords(_)), "{refused}");
    assert!(!has_wallet(&world) && words_of(&world).reveal() == left.reveal());
    assert_eq!(
        draft(&world.gateway, WordCount::TwentyFour).await.unwrap().words.reveal(),
        left.reveal()
    );
    let told = keep_words(&world.gateway, WordCount::TwentyFour).await.unwrap();
    assert_eq!(told.reveal(), left.reveal());
    make(&world.gateway, BY).await.unwrap();
    assert_eq!(fit(&world.gateway, &left).unwrap(), Fit::Fits);
}

#[tokio::test]
async fn an_existing_wallet_is_kept_and_gets_its_own_words_back() {
    let world = world_with_wallet().await;
    let words = words_of(&world);
    assert!(matches!(keep_words(&world.gateway, WordCount::Twelve).await, Err(SetupError::Exists)));
    assert!(matches!(make(&world.gateway, BY).await, Err(SetupError::Exists)));
    assert!(matches!(draft(&world.gateway, WordCount::Twelve).await, Err(SetupError::Exists)));
    let refused = restore(&world.gateway, request(&others(), 10), BY).await;
    assert!(matches!(refused, Err(SetupError::OtherWallet)));
    assert_eq!(words_of(&world).reveal(), words.reveal());
    assert!(world.gateway.ready_wallet().is_ok(), "a refused restore must not withhold addresses");

    world.gateway.machine.secrets.set(Purpose::WalletMnemonic, &others()).unwrap();
    assert_eq!(secrets_fit(&world.gateway).unwrap(), Some(Fit::Other));
    let repaired =
        RestoreRequest { words: words.clone(), birthday: None, gap: None, beside_another: false };
    assert_eq!(restore(&world.gateway, repaired, BY).await.unwrap(), Restored::WordsKept);
    assert_eq!(secrets_fit(&world.gateway).unwrap(), Some(Fit::Fits));
    assert!(world.gateway.ready_wallet().is_ok(), "the same words start no scan");
}

#[tokio::test]
async fn foreign_words_sign_no_payout_and_the_doctor_reports_them() {
    let world = world_with_wallet().await;
    for index in [0, 1] {
        pays_index(&world, index).await;
    }
    world.mine(2).await;
    let words = words_of(&world);
    world.gateway.machine.secrets.set(Purpose::WalletMnemonic, &others()).unwrap();
    let payout = world.approved_payout(300_000).await;
    world.send().await;
    assert_eq!(world.outputs_of(&payout), 0);
    assert_eq!(
        world.gateway.sending.waits_for().unwrap().cause,
        tillgate_gateway::gateway::WaitCause::Keyring
    );
    let doctor = ask(&world.app, crate::doctor::Doctor {}, &Actor::panel()).await.unwrap();
    let keyring = doctor.checks.iter().find(|check| check.name == "keyring").unwrap();
    assert!(!keyring.ok && keyring.message.contains("wallet restore"), "{}", keyring.message);
    let back = RestoreRequest { words, birthday: None, gap: None, beside_another: false };
    restore(&world.gateway, back, BY).await.unwrap();
    world.pass_sender().await;
    assert_eq!(world.outputs_of(&payout), 1, "the payout is sent once the right words are back");
}

#[tokio::test]
async fn a_draft_becomes_a_wallet_once_two_words_are_repeated() {
    let world = World::new().await;
    let shown = draft(&world.gateway, WordCount::TwentyFour).await.unwrap();
    let all: Vec<&str> = shown.words.reveal().split(' ').collect();
    assert!(
        all.len() == 24
            && shown.asked[0] < shown.asked[1]
            && shown.asked[1] <= 24
            && shown.asked[0] >= 1
    );
    let told = shown.asked.map(|place| all[place - 1]);
    let wrong = confirm(&world.gateway, &shown.id, [told[0], "wrong"], BY).await.unwrap_err();
    assert!(matches!(wrong, DraftError::Wrong(place) if place == shown.asked[1]), "{wrong}");
    assert!(
        !has_wallet(&world)
            && world.gateway.machine.secrets.get(Purpose::WalletMnemonic).unwrap().is_none()
    );
    assert!(matches!(confirm(&world.gateway, "another", told, BY).await, Err(DraftError::Gone)));
    confirm(&world.gateway, &shown.id, told, BY).await.unwrap();
    assert_eq!(words_of(&world).reveal(), shown.words.reveal());
    assert_eq!(world.gateway.wallet.get().unwrap().addresses.give().unwrap().index, 0);
    assert!(
        matches!(confirm(&world.gateway, &shown.id, told, BY).await, Err(DraftError::Gone)),
        "the used draft must be wiped"
    );
}

#[tokio::test]
async fn a_discarded_draft_is_gone_and_any_word_may_be_asked_for() {
    let world = World::new().await;
    let mut asked = std::collections::BTreeSet::new();
    for _ in 0..300 {
        let shown = draft(&world.gateway, WordCount::Twelve).await.unwrap();
        assert_ne!(shown.asked[0], shown.asked[1]);
        asked.extend(shown.asked);
    }
    assert!(asked.into_iter().eq(1..=12));
    let shown = draft(&world.gateway, WordCount::Twelve).await.unwrap();
    discard(&world.gateway.wallet, &shown.id);
    let told = shown.asked.map(|place| shown.words.reveal().split(' ').nth(place - 1).unwrap());
    assert!(matches!(confirm(&world.gateway, &shown.id, told, BY).await, Err(DraftError::Gone)));
}

#[tokio::test]
async fn a_backend_asked_by_script_finds_the_same_coins() {
    let world = world_with_wallet().await;
    let (words, coins) = has_worked(&world, [0, 700, 1_500]).await;
    let world = beside(world).await;
    let world = asked_by_script(world);
    restore(&world.gateway, request(&words, 900), BY).await.unwrap();
    let mut looks = 0;
    while stands(&world).state != RestoreState::Looked {
        assert!(world.gateway.ready_wallet().is_err() && looks < 20);
        if looks == 2 {
            stop(&world.gateway, BY).await.unwrap();
            let asked = stands(&world).asked;
            world.app.watcher.look().await.unwrap_err();
            assert_eq!(
                continue_restore(&world.gateway, BY).await.unwrap().asked,
                asked,
                "a resumed scan keeps its progress"
            );
        }
        world.look().await;
        looks += 1;
    }
    assert!(looks > 2, "{looks}");
    let asked = stands(&world).asked;
    assert!(asked.addresses > 2_400 && asked.change > 900, "{asked:?}");
    assert_eq!((world.chain_balance(), stands(&world).unknown), (coins, 4));
    world.check_ledger();
    assert_eq!(world.payment_to_wallet().await.derivation_index, 1_501 + 1_000);
}

#[tokio::test]
async fn a_server_with_few_questions_per_look_finds_all_coins() {
    let world = world_with_wallet().await;
    let (words, coins) = has_worked(&world, [0, 5, 41]).await;
    let world = beside(world).await;
    let sandbox = Arc::clone(world.gateway.backend.sandbox.as_ref().unwrap());
    let world = world.with_chain(|chain| {
        let server = ByScript::new(chain, sandbox);
        server.asks.store(40, std::sync::atomic::Ordering::SeqCst);
        Arc::new(server)
    });
    restore(&world.gateway, request(&words, 60), BY).await.unwrap();
    let mut told = Vec::new();
    while stands(&world).state != RestoreState::Looked {
        world.look().await;
        let restore =
            ask(&world.app, ShowRestore {}, &Actor::panel()).await.unwrap().restore.unwrap();
        let (asked, to_ask) = (restore.asked, restore.to_ask);
        assert!(
            told.last().is_none_or(|(before, _)| *before < asked),
            "each look must ask about more scripts than {asked}: {told:?}"
        );
        assert!(restore.percent == 100 || asked < to_ask, "{asked} of {to_ask}");
        told.push((asked, to_ask));
    }
    assert!(told.len() > 10, "{told:?}");
    assert!(
        told.iter().any(|(_, to_ask)| *to_ask > told[0].1),
        "coins that are found must add scripts to ask about: {told:?}"
    );
    assert_eq!((world.chain_balance(), stands(&world).unknown), (coins, 4));
    world.check_ledger();
}
