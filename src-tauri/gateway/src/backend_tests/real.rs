//! Real programs show the sandbox's chain.

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use tillgate_chain::{Broadcast, Chain as _};
use tillgate_domain::payment::PaymentState::Unconfirmed;
use tillgate_nodes::{Bitcoind, Electrs};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::alike::{more_histories, tells_histories, tells_the_story};
use crate::testing::stage::{Backend, Stage};

/// Seeds of the random histories that real programs show.
fn real_seeds() -> RangeInclusive<u64> {
    1..=more_histories(3)
}

#[tokio::test]
async fn a_real_bitcoin_core_gives_the_same_states_as_the_sandbox() {
    if Bitcoind::program().is_none() {
        println!("not run: BITCOIND_EXE names no Bitcoin Core");
        return;
    }
    tells_the_story(&[Backend::Bitcoind]).await;
    tells_histories(&[Backend::Bitcoind], real_seeds()).await;
}

#[tokio::test]
async fn a_real_bitcoin_core_with_zeromq_gives_the_same_states() {
    if Bitcoind::program().is_none_or(|program| !Bitcoind::can_publish(&program).unwrap()) {
        println!("not run: BITCOIND_EXE names no Bitcoin Core with ZeroMQ");
        return;
    }
    tells_the_story(&[Backend::BitcoindZmq]).await;
    tells_histories(&[Backend::BitcoindZmq], real_seeds()).await;
}

/// Prints the time from a broadcast until the payment's notification is queued.
#[tokio::test(flavor = "multi_thread")]
async fn a_real_bitcoin_core_announces_a_payment_at_once() {
    if Bitcoind::program().is_none_or(|program| !Bitcoind::can_publish(&program).unwrap()) {
        println!("not run: BITCOIND_EXE names no Bitcoin Core with ZeroMQ");
        return;
    }
    let (stage, node) = Stage::hearing(Backend::BitcoindZmq).await.alone();
    let world = stage.world();
    world.look().await;
    assert_eq!(tokio::task::block_in_place(|| node.fault_once_tried()), None);
    let (app, end) = (Arc::clone(&world.app), CancellationToken::new());
    let watching = tokio::spawn({
        let end = end.clone();
        // Without a notice the look comes too late.
        async move { app.watcher.run_every(Duration::from_secs(60), end).await }
    });
    let mut took = Vec::new();
    for _ in 0..100 {
        let payment = world.payment().await;
        let txid = world.customer_pays(&payment, payment.payment.amount_sats);
        let tx = world.sandbox().transaction(txid).unwrap().unwrap().tx;
        let start = Instant::now();
        let sent = tokio::task::block_in_place(|| node.broadcast(&[tx])).unwrap();
        assert_eq!(sent, Broadcast::Accepted);
        while world.state(&payment) != Unconfirmed {
            assert!(
                start.elapsed() < Duration::from_secs(30),
                "the payment was not noticed: {:?}",
                node.fault()
            );
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        took.push(start.elapsed());
    }
    end.cancel();
    watching.await.unwrap();
    took.sort();
    println!(
        "from the broadcast to the notification: p50 {:?}, p99 {:?}, max {:?}",
        took[50], took[98], took[99]
    );
}

#[tokio::test]
async fn a_real_electrum_server_gives_the_same_states_as_the_sandbox() {
    if Bitcoind::program().is_none() || Electrs::program().is_none() {
        println!("not run: BITCOIND_EXE and ELECTRS_EXE do not name a Bitcoin Core and an electrs");
        return;
    }
    tells_the_story(&[Backend::Electrs]).await;
    tells_histories(&[Backend::Electrs], real_seeds()).await;
}
