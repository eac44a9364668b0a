//! Exchange rates from the view of a shop and the merchant's staff.

use serde_json::{Value, json};

use crate::harness::Scene;

/// The rate of US dollars in the list of rates.
async fn dollars(s: &Scene) -> Value {
    let rates = s.get("/v2/rates").await.ok();
    rates["items"]
        .as_array()
        .unwrap()
        .iter()
        .find(|item| item["currency"] == "USD")
        .unwrap()
        .clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payment_has_the_shown_rate_and_keeps_its_certificate() {
    let s = Scene::open_with(&[("spreadPerMille", "20")]).await;
    s.set_rates(json!({ "USD": "60000.00" })).await;
    let told = dollars(&s).await;
    assert_eq!(told["exchangeRate"].to_string(), "58800.0000");
    assert_eq!(told["sources"][0]["rate"].to_string(), "60000.0000");
    let bill = s.bill("10.00").await;
    assert_eq!(s.payment(&bill.id).await["exchangeRate"], told["exchangeRate"]);
    s.set_rates(json!({ "USD": "90000.00" })).await;
    let shown = s.gateway.program().json(&["payments", "show", &bill.id]);
    let certificate = &shown["certificate"];
    assert_eq!(
        (&certificate["rate"], &certificate["sources"][0]["name"]),
        (&json!("60000.0000"), &json!("sandbox"))
    );
    assert_eq!(certificate["sources"][0]["used"], true);
}

#[tokio::test(flavor = "multi_thread")]
async fn fixed_rates_apply_at_once_until_they_are_unset() {
    let s = Scene::open().await;
    let program = s.gateway.program();
    program.set("fixedRates", "USD:50000.00,EUR:46000.00");
    assert_eq!(dollars(&s).await["exchangeRate"].to_string(), "50000.0000");
    s.set_rates(json!({ "USD": "70000.00" })).await;
    let told = dollars(&s).await;
    assert_eq!(
        (told["exchangeRate"].to_string().as_str(), &told["sources"][0]["name"]),
        ("50000.0000", &json!("fixed"))
    );
    let status = program.json(&["status"]);
    assert_eq!(status["rateSources"].as_array().unwrap().len(), 1);
    assert_eq!(
        (&status["rateSources"][0]["name"], &status["rateSources"][0]["error"]),
        (&json!("fixed"), &Value::Null)
    );
    program.json(&["settings", "unset", "fixedRates"]);
    assert_eq!(dollars(&s).await["exchangeRate"].to_string(), "70000.0000");
    let refusal = program.refusal(&["settings", "set", "fixedRates", "USD:0"]);
    assert!(refusal.contains("fixedRates must be a list"), "{refusal}");
}
