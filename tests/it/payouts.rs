//! Payouts from the view of a shop's program, the merchant's staff and the network.

use serde_json::{Value, json};

use crate::harness::Scene;
use crate::harness::client::{payment_request, text};
use crate::harness::sandbox::{btc, sats};
use crate::harness::signature::webhook_signature_is_by;

/// Addresses outside this wallet.
const ADDRESSES: [&str; 4] = [
    "bcrt1qqyqszqgpqyqszqgpqyqszqgpqyqszqgpvxat9t",
    "bcrt1qqgpqyqszqgpqyqszqgpqyqszqgpqyqszazmwwa",
    "bcrt1qqvpsxqcrqvpsxqcrqvpsxqcrqvpsxqcruj60yu",
    "bcrt1qqszqgpqyqszqgpqyqszqgpqyqszqgpqyuza2rq",
];

/// Gives the wallet confirmed coins of 0.01 BTC each.
async fn fund(scene: &Scene, coins: u32) {
    for _ in 0..coins {
        let bill = scene.bill("10.00").await;
        scene.pay_sats(&bill.id, 1_000_000).await;
    }
    scene.mine(2).await;
}

fn payout_request(scene: &Scene, address: &str, sats: u64) -> Value {
    json!({
        "btcAmount": btc(sats),
        "currency": "EUR",
        "address": address,
        "comment": "rent",
        "notificationUrl": format!("{}/payout", scene.shop.url()),
    })
}

async fn approved_payout(scene: &Scene, address: &str, sats: u64) -> String {
    let payout = scene
        .post("/v2/payouts?autoApprove=true", &payout_request(scene, address, sats))
        .await
        .ok();
    assert_eq!(payout["status"], "QUEUED", "{payout}");
    text(&payout["payoutId"])
}

async fn payout(scene: &Scene, id: &str) -> Value {
    scene.get(&format!("/v2/payouts/{id}")).await.ok()
}

async fn expect(scene: &Scene, id: &str, state: &str) -> Value {
    let record = payout(scene, id).await;
    assert_eq!(record["status"], state, "{record}");
    record
}

/// Checks that exactly one output pays the address, with this sum and in a block.
async fn check_paid_once(scene: &Scene, address: &str, amount_sats: u64) {
    let outputs = scene.outputs_to(address).await;
    assert_eq!(outputs.len(), 1, "{outputs:?}");
    assert_eq!(sats(&outputs[0]["btcAmount"]), i64::try_from(amount_sats).unwrap());
    assert!(outputs[0]["confirmations"].as_u64().unwrap() > 0, "{outputs:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approved_offer_is_sent_and_notified_with_a_signature() {
    let scene = Scene::open().await;
    let hmac_key = text(&scene.gateway.program().json(&["hmac-key", "rotate"])["key"]);
    fund(&scene, 2).await;

    // The shop requests a payout.
    let offer =
        scene.post("/v2/payouts", &payout_request(&scene, ADDRESSES[0], 300_000)).await.ok();
    let id = text(&offer["payoutId"]);
    assert_eq!(
        (&offer["status"], &offer["comment"], &offer["currency"]),
        (&json!("NEW"), &json!("rent"), &json!("EUR"))
    );
    assert_eq!(sats(&offer["btcAmount"]), 300_000);
    assert!(sats(&offer["networkFeeBtc"]) > 0 && offer["exchangeRate"].is_number(), "{offer}");
    assert!(offer.get("balanceShort").is_none() && offer.get("btcTxId").is_none(), "{offer}");

    // The approved payout waits half a minute for other payouts to share its transaction.
    let approval = json!({ "payoutId": id });
    let queued = scene.post("/v2/payouts/approve", &approval).await.ok();
    assert_eq!((&queued["status"], &queued["approvedBy"]), (&json!("QUEUED"), &json!("shop")));
    let again = scene.post("/v2/payouts/approve", &approval).await;
    assert_eq!(
        (again.status.as_u16(), &again.json()[0]["errorType"]),
        (409, &json!("PAYOUT_NOT_PENDING"))
    );
    scene.advance_clock(30).await;
    let sent = expect(&scene, &id, "SENT").await;
    assert_eq!(scene.sandbox_state().await["mempool"], json!([sent["btcTxId"]]));
    let limit = scene.get("/v2/payouts/limit").await.ok();
    assert_eq!(sats(&limit["used"]), 300_000);

    scene.mine(1).await;
    check_paid_once(&scene, ADDRESSES[0], 300_000).await;
    let told =
        scene.shop.wait_for_record(&id, "the payout", |record| record["status"] == "SENT").await;
    assert_eq!(
        (&told["notificationType"], &told),
        (&json!("PAYOUT"), &expect(&scene, &id, "SENT").await)
    );
    let notification = scene.shop.received().into_iter().find(|one| one.path == "/payout").unwrap();
    assert!(webhook_signature_is_by(&notification, &hmac_key));
    assert_eq!(
        scene.post_empty(&format!("/v2/payouts/notify/{id}")).await.ok(),
        json!({ "value": 200 })
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn payouts_approved_together_share_one_transaction() {
    let scene = Scene::open().await;
    fund(&scene, 2).await;
    let first = approved_payout(&scene, ADDRESSES[0], 300_000).await;
    let second = approved_payout(&scene, ADDRESSES[1], 200_000).await;
    scene.advance_clock(30).await;
    let txid = text(&expect(&scene, &first, "SENT").await["btcTxId"]);
    assert_eq!(expect(&scene, &second, "SENT").await["btcTxId"], txid);
    for alias in ["btcTxId", "transactionId"] {
        let found = scene.get(&format!("/v2/payouts?{alias}={txid}")).await;
        assert_eq!(found.headers.contains_key("deprecation"), alias == "transactionId");
        assert_eq!(found.ok()["paginationInfo"]["itemsCount"], 2);
    }
    scene.mine(1).await;
    check_paid_once(&scene, ADDRESSES[0], 300_000).await;
    check_paid_once(&scene, ADDRESSES[1], 200_000).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payout_arrives_once_despite_network_faults_and_kills() {
    for fault in ["reject", "timeout", "forget"] {
        let mut scene = Scene::open().await;
        fund(&scene, 2).await;
        scene.set_faults(json!({ "broadcast": fault })).await;
        let id = approved_payout(&scene, ADDRESSES[0], 300_000).await;
        scene.advance_clock(30).await;
        scene.gateway.kill();
        scene.gateway.start_again();
        scene.mine(1).await;
        scene.set_faults(json!({ "broadcast": "ok" })).await;
        scene.mine(1).await;
        scene.mine(1).await;
        expect(&scene, &id, "SENT").await;
        check_paid_once(&scene, ADDRESSES[0], 300_000).await;
        // After a reorg and an eviction the transaction confirms again.
        scene.reorg(3).await;
        let txid = text(&payout(&scene, &id).await["btcTxId"]);
        scene.evict(&txid).await;
        scene.mine(1).await;
        scene.mine(1).await;
        expect(&scene, &id, "SENT").await;
        check_paid_once(&scene, ADDRESSES[0], 300_000).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payout_waits_for_locked_keys_and_high_fees() {
    let scene = Scene::open().await;
    fund(&scene, 2).await;
    scene.set_faults(json!({ "keysLocked": true })).await;
    let id = approved_payout(&scene, ADDRESSES[0], 300_000).await;
    scene.advance_clock(60).await;
    expect(&scene, &id, "QUEUED").await;
    scene.set_faults(json!({ "keysLocked": false, "feeRate": 500 })).await;
    scene.advance_clock(60).await;
    expect(&scene, &id, "QUEUED").await;
    scene.set_faults(json!({ "feeRate": null })).await;
    scene.mine(1).await;
    expect(&scene, &id, "SENT").await;
    scene.mine(1).await;
    check_paid_once(&scene, ADDRESSES[0], 300_000).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unsendable_payout_fails_after_a_day() {
    let scene = Scene::open().await;
    let id = approved_payout(&scene, ADDRESSES[2], 50_000_000).await;
    let record = payout(&scene, &id).await;
    assert_eq!(record["balanceShort"], true, "{record}");
    scene.set_faults(json!({ "chainDown": true })).await;
    scene.advance_clock(24 * 3_600).await;
    expect(&scene, &id, "QUEUED").await;
    scene.set_faults(json!({ "chainDown": false })).await;
    let failed = expect(&scene, &id, "FAILED").await;
    assert!(text(&failed["failureReason"]).contains("not enough coins"), "{failed}");
    scene.shop.wait_for_record(&id, "the payout", |record| record["status"] == "FAILED").await;
    assert!(scene.outputs_to(ADDRESSES[2]).await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_daily_limit_resets_at_midnight_utc() {
    let scene = Scene::open_with(&[("dailyLimitBtc", "0.005")]).await;
    fund(&scene, 2).await;
    approved_payout(&scene, ADDRESSES[0], 500_000).await;
    let refused =
        scene.post("/v2/payouts?autoApprove", &payout_request(&scene, ADDRESSES[1], 10_000)).await;
    assert_eq!(
        (refused.status.as_u16(), &refused.json()[0]["errorType"]),
        (400, &json!("PAYOUT_ABOVE_DAILY_LIMIT"))
    );
    assert_eq!(refused.json()[0]["field"], "btcAmount");
    let clock = text(&scene.sandbox_state().await["clock"]);
    let hour = |range: std::ops::Range<usize>| clock[range].parse::<u64>().unwrap();
    let since_midnight = hour(11..13) * 3_600 + hour(14..16) * 60 + hour(17..19);
    scene.advance_clock(24 * 3_600 - since_midnight).await;
    approved_payout(&scene, ADDRESSES[1], 10_000).await;
    assert_eq!(sats(&scene.get("/v2/payouts/limit").await.ok()["used"]), 10_000);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payout_to_a_payment_address_is_refused() {
    let scene = Scene::open().await;
    let payment =
        scene.post("/v2/payments/new", &payment_request("10.00", scene.shop.url())).await.ok();
    let refused = scene
        .post("/v2/payouts", &payout_request(&scene, &text(&payment["address"]), 100_000))
        .await;
    assert_eq!((refused.status.as_u16(), &refused.json()[0]["field"]), (400, &json!("address")));
}
