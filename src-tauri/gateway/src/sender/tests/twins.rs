//! Tests with another copy of the wallet that pays at the same time as this one.

use bitcoin::hashes::Hash as _;
use tillgate_domain::id::Id;
use tillgate_domain::payout::PayoutState;
use tillgate_machine::secrets::Purpose;
use tillgate_store::alarms::AlarmKind;

use crate::funds;
use crate::payouts::limit_now;
use crate::sender::ReleaseError;
use crate::testing::World;
use crate::testing::sending::{add_coins, world_with_coins};
use crate::testing::twins::{twin_of, twin_paying, twin_spending};
use crate::wallet::spend::{self, FeeWanted, FreshChange, Funding, Payee};

fn sees_in_mempool(world: &World, twin: &bitcoin::Transaction) {
    world.sandbox().broadcast(twin, world.now_ms()).unwrap();
}

fn sees_in_block(world: &World, twin: &bitcoin::Transaction) {
    world.sandbox().mine_transactions(std::slice::from_ref(twin), world.now_ms()).unwrap();
}

fn alarms_of(world: &World, payout: &Id) -> Vec<AlarmKind> {
    let alarms = world.gateway.store.read(|reader| reader.alarms()).unwrap();
    alarms.iter().filter(|alarm| alarm.payout_id == *payout).map(|alarm| alarm.kind).collect()
}

#[tokio::test]
async fn a_twin_holds_the_sender_and_a_block_sends_its_payout() {
    let world = world_with_coins(3).await;
    let paid = world.approved_payout(300_000).await;
    let waits = world.approved_payout(200_000).await;
    let twin = twin_paying(&world, &paid);
    sees_in_mempool(&world, &twin);
    world.look().await;
    let hold = world.gateway.store.read(|reader| reader.sender_hold()).unwrap().unwrap().reason;
    let address = world.payout(&paid).address;
    for named in [twin.compute_txid().to_string(), address, "0.00300000 BTC".to_owned()] {
        assert!(hold.message.contains(&named), "{hold}");
    }
    world.check_ledger();
    world.send().await;
    world.pass_ms(48 * 3_600_000).await;
    world.look_and_pass().await;
    for payout in [&paid, &waits] {
        assert_eq!(
            world.payout_state(payout),
            PayoutState::Queued,
            "while the sender holds, payouts stay queued"
        );
    }
    world.mine_and_pass(1).await;
    assert_eq!(
        (world.payout_state(&paid), world.txid_of(&paid)),
        (PayoutState::Sent, twin.compute_txid())
    );
    assert_eq!(alarms_of(&world, &paid), [AlarmKind::PayoutSentByCopy]);
    world.check_ledger();
    assert!(world.app.sender.release("cli:ann", None, false).await.unwrap());
    world.look_and_pass().await;
    assert_eq!(world.payout_state(&waits), PayoutState::Sent);
    world.mine_and_pass(6).await;
    assert_eq!((world.outputs_of(&paid), world.outputs_of(&waits)), (1, 1));
    world.check_ledger();
    world.check_balance();
}

#[tokio::test]
async fn a_twin_returned_to_the_mempool_is_released_only_by_force() {
    let world = world_with_coins(1).await;
    let paid = world.approved_payout(300_000).await;
    let twin = twin_paying(&world, &paid);
    sees_in_mempool(&world, &twin);
    world.mine(1).await;
    world.sandbox().reorg(1, true, world.now_ms()).unwrap();
    world.look().await;
    let refused = world.app.sender.release("cli:ann", None, false).await;
    assert!(
        matches!(refused, Err(ReleaseError::TwinWaits(txid)) if txid == twin.compute_txid()),
        "{refused:?}"
    );
    assert!(world.gateway.store.read(|reader| reader.sender_hold()).unwrap().is_some());
    assert!(world.app.sender.release("cli:ann", None, true).await.unwrap());
}

#[tokio::test]
async fn a_twin_in_the_mempool_keeps_the_hold_until_it_drops_out() {
    let world = world_with_coins(1).await;
    let paid = world.approved_payout(300_000).await;
    let twin = twin_paying(&world, &paid);
    sees_in_mempool(&world, &twin);
    world.look().await;
    let refused = world.app.sender.release("cli:ann", None, false).await;
    assert!(
        matches!(refused, Err(ReleaseError::TwinWaits(txid)) if txid == twin.compute_txid()),
        "{refused:?}"
    );
    world.sandbox().evict(twin.compute_txid(), world.now_ms()).unwrap();
    world.look().await;
    assert!(world.app.sender.release("cli:ann", None, false).await.unwrap());
}

#[tokio::test]
async fn after_the_release_a_payout_spends_a_coin_of_its_unmined_twin() {
    let world = world_with_coins(3).await;
    let (paid, other) =
        (world.approved_payout(300_000).await, world.approved_payout(200_000).await);
    let row = world.payout(&paid);
    let settings = world.gateway.settings.snapshot();
    let coins =
        world.gateway.store.read(|reader| funds::spendable_coins(reader, &settings)).unwrap();
    // The twin spends the youngest coin. This copy would choose the oldest first.
    let payee = Payee { script: row.script, amount_sats: row.amount_sats };
    let twin = twin_spending(&world, &[payee], coins.last().map(std::slice::from_ref).unwrap(), 3)
        .unwrap();
    sees_in_mempool(&world, &twin);
    world.look().await;
    world.sandbox().evict(twin.compute_txid(), world.now_ms()).unwrap();
    world.look().await;
    assert!(world.app.sender.release("cli:ann", None, false).await.unwrap());
    world.send().await;
    assert_eq!(world.payout_state(&paid), PayoutState::Sent);
    let ours = world.sandbox().transaction(world.txid_of(&paid)).unwrap().unwrap().tx;
    let shared = |input: &bitcoin::TxIn| {
        twin.input.iter().any(|it| it.previous_output == input.previous_output)
    };
    assert!(ours.input.iter().any(shared), "both can be mined");
    world.mine_and_pass(1).await;
    world.sandbox().broadcast(&twin, world.now_ms()).unwrap_err();
    world.mine_and_pass(6).await;
    assert_eq!((world.outputs_of(&paid), world.outputs_of(&other)), (1, 1));
    world.check_ledger();
    world.check_balance();
}

#[tokio::test]
async fn a_coin_of_a_dropped_twin_rules_out_its_dropped_child() {
    let world = world_with_coins(1).await;
    let (paid, change) = (
        world.approved_payout(300_000).await,
        world.gateway.wallet.get().unwrap().change.script(0),
    );
    let first = twin_of(&world, &[Payee { script: change.unwrap(), amount_sats: 400_000 }]);
    sees_in_mempool(&world, &first);
    world.look().await;
    let coin = world.gateway.store.read(|reader| {
        let outpoint =
            bitcoin::OutPoint { txid: first.compute_txid(), vout: output_of(&first, 400_000) };
        funds::with_ancestors(reader, &reader.coin_of_input(&outpoint)?.unwrap())
    });
    let row = world.payout(&paid);
    let payee = Payee { script: row.script, amount_sats: row.amount_sats };
    let second = twin_spending(&world, &[payee], &[coin.unwrap()], 3).unwrap();
    sees_in_mempool(&world, &second);
    world.look().await;
    for twin in [&second, &first] {
        world.sandbox().evict(twin.compute_txid(), world.now_ms()).unwrap();
    }
    world.look().await;
    assert!(world.app.sender.release("cli:ann", None, false).await.unwrap());
    world.send().await;
    assert_eq!(
        world.payout_state(&paid),
        PayoutState::Sent,
        "{:?}",
        world.gateway.sending.waits_for()
    );
    let ours = world.sandbox().transaction(world.txid_of(&paid)).unwrap().unwrap().tx;
    let shared = |input: &bitcoin::TxIn| {
        first.input.iter().any(|it| it.previous_output == input.previous_output)
    };
    assert!(ours.input.iter().any(shared), "both can be mined");
}

fn output_of(tx: &bitcoin::Transaction, sats: u64) -> u32 {
    u32::try_from(tx.output.iter().position(|output| output.value.to_sat() == sats).unwrap())
        .unwrap()
}

#[tokio::test]
async fn a_payment_to_unused_change_only_holds_the_sender() {
    let world = world_with_coins(2).await;
    let used = |world: &World| {
        let (settings, now) = (world.gateway.settings.snapshot(), world.gateway.time.now());
        world.gateway.store.read(|reader| limit_now(reader, &settings, now)).unwrap().used_sats
    };
    let (approved, offered) =
        (world.approved_payout(300_000).await, world.offered_payout(200_000).await);
    let (before, change) =
        (used(&world), world.gateway.wallet.get().unwrap().change.script(0).unwrap());
    let script = |id| world.payout(id).script;
    let outputs = [(change, 600), (script(&approved), 300_000), (script(&offered), 200_000)];
    let txid = world.sandbox().pay_many(&outputs, world.now_ms()).unwrap();
    world.look().await;
    let hold = world.gateway.store.read(|reader| reader.sender_hold()).unwrap().unwrap();
    assert!(
        hold.reason.message.contains(&txid.to_string())
            && hold.reason.message.contains("change address"),
        "{}",
        hold.reason
    );
    assert_eq!(used(&world), before, "the limit counts only payouts that this copy sends");
    assert!(world.app.sender.release("cli:ann", None, false).await.unwrap());
    world.mine_and_pass(1).await;
    assert_eq!(world.payout_state(&offered), PayoutState::New, "nobody approved it");
    world.send().await;
    world.mine_and_pass(1).await;
    assert_eq!(world.payout_state(&approved), PayoutState::Sent);
    assert_ne!(world.txid_of(&approved), txid, "a stranger's transaction settled the payout");
    world.check_ledger();
    world.check_balance();
}

#[tokio::test]
async fn a_mined_twin_settles_queued_payouts_first_and_offers_last() {
    let world = world_with_coins(4).await;
    let first = world.approved_payout(300_000).await;
    let row = world.payout(&first);
    world.app.sender.abandon(first, false, "cli:ann", &world.app.watcher).await.unwrap();
    let offer = world.offered_payout_to(&row).await;
    let queued = world.approved_payout_to(&row).await;
    let payee = || Payee { script: row.script.clone(), amount_sats: row.amount_sats };
    let states = || [&queued, &first, &offer].map(|payout| world.payout_state(payout));
    use PayoutState::{Failed, New, Queued, Sent};
    assert_eq!(states(), [Queued, Failed, New]);
    for after in [[Sent, Failed, New], [Sent, Sent, New], [Sent, Sent, Sent]] {
        let twin = twin_of(&world, &[payee()]);
        sees_in_block(&world, &twin);
        world.look().await;
        assert_eq!(states(), after);
        world.check_ledger();
    }
    assert_eq!(alarms_of(&world, &first), [AlarmKind::FailedPayoutWasSent]);
    assert_eq!(alarms_of(&world, &offer), [AlarmKind::PayoutSentByCopy]);
    let view = world.payout(&offer);
    assert!(
        view.approved_at.is_some()
            && view.approved_by.is_some_and(|by| by.contains("another copy"))
    );
}

#[tokio::test]
async fn a_payout_that_we_paid_matches_no_twin_of_the_same_amount() {
    let world = world_with_coins(2).await;
    let early = world.approved_payout(300_000).await;
    world.send().await;
    world.mine_and_pass(1).await;
    let row = world.payout(&early);
    let ours = world.txid_of(&early);
    world.mine_and_pass(42).await;
    // The other copy pays the same amount to the same address.
    let twin = twin_of(&world, &[Payee { script: row.script, amount_sats: row.amount_sats }]);
    sees_in_block(&world, &twin);
    world.look_and_pass().await;
    assert_eq!((world.payout_state(&early), world.txid_of(&early)), (PayoutState::Sent, ours));
    assert_eq!(alarms_of(&world, &early), []);
    world.check_ledger();
}

#[tokio::test]
async fn a_twin_that_spends_our_inputs_fails_a_payout_after_6_blocks() {
    let world = world_with_coins(1).await;
    let payout = world.approved_payout(300_000).await;
    let elsewhere = world.payment().await;
    let twin = twin_of(&world, &[Payee { script: elsewhere.script.clone(), amount_sats: 400_000 }]);
    world.send().await;
    assert_eq!(world.payout_state(&payout), PayoutState::Sent);
    world.sandbox().mine_transactions(&[twin], world.now_ms()).unwrap();
    world.look_and_pass().await;
    world.check_ledger();
    assert_eq!(world.payout_state(&payout), PayoutState::Sent, "one block can be reorganised");
    world.mine_and_pass(5).await;
    assert_eq!((world.payout_state(&payout), world.outputs_of(&payout)), (PayoutState::Failed, 0));
    world.check_ledger();
}

#[tokio::test]
async fn a_payout_given_up_after_a_reorg_is_sent_by_a_mined_twin() {
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
    // The twin spends a coin that no version of the payout spends.
    let coins = world
        .gateway
        .store
        .read(|reader| crate::funds::spendable_coins(reader, &world.gateway.settings.snapshot()));
    let fresh: Vec<_> =
        coins.unwrap().into_iter().filter(|coin| coin.amount_sats == 1_000_000).collect();
    let twin = twin_spending(&world, &[Payee { script, amount_sats: 300_000 }], &fresh, 3).unwrap();
    assert_eq!(twin.input.len(), 1);
    world.sandbox().broadcast(&twin, world.now_ms()).unwrap();
    world.look().await;
    assert!(world.app.sender.release("cli:ann", None, true).await.unwrap());
    world.sandbox().reorg(3, true, world.now_ms()).unwrap();
    world.sandbox().mine_transactions(&[gives_up], world.now_ms()).unwrap();
    for _ in 0..8 {
        world.mine_and_pass(1).await;
    }
    assert_eq!(
        (world.payout_state(&paid), world.txid_of(&paid)),
        (PayoutState::Sent, twin.compute_txid())
    );
    assert_eq!(world.outputs_of(&paid), 1);
    world.check_ledger();
}

#[tokio::test]
async fn only_the_last_change_of_chained_twins_is_spendable() {
    let world = world_with_coins(1).await;
    let wallet = world.gateway.wallet.get().unwrap();
    // Each twin spends the change of the twin before it. The last change indices are beyond the
    // derived scripts.
    let mut coins = world
        .gateway
        .store
        .read(|reader| funds::spendable_coins(reader, &world.gateway.settings.snapshot()))
        .unwrap();
    let words = world.gateway.machine.secrets.get(Purpose::WalletMnemonic).unwrap().unwrap();
    let somebody = bitcoin::ScriptBuf::new_p2wpkh(&bitcoin::WPubkeyHash::hash(b"somebody"));
    let payee = Payee { script: somebody, amount_sats: 1_000 };
    let mut line = Vec::new();
    for index in 0..40 {
        let change = FreshChange { script: wallet.change.script(index).unwrap(), index };
        let funding = Funding {
            required: &coins,
            optional: &[],
            fee: FeeWanted::at(bitcoin::FeeRate::from_sat_per_vb_u32(3)),
            change: &change,
            address_type: wallet.keychains.address_type(),
            tip_height: 1,
        };
        let spend = spend::choose(std::slice::from_ref(&payee), &funding, [7; 32]).unwrap();
        let tx = spend::sign(&spend, &words, &wallet.keychains).unwrap();
        let outpoint =
            bitcoin::OutPoint { txid: tx.compute_txid(), vout: spend.change_vout().unwrap() };
        let amount_sats = spend.change.as_ref().unwrap().amount_sats;
        let keychain = tillgate_store::keychains::Keychain::Internal;
        coins = vec![spend::SpendableCoin {
            outpoint,
            amount_sats,
            keychain,
            index,
            height: Some(1),
            ancestors: 0,
            ancestors_vsize: 0,
            ancestors_fee_sats: 0,
        }];
        line.push(tx);
    }
    world.sandbox().mine_transactions(&line, world.now_ms()).unwrap();
    world.look_and_pass().await;
    world.mine_and_pass(2).await;
    let left =
        world.gateway.store.read(|reader| reader.unspent_coins(reader.tip_height()?, 2)).unwrap();
    assert_eq!(left.iter().map(|coin| coin.outpoint).collect::<Vec<_>>(), [coins[0].outpoint]);
    world.check_ledger();
    assert!(world.app.sender.release("cli:ann", None, true).await.unwrap());
    let payout = world.approved_payout(100_000).await;
    world.send().await;
    world.mine_and_pass(1).await;
    assert_eq!((world.payout_state(&payout), world.outputs_of(&payout)), (PayoutState::Sent, 1));
}

#[tokio::test]
async fn a_conflicted_parent_blocks_only_its_own_change() {
    let world = world_with_coins(2).await;
    let first = world.approved_payout(900_000).await;
    world.send().await;
    world.look().await;
    let inputs = world
        .gateway
        .store
        .read(|reader| reader.inputs_of_batch(world.payout(&first).batch_seq.unwrap()))
        .unwrap();
    assert_eq!(inputs.len(), 1);
    // A reorganisation replaces the customer's transaction, so its coin no longer exists.
    world.sandbox().reorg(2, false, world.now_ms()).unwrap();
    world.look_and_pass().await;
    crate::testing::sending::add_coins(&world, 1).await;
    let second = world.approved_payout(500_000).await;
    world.send().await;
    assert_eq!(world.payout_state(&second), PayoutState::Sent);
    world.mine_and_pass(6).await;
    assert_eq!(world.outputs_of(&second), 1);
    world.check_ledger();
}

#[tokio::test]
async fn a_twin_that_spends_our_inputs_and_pays_the_payout_sends_it() {
    let world = world_with_coins(1).await;
    let (paid, other) =
        (world.approved_payout(300_000).await, world.approved_payout(200_000).await);
    let twin = twin_paying(&world, &paid);
    world.send().await;
    sees_in_block(&world, &twin);
    world.look().await;
    world.check_ledger();
    world.mine_and_pass(6).await;
    assert_eq!(
        (world.payout_state(&paid), world.txid_of(&paid)),
        (PayoutState::Sent, twin.compute_txid())
    );
    assert_eq!((world.payout_state(&other), world.outputs_of(&other)), (PayoutState::Failed, 0));
    world.check_ledger();
    world.check_balance();
}

#[tokio::test]
async fn a_copy_that_replaces_its_own_transaction_pays_one_payout() {
    let world = world_with_coins(1).await;
    let (paid, alike) =
        (world.approved_payout(300_000).await, world.approved_payout(300_000).await);
    let row = world.payout(&paid);
    let payee = |sats| [Payee { script: row.script.clone(), amount_sats: sats }];
    let first = twin_of(&world, &payee(row.amount_sats));
    let second = twin_of(&world, &[payee(row.amount_sats), payee(100_000)].concat());
    sees_in_mempool(&world, &first);
    world.look().await;
    sees_in_block(&world, &second);
    world.look_and_pass().await;
    world.mine_and_pass(6).await;
    assert_eq!(
        (world.payout_state(&paid), world.txid_of(&paid)),
        (PayoutState::Sent, second.compute_txid())
    );
    assert_eq!(world.payout_state(&alike), PayoutState::Queued);
    world.check_ledger();
}

#[tokio::test]
async fn a_payout_of_an_orphaned_twin_fails_once_the_twin_is_replaced() {
    let world = world_with_coins(1).await;
    let paid = world.approved_payout(300_000).await;
    let row = world.payout(&paid);
    let twin = twin_paying(&world, &paid);
    let in_its_place = twin_of(&world, &[Payee { script: row.script, amount_sats: 100_000 }]);
    sees_in_block(&world, &twin);
    world.look().await;
    assert_eq!(world.payout_state(&paid), PayoutState::Sent);
    world.sandbox().reorg(1, true, world.now_ms()).unwrap();
    world.look_and_pass().await;
    assert_eq!(world.payout_state(&paid), PayoutState::Sent);
    sees_in_block(&world, &in_its_place);
    world.mine_and_pass(10).await;
    assert_eq!((world.payout_state(&paid), world.outputs_of(&paid)), (PayoutState::Failed, 0));
    world.check_ledger();
    world.check_balance();
}
