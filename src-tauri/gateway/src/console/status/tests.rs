//! What `status` and `doctor` say of the sources of exchange rates.

use rust_decimal::Decimal;
use serde_json::{Value, json};

use super::*;
use crate::console::{Actor, Command, dispatch};
use crate::rates::{RateSource, Rates};
use crate::testing::World;

/// A source that quotes so many dollars and Argentine pesos for one Bitcoin.
struct Quotes(&'static str, i64, i64);

impl RateSource for Quotes {
    fn name(&self) -> &'static str {
        self.0
    }

    fn quotes(&self) -> Result<BTreeMap<Currency, Decimal>, String> {
        let quote = |(code, price): (&str, i64)| Some((Currency::from_code(code)?, Decimal::from(price)));
        Ok([("USD", self.1), ("ARS", self.2)].into_iter().filter_map(quote).collect())
    }
}

async fn ask(world: &World, command: &str) -> Value {
    let command: Command = serde_json::from_value(json!({ "command": command })).unwrap();
    dispatch(&world.app, command, &Actor::panel()).await.unwrap()
}

#[tokio::test]
async fn staff_hears_of_a_source_that_strays_in_a_currency_of_theirs() {
    let sources: [Quotes; 3] =
        [Quotes("ours", 65_000, 90_000_000), Quotes("theirs", 65_100, 90_000_000), Quotes("lone", 70_000, 60_000_000)];
    let sources = sources.into_iter().map(|source| Box::new(source) as Box<dyn RateSource>).collect();
    let world = World::new().await.with_rates(Rates::new(sources, 2));
    let usd = json!({"command": "setSetting", "name": "currencies", "value": "USD"});
    dispatch(&world.app, serde_json::from_value(usd).unwrap(), &Actor::panel()).await.unwrap();
    world.gateway.refresh_rates().await.unwrap();

    let sentence = "the rate source lone strays from the others by more than 5 % and is left out of USD";
    assert_eq!(ask(&world, "status").await["warnings"], json!([sentence]));
    let doctor = ask(&world, "doctor").await;
    let rates = doctor["checks"].as_array().unwrap().iter().find(|check| check["name"] == "rates").unwrap();
    assert_eq!((&rates["ok"], &rates["message"]), (&json!(false), &json!(sentence)));
}
