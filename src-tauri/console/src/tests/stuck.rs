//! Payouts that do not arrive are reported until they do.

use serde_json::Value;
use tillgate_domain::id::Id;
use tillgate_domain::payout::PayoutState;
use tillgate_gateway::testing::World;
use tillgate_gateway::testing::sending::{stage_with_coins, world_with_coins};
use tillgate_gateway::testing::stage::Backend;
use tillgate_gateway::testing::twins::twin_of;
use tillgate_gateway::wallet::spend::Payee;
use tillgate_nodes::CoreFault;
use tillgate_sandbox::BroadcastFault;

use crate::doctor::Doctor;
use crate::payouts::ShowPayout;
use crate::status::Status;
use crate::{Actor, ask};

const HOUR_MS: i64 = 3_600_000;

/// The sentence of the status about the payout, if it is reported as stuck.
async fn reported(world: &World, id: &Id) -> Option<String> {
    let status = ask(&world.app, Status {}, &Actor::command_line()).await.unwrap();
    let status = serde_json::to_value(status).unwrap();
    let stuck = status["stuck"].as_array().cloned().unwrap_or_default();
    let its_own = stuck.iter().find(|one| one["payoutId"] == id.to_string());
    let doctor = ask(&world.app, Doctor {}, &Actor::command_line()).await.unwrap();
    let checks = doctor.checks.iter().filter(|check| !check.ok);
    let by_doctor: Vec<_> =
        checks.filter(|check| check.message.contains(&id.to_string())).collect();
    assert_eq!(
        its_own.is_some(),
        !by_doctor.is_empty(),
        "status and doctor say the same: {by_doctor:?}"
    );
    its_own.map(|one| one["message"]["message"].as_str().unwrap().to_owned())
}

async fn shown(world: &World, id: &Id) -> Value {
    let asked = ShowPayout { payout_id: id.to_string() };
    serde_json::to_value(ask(&world.app, asked, &Actor::command_line()).await.unwrap()).unwrap()
}

#[tokio::test]
async fn a_payout_unmined_for_six_hours_is_reported_until_mined() {
    let world = world_with_coins(1).await;
    let payout = world.approved_payout(300_000).await;
    world.send().await;
    world.pass_ms(6 * HOUR_MS - 60_000).await;
    assert_eq!(reported(&world, &payout).await, None, "it was reported before six hours were over");
    world.pass_ms(120_000).await;
    let sentence = reported(&world, &payout).await.expect("a stuck payout is reported");
    let address = world.payout(&payout).address;
    for part in [
        &payout.to_string(),
        "0.00300000 BTC",
        &address,
        "6 hours",
        "It pays 2.0",
        "present fee rate is 2.00 sat/vB",
    ] {
        assert!(sentence.contains(part), "{part}: {sentence}");
    }
    let view = shown(&world, &payout).await;
    assert_eq!(
        view["stuck"]["message"]["message"], sentence,
        "the payout's own page says the same"
    );
    let world = world.reopen().await;
    assert_eq!(reported(&world, &payout).await, Some(sentence), "a restart keeps the report");
    world.mine_and_pass(1).await;
    assert_eq!(reported(&world, &payout).await, None, "a mined payout is still reported");
}

#[tokio::test]
async fn a_refused_payout_is_reported_with_the_backends_words() {
    let world = world_with_coins(1).await;
    world.broadcasts(BroadcastFault::Reject);
    let payout = world.approved_payout(300_000).await;
    world.send().await;
    let sentence = reported(&world, &payout).await.expect("a refusal is reported");
    assert!(
        sentence.contains("refused") && sentence.contains('"'),
        "the backend's words are quoted: {sentence}"
    );
    assert!(!sentence.contains("the log says why"), "{sentence}");
    world.broadcasts(BroadcastFault::Ok);
    world.mine_and_pass(1).await;
    assert_eq!(world.payout_state(&payout), PayoutState::Sent);
    assert_eq!(reported(&world, &payout).await, None, "it is still reported after its cause ended");
    world.mine_and_pass(1).await;
    assert_eq!(reported(&world, &payout).await, None);
}

#[tokio::test]
async fn a_payout_refused_after_an_eviction_is_reported() {
    let world = world_with_coins(1).await;
    let payout = world.approved_payout(300_000).await;
    world.send().await;
    world.look().await;
    world.sandbox().evict(world.txid_of(&payout), world.now_ms()).unwrap();
    world.look_and_pass().await;
    assert_eq!(world.payout_state(&payout), PayoutState::Sent);
    let sentence = reported(&world, &payout).await.expect("a refusal is reported");
    let address = world.payout(&payout).address;
    for part in [
        &payout.to_string(),
        "0.00300000 BTC",
        &address,
        "refused",
        "It pays 2.0",
        "present fee rate is 2.00 sat/vB",
    ] {
        assert!(sentence.contains(part), "{part}: {sentence}");
    }
    let view = shown(&world, &payout).await;
    assert_eq!(
        (&view["stuck"]["canBump"], &view["stuck"]["message"]["message"]),
        (&Value::Bool(true), &Value::from(sentence))
    );
    world.mine_and_pass(1).await;
    assert_eq!(reported(&world, &payout).await, None, "it is still reported after its cause ended");
}

#[tokio::test]
async fn a_payout_whose_coin_a_block_spent_cannot_be_bumped() {
    let world = world_with_coins(1).await;
    let payout = world.approved_payout(300_000).await;
    let other = world.gateway.wallet.get().unwrap().change.script(5_000).unwrap();
    let double_spend = twin_of(&world, &[Payee { script: other, amount_sats: 100_000 }]);
    world.send().await;
    assert_eq!(world.payout_state(&payout), PayoutState::Sent);
    world.sandbox().mine_transactions(std::slice::from_ref(&double_spend), world.now_ms()).unwrap();
    world.look_and_pass().await;
    world.app.sender.release("cli:ann", None, true).await.unwrap();
    let sentence =
        reported(&world, &payout).await.expect("a payout that cannot arrive is reported");
    assert!(sentence.contains("block") && sentence.contains("never"), "{sentence}");
    let view = shown(&world, &payout).await;
    assert_eq!(view["state"], "SENT");
    assert_eq!(view["canBump"]["possible"], false, "a bump can never be mined");
    assert_eq!(
        view["canAbandon"]["possible"], false,
        "a transaction that gives it up can never be mined"
    );
    world.mine_and_pass(6).await;
    assert_eq!(world.payout_state(&payout), PayoutState::Failed);
    assert_eq!(reported(&world, &payout).await, None, "it is still reported after its cause ended");
}

#[tokio::test]
async fn an_accepted_payout_that_no_mempool_shows_is_reported() {
    let world = world_with_coins(1).await;
    world.broadcasts(BroadcastFault::Forget);
    let payout = world.approved_payout(300_000).await;
    world.send().await;
    assert_eq!(world.payout_state(&payout), PayoutState::Sent);
    world.pass_ms(9 * 60_000).await;
    assert_eq!(reported(&world, &payout).await, None, "it was reported too early");
    // Without a look the mempool is not known.
    world.advance_clock_ms(120_000);
    assert_eq!(reported(&world, &payout).await, None);
    world.look().await;
    let sentence =
        reported(&world, &payout).await.expect("a payout that no mempool shows is reported");
    assert!(
        sentence.contains("its mempool does not show it") && sentence.contains("0.00300000 BTC"),
        "{sentence}"
    );
    let world = world.reopen().await;
    assert!(reported(&world, &payout).await.is_some(), "a restart keeps the report");
    world.broadcasts(BroadcastFault::Ok);
    world.look_and_pass().await;
    world.look().await;
    assert_eq!(reported(&world, &payout).await, None, "it is still reported after its cause ended");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_bump_is_recommended_for_a_cluster_that_is_too_large() {
    let stage = stage_with_coins(Backend::Core).await;
    let (world, words) = (stage.world(), "too-large-cluster, exceeds cluster size limit");
    let payout = world.approved_payout(300_000).await;
    stage.node().misbehave(CoreFault::Refuses { calls: "sendrawtransaction", words });
    world.send().await;
    let sentence = reported(world, &payout).await.expect("a refusal is reported");
    assert!(sentence.contains(words) && sentence.contains("No higher fee helps"), "{sentence}");
    let view = shown(world, &payout).await;
    assert_eq!(view["stuck"]["canBump"], false, "{view}");
}
