//! Electrum servers alone: the cost of a look, notifications, broken connections, certificates and
//! versions.

use std::sync::Arc;
use std::time::Duration;

use bitcoin::hashes::Hash as _;
use bitcoin::{Network, ScriptBuf, WPubkeyHash};
use tillgate_chain::electrum::{BadServer, ElectrumChain, ElectrumOptions, Fingerprint};
use tillgate_chain::waker::Waker;
use tillgate_chain::{Chain, ChainDown, HotScripts, Identity, Scripts, no_scripts};
use tillgate_domain::chain::Urgency;
use tillgate_domain::payment::PaymentState::{Confirmed, Unconfirmed};
use tillgate_machine::outgoing::Proxy;
use tillgate_nodes::{ElectrumFault, ElectrumNode};
use tokio::runtime::Handle;
use tokio::time::Instant;

use crate::testing::World;
use crate::testing::stage::{AT_LEISURE, Backend, Stage};

fn secure(world: &World) -> ElectrumNode {
    let clock = Arc::clone(&world.gateway.time.clock);
    let sandbox = Arc::clone(world.gateway.backend.sandbox.as_ref().unwrap());
    ElectrumNode::start_tls(sandbox, Box::new(move || clock.now().ms())).unwrap()
}

pub fn asking(
    url: &str,
    proxy: Option<Proxy>,
    pinned: Vec<Fingerprint>,
) -> Result<ElectrumChain, BadServer> {
    let options = ElectrumOptions {
        url: url.to_owned(),
        pinned,
        proxy,
        network: Network::Regtest,
        answered_within: AT_LEISURE,
        waker: Waker::default(),
    };
    ElectrumChain::new(options, Handle::current())
}

/// Asks a server for its chain, accepting these certificates.
async fn identity(url: String, pinned: Vec<Fingerprint>) -> Result<Identity, ChainDown> {
    let chain = asking(&url, None, pinned).unwrap();
    tokio::task::spawn_blocking(move || chain.identity()).await.unwrap()
}

fn fingerprint(sentence: &str) -> Fingerprint {
    sentence.rsplit(' ').next().unwrap().trim_matches('`').parse().unwrap()
}

#[tokio::test]
async fn an_unknown_certificate_is_refused_until_it_is_pinned() {
    let stage = Stage::unlooked(Backend::Sandbox).await;
    let server = secure(stage.world());
    let sentence = identity(server.url(), Vec::new()).await.unwrap_err().to_string();
    assert!(sentence.contains(" is self-signed, "), "{sentence}");
    assert!(sentence.contains("`tillgate settings set backendCertificate "), "{sentence}");
    assert_eq!(server.requests(), 0, "no request went over the unverified connection");
    let pinned = fingerprint(&sentence);
    identity(server.url(), vec![pinned]).await.unwrap();

    // The server returns with another certificate, or a stranger answers in its place.
    let other = secure(stage.world());
    let sentence = identity(other.url(), vec![pinned]).await.unwrap_err().to_string();
    assert!(sentence.contains("is not the pinned one"), "{sentence}");
    assert_eq!(other.requests(), 0);
    identity(other.url(), vec![pinned, fingerprint(&sentence)]).await.unwrap();
}

#[tokio::test]
async fn a_port_that_speaks_tls_and_one_that_does_not_are_told() {
    let stage = Stage::new(Backend::Electrum).await;
    let server = secure(stage.world());
    let (with_tls, without_tls) = (server.url(), stage.electrum().url());
    let by_tcp = with_tls.replace("ssl://", "tcp://");
    let sentence = identity(by_tcp, Vec::new()).await.unwrap_err().to_string();
    assert!(sentence.contains(&format!("set backendUrl to {with_tls}")), "{sentence}");

    let by_ssl = without_tls.replace("tcp://", "ssl://");
    stage.electrum().misbehave(ElectrumFault::NotJson);
    let sentence = identity(by_ssl.clone(), Vec::new()).await.unwrap_err().to_string();
    assert!(
        sentence.contains("speaks no TLS at this port") && sentence.contains(&without_tls),
        "{sentence}"
    );
    stage.electrum().misbehave(ElectrumFault::Closed);
    let sentence = identity(by_ssl, Vec::new()).await.unwrap_err().to_string();
    assert!(
        sentence.contains("broke off the beginning of TLS") && sentence.contains(&without_tls),
        "{sentence}"
    );
}

#[tokio::test]
async fn a_server_that_hangs_up_at_once_may_speak_tls() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let serving = std::thread::spawn(move || drop(listener.accept().unwrap()));
    let sentence = identity(format!("tcp://{address}"), Vec::new()).await.unwrap_err().to_string();
    assert!(sentence.contains(&format!("set backendUrl to ssl://{address}")), "{sentence}");
    serving.join().unwrap();
}

#[tokio::test]
async fn a_bad_url_and_a_missing_server_are_told_apart() {
    for url in ["http://127.0.0.1:1", "tcp://", "tcp://user:word@host:1", "nonsense"] {
        let refused = asking(url, None, Vec::new()).err().map(|error| error.to_string());
        assert!(
            refused.is_some_and(|why| why.contains("is no address of an Electrum server")),
            "{url}"
        );
    }
    let closed = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        format!("tcp://{}", listener.local_addr().unwrap())
    };
    let sentence = identity(closed, Vec::new()).await.unwrap_err().to_string();
    assert!(sentence.contains("no connection to the server at 127.0.0.1:"), "{sentence}");
}

#[tokio::test]
async fn an_idle_look_costs_the_same_however_many_payments_there_are() {
    let stage = Stage::new(Backend::Electrum).await;
    let (world, server) = (stage.world(), stage.electrum());
    let mut costs = Vec::new();
    for payments in [2, 60] {
        let mut last = world.payment().await;
        for _ in 1..payments {
            last = world.payment().await;
        }
        world.look().await;
        world.look().await;
        let before = server.requests();
        world.look().await;
        let idle = server.requests() - before;
        world.pay(&last, last.payment.amount_sats).await;
        costs.push(idle);
        world.mine(1).await;
    }
    assert!(costs.iter().all(|cost| *cost <= 8), "{costs:?}");
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn a_broken_connection_is_remade_and_only_changes_are_read() {
    let stage = Stage::new(Backend::Electrum).await;
    let (world, server) = (stage.world(), stage.electrum());
    let (first, second) = (world.payment().await, world.payment().await);
    world.pay(&first, first.payment.amount_sats).await;
    let read = server.asked("blockchain.scripthash.get_history");
    server.misbehave(ElectrumFault::Closed);
    world.app.watcher.look().await.unwrap_err();
    server.misbehave(None);
    world.customer_pays(&second, second.payment.amount_sats);
    world.look().await;
    assert_eq!((world.state(&first), world.state(&second)), (Unconfirmed, Unconfirmed));
    assert_eq!(server.connections(), 2);
    let read = server.asked("blockchain.scripthash.get_history") - read;
    assert!(read <= 2, "the changed script, and at most one other: {read}");
}

#[tokio::test]
async fn a_server_that_keeps_failing_is_asked_less_and_less() {
    let stage = Stage::new(Backend::Electrum).await;
    let (world, server) = (stage.world(), stage.electrum());
    server.misbehave(ElectrumFault::Closed);
    for _ in 0..20 {
        let sentence = world.app.watcher.look().await.unwrap_err().to_string();
        assert!(sentence.contains("hung up"), "{sentence}");
    }
    assert!(server.connections() <= 4, "{}", server.connections());
}

#[tokio::test]
async fn a_notification_of_the_server_wakes_the_gateway() {
    let stage = Stage::new(Backend::Electrum).await;
    let world = stage.world();
    let payment = world.payment().await;
    world.look().await;
    let wake = world.gateway.backend.chain.wake().unwrap();
    // Consumes a wake-up from the looks so far.
    let _ = tokio::time::timeout(Duration::from_millis(50), wake.notified()).await;
    world.customer_pays(&payment, payment.payment.amount_sats);
    tokio::time::timeout(AT_LEISURE, wake.notified()).await.expect("no wake-up came");
    world.look().await;
    assert_eq!(world.state(&payment), Unconfirmed);
}

#[tokio::test]
async fn every_protocol_version_from_1_4_to_1_6_works() {
    for version in ["1.4", "1.4.2", "1.6"] {
        let stage = Stage::unlooked(Backend::Electrum).await;
        let world = stage.world();
        stage.electrum().speak(version);
        world.look().await;
        let payment = world.payment().await;
        world.pay(&payment, payment.payment.amount_sats).await;
        assert_eq!(world.state(&payment), Unconfirmed, "{version}");
        world.sandbox().mine(30, false, world.now_ms()).unwrap();
        world.look().await;
        assert_eq!(world.state(&payment), Confirmed, "{version}");
        let estimate = world.gateway.fee_rates_now().await.unwrap().estimate;
        assert_eq!(estimate, Some(bitcoin::FeeRate::from_sat_per_vb_u32(2)), "{version}");
    }
}

#[tokio::test]
async fn a_replaced_block_with_the_same_transactions_is_proved_anew() {
    let stage = Stage::new(Backend::Electrum).await;
    let (world, server) = (stage.world(), stage.electrum());
    let payment = world.payment().await;
    world.pay(&payment, payment.payment.amount_sats).await;
    world.mine(1).await;
    let proofs = server.asked("blockchain.transaction.get_merkle");
    world.sandbox().reorg(1, true, world.now_ms()).unwrap();
    world.look().await;
    world.mine(1).await;
    world.look().await;
    assert!(server.asked("blockchain.transaction.get_merkle") > proofs);
    assert_eq!(world.state(&payment), Confirmed);
}

pub fn script(number: u32) -> ScriptBuf {
    let mut hash = [7; 20];
    hash[..4].copy_from_slice(&number.to_be_bytes());
    ScriptBuf::new_p2wpkh(&WPubkeyHash::from_byte_array(hash))
}

#[derive(Debug)]
struct Cost {
    calls: u64,
    bytes: u64,
    /// Only printed.
    took: Duration,
}

/// The costs of the first look at `count` scripts, of an idle look, and of a look that finds a
/// payment.
async fn costs(count: u32) -> [Cost; 3] {
    let stage = Stage::unlooked(Backend::Electrum).await;
    let (world, server) = (stage.world(), stage.electrum());
    let hot = HotScripts::default();
    (0..count).for_each(|number| hot.add(script(number), Urgency::Awaited));
    let mut token: Option<Vec<u8>> = None;
    let mut look = |expected: usize| {
        let (calls, bytes, began) = (server.requests(), server.bytes(), Instant::now());
        let mut found = 0;
        loop {
            let scripts = Scripts { hot: &hot, ..no_scripts() };
            let view = world.ask(token.as_deref(), scripts).unwrap();
            found += view.txs.len();
            token = Some(view.token);
            if !view.more {
                break;
            }
        }
        assert_eq!(found, expected);
        Cost {
            calls: server.requests() - calls,
            bytes: server.bytes() - bytes,
            took: began.elapsed(),
        }
    };
    let first = look(0);
    let idle = look(0);
    let payment = tillgate_sandbox::Pay {
        script: script(count / 2),
        amount_sats: 10_000,
        parts: 1,
        fee_rate_sat_vb: None,
        confirmations: 0,
    };
    world.sandbox().pay(payment, world.now_ms()).unwrap();
    [first, idle, look(1)]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_look_costs_the_same_for_few_scripts_and_for_thousands() {
    let (few, many) = (costs(10).await, costs(3_000).await);
    for (few, many) in few.iter().zip(&many).skip(1) {
        assert_eq!(few.calls, many.calls);
        assert!(many.bytes < few.bytes + 1_000, "{few:?} {many:?}");
    }
    assert!(many[1].calls <= 3 && many[2].calls <= 6, "{many:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_look_in_several_answers_asks_about_each_script_once() {
    let stage = Stage::unlooked(Backend::Electrum).await;
    let (world, server) = (stage.world(), stage.electrum());
    let required: Vec<ScriptBuf> = (0..700).map(script).collect();
    let (mut token, mut answers) = (None::<Vec<u8>>, 0);
    loop {
        let scripts = Scripts { required: &required, ..no_scripts() };
        let view = world.ask(token.as_deref(), scripts).unwrap();
        (token, answers) = (Some(view.token), answers + 1);
        if !view.more {
            assert!(required.iter().all(|script| view.covered.holds(script)));
            break;
        }
    }
    let asked = server.asked("blockchain.scripthash.subscribe");
    assert!(answers > 1 && (700..720).contains(&asked), "{answers} answers, {asked} questions");
}

/// Run it with `--release -- --ignored --nocapture`.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "prints figures"]
async fn prints_the_cost_of_a_look() {
    for count in [100, 10_000, 100_000] {
        for (look, cost) in
            ["the first", "an idle one", "one that finds a payment"].iter().zip(costs(count).await)
        {
            println!(
                "{count} scripts, {look}: {} calls, {} bytes, {:?}",
                cost.calls, cost.bytes, cost.took
            );
        }
    }
}
