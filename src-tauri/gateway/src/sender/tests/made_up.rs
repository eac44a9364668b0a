//! Transactions that a server makes up: none pays a payout, and none keeps one from being paid for good.

use bitcoin::hashes::Hash as _;
use bitcoin::{Amount, OutPoint, Sequence, Transaction, TxIn, TxOut, Txid};
use tillgate_domain::id::Id;
use tillgate_domain::payout::PayoutState;
use tillgate_nodes::ElectrumFault;
use tillgate_sandbox::BroadcastFault;

use super::held_back::twin_paying;
use super::support::{break_witness, stage_with_coins, world_with_coins};
use crate::chain::tests::stage::{AT_LEISURE, Backend, Stage};
use crate::chain::{Chain, ChainDown, LookRequest, TxFacts, TxPosition, View};
use crate::testing::World;
use crate::testing::bent::Bent;

/// A gateway with coins and an approved payout, behind an Electrum server.
async fn with_a_payout() -> (Stage, Id) {
    let stage = stage_with_coins(Backend::Electrum).await;
    let payout = stage.world().approved_payout(300_000).await;
    (stage, payout)
}

/// What the other copy would sign, with signatures that are none.
fn forged_twin(world: &World, payout: &Id) -> Transaction {
    let mut tx = twin_paying(world, payout);
    break_witness(&mut tx);
    tx
}

/// One that spends a stranger's coin, which nobody here can judge, pays the payout, and makes change of this wallet at an index that
/// nothing here used.
fn with_foreign_inputs(world: &World, payout: &Id) -> Transaction {
    let row = world.payout(payout);
    let mut tx = twin_paying(world, payout);
    let previous_output = OutPoint { txid: Txid::hash(b"of nobody"), vout: 0 };
    tx.input = vec![TxIn { previous_output, sequence: Sequence::MAX, ..TxIn::default() }];
    let paid = TxOut { value: Amount::from_sat(row.amount_sats), script_pubkey: row.script };
    let change = world.gateway.wallet.get().unwrap().change.script(5).unwrap();
    assert!(tx.output.contains(&paid));
    tx.output.iter_mut().filter(|output| **output != paid).for_each(|output| output.script_pubkey = change.clone());
    tx
}

fn is_told(stage: &Stage, fault: Option<ElectrumFault>) {
    stage.electrum().misbehave(fault);
    stage.wait(AT_LEISURE);
}

async fn send(world: &World) {
    for _ in 0..20 {
        world.send().await;
    }
}

async fn is_paid_once(world: &World, payout: &Id) {
    world.mine_and_pass(1).await;
    assert_eq!((world.payout_state(payout), world.outputs_of(payout)), (PayoutState::Sent, 1));
    world.check_ledger();
}

#[tokio::test]
async fn a_server_that_tells_what_nobody_signed_is_not_believed_and_the_payout_is_sent_by_the_next() {
    let (stage, payout) = with_a_payout().await;
    let world = stage.world();
    let forged = forged_twin(world, &payout);
    is_told(&stage, Some(ElectrumFault::InventedWaiting(forged.clone())));
    let sentence = world.app.watcher.look().await.unwrap_err().to_string();
    assert!(sentence.contains("without a valid signature") && sentence.contains(&forged.compute_txid().to_string()));
    assert_eq!(world.payout_state(&payout), PayoutState::Queued);
    assert!(world.gateway.store.read(|reader| reader.stored_transaction(&forged.compute_txid())).unwrap().is_none());
    world.check_ledger();
    is_told(&stage, None);
    world.look().await;
    send(world).await;
    is_paid_once(world, &payout).await;
}

/// A backend that tells of one more transaction, which waits, and which nothing before it judged.
struct Tells {
    chain: std::sync::Arc<dyn Chain>,
    tx: parking_lot::Mutex<Option<Transaction>>,
}

impl Bent for Tells {
    fn chain(&self) -> &dyn Chain {
        self.chain.as_ref()
    }

    fn look(&self, request: &LookRequest<'_>) -> Result<View, ChainDown> {
        let mut view = self.chain.look(request)?;
        if let Some(tx) = self.tx.lock().take() {
            let position = TxPosition::Mempool { entered: view.tip.time };
            view.txs.push(TxFacts {
                tx,
                position,
                conflict_in_chain: crate::chain::Fact::No,
                conflict_height: None,
                conflict_in_mempool: crate::chain::Fact::No,
                conflicts: Vec::new(),
                unconfirmed_ancestors: crate::chain::Fact::No,
                fee_rate: None,
            });
        }
        Ok(view)
    }
}

#[tokio::test]
async fn what_nobody_signed_is_passed_over_also_where_the_backend_lets_it_through() {
    let world = world_with_coins(2).await;
    let payout = world.approved_payout(300_000).await;
    let forged = forged_twin(&world, &payout);
    let tx = parking_lot::Mutex::new(Some(forged));
    let world = world.with_chain(|chain| std::sync::Arc::new(Tells { chain, tx }));
    world.look().await;
    assert_eq!(world.payout_state(&payout), PayoutState::Queued);
    let spent = world.gateway.store.read(|reader| reader.coins()).unwrap();
    assert!(spent.iter().all(|coin| coin.spent_by.is_none()));
    world.check_ledger();
    send(&world).await;
    is_paid_once(&world, &payout).await;
}

#[tokio::test]
async fn what_shows_no_signature_of_ours_pays_nothing_until_a_block_holds_it_and_holds_back_nothing_once_it_is_gone() {
    let (stage, payout) = with_a_payout().await;
    let world = stage.world();
    let made_up = with_foreign_inputs(world, &payout);
    is_told(&stage, Some(ElectrumFault::InventedWaiting(made_up)));
    world.look().await;
    assert_eq!(world.payout_state(&payout), PayoutState::Queued);
    world.check_ledger();
    assert!(world.gateway.store.read(|reader| reader.sender_hold()).unwrap().is_some(), "it may be another copy's");
    assert!(world.app.sender.release("cli:ann", None).await.unwrap());
    send(world).await;
    assert_eq!(world.payout_state(&payout), PayoutState::Queued, "it may still be mined");
    assert!(world.gateway.sending.waits_for().unwrap().details.contains("is said to pay what waits"));
    world.pass_ms(80 * 3_600_000).await;
    send(world).await;
    assert_eq!(world.payout_state(&payout), PayoutState::Queued, "nobody is given up for it");
    is_told(&stage, None);
    world.look().await;
    send(world).await;
    is_paid_once(world, &payout).await;
}

#[tokio::test]
async fn a_stored_transaction_of_ours_goes_out_once_what_a_server_made_up_is_gone() {
    let (stage, payout) = with_a_payout().await;
    let world = stage.world();
    world.broadcasts(BroadcastFault::Reject);
    send(world).await;
    let ours = world.txid_of(&payout);
    world.broadcasts(BroadcastFault::Ok);
    is_told(&stage, Some(ElectrumFault::InventedWaiting(with_foreign_inputs(world, &payout))));
    world.look_and_pass().await;
    assert_eq!((world.payout_state(&payout), world.outputs_of(&payout)), (PayoutState::Queued, 0));
    is_told(&stage, None);
    world.mine_and_pass(2).await;
    assert_eq!(world.outputs_of(&payout), 0, "staff have not read of it yet");
    assert!(world.app.sender.release("cli:ann", None).await.unwrap());
    world.mine_and_pass(1).await;
    is_paid_once(world, &payout).await;
    assert_eq!(world.txid_of(&payout), ours);
}
