//! Tests of the takings: the payments that count, their day and their currency.

use serde_json::{Value, json};
use tillgate_domain::payment::PaymentState;
use tillgate_gateway::testing::World;
use tillgate_store::payments::PaymentRow;

use crate::{Actor, Command, CommandError, dispatch};

const DAY_MS: i64 = 24 * 60 * 60_000;

async fn ask(world: &World, bounds: Vec<i64>, week_days: u32) -> Result<Value, CommandError> {
    let asked = json!({"command": "showTakings", "bounds": bounds, "weekDays": week_days});
    let command: Command = serde_json::from_value(asked).unwrap();
    dispatch(&world.app, command, &Actor::panel()).await
}

/// The takings of four days, of which the third begins at this time. The week began with the second
/// day.
async fn takings(world: &World, third_ms: i64) -> Value {
    ask(world, (-2..=2).map(|day| third_ms + day * DAY_MS).collect(), 3).await.unwrap()
}

async fn paid(world: &World) -> PaymentRow {
    let payment = world.payment().await;
    world.pay(&payment, payment.payment.amount_sats).await;
    world.mine(1).await;
    payment
}

/// Price and number of payments of each sum.
fn sums(takings: &Value) -> [(&str, u64); 4] {
    ["today", "yesterday", "week", "all"].map(|period| {
        let sum = &takings[period];
        (sum["price"]["shown"].as_str().unwrap(), sum["payments"].as_u64().unwrap())
    })
}

#[tokio::test]
async fn a_payment_counts_on_the_day_of_its_first_confirmation() {
    let world = World::new().await;
    let start_ms = world.now_ms();
    let first = paid(&world).await;
    world.pass_ms(DAY_MS).await;
    // It is paid too much, and the rest may have to be refunded.
    let second = world.payment().await;
    world.pay(&second, second.payment.amount_sats + 10_000).await;
    let waiting = takings(&world, start_ms).await;
    assert_eq!(sums(&waiting["main"]), [("0.00", 0), ("10.00", 1), ("10.00", 1), ("10.00", 1)]);
    world.mine(1).await;

    let shown = takings(&world, start_ms).await;
    let main = &shown["main"];
    assert_eq!(
        (&main["currency"], &shown["others"], &shown["paymentsCount"]),
        (&json!("USD"), &json!([]), &json!(2))
    );
    assert_eq!(sums(main), [("10.00", 1), ("10.00", 1), ("20.00", 2), ("20.00", 2)]);
    let paid_sats = first.payment.amount_sats + second.payment.amount_sats;
    assert_eq!(main["all"]["paid"]["sats"], paid_sats);
    assert_eq!((&main["top"]["shown"], &main["half"]["shown"]), (&json!("10.00"), &json!("5.00")));
    let heights: Vec<_> = main["days"]
        .as_array()
        .unwrap()
        .iter()
        .map(|day| day["height"].as_u64().unwrap())
        .collect();
    assert_eq!(heights, [0, 0, 1_000, 1_000]);
}

#[tokio::test]
async fn the_week_before_is_compared_up_to_the_same_weekday() {
    let world = World::new().await;
    let start_ms = world.now_ms();
    paid(&world).await;
    // The payment is of the first of these days. The present week has some of the last ones.
    let less = json!("-10.00");
    let none = Value::Null;
    for (days, week_days, last_week, change) in
        [(8, 1, 1, &less), (7, 1, 1, &none), (9, 2, 1, &less), (10, 2, 0, &none)]
    {
        let bounds = (0..=days).map(|day| start_ms + day * DAY_MS).collect();
        let shown = ask(&world, bounds, week_days).await.unwrap();
        let main = &shown["main"];
        assert_eq!(main["lastWeek"]["payments"], last_week, "{days} days");
        assert_eq!(&main["weekChange"]["text"], change, "{days} days");
    }
}

#[tokio::test]
async fn coins_that_staff_accepted_although_too_few_count_with_their_part_of_the_price() {
    let world = World::new().await;
    let start_ms = world.now_ms();
    let payment = world.payment().await;
    world.pay(&payment, payment.payment.amount_sats / 2).await;
    world.mine(1).await;
    world.app.watcher.accept(payment.payment.id, None, "panel:ann").await.unwrap();
    assert_eq!(
        sums(&takings(&world, start_ms).await["main"])[3],
        ("4.99", 1),
        "half of the coins, rounded down"
    );
}

#[tokio::test]
async fn payments_that_were_reversed_or_not_paid_do_not_count() {
    let world = World::new().await;
    let start_ms = world.now_ms();
    let before = takings(&world, start_ms).await;
    assert_eq!((&before["paymentsCount"], &before["main"]["currency"]), (&json!(0), &json!("USD")));
    let payment = paid(&world).await;
    world.payment().await;
    assert_eq!(takings(&world, start_ms).await["main"]["all"]["payments"], 1);

    world.sandbox().reorg(1, false, world.now_ms()).unwrap();
    world.look().await;
    assert_eq!(world.state(&payment), PaymentState::Invalid);
    let shown = takings(&world, start_ms).await;
    assert_eq!(
        (&shown["main"]["all"]["payments"], &shown["paymentsCount"]),
        (&json!(0), &json!(2))
    );
}

#[tokio::test]
async fn the_shops_currency_leads_if_anything_was_taken_in_it() {
    let world = World::new().await;
    world.make_wallet().await;
    let start_ms = world.now_ms();
    paid(&world).await;
    for _ in 0..2 {
        let create = json!({"command": "createPayment", "amount": "7.50", "currency": "EUR", "message": "", "merchantTransactionId": ""});
        let create: Command = serde_json::from_value(create).unwrap();
        let created = dispatch(&world.app, create, &Actor::panel()).await.unwrap();
        let payment =
            world.reload_payment(&created["paymentId"].as_str().unwrap().parse().unwrap());
        world.pay(&payment, payment.payment.amount_sats).await;
        world.mine(1).await;
    }
    for (own, main, other) in [
        ("EUR", ("EUR", "15.00"), ("USD", "10.00")),
        ("USD", ("USD", "10.00"), ("EUR", "15.00")),
        ("GBP", ("EUR", "15.00"), ("USD", "10.00")),
    ] {
        let bounds = [start_ms, start_ms + DAY_MS];
        let asked =
            json!({"command": "showTakings", "bounds": bounds, "weekDays": 1, "currency": own});
        let command: Command = serde_json::from_value(asked).unwrap();
        let shown = dispatch(&world.app, command, &Actor::panel()).await.unwrap();
        let all = |takings: &Value| {
            let price = takings["all"]["price"]["shown"].as_str().unwrap().to_owned();
            (takings["currency"].as_str().unwrap().to_owned(), price)
        };
        let told = |(currency, price): (&str, &str)| (currency.to_owned(), price.to_owned());
        assert_eq!(all(&shown["main"]), told(main), "the shop's currency is {own}");
        let others: Vec<_> = shown["others"].as_array().unwrap().iter().map(all).collect();
        assert_eq!(others, [told(other)]);
    }
}

#[tokio::test]
async fn bounds_that_are_no_days_are_refused() {
    let world = World::new().await;
    for (bounds, week_days, field) in
        [(vec![0], 1, "bounds"), (vec![5, 4], 1, "bounds"), (vec![0, 1], 2, "weekDays")]
    {
        let refused = ask(&world, bounds, week_days).await.unwrap_err();
        assert_eq!(refused.field.as_deref(), Some(field));
    }
}
