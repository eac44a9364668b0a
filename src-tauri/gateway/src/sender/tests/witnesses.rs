//! What a block holds is told with a witness that is none, which no id shows: it was signed all the same.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bitcoin::{Transaction, Txid};
use tillgate_domain::id::Id;
use tillgate_domain::payout::PayoutState;

use super::held_back::twin_paying;
use super::support::{break_witness, check_paid_by_the_other_alone, world_with_coins};
use crate::access::sees::Sees;
use crate::chain::{Chain, ChainDown, LookRequest, Recent, View};
use crate::payouts::{Approver, approve};
use crate::testing::World;
use crate::testing::bent::Bent;

/// A backend that tells one transaction with signatures that are none.
struct Breaks {
    chain: Arc<dyn Chain>,
    txid: Txid,
    /// In looks.
    looks: AtomicBool,
    /// Where it is asked for this one alone.
    alone: AtomicBool,
}

impl Bent for Arc<Breaks> {
    fn chain(&self) -> &dyn Chain {
        self.chain.as_ref()
    }

    fn look(&self, request: &LookRequest<'_>) -> Result<View, ChainDown> {
        let mut view = self.chain.look(request)?;
        let told = view.txs.iter_mut().map(|facts| &mut facts.tx);
        told.filter(|tx| self.looks.load(Ordering::SeqCst) && tx.compute_txid() == self.txid).for_each(break_witness);
        Ok(view)
    }

    fn recent(&self, txids: &[Txid], above: u32) -> Result<Recent, ChainDown> {
        let mut recent = self.chain.recent(txids, above)?;
        if self.alone.load(Ordering::SeqCst) {
            recent.txs.get_mut(&self.txid).into_iter().for_each(break_witness);
        }
        Ok(recent)
    }
}

/// A payout that another copy of the wallet paid in a block, which the backend told with signatures that are none.
async fn paid_and_told_broken() -> (World, Arc<Breaks>, Id, Transaction) {
    let world = world_with_coins(2).await;
    let payout = world.approved_payout(300_000).await;
    let twin = twin_paying(&world, &payout);
    let mut breaks = None;
    let world = world.with_chain(|chain| {
        let txid = twin.compute_txid();
        let made = Arc::new(Breaks { chain, txid, looks: AtomicBool::new(true), alone: AtomicBool::new(true) });
        breaks = Some(Arc::clone(&made));
        Arc::new(made)
    });
    world.sandbox().mine_transactions(std::slice::from_ref(&twin), world.now_ms()).unwrap();
    world.look().await;
    check_paid_by_the_other_alone(&world, &payout, &twin);
    (world, breaks.unwrap(), payout, twin)
}

fn stored(world: &World, tx: &Transaction) -> Transaction {
    world.gateway.store.read(|reader| reader.stored_transaction(&tx.compute_txid())).unwrap().unwrap()
}

async fn is_taken_out_of_the_block(world: &World) {
    world.sandbox().reorg(1, true, world.now_ms()).unwrap();
    world.look_and_pass().await;
}

#[tokio::test]
async fn what_a_block_held_stays_sent_whatever_signatures_were_told_with_it_and_is_not_paid_once_more() {
    let (world, _breaks, payout, twin) = paid_and_told_broken().await;
    assert_ne!(stored(&world, &twin), twin);
    is_taken_out_of_the_block(&world).await;
    check_paid_by_the_other_alone(&world, &payout, &twin);
    assert!(world.app.sender.release("cli:ann", None).await.unwrap());
    world.sandbox().evict(twin.compute_txid(), world.now_ms()).unwrap();
    for _ in 0..8 {
        world.mine_and_pass(1).await;
        assert_eq!(world.payout_state(&payout), PayoutState::Sent, "somebody may mine it again");
    }
    assert_eq!(world.outputs_of(&payout), 0);
    world.check_ledger();
    world.sandbox().mine_transactions(std::slice::from_ref(&twin), world.now_ms()).unwrap();
    world.look_and_pass().await;
    check_paid_by_the_other_alone(&world, &payout, &twin);
}

#[tokio::test]
async fn an_offer_that_another_copy_paid_in_a_block_that_was_left_is_not_paid_once_more_whatever_signatures_were_told()
{
    let world = world_with_coins(2).await;
    let payout = world.offered_payout(300_000).await;
    let twin = twin_paying(&world, &payout);
    let world = world.with_chain(|chain| {
        let (txid, looks, alone) = (twin.compute_txid(), AtomicBool::new(true), AtomicBool::new(true));
        Arc::new(Arc::new(Breaks { chain, txid, looks, alone }))
    });
    world.sandbox().mine_transactions(std::slice::from_ref(&twin), world.now_ms()).unwrap();
    world.look().await;
    is_taken_out_of_the_block(&world).await;
    world.sandbox().evict(twin.compute_txid(), world.now_ms()).unwrap();
    world.look_and_pass().await;
    assert!(world.app.sender.release("cli:ann", None).await.unwrap());
    let by_ann = Approver { name: "cli:ann".to_owned(), sees: Sees::Everything, is_person: true };
    approve(&world.gateway, payout, by_ann).await.unwrap();
    for _ in 0..3 {
        world.send().await;
    }
    let is_held_back = (world.payout_state(&payout), world.outputs_of(&payout));
    assert_eq!(is_held_back, (PayoutState::Queued, 0), "it may be mined again");
    world.sandbox().mine_transactions(std::slice::from_ref(&twin), world.now_ms()).unwrap();
    world.look_and_pass().await;
    check_paid_by_the_other_alone(&world, &payout, &twin);
}

#[tokio::test]
async fn a_witness_that_is_none_gives_way_to_the_one_that_is_told_next_and_the_transaction_can_be_broadcast_again() {
    let (world, breaks, payout, twin) = paid_and_told_broken().await;
    breaks.looks.store(false, Ordering::SeqCst);
    is_taken_out_of_the_block(&world).await;
    assert_eq!(stored(&world, &twin), twin);
    breaks.looks.store(true, Ordering::SeqCst);
    world.sandbox().evict(twin.compute_txid(), world.now_ms()).unwrap();
    // What was dropped is taken again with the next block.
    world.mine_and_pass(1).await;
    assert_eq!(stored(&world, &twin), twin, "a good one gives way to none");
    check_paid_by_the_other_alone(&world, &payout, &twin);
    world.mine_and_pass(1).await;
    check_paid_by_the_other_alone(&world, &payout, &twin);
}

#[tokio::test]
async fn a_witness_that_is_none_is_asked_for_again_with_the_next_block() {
    let (world, breaks, _, twin) = paid_and_told_broken().await;
    world.mine(1).await;
    assert_ne!(stored(&world, &twin), twin);
    breaks.alone.store(false, Ordering::SeqCst);
    world.look().await;
    assert_ne!(stored(&world, &twin), twin);
    world.mine(1).await;
    assert_eq!(stored(&world, &twin), twin);
    world.check_ledger();
}
