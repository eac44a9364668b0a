//! Coins that are older than the payment whose address they pay: another copy of the wallet gave
//! the address before.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use tillgate_chain::chain_wrapper::ChainWrapper;
use tillgate_chain::{Chain, ChainDown, LookAnswer, LookRequest, TxPosition};
use tillgate_store::keychains::Keychain;

use super::*;
use crate::testing::by_script::ByScript;

/// A chain after a reorganisation: blocks above `left_above` were removed, and a new block replaces
/// the first of them.
struct Reorganised {
    chain: Arc<dyn Chain>,
    /// 0 before the reorganisation.
    left_above: Arc<AtomicU32>,
}

impl ChainWrapper for Reorganised {
    fn chain(&self) -> &dyn Chain {
        self.chain.as_ref()
    }

    fn look(&self, request: &LookRequest<'_>) -> Result<LookAnswer, ChainDown> {
        let mut view = self.chain.look(request)?;
        let left_above = self.left_above.load(Ordering::SeqCst);
        if left_above == 0 {
            return Ok(view);
        }
        view.left_above = Some(left_above);
        for facts in &mut view.txs {
            if let TxPosition::Block { height, .. } = &mut facts.position {
                *height = left_above + 1;
            }
        }
        Ok(view)
    }
}

fn given_above(world: &World, payment: &PaymentRow) -> Option<u32> {
    world.gateway.store.read(|reader| reader.given_above(payment.seq)).unwrap()
}

fn holds(world: &World) -> bool {
    world.gateway.store.read(|reader| reader.sender_hold()).unwrap().is_some()
}

#[tokio::test]
async fn coins_from_before_an_address_was_given_pay_no_payment() {
    let world = World::new().await;
    world.make_wallet().await;
    let sandbox = Arc::clone(world.gateway.backend.sandbox.as_ref().unwrap());
    let world = world.with_chain(|chain| Arc::new(ByScript::new(chain, sandbox)));
    world.look().await;
    // The coin pays an address that this copy does not watch yet.
    let index = 5_000;
    let script = world.gateway.wallet.get().unwrap().addresses.script(index).unwrap();
    world.sandbox().send(script.clone(), 70_000, world.now_ms()).unwrap();
    world.mine(2).await;
    let payment = world.payment_to_index(index).await;
    assert_eq!(
        (payment.script.clone(), given_above(&world, &payment)),
        (script, Some(watched(&world).tip.height))
    );
    world.look().await;
    assert_eq!(
        (world.state(&payment), world.reload_payment(&payment.payment.id).payment.paid_sats),
        (New, 0)
    );
    assert!(holds(&world) && world.chain_balance() == 70_000, "the coin belongs to the wallet");
    let coin = world.gateway.store.read(|reader| reader.coins()).unwrap()[0].coin;
    assert_eq!((coin.payment_seq, coin.keychain, coin.index), (None, Keychain::External, index));
    // The coin pays no payment either after a reorganisation returns it to the mempool.
    world.sandbox().reorg(2, true, world.now_ms()).unwrap();
    world.look().await;
    assert_eq!(world.state(&payment), New);

    world.pay(&payment, payment.payment.amount_sats).await;
    world.mine(1).await;
    assert_eq!(world.state(&payment), Confirmed);
    assert_eq!(
        world.reload_payment(&payment.payment.id).payment.paid_sats,
        payment.payment.amount_sats
    );
    assert_eq!(world.chain_balance(), 70_000 + payment.payment.amount_sats);
    world.check_ledger();
}

#[tokio::test]
async fn a_payment_moved_to_a_lower_block_by_a_reorganisation_counts() {
    let left_above = Arc::new(AtomicU32::new(0));
    let world = World::new().await;
    let of_chain = Arc::clone(&left_above);
    let world = world.with_chain(|chain| Arc::new(Reorganised { chain, left_above: of_chain }));
    world.mine(6).await;
    let (first, second) = (world.payment().await, world.payment().await);
    let tip = watched(&world).tip.height;
    assert_eq!(given_above(&world, &first), Some(tip));
    world.customer_pays(&first, first.payment.amount_sats);
    left_above.store(tip - 5, Ordering::SeqCst);
    world.mine(1).await;
    assert_eq!(world.state(&first), Confirmed);
    assert_eq!(
        given_above(&world, &first),
        Some(tip - 5),
        "later coins are compared with the lowered height"
    );
    left_above.store(0, Ordering::SeqCst);
    world.pay(&second, second.payment.amount_sats).await;
    world.mine(1).await;
    assert_eq!(world.state(&second), Confirmed);
}
