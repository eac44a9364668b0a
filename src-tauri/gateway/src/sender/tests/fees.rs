//! The fee that an offer names, compared with the fee that is paid. The environment variable
//! `TILLGATE_FEE_CASES` sets the number of transactions.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};

use bitcoin::{FeeRate, Txid};
use parking_lot::Mutex;
use tillgate_chain::chain_wrapper::ChainWrapper;
use tillgate_chain::{Chain, ChainDown, NodeFeeRates};
use tillgate_domain::id::Id;
use tillgate_domain::payout::PayoutState;
use tillgate_sandbox::FaultsPatch;
use tillgate_store::batches::VersionRow;

use crate::funds;
use crate::sender::{Agreed, ReplaceError};
use crate::testing::World;
use crate::testing::sending::{add_coins, world_with_coins};
use crate::wallet::spend::{self, Payee};

const CASES: u64 = 25;

/// Largest excess of a payout's share of a fee over its offered fee, in thousandths. Payouts that
/// share a transaction usually pay about half of their offered fees. They pay more if only their
/// sum needs the small coins.
const SHARED_ABOVE_PER_MILLE: i64 = 200;

/// Reproducible numbers from a seed (SplitMix64).
struct Draws(u64);

impl Draws {
    /// From 0 to below `end`.
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % end
    }
}

/// The fee that an offer for this payee would name now, in satoshis.
async fn offered_fee(world: &World, payee: &Payee) -> u64 {
    let gateway = &world.gateway;
    let settings = gateway.settings.snapshot();
    let rate = funds::fee_rate(gateway, &settings).await;
    let coins = gateway.store.read(|reader| funds::spendable_coins(reader, &settings)).unwrap();
    let address_type = gateway.wallet.get().unwrap().keychains.address_type();
    spend::fee_for_one(payee, &coins, rate.capped(), address_type).fee_sats
}

#[tokio::test]
async fn a_single_payout_pays_its_offered_fee_and_sharers_about_half() {
    let cases = super::laws::number_from_env("TILLGATE_FEE_CASES").unwrap_or(CASES);
    let mut draws = Draws(42);
    let world = world_with_coins(6).await;
    let (mut alone, mut shared) = (Vec::new(), Vec::new());
    for case in 0..cases {
        let rate = 1 + draws.below(60);
        let faults = FaultsPatch { fee_rate_sat_vb: Some(Some(rate)), ..FaultsPatch::default() };
        world.sandbox().set_faults(faults).unwrap();
        let count = if case % 2 == 0 { 1 } else { 2 + draws.below(4) };
        let mut offers = Vec::new();
        for _ in 0..count {
            let id = world.approved_payout(10_000 + draws.below(290_000)).await;
            let row = world.payout(&id);
            let payee = Payee { script: row.script, amount_sats: row.amount_sats };
            offers.push((id, offered_fee(&world, &payee).await));
        }
        world.send().await;
        for (id, offered) in offers {
            let row = world.payout(&id);
            let version = world
                .gateway
                .store
                .read(|reader| reader.version(&row.txid.unwrap()))
                .unwrap()
                .unwrap();
            let paid = u64::try_from(-row.booked_fee_sats).unwrap();
            assert!(version.fee_sats >= paid);
            let error = i64::try_from(paid).unwrap() - i64::try_from(offered).unwrap();
            let per_mille = error * 1_000 / i64::try_from(offered).unwrap();
            if count == 1 {
                alone.push((error, per_mille))
            } else {
                shared.push((error, per_mille))
            }
        }
        if draws.below(3) > 0 {
            world.mine_and_pass(1).await;
        }
        let settings = world.gateway.settings.snapshot();
        let coins =
            world.gateway.store.read(|reader| funds::spendable_coins(reader, &settings)).unwrap();
        if coins.iter().map(|coin| coin.amount_sats).sum::<u64>() < 2_500_000 {
            add_coins(&world, 4).await;
        }
    }
    for (name, errors) in [("alone", &alone), ("shared", &shared)] {
        let count = i64::try_from(errors.len()).unwrap();
        let by = |of: fn(&(i64, i64)) -> i64| {
            let all: Vec<i64> = errors.iter().map(of).collect();
            (all.iter().min().copied(), all.iter().sum::<i64>() / count, all.iter().max().copied())
        };
        println!(
            "{name}: {count} payouts, paid less offered: satoshis {:?}, per mille {:?}",
            by(|e| e.0),
            by(|e| e.1)
        );
    }
    assert!(alone.iter().all(|(error, _)| *error == 0), "{alone:?}");
    let most = shared.iter().map(|(_, per_mille)| *per_mille).max();
    assert!(most.is_none_or(|most| most <= SHARED_ABOVE_PER_MILLE), "{most:?}");
}

#[tokio::test]
async fn without_an_estimate_only_a_bump_with_a_given_rate_is_signed() {
    let world = world_with_coins(2).await;
    let chain_down = |down| FaultsPatch { chain_down: Some(down), ..FaultsPatch::default() };
    let payout = world.approved_payout(300_000).await;
    world.pass_ms(31_000).await;
    world.sandbox().set_faults(chain_down(true)).unwrap();
    world.pass_sender().await;
    assert_eq!(world.payout_state(&payout), PayoutState::Queued);
    assert!(world.gateway.sending.waits_for().unwrap().reason.message.contains("what fee"));
    world.sandbox().set_faults(chain_down(false)).unwrap();
    world.look_and_pass().await;
    let sent = world.txid_of(&payout);
    world.sandbox().set_faults(chain_down(true)).unwrap();
    let refused = world.app.sender.bump(payout, None, "cli:ann", &world.app.watcher).await;
    assert!(
        matches!(&refused, Err(ReplaceError::Obstacle(why)) if why.message.contains("what fee")),
        "{refused:?}"
    );
    assert_eq!(world.txid_of(&payout), sent);
    world.app.sender.bump(payout, Some(20), "cli:ann", &world.app.watcher).await.unwrap();
}

#[tokio::test]
async fn a_bump_above_the_cap_is_refused_with_the_needed_rate() {
    let world = world_with_coins(2).await;
    let payout = world.approved_payout(300_000).await;
    world.send().await;
    world.look().await;
    let faults = FaultsPatch { fee_rate_sat_vb: Some(Some(600)), ..FaultsPatch::default() };
    world.sandbox().set_faults(faults).unwrap();
    let refused = world.app.sender.bump(payout, None, "cli:ann", &world.app.watcher).await;
    assert!(matches!(refused, Err(ReplaceError::AboveCap { needed: 600.., .. })), "{refused:?}");
}

/// The sandbox's chain. It reports that each of our transactions with its descendants pays 200,000
/// satoshis.
struct CostlyDescendants(Arc<dyn Chain>);

impl ChainWrapper for CostlyDescendants {
    fn chain(&self) -> &dyn Chain {
        self.0.as_ref()
    }

    fn fees_with_descendants(&self, _: &[Txid]) -> Result<Option<u64>, ChainDown> {
        Ok(Some(200_000))
    }
}

#[tokio::test]
async fn the_fee_of_a_payees_child_is_paid_only_if_staff_agree() {
    let world = world_with_coins(2).await.with_chain(|chain| Arc::new(CostlyDescendants(chain)));
    let payout = world.approved_payout(300_000).await;
    world.send().await;
    world.look().await;
    let (sender, by) = (&world.app.sender, ("cli:ann", &world.app.watcher));
    for refused in [
        sender.bump_agreed(payout, Some(10), Agreed::default(), by).await.map(Some),
        sender.abandon_agreed(payout, false, Agreed::default(), by).await,
    ] {
        assert!(
            matches!(refused, Err(ReplaceError::AboveCap { needed: 1_000.., .. })),
            "{refused:?}"
        );
    }
    let agreed = Agreed { is_forced: false, fee_sats: Some(250_000) };
    sender.bump_agreed(payout, Some(10), agreed, by).await.unwrap();
    sender.abandon_agreed(payout, false, agreed, by).await.unwrap();
}

fn first_version(world: &World, payout: &Id) -> VersionRow {
    world.gateway.store.read(|reader| reader.version(&world.txid_of(payout))).unwrap().unwrap()
}

#[tokio::test]
async fn a_payout_that_spends_stuck_change_lifts_both_to_the_rate() {
    // The second rate is the cap.
    for rate in [100, 200] {
        let world = world_with_coins(1).await;
        let stuck = world.approved_payout(300_000).await;
        world.send().await;
        let faults = FaultsPatch { fee_rate_sat_vb: Some(Some(rate)), ..FaultsPatch::default() };
        world.sandbox().set_faults(faults).unwrap();
        world.look().await;
        let next = world.approved_payout(200_000).await;
        let row = world.payout(&next);
        let offered =
            offered_fee(&world, &Payee { script: row.script, amount_sats: row.amount_sats }).await;
        world.send().await;
        assert_eq!(
            world.payout_state(&next),
            PayoutState::Sent,
            "{:?}",
            world.gateway.sending.waits_for()
        );
        let (below, above) = (first_version(&world, &stuck), first_version(&world, &next));
        let (fee_sats, vsize) = (below.fee_sats + above.fee_sats, below.vsize + above.vsize);
        assert!(
            fee_sats >= rate * vsize && fee_sats <= rate * (vsize + 2),
            "{fee_sats} for {vsize} vB at {rate}"
        );
        assert_eq!(
            above.fee_sats, offered,
            "the offer's fee includes the part for the stuck parent"
        );
        world.sandbox().mine_above(1, rate * 1_000 - 500, world.now_ms()).unwrap();
        world.look().await;
        for payout in [&stuck, &next] {
            assert!(first_version(&world, payout).position.is_in_block(), "{rate}");
        }
        world.check_ledger();
        world.check_balance();
    }
}

/// The sandbox's chain. It answers a question for a fee rate when the test sends a signal.
struct SlowFees {
    chain: Arc<dyn Chain>,
    is_asked: Arc<AtomicBool>,
    answers: Mutex<Receiver<()>>,
}

impl ChainWrapper for SlowFees {
    fn chain(&self) -> &dyn Chain {
        self.chain.as_ref()
    }

    fn fee_rates(&self, blocks: u16) -> Result<NodeFeeRates, ChainDown> {
        self.is_asked.store(true, Ordering::SeqCst);
        // An error means that the test has ended.
        let _ = self.answers.lock().recv();
        self.chain.fee_rates(blocks)
    }
}

#[tokio::test]
async fn a_payout_waits_for_a_fee_rate_longer_than_an_offer_does() {
    let world = world_with_coins(1).await;
    let payout = world.approved_payout(300_000).await;
    world.pass_ms(31_000).await;
    let (answer, answers) = channel();
    let is_asked = Arc::new(AtomicBool::new(false));
    let asked = Arc::clone(&is_asked);
    let world = world
        .with_chain(|chain| Arc::new(SlowFees { chain, is_asked, answers: Mutex::new(answers) }));
    let offer_gives_up = async {
        while !asked.load(Ordering::SeqCst) {
            tokio::task::yield_now().await;
        }
        assert_eq!(
            world.gateway.fee_rates_of_offers().await,
            None,
            "an offer waits two seconds at most"
        );
        // Lets the pass run: it must still wait for the rate.
        tokio::task::yield_now().await;
        answer.send(()).unwrap();
    };
    tokio::join!(world.pass_sender(), offer_gives_up);
    assert_eq!(world.payout_state(&payout), PayoutState::Sent);
}

/// The sandbox's chain. Its replacements add 5 sat/vB.
struct Demanding(Arc<dyn Chain>);

impl ChainWrapper for Demanding {
    fn chain(&self) -> &dyn Chain {
        self.0.as_ref()
    }

    fn fee_rates(&self, blocks: u16) -> Result<NodeFeeRates, ChainDown> {
        Ok(NodeFeeRates { increment: FeeRate::from_sat_per_vb_u32(5), ..self.0.fee_rates(blocks)? })
    }
}

#[tokio::test]
async fn a_bump_adds_the_increment_that_the_node_names() {
    let world = world_with_coins(2).await.with_chain(|chain| Arc::new(Demanding(chain)));
    let payout = world.approved_payout(300_000).await;
    world.send().await;
    world.look().await;
    let before = first_version(&world, &payout);
    world.app.sender.bump(payout, Some(3), "cli:ann", &world.app.watcher).await.unwrap();
    let after = first_version(&world, &payout);
    assert_eq!(after.fee_sats, before.fee_sats + 5 * after.vsize);
}
