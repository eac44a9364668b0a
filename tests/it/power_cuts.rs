//! SIGKILL in each phase of a payment's life, and checks after the restart. Acknowledged payments
//! are stored, addresses are unique, states agree with the chain, and changes are notified.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};

use axum::http::Method;
use serde_json::{Value, json};

use crate::harness::client::{Client, payment_request, text};
use crate::harness::{Behaviour, Scene, wait_for};

/// All payments of the gateway.
async fn all_payments(s: &Scene) -> Vec<Value> {
    let mut all = Vec::new();
    loop {
        let page = s.get(&format!("/v2/payments/500/{}", all.len())).await.ok();
        let items = page["items"].as_array().unwrap().clone();
        if items.is_empty() {
            assert_eq!(page["paginationInfo"]["itemsCount"], all.len());
            return all;
        }
        all.extend(items);
    }
}

/// Creates payments until the gateway is gone, and records the acknowledged ones.
async fn create_payments_until_killed(
    client: Client,
    shop_url: String,
    acknowledged: Arc<Mutex<HashMap<String, Value>>>,
) {
    loop {
        let request = client.json_request(
            Method::POST,
            "/v2/payments/new",
            &payment_request("10.00", &shop_url),
        );
        let Some(answer) = client.try_send(request).await else { return };
        if answer.status == 200 {
            let payment = answer.json();
            acknowledged.lock().unwrap().insert(text(&payment["paymentId"]), payment);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kill_during_creation_loses_and_duplicates_no_payment() {
    let mut s = Scene::open().await;
    let acknowledged = Arc::new(Mutex::new(HashMap::new()));
    for round in 1..=3 {
        let mut callers = tokio::task::JoinSet::new();
        for _ in 0..8 {
            let client = s.gateway.client.clone();
            callers.spawn(create_payments_until_killed(
                client,
                s.shop.url().to_owned(),
                Arc::clone(&acknowledged),
            ));
        }
        let enough = async || (acknowledged.lock().unwrap().len() >= round * 60).then_some(());
        wait_for("acknowledged payments", enough).await;
        s.gateway.kill();
        callers.join_all().await;
        s.gateway.start_again();
        let stored: HashMap<_, _> = all_payments(&s)
            .await
            .into_iter()
            .map(|payment| (text(&payment["paymentId"]), payment))
            .collect();
        let addresses: HashSet<_> =
            stored.values().map(|payment| text(&payment["address"])).collect();
        assert_eq!(addresses.len(), stored.len(), "an address belongs to two payments");
        for (id, payment) in acknowledged.lock().unwrap().iter() {
            let found =
                stored.get(id).unwrap_or_else(|| panic!("{id} was acknowledged, and is lost"));
            assert_eq!(found["address"], payment["address"]);
            assert_eq!(found["amount"], payment["amount"]);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_missed_before_a_kill_is_seen_after_restart() {
    let mut s = Scene::open().await;
    let bill = s.bill("10.00").await;
    s.set_faults(json!({ "chainDown": true })).await;
    s.pay(&bill.id).await;
    s.gateway.kill();
    s.gateway.start_again();
    s.expect(&bill, "NEW").await;
    s.set_faults(json!({ "chainDown": false })).await;
    s.expect(&bill, "UNCONFIRMED").await;
    s.expect_notified(&bill, &["UNCONFIRMED"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_stored_before_a_kill_is_notified_after_restart() {
    let mut s = Scene::open().await;
    let bill = s.bill("10.00").await;
    s.shop.behave(Behaviour::Hang);
    s.pay(&bill.id).await;
    s.gateway.kill();
    s.shop.behave(Behaviour::Accept);
    s.gateway.start_again();
    s.expect(&bill, "UNCONFIRMED").await;
    s.advance_clock(12).await;
    let taken = async || s.shop.received().into_iter().find(|one| one.accepted);
    let heard = wait_for("the notification after the start", taken).await;
    assert_eq!(heard.json()["status"], "UNCONFIRMED");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kill_while_mining_leaves_the_state_the_chain_implies() {
    let mut s = Scene::open().await;
    for round in 0..5 {
        let bill = s.bill("10.00").await;
        let txid = s.pay(&bill.id).await;
        let (client, mining) = (s.gateway.client.clone(), json!({ "count": 1 }));
        let request = client.json_request(Method::POST, "/sandbox/blocks", &mining);
        let call = tokio::spawn(async move { client.try_send(request).await });
        // Each round kills at another moment: before the request is read, while it mines, or during
        // the look.
        tokio::time::sleep(std::time::Duration::from_millis(round * 2)).await;
        s.gateway.kill();
        let answered = call.await.unwrap().is_some();
        s.gateway.start_again();
        let waits = s.sandbox_state().await["mempool"].as_array().unwrap().contains(&json!(txid));
        assert!(!(waits && answered), "a block that was acknowledged is lost");
        s.expect(&bill, if waits { "UNCONFIRMED" } else { "CONFIRMED" }).await;
        s.mine(1).await;
        s.expect(&bill, "CONFIRMED").await;
        let confirmed = |record: &Value| record["status"] == "CONFIRMED";
        s.shop.wait_for_record(&bill.id, "the confirmation", confirmed).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_notification_cut_off_by_a_kill_is_sent_again() {
    let mut s = Scene::open().await;
    s.gateway.program().json(&["hmac-key", "rotate"]);
    let bill = s.bill("10.00").await;
    s.shop.behave(Behaviour::Hang);
    s.pay(&bill.id).await;
    wait_for("the attempt without a response", async || {
        (!s.shop.received().is_empty()).then_some(())
    })
    .await;
    s.gateway.kill();
    s.shop.behave(Behaviour::Accept);
    s.gateway.start_again();
    s.advance_clock(12).await;
    let taken = async || s.shop.received().into_iter().find(|one| one.accepted);
    let again = wait_for("the notification after the start", taken).await;
    let first = s.shop.received().remove(0);
    assert_eq!(again.body, first.body);
    assert_eq!(again.header("webhook-id"), first.header("webhook-id"));
}

/// Pays and mines as fast as possible until the gateway is gone.
async fn pay_and_mine_until_killed(
    client: Client,
    acknowledged: Arc<Mutex<HashMap<String, Value>>>,
) {
    loop {
        let ids: Vec<String> = acknowledged.lock().unwrap().keys().cloned().collect();
        for (count, id) in ids.iter().enumerate() {
            let pay = client.json_request(
                Method::POST,
                &format!("/sandbox/payments/{id}/pay"),
                &json!({}),
            );
            if client.try_send(pay).await.is_none() {
                return;
            }
            let blocks = client.json_request(Method::POST, "/sandbox/blocks", &json!({}));
            if count % 5 == 4 && client.try_send(blocks).await.is_none() {
                return;
            }
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn kills_under_load_lose_no_payment_and_no_notification() {
    let mut s = Scene::open().await;
    let acknowledged = Arc::new(Mutex::new(HashMap::new()));
    for round in 1..=3 {
        let mut callers = tokio::task::JoinSet::new();
        let client = s.gateway.client.clone();
        callers.spawn(pay_and_mine_until_killed(client.clone(), Arc::clone(&acknowledged)));
        callers.spawn(create_payments_until_killed(
            client,
            s.shop.url().to_owned(),
            Arc::clone(&acknowledged),
        ));
        let busy = async || {
            let enough = acknowledged.lock().unwrap().len() >= round * 40
                && s.shop.received().len() >= round * 10;
            enough.then_some(())
        };
        wait_for("payments under way", busy).await;
        s.gateway.kill();
        callers.join_all().await;
        s.gateway.start_again();
    }
    s.mine(1).await;
    let waiting = s.sandbox_state().await["mempool"].clone();
    assert_eq!(waiting, json!([]), "one block contains the whole mempool");
    let payments = all_payments(&s).await;
    let stored: HashSet<_> = payments.iter().map(|payment| text(&payment["paymentId"])).collect();
    assert!(acknowledged.lock().unwrap().keys().all(|id| stored.contains(id)));
    for payment in &payments {
        let paid = !payment["btcTransactions"].as_array().unwrap().is_empty();
        assert_eq!(payment["status"], if paid { "CONFIRMED" } else { "NEW" }, "{payment}");
    }
    s.advance_clock(12).await;
    for payment in payments.iter().filter(|payment| payment["status"] == "CONFIRMED") {
        let confirmed = |record: &Value| record["status"] == "CONFIRMED";
        s.shop
            .wait_for_record(payment["paymentId"].as_str().unwrap(), "the confirmation", confirmed)
            .await;
    }
}
