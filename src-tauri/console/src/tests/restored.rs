//! An older copy of the database is restored while another copy paid and received. Until the
//! restored copy has looked through the whole chain, it gives no address and sends nothing. Later
//! it repeats no payout of the other copy.

use bitcoin::Txid;
use tillgate_domain::id::Id;
use tillgate_domain::payout::PayoutState;
use tillgate_domain::restore::RestoreState;
use tillgate_gateway::access::record_scope::RecordScope;
use tillgate_gateway::gateway::WaitCause;
use tillgate_gateway::payouts::{ApproveError, Approver, approve};
use tillgate_gateway::sender::ReleaseError;
use tillgate_gateway::testing::World;
use tillgate_gateway::testing::copies::{
    SKIP, copied, customer_pays_coin, put_beside, restored, restored_at,
};
use tillgate_gateway::testing::sending::world_with_coins;
use tillgate_gateway::wallet::{NotReady, WalletError};
use tillgate_gateway::watcher::WatchError;
use tillgate_sandbox::FaultsPatch;
use tillgate_store::keychains::Keychain;
use tillgate_store::restore::Restore;
use tillgate_store::sender_hold::HoldCause;

use crate::{Actor, Status, ask};

pub fn restore_row(world: &World) -> Restore {
    world.gateway.store.read(|reader| reader.restore()).unwrap().unwrap()
}

fn next_index(world: &World, keychain: Keychain) -> u32 {
    world.gateway.store.read(|reader| reader.keychain(keychain)).unwrap().unwrap().1
}

fn chain_is_down(world: &World, down: bool) {
    world
        .sandbox()
        .set_faults(FaultsPatch { chain_down: Some(down), ..FaultsPatch::default() })
        .unwrap();
}

fn reason(world: &World) -> String {
    world.gateway.store.read(|reader| reader.sender_hold()).unwrap().unwrap().reason.message
}

fn held_for(world: &World) -> Option<HoldCause> {
    world.gateway.store.read(|reader| reader.sender_hold()).unwrap().map(|hold| hold.cause)
}

#[tokio::test]
async fn before_its_look_a_restored_copy_gives_and_sends_nothing() {
    let world = world_with_coins(2).await;
    let stored = world.approved_payout(300_000).await;
    world.broadcasts(tillgate_sandbox::BroadcastFault::Forget);
    world.send().await;
    world.broadcasts(tillgate_sandbox::BroadcastFault::Ok);
    let waiting = world.approved_payout(200_000).await;
    let (world, copy) = copied(world).await;
    let world = restored(put_beside(world, copy)).await;
    chain_is_down(&world, true);
    for _ in 0..3 {
        world.advance_clock_ms(48 * 3_600_000);
        world.app.watcher.look().await.unwrap_err();
        world.pass_sender().await;
        chain_is_down(&world, false);
        world.pass_sender().await;
        chain_is_down(&world, true);
    }
    assert_eq!(
        (world.outputs_of(&stored), world.outputs_of(&waiting)),
        (0, 0),
        "something was sent"
    );
    assert_eq!(world.payout_state(&waiting), PayoutState::Queued, "it timed out");
    assert_eq!(world.gateway.sending.waits_for().unwrap().cause, WaitCause::Restored);
    let wallet = world.gateway.wallet.get().unwrap();
    assert!(matches!(wallet.addresses.give(), Err(WalletError::NotReady(NotReady::NotLooked))));
    assert_eq!(world.gateway.ready_wallet().err(), Some(NotReady::NotLooked));
    let refused = world.app.sender.release("cli:ann", None, true).await;
    assert!(matches!(refused, Err(ReleaseError::NotLooked(_))), "{refused:?}");
    chain_is_down(&world, false);
    let refused =
        world.app.sender.bump(stored, None, "cli:ann", &world.app.watcher).await.unwrap_err();
    assert!(refused.to_string().contains("restored"), "{refused}");
    assert_eq!(held_for(&world), Some(HoldCause::Restored));
}

#[tokio::test]
async fn a_restored_copy_finds_the_work_of_the_other_copy() {
    let world = world_with_coins(1).await;
    let paid = world.approved_payout(300_000).await;
    let waiting = world.approved_payout(200_000).await;
    let (world, copy) = copied(world).await;
    // The other copy goes on: its customers pay, and it sends both payouts.
    customer_pays_coin(&world).await;
    world.send().await;
    world.mine_and_pass(1).await;
    let (_, late) = (world.payment_to_wallet().await, world.payment_to_wallet().await);
    world.customer_pays(&late, 500_000);
    world.mine(2).await;
    let unpaid = world.payment_to_wallet().await;
    let outputs = (world.outputs_of(&paid), world.outputs_of(&waiting));
    assert_eq!(outputs, (1, 1));

    let world = restored(put_beside(world, copy)).await;
    world.look().await;
    let restore = restore_row(&world);
    assert_eq!(restore.state, RestoreState::Looked);
    assert_eq!(restore.unknown, 3, "two customers' transactions and one payout's");
    assert_eq!(
        (world.payout_state(&paid), world.payout_state(&waiting)),
        (PayoutState::Sent, PayoutState::Sent)
    );
    assert_eq!(
        held_for(&world),
        Some(HoldCause::UntilCompared),
        "the sender holds until staff have read the findings"
    );
    let given = world.payment_to_wallet().await;
    assert_eq!(given.derivation_index, late.derivation_index + 1 + SKIP);
    assert_eq!(restore.first_given, Some(given.derivation_index));
    assert!(next_index(&world, Keychain::Internal) > SKIP);
    world.customer_pays(&unpaid, 400_000);
    world.mine(2).await;
    let told = reason(&world);
    assert!(told.starts_with("1 transaction was made after this backup;"), "{told}");
    assert!(told.contains("2 payments came to addresses that this copy does not know"), "{told}");
    let status = ask(&world.app, Status {}, &Actor::command_line()).await.unwrap();
    assert_eq!(
        status.sender_hold_transactions_count, 1,
        "the list and the sentence have the same count"
    );
    assert!(
        !told.contains("index"),
        "a payment to an older address was attributed to another copy: {told}"
    );
    world.check_ledger();
    assert!(world.app.sender.release("cli:ann", None, true).await.unwrap());
    customer_pays_coin(&world).await;
    let next = world.approved_payout(100_000).await;
    world.send().await;
    world.mine_and_pass(6).await;
    assert_eq!(
        (world.outputs_of(&paid), world.outputs_of(&waiting), world.outputs_of(&next)),
        (1, 1, 1)
    );
    world.check_ledger();
    world.check_balance();
}

#[tokio::test]
async fn a_payment_to_change_that_was_used_does_not_hold_the_sender() {
    let world = world_with_coins(2).await;
    let paid = world.approved_payout(300_000).await;
    let (world, copy) = copied(world).await;
    world.send().await;
    world.mine_and_pass(1).await;
    assert_eq!(world.outputs_of(&paid), 1);
    let world = restored(put_beside(world, copy)).await;
    world.look().await;
    assert!(world.app.sender.release("cli:ann", None, true).await.unwrap());
    let change = |index| world.gateway.wallet.get().unwrap().change.script(index).unwrap();
    let used = world
        .gateway
        .store
        .read(|reader| reader.highest_strange_index(Keychain::Internal))
        .unwrap()
        .unwrap();
    for _ in 0..2 {
        world.sandbox().send(change(used), 300, world.now_ms()).unwrap();
        world.mine(1).await;
        assert_eq!(held_for(&world), None, "dust on a used change address holds the sender");
    }
    world.sandbox().send(change(used + 1), 300, world.now_ms()).unwrap();
    world.look().await;
    assert_eq!(
        held_for(&world),
        Some(HoldCause::UntilReleased),
        "only another copy knows the next change address"
    );
}

#[tokio::test]
async fn a_restored_copy_holds_until_staff_have_read_the_findings() {
    let world = world_with_coins(1).await;
    let payment = world.payment_to_wallet().await;
    let (world, copy) = copied(world).await;
    // A customer pays an address that this copy knows; no other copy is involved.
    world.customer_pays(&payment, 700_000);
    world.mine(2).await;
    let world = restored(put_beside(world, copy)).await;
    world.look().await;
    assert_eq!(
        (restore_row(&world).unknown, held_for(&world)),
        (0, Some(HoldCause::UntilCompared))
    );
    let told = reason(&world);
    assert!(told.contains("found no transaction that was made after it"), "{told}");
    let next = world.approved_payout(300_000).await;
    world.send().await;
    assert_eq!(world.outputs_of(&next), 0, "a payout was sent before the release");
    assert!(world.app.sender.release("cli:ann", Some(told), false).await.unwrap());
    world.send().await;
    assert_eq!(world.outputs_of(&next), 1);
    let given = world.payment_to_wallet().await;
    assert_eq!(given.derivation_index, payment.derivation_index + 1 + SKIP);
    let world = world.reopen().await;
    let next = world.gateway.wallet.get().unwrap().addresses.give().unwrap();
    assert_eq!(next.index, given.derivation_index + 1, "a restart skipped addresses again");
}

/// A backup that holds an offer, which the original then approves and sends.
pub async fn offer_sent_after_the_backup() -> (World, Id, Txid) {
    let world = world_with_coins(2).await;
    let paid = world.offered_payout(300_000).await;
    let (world, copy) = copied(world).await;
    let by_ann =
        Approver { name: "cli:ann".to_owned(), scope: RecordScope::Everything, is_person: true };
    approve(&world.gateway, paid, by_ann).await.unwrap();
    world.send().await;
    world.mine_and_pass(1).await;
    let txid = world.txid_of(&paid);
    (restored(put_beside(world, copy)).await, paid, txid)
}

#[tokio::test]
async fn no_offer_expires_before_a_restored_copy_has_looked() {
    let (world, paid, txid) = offer_sent_after_the_backup().await;
    chain_is_down(&world, true);
    world.advance_clock_ms(3_600_000);
    world.pass_sender().await;
    assert_eq!(world.payout_state(&paid), PayoutState::New, "another copy may have sent it");
    chain_is_down(&world, false);
    world.look().await;
    assert_eq!(
        (world.payout_state(&paid), world.payout(&paid).txid),
        (PayoutState::Sent, Some(txid))
    );
    let status = ask(&world.app, Status {}, &Actor::command_line()).await.unwrap();
    assert!(
        status.alarms.iter().any(|alarm| alarm.payout_id == paid.to_string()),
        "there is no alarm for the payout: {:?}",
        status.alarms
    );
    assert_eq!(world.outputs_of(&paid), 1);
}

#[tokio::test]
async fn a_backend_that_lags_behind_the_backup_completes_no_look() {
    let (gateway, folder) = world_with_coins(1).await.into_gateway();
    drop(gateway);
    let chain = folder.path().join("test").join("sandbox.db");
    let older = std::fs::read(&chain).unwrap();
    let world = World::in_folder(folder).await;
    world.mine(3).await;
    let (gateway, folder) = world.into_gateway();
    drop(gateway);
    std::fs::write(&chain, older).unwrap();
    let world = restored(folder).await;
    let refused = world.app.watcher.look().await.unwrap_err();
    assert!(matches!(refused, WatchError::BehindBackup { .. }), "{refused}");
    assert_eq!(
        (held_for(&world), restore_row(&world).state),
        (Some(HoldCause::Restored), RestoreState::Awaited)
    );
    world.sandbox().mine(3, true, world.now_ms()).unwrap();
    world.look().await;
    assert_eq!(restore_row(&world).state, RestoreState::Looked);
}

#[tokio::test]
async fn nothing_is_approved_before_a_restored_copy_has_looked() {
    let world = world_with_coins(1).await;
    let offered = world.offered_payout(300_000).await;
    let (world, copy) = copied(world).await;
    let world = restored(put_beside(world, copy)).await;
    let by_ann =
        || Approver { name: "cli:ann".to_owned(), scope: RecordScope::Everything, is_person: true };
    let refused = approve(&world.gateway, offered, by_ann()).await;
    assert!(
        matches!(refused, Err(ApproveError::WalletNotReady(NotReady::NotLooked))),
        "{refused:?}"
    );
    assert_eq!(world.payout_state(&offered), PayoutState::New);
    world.look().await;
    approve(&world.gateway, offered, by_ann()).await.unwrap();
}

#[tokio::test]
async fn the_hold_of_a_restored_copy_lists_the_unknown_transactions() {
    let (world, paid, txid) = offer_sent_after_the_backup().await;
    world.look().await;
    let told = reason(&world);
    assert!(told.starts_with("1 transaction was made after this backup;"), "{told}");
    let status = ask(&world.app, Status {}, &Actor::command_line()).await.unwrap();
    assert_eq!(
        (status.sender_hold_transactions.len(), status.sender_hold_transactions_count),
        (1, 1)
    );
    let twin = &status.sender_hold_transactions[0];
    assert_eq!((&twin.txid, twin.paid.len()), (&txid.to_string(), 1));
    assert_eq!(twin.paid[0].address.as_deref(), Some(world.payout(&paid).address.as_str()));
    assert_eq!(twin.paid[0].amount.sats, 300_000);
    assert!(world.app.sender.release("cli:ann", Some(told), false).await.unwrap());
    let status = ask(&world.app, Status {}, &Actor::command_line()).await.unwrap();
    assert!(
        status.sender_hold_transactions.is_empty(),
        "the list is still there after the release"
    );
}

#[tokio::test]
async fn the_list_is_complete_if_the_restore_time_is_in_the_future() {
    let world = world_with_coins(1).await;
    let paid = world.approved_payout(300_000).await;
    let (world, copy) = copied(world).await;
    world.send().await;
    world.mine_and_pass(1).await;
    let (txid, ahead) = (world.txid_of(&paid), world.gateway.time.now().plus_ms(48 * 3_600_000));
    let world = restored_at(put_beside(world, copy), ahead).await;
    world.look().await;
    assert!(
        reason(&world).starts_with("1 transaction was made after this backup"),
        "{}",
        reason(&world)
    );
    let status = ask(&world.app, Status {}, &Actor::command_line()).await.unwrap();
    assert_eq!(status.sender_hold_transactions[0].txid, txid.to_string());
}

#[tokio::test]
async fn a_payout_given_up_after_the_backup_waits_for_staff() {
    let world = world_with_coins(0).await;
    let (given_up, wanted) =
        (world.approved_payout(300_000).await, world.approved_payout(200_000).await);
    let payment = world.payment_to_wallet().await;
    let (world, copy) = copied(world).await;
    // No transaction was signed, so the chain shows no trace. The customer pays an address that the
    // copy knows.
    world.app.sender.abandon(given_up, false, "cli:ann", &world.app.watcher).await.unwrap();
    world.customer_pays(&payment, 900_000);
    world.mine(2).await;
    let world = restored(put_beside(world, copy)).await;
    world.look().await;
    assert_eq!(
        (restore_row(&world).unknown, held_for(&world)),
        (0, Some(HoldCause::UntilCompared))
    );
    let told = reason(&world);
    assert!(
        !told.contains("payout"),
        "staff may cancel the payout during the hold, and the reason stays: {told}"
    );
    let remedy = WaitCause::from(HoldCause::UntilCompared).at_the_command_line(&told);
    assert!(
        remedy.contains("`tillgate payouts list --status QUEUED`"),
        "no list of the payouts: {remedy}"
    );
    assert!(remedy.contains("still runs, stop it first"), "{remedy}");
    world.advance_clock_ms(48 * 3_600_000);
    world.send().await;
    assert_eq!(
        (world.outputs_of(&given_up), world.outputs_of(&wanted)),
        (0, 0),
        "sent before the release"
    );
    assert_eq!(world.payout_state(&wanted), PayoutState::Queued, "it timed out");
    world.app.sender.abandon(given_up, false, "cli:ann", &world.app.watcher).await.unwrap();
    assert!(world.app.sender.release("cli:ann", Some(told), true).await.unwrap());
    world.send().await;
    assert_eq!(
        (world.payout_state(&given_up), world.payout_state(&wanted)),
        (PayoutState::Failed, PayoutState::Sent)
    );
    assert_eq!((world.outputs_of(&given_up), world.outputs_of(&wanted)), (0, 1));
}

#[tokio::test]
async fn a_payout_signed_before_the_backup_but_unseen_is_named() {
    let world = world_with_coins(1).await;
    let signed = world.approved_payout(300_000).await;
    world.broadcasts(tillgate_sandbox::BroadcastFault::Forget);
    world.send().await;
    world.broadcasts(tillgate_sandbox::BroadcastFault::Ok);
    let (world, copy) = copied(world).await;
    let world = restored(put_beside(world, copy)).await;
    world.look().await;
    let told = reason(&world);
    assert!(told.contains("1 payout is signed") && told.contains(&signed.to_string()), "{told}");
}

#[tokio::test]
async fn a_payment_beyond_the_skipped_addresses_holds_the_sender() {
    let world = world_with_coins(0).await;
    let (world, copy) = copied(world).await;
    let world = restored(put_beside(world, copy)).await;
    world.look().await;
    assert!(world.app.sender.release("cli:ann", None, false).await.unwrap());
    let beyond = {
        let wallet = world.gateway.wallet.get().unwrap();
        (0..4).for_each(|_| drop(wallet.addresses.give().unwrap()));
        wallet.addresses.give().unwrap()
    };
    let world = world.reopen().await;
    world.look().await;
    assert_eq!(held_for(&world), None);
    let pay = tillgate_sandbox::Pay {
        script: beyond.script,
        amount_sats: 5_000,
        parts: 1,
        fee_rate_sat_vb: None,
        confirmations: 0,
    };
    world.sandbox().pay(pay, world.now_ms()).unwrap();
    world.look().await;
    assert_eq!(held_for(&world), Some(HoldCause::UntilReleased));
}

#[tokio::test]
async fn a_stopped_look_resumes_only_on_command_also_after_a_restart() {
    let world = world_with_coins(1).await;
    let (world, copy) = copied(world).await;
    let world = restored(put_beside(world, copy)).await;
    assert!(world.gateway.store.write(|tx| tx.stop_restore(true)).await.unwrap());
    let world = world.reopen().await;
    for _ in 0..2 {
        assert!(matches!(world.app.watcher.look().await, Err(WatchError::Stopped)));
    }
    assert_eq!(restore_row(&world).state, RestoreState::Stopped);
    assert_eq!(world.gateway.ready_wallet().err(), Some(NotReady::NotLooked));
    let hold = world.gateway.store.read(|reader| reader.sender_hold()).unwrap().unwrap();
    assert_eq!(hold.cause, HoldCause::Stopped);
    assert!(
        hold.reason.message.contains("stopped") && !hold.reason.message.contains("by itself"),
        "{}",
        hold.reason
    );
    let refused = world.app.sender.release("cli:ann", None, true).await;
    assert!(matches!(refused, Err(ReleaseError::NotLooked(_))), "{refused:?}");
    assert!(world.gateway.store.write(|tx| tx.stop_restore(false)).await.unwrap());
    assert_eq!(held_for(&world), Some(HoldCause::Restored));
    world.look().await;
    assert_eq!(restore_row(&world).state, RestoreState::Looked);
    assert!(world.gateway.ready_wallet().is_ok());
}

#[tokio::test]
async fn a_running_gateway_looks_from_the_birth_after_a_restore() {
    let world = world_with_coins(1).await;
    let before = next_index(&world, Keychain::External);
    world.begins_restore(30, SKIP).await;
    world.look().await;
    let restore = restore_row(&world);
    assert_eq!((restore.state, restore.unknown), (RestoreState::Looked, 0));
    assert_eq!(next_index(&world, Keychain::External), before + SKIP);
    let begun_anew = world.gateway.backend.last_look.status().begun_anew_at;
    assert_eq!(begun_anew, None, "the look was reported as a look at another chain");
}
