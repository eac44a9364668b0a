//! Answers to invalid payout requests.

use serde_json::{Value, json};
use tillgate_gateway::testing::World;
use tillgate_store::keychains::Keychain;

use super::super::shop::Shop;
use super::{ADDRESS, Desk, PAYOUTS, id, wish, wish_with};

fn without(field: &str) -> Value {
    wish_with(field, json!(null))
}

fn in_fiat(amount: impl Into<Value>) -> Value {
    let mut wish = without("btcAmount");
    wish["fiatAmount"] = amount.into();
    wish
}

#[tokio::test]
async fn invalid_amounts_are_refused_by_name() {
    let desk = Desk::open().await;
    let both = wish_with("fiatAmount", "65.00");
    for (asked, field, code, what) in [
        (both, "fiatAmount", "VALIDATION_FAILED", "together"),
        (without("btcAmount"), "btcAmount", "VALIDATION_FAILED", "or fiatAmount is required"),
        (wish_with("btcAmount", 0), "btcAmount", "VALIDATION_FAILED", "more than 0"),
        (wish_with("btcAmount", "-0.001"), "btcAmount", "VALIDATION_FAILED", "more than 0"),
        (wish_with("btcAmount", "NaN"), "btcAmount", "VALIDATION_FAILED", "decimal number"),
        (wish_with("btcAmount", "1e400"), "btcAmount", "VALIDATION_FAILED", "too large"),
        (wish_with("btcAmount", json!([1])), "btcAmount", "VALIDATION_FAILED", "must be a number"),
        (wish_with("btcAmount", "0.001000001"), "btcAmount", "VALIDATION_FAILED", "8 decimals"),
        (
            wish_with("btcAmount", "21000000.00000001"),
            "btcAmount",
            "VALIDATION_FAILED",
            "too large",
        ),
        (
            wish_with("btcAmount", "21000000"),
            "btcAmount",
            "PAYOUT_ABOVE_DAILY_LIMIT",
            "daily limit",
        ),
        (wish_with("btcAmount", "0.00000293"), "btcAmount", "PAYOUT_BELOW_MINIMUM", "minimum"),
        (wish_with("btcAmount", "0.00009999"), "btcAmount", "PAYOUT_BELOW_MINIMUM", "minimum"),
        (in_fiat("0"), "fiatAmount", "VALIDATION_FAILED", "more than 0"),
        (in_fiat("1.001"), "fiatAmount", "VALIDATION_FAILED", "2 decimals"),
        (in_fiat("6.49"), "fiatAmount", "PAYOUT_BELOW_MINIMUM", "minimum"),
        (in_fiat("65000.01"), "fiatAmount", "PAYOUT_ABOVE_DAILY_LIMIT", "daily limit"),
        (in_fiat("1365000000000"), "fiatAmount", "PAYOUT_ABOVE_DAILY_LIMIT", "daily limit"),
        (in_fiat("1365000000001"), "fiatAmount", "VALIDATION_FAILED", "21000000"),
    ] {
        let answer = desk.ask(&asked).await;
        assert_eq!(
            (answer.codes(400), answer.fields()),
            (vec![code.to_owned()], vec![field.to_owned()]),
            "{asked}"
        );
        assert!(answer.text().contains(what), "{asked}: {}", answer.text());
    }
    desk.ask(&wish_with("btcAmount", "0.0001")).await.ok();
    desk.ask(&wish_with("btcAmount", "1")).await.ok();
    desk.ask(&in_fiat("6.50")).await.ok();
}

#[tokio::test]
async fn unusable_addresses_are_refused_with_the_reason() {
    let desk = Desk::open().await;
    let lightning = "lnbc20u1p3y0x3hpp5743k2g0fsqqxj7n8qzuhns5gmkk4djeejk3wkp64ppevgekvc0js";
    for (address, what) in [
        ("", "is empty"),
        ("  ", "blanks"),
        (&format!("{ADDRESS} "), "blanks"),
        (&format!("bitcoin:{ADDRESS}"), "bitcoin: URI"),
        (lightning, "Lightning"),
        ("bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4", "main network"),
        ("tb1qw508d6qejxtdg4y5r3zarvary0c5xw7kxpjzsx", "test network"),
        ("1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN2", "main network"),
        (&ADDRESS.replace("080", "081"), "typing error"),
        (&ADDRESS.replacen("qw", "Qw", 1), "capitals"),
        ("nowhere", "must be a Bitcoin address"),
    ] {
        let answer = desk.ask(&wish_with("address", address)).await;
        assert_eq!(answer.fields(), ["address"], "{address}");
        assert!(answer.text().contains(what), "{address}: {}", answer.text());
    }
    assert_eq!(desk.count().await, 0);
    let capitals = desk.ask(&wish_with("address", ADDRESS.to_uppercase())).await.ok();
    assert_eq!(capitals["address"], ADDRESS);
}

#[tokio::test]
async fn an_address_of_this_wallet_is_refused() {
    let desk = Desk::open().await;
    let payment = desk.shop.ask(&super::super::shop::order()).await.ok();
    let gateway = &desk.shop.world.gateway;
    assert!(gateway.store.read(|reader| reader.keychain(Keychain::Internal)).unwrap().is_some());
    let change = gateway.wallet.get().unwrap().change.script(3).unwrap();
    let change =
        bitcoin::Address::from_script(&change, bitcoin::Network::Regtest).unwrap().to_string();
    for address in [payment["address"].as_str().unwrap(), &change] {
        let answer = desk.ask(&wish_with("address", address)).await;
        assert_eq!(answer.fields(), ["address"]);
        assert!(answer.text().contains("this wallet's own"), "{}", answer.text());
    }
}

#[tokio::test]
async fn all_field_errors_of_a_payout_come_in_one_answer() {
    let desk = Desk::open().await;
    assert_eq!(desk.ask(&json!({})).await.fields(), ["currency", "btcAmount", "address"]);
    let asked = json!({ "btcAmount": "0.00001", "currency": "XXX", "address": "x", "comment": "a".repeat(513),
        "notificationUrl": "shop" });
    let answer = desk.ask(&asked).await;
    assert_eq!(answer.fields(), ["currency", "address", "comment", "notificationUrl", "btcAmount"]);
    assert_eq!(answer.codes(400)[4], "PAYOUT_BELOW_MINIMUM");
    let asked = json!({ "btcAmount": {}, "fiatAmount": "1.001", "currency": 1, "address": 2, "comment": 3 });
    let fields = desk.ask(&asked).await.fields();
    for field in ["btcAmount", "fiatAmount", "currency", "address", "comment"] {
        assert!(fields.iter().any(|named| named == field), "{field}: {fields:?}");
    }
    for url in ["shop", "ftp://shop.test", "http://u:p@shop.test/"] {
        assert_eq!(
            desk.ask(&wish_with("notificationUrl", url)).await.fields(),
            ["notificationUrl"],
            "{url}"
        );
    }
    assert_eq!(
        desk.post_as(&desk.key, PAYOUTS, "[]".to_owned()).await.codes(400),
        ["MALFORMED_JSON"]
    );
    for field in ["comment", "notificationUrl"] {
        let record = desk.ask(&without(field)).await.ok();
        assert!(record.get(field).is_none(), "{field}");
    }
}

#[tokio::test]
async fn an_unknown_payout_id_is_404_and_a_missing_id_is_400() {
    let desk = Desk::open().await;
    for unknown in ["0".repeat(40), "x".to_owned(), String::new(), "F".repeat(40)] {
        assert_eq!(desk.approve(&unknown).await.codes(404), ["NOT_FOUND"], "{unknown}");
    }
    for path in [format!("{PAYOUTS}/x"), format!("{PAYOUTS}/{}", "0".repeat(40))] {
        desk.get(&path).await.codes(404);
    }
    desk.notify_as(&desk.key, &"0".repeat(40)).await.codes(404);
    for body in [
        json!({}),
        json!({ "payoutId": null }),
        json!({ "payoutId": 1 }),
        json!({ "payoutId": ["x"] }),
    ] {
        assert_eq!(desk.post("/v2/payouts/approve", &body).await.fields(), ["payoutId"], "{body}");
    }
}

#[tokio::test]
async fn a_key_is_limited_to_its_payout_permissions() {
    let desk = Desk::open().await;
    let offer = desk.offer("0.001").await;
    let reader = desk.key("reader", "payouts.read", false).await;
    let asker = desk.key("asker", "payouts.create", false).await;
    let approver = desk.key("approver", "payouts.approve", false).await;
    let wish = wish().to_string();
    for key in [&reader, &approver, &desk.shop.authorization] {
        assert_eq!(
            desk.post_as(key, PAYOUTS, wish.clone()).await.codes(403),
            ["PERMISSION_DENIED"]
        );
    }
    for key in [&reader, &asker, &desk.shop.authorization] {
        assert_eq!(desk.approve_as(key, &offer).await.codes(403), ["PERMISSION_DENIED"]);
    }
    for key in [&reader, &asker, &approver] {
        desk.post_as(key, "/v2/payouts?autoApprove=1", wish.clone()).await.codes(403);
    }
    assert_eq!(desk.count().await, 1, "nothing was stored");
    let estimate = "/v2/estimate-payout/btc-to-fiat?btcAmount=1&currency=USD".to_owned();
    let paths =
        [PAYOUTS.to_owned(), format!("{PAYOUTS}/{offer}"), format!("{PAYOUTS}/limit"), estimate];
    for path in &paths {
        for key in [&asker, &approver, &desk.shop.authorization] {
            desk.shop.get_as(key, path).await.codes(403);
        }
        desk.shop.get_as(&reader, path).await.ok();
    }
    desk.notify_as(&asker, &offer).await.codes(403);
    desk.notify_as(&reader, &offer).await.ok();
    desk.post_as(&asker, "/v2/payouts?autoApprove=0", wish).await.ok();
    assert_eq!(desk.approve_as(&approver, &offer).await.ok()["approvedBy"], "approver");
}

#[tokio::test]
async fn an_own_key_sees_and_approves_only_its_own_payouts() {
    let desk = Desk::open().await;
    let theirs = desk.offer("0.001").await;
    let own = desk.key("own", "full", true).await;
    let its = id(&desk.post_as(&own, PAYOUTS, wish().to_string()).await.ok());
    desk.approve_as(&own, &theirs).await.codes(404);
    desk.shop.get_as(&own, &format!("{PAYOUTS}/{theirs}")).await.codes(404);
    desk.notify_as(&own, &theirs).await.codes(404);
    let listed = desk.shop.get_as(&own, PAYOUTS).await.ok();
    assert_eq!(
        (&listed["paginationInfo"]["itemsCount"], &listed["items"][0]["payoutId"]),
        (&json!(1), &json!(its))
    );
    assert_eq!(desk.count().await, 2);
    desk.approve_as(&own, &its).await.ok();
    let limit = desk.shop.get_as(&own, "/v2/payouts/limit").await.ok();
    assert_eq!(limit["used"].to_string(), "0.00100000", "all keys share the merchant's limit");
    assert_eq!(desk.get_payout(&theirs).await["status"], "NEW");
}

#[tokio::test]
async fn without_a_wallet_or_disk_space_no_offer_is_made() {
    let world = World::new().await;
    let shop = Shop::serve(world).await;
    let key =
        super::super::shop::make_key(&shop.world.gateway.access.keys, "desk", "full", false).await;
    let desk = Desk { shop, key };
    assert_eq!(desk.ask(&wish()).await.codes(503), ["WALLET_NOT_READY"]);
    assert_eq!(desk.ask(&wish_with("btcAmount", 0)).await.fields(), ["btcAmount"]);
    desk.shop.world.make_wallet().await;
    desk.shop.world.gateway.machine.disk.set_free_bytes(999_000_000);
    assert_eq!(desk.ask(&wish()).await.codes(503), ["STORAGE_UNAVAILABLE"]);
    desk.shop.world.gateway.machine.disk.set_free_bytes(1_001_000_000);
    desk.ask(&wish()).await.ok();
}

#[tokio::test]
async fn offers_and_resends_count_toward_the_request_rate() {
    let desk = Desk::open().await;
    let offer = desk.offer("0.001").await;
    desk.set("keyRequestsPerSecond", "1").await;
    let refused = async {
        loop {
            let answer = desk.ask(&wish()).await;
            if answer.status != 200 {
                return answer;
            }
        }
    };
    let refused = tokio::time::timeout(std::time::Duration::from_secs(60), refused)
        .await
        .expect("no 429 in a minute");
    assert_eq!(refused.codes(429), ["KEY_LIMIT"]);
    desk.notify_as(&desk.key, &offer).await.codes(429);
    desk.approve(&offer).await.ok();
}
