//! Backends that stand still: they answer, and their view of the network may be out of date.

use std::sync::Arc;

use bitcoin::Network;
use bitcoin::constants::genesis_block;
use serde_json::json;
use tempfile::TempDir;
use tillgate_chain::chain_wrapper::ChainWrapper;
use tillgate_chain::{Chain, ChainDown, Identity};
use tillgate_domain::anomaly::AnomalyKind;
use tillgate_domain::payment::PaymentState::{Confirmed, Expired, New, Unconfirmed};
use tillgate_domain::policy::{PolicySettings, PriceBound};
use tillgate_gateway::testing::World;
use tillgate_gateway::testing::stage::{Backend, Stage};
use tillgate_nodes::{Bitcoind, CoreFault, ElectrumFault};
use tillgate_store::payments::PaymentRow;

use crate::doctor::Doctor;
use crate::status::Status;
use crate::{Actor, ask};

const MINUTE_MS: i64 = 60_000;

/// The backend, named as one of signet: a backend on regtest never stands still.
struct OnSignet(Arc<dyn Chain>);

impl ChainWrapper for OnSignet {
    fn chain(&self) -> &dyn Chain {
        self.0.as_ref()
    }

    fn identity(&self) -> Result<Identity, ChainDown> {
        Ok(Identity { genesis: genesis_block(Network::Signet).block_hash(), ..self.0.identity()? })
    }
}

/// A stage whose last block is new.
async fn stage(backend: Backend) -> Stage {
    let stage = Stage::unlooked(backend).await.behind(|chain| Arc::new(OnSignet(chain)));
    mine(stage.world()).await;
    stage
}

async fn mine(world: &World) {
    world.sandbox().mine(1, false, world.now_ms()).unwrap();
    world.look().await;
}

/// Time passes with looks, so the clock stays confirmed.
async fn pass_minutes(world: &World, minutes: i64) {
    for _ in 0..minutes {
        world.pass_ms(MINUTE_MS).await;
    }
}

/// The status's warnings and the doctor's finding about the chain.
async fn told(world: &World) -> (Vec<String>, Option<String>) {
    let status = ask(&world.app, Status {}, &Actor::panel()).await.unwrap();
    let doctor = ask(&world.app, Doctor {}, &Actor::panel()).await.unwrap();
    let chain = doctor.checks.into_iter().find(|check| check.name == "chain").unwrap();
    (
        status.warnings.into_iter().map(|it| it.message).collect(),
        (!chain.ok).then_some(chain.message),
    )
}

fn height(world: &World) -> u32 {
    world.sandbox().tip().unwrap().height
}

/// A block with the customer's payment, five minutes after the payment was made. The backend does
/// not see it yet.
async fn is_paid_in_minute_five(world: &World, payment: &PaymentRow) {
    pass_minutes(world, 5).await;
    world.customer_pays(payment, payment.payment.amount_sats);
    world.sandbox().mine(1, false, world.now_ms()).unwrap();
}

#[tokio::test]
async fn a_node_without_connections_closes_nothing() {
    for (is_switched_off, remedy) in [(true, "setnetworkactive true"), (false, "no connections")] {
        let stage = stage(Backend::Core).await;
        let world = stage.world();
        let payment = world.payment().await;
        stage.node().misbehave(CoreFault::Alone { height: height(world), is_switched_off });
        is_paid_in_minute_five(world, &payment).await;
        pass_minutes(world, 28).await;
        assert_eq!(world.state(&payment), New, "{remedy}");
        let (warnings, fault) = told(world).await;
        assert!(warnings.iter().any(|told| told.contains(remedy)), "{warnings:?}");
        assert!(fault.as_ref().is_some_and(|told| told.contains(remedy)), "{fault:?}");
        stage.node().misbehave(CoreFault::OlderTip(height(world) - 1));
        world.look().await;
        assert_eq!(world.state(&payment), New, "the node has found others, and no block yet");
        stage.node().misbehave(None);
        world.look().await;
        assert_eq!(world.state(&payment), Confirmed, "{remedy}");
        assert_eq!(told(world).await.1, None);
    }
}

#[tokio::test]
async fn a_payment_at_a_still_node_closes_after_a_day() {
    let stage = stage(Backend::Core).await;
    let world = stage.world();
    let payment = world.payment().await;
    stage.node().misbehave(CoreFault::Alone { height: height(world), is_switched_off: false });
    is_paid_in_minute_five(world, &payment).await;
    for _ in 0..24 * 6 {
        world.pass_ms(10 * MINUTE_MS).await;
    }
    assert_eq!(world.state(&payment), New);
    pass_minutes(world, 30).await;
    assert_eq!(world.state(&payment), Expired);
    stage.node().misbehave(None);
    mine(world).await;
    mine(world).await;
    let anomalies =
        world.gateway.store.read(|reader| reader.anomalies_of_payment(payment.seq)).unwrap();
    assert_eq!(anomalies[0].anomaly.kind, AnomalyKind::LatePayment);
    let record: Vec<_> = world.notified_field(&anomalies[0].anomaly.id, "message");
    assert!(record[0].contains("arrived in time, but was seen too late"), "{record:?}");
}

#[tokio::test]
async fn old_best_blocks_close_nothing_over_any_server() {
    for backend in [Backend::Core, Backend::Electrum] {
        let stage = stage(backend).await;
        let world = stage.world();
        pass_minutes(world, 70).await;
        assert_eq!(told(world).await.1, None);
        let (payment, unpaid) = (world.payment().await, world.payment().await);
        if backend == Backend::Electrum {
            stage.electrum().misbehave(ElectrumFault::StandsStill);
        } else {
            stage.node().misbehave(CoreFault::OlderTip(height(world)));
        }
        is_paid_in_minute_five(world, &payment).await;
        pass_minutes(world, 28).await;
        assert_eq!((world.state(&payment), world.state(&unpaid)), (New, New), "{backend:?}");
        let (warnings, fault) = told(world).await;
        assert!(
            warnings.iter().any(|told| told.contains("best block is 103 minutes old")),
            "{warnings:?}"
        );
        assert!(fault.is_some_and(|told| told.contains("best block is 103 minutes old")));
        if backend == Backend::Electrum {
            stage.electrum().misbehave(None);
        } else {
            stage.node().misbehave(None);
        }
        world.look().await;
        assert_eq!((world.state(&payment), world.state(&unpaid)), (Confirmed, New), "{backend:?}");
        pass_minutes(world, 2).await;
        assert_eq!(world.state(&unpaid), Expired, "{backend:?}");
    }
}

#[tokio::test]
async fn a_backend_that_stands_still_accepts_nothing_unconfirmed() {
    for backend in [Backend::Core, Backend::Electrum] {
        let stage = stage(backend).await;
        let world = stage.world();
        pass_minutes(world, 91).await;
        let up_to_50 =
            PolicySettings { zero_conf_up_to: PriceBound::usd(50), ..PolicySettings::default() };
        let payment = world.payment_under(up_to_50).await;
        world.pay(&payment, payment.payment.amount_sats).await;
        pass_minutes(world, 3).await;
        assert_eq!(world.state(&payment), Unconfirmed, "{backend:?}");
        world.sandbox().mine(1, true, world.now_ms()).unwrap();
        pass_minutes(world, 2).await;
        assert_eq!(world.state(&payment), Confirmed, "{backend:?}");
    }
}

#[tokio::test]
async fn a_node_on_regtest_never_stands_still() {
    let stage = Stage::new(Backend::Core).await;
    let world = stage.world();
    let payment = world.payment().await;
    stage.node().misbehave(CoreFault::Alone { height: height(world), is_switched_off: false });
    pass_minutes(world, 31).await;
    assert_eq!(world.state(&payment), Expired);
    assert_eq!(told(world).await.1, None);
}

#[tokio::test]
async fn a_node_that_relays_nothing_is_without_a_mempool() {
    let stage = stage(Backend::Core).await;
    let world = stage.world();
    stage.node().misbehave(CoreFault::BlocksOnly);
    world.look().await;
    let up_to_50 =
        PolicySettings { zero_conf_up_to: PriceBound::usd(50), ..PolicySettings::default() };
    let (paid, late) = (world.payment_under(up_to_50).await, world.payment().await);
    world.pay(&paid, paid.payment.amount_sats).await;
    pass_minutes(world, 20).await;
    assert_eq!(world.state(&paid), Unconfirmed, "nothing is accepted unconfirmed");
    mine(world).await;
    assert_eq!(world.state(&paid), Confirmed);
    for _ in 0..4 {
        pass_minutes(world, 30).await;
        mine(world).await;
        assert_eq!(
            world.state(&late),
            New,
            "blocks up to two hours after the deadline do not close"
        );
    }
    let (_, fault) = told(world).await;
    assert!(fault.is_some_and(|told| told.contains("-blocksonly")));
    pass_minutes(world, 15).await;
    mine(world).await;
    assert_eq!(world.state(&late), Expired);
}

/// A real node beside the stage's. The clock's leaps break connections, so a test connects when it
/// matters.
struct Peer {
    node: Bitcoind,
    _folder: TempDir,
}

impl Peer {
    /// `None` without a real Bitcoin Core.
    fn start() -> Option<Self> {
        let Some(program) = Bitcoind::program() else {
            println!("not run: BITCOIND_EXE names no Bitcoin Core");
            return None;
        };
        let folder = tempfile::tempdir().unwrap();
        Some(Self { node: Bitcoind::start(&program, folder.path()).unwrap(), _folder: folder })
    }

    fn connects(&self, stage: &Stage) {
        stage.real_node().connect(&self.node).unwrap();
    }
}

#[tokio::test]
async fn a_real_node_without_connections_closes_nothing() {
    let Some(peer) = Peer::start() else { return };
    let stage = stage(Backend::Bitcoind).await;
    let world = stage.world();
    let payment = world.payment().await;
    pass_minutes(world, 33).await;
    assert_eq!(world.state(&payment), New);
    assert!(told(world).await.1.unwrap().contains("no connections"));
    stage.real_node().call("setnetworkactive", &json!([false])).unwrap();
    world.look().await;
    assert_eq!(world.state(&payment), New);
    assert!(told(world).await.1.unwrap().contains("setnetworkactive true"));

    stage.real_node().call("setnetworkactive", &json!([true])).unwrap();
    peer.connects(&stage);
    world.look().await;
    assert_eq!(world.state(&payment), New, "the node may not have heard of the last blocks yet");
    for _ in 0..3 {
        world.advance_clock_ms(MINUTE_MS);
        peer.connects(&stage);
        world.look().await;
    }
    assert_eq!(world.state(&payment), Expired);
    peer.connects(&stage);
    world.look().await;
    assert_eq!(told(world).await.1, None);
}

#[tokio::test]
async fn an_old_best_block_of_a_real_node_closes_nothing() {
    let Some(peer) = Peer::start() else { return };
    let stage = stage(Backend::Bitcoind).await;
    let world = stage.world();
    pass_minutes(world, 70).await;
    let payment = world.payment().await;
    pass_minutes(world, 33).await;
    peer.connects(&stage);
    world.look().await;
    assert_eq!(world.state(&payment), New);
    let fault = told(world).await.1;
    assert!(
        fault.as_ref().is_some_and(|told| told.contains("best block is 103 minutes old")),
        "{fault:?}"
    );
}

#[tokio::test]
async fn a_real_node_that_relays_nothing_is_without_a_mempool() {
    let Some(peer) = Peer::start() else { return };
    let stage = stage(Backend::BitcoindBlocksOnly).await;
    let world = stage.world();
    peer.connects(&stage);
    world.look().await;
    let fault = told(world).await.1;
    assert!(fault.as_ref().is_some_and(|told| told.contains("-blocksonly")), "{fault:?}");
    let up_to_50 =
        PolicySettings { zero_conf_up_to: PriceBound::usd(50), ..PolicySettings::default() };
    let paid = world.payment_under(up_to_50).await;
    world.pay(&paid, paid.payment.amount_sats).await;
    pass_minutes(world, 5).await;
    assert_eq!(world.state(&paid), Unconfirmed, "nothing is accepted unconfirmed");
    mine(world).await;
    assert_eq!(world.state(&paid), Confirmed);
}
