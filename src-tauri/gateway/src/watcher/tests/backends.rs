//! Backends with limited knowledge, and one that shows another chain.

use std::sync::Arc;
use std::sync::atomic::AtomicI64;
use std::sync::atomic::Ordering::SeqCst;

use bitcoin::Network;
use bitcoin::constants::genesis_block;
use rust_decimal::Decimal;
use serde_json::Value;
use tillgate_chain::chain_wrapper::ChainWrapper;
use tillgate_chain::{
    Chain, ChainDown, Fact, Identity, LookAnswer, LookRequest, NodeFeeRates, TxFacts,
};
use tillgate_domain::money::Currency;
use tillgate_domain::payment::PaymentState::{Confirmed, Expired, New, Unconfirmed};
use tillgate_domain::policy::{PolicySettings, PriceBound};
use tillgate_machine::environment::Environment;
use tillgate_sandbox::{FaultsPatch, Replace, ReplaceTo};

use super::watched;
use crate::rates::{Answer, Question, RateSource, Rates, SourceAnswer, SourceQuote};
use crate::settings::Settings;
use crate::testing::{HALF_AN_HOUR_MS, World};
use crate::watcher::CancelError;

/// A backend that shows the sandbox's chain with fewer facts, or with the genesis block of another
/// network.
struct Other {
    chain: Arc<dyn Chain>,
    /// Whether the backend knows neither conflicts nor unconfirmed ancestors of transactions.
    is_blind: bool,
    genesis: Network,
}

impl ChainWrapper for Other {
    fn chain(&self) -> &dyn Chain {
        self.chain.as_ref()
    }

    fn identity(&self) -> Result<Identity, ChainDown> {
        Ok(Identity { genesis: genesis_block(self.genesis).block_hash(), ..self.chain.identity()? })
    }

    fn look(&self, request: &LookRequest<'_>) -> Result<LookAnswer, ChainDown> {
        let mut view = self.chain.look(request)?;
        if self.is_blind {
            let blind = |facts| TxFacts {
                conflict_in_chain: Fact::Unknown,
                conflict_height: None,
                conflict_in_mempool: Fact::Unknown,
                conflicts: Vec::new(),
                unconfirmed_ancestors: Fact::Unknown,
                ..facts
            };
            view.txs = view.txs.into_iter().map(blind).collect();
        }
        Ok(view)
    }
}

async fn world(is_blind: bool, genesis: Network) -> World {
    let world = World::new().await;
    world.with_chain(|chain| Arc::new(Other { chain, is_blind, genesis }))
}

#[tokio::test]
async fn a_fact_that_a_backend_cannot_tell_prevents_zero_conf() {
    for (is_blind, after_the_quiet_time) in [(false, Confirmed), (true, Unconfirmed)] {
        let world = world(is_blind, Network::Regtest).await;
        let up_to_50 =
            PolicySettings { zero_conf_up_to: PriceBound::usd(50), ..PolicySettings::default() };
        let payment = world.payment_under(up_to_50).await;
        world.pay(&payment, payment.payment.amount_sats).await;
        assert_eq!(world.state(&payment), Unconfirmed);
        world.pass_ms(60_000).await;
        assert_eq!(world.state(&payment), after_the_quiet_time);
        world.mine(1).await;
        assert_eq!(world.state(&payment), Confirmed);
    }
}

#[tokio::test]
async fn a_broadcast_refused_for_spent_inputs_makes_coins_gone() {
    let world = world(true, Network::Regtest).await;
    let payment = world.payment().await;
    let paid = world.pay(&payment, payment.payment.amount_sats).await;
    let replace = Replace { fee_rate_sat_vb: None, to: ReplaceTo::Customer };
    world.sandbox().replace(paid, replace, world.now_ms()).unwrap();
    world.look().await;
    assert_eq!(world.state(&payment), Unconfirmed, "the missing transaction may return");
    world.look().await;
    assert_eq!(
        world.state(&payment),
        New,
        "its broadcast was refused because its inputs are spent"
    );
    let receipts = world.gateway.store.read(|reader| reader.receipts(payment.seq)).unwrap();
    assert!(receipts[0].gone);
}

#[tokio::test]
async fn another_network_is_refused_and_changes_no_payment() {
    let world = world(false, Network::Signet).await;
    let payment = world.payment().await;
    let before = watched(&world);
    world.customer_pays(&payment, payment.payment.amount_sats);
    world.advance_clock_ms(7_200_000);
    assert!(world.app.watcher.look().await.is_err());
    assert!(
        world
            .gateway
            .backend
            .last_look
            .status()
            .error
            .unwrap()
            .message
            .contains("another --data-dir")
    );
    assert_eq!((world.state(&payment), watched(&world)), (New, before));
}

#[tokio::test]
async fn coins_of_a_lost_chain_are_missing_and_new_ones_are_seen() {
    let world = World::new().await;
    let before = world.payment().await;
    world.pay(&before, before.payment.amount_sats).await;
    world.mine(5).await;
    assert_eq!(world.state(&before), Confirmed);
    let (gateway, folder) = world.into_gateway();
    let file = gateway.machine.data_dir.sandbox();
    drop(gateway);
    std::fs::remove_file(file).unwrap();

    let world = World::in_folder(folder).await;
    let receipts = world.gateway.store.read(|reader| reader.receipts(before.seq)).unwrap();
    assert!(receipts[0].position.is_absent());
    assert_eq!(world.state(&before), Confirmed, "the missing transaction may return");
    assert!(watched(&world).begun_anew_at.is_some());
    let payment = world.payment().await;
    world.pay(&payment, payment.payment.amount_sats).await;
    assert_eq!(world.state(&payment), Unconfirmed);
    let world = world.reopen().await;
    world.look().await;
    let told = watched(&world).begun_anew_at;
    world.pass_ms(3_600_000).await;
    assert_eq!(watched(&world).begun_anew_at, told, "a restart is not a change of chain");
}

#[tokio::test]
async fn payments_close_under_an_unconfirmed_clock_by_block_or_day() {
    for blocks_come in [true, false] {
        let world = World::opened(tempfile::tempdir().unwrap()).await;
        let world = world.with_chain(|chain| {
            Arc::new(Other { chain, is_blind: false, genesis: Network::Signet })
        });
        world.sandbox().mine(1, true, world.now_ms()).unwrap();
        world.look().await;
        assert_eq!(world.gateway.backend.last_look.status().clock_warning(), None);
        let (payment, paid) = (world.payment().await, world.payment().await);
        // The machine resumes, and its clock says that more than an hour has passed.
        world.advance_clock_ms(70 * 60_000);
        world.look().await;
        assert_eq!(world.state(&payment), New);
        assert!(
            world
                .gateway
                .backend
                .last_look
                .status()
                .clock_warning()
                .unwrap()
                .to_string()
                .contains("set it right")
        );
        let cancelled = world.app.watcher.cancel(payment.payment.id, "panel:ann").await;
        assert!(matches!(cancelled, Err(CancelError::TimeOver)), "{cancelled:?}");
        world.pay(&paid, paid.payment.amount_sats).await;
        assert_eq!(
            (world.state(&payment), world.state(&paid)),
            (New, Unconfirmed),
            "coins count under an unconfirmed clock"
        );
        if blocks_come {
            world.sandbox().mine(1, true, world.now_ms()).unwrap();
            world.look().await;
            assert_eq!(world.gateway.backend.last_look.status().clock_warning(), None);
            assert_eq!(world.state(&payment), New, "nothing closes within two minutes of a pause");
            world.pass_ms(2 * 60_000).await;
        } else {
            world.pass_ms(22 * 2 * HALF_AN_HOUR_MS).await;
            assert_eq!(world.state(&payment), New);
            world.pass_ms(2 * 2 * HALF_AN_HOUR_MS).await;
        }
        assert_eq!(world.state(&payment), Expired, "blocks_come: {blocks_come}");
    }
}

/// A source of exchange rates, by its name, whose clock is behind ours by this many milliseconds.
struct Server(&'static str, Arc<AtomicI64>);

impl RateSource for Server {
    fn name(&self) -> &'static str {
        self.0
    }

    fn ask<'a>(&'a self, question: Question<'a>) -> Answer<'a> {
        let quotes = vec![SourceQuote {
            currency: Currency::USD,
            price: Decimal::from(50_000),
            at: question.at,
        }];
        let server_time = Some(question.at.plus_ms(-self.1.load(SeqCst)));
        Box::pin(async move { Ok(SourceAnswer { quotes, server_time }) })
    }
}

#[tokio::test]
async fn payments_close_by_server_time_when_the_clock_is_days_ahead() {
    const DAYS_MS: i64 = 3 * 24 * 3_600_000;
    let behind_ms = Arc::new(AtomicI64::new(0));
    let sources: [Box<dyn RateSource>; 2] = ["one", "two"]
        .map(|name| -> Box<dyn RateSource> { Box::new(Server(name, Arc::clone(&behind_ms))) });
    let rates = Rates::new(sources.into(), Settings::defaults(Environment::Test).rate_rules());
    let world = World::opened(tempfile::tempdir().unwrap()).await.with_rates(rates);
    let world = world
        .with_chain(|chain| Arc::new(Other { chain, is_blind: false, genesis: Network::Signet }));
    world.gateway.refresh_rates().await.unwrap();
    world.look().await;
    assert_eq!(
        world.gateway.backend.last_look.status().clock_warning(),
        None,
        "servers confirm the clock without a young block"
    );
    let payment = world.payment().await;
    behind_ms.store(DAYS_MS, SeqCst);
    world.advance_clock_ms(DAYS_MS);
    world.gateway.refresh_rates().await.unwrap();
    world.look().await;
    assert_eq!(world.state(&payment), New);
    let warning = world.gateway.backend.last_look.status().clock_warning().unwrap();
    assert!(warning.to_string().contains("4320 minutes ahead of the servers"), "{warning}");
    world.advance_clock_ms(HALF_AN_HOUR_MS + 60_000);
    world.gateway.refresh_rates().await.unwrap();
    world.look().await;
    assert_eq!(world.state(&payment), Expired);
}

/// The sandbox's chain, which names no fee rate.
struct WithoutFees(Arc<dyn Chain>);

impl ChainWrapper for WithoutFees {
    fn chain(&self) -> &dyn Chain {
        self.0.as_ref()
    }

    fn fee_rates(&self, _: u16) -> Result<NodeFeeRates, ChainDown> {
        Err(ChainDown::of_text("it names no fee rate".to_owned()))
    }
}

#[tokio::test]
async fn a_shop_is_told_of_an_arrival_without_a_fee_rate() {
    let world = World::new().await.with_chain(|chain| Arc::new(WithoutFees(chain)));
    let payment = world.payment().await;
    world.pay(&payment, payment.payment.amount_sats).await;
    assert_eq!(world.notified_field(&payment.payment.id, "status"), ["UNCONFIRMED"]);

    let final_at_once = world.payment_under(final_at_once()).await;
    world.pay(&final_at_once, final_at_once.payment.amount_sats).await;
    world.pass_ms(60_000).await;
    assert_eq!(world.notified_field(&final_at_once.payment.id, "status"), ["UNCONFIRMED"]);
}

/// Prices up to 50 USD need no confirmation and no quiet time.
fn final_at_once() -> PolicySettings {
    PolicySettings {
        zero_conf_up_to: PriceBound::usd(50),
        zero_conf_quiet_seconds: 0,
        ..PolicySettings::default()
    }
}

#[tokio::test]
async fn a_shop_is_told_of_an_arrival_before_its_acceptance() {
    let world = World::new().await;
    let payment = world.payment_under(final_at_once()).await;
    world.pay(&payment, payment.payment.amount_sats).await;
    assert_eq!(world.notified_field(&payment.payment.id, "status"), ["UNCONFIRMED", "CONFIRMED"]);
}

#[tokio::test]
async fn zero_conf_is_judged_by_the_estimate_of_the_look() {
    let world = World::new().await;
    let estimate = |sat_vb: u64| {
        let faults = FaultsPatch { fee_rate_sat_vb: Some(Some(sat_vb)), ..FaultsPatch::default() };
        world.sandbox().set_faults(faults).unwrap();
    };
    let up_to_50 =
        PolicySettings { zero_conf_up_to: PriceBound::usd(50), ..PolicySettings::default() };
    let payment = world.payment_under(up_to_50).await;
    world.pay(&payment, payment.payment.amount_sats).await;
    estimate(50);
    world.pass_ms(4_000).await;
    assert_eq!(world.state(&payment), Unconfirmed, "the estimate has risen since the arrival");
    estimate(2);
    world.pass_ms(60_000).await;
    assert_eq!(world.state(&payment), Confirmed, "the estimate has fallen");
}

#[tokio::test]
async fn our_broadcast_tells_a_conflict_that_a_backend_cannot_tell() {
    let world = world(true, Network::Regtest).await;
    let payment = world.payment().await;
    let paid = world.pay(&payment, payment.payment.amount_sats).await;
    world.mine(1).await;
    world.sandbox().reorg(1, true, world.now_ms()).unwrap();
    world.look().await;
    let is_seen = || world.reload_payment(&payment.payment.id).payment.conflict_seen;
    let replace = Replace { fee_rate_sat_vb: None, to: ReplaceTo::Customer };
    let rival = world.sandbox().replace(paid, replace, world.now_ms()).unwrap()[0];
    world.look().await;
    assert!(!is_seen(), "the missing transaction may return");
    world.look().await;
    assert!(is_seen(), "its broadcast was refused because its inputs are spent");
    world.sandbox().evict(rival, world.now_ms()).unwrap();
    world.sandbox().mine(1, true, world.now_ms()).unwrap();
    world.look().await;
    world.look().await;
    assert_eq!(
        (world.state(&payment), is_seen()),
        (Confirmed, false),
        "the mempool has the transaction again"
    );
}

#[tokio::test]
async fn a_conflict_is_told_across_a_restart_until_it_ends() {
    let world = World::new().await;
    let payment = world.payment_under(final_at_once()).await;
    let paid = world.pay(&payment, payment.payment.amount_sats).await;
    let replace = Replace { fee_rate_sat_vb: None, to: ReplaceTo::Customer };
    let rival = world.sandbox().replace(paid, replace, world.now_ms()).unwrap()[0];
    world.look().await;
    let world = world.reopen().await;
    world.look().await;
    assert!(world.reload_payment(&payment.payment.id).payment.conflict_seen);
    world.sandbox().evict(rival, world.now_ms()).unwrap();
    world.look().await;
    world.look().await;
    let told = world.notified(&payment.payment.id);
    let told: Vec<_> =
        told.iter().map(|body| (body["status"].as_str().unwrap(), &body["conflictSeen"])).collect();
    let (none, seen) = (&Value::Null, &Value::Bool(true));
    assert_eq!(
        told,
        [("UNCONFIRMED", none), ("CONFIRMED", none), ("CONFIRMED", seen), ("CONFIRMED", none)]
    );
}
