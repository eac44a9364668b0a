//! A node that restarted between two looks, and a node that cannot name the spenders of outputs.

use tillgate_domain::payment::PaymentState::{New, Unconfirmed};
use tillgate_domain::receipt::Position;
use tillgate_nodes::CoreFault;
use tillgate_sandbox::{Replace, ReplaceTo};

use crate::testing::stage::{Backend, Stage};

#[tokio::test]
async fn a_restart_with_the_same_mempool_sequence_hides_no_change() {
    let stage = Stage::new(Backend::Core).await;
    let world = stage.world();
    let payment = world.payment().await;
    stage.node().misbehave(CoreFault::Numbered(7));
    let txid = world.pay(&payment, payment.payment.amount_sats).await;
    assert_eq!(world.receipts_of(&payment)[0].position, Position::Mempool);
    world.look().await;
    world.sandbox().evict(txid, world.now_ms()).unwrap();
    world.look().await;
    assert!(matches!(world.receipts_of(&payment)[0].position, Position::Absent { .. }));
}

#[tokio::test]
async fn a_replacement_is_seen_while_the_node_builds_its_index() {
    for fault in [CoreFault::BuildsSpenders, CoreFault::KnowsNoOptions] {
        let stage = Stage::new(Backend::Core).await;
        let world = stage.world();
        let payment = world.payment().await;
        let txid = world.pay(&payment, payment.payment.amount_sats).await;
        stage.node().misbehave(fault.clone());
        let replace = Replace { fee_rate_sat_vb: None, to: ReplaceTo::Customer };
        world.sandbox().replace(txid, replace, world.now_ms()).unwrap();
        world.look().await;
        assert_eq!(world.state(&payment), New, "{fault:?}");
    }
}

#[tokio::test]
async fn a_missing_transaction_holds_up_no_look() {
    for fault in [CoreFault::BuildsSpenders, CoreFault::KnowsNoOptions, CoreFault::RefusesSpenders]
    {
        let stage = Stage::new(Backend::Core).await;
        let world = stage.world();
        let payment = world.payment().await;
        let txid = world.pay(&payment, payment.payment.amount_sats).await;
        stage.node().misbehave(fault.clone());
        world.sandbox().evict(txid, world.now_ms()).unwrap();
        world.look().await;
        let receipt = &world.receipts_of(&payment)[0];
        assert!(
            matches!(receipt.position, Position::Absent { .. }) && !receipt.gone,
            "{fault:?}: {receipt:?}"
        );
        assert_eq!(world.state(&payment), Unconfirmed, "{fault:?}");
        let other = world.payment().await;
        world.pay(&other, other.payment.amount_sats).await;
        assert_eq!(world.state(&other), Unconfirmed, "{fault:?}: the look goes on");
    }
}
