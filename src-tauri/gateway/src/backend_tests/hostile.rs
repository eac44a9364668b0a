//! A node that misbehaves in any way changes nothing, and a sentence reports it. Once it behaves,
//! the next look catches up.

use std::time::Duration;

use bitcoin::Network;
use tillgate_domain::payment::PaymentState::{Confirmed, New};
use tillgate_nodes::CoreFault;

use crate::testing::misbehaving::{TOO_LATE, judges_nothing};
use crate::testing::stage::{Backend, Stage};

/// Every fault, and a fragment of the error that it causes.
fn faults() -> Vec<(CoreFault, &'static str)> {
    let soon = Duration::from_millis(100);
    vec![
        (CoreFault::Slow(Duration::from_secs(60)), TOO_LATE),
        (CoreFault::Dripping(soon), TOO_LATE),
        (CoreFault::Silent, TOO_LATE),
        (CoreFault::CutOff, "broke off in the middle"),
        (CoreFault::Closed, "no connection"),
        (CoreFault::SignInRefused, "refuses the cookie"),
        (CoreFault::QueueFull, "503"),
        (
            CoreFault::Forbidden,
            "403 Forbidden to getblockhash: in its bitcoin.conf, rpcallowip must",
        ),
        (CoreFault::Forbidden, "and rpcwhitelist, if it is set, every call"),
        (CoreFault::NotJson, "is no Bitcoin Core"),
        (CoreFault::WrongTypes, "makes no sense"),
        (CoreFault::ShortBatches, "replies are missing"),
        (CoreFault::Warmup, "still starting"),
        (CoreFault::MempoolLoading, "loading its mempool"),
        (CoreFault::InitialBlockDownload, "downloading the chain"),
        (CoreFault::HeadersAhead(144), "catching up"),
        (
            CoreFault::OtherNetwork(Network::Bitcoin),
            "is on bitcoin, and the setting network says regtest",
        ),
        (CoreFault::OlderTip(200), "it is behind"),
        (CoreFault::ForgedTransactions, "its transactions do not match its header"),
        (CoreFault::NoProofOfWork, "no work was done"),
        (CoreFault::BrokenLink, "does not follow"),
        (CoreFault::Pruned(1_000), "has pruned block"),
    ]
}

#[tokio::test]
async fn a_misbehaving_node_decides_nothing() {
    for (fault, words) in faults() {
        let what = format!("{fault:?}");
        let begin = |stage: &Stage| stage.node().misbehave(fault.clone());
        let end = async |stage: &Stage| stage.node().misbehave(None);
        judges_nothing(Backend::Core, &what, words, begin, end).await;
    }
}

#[tokio::test]
async fn an_endless_answer_is_cut_off() {
    let stage = Stage::new(Backend::Core).await;
    let world = stage.world();
    for (fault, bound) in
        [(CoreFault::Flood, "more than 48 MiB"), (CoreFault::Continues, "more than 65536 KiB")]
    {
        stage.node().misbehave(fault);
        let sentence = world.app.watcher.look().await.unwrap_err().to_string();
        assert!(sentence.contains(bound), "{sentence}");
    }
    stage.node().misbehave(None);
    world.look().await;
}

#[tokio::test]
async fn a_forged_mempool_transaction_counts_for_no_payment() {
    let stage = Stage::new(Backend::Core).await;
    let world = stage.world();
    let payment = world.payment().await;
    stage.node().misbehave(CoreFault::ForgedTransactions);
    world.customer_pays(&payment, payment.payment.amount_sats / 2);
    let sentence = world.app.watcher.look().await.unwrap_err().to_string();
    assert!(sentence.contains("sent another transaction"), "{sentence}");
    assert_eq!(world.state(&payment), New);
}

#[tokio::test]
async fn a_node_of_another_network_is_refused_before_any_write() {
    let stage = Stage::unlooked(Backend::Core).await;
    let world = stage.world();
    stage.node().misbehave(CoreFault::OtherNetwork(Network::Signet));
    let sentence = world.app.watcher.look().await.unwrap_err().to_string();
    assert!(sentence.contains("is on signet, and the setting network says regtest"), "{sentence}");
    assert_eq!(world.gateway.store.read(|reader| reader.watched_chain()).unwrap(), None);
}

#[tokio::test]
async fn a_node_with_an_old_tip_is_only_late() {
    let stage = Stage::new(Backend::Core).await;
    let world = stage.world();
    let payment = world.payment().await;
    stage.node().misbehave(CoreFault::OlderTip(world.sandbox().tip().unwrap().height));
    world.customer_pays(&payment, payment.payment.amount_sats);
    world.mine(1).await;
    assert_eq!(world.state(&payment), New, "it shows neither the transaction nor the block");
    stage.node().misbehave(None);
    world.look().await;
    assert_eq!(world.state(&payment), Confirmed);
}
