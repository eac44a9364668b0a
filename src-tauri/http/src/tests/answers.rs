//! Answers to valid requests.

use serde_json::{Value, json};
use tillgate_store::payments::PaymentRow;

use super::shop::{Shop, make_key, order, order_with};

fn row(shop: &Shop, record: &Value) -> PaymentRow {
    shop.world.reload_payment(&record["paymentId"].as_str().unwrap().parse().unwrap())
}

#[tokio::test]
async fn a_new_payment_is_answered_with_the_record_that_get_shows() {
    let shop = Shop::open().await;
    let mut asked = order();
    asked["redirectUrls"] = json!({ "confirmed": "https://shop.test/thanks", "expired": null });
    let created = shop.ask(&asked).await;
    let record = created.ok();
    let id = record["paymentId"].as_str().unwrap();
    assert_eq!(shop.get(&format!("/v2/payments/{id}")).await.text(), created.text());
    assert_eq!(record["transactionId"], id);
    assert_eq!((&record["status"], &record["label"]), (&json!("NEW"), &json!("shop")));
    assert_eq!(record["redirectUrls"], json!({ "confirmed": "https://shop.test/thanks" }));
    assert_eq!(record["paymentPageUrl"], format!("{}/{id}", shop.world.gateway.pages_base()));
    assert_eq!(
        (&record["notificationType"], &record["environment"]),
        (&json!("REGULAR"), &json!("test"))
    );
    for (field, text) in [
        ("fiatAmount", "10.00"),
        ("paid", "0.00"),
        ("paidBtc", "0.00000000"),
        ("remainingToPay", "10.00"),
    ] {
        assert_eq!(record[field].to_string(), text, "{field}");
    }
    let amount = record["amount"].to_string();
    assert_eq!(amount.split_once('.').unwrap().1.len(), 8, "{amount}");
    let address = record["address"].as_str().unwrap();
    let uri =
        format!("bitcoin:{address}?amount={amount}&label=shop&message=2%20%C3%97%20caf%C3%A9");
    assert_eq!(record["paymentAddress"], uri);
    assert_eq!(record["exchangeRate"].to_string().split_once('.').unwrap().1.len(), 4);
    assert!(record.get("paymentTime").is_none());
    assert_eq!(record["currentTime"].as_str().unwrap().len(), "2026-01-12T12:06:20.123Z".len());
    assert_eq!(record["creationTime"].as_str().unwrap().len(), "2026-01-12T12:06:20Z".len());
}

#[tokio::test]
async fn simultaneous_payments_never_share_an_address() {
    let shop = std::sync::Arc::new(Shop::open().await);
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..64 {
        let shop = std::sync::Arc::clone(&shop);
        tasks.spawn(async move { shop.ask(&order()).await.ok()["address"].to_string() });
    }
    let addresses: std::collections::BTreeSet<String> =
        tasks.join_all().await.into_iter().collect();
    assert_eq!(addresses.len(), 64);
}

#[tokio::test]
async fn amounts_are_read_as_numbers_or_strings_and_sent_plain() {
    let shop = Shop::open().await;
    for (amount, shown) in
        [("10", "10.00"), ("10.0", "10.00"), ("\"10.00\"", "10.00"), ("1e1", "10.00")]
    {
        let body = order_with("amount", "AMOUNT").to_string().replace("\"AMOUNT\"", amount);
        let record = shop.post(super::shop::NEW, body).await.ok();
        assert_eq!(record["fiatAmount"].to_string(), shown, "{amount}");
    }
    let yen = {
        let mut yen = order_with("currency", "JPY");
        yen["amount"] = json!("1500.00");
        yen
    };
    assert_eq!(shop.ask(&yen).await.ok()["fiatAmount"].to_string(), "1500");
}

#[tokio::test]
async fn lists_are_filtered_counted_and_newest_first() {
    let shop = Shop::open().await;
    let mut ids = Vec::new();
    for reference in ["a", "b", "a"] {
        ids.push(
            shop.ask(&order_with("merchantTransactionId", reference)).await.ok()["paymentId"]
                .clone(),
        );
    }
    let listed = async |rest: &str| {
        let page = shop.get(&format!("/v2/payments/{rest}")).await.ok();
        let items = page["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|item| item["paymentId"].clone())
            .collect::<Vec<_>>();
        (items, page["paginationInfo"].clone())
    };
    let (items, info) = listed("2/0").await;
    assert_eq!(items, [ids[2].clone(), ids[1].clone()]);
    assert_eq!(info, json!({ "itemsCount": 3, "limit": 2, "offset": 0 }));
    assert_eq!(listed("2/2").await.0, [ids[0].clone()]);
    assert_eq!(listed("10/3").await.0, Vec::<Value>::new());
    assert_eq!(listed("10/0?merchantTransactionId=a").await.0, [ids[2].clone(), ids[0].clone()]);
    assert_eq!(listed("10/0?status=CONFIRMED&status=NEW").await.0.len(), 3);
    assert_eq!(listed("10/0?status=CONFIRMED").await.0.len(), 0);
    assert_eq!(listed("10/0?label=shop").await.0.len(), 3);
    assert_eq!(listed("10/0?label=other").await.0.len(), 0);
    let record = shop.get(&format!("/v2/payments/{}", ids[1].as_str().unwrap())).await.ok();
    let address = record["address"].as_str().unwrap();
    assert_eq!(listed(&format!("10/0?address={address}")).await.0, [ids[1].clone()]);
    let created = record["creationTime"].as_str().unwrap();
    assert_eq!(
        listed(&format!("10/0?timeTo={created}")).await.1["itemsCount"],
        0,
        "timeTo is exclusive"
    );
    assert_eq!(listed("10/0?timeFrom=2026-01-01T00:00:00.5%2B02:00").await.0.len(), 3);
    let txid = shop.world.pay(&row(&shop, &record), 1_000).await;
    assert_eq!(listed(&format!("10/0?btcTxId={txid}")).await.0, [ids[1].clone()]);
}

#[tokio::test]
async fn the_record_lists_counting_coins_with_confirmations() {
    let shop = Shop::open().await;
    let record = shop.ask(&order()).await.ok();
    let path = format!("/v2/payments/{}", record["paymentId"].as_str().unwrap());
    let payment = row(&shop, &record);
    let txid = shop.world.pay(&payment, payment.payment.amount_sats + 1).await;
    shop.world.mine(1).await;
    let paid = shop.get(&path).await.ok();
    assert_eq!(
        (&paid["status"], &paid["remainingToPayBtc"].to_string()),
        (&json!("CONFIRMED"), &"-0.00000001".to_owned())
    );
    assert!(paid["paymentTime"].is_string());
    let transaction = &paid["btcTransactions"][0];
    assert_eq!(
        (&transaction["btcTxId"], &transaction["confirmations"]),
        (&json!(txid.to_string()), &json!(1))
    );
    assert_eq!(transaction["btcAmount"].to_string(), paid["paidBtc"].to_string());
}

#[tokio::test]
async fn a_resend_answers_whether_there_is_a_notification() {
    let shop = Shop::open().await;
    let record = shop.ask(&order()).await.ok();
    let id = record["paymentId"].as_str().unwrap();
    let path = format!("/v2/payments/notify/{id}");
    assert_eq!(shop.post_empty(&path).await.ok(), json!({ "value": 402 }));
    shop.world.pay(&row(&shop, &record), 1_000).await;
    let before = shop.get(&format!("/v2/payments/{id}")).await.ok();
    assert_eq!(shop.post_empty(&path).await.ok(), json!({ "value": 200 }));
    let older_form = shop.get(&path).await;
    assert_eq!(older_form.ok(), json!({ "value": 200 }));
    assert!(older_form.headers.contains_key("deprecation"));
    let nobody = shop.get(&format!("/v2/payments/notify/{}", "0".repeat(40))).await;
    nobody.codes(404);
    assert!(nobody.headers.contains_key("deprecation"), "a failed deprecated call is marked too");
    let after = shop.get(&format!("/v2/payments/{id}")).await;
    let told = shop.world.notified(&id.parse().unwrap());
    assert_eq!(told.len(), 2, "the change, and the newer of the two waiting resends");
    assert_eq!(told[1], after.json(), "the notification is what GET shows");
    assert!(told[1]["currentTime"].as_str() > before["currentTime"].as_str());
}

#[tokio::test]
async fn anomalies_are_listed_shown_and_resent() {
    let shop = Shop::open().await;
    let record = shop.ask(&order()).await.ok();
    let id = record["paymentId"].as_str().unwrap();
    assert_eq!(
        shop.post_empty(&format!("/v2/anomalies/notify/{id}")).await.ok(),
        json!({ "value": 402 })
    );
    let payment = row(&shop, &record);
    shop.world.pay(&payment, payment.payment.amount_sats + 5_000).await;
    shop.world.mine(2).await;
    let page =
        shop.get(&format!("/v2/anomalies?paymentId={id}&anomalyType=OVERPAYMENT")).await.ok();
    let anomaly = &page["items"][0];
    assert_eq!(
        (&anomaly["paymentId"], anomaly["paidBtc"].to_string()),
        (&json!(id), "0.00005000".to_owned())
    );
    assert_eq!(
        (&anomaly["resolution"], &anomaly["notificationType"]),
        (&json!("OPEN"), &json!("ANOMALY"))
    );
    assert_eq!(page["paginationInfo"], json!({ "itemsCount": 1, "limit": 50, "offset": 0 }));
    let anomaly_id = anomaly["anomalyId"].as_str().unwrap();
    assert_eq!(&shop.get(&format!("/v2/anomalies/{anomaly_id}")).await.ok(), anomaly);
    for id in [id, anomaly_id] {
        assert_eq!(
            shop.post_empty(&format!("/v2/anomalies/notify/{id}")).await.ok(),
            json!({ "value": 200 })
        );
    }
    let told = shop.world.notified(&anomaly_id.parse().unwrap());
    assert_eq!(told.len(), 2, "the new anomaly, and the newer of the two waiting resends");
    let alias = shop.get("/v2/payments/anomalies?merchantTransactionId=order-1").await;
    assert_eq!(alias.ok()["items"][0]["anomalyId"], anomaly_id);
    assert!(alias.headers.contains_key("deprecation"));
    assert_eq!(alias.headers["link"], r#"</v2/anomalies>; rel="successor-version""#);
    assert!(shop.get("/v2/payments/anomalies?limit=0").await.headers.contains_key("link"));
}

#[tokio::test]
async fn a_key_may_need_no_notification_url() {
    let shop = Shop::open().await;
    let without = order_with("notificationUrl", Value::Null);
    assert_eq!(shop.ask(&without).await.fields(), ["notificationUrl"]);
    let till = make_key(&shop.world.gateway.access.keys, "till", "shop", true).await;
    let request =
        shop.request(axum::http::Method::POST, super::shop::NEW).header("authorization", till);
    let request = request
        .header("content-type", "application/json")
        .body(without.to_string().into())
        .unwrap();
    let record = shop.send(request).await.ok();
    assert!(record.get("notificationUrl").is_none());
    assert_eq!(record["label"], "till");
}
