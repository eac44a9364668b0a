//! Tests of `status` and `doctor`: sources of exchange rates, the first look, double spends and
//! refused payments.

use rust_decimal::Decimal;
use serde_json::{Value, json};
use tillgate_domain::money::Currency;
use tillgate_domain::payment::PaymentState;
use tillgate_domain::policy::{PolicySettings, PriceBound};
use tillgate_domain::rates::NoAnswer;
use tillgate_gateway::gateway::Served;
use tillgate_gateway::rates::{Answer, Question, RateSource, Rates, SourceFailure, SourceQuote};
use tillgate_gateway::settings::Settings;
use tillgate_gateway::testing::{World, ask_for_payment};
use tillgate_machine::environment::Environment;
use tillgate_sandbox::{Replace, ReplaceTo};

use crate::{Actor, Command, dispatch};

/// A source with this name that quotes these prices of one Bitcoin in US dollars and in Argentine
/// pesos.
struct Quotes(&'static str, i64, i64);

impl RateSource for Quotes {
    fn name(&self) -> &'static str {
        self.0
    }

    fn ask<'a>(&'a self, question: Question<'a>) -> Answer<'a> {
        let quote = |(code, price): (&str, i64)| {
            Some(SourceQuote {
                currency: Currency::from_code(code)?,
                price: Decimal::from(price),
                at: question.at,
            })
        };
        let all: Vec<SourceQuote> =
            [("USD", self.1), ("ARS", self.2)].into_iter().filter_map(quote).collect();
        Box::pin(async { Ok(all.into()) })
    }
}

/// A source that refuses connections.
struct Silent;

impl RateSource for Silent {
    fn name(&self) -> &'static str {
        "silent"
    }

    fn ask<'a>(&'a self, _: Question<'a>) -> Answer<'a> {
        Box::pin(async {
            Err(SourceFailure::of_text("the server refuses connections", NoAnswer::Unreachable))
        })
    }
}

async fn of_dollars(sources: Vec<Box<dyn RateSource>>) -> World {
    let rules = Settings::defaults(Environment::Test).rate_rules();
    let world = World::new().await.with_rates(Rates::new(sources, rules));
    let usd = json!({"command": "setSetting", "name": "currencies", "value": "USD"});
    dispatch(&world.app, serde_json::from_value(usd).unwrap(), &Actor::panel()).await.unwrap();
    world.gateway.refresh_rates().await.unwrap();
    world
}

async fn doctor_on_rates(world: &World) -> (bool, String) {
    let doctor = ask(world, "doctor").await;
    let rates =
        doctor["checks"].as_array().unwrap().iter().find(|check| check["name"] == "rates").unwrap();
    (rates["ok"].as_bool().unwrap(), rates["message"].as_str().unwrap().to_owned())
}

async fn ask(world: &World, command: &str) -> Value {
    let command: Command = serde_json::from_value(json!({ "command": command })).unwrap();
    dispatch(&world.app, command, &Actor::panel()).await.unwrap()
}

#[tokio::test]
async fn a_source_that_strays_in_an_enabled_currency_is_reported() {
    let sources: [Quotes; 3] = [
        Quotes("ours", 65_000, 90_000_000),
        Quotes("theirs", 65_100, 90_000_000),
        Quotes("lone", 70_000, 60_000_000),
    ];
    let sources =
        sources.into_iter().map(|source| Box::new(source) as Box<dyn RateSource>).collect();
    let world = of_dollars(sources).await;

    let sentence =
        "the rate source lone strays from the others by more than 5 % and is left out of USD";
    assert_eq!(ask(&world, "status").await["warnings"][0]["message"], json!(sentence));
    assert_eq!(doctor_on_rates(&world).await, (false, sentence.to_owned()));
}

#[tokio::test]
async fn one_silent_source_is_a_warning_but_no_fault() {
    let sources: Vec<Box<dyn RateSource>> =
        vec![Box::new(Quotes("ours", 65_000, 1)), Box::new(Silent)];
    let world = of_dollars(sources).await;
    let sentence = "the rate source silent does not answer: the server refuses connections";
    let status = ask(&world, "status").await;
    assert_eq!(status["warnings"][0]["message"], json!(sentence));
    let (ours, silent) = (&status["rateSources"][0], &status["rateSources"][1]);
    assert_eq!((&ours["name"], &ours["error"]), (&json!("ours"), &json!(null)));
    assert!(ours["answeredAt"].is_string() && ours["ageSeconds"].is_number(), "{ours}");
    assert_eq!((&silent["answeredAt"], &silent["ageSeconds"]), (&json!(null), &json!(null)));
    assert_eq!(silent["error"]["message"], "the server refuses connections");
    assert_eq!(
        doctor_on_rates(&world).await,
        (true, format!("every currency has a fresh rate; {sentence}"))
    );
}

#[tokio::test]
async fn a_currency_without_a_rate_fails_the_doctor_with_a_remedy() {
    let (ok, message) = doctor_on_rates(&of_dollars(vec![Box::new(Silent)]).await).await;
    assert!(!ok);
    for part in [
        "no fresh rate for USD (no source has a fresh quote)",
        "rateSources",
        "silent does not answer",
    ] {
        assert!(message.contains(part), "{message}");
    }
}

#[tokio::test]
async fn the_status_says_if_no_look_has_ended_since_the_start() {
    let world = World::new().await.reopen().await;
    assert_eq!(
        ask(&world, "status").await["catchingUp"],
        Value::Null,
        "a gateway that does not serve makes no look"
    );
    let served = Served {
        api: "http://127.0.0.1:7421/v2".to_owned(),
        pages: "http://127.0.0.1:7421/pay".to_owned(),
    };
    world.gateway.served.set(served).unwrap();
    assert_eq!(ask(&world, "status").await["catchingUp"]["code"], "FIRST_LOOK");
    world.look().await;
    assert_eq!(ask(&world, "status").await["catchingUp"], Value::Null);
}

/// The status's warnings of double spends.
async fn attacks(world: &World) -> Vec<String> {
    let status = ask(world, "status").await;
    let warnings = status["warnings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|warning| warning["message"].as_str().unwrap().to_owned());
    warnings.filter(|warning| warning.contains("spend the coins")).collect()
}

#[tokio::test]
async fn the_warning_of_a_double_spend_survives_a_restart() {
    let world = World::new().await;
    let up_to_50 =
        PolicySettings { zero_conf_up_to: PriceBound::usd(50), ..PolicySettings::default() };
    let payment = world.payment_under(up_to_50).await;
    let paid = world.pay(&payment, payment.payment.amount_sats).await;
    world.pass_ms(60_000).await;
    assert_eq!(world.state(&payment), PaymentState::Confirmed);
    assert_eq!(attacks(&world).await, Vec::<String>::new());
    let replace = Replace { fee_rate_sat_vb: None, to: ReplaceTo::Customer };
    world.sandbox().replace(paid, replace, world.now_ms()).unwrap();
    world.look().await;
    assert!(attacks(&world).await[0].contains(&payment.payment.id.to_string()));
    let world = world.reopen().await;
    assert_eq!(attacks(&world).await.len(), 1, "a restart keeps the warning");
    world.mine(1).await;
    assert_eq!(world.state(&payment), PaymentState::Invalid);
    assert_eq!(
        attacks(&world).await,
        Vec::<String>::new(),
        "the warning ends once the payment is decided"
    );
}

#[tokio::test]
async fn several_silent_sources_are_one_sentence_with_a_remedy() {
    let world = of_dollars(vec![Box::new(Silent), Box::new(Silent)]).await;
    let sentence = "no rate source answers: check that this computer reaches the internet";
    assert_eq!(ask(&world, "status").await["warnings"][0]["message"], json!(sentence));
}

#[tokio::test]
async fn the_doctor_reports_a_currency_without_a_fixed_rate() {
    let world = of_dollars(vec![Box::new(Silent)]).await;
    let fixed = json!({"command": "setSetting", "name": "fixedRates", "value": "EUR:46000.00"});
    dispatch(&world.app, serde_json::from_value(fixed).unwrap(), &Actor::panel()).await.unwrap();
    let (ok, message) = doctor_on_rates(&world).await;
    assert!(!ok && message.contains("the setting fixedRates has no rate for them"), "{message}");
    assert!(!message.contains("check the network"), "{message}");
}

#[tokio::test]
async fn the_status_says_why_payments_are_refused() {
    let world = World::new().await;
    world.make_wallet().await;
    let refused = async || ask(&world, "status").await["paymentsRefused"].clone();
    world.look().await;
    world.advance_clock_ms(9 * 60_000);
    assert_eq!(refused().await, Value::Null);
    world.advance_clock_ms(61_000);
    let why = refused().await;
    assert_eq!(why["code"], "NOT_WATCHED_SILENT");
    let refusal = ask_for_payment(&world.gateway).await.unwrap_err();
    assert_eq!(why["message"], refusal.to_string());
}
