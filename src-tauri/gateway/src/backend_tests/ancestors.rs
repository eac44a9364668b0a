//! The network drops a transaction of ours with its ancestors. On every backend both are broadcast
//! again from stored bytes.

use bitcoin::{Sequence, Transaction, Txid};
use tillgate_chain::Sees;
use tillgate_domain::payment::PaymentState::{Confirmed, Unconfirmed};
use tillgate_domain::payout::PayoutState;
use tillgate_nodes::CoreFault;
use tillgate_sandbox::TxPosition;
use tillgate_store::payments::PaymentRow;

use crate::testing::World;
use crate::testing::payer::{Kind, Payer, through_every_backend};
use crate::testing::stage::{Backend, Stage};

const SIGNALS: Sequence = Sequence::ENABLE_RBF_NO_LOCKTIME;

/// The customer's payment: enough for a payout.
const PAID_SATS: u64 = 1_000_000;

const DAY_MS: i64 = 24 * 3_600_000;

/// Looks within which a backend with a slow round must reach old addresses.
const LOOKS_MAX: usize = 60;

/// A customer's transaction that pays a payment, and its own parent.
struct Line {
    payer: Payer,
    parent: Transaction,
    child: Transaction,
}

impl Line {
    async fn that_pays(world: &World, payment: &PaymentRow) -> Self {
        let payer = Payer::with_coin(world, Kind::Segwit).await;
        let parent = payer.pays(&[], 1, SIGNALS);
        let child = payer.going_on_from(&parent).pays(&[(&payment.script, PAID_SATS)], 1, SIGNALS);
        Self { payer, parent, child }
    }

    fn parent_id(&self) -> Txid {
        self.parent.compute_txid()
    }

    /// Whether the parent is stored because of the child.
    fn is_kept(&self, world: &World) -> bool {
        let child = self.child.compute_txid();
        let kept = world.gateway.store.read(|reader| reader.kept_ancestors(&child)).unwrap();
        kept.contains(&self.parent)
    }
}

impl World {
    fn is_in_mempool(&self, txid: Txid) -> bool {
        let found = self.sandbox().transaction(txid).unwrap();
        found.is_some_and(|view| matches!(view.position, TxPosition::Mempool { .. }))
    }

    /// Looks and runs the sender until the condition holds.
    async fn works_until(&self, what: &str, is_so: impl Fn() -> bool) {
        for _ in 0..LOOKS_MAX {
            if is_so() {
                return;
            }
            self.pass_ms(1_000).await;
            self.pass_sender().await;
        }
        panic!("not within {LOOKS_MAX} looks: {what}");
    }

    fn keeps_nothing(&self) -> bool {
        let rows = |table| self.gateway.store.read(|reader| reader.rows_of(table)).unwrap();
        rows("ancestors").is_empty() && rows("ancestor_needs").is_empty()
    }
}

#[tokio::test]
async fn a_lost_payout_comes_back_with_its_ancestors() {
    through_every_backend(async |stage| {
        let world = stage.world();
        world.make_wallet().await;
        let payment = world.payment_to_wallet().await;
        let line = Line::that_pays(world, &payment).await;
        world.finds_mined(&[line.parent.clone(), line.child.clone()]).await;
        world.mine(2).await;
        world.looks_until("it is paid", || world.state(&payment) == Confirmed).await;
        assert!(world.keeps_nothing(), "no transaction of ours spends the payment yet");
        let payout = world.approved_payout(300_000).await;
        world.send().await;
        world.works_until("it is sent", || world.payout_state(&payout) == PayoutState::Sent).await;
        world.works_until("the parent is stored", || line.is_kept(world)).await;
        let ours = world.txid_of(&payout);

        // The customer's transactions return to the mempool, and drop out of it with ours.
        let stage = stage
            .restart(|world| {
                world.sandbox().reorg(3, true, world.now_ms()).unwrap();
                world.sandbox().evict(line.parent_id(), world.now_ms()).unwrap();
                world.sandbox().mine(1, true, world.now_ms()).unwrap();
                assert!(
                    !world.is_in_mempool(ours) && !world.is_in_mempool(line.child.compute_txid())
                );
            })
            .await;
        let world = stage.world();
        world.works_until("the payout is back", || world.is_in_mempool(ours)).await;
        assert!(
            world.is_in_mempool(line.parent_id()) && world.is_in_mempool(line.child.compute_txid())
        );
        world.mine(1).await;
        world.works_until("it is mined", || world.outputs_of(&payout) == 1).await;
        assert!(line.is_kept(world), "one block may still be reorganised");
        world.mine(10).await;
        world.works_until("no ancestor is stored", || world.keeps_nothing()).await;
        assert_eq!(
            (world.payout_state(&payout), world.state(&payment)),
            (PayoutState::Sent, Confirmed)
        );
        world.check_money();
    })
    .await;
}

#[tokio::test]
async fn a_dropped_payment_is_rebroadcast_with_its_parent() {
    through_every_backend(async |stage| {
        let world = stage.world();
        let payment = world.payment().await;
        let line = Line::that_pays(world, &payment).await;
        world.sandbox().broadcast(&line.parent, world.now_ms()).unwrap();
        world.hears(&line.child).await;
        world.looks_until("it is seen", || world.state(&payment) == Unconfirmed).await;
        world.looks_until("the parent is stored", || line.is_kept(world)).await;

        world.sandbox().evict(line.parent_id(), world.now_ms()).unwrap();
        world.look().await;
        assert!(
            !world.is_in_mempool(line.parent_id()),
            "the network takes neither before the next block"
        );
        world.sandbox().mine(1, true, world.now_ms()).unwrap();
        world.looks_until("both are back", || world.is_in_mempool(line.child.compute_txid())).await;
        assert!(world.is_in_mempool(line.parent_id()));

        let other = line.payer.pays(&[], 9, SIGNALS);
        world.finds_mined(&[other]).await;
        world.mine(5).await;
        assert!(line.is_kept(world), "the blocks may still be reorganised");
        world.mine(6).await;
        if world.gateway.backend.chain.sees() == Sees::Scripts {
            // An Electrum server does not report others' spends, so the payment stays open for a
            // month.
            for _ in 0..2 {
                world.pass_ms(16 * DAY_MS).await;
            }
            world.mine(1).await;
        }
        world.looks_until("no ancestor is stored", || world.keeps_nothing()).await;
    })
    .await;
}

#[tokio::test]
async fn a_node_that_withholds_a_payouts_parent_delays_no_payout() {
    let stage = Stage::new(Backend::Core).await;
    let world = stage.world();
    world.make_wallet().await;
    let payment = world.payment_to_wallet().await;
    let line = Line::that_pays(world, &payment).await;
    world.finds_mined(&[line.parent.clone(), line.child.clone()]).await;
    world.mine(2).await;
    let payout = world.approved_payout(300_000).await;
    let height = world.sandbox().tip().unwrap().height;
    stage.node().misbehave(Some(CoreFault::Pruned(height)));
    world.send().await;
    world.work_on().await;
    assert_eq!((world.payout_state(&payout), world.keeps_nothing()), (PayoutState::Sent, true));
    stage.node().misbehave(None);
    world.mine(1).await;
    assert!(line.is_kept(world));
}
