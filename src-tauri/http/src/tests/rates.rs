//! Exchange rates over HTTP.

use std::collections::BTreeMap;

use rust_decimal::Decimal;
use serde_json::{Value, json};
use tillgate_domain::money::Currency;
use tillgate_gateway::rates::{Answer, Question, RateSource, Rates, SourceQuote};
use tillgate_gateway::settings::{Act, Settings};
use tillgate_gateway::testing::World;
use tillgate_machine::environment::Environment;

use super::shop::{Shop, make_key, make_wallet, order};

/// A source with its name, its price of one Bitcoin in dollars, and the age of its quote in
/// seconds.
struct Dollars(&'static str, i64, i64);

impl RateSource for Dollars {
    fn name(&self) -> &'static str {
        self.0
    }

    fn ask<'a>(&'a self, question: Question<'a>) -> Answer<'a> {
        let (price, at) = (Decimal::from(self.1), question.at.plus_ms(-self.2 * 1_000));
        Box::pin(async move { Ok(vec![SourceQuote { currency: Currency::USD, price, at }].into()) })
    }
}

async fn set(shop: &Shop, name: &str, value: &str) {
    let gateway = &shop.world.gateway;
    let act = Act { actor: "cli", at: gateway.time.now() };
    gateway.settings.set(&gateway.store, name, value, act).await.unwrap();
}

#[tokio::test]
async fn rates_include_the_spread_and_their_sources_do_not() {
    let shop = Shop::open().await;
    set(&shop, "currencies", "EUR,USD").await;
    set(&shop, "spreadPerMille", "10").await;
    let rates =
        BTreeMap::from([("USD".to_owned(), Some("65000.00".to_owned())), ("EUR".to_owned(), None)]);
    shop.world.sandbox().set_rates(&rates).unwrap();
    shop.world.gateway.refresh_rates().await.unwrap();
    let answer = shop.get("/v2/rates").await;
    let text = answer.text();
    assert!(
        text.contains(r#""exchangeRate":64350.0000"#) && text.contains(r#""rate":65000.0000"#),
        "{text}"
    );
    let items = answer.ok()["items"].clone();
    assert_eq!(
        items[0],
        json!({ "currency": "EUR", "sources": [] }),
        "there is no rate for euros now"
    );
    let dollars = &items[1];
    assert_eq!((&dollars["currency"], items.as_array().unwrap().len()), (&json!("USD"), 2));
    assert_eq!(
        (&dollars["sources"][0]["name"], &dollars["sources"][0]["used"]),
        (&json!("sandbox"), &json!(true))
    );
    assert_eq!(dollars["sources"][0]["time"], dollars["time"]);
    let payment = shop.ask(&order()).await.ok();
    assert_eq!(
        payment["exchangeRate"], dollars["exchangeRate"],
        "a payment made now has this rate"
    );
}

#[tokio::test]
async fn an_unused_source_is_listed_with_its_quote_and_time() {
    let sources: Vec<Box<dyn RateSource>> = vec![
        Box::new(Dollars("a", 65_000, 0)),
        Box::new(Dollars("b", 65_100, 10)),
        Box::new(Dollars("c", 80_000, 0)),
        Box::new(Dollars("d", 65_000, 301)),
    ];
    let rules = Settings::defaults(Environment::Test).rate_rules();
    let world = World::new().await.with_rates(Rates::new(sources, rules));
    world.gateway.refresh_rates().await.unwrap();
    let shop = Shop::serve(world).await;
    make_wallet(&shop.world).await;
    let items = shop.get("/v2/rates").await.ok()["items"].clone();
    let dollars = items.as_array().unwrap().iter().find(|item| item["currency"] == "USD").unwrap();
    let used: Vec<&Value> =
        dollars["sources"].as_array().unwrap().iter().map(|source| &source["used"]).collect();
    assert_eq!(used, [true, true, false, false]);
    assert_eq!(dollars["exchangeRate"].to_string(), "65050.0000");
    assert_eq!(
        dollars["time"], dollars["sources"][1]["time"],
        "the rate has the time of its oldest used quote"
    );

    // The payment stores the rate with all its quotes.
    let payment = shop.ask(&order()).await.ok();
    let id = payment["paymentId"].as_str().unwrap();
    let seq = shop.world.reload_payment(&id.parse().unwrap()).seq;
    let stored =
        shop.world.gateway.store.read(|reader| reader.rate_of_payment(seq)).unwrap().unwrap();
    assert_eq!(stored.rate.format(), "65050.0000");
    let parts: Value = serde_json::from_str(&stored.sources).unwrap();
    let told = |name: &str, member: &str| {
        parts.as_array().unwrap().iter().find(|part| part["name"] == name).unwrap()[member].clone()
    };
    assert_eq!(
        (told("c", "rate"), told("c", "used"), told("c", "why")),
        (json!("80000"), json!(false), json!("stray"))
    );
    assert_eq!((told("d", "why"), told("a", "used")), (json!("stale"), json!(true)));
}

#[tokio::test]
async fn rates_need_the_permission_to_read_payments() {
    let shop = Shop::open().await;
    let payer = make_key(&shop.world.gateway.access.keys, "payer", "payouts.read", false).await;
    assert_eq!(shop.get_as(&payer, "/v2/rates").await.codes(403), ["PERMISSION_DENIED"]);
    assert_eq!(shop.get_as("Basic eDp5", "/v2/rates").await.codes(401), ["UNAUTHORIZED"]);
    assert_eq!(shop.post_empty("/v2/rates").await.codes(405), ["METHOD_NOT_ALLOWED"]);
}
