//! Alarms survive a restart and are reported until staff dismiss them.

use serde_json::{Value, json};
use tillgate_domain::id::Id;
use tillgate_domain::payout::PayoutState;
use tillgate_gateway::testing::World;
use tillgate_gateway::testing::sending::world_with_coins;
use tillgate_gateway::testing::twins::twin_spending;
use tillgate_gateway::wallet::spend::Payee;

use crate::{Actor, Command, dispatch};

async fn answer(world: &World, command: Value) -> Result<Value, crate::CommandError> {
    let command: Command = serde_json::from_value(command).unwrap();
    dispatch(&world.app, command, &Actor::panel()).await
}

/// The messages of the alarms in the status, and whether the doctor's check of alarms passes.
async fn reported(world: &World) -> (Vec<String>, bool) {
    let status = answer(world, json!({"command": "status"})).await.unwrap();
    assert_eq!(
        status["warnings"],
        json!([]),
        "an alarm is reported as an alarm, not as a warning too"
    );
    let alarms = status["alarms"].as_array().unwrap();
    let doctor = answer(world, json!({"command": "doctor"})).await.unwrap();
    let check = doctor["checks"]
        .as_array()
        .unwrap()
        .iter()
        .find(|check| check["name"] == "alarms")
        .unwrap()
        .clone();
    let alarms: Vec<String> = alarms
        .iter()
        .map(|alarm| alarm["message"]["message"].as_str().unwrap().to_owned())
        .collect();
    (alarms, check["ok"].as_bool().unwrap())
}

async fn dismisses(world: &World, id: &Id) {
    let dismiss = || json!({"command": "dismissAlarm", "payoutId": id.to_string()});
    assert_eq!(answer(world, dismiss()).await.unwrap()["alarms"], json!([]));
    assert_eq!(answer(world, dismiss()).await.unwrap_err().error_type, "NOT_FOUND");
    assert_eq!(reported(world).await, (Vec::new(), true));
}

/// A twin spends the payout's coins and gets six confirmations, so the payout is FAILED. Then a
/// reorganisation replaces the twin with the payout's transaction.
#[tokio::test]
async fn a_failed_payout_that_was_sent_stays_an_alarm_until_dismissed() {
    let world = world_with_coins(1).await;
    let payout = world.approved_payout(300_000).await;
    let other = world.payment().await;
    let payee = Payee { script: other.script.clone(), amount_sats: 400_000 };
    let twin = twin_spending(&world, &[payee], &[], 3).unwrap();
    world.send().await;
    let batch = world.payout(&payout).batch_seq.unwrap();
    let ours = world.gateway.store.read(|reader| reader.versions(batch)).unwrap()[0].tx.clone();
    world.sandbox().mine_transactions(&[twin], world.now_ms()).unwrap();
    world.look_and_pass().await;
    world.mine_and_pass(5).await;
    assert_eq!(world.payout_state(&payout), PayoutState::Failed);
    world.app.sender.release("cli:ann", None, true).await.unwrap();
    world.sandbox().reorg(6, true, world.now_ms()).unwrap();
    world.sandbox().mine_transactions(&[ours], world.now_ms()).unwrap();
    world.look_and_pass().await;
    assert_eq!(world.payout_state(&payout), PayoutState::Sent);

    let world = world.reopen().await;
    let stored = world.gateway.store.read(|reader| reader.alarms()).unwrap();
    assert_eq!(stored.len(), 1, "{stored:?}");
    world.app.sender.release("cli:ann", None, true).await.unwrap();
    let (alarms, is_well) = reported(&world).await;
    assert!(
        alarms.len() == 1 && alarms[0].contains("had FAILED, but was sent after all"),
        "{alarms:?}"
    );
    assert!(alarms[0].contains(&payout.to_string()) && !is_well);
    dismisses(&world, &payout).await;
}

#[tokio::test]
async fn a_dismissed_alarm_is_raised_again_unless_paid_twice() {
    use tillgate_store::alarms::AlarmKind::{
        FailedPayoutWasSent, PayoutPaidTwice, PayoutSentByCopy,
    };
    let world = world_with_coins(1).await;
    let payout = world.approved_payout(300_000).await;
    let seq = world.payout(&payout).seq;
    let now = world.gateway.time.now();
    for (kind, again) in [(PayoutPaidTwice, 0), (FailedPayoutWasSent, 1), (PayoutSentByCopy, 1)] {
        let raise = move |tx: &tillgate_store::Tx<'_>| tx.raise_alarm(kind, seq, now);
        world.gateway.store.write(raise).await.unwrap();
        world.gateway.store.write(raise).await.unwrap();
        assert_eq!(reported(&world).await.0.len(), 1);
        dismisses(&world, &payout).await;
        world.gateway.store.write(raise).await.unwrap();
        assert_eq!(reported(&world).await.0.len(), again, "{kind:?}");
        let withdraw = move |tx: &tillgate_store::Tx<'_>| tx.withdraw_alarm(kind, seq);
        world.gateway.store.write(withdraw).await.unwrap();
        assert_eq!(reported(&world).await.0.len(), 0, "{kind:?}");
    }
}
