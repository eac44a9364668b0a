//! A payout spends the coin of a payment. A block double-spends that payment, and a reorganisation
//! removes the block. The payout does not fail, even if the backend then reports neither the
//! payment's transaction nor the payout's.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bitcoin::Txid;
use tillgate_chain::chain_wrapper::ChainWrapper;
use tillgate_chain::{Chain, ChainDown, LookAnswer, LookRequest, TxPosition};
use tillgate_domain::payout::PayoutState;

use crate::testing::World;
use crate::testing::sending::world_with_coins;
use crate::testing::stage::{Backend, Stage};

/// A backend that no longer reports absent transactions.
struct Silent {
    chain: Arc<dyn Chain>,
    is_silent: Arc<AtomicBool>,
}

impl ChainWrapper for Silent {
    fn chain(&self) -> &dyn Chain {
        self.chain.as_ref()
    }

    fn look(&self, request: &LookRequest<'_>) -> Result<LookAnswer, ChainDown> {
        let mut view = self.chain.look(request)?;
        if self.is_silent.load(Ordering::SeqCst) {
            view.txs.retain(|facts| facts.position != TxPosition::Absent);
        }
        Ok(view)
    }
}

/// Height of the block with a transaction that conflicts with the customer's.
fn ruled_out_at(world: &World, txid: &Txid) -> Option<u32> {
    let outpoint = world.gateway.store.read(|reader| reader.coins()).unwrap();
    let outpoint = outpoint
        .iter()
        .map(|coin| coin.coin.outpoint)
        .find(|outpoint| outpoint.txid == *txid)
        .unwrap();
    world
        .gateway
        .store
        .read(|reader| reader.coin_facts(&outpoint))
        .unwrap()
        .unwrap()
        .conflict_height
}

#[tokio::test]
async fn a_double_spend_in_an_orphaned_block_fails_no_payout() {
    for backend in [Backend::Electrum, Backend::Core] {
        let is_silent = Arc::new(AtomicBool::new(false));
        let silent = Arc::clone(&is_silent);
        let stage = Stage::over(backend, world_with_coins(0).await).await;
        let stage = stage.behind(|chain| Arc::new(Silent { chain, is_silent: silent }));
        let world = stage.world();
        world.look().await;
        let payment = world.payment_to_wallet().await;
        let coin = world.pay(&payment, 1_000_000).await;
        world.mine(2).await;
        let payout = world.approved_payout(300_000).await;
        for _ in 0..20 {
            world.send().await;
        }
        assert_eq!(world.payout_state(&payout), PayoutState::Sent, "{backend:?}");
        // In a reorganisation, a new block holds the customer's double spend of the coin.
        world.sandbox().reorg(2, false, world.now_ms()).unwrap();
        for _ in 0..3 {
            world.look().await;
        }
        assert!(ruled_out_at(world, &coin).is_some(), "{backend:?}");
        // A reorganisation removes the new block too. The double spend is in the mempool again; the
        // payment and the payout stay absent.
        is_silent.store(true, Ordering::SeqCst);
        world.sandbox().reorg(3, true, world.now_ms()).unwrap();
        world.look().await;
        assert_eq!(ruled_out_at(world, &coin), None, "{backend:?}");
        for _ in 0..8 {
            world.sandbox().mine(1, true, world.now_ms()).unwrap();
            world.look_and_pass().await;
        }
        assert_eq!(
            world.payout_state(&payout),
            PayoutState::Sent,
            "{backend:?}: the coin may be mined again"
        );
        // A block that stays holds the double spend again. Then the payout fails.
        is_silent.store(false, Ordering::SeqCst);
        for _ in 0..8 {
            world.mine_and_pass(1).await;
        }
        for _ in 0..20 {
            world.look().await;
        }
        assert_eq!(world.payout_state(&payout), PayoutState::Failed, "{backend:?}");
        world.check_ledger();
    }
}
