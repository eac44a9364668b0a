//! Notices over ZeroMQ only make looks earlier. Under any false notice, states are late at worst.

use std::sync::Arc;
use std::time::Duration;

use bitcoin::hashes::Hash as _;
use bitcoin::{Network, ScriptBuf, WPubkeyHash};
use tillgate_chain::Chain as _;
use tillgate_chain::core::{CoreChain, CoreOptions, Credentials, NoticesOptions, NoticesPace};
use tillgate_chain::waker::Waker;
use tillgate_domain::payment::PaymentState::{Confirmed, New, Unconfirmed};
use tillgate_nodes::ZmqFault;
use tillgate_sandbox::{Pay, Replace, ReplaceTo};
use tillgate_store::payments::PaymentRow;
use tokio::runtime::Handle;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::testing::World;
use crate::testing::stage::{AT_LEISURE, Backend, Stage};

/// Longer than any test: looks come only from notices or by hand.
const NEVER: Duration = Duration::from_secs(24 * 3_600);

async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let waited = timeout(AT_LEISURE, async {
        while !is_so() {
            sleep(Duration::from_millis(1)).await;
        }
    });
    waited.await.unwrap_or_else(|_| panic!("timed out waiting until {what}"));
}

async fn until_heard(stage: &Stage) {
    until("somebody subscribed", || stage.node().published().unwrap().0 > 0).await;
}

/// Woken looks, until `is_so`.
async fn look_until(stage: &Stage, mut is_so: impl FnMut() -> bool) {
    let looked = timeout(AT_LEISURE, async {
        while !is_so() {
            stage.world().look_woken().await;
        }
    });
    looked.await.expect("no notice had an effect");
}

fn pay_a_stranger(world: &World) {
    let script = ScriptBuf::new_p2wpkh(&WPubkeyHash::from_byte_array([7; 20]));
    let pay =
        Pay { script, amount_sats: 10_000, parts: 1, fee_rate_sat_vb: None, confirmations: 0 };
    world.sandbox().pay(pay, world.now_ms()).unwrap();
}

/// Whether the transaction that paid it has left the mempool.
fn is_absent(world: &World, payment: &PaymentRow) -> bool {
    let receipts = world.gateway.store.read(|reader| reader.receipts(payment.seq)).unwrap();
    receipts[0].position.is_absent()
}

fn replace(world: &World, txid: bitcoin::Txid) {
    let replace = Replace { fee_rate_sat_vb: None, to: ReplaceTo::Customer };
    world.sandbox().replace(txid, replace, world.now_ms()).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_notice_wakes_a_look_for_a_payment_and_for_its_block() {
    let stage = Stage::hearing(Backend::CoreZmq).await;
    until_heard(&stage).await;
    let world = stage.world();
    let (app, end) = (Arc::clone(&world.app), CancellationToken::new());
    let watching = tokio::spawn({
        let end = end.clone();
        async move { app.watcher.run_every(NEVER, end).await }
    });
    for _ in 0..3 {
        let payment = world.payment().await;
        world.customer_pays(&payment, payment.payment.amount_sats);
        until("the payment is noticed", || world.state(&payment) == Unconfirmed).await;
        world.sandbox().mine(1, false, world.now_ms()).unwrap();
        until("its block is noticed", || world.state(&payment) == Confirmed).await;
    }
    end.cancel();
    watching.await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_woken_look_lists_the_mempool_only_for_a_transaction_of_ours() {
    let stage = Stage::new(Backend::CoreZmq).await;
    let (world, node) = (stage.world(), stage.node());
    world.look_woken().await;
    let payment = world.payment().await;
    let asked = || (node.asked("getrawmempool"), node.asked("getrawtransaction"));
    let (lists, read) = asked();
    pay_a_stranger(world);
    world.look_woken().await;
    assert_eq!(asked(), (lists, read + 1), "a stranger's transaction is read, and no more");
    let requests = node.requests();
    world.look_woken().await;
    assert!(node.requests() - requests <= 2, "an idle look only asks for a new block");

    let txid = world.customer_pays(&payment, payment.payment.amount_sats);
    world.look_woken().await;
    assert_eq!(world.state(&payment), Unconfirmed);
    assert_eq!(node.asked("getrawmempool"), lists + 1);
    world.look_woken().await;
    assert_eq!(node.asked("getrawmempool"), lists + 1, "a known payment needs no list");
    // The replacement pays nobody of ours, but spends the coins of the payment.
    replace(world, txid);
    world.look_woken().await;
    assert!(is_absent(world, &payment), "the replaced transaction is absent");
    assert_eq!(node.asked("getrawmempool"), lists + 2);
    world.mine(1).await;
    assert_eq!(
        node.asked("getrawmempool"),
        lists + 3,
        "a block removes transactions without notices"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_look_woken_by_a_notice_expires_no_payment() {
    let stage = Stage::hearing(Backend::CoreZmq).await;
    let world = stage.world();
    assert_eq!(
        tokio::task::block_in_place(|| world.gateway.backend.chain.fault_once_tried()),
        None
    );
    let payment = world.payment().await;
    world.look().await;
    // The node sends no notice, as if the notice were still on its way.
    stage.node().misbehave_over_zmq(ZmqFault::Silent);
    world.advance_clock_ms(crate::testing::HALF_AN_HOUR_MS + 60_000);
    world.look_woken().await;
    assert_eq!(world.state(&payment), New, "coins may be on their way");
    stage.node().misbehave_over_zmq(None);
    let read = stage.node().asked("getrawtransaction");
    look_until(&stage, || {
        pay_a_stranger(world);
        stage.node().asked("getrawtransaction") > read
    })
    .await;
    assert_eq!(world.state(&payment), New, "a stranger's transaction decides nothing");
    let paid = world.payment().await;
    world.customer_pays(&paid, paid.payment.amount_sats);
    look_until(&stage, || world.state(&paid) == Unconfirmed).await;
    assert_eq!(world.state(&payment), New, "another's payment decides nothing");
    world.look().await;
    assert_ne!(world.state(&payment), New);
}

#[tokio::test(flavor = "multi_thread")]
async fn notices_of_another_node_cause_no_list_of_the_mempool() {
    let stage = Stage::hearing(Backend::CoreZmq).await;
    until_heard(&stage).await;
    let (world, node) = (stage.world(), stage.node());
    let payment = world.payment().await;
    world.look().await;
    node.misbehave_over_zmq(ZmqFault::OtherNode);
    world.customer_pays(&payment, payment.payment.amount_sats);
    let (lists, entries) = (node.asked("getrawmempool"), node.asked("getmempoolentry"));
    look_until(&stage, || node.asked("getmempoolentry") > entries).await;
    assert_eq!((node.asked("getrawmempool"), world.state(&payment)), (lists, New));
    world.look().await;
    assert_eq!(world.state(&payment), Unconfirmed, "the list shows the truth");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancellation_and_the_sender_list_the_mempool_whatever_notices_say() {
    let stage = Stage::hearing(Backend::CoreZmq).await;
    until_heard(&stage).await;
    let (world, node) = (stage.world(), stage.node());
    let payment = world.payment().await;
    world.look().await;
    node.misbehave_over_zmq(ZmqFault::Silent);
    world.customer_pays(&payment, payment.payment.amount_sats);
    let cancelled = world.app.watcher.cancel(payment.payment.id, "staff").await;
    assert!(cancelled.is_err(), "the customer has paid");
    assert_eq!(world.state(&payment), Unconfirmed);
    let (since, lists) = (world.gateway.time.now(), node.asked("getrawmempool"));
    let is_fresh =
        || world.gateway.backend.last_look.is_fresh(since, world.gateway.time.now(), 10_000);
    world.look_woken().await;
    assert_eq!((node.asked("getrawmempool"), is_fresh()), (lists, false));
    world.app.watcher.look_soon().await.unwrap();
    assert_eq!((node.asked("getrawmempool"), is_fresh()), (lists + 1, true), "the sender's look");
}

#[tokio::test(flavor = "multi_thread")]
async fn notices_wake_looks_again_after_a_flood() {
    let stage = Stage::hearing(Backend::CoreZmq).await;
    until_heard(&stage).await;
    let (world, node) = (stage.world(), stage.node());
    let wake = world.gateway.backend.chain.wake().unwrap();
    node.misbehave_over_zmq(ZmqFault::Flood);
    // The flood wakes no more looks once its hints fill their room.
    while timeout(Duration::from_millis(300), wake.notified()).await.is_ok() {}
    node.misbehave_over_zmq(None);
    // The regular look takes the hints, although it lists anyway.
    let payment = world.payment().await;
    let woken = async {
        loop {
            world.look().await;
            let _ = timeout(Duration::from_millis(50), wake.notified()).await;
            world.customer_pays(&payment, 1_000);
            if timeout(Duration::from_millis(500), wake.notified()).await.is_ok() {
                return;
            }
        }
    };
    timeout(AT_LEISURE, woken).await.expect("no notice wakes a look");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_silent_connection_is_made_anew_and_is_no_fault() {
    let node = Stage::hearing(Backend::CoreZmq).await;
    until_heard(&node).await;
    let node = node.node();
    let soon = Duration::from_millis(100);
    let pace = NoticesPace { silent_at_most: soon, ..NoticesPace::USUAL };
    let chain = CoreChain::new(
        &CoreOptions {
            url: node.url(),
            credentials: Credentials::CookieFile(node.cookie_file().to_owned()),
            network: Network::Regtest,
            answered_within: AT_LEISURE,
            proxy: None,
            notices: Some(NoticesOptions {
                url: node.zmq_url(),
                proxy: None,
                pace,
                waker: Waker::default(),
            }),
        },
        Handle::current(),
    )
    .unwrap();
    let before = node.published().unwrap().0;
    until("it subscribed three times", || node.published().unwrap().0 >= before + 3).await;
    assert_eq!(chain.fault(), None);
}

/// Every fault, and a fragment of the error that it causes, if any.
const FAULTS: &[(ZmqFault, Option<&str>)] = &[
    (ZmqFault::Silent, None),
    (ZmqFault::Lossy, None),
    (ZmqFault::Garbage, Some("makes no sense")),
    (ZmqFault::HugeFrame, Some("sent a frame of 1152921504606846976 bytes")),
    (ZmqFault::Closes, Some("hung up")),
    (ZmqFault::WrongTopic, Some("not of Bitcoin Core's topic sequence")),
    (ZmqFault::Flood, None),
    (ZmqFault::OtherNode, None),
    (ZmqFault::Lies, None),
];

/// Pays a payment before the fault. During the fault another payment is paid, and two transactions
/// are replaced or evicted.
async fn check_late_and_never_wrong(stage: &Stage, fault: ZmqFault) -> PaymentRow {
    let world = stage.world();
    let [before, paid, replaced, evicted] = [
        world.payment().await,
        world.payment().await,
        world.payment().await,
        world.payment().await,
    ];
    let amount = |payment: &PaymentRow| payment.payment.amount_sats;
    world.pay(&before, amount(&before)).await;
    let replaced_txid = world.pay(&replaced, amount(&replaced)).await;
    let evicted_txid = world.pay(&evicted, amount(&evicted)).await;
    world.look().await;
    stage.node().misbehave_over_zmq(fault);
    world.customer_pays(&paid, amount(&paid));
    replace(world, replaced_txid);
    world.sandbox().evict(evicted_txid, world.now_ms()).unwrap();
    for _ in 0..3 {
        world.look_woken().await;
        assert_eq!(world.state(&before), Unconfirmed, "{fault:?}");
        assert!([New, Unconfirmed].contains(&world.state(&paid)), "{fault:?}");
    }
    world.look().await;
    assert_eq!((world.state(&before), world.state(&paid)), (Unconfirmed, Unconfirmed), "{fault:?}");
    for gone in [&replaced, &evicted] {
        assert!(is_absent(world, gone), "{fault:?}");
    }
    world.sandbox().mine(1, false, world.now_ms()).unwrap();
    world.look_woken().await;
    assert_eq!((world.state(&before), world.state(&paid)), (Confirmed, Confirmed), "{fault:?}");
    world.look_woken().await;
    world.look().await;
    assert_eq!((world.state(&before), world.state(&paid)), (Confirmed, Confirmed), "{fault:?}");
    paid
}

#[tokio::test(flavor = "multi_thread")]
async fn false_notices_only_delay_states_and_nonsense_is_reported() {
    for (fault, words) in FAULTS {
        let stage = Stage::hearing(Backend::CoreZmq).await;
        until_heard(&stage).await;
        check_late_and_never_wrong(&stage, *fault).await;
        let (world, chain) = (stage.world(), &stage.world().gateway.backend.chain);
        let news = async |heard: &dyn Fn(Option<tillgate_told::Telling>) -> bool| {
            let start = Instant::now();
            while !heard(chain.fault()) {
                assert!(start.elapsed() < AT_LEISURE, "{fault:?}: {:?}", chain.fault());
                let payment = world.payment().await;
                world.customer_pays(&payment, payment.payment.amount_sats);
                sleep(Duration::from_millis(10)).await;
                world.look_woken().await;
                world.look().await;
                assert_eq!(world.state(&payment), Unconfirmed, "{fault:?}");
            }
        };
        if let Some(words) = words {
            news(&|fault| fault.is_some_and(|fault| fault.message.contains(words))).await;
        }
        stage.node().misbehave_over_zmq(None);
        news(&|fault| fault.is_none()).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_handshake_is_reported_and_looks_go_on() {
    for (fault, words) in
        [(ZmqFault::Mute, "did not answer in time"), (ZmqFault::Curve, "\"CURVE\"")]
    {
        let stage = Stage::hearing(Backend::CoreZmq).await;
        until_heard(&stage).await;
        let (world, chain) = (stage.world(), &stage.world().gateway.backend.chain);
        stage.node().misbehave_over_zmq(ZmqFault::Closes);
        let payment = world.payment().await;
        world.customer_pays(&payment, payment.payment.amount_sats);
        until("the connection ends", || chain.fault().is_some()).await;
        stage.node().misbehave_over_zmq(fault);
        until("the fault is named", || {
            chain.fault().is_some_and(|fault| fault.message.contains(words))
        })
        .await;
        world.look().await;
        assert_eq!(world.state(&payment), Unconfirmed);
        stage.node().misbehave_over_zmq(None);
        until("notices arrive again", || chain.fault().is_none()).await;
    }
}

/// Prints the cost of looks at a full mempool:
/// `cargo test … prints_the_cost_of_a_woken_look -- --ignored --nocapture`.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "measures"]
async fn prints_the_cost_of_a_woken_look() {
    for crowd in [0, 300_000] {
        let stage = Stage::new(Backend::CoreZmq).await;
        let (world, node) = (stage.world(), stage.node());
        node.crowd(crowd);
        world.look().await;
        let cost = async |what: &str, pays: bool, is_woken: bool| {
            let payment = world.payment().await;
            if pays {
                world.customer_pays(&payment, payment.payment.amount_sats);
            }
            if what.contains("stranger") {
                pay_a_stranger(world);
            }
            let (start, requests) = (Instant::now(), node.requests());
            if is_woken {
                world.look_woken().await;
            } else {
                world.look().await;
            }
            println!(
                "{crowd} others, {what}: {:?}, {} requests",
                start.elapsed(),
                node.requests() - requests
            );
            assert_eq!(world.state(&payment), if pays { Unconfirmed } else { New });
        };
        for _ in 0..3 {
            cost("woken for nothing of ours", false, true).await;
            cost("woken for a stranger", false, true).await;
            cost("woken for a payment", true, true).await;
            cost("by itself", false, false).await;
        }
    }
}
