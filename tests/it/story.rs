//! One payment from the view of a shop, a customer and the merchant, from the first key to the
//! signed notification.

use axum::http::header::AUTHORIZATION;
use serde_json::json;

use crate::harness::client::{payment_request, text};
use crate::harness::sandbox::sats;
use crate::harness::signature::{bpg_signature_is_by, webhook_signature_is_by};
use crate::harness::{Shop, Tillgate};

#[tokio::test(flavor = "multi_thread")]
async fn a_paid_payment_is_notified_with_both_signatures() {
    let shop = Shop::open().await;
    let gateway = Tillgate::start().await;
    let hmac_key = text(&gateway.program().json(&["hmac-key", "rotate"])["key"]);

    // The merchant creates a key for the shop while the gateway runs; the key works at once.
    let key = gateway.program().create_key("webshop", &["--permissions", "shop"]);
    let client = gateway.client.with_key(key);

    // The shop's program requests a payment of 10 dollars.
    let payment = client.post("/v2/payments/new", &payment_request("10.00", shop.url())).await.ok();
    let id = text(&payment["paymentId"]);
    assert_eq!(
        (id.len(), &payment["status"], &payment["label"]),
        (40, &json!("NEW"), &json!("webshop"))
    );
    assert_eq!(payment["transactionId"], payment["paymentId"]);
    assert_eq!(payment["fiatAmount"].to_string(), "10.00");
    assert_eq!(sats(&payment["remainingToPayBtc"]), sats(&payment["amount"]));
    let address = text(&payment["address"]);
    assert!(address.starts_with("bcrt1q"), "{address}");
    let uri = text(&payment["paymentAddress"]);
    assert!(uri.starts_with(&format!("bitcoin:{address}?amount={}&", payment["amount"])), "{uri}");

    // The customer opens the page without credentials, and reads the address and the sum.
    let page_url = text(&payment["paymentPageUrl"]);
    let page = page(&gateway, &page_url).await;
    assert!(page.contains(&address) && page.contains(&payment["amount"].to_string()), "{page}");

    // The customer pays; the transaction is seen before it is in a block.
    let txid = gateway.client.pay(&id).await;
    let seen = client.payment(&id).await;
    assert_eq!(seen["status"], "UNCONFIRMED");
    assert_eq!(seen["btcTransactions"][0]["btcTxId"], txid);
    assert_eq!(seen["btcTransactions"][0]["confirmations"], 0);
    assert_eq!((sats(&seen["remainingToPayBtc"]), seen["paid"].to_string().as_str()), (0, "10.00"));
    assert!(seen["paymentTime"].is_null());
    shop.expect_states(&id, &["UNCONFIRMED"]).await;

    // A block confirms it.
    gateway.client.mine(1).await;
    let confirmed = client.payment(&id).await;
    assert_eq!(confirmed["status"], "CONFIRMED");
    assert_eq!(confirmed["btcTransactions"][0]["confirmations"], 1);
    assert!(confirmed["paymentTime"].is_string());
    shop.expect_states(&id, &["UNCONFIRMED", "CONFIRMED"]).await;

    // Each notification equals the record from GET, signed in both forms.
    for notification in shop.received() {
        assert!(bpg_signature_is_by(&notification, &hmac_key));
        assert!(webhook_signature_is_by(&notification, &hmac_key));
        assert!(
            notification.header("user-agent").is_some_and(|agent| agent.starts_with("Tillgate/"))
        );
        assert_eq!(notification.header("content-type"), Some("application/json"));
        assert!(notification.header(AUTHORIZATION.as_str()).is_none());
        assert_eq!(notification.path, "/payment");
        assert_eq!(notification.json()["notificationType"], "REGULAR");
    }
    assert_eq!(shop.records_of(&id).last(), Some(&confirmed));
    let times: Vec<_> =
        shop.records_of(&id).iter().map(|record| text(&record["currentTime"])).collect();
    assert!(times[0] < times[1], "{times:?}");
}

/// The payment page in English, as a browser without an API key receives it.
async fn page(gateway: &Tillgate, url: &str) -> String {
    use axum::body::Body;
    let request =
        axum::http::Request::get(url).header("accept-language", "en").body(Body::empty()).unwrap();
    let answer = gateway.client.send(request).await;
    assert_eq!(answer.status, 200);
    answer.text()
}
