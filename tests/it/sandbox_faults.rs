//! Faults of the sandbox: lost or unanswered broadcasts, and miners with a minimum fee rate. Also
//! the sandbox's list of the outputs that pay an address.

use axum::http::Method;
use serde_json::json;

use crate::harness::Scene;
use crate::harness::sandbox::sats;

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_or_unanswered_broadcast_is_repeated() {
    let s = Scene::open().await;
    let bill = s.bill("10.00").await;
    let txid = s.pay(&bill.id).await;
    s.evict(&txid).await;
    // After each block the gateway rebroadcasts missing transactions.
    s.set_faults(json!({ "broadcast": "forget" })).await;
    s.mine_empty(1).await;
    assert_eq!(s.sandbox_state().await["mempool"], json!([]), "acknowledged, but lost");
    s.set_faults(json!({ "broadcast": "timeout" })).await;
    s.mine_empty(1).await;
    assert_eq!(s.sandbox_state().await["mempool"], json!([txid]), "accepted, but not acknowledged");
    s.set_faults(json!({ "broadcast": "ok" })).await;
    s.expect(&bill, "UNCONFIRMED").await;
    s.mine(1).await;
    s.expect(&bill, "CONFIRMED").await;
    s.expect_notified(&bill, &["UNCONFIRMED", "CONFIRMED"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payment_below_the_miners_fee_rate_waits_and_is_listed() {
    let s = Scene::open().await;
    let bill = s.bill("10.00").await;
    assert!(s.outputs_to(&bill.address).await.is_empty());
    let txid = s.pay_with(&bill.id, json!({ "feeRate": 3 })).await.remove(0);
    s.mine_above(2, "3.5").await;
    s.expect(&bill, "UNCONFIRMED").await;
    let outputs = s.outputs_to(&bill.address).await;
    assert_eq!((&outputs[0]["btcTxId"], &outputs[0]["confirmations"]), (&json!(txid), &json!(0)));
    assert_eq!(sats(&outputs[0]["btcAmount"]), i64::try_from(bill.amount_sats).unwrap());
    s.mine_above(1, "2.5").await;
    s.expect(&bill, "CONFIRMED").await;
    s.mine(2).await;
    let outputs = s.outputs_to(&bill.address).await;
    assert_eq!((outputs.len(), &outputs[0]["confirmations"]), (1, &json!(3)));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invalid_fault_setting_is_refused_and_changes_nothing() {
    let s = Scene::open().await;
    let before = s.sandbox_state().await["faults"].clone();
    for (body, field) in [
        (json!({ "broadcast": "lie", "keysLocked": true }), "broadcast"),
        (json!({ "keysLocked": "true", "feeRate": 9 }), "keysLocked"),
        (json!({ "feeRate": 2.5, "chainDown": true }), "feeRate"),
        (json!({ "broadcast": "ok", "broadcastRejects": true }), "broadcastRejects"),
    ] {
        let refused = s.send_json(Method::PUT, "/sandbox/faults", &body).await.field_errors(400);
        assert_eq!(
            refused.into_iter().filter_map(|(_, field)| field).collect::<Vec<_>>(),
            [field],
            "{body}"
        );
    }
    assert_eq!(s.sandbox_state().await["faults"], before);
    let refused = s
        .get("/v2/sandbox/addresses/bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq")
        .await
        .field_errors(400);
    assert_eq!(refused[0].1.as_deref(), Some("address"), "an address of another network");
}
