//! Compares `openapi.json` and the table of errors in `docs/api.md` with the served answers.

use axum::body::Body;
use axum::http::Method;
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE};
use serde_json::{Value, json};
use tillgate_domain::money::Currency;
use tillgate_gateway::testing::SHOP;

use super::shop::{Shop, make_key, order};
use crate::status::status;
use tillgate_gateway::error_type::ErrorType;

/// Checks that a record has all required members of its schema, and no unknown member.
fn fits(description: &Value, schema: &str, record: &Value) {
    let schema = &description["components"]["schemas"][schema];
    let named = schema["properties"].as_object().unwrap();
    for field in record.as_object().unwrap().keys() {
        assert!(named.contains_key(field), "{field} is not described");
    }
    for required in schema["required"].as_array().unwrap() {
        assert!(record.get(required.as_str().unwrap()).is_some(), "{required} is missing");
    }
    for (field, schema) in named {
        let Some(value) = record.get(field) else { continue };
        let fits = match schema["type"].as_str() {
            Some("string") => value.is_string(),
            Some("number" | "integer") => value.is_number(),
            Some("array") => value.is_array(),
            Some("boolean") => value.is_boolean(),
            _ => value.is_object(),
        };
        assert!(fits, "{field}: {value}");
        assert!(schema.get("const").is_none_or(|only| only == value), "{field}: {value}");
        assert!(
            schema.get("enum").is_none_or(|those| those.as_array().unwrap().contains(value)),
            "{field}: {value}"
        );
    }
}

#[tokio::test]
async fn openapi_needs_no_key_and_every_call_in_it_is_served() {
    let shop = Shop::open().await;
    let open = shop.request(Method::GET, "/v2/openapi.json").body(Body::empty()).unwrap();
    let description = shop.send(open).await.ok();
    for (path, calls) in description["paths"].as_object().unwrap() {
        let path = path.replace("{limit}/{offset}", "10/0");
        let path =
            path.split('{').next().unwrap().to_owned() + if path.contains('{') { "0" } else { "" };
        for method in calls.as_object().unwrap().keys() {
            let method: Method = method.to_uppercase().parse().unwrap();
            let unsigned =
                shop.send(shop.request(method.clone(), &path).body(Body::empty()).unwrap()).await;
            let expected = if path == "/v2/openapi.json" { 200 } else { 401 };
            assert_eq!(unsigned.status.as_u16(), expected, "{method} {path}");
        }
    }
}

#[tokio::test]
async fn records_and_failures_match_openapi() {
    let shop = Shop::open().await;
    let description = shop.get("/v2/openapi.json").await.ok();
    let mut asked = order();
    asked["redirectUrls"] = json!({ "confirmed": "https://shop.test/thanks" });
    let created = shop.ask(&asked).await.ok();
    fits(&description, "Payment", &created);
    let payment =
        shop.world.reload_payment(&created["paymentId"].as_str().unwrap().parse().unwrap());
    shop.world.pay(&payment, payment.payment.amount_sats * 2).await;
    shop.world.mine(2).await;
    let page = shop.get("/v2/payments/10/0").await.ok();
    fits(&description, "Payment", &page["items"][0]);
    fits(&description, "BtcTransaction", &page["items"][0]["btcTransactions"][0]);
    fits(&description, "PaginationInfo", &page["paginationInfo"]);
    fits(&description, "Anomaly", &shop.get("/v2/anomalies").await.ok()["items"][0]);
    let desk = make_key(&shop.world.gateway.access.keys, "desk", "full", false).await;
    let asked = json!({ "btcAmount": "0.001", "currency": "USD", "comment": "for you", "notificationUrl": SHOP,
        "address": "bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080" });
    let request =
        shop.request(Method::POST, "/v2/payouts?autoApprove").header(AUTHORIZATION, &desk);
    let request =
        request.header(CONTENT_TYPE, "application/json").body(asked.to_string().into()).unwrap();
    fits(&description, "Payout", &shop.send(request).await.ok());
    let page = shop.get_as(&desk, "/v2/payouts").await.ok();
    fits(&description, "Payout", &page["items"][0]);
    fits(&description, "PaginationInfo", &page["paginationInfo"]);
    fits(&description, "PayoutLimit", &shop.get_as(&desk, "/v2/payouts/limit").await.ok());
    let estimate = "/v2/estimate-payout/btc-to-fiat?btcAmount=0.001&currency=USD";
    fits(&description, "PayoutEstimate", &shop.get_as(&desk, estimate).await.ok());
    let rates = shop.get("/v2/rates").await.ok();
    fits(&description, "Rates", &rates);
    fits(&description, "Rate", &rates["items"][0]);
    fits(&description, "RateSource", &rates["items"][0]["sources"][0]);
    for field_error in shop.ask(&json!({})).await.json().as_array().unwrap() {
        fits(&description, "Error", field_error);
    }
}

#[test]
fn the_description_lists_exactly_the_known_currencies() {
    let description: Value = serde_json::from_str(include_str!("../openapi.json")).unwrap();
    let known: Vec<&str> = Currency::ALL.iter().map(Currency::code).collect();
    assert_eq!(description["components"]["schemas"]["Currency"]["enum"], json!(known));
    let limit = &description["paths"]["/v2/payouts/limit"]["get"]["parameters"][0]["schema"];
    let with_bitcoin: Vec<&str> = std::iter::once("BTC").chain(known).collect();
    assert_eq!(limit["enum"], json!(with_bitcoin));
}

/// Status and name of each error type in the table of `docs/api.md`.
fn explained_error_types() -> Vec<(u16, String)> {
    let table = include_str!("../../../../docs/api.md")
        .lines()
        .skip_while(|line| !line.starts_with("| Status | `errorType`"));
    let rows = table.skip(2).take_while(|line| line.starts_with('|'));
    rows.map(|row| {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        (cells[1].parse().unwrap(), cells[2].trim_matches('`').to_owned())
    })
    .collect()
}

#[test]
fn the_documented_error_types_are_the_answered_ones() {
    let answered: Vec<(u16, String)> =
        ErrorType::ALL.iter().map(|it| (status(*it).as_u16(), it.as_str().to_owned())).collect();
    assert_eq!(explained_error_types(), answered);
    let description: Value = serde_json::from_str(include_str!("../openapi.json")).unwrap();
    let components = &description["components"];
    let described =
        components["schemas"]["Error"]["properties"]["errorType"]["enum"].as_array().unwrap();
    assert_eq!(described, &answered.iter().map(|(_, name)| json!(name)).collect::<Vec<_>>());
    for (status, name) in answered {
        assert!(
            !components["responses"][format!("E{status}")].is_null(),
            "{name} comes with a {status}"
        );
    }
}
