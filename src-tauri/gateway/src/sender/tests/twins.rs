//! Another copy of the wallet works.

use bitcoin::hashes::Hash as _;
use tillgate_domain::payout::PayoutState;
use tillgate_sandbox::BroadcastFault;

use super::support::{add_coins, world_with_coins};
use crate::console::payouts::ShowPayout;
use crate::console::states::WaitCause;
use crate::console::status::Status;
use crate::console::{Actor, ask};
use crate::funds;
use crate::gateway::StaffWarning;
use crate::machine::secrets::Purpose;
use crate::testing::World;
use crate::wallet::spend::{self, FeeWanted, FreshChange, Means, Payee, SpendableCoin};

const HOUR_MS: i64 = 3_600_000;

/// A transaction that another copy of this wallet makes.
pub fn twin_of(world: &World, payees: &[Payee]) -> bitcoin::Transaction {
    twin_spending(world, payees, &[], 3).unwrap()
}

/// The same, spending these coins among others, at a rate in sat/vB; `None` where the coins do not suffice.
pub fn twin_spending(
    world: &World,
    payees: &[Payee],
    required: &[SpendableCoin],
    fee_rate_sat_vb: u32,
) -> Option<bitcoin::Transaction> {
    let gateway = &world.gateway;
    let wallet = gateway.wallet.get().unwrap();
    let settings = gateway.settings.snapshot();
    let coins = gateway.store.read(|reader| funds::spendable(reader, &settings)).unwrap();
    let change = FreshChange { script: wallet.change.script(0).unwrap(), index: 0 };
    let means = Means {
        required,
        optional: &coins,
        fee: FeeWanted::at(bitcoin::FeeRate::from_sat_per_vb_u32(fee_rate_sat_vb)),
        change: &change,
        address_type: wallet.keychains.address_type(),
        tip_height: 1,
    };
    let draft = spend::choose(payees, &means, [7; 32]).ok()?;
    let words = gateway.secrets.get(Purpose::WalletMnemonic).unwrap().unwrap();
    Some(spend::sign(&draft, &words, &wallet.keychains).unwrap())
}

#[tokio::test]
async fn what_a_twin_paid_is_sent_under_its_id_and_nothing_new_is_signed_until_staff_release_it() {
    let world = world_with_coins(3).await;
    let paid = world.approved_payout(300_000).await;
    let waits = world.approved_payout(200_000).await;
    let row = world.payout(&paid);
    let twin = twin_of(&world, &[Payee { script: row.script, amount_sats: row.amount_sats }]);
    world.sandbox().broadcast(&twin, world.now_ms()).unwrap();
    world.look().await;
    assert_eq!((world.payout_state(&paid), world.txid_of(&paid)), (PayoutState::Sent, twin.compute_txid()));
    world.check_ledger();
    world.send().await;
    assert_eq!(world.payout_state(&waits), PayoutState::Queued);
    assert!(world.gateway.sending.waits_for().unwrap().details.contains("another copy"));
    world.pass_ms(48 * 3_600_000).await;
    world.look_and_pass().await;
    assert_eq!(world.payout_state(&waits), PayoutState::Queued, "nothing times out meanwhile");
    world.mine_and_pass(1).await;
    world.check_ledger();
    assert!(world.app.sender.release("cli:ann", None).await.unwrap());
    world.look_and_pass().await;
    assert_eq!(world.payout_state(&waits), PayoutState::Sent);
    world.mine_and_pass(6).await;
    assert_eq!((world.outputs_of(&paid), world.outputs_of(&waits)), (1, 1));
    world.check_ledger();
    world.check_balance();
}

#[tokio::test]
async fn a_twin_that_takes_the_coins_of_a_stored_transaction_fails_its_payout_after_six_blocks() {
    let world = world_with_coins(1).await;
    let payout = world.approved_payout(300_000).await;
    let stranger = world.payment().await;
    let twin = twin_of(&world, &[Payee { script: stranger.script.clone(), amount_sats: 400_000 }]);
    world.send().await;
    assert_eq!(world.payout_state(&payout), PayoutState::Sent);
    world.sandbox().mine_transactions(&[twin], world.now_ms()).unwrap();
    world.look_and_pass().await;
    world.check_ledger();
    assert_eq!(world.payout_state(&payout), PayoutState::Sent, "one block may be taken back");
    world.mine_and_pass(5).await;
    assert_eq!((world.payout_state(&payout), world.outputs_of(&payout)), (PayoutState::Failed, 0));
    world.check_ledger();
}

#[tokio::test]
async fn while_a_twin_and_a_transaction_of_ours_dispute_a_coin_only_ours_is_reckoned_and_then_what_was_mined() {
    let world = world_with_coins(1).await;
    let (paid, other) = (world.approved_payout(300_000).await, world.approved_payout(200_000).await);
    let row = world.payout(&paid);
    let twin = twin_of(&world, &[Payee { script: row.script, amount_sats: row.amount_sats }]);
    world.send().await;
    world.sandbox().mine_transactions(std::slice::from_ref(&twin), world.now_ms()).unwrap();
    world.look().await;
    assert_eq!((world.payout_state(&paid), world.txid_of(&paid)), (PayoutState::Sent, twin.compute_txid()));
    assert_eq!(world.payout_state(&other), PayoutState::Sent);
    world.check_ledger();
    let balance = world.gateway.store.read(|reader| reader.ledger_sats()).unwrap();
    assert!((490_000..500_000).contains(&balance), "both payouts and a fee are deducted: {balance}");
    world.mine_and_pass(6).await;
    assert_eq!((world.payout_state(&other), world.outputs_of(&other)), (PayoutState::Failed, 0));
    world.check_ledger();
    world.check_balance();
}

#[tokio::test]
async fn what_another_copy_spent_for_a_payout_is_left_to_it_while_its_transaction_is_missing_and_not_for_ever() {
    let world = world_with_coins(1).await;
    let paid = world.approved_payout(300_000).await;
    let row = world.payout(&paid);
    let twin = twin_of(&world, &[Payee { script: row.script, amount_sats: row.amount_sats }]);
    world.sandbox().broadcast(&twin, world.now_ms()).unwrap();
    world.look().await;
    assert!(world.app.sender.release("cli:ann", None).await.unwrap());
    let next = world.approved_payout(200_000).await;
    world.sandbox().evict(twin.compute_txid(), world.now_ms()).unwrap();
    world.broadcasts(BroadcastFault::Reject);
    world.send().await;
    world.look_and_pass().await;
    assert_eq!((world.payout_state(&paid), world.payout_state(&next)), (PayoutState::Sent, PayoutState::Queued));
    assert!(world.payout(&next).batch_seq.is_none(), "its own coin would be taken from what was sent");
    // Whoever asks why is told what the coins are left to, and until when.
    let show = ShowPayout { payout_id: next.to_string() };
    let item = ask(&world.app, show, &Actor::command_line()).await.unwrap().item;
    let status = ask(&world.app, Status {}, &Actor::command_line()).await.unwrap();
    assert_eq!((item.wait_cause, status.sender_wait_cause), (Some(WaitCause::Coins), Some(WaitCause::Coins)));
    let noticed_at = world.gateway.store.read(|reader| reader.twin(&twin.compute_txid())).unwrap().unwrap().noticed_at;
    let until = noticed_at.plus_ms(14 * 24 * HOUR_MS).iso_seconds();
    for why in [item.waits_for.unwrap(), status.sender_waits_for.unwrap()] {
        let says = |what: &str| why.contains(what);
        assert!(says("0.01000000 BTC are left") && says(&until) && says(&twin.compute_txid().to_string()), "{why}");
    }
    world.broadcasts(BroadcastFault::Ok);
    world.mine_and_pass(1).await;
    world.mine_and_pass(6).await;
    assert_eq!((world.payout_state(&paid), world.outputs_of(&paid)), (PayoutState::Sent, 1));
    world.send().await;
    assert_eq!(world.payout_state(&next), PayoutState::Sent, "its change pays the next");
    world.check_ledger();

    // One that no miner takes.
    let other = world.approved_payout(150_000).await;
    let row = world.payout(&other);
    world.mine_and_pass(3).await;
    let twin = twin_of(&world, &[Payee { script: row.script, amount_sats: row.amount_sats }]);
    world.sandbox().broadcast(&twin, world.now_ms()).unwrap();
    world.look().await;
    world.app.sender.release("cli:ann", None).await.unwrap();
    world.sandbox().evict(twin.compute_txid(), world.now_ms()).unwrap();
    world.broadcasts(BroadcastFault::Reject);
    world.look().await;
    let spendable = || {
        let settings = world.gateway.settings.snapshot();
        world.gateway.store.read(|reader| funds::spendable(reader, &settings)).unwrap().len()
    };
    assert_eq!(spendable(), 0);
    world.pass_ms(15 * 24 * HOUR_MS).await;
    assert_eq!(spendable(), 1, "after two weeks the coin is free");
}

#[tokio::test]
async fn a_copy_that_replaces_its_own_transaction_pays_the_same_payout_and_no_other() {
    let world = world_with_coins(1).await;
    let (paid, alike) = (world.approved_payout(300_000).await, world.approved_payout(300_000).await);
    let row = world.payout(&paid);
    let payee = |sats| [Payee { script: row.script.clone(), amount_sats: sats }];
    let first = twin_of(&world, &payee(row.amount_sats));
    let second = twin_of(&world, &[payee(row.amount_sats), payee(100_000)].concat());
    world.sandbox().broadcast(&first, world.now_ms()).unwrap();
    world.look().await;
    assert_eq!(world.txid_of(&paid), first.compute_txid());
    world.sandbox().mine_transactions(std::slice::from_ref(&second), world.now_ms()).unwrap();
    world.look_and_pass().await;
    world.mine_and_pass(6).await;
    assert_eq!((world.payout_state(&paid), world.txid_of(&paid)), (PayoutState::Sent, second.compute_txid()));
    assert_eq!(world.payout_state(&alike), PayoutState::Queued);
    world.check_ledger();
}

#[tokio::test]
async fn of_two_twins_that_pay_one_payout_with_different_coins_the_mined_one_is_named_and_two_mined_are_told() {
    let world = world_with_coins(2).await;
    let paid = world.approved_payout(300_000).await;
    let row = world.payout(&paid);
    let payee = [Payee { script: row.script, amount_sats: row.amount_sats }];
    let first = twin_of(&world, &payee);
    world.sandbox().broadcast(&first, world.now_ms()).unwrap();
    world.look().await;
    let second = twin_of(&world, &payee);
    world.sandbox().broadcast(&second, world.now_ms()).unwrap();
    world.look().await;
    world.check_ledger();
    world.sandbox().evict(first.compute_txid(), world.now_ms()).unwrap();
    world.sandbox().mine_transactions(std::slice::from_ref(&second), world.now_ms()).unwrap();
    world.look_and_pass().await;
    assert_eq!((world.payout_state(&paid), world.txid_of(&paid)), (PayoutState::Sent, second.compute_txid()));
    world.check_ledger();
    let paid_twice = StaffWarning::PayoutPaidTwice { payout_id: paid };
    let warnings = || world.gateway.last_look.status().warnings;
    assert!(!warnings().contains(&paid_twice));
    world.sandbox().mine_transactions(std::slice::from_ref(&first), world.now_ms()).unwrap();
    world.look_and_pass().await;
    assert!(warnings().contains(&paid_twice), "{:?}", warnings());
    assert_eq!(world.payout_state(&paid), PayoutState::Sent);
    world.check_ledger();
}

#[tokio::test]
async fn what_a_twin_pays_beside_a_mined_payout_is_known_when_a_reorganisation_takes_ours_back() {
    let world = world_with_coins(1).await;
    let paid = world.approved_payout(300_000).await;
    world.send().await;
    world.app.sender.abandon(paid, false, "cli:ann", &world.app.watcher).await.unwrap().unwrap();
    let versions = |world: &World| {
        let batch_seq = world.payout(&paid).batch_seq.unwrap();
        world.gateway.store.read(|reader| reader.versions(batch_seq)).unwrap()
    };
    let (pays, gives_up) = (versions(&world)[0].tx.clone(), versions(&world)[1].tx.clone());
    let script = world.payout(&paid).script;
    world.sandbox().mine_transactions(&[pays], world.now_ms()).unwrap();
    world.look_and_pass().await;
    add_coins(&world, 1).await;
    // With a coin that has nothing to do with ours.
    let coins = world.gateway.store.read(|reader| crate::funds::spendable(reader, &world.gateway.settings.snapshot()));
    let fresh: Vec<_> = coins.unwrap().into_iter().filter(|coin| coin.amount_sats == 1_000_000).collect();
    let twin = twin_spending(&world, &[Payee { script, amount_sats: 300_000 }], &fresh, 3).unwrap();
    assert_eq!(twin.input.len(), 1);
    world.sandbox().broadcast(&twin, world.now_ms()).unwrap();
    world.look().await;
    assert!(world.app.sender.release("cli:ann", None).await.unwrap());
    world.sandbox().reorg(3, true, world.now_ms()).unwrap();
    world.sandbox().mine_transactions(&[gives_up], world.now_ms()).unwrap();
    for _ in 0..8 {
        world.mine_and_pass(1).await;
    }
    assert_eq!((world.payout_state(&paid), world.txid_of(&paid)), (PayoutState::Sent, twin.compute_txid()));
    assert_eq!(world.outputs_of(&paid), 1);
    world.check_ledger();
}

#[tokio::test]
async fn a_line_of_twins_seen_at_once_leaves_only_its_last_change_to_spend_however_long_it_is() {
    let world = world_with_coins(1).await;
    let wallet = std::sync::Arc::clone(world.gateway.wallet.get().unwrap());
    // Each spends the change of the one before, beyond all scripts that are known ahead.
    let mut coins =
        world.gateway.store.read(|reader| funds::spendable(reader, &world.gateway.settings.snapshot())).unwrap();
    let words = world.gateway.secrets.get(Purpose::WalletMnemonic).unwrap().unwrap();
    let stranger = bitcoin::ScriptBuf::new_p2wpkh(&bitcoin::WPubkeyHash::hash(b"a stranger"));
    let payee = Payee { script: stranger, amount_sats: 1_000 };
    let mut line = Vec::new();
    for index in 0..40 {
        let change = FreshChange { script: wallet.change.script(index).unwrap(), index };
        let means = Means {
            required: &coins,
            optional: &[],
            fee: FeeWanted::at(bitcoin::FeeRate::from_sat_per_vb_u32(3)),
            change: &change,
            address_type: wallet.keychains.address_type(),
            tip_height: 1,
        };
        let draft = spend::choose(std::slice::from_ref(&payee), &means, [7; 32]).unwrap();
        let tx = spend::sign(&draft, &words, &wallet.keychains).unwrap();
        let outpoint = bitcoin::OutPoint { txid: tx.compute_txid(), vout: draft.change_vout().unwrap() };
        let amount_sats = draft.change.as_ref().unwrap().amount_sats;
        let keychain = crate::store::keychains::Keychain::Internal;
        coins = vec![spend::SpendableCoin {
            outpoint,
            amount_sats,
            keychain,
            index,
            height: Some(1),
            ancestors: 0,
            ancestors_vsize: 0,
        }];
        line.push(tx);
    }
    world.sandbox().mine_transactions(&line, world.now_ms()).unwrap();
    world.look_and_pass().await;
    world.mine_and_pass(2).await;
    let left = world.gateway.store.read(|reader| reader.unspent_coins(reader.tip_height()?, 2)).unwrap();
    assert_eq!(left.iter().map(|coin| coin.outpoint).collect::<Vec<_>>(), [coins[0].outpoint]);
    world.check_ledger();
    assert!(world.app.sender.release("cli:ann", None).await.unwrap());
    let payout = world.approved_payout(100_000).await;
    world.send().await;
    world.mine_and_pass(1).await;
    assert_eq!((world.payout_state(&payout), world.outputs_of(&payout)), (PayoutState::Sent, 1));
}

#[tokio::test]
async fn while_a_parent_is_in_conflict_its_change_keeps_nothing_else_from_being_sent() {
    let world = world_with_coins(2).await;
    let first = world.approved_payout(900_000).await;
    world.send().await;
    world.look().await;
    let inputs =
        world.gateway.store.read(|reader| reader.inputs_of_batch(world.payout(&first).batch_seq.unwrap())).unwrap();
    assert_eq!(inputs.len(), 1);
    // The customer takes the coin back.
    world.sandbox().reorg(2, false, world.now_ms()).unwrap();
    world.look_and_pass().await;
    super::support::add_coins(&world, 1).await;
    let second = world.approved_payout(500_000).await;
    world.send().await;
    assert_eq!(world.payout_state(&second), PayoutState::Sent);
    world.mine_and_pass(6).await;
    assert_eq!(world.outputs_of(&second), 1);
    world.check_ledger();
}

#[tokio::test]
async fn a_payout_of_a_twin_that_vanished_fails_also_when_many_blocks_come_between_two_looks() {
    let world = world_with_coins(1).await;
    let paid = world.approved_payout(300_000).await;
    let row = world.payout(&paid);
    let twin = twin_of(&world, &[Payee { script: row.script.clone(), amount_sats: row.amount_sats }]);
    let in_its_place = twin_of(&world, &[Payee { script: row.script, amount_sats: 100_000 }]);
    world.sandbox().broadcast(&twin, world.now_ms()).unwrap();
    world.look().await;
    assert_eq!(world.payout_state(&paid), PayoutState::Sent);
    world.sandbox().evict(twin.compute_txid(), world.now_ms()).unwrap();
    world.look_and_pass().await;
    world.sandbox().mine_transactions(&[in_its_place], world.now_ms()).unwrap();
    world.mine_and_pass(10).await;
    assert_eq!((world.payout_state(&paid), world.outputs_of(&paid)), (PayoutState::Failed, 0));
    world.check_ledger();
    world.check_balance();
}

#[tokio::test]
async fn what_a_twin_paid_is_not_paid_once_more_and_giving_up_our_own_transaction_frees_its_coins() {
    let world = world_with_coins(2).await;
    let paid = world.approved_payout(900_000).await;
    world.broadcasts(BroadcastFault::Forget);
    world.send().await;
    assert_eq!(world.payout_state(&paid), PayoutState::Sent, "it was answered as taken");
    // The other copy pays it with the other coin.
    let row = world.payout(&paid);
    let twin = twin_of(&world, &[Payee { script: row.script, amount_sats: row.amount_sats }]);
    world.sandbox().mine_transactions(std::slice::from_ref(&twin), world.now_ms()).unwrap();
    world.look_and_pass().await;
    assert_eq!(world.txid_of(&paid), twin.compute_txid());
    assert!(world.app.sender.release("cli:ann", None).await.unwrap());
    world.app.sender.abandon(paid, false, "cli:ann", &world.app.watcher).await.unwrap().unwrap();
    world.broadcasts(BroadcastFault::Ok);
    for _ in 0..8 {
        world.mine_and_pass(1).await;
    }
    assert_eq!((world.payout_state(&paid), world.outputs_of(&paid)), (PayoutState::Sent, 1));
    let locked = world.gateway.store.read(|reader| reader.coin_sums()).unwrap().locked_sats;
    assert_eq!(locked, 0);
    world.check_ledger();
    world.check_balance();
}
