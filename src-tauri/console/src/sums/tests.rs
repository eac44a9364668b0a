//! Tests of the sums and reasons in the answers of commands.

use serde_json::{Value, json};
use tillgate_gateway::testing::{HALF_AN_HOUR_MS, World};

use crate::status::named;
use crate::{Actor, Command, dispatch};

async fn ask(world: &World, command: Value) -> Value {
    let command: Command = serde_json::from_value(command).unwrap();
    dispatch(&world.app, command, &Actor::panel()).await.unwrap()
}

async fn shown(world: &World, payment_id: &str) -> Value {
    ask(world, json!({"command": "showPayment", "paymentId": payment_id})).await
}

async fn listed(world: &World, what: &str) -> Value {
    let mut page = ask(world, json!({"command": what, "limit": 50, "offset": 0})).await;
    page["items"][0].take()
}

#[tokio::test]
async fn an_anomaly_shows_its_order_and_the_sums_of_accepting() {
    let world = World::new().await;
    let payment = world.payment().await;
    let id = payment.payment.id.to_string();
    world.pay(&payment, payment.payment.amount_sats / 2).await;
    world.mine(2).await;
    world.pass_ms(HALF_AN_HOUR_MS + 1_000).await;

    let row = listed(&world, "listPayments").await;
    assert_eq!((&row["state"], &row["whyInvalid"]), (&json!("INVALID"), &json!("SHORT_PAID")));
    assert_eq!(
        (&row["price"]["shown"], &row["paidWorth"]["shown"]),
        (&json!("10.00"), &json!("4.99"))
    );

    let anomaly = listed(&world, "listAnomalies").await;
    assert_eq!(anomaly["merchantTransactionId"], "order-1");
    assert_eq!(anomaly["price"]["shown"], "10.00");
    assert_eq!(anomaly["notified"], true);
    let acceptance = &anomaly["acceptance"];
    assert_eq!(acceptance["worth"]["shown"], "4.99");
    assert_eq!(acceptance["short"]["shown"], "5.01");
    assert_eq!((&acceptance["over"], &acceptance["notified"]), (&Value::Null, &json!(true)));
    assert_eq!(&shown(&world, &id).await["acceptance"], acceptance);

    let accepted = ask(&world, json!({"command": "acceptPayment", "paymentId": id})).await;
    assert_eq!(accepted["state"], "CONFIRMED");
    assert_eq!(accepted["paid"], acceptance["coins"], "the accepted sum equals the announced one");
    assert_eq!(accepted["acceptance"], Value::Null);
}

#[tokio::test]
async fn a_payment_is_either_short_or_overpaid_by_a_positive_sum() {
    let world = World::new().await;
    let [short, over] = [world.payment().await, world.payment().await];
    world.pay(&short, short.payment.amount_sats - 1_000).await;
    world.pay(&over, over.payment.amount_sats + 1_000).await;
    let view = shown(&world, &short.payment.id.to_string()).await;
    assert_eq!((&view["stillDue"]["sats"], &view["overpaidBy"]), (&json!(1_000), &Value::Null));
    let view = shown(&world, &over.payment.id.to_string()).await;
    assert_eq!((&view["stillDue"], &view["overpaidBy"]["sats"]), (&Value::Null, &json!(1_000)));
    assert_eq!(view["differenceWorth"]["shown"], "0.65");
    assert_eq!(listed(&world, "listPayments").await["overpaidBy"]["sats"], 1_000);
    assert_eq!(view["exchangeRateShown"], "65,000");
    assert_eq!((&view["confirmations"], &view["confirmationsWanted"]), (&json!(0), &json!(1)));
}

#[tokio::test]
async fn a_surplus_below_the_dust_limit_is_no_overpayment() {
    let world = World::new().await;
    let payment = world.payment().await;
    world.pay(&payment, payment.payment.amount_sats - 100).await;
    world.pay(&payment, 294).await;
    world.mine(2).await;
    let view = shown(&world, &payment.payment.id.to_string()).await;
    assert_eq!(
        (&view["state"], &view["paid"]["sats"]),
        (&json!("CONFIRMED"), &json!(payment.payment.amount_sats + 194))
    );
    assert_eq!((&view["stillDue"], &view["overpaidBy"]), (&Value::Null, &Value::Null));
    assert_eq!((&view["openAnomalies"], &view["anomalies"]), (&json!(0), &json!([])));
}

#[tokio::test]
async fn a_reversal_is_counted_and_its_history_says_withdrawn() {
    let world = World::new().await;
    let payment = world.payment().await;
    world.pay(&payment, payment.payment.amount_sats).await;
    world.mine(1).await;
    assert_eq!(ask(&world, json!({"command": "status"})).await["openReversals"], 0);
    world.sandbox().reorg(1, false, world.now_ms()).unwrap();
    world.look().await;

    let view = shown(&world, &payment.payment.id.to_string()).await;
    assert_eq!((&view["state"], &view["whyInvalid"]), (&json!("INVALID"), &json!("REVERSED")));
    let last = view["history"].as_array().unwrap().last().unwrap().clone();
    assert_eq!((&last["cause"], &last["whyInvalid"]), (&json!("withdrawn"), &json!("REVERSED")));
    assert_eq!(
        view["anomalies"][0]["acceptance"],
        Value::Null,
        "coins that are gone cannot be accepted"
    );
    assert_eq!(ask(&world, json!({"command": "status"})).await["openReversals"], 1);
    let dismissal = json!({"command": "dismissAnomaly", "anomalyId": view["anomalies"][0]["anomalyId"], "reason": "x"});
    ask(&world, dismissal).await;
    assert_eq!(ask(&world, json!({"command": "status"})).await["openReversals"], 0);
}

#[tokio::test]
async fn an_ambiguous_price_is_refused() {
    let world = World::new().await;
    world.make_wallet().await;
    let create = |amount: &str, currency: &str| {
        let command = json!({"command": "createPayment", "amount": amount, "currency": currency, "message": "",
            "merchantTransactionId": ""});
        serde_json::from_value::<Command>(command).unwrap()
    };
    for (typed, price) in [("10,00", "10.00"), (" 1.234,50", "1,234.50")] {
        let view = dispatch(&world.app, create(typed, "EUR"), &Actor::panel()).await.unwrap();
        assert_eq!(view["price"]["shown"], price, "{typed}");
    }
    for (typed, currency, field) in
        [("1,500", "JPY", "amount"), ("ten", "EUR", "amount"), ("1,500", "XXX", "currency")]
    {
        let error =
            dispatch(&world.app, create(typed, currency), &Actor::panel()).await.unwrap_err();
        assert_eq!(error.field.as_deref(), Some(field), "{typed} {currency}: {}", error.message);
    }
}

#[tokio::test]
async fn the_status_lists_currencies_and_failing_servers() {
    let world = World::new().await;
    let status = ask(&world, json!({"command": "status"})).await;
    assert_eq!(status["currencies"], json!(["USD", "EUR", "GBP", "AUD", "JPY", "CAD"]));
    assert_eq!(
        (&status["failingNotifications"], &status["failingServers"]),
        (&json!(0), &json!([]))
    );
    ask(&world, json!({"command": "setSetting", "name": "currencies", "value": "EUR,CHF"})).await;
    assert_eq!(
        ask(&world, json!({"command": "status"})).await["currencies"],
        json!(["EUR", "CHF"])
    );
}

#[test]
fn few_servers_are_named_and_more_are_counted() {
    let failing = |server: &str| tillgate_store::notifications::FailingServer {
        server: server.to_owned(),
        notifications: 2,
    };
    let servers = [
        "https://shop.example:443",
        "http://127.0.0.1:9000",
        "http://a.example:80",
        "http://b.example:80",
    ];
    let named = named(&servers.map(failing));
    assert_eq!(named, ["shop.example", "127.0.0.1:9000", "a.example", "1 more"]);
}
