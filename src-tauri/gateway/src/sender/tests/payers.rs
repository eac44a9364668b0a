//! Somebody pays what a payout is to pay, with coins that this wallet does not know: a copy of it that was restored from a backup
//! pays from what came to itself alone.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bitcoin::Txid;
use parking_lot::Mutex;
use tillgate_domain::id::Id;
use tillgate_domain::payout::PayoutState;

use super::support::{check_paid_by_the_other_alone, paid_by_another, stage_with_coins, world_with_coins};
use super::twins::twin_spending;
use crate::access::sees::Sees;
use crate::chain::tests::stage::{AT_LEISURE, Backend};
use crate::chain::{Chain, ChainDown, LookRequest, TxFacts, View};
use crate::console::payouts::{PayoutView, ShowPayout};
use crate::console::states::WaitCause;
use crate::console::status::Status;
use crate::console::{Actor, ask};
use crate::daemon::leave_another_clock;
use crate::notifications::outbox::{self, Outbox, OutboxError};
use crate::payouts::{Approver, approve};
use crate::store::alarms::AlarmKind;
use crate::store::keychains::Keychain;
use crate::testing::World;
use crate::testing::bent::Bent;
use crate::wallet::spend::{Payee, SpendableCoin};
use crate::watcher::batches;

const HOUR_MS: i64 = 3_600_000;

fn hold(world: &World) -> Option<String> {
    world.gateway.store.read(|reader| reader.sender_hold()).unwrap().map(|hold| hold.reason)
}

/// Staff are told that it was paid by somebody else.
fn is_told_of(world: &World, payout: &Id) -> bool {
    let alarms = world.gateway.store.read(|reader| reader.alarms()).unwrap();
    alarms.iter().any(|alarm| alarm.kind == AlarmKind::PayoutPaidByAnother && alarm.payout_id == *payout)
}

async fn shown(world: &World, payout: &Id) -> PayoutView {
    let show = ShowPayout { payout_id: payout.to_string() };
    ask(&world.app, show, &Actor::command_line()).await.unwrap()
}

/// The payout says for which transaction it waits and until when, and so does whoever is asked what payouts wait for.
async fn says_who_paid(world: &World, payout: &Id, txid: Txid) {
    let item = shown(world, payout).await.item;
    assert_eq!(item.wait_cause, Some(WaitCause::Payee));
    let noticed_at = world.gateway.store.read(|reader| reader.twin(&txid)).unwrap().unwrap().noticed_at;
    let until = noticed_at.plus_ms(24 * HOUR_MS).iso_seconds();
    let why = item.waits_for.unwrap();
    assert!(why.contains(&txid.to_string()) && why.contains(&until), "{why}");
    let status = ask(&world.app, Status {}, &Actor::command_line()).await.unwrap();
    assert_eq!((status.sender_wait_cause, status.sender_waits_for), (Some(WaitCause::Payee), Some(why)));
}

async fn check_sums(world: &World) {
    world.mine_and_pass(1).await;
    world.check_ledger();
    world.check_balance();
}

#[tokio::test]
async fn what_a_block_pays_a_payee_exactly_is_not_paid_once_more_and_staff_are_told() {
    let world = world_with_coins(2).await;
    let payout = world.approved_payout(300_000).await;
    let txid = paid_by_another(&world, &payout);
    world.sandbox().mine(1, false, world.now_ms()).unwrap();
    world.send().await;
    assert_eq!((world.payout_state(&payout), world.txid_of(&payout)), (PayoutState::Sent, txid));
    assert!(is_told_of(&world, &payout) && hold(&world).is_none(), "no other payout waits for it");
    world.send().await;
    world.mine_and_pass(6).await;
    assert_eq!((world.payout_state(&payout), world.outputs_of(&payout)), (PayoutState::Sent, 1));
    check_sums(&world).await;
    let next = world.approved_payout(200_000).await;
    world.send().await;
    assert_eq!(world.outputs_of(&next), 1, "the wallet works on");
}

#[tokio::test]
async fn while_what_pays_a_payee_exactly_is_in_no_block_the_payout_waits_for_it() {
    let world = world_with_coins(2).await;
    let payout = world.approved_payout(300_000).await;
    let txid = paid_by_another(&world, &payout);
    world.send().await;
    assert_eq!((world.payout_state(&payout), world.outputs_of(&payout)), (PayoutState::Queued, 1));
    says_who_paid(&world, &payout, txid).await;
    let another = world.approved_payout(120_000).await;
    world.send().await;
    assert_eq!((world.payout_state(&another), world.outputs_of(&another)), (PayoutState::Sent, 1), "others are paid");
    assert_eq!((hold(&world), world.outputs_of(&payout)), (None, 1));
    world.mine_and_pass(1).await;
    assert_eq!((world.payout_state(&payout), world.txid_of(&payout)), (PayoutState::Sent, txid));
    assert!(shown(&world, &payout).await.item.made_elsewhere && !shown(&world, &another).await.item.made_elsewhere);
    check_sums(&world).await;

    // What vanishes pays nobody.
    let other = world.approved_payout(250_000).await;
    let txid = paid_by_another(&world, &other);
    world.send().await;
    world.sandbox().evict(txid, world.now_ms()).unwrap();
    world.send().await;
    world.send().await;
    assert_eq!((world.payout_state(&other), world.outputs_of(&other)), (PayoutState::Queued, 0), "it may come back");
    world.pass_ms(24 * HOUR_MS).await;
    world.send().await;
    assert_eq!((world.payout_state(&other), world.outputs_of(&other)), (PayoutState::Sent, 1));
    check_sums(&world).await;
}

#[tokio::test]
async fn what_paid_a_payee_while_the_clock_was_a_year_ahead_is_waited_for_until_a_day_after_the_next_start() {
    let world = world_with_coins(2).await;
    let payout = world.approved_payout(300_000).await;
    let (offset_ms, ahead_ms) = (&world.gateway.clock_offset_ms, 365 * 24 * HOUR_MS);
    offset_ms.fetch_add(ahead_ms, Ordering::SeqCst);
    let txid = paid_by_another(&world, &payout);
    world.look_and_pass().await;
    offset_ms.fetch_sub(ahead_ms, Ordering::SeqCst);
    leave_another_clock(&world.gateway).await;
    world.sandbox().evict(txid, world.now_ms()).unwrap();
    world.send().await;
    world.send().await;
    assert_eq!((world.payout_state(&payout), world.outputs_of(&payout)), (PayoutState::Queued, 0), "it may come back");
    says_who_paid(&world, &payout, txid).await;
    world.pass_ms(25 * HOUR_MS).await;
    world.send().await;
    assert_eq!((world.payout_state(&payout), world.outputs_of(&payout)), (PayoutState::Sent, 1));
}

#[tokio::test]
async fn of_a_payee_who_pays_himself_again_and_again_few_transactions_are_followed_and_whichever_a_block_holds_counts()
{
    let world = world_with_coins(2).await;
    let payout = world.approved_payout(300_000).await;
    let seq = world.payout(&payout).seq;
    let all: Vec<Txid> = (0..25).map(|_| paid_by_another(&world, &payout)).collect();
    world.send().await;
    let followed = world.gateway.store.read(|reader| reader.twins_of_payout(seq)).unwrap();
    assert_eq!((followed.len(), world.payout_state(&payout)), (20, PayoutState::Queued));
    let last = *all.iter().find(|txid| !followed.contains(txid)).unwrap();
    let mined = world.sandbox().transaction(last).unwrap().unwrap().tx;
    world.sandbox().mine_transactions(&[mined], world.now_ms()).unwrap();
    world.look().await;
    assert_eq!((world.payout_state(&payout), world.txid_of(&payout)), (PayoutState::Sent, last));
    assert!(is_told_of(&world, &payout));
}

#[tokio::test]
async fn while_somebody_pays_all_that_waits_no_server_is_asked_again() {
    for backend in SERVERS {
        let stage = stage_with_coins(backend).await;
        let world = stage.world();
        let payout = world.approved_payout(300_000).await;
        paid_by_another(world, &payout);
        world.send().await;
        assert_eq!(world.payout_state(&payout), PayoutState::Queued, "{backend:?}");
        world.gateway.asked_again.forget();
        world.send().await;
        let seq = world.payout(&payout).seq;
        let payee = world.gateway.store.read(|reader| reader.asked_payee(seq)).unwrap().unwrap();
        assert!(!world.gateway.asked_again.has_told(&payee), "{backend:?}: nothing is to be signed");
        assert_eq!((world.payout_state(&payout), world.outputs_of(&payout)), (PayoutState::Queued, 1), "{backend:?}");
        let other = world.approved_payout(120_000).await;
        world.send().await;
        assert_eq!((world.payout_state(&other), world.outputs_of(&other)), (PayoutState::Sent, 1), "{backend:?}");
    }
}

#[tokio::test]
async fn an_offer_that_another_copy_paid_holds_nothing_and_is_not_paid_once_more_when_it_is_approved() {
    let world = world_with_coins(2).await;
    let payout = world.offered_payout(300_000).await;
    let txid = paid_by_another(&world, &payout);
    world.look().await;
    let told = shown(&world, &payout).await.item.waits_for.unwrap();
    assert!(told.starts_with("somebody else pays its payee") && told.contains(&txid.to_string()), "{told}");
    world.mine(1).await;
    assert_eq!(hold(&world), None);
    let told = shown(&world, &payout).await.item.waits_for.unwrap();
    assert!(told.contains("was paid exactly its amount in a block"), "{told}");
    let by_ann = Approver { name: "cli:ann".to_owned(), sees: Sees::Everything, is_person: true };
    approve(&world.gateway, payout, by_ann).await.unwrap();
    world.send().await;
    assert_eq!((world.payout_state(&payout), world.txid_of(&payout)), (PayoutState::Sent, txid));
    assert_eq!(world.outputs_of(&payout), 1);
    check_sums(&world).await;
}

#[tokio::test]
async fn what_a_payee_was_paid_in_a_block_from_before_pays_no_payout() {
    let world = world_with_coins(2).await;
    let before_ms = world.now_ms();
    world.pass_ms(4 * HOUR_MS).await;
    let payout = world.approved_payout(300_000).await;
    let row = world.payout(&payout);
    world.sandbox().send(row.script, row.amount_sats, before_ms).unwrap();
    world.sandbox().mine(1, false, before_ms + HOUR_MS).unwrap();
    world.send().await;
    assert_eq!((hold(&world), world.payout_state(&payout)), (None, PayoutState::Sent));
    assert_eq!(world.outputs_of(&payout), 2);
    check_sums(&world).await;
}

#[tokio::test]
async fn what_paid_a_payee_is_followed_after_a_reorganisation_and_when_its_payout_timed_out() {
    let world = world_with_coins(2).await;
    let payout = world.approved_payout(300_000).await;
    let txid = paid_by_another(&world, &payout);
    world.mine_and_pass(1).await;
    assert_eq!(world.payout_state(&payout), PayoutState::Sent);
    world.sandbox().reorg(1, true, world.now_ms()).unwrap();
    world.look_and_pass().await;
    check_sums(&world).await;
    assert_eq!((world.payout_state(&payout), world.txid_of(&payout)), (PayoutState::Sent, txid));

    let other = world.approved_payout(250_000).await;
    paid_by_another(&world, &other);
    world.look_and_pass().await;
    let timed_out = move |outbox: &Outbox<'_>| {
        let row = outbox.tx.payout(&other)?.unwrap();
        batches::fail(outbox, row, "it timed out", None)
    };
    outbox::commit::<_, OutboxError>(&world.gateway, None, timed_out).await.unwrap();
    assert_eq!(world.payout_state(&other), PayoutState::Failed);
    world.mine_and_pass(1).await;
    assert_eq!(world.payout_state(&other), PayoutState::Sent, "whoever was told FAILED learns that it was paid");
    check_sums(&world).await;
}

#[tokio::test]
async fn a_payout_that_people_gave_up_while_somebody_paid_its_payee_for_something_else_stays_given_up() {
    let world = world_with_coins(2).await;
    let payout = world.approved_payout(300_000).await;
    paid_by_another(&world, &payout);
    world.look_and_pass().await;
    world.app.sender.abandon(payout, false, "cli:ann", &world.app.watcher).await.unwrap();
    let told = world.notified(&payout).len();
    world.mine_and_pass(7).await;
    let row = world.payout(&payout);
    assert_eq!((row.state, row.given_up_by.as_deref()), (PayoutState::Failed, Some("cli:ann")));
    assert_eq!((world.notified(&payout).len(), is_told_of(&world, &payout)), (told, false));
    check_sums(&world).await;
}

#[tokio::test]
async fn a_payee_who_pays_himself_holds_up_nothing_that_is_signed_for_him_and_others() {
    let world = world_with_coins(1).await;
    let (payout, other) = (world.approved_payout(300_000).await, world.approved_payout(200_000).await);
    world.send().await;
    paid_by_another(&world, &payout);
    world.look_and_pass().await;
    assert_eq!((world.payout_state(&payout), world.payout_state(&other)), (PayoutState::Sent, PayoutState::Sent));
    assert_eq!(world.outputs_of(&other), 1);
    let next = world.approved_payout(120_000).await;
    world.send().await;
    assert_eq!(world.payout_state(&next), PayoutState::Sent, "the change of the first pays it");

    // What drops out is broadcast again, and its fee can be raised.
    for id in [&next, &other] {
        world.sandbox().evict(world.txid_of(id), world.now_ms()).unwrap();
    }
    world.sandbox().mine(1, true, world.now_ms()).unwrap();
    world.look_and_pass().await;
    assert_eq!((world.outputs_of(&other), world.outputs_of(&next)), (1, 1));
    let raised = world.app.sender.bump(other, Some(20), "cli:ann", &world.app.watcher).await.unwrap();
    assert_eq!(world.txid_of(&next), raised, "the last along the change pays for both");
    check_sums(&world).await;
    assert_eq!((world.payout_state(&other), world.outputs_of(&other)), (PayoutState::Sent, 1));
}

#[tokio::test]
async fn what_somebody_paid_for_something_else_is_given_up_and_asked_for_anew() {
    let world = world_with_coins(2).await;
    let payout = world.approved_payout(300_000).await;
    let txid = paid_by_another(&world, &payout);
    world.send().await;
    says_who_paid(&world, &payout, txid).await;
    world.app.sender.abandon(payout, false, "cli:ann", &world.app.watcher).await.unwrap();
    let anew = world.asked_anew(&world.payout(&payout)).await;
    world.send().await;
    assert_eq!((world.payout_state(&anew), world.outputs_of(&anew)), (PayoutState::Sent, 2));
    assert_ne!(world.txid_of(&anew), txid);
}

/// A backend that tells of one transaction late, and until then does not know what spends of it for this wallet's.
struct TellsLate {
    chain: Arc<dyn Chain>,
    txid: Txid,
    held: Mutex<Vec<TxFacts>>,
    tells: AtomicBool,
}

impl Bent for Arc<TellsLate> {
    fn chain(&self) -> &dyn Chain {
        self.chain.as_ref()
    }

    fn look(&self, request: &LookRequest<'_>) -> Result<View, ChainDown> {
        let mut view = self.chain.look(request)?;
        let is_held = |facts: &&TxFacts| {
            let inputs = &facts.tx.input;
            facts.tx.compute_txid() == self.txid || inputs.iter().any(|it| it.previous_output.txid == self.txid)
        };
        let mut held = self.held.lock();
        held.extend(view.txs.iter().filter(is_held).cloned());
        if self.tells.load(Ordering::SeqCst) {
            view.txs = held.drain(..).collect();
        } else {
            view.txs.retain(|facts| facts.tx.compute_txid() != self.txid);
        }
        Ok(view)
    }
}

#[tokio::test]
async fn what_was_known_by_its_payee_alone_holds_the_sender_once_it_shows_that_it_spends_of_this_wallet() {
    let world = world_with_coins(0).await;
    let payout = world.approved_payout(999_500).await;
    let payment = world.payment_to_wallet().await;
    let txid = world.customer_pays(&payment, 1_000_000);
    let mut made = None;
    let world = world.with_chain(|chain| {
        let late = Arc::new(TellsLate { chain, txid, held: Mutex::default(), tells: AtomicBool::new(false) });
        made = Some(Arc::clone(&late));
        Arc::new(late)
    });
    world.mine(1).await;
    let paid = world.sandbox().outputs_to(&payment.script).unwrap();
    let coin = SpendableCoin {
        outpoint: paid[0].outpoint,
        amount_sats: 1_000_000,
        keychain: Keychain::External,
        index: payment.derivation_index,
        height: Some(1),
        ancestors: 0,
        ancestors_vsize: 0,
    };
    // So much that no change is left, by which it would be known.
    let payee = Payee { script: world.payout(&payout).script, amount_sats: 999_500 };
    let twin = twin_spending(&world, &[payee], &[coin], 3).unwrap();
    assert_eq!(twin.output.len(), 1);
    world.sandbox().broadcast(&twin, world.now_ms()).unwrap();
    world.look().await;
    assert_eq!((hold(&world), world.payout_state(&payout)), (None, PayoutState::Queued));

    made.unwrap().tells.store(true, Ordering::SeqCst);
    world.look().await;
    let why = hold(&world).expect("another copy of the wallet works");
    assert!(why.contains(&twin.compute_txid().to_string()), "{why}");
    check_paid_by_the_other_alone(&world, &payout, &twin);
    assert!(world.app.sender.release("cli:ann", None).await.unwrap());
    world.mine(1).await;
    assert_eq!(hold(&world), None, "staff have read it");
}

/// Everything that is asked about single scripts.
const SERVERS: [Backend; 2] = [Backend::ByScript, Backend::Electrum];

/// What no coin and no change of this wallet shows.
#[tokio::test]
async fn over_a_server_what_another_copy_paid_with_coins_that_are_unknown_here_is_followed_and_not_paid_once_more() {
    for backend in SERVERS {
        let stage = stage_with_coins(backend).await;
        let world = stage.world();
        let payout = world.approved_payout(300_000).await;
        let txid = paid_by_another(world, &payout);
        world.sandbox().mine(1, false, world.now_ms()).unwrap();
        world.send().await;
        assert_eq!((world.payout_state(&payout), world.txid_of(&payout)), (PayoutState::Sent, txid));
        assert!(is_told_of(world, &payout) && hold(world).is_none());
        world.send().await;
        check_sums(world).await;
        // The block is left, and another one holds it.
        world.sandbox().reorg(3, true, world.now_ms()).unwrap();
        world.look_and_pass().await;
        check_sums(world).await;
        assert_eq!((world.payout_state(&payout), world.txid_of(&payout)), (PayoutState::Sent, txid));
        assert_eq!(world.outputs_of(&payout), 1);

        // In no block yet, and gone again.
        let other = world.approved_payout(250_000).await;
        let txid = paid_by_another(world, &other);
        world.send().await;
        assert_eq!((world.payout_state(&other), world.outputs_of(&other)), (PayoutState::Queued, 1));
        world.send().await;
        assert_eq!(world.outputs_of(&other), 1);
        world.sandbox().evict(txid, world.now_ms()).unwrap();
        for _ in 0..3 {
            world.look().await;
            world.send().await;
        }
        assert_eq!(
            (world.payout_state(&other), world.outputs_of(&other)),
            (PayoutState::Queued, 0),
            "it may come back"
        );
        world.pass_ms(24 * HOUR_MS).await;
        for _ in 0..3 {
            world.look().await;
            world.send().await;
        }
        assert_eq!((world.payout_state(&other), world.outputs_of(&other)), (PayoutState::Sent, 1));
        check_sums(world).await;
    }
}

#[tokio::test]
async fn a_payee_whom_strangers_paid_hundreds_of_times_holds_up_no_payout() {
    for backend in SERVERS {
        let stage = stage_with_coins(backend).await;
        let world = stage.world();
        let payout = world.approved_payout(300_000).await;
        if backend != Backend::ByScript {
            stage.wait(AT_LEISURE);
        }
        let row = world.payout(&payout);
        let many = |count: u64| {
            for number in 0..count {
                world.sandbox().send(row.script.clone(), 1_000 + number, world.now_ms()).unwrap();
            }
        };
        many(230);
        world.sandbox().mine(1, false, world.now_ms()).unwrap();
        many(230);
        for _ in 0..8 {
            world.send().await;
        }
        assert_eq!((world.payout_state(&payout), world.outputs_of(&payout)), (PayoutState::Sent, 1));
    }
}
