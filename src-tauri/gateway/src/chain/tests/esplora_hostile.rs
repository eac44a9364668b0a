//! An Esplora server that misbehaves in any way leaves what is known as it was, and is told about in a sentence; once it
//! behaves, the next look makes up for all of it. What it says without proof is not believed.

use std::sync::Arc;
use std::time::Duration;

use bitcoin::Network;
use tillgate_domain::payment::PaymentState::{Confirmed, New, Unconfirmed};
use tillgate_nodes::{EsploraFault, EsploraServer};
use tillgate_sandbox::Pay;
use tokio::runtime::Handle;

use super::misbehaving::{TOO_LATE, judges_nothing};
use super::stage::{AT_LEISURE, Backend, Stage, esplora_options};
use crate::chain::Chain as _;
use crate::chain::esplora::EsploraChain;
use crate::testing::World;

/// Every way in which nothing can be judged, and words of the sentence.
fn faults() -> Vec<(EsploraFault, &'static str)> {
    vec![
        (EsploraFault::Slow(Duration::from_secs(60)), TOO_LATE),
        (EsploraFault::Dripping(Duration::from_millis(100)), TOO_LATE),
        (EsploraFault::Silent, TOO_LATE),
        (EsploraFault::CutOff, "broke off in the middle"),
        (EsploraFault::Closed, "closed the connection"),
        (EsploraFault::GzipBomb, "compressed its answer"),
        (EsploraFault::Html, "is no Esplora server"),
        (EsploraFault::Busy(Some("120".to_owned())), "left alone"),
        (EsploraFault::Busy(Some("Fri, 31 Dec 2100 23:59:59 GMT".to_owned())), "left alone for 3600 s"),
        (EsploraFault::Busy(Some("soon".to_owned())), "left alone"),
        (EsploraFault::Busy(None), "left alone"),
        (EsploraFault::Broken, "answered 500"),
        (EsploraFault::Redirect("http://127.0.0.1:1/".to_owned()), "leads elsewhere"),
        (EsploraFault::WrongTypes, "is no Esplora server"),
        (EsploraFault::OlderTip(200), "it is behind"),
        (EsploraFault::ForgedTransactions, "is another"),
        (EsploraFault::ForgedProofs, "its proof does not lead there"),
        (EsploraFault::NoProofs, "does not prove"),
        (EsploraFault::NoProofOfWork, "no work was done"),
        (EsploraFault::BrokenLink, "does not follow"),
    ]
}

#[tokio::test]
async fn whatever_a_server_does_nothing_is_judged_by_it_and_the_next_look_makes_up_for_it() {
    for (fault, words) in faults() {
        let what = format!("{fault:?}");
        let begin = |stage: &Stage| stage.esplora().misbehave(fault.clone());
        let end = async |stage: &Stage| {
            let server = stage.esplora();
            server.misbehave(None);
            if let EsploraFault::Busy(_) = fault {
                let asked = server.requests();
                assert!(stage.world().app.watcher.look().await.is_err());
                assert_eq!(server.requests(), asked, "{fault:?}: it is left alone");
            }
        };
        judges_nothing(Backend::Esplora, &what, words, begin, end).await;
    }
}

#[tokio::test]
async fn an_answer_without_an_end_is_cut_off() {
    let stage = Stage::new(Backend::Esplora).await;
    stage.esplora().misbehave(EsploraFault::Flood);
    let sentence = stage.world().app.watcher.look().await.unwrap_err().to_string();
    assert!(sentence.contains("more than 8192 KiB"), "{sentence}");
    stage.esplora().misbehave(None);
    stage.world().look().await;
}

#[tokio::test]
async fn a_confirmation_that_is_invented_is_not_believed() {
    let (stage, payment) = Stage::paid(Backend::Esplora).await;
    let world = stage.world();
    stage.esplora().misbehave(EsploraFault::InventedConfirmations);
    let sentence = world.app.watcher.look().await.unwrap_err().to_string();
    assert!(sentence.contains("its proof does not lead there"), "{sentence}");
    assert_eq!(world.state(&payment), Unconfirmed);
}

#[tokio::test]
async fn a_spend_that_is_invented_takes_nothing_away() {
    let stage = Stage::new(Backend::Esplora).await;
    let world = stage.world();
    let payment = world.payment().await;
    let txid = world.pay(&payment, payment.payment.amount_sats).await;
    world.sandbox().evict(txid, world.now_ms()).unwrap();
    stage.esplora().misbehave(EsploraFault::InventedSpends);
    let sentence = world.app.watcher.look().await.unwrap_err().to_string();
    assert!(sentence.contains("which it does not; do not trust this server"), "{sentence}");
    assert_eq!(world.state(&payment), Unconfirmed);
    let receipts = world.gateway.store.read(|reader| reader.receipts(payment.seq)).unwrap();
    assert!(!receipts[0].gone);
}

#[tokio::test]
async fn what_a_block_was_proved_to_hold_stays_whatever_a_server_that_is_behind_says() {
    let (stage, payment) = Stage::paid(Backend::Esplora).await;
    let world = stage.world();
    world.mine(1).await;
    assert_eq!(world.state(&payment), Confirmed);
    for fault in [EsploraFault::BehindBut { behind: 1 }, EsploraFault::MissingHistory] {
        // What a look that failed forgot is proved by what the database has of it.
        stage.esplora().misbehave(EsploraFault::Closed);
        assert!(world.app.watcher.look().await.is_err());
        stage.esplora().misbehave(fault.clone());
        for _ in 0..3 {
            world.look().await;
            assert_eq!(world.state(&payment), Confirmed, "{fault:?}");
            let receipts = world.gateway.store.read(|reader| reader.receipts(payment.seq)).unwrap();
            assert!(receipts[0].is_in_block(), "{fault:?}");
        }
    }
}

#[tokio::test]
async fn a_transaction_that_no_node_relays_is_not_taken() {
    let stage = Stage::new(Backend::Esplora).await;
    let world = stage.world();
    let payment = world.payment().await;
    stage.esplora().misbehave(EsploraFault::Bloated(400_000));
    world.pay(&payment, payment.payment.amount_sats).await;
    assert_eq!(world.state(&payment), New);
    stage.esplora().misbehave(None);
    world.look().await;
    assert_eq!(world.state(&payment), Unconfirmed);
}

#[tokio::test]
async fn a_look_reads_only_so_much_and_the_next_one_goes_on() {
    let stage = Stage::new(Backend::Esplora).await;
    let world = stage.world();
    let mut payments = Vec::new();
    for _ in 0..6 {
        let payment = world.payment().await;
        let (script, amount_sats) = (payment.script.clone(), payment.payment.amount_sats);
        let pay = Pay { script, amount_sats, parts: 10, fee_rate_sat_vb: None, confirmations: 0 };
        world.sandbox().pay(pay, world.now_ms()).unwrap();
        payments.push(payment);
    }
    // Of each there is one answer, of 3.9 MB: the fifth is the last that is begun.
    stage.esplora().misbehave(EsploraFault::Bloated(390_000));
    let seen = || payments.iter().filter(|payment| world.state(payment) == Unconfirmed).count();
    world.look().await;
    let first = seen();
    assert!((1..=5).contains(&first), "{first}");
    for _ in 0..3 {
        world.look().await;
    }
    assert_eq!(seen(), 6);
}

#[tokio::test]
async fn two_servers_behind_one_name_of_which_one_is_behind_make_looks_late_and_nothing_else() {
    let stage = Stage::new(Backend::Esplora).await;
    let world = stage.world();
    let (first, second) = (world.payment().await, world.payment().await);
    world.pay(&first, first.payment.amount_sats).await;
    world.mine(1).await;
    stage.esplora().misbehave(EsploraFault::TwoServers(1));
    world.customer_pays(&second, second.payment.amount_sats);
    world.sandbox().mine(1, false, world.now_ms()).unwrap();
    for _ in 0..12 {
        if let Err(error) = world.app.watcher.look().await {
            let sentence = error.to_string();
            let says = ["behind", "changed while", "does not prove"].iter().any(|words| sentence.contains(words));
            assert!(says, "{sentence}");
        }
        assert_eq!(world.state(&first), Confirmed);
        assert_ne!(world.state(&second), Unconfirmed, "it was never seen in a mempool");
    }
    stage.esplora().misbehave(None);
    world.look().await;
    assert_eq!((world.state(&first), world.state(&second)), (Confirmed, Confirmed));
}

#[tokio::test]
async fn what_a_server_leaves_out_is_missing_until_it_tells_of_it_and_never_gone() {
    let (stage, payment) = Stage::paid(Backend::Esplora).await;
    let world = stage.world();
    stage.esplora().misbehave(EsploraFault::MissingHistory);
    for _ in 0..3 {
        world.look().await;
        let receipts = world.gateway.store.read(|reader| reader.receipts(payment.seq)).unwrap();
        assert!(receipts[0].position.is_absent() && !receipts[0].gone);
        assert_eq!(world.state(&payment), Unconfirmed);
    }
    stage.esplora().misbehave(None);
    world.mine(1).await;
    assert_eq!(world.state(&payment), Confirmed);
}

#[tokio::test]
async fn a_server_of_another_network_is_refused_before_anything_is_written() {
    let stage = Stage::unlooked(Backend::Esplora).await;
    let world = stage.world();
    stage.esplora().misbehave(EsploraFault::OtherNetwork(Network::Signet));
    let sentence = world.app.watcher.look().await.unwrap_err().to_string();
    assert!(sentence.contains("is on signet, and the setting network says regtest"), "{sentence}");
    assert_eq!(world.gateway.store.read(|reader| reader.watched_chain()).unwrap(), None);
}

#[tokio::test]
async fn a_server_with_a_certificate_that_nobody_vouches_for_is_not_asked() {
    let world = World::new().await;
    let sandbox = Arc::clone(world.gateway.sandbox.as_ref().unwrap());
    let server = EsploraServer::start_tls(sandbox, Box::new(|| 0)).unwrap();
    let chain = EsploraChain::new(&esplora_options(&server, AT_LEISURE), Handle::current()).unwrap();
    let asked = tokio::task::spawn_blocking(move || chain.identity()).await.unwrap();
    let sentence = asked.unwrap_err().to_string();
    assert!(sentence.contains("no secure connection"), "{sentence}");
    assert_eq!(server.requests(), 0);
}
