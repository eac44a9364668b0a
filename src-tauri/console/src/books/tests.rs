//! Tests of the books: taxes as on the receipts, makers, and payments that do not count.

use serde_json::{Value, json};
use tillgate_domain::payment::PaymentState;
use tillgate_gateway::payments::{self, Author, Created, PaymentRequest};
use tillgate_gateway::testing::World;
use tillgate_gateway::testing::sending::world_with_coins;
use tillgate_store::notify_hosts::NotifyHosts;
use tillgate_store::payments::PaymentRow;

use crate::{Actor, Command, CommandError, dispatch};

const MONTH_MS: i64 = 30 * 24 * 60 * 60_000;

async fn answer(world: &World, command: Value) -> Result<Value, CommandError> {
    let command: Command = serde_json::from_value(command).unwrap();
    dispatch(&world.app, command, &Actor::panel()).await
}

/// The books of two months from this time on, in the only currency.
async fn books(world: &World, start_ms: i64) -> Value {
    let bounds = [start_ms, start_ms + MONTH_MS, start_ms + 2 * MONTH_MS];
    let books = answer(world, json!({"command": "showBooks", "bounds": bounds})).await.unwrap();
    let currencies = books["currencies"].as_array().unwrap();
    assert!(currencies.len() <= 1, "{books}");
    currencies.first().cloned().unwrap_or_default()
}

/// Creates a payment by a command, and reads it.
async fn created(world: &World, command: Value) -> PaymentRow {
    let payment = answer(world, command).await.unwrap();
    world.reload_payment(&payment["paymentId"].as_str().unwrap().parse().unwrap())
}

async fn sells(world: &World, lines: Value, tip: &str) -> PaymentRow {
    let sale = json!({"command": "createSale", "currency": "USD", "lines": lines, "tip": tip});
    created(world, sale).await
}

async fn sells_a_coffee(world: &World) -> PaymentRow {
    let coffee = json!([{"name": "Coffee", "price": "4.50", "count": 1, "taxPerMille": 190}]);
    sells(world, coffee, "").await
}

async fn paid(world: &World, payment: &PaymentRow, sats: u64) {
    world.pay(payment, sats).await;
    world.mine(1).await;
}

async fn paid_in_full(world: &World, payment: &PaymentRow) {
    paid(world, payment, payment.payment.amount_sats).await;
}

/// A payment of 10 USD by the API key `web`, which may have been replaced.
async fn web_shop_is_paid(world: &World) {
    let create = json!({"command": "createKey", "name": "web", "permissions": "shop"});
    // The key is revoked first, if it exists already.
    let _ = answer(world, json!({"command": "revokeKey", "name": "web"})).await;
    answer(world, create).await.unwrap();
    let key = world.gateway.store.read(|reader| reader.live_api_key("web")).unwrap().unwrap();
    let author = Author {
        key_id: Some(key.key_id),
        label: key.name,
        notification_url_optional: true,
        notify_hosts: NotifyHosts::default(),
    };
    let request = PaymentRequest {
        amount: Some("10.00".into()),
        currency: Some("USD".into()),
        message: Some("".into()),
        merchant_transaction_id: Some("".into()),
        ..PaymentRequest::default()
    };
    let made = payments::create(&world.gateway, author, request, None).await.unwrap();
    let Created::New { payment_id, .. } = made else { panic!("it is a new payment") };
    paid_in_full(world, &world.reload_payment(&payment_id)).await;
}

/// The text of a sum.
fn text(sum: &Value) -> &str {
    sum["text"].as_str().unwrap()
}

/// The makers with their number of payments and their price.
fn makers(books: &Value) -> Vec<(&str, u64, &str)> {
    let makers = books["byMaker"].as_array().unwrap().iter();
    makers
        .map(|one| {
            let name = one["key"].as_str().or(one["maker"].as_str()).unwrap();
            (name, one["sum"]["payments"].as_u64().unwrap(), text(&one["sum"]["price"]))
        })
        .collect()
}

#[tokio::test]
async fn a_month_has_its_takings_by_tax_rate_and_by_maker() {
    let world = world_with_coins(0).await;
    let start_ms = world.now_ms();
    let lines = json!([
        {"name": "Coffee", "price": "3.50", "count": 2, "taxPerMille": 190},
        {"name": "Cake", "price": "4.20", "count": 1, "taxPerMille": 70},
        {"name": "", "price": "0.25", "count": 1},
    ]);
    let sale = sells(&world, lines, "1.00").await;
    // The customer pays too much. The rest may have to be refunded.
    paid(&world, &sale, sale.payment.amount_sats + 10_000).await;
    let coffee = sells_a_coffee(&world).await;
    paid_in_full(&world, &coffee).await;
    for _ in 0..3 {
        web_shop_is_paid(&world).await;
    }
    let by_hand = json!({"command": "createPayment", "amount": "7.50", "currency": "USD", "message": "", "merchantTransactionId": ""});
    paid_in_full(&world, &created(&world, by_hand).await).await;

    let books = books(&world, start_ms).await;
    assert_eq!(text(&books["all"]["price"]), "54.45");
    assert_eq!(
        makers(&books),
        [("web", 3, "30.00"), ("TILL", 2, "16.95"), ("STAFF", 1, "7.50")],
        "several keys of one name are one shop"
    );
    let taxes = books["taxes"].as_array().unwrap();
    let tax = |tax: &Value| {
        (
            tax["perMille"].as_u64().unwrap(),
            ["net", "tax", "gross"].map(|sum| text(&tax[sum]).to_owned()),
        )
    };
    let row = |rate, sums: [&str; 3]| (rate, sums.map(str::to_owned));
    assert_eq!(
        taxes.iter().map(tax).collect::<Vec<_>>(),
        // 5.88 and 3.78 of two receipts.
        [row(70, ["3.93", "0.27", "4.20"]), row(190, ["9.66", "1.84", "11.50"])]
    );
    assert_eq!((text(&books["untaxed"]), text(&books["withoutLines"])), ("1.25", "37.50"));
}

#[tokio::test]
async fn a_sale_with_too_few_coins_has_no_taxes_as_on_its_receipt() {
    let world = world_with_coins(0).await;
    let start_ms = world.now_ms();
    let coffee = sells_a_coffee(&world).await;
    paid(&world, &coffee, coffee.payment.amount_sats / 2).await;
    world.app.watcher.accept(coffee.payment.id, None, "panel:ann").await.unwrap();
    let books = books(&world, start_ms).await;
    assert_eq!(books["taxes"], json!([]));
    assert_eq!(text(&books["untaxed"]), "0.00");
    assert_eq!(text(&books["withoutLines"]), text(&books["all"]["price"]));
    assert_eq!(makers(&books), [("TILL", 1, text(&books["all"]["price"]))]);
}

#[tokio::test]
async fn a_sale_that_was_reversed_leaves_the_books() {
    let world = world_with_coins(0).await;
    let start_ms = world.now_ms();
    let coffee = sells_a_coffee(&world).await;
    paid_in_full(&world, &coffee).await;
    assert_eq!(text(&books(&world, start_ms).await["taxes"][0]["gross"]), "4.50");
    world.sandbox().reorg(1, false, world.now_ms()).unwrap();
    world.look().await;
    assert_eq!(world.state(&coffee), PaymentState::Invalid);
    assert_eq!(books(&world, start_ms).await, Value::Null, "no currency has takings");
}

#[tokio::test]
async fn each_month_has_its_own_sum() {
    let world = world_with_coins(0).await;
    let start_ms = world.now_ms();
    for month in 0..3 {
        world.pass_ms(start_ms + month * MONTH_MS + 60_000 - world.now_ms()).await;
        paid_in_full(&world, &sells_a_coffee(&world).await).await;
    }
    let books = books(&world, start_ms).await;
    let months: Vec<_> = books["periods"].as_array().unwrap().iter().collect();
    let prices: Vec<_> = months.iter().map(|month| text(&month["sum"]["price"])).collect();
    assert_eq!(prices, ["4.50", "4.50"], "the third month is not asked for");
    assert_eq!((text(&books["all"]["price"]), text(&books["top"])), ("9.00", "6.00"));
    assert_eq!(text(&books["taxes"][0]["gross"]), "9.00");
    assert_eq!(months[0]["height"], 750);
}

#[tokio::test]
async fn a_table_has_a_line_for_each_month_and_columns_for_each_tax_rate() {
    let world = world_with_coins(0).await;
    let start_ms = world.now_ms();
    paid_in_full(&world, &sells_a_coffee(&world).await).await;
    web_shop_is_paid(&world).await;
    world.pass_ms(MONTH_MS).await;
    let cake = json!([{"name": "Cake", "price": "4.20", "count": 1, "taxPerMille": 55}]);
    paid_in_full(&world, &sells(&world, cake, "1.00").await).await;
    let bounds: Vec<_> = (0..=3).map(|month| start_ms + month * MONTH_MS).collect();
    let days = ["2026-01-01", "2026-02-01", "2026-03-01"];
    let ask = json!({"command": "booksSheet", "bounds": bounds, "days": days, "locale": "de-AT"});
    let table = answer(&world, ask).await.unwrap();
    let lines: Vec<_> = table["text"].as_str().unwrap().lines().collect();
    let heading = "\u{feff}from;currency;payments;price;btcPaid;net 5.5%;tax 5.5%;gross 5.5%;\
        net 19%;tax 19%;gross 19%;withoutTaxRate;withoutLines";
    assert_eq!(lines[0], heading);
    let without_coins = |line: &str| {
        let cells: Vec<_> = line.split(';').enumerate().filter(|(at, _)| *at != 4).collect();
        cells.into_iter().map(|(_, cell)| cell.to_owned()).collect::<Vec<_>>().join(";")
    };
    assert_eq!(
        lines[1..].iter().map(|line| without_coins(line)).collect::<Vec<_>>(),
        [
            "2026-01-01;USD;2;14,50;0,00;0,00;0,00;3,78;0,72;4,50;0,00;10,00",
            "2026-02-01;USD;1;5,20;3,98;0,22;4,20;0,00;0,00;0,00;1,00;0,00",
        ],
        "the third month has no takings"
    );
    assert_eq!(table["rows"], 2);

    for days in [json!(["2026-01-01"]), json!(["=1", "2026-02-01", "2026-03-01"])] {
        let ask = json!({"command": "booksSheet", "bounds": bounds, "days": days});
        assert_eq!(answer(&world, ask).await.unwrap_err().field.as_deref(), Some("days"));
    }
}

#[tokio::test]
async fn bounds_that_do_not_ascend_are_refused() {
    let world = World::new().await;
    for bounds in [vec![], vec![1], vec![2, 1]] {
        let asked = json!({"command": "showBooks", "bounds": bounds});
        assert_eq!(answer(&world, asked).await.unwrap_err().field.as_deref(), Some("bounds"));
    }
}

#[tokio::test]
async fn a_statement_has_its_balances_and_the_sums_of_its_kinds() {
    let world = world_with_coins(2).await;
    let before = world.gateway.time.now().plus_ms(1).iso_millis();
    world.advance_clock_ms(60_000);
    paid_in_full(&world, &sells_a_coffee(&world).await).await;
    let payout = world.approved_payout(500_000).await;
    world.advance_clock_ms(60_000);
    world.pass_sender().await;
    world.mine(1).await;

    let ask = json!({"command": "statementSums", "currency": "USD", "from": before});
    let sums = answer(&world, ask).await.unwrap();
    assert_eq!(sums["opening"]["sats"], 2_000_000);
    let kinds = sums["byKind"].as_array().unwrap();
    let names: Vec<_> = kinds.iter().map(|kind| kind["kind"].as_str().unwrap()).collect();
    assert_eq!(names[..3], ["PAYMENT", "PAYOUT", "FEE"]);
    assert_eq!(text(&kinds[0]["worth"]), "4.50");
    let moved: i64 = kinds.iter().map(|kind| kind["amount"]["sats"].as_i64().unwrap()).sum();
    assert_eq!(sums["closing"]["sats"], 2_000_000 + moved);
    let fees: i64 = kinds[2..].iter().map(|kind| kind["amount"]["sats"].as_i64().unwrap()).sum();
    assert_eq!(sums["fees"]["sats"], -fees);

    let payouts =
        json!({"command": "statement", "currency": "USD", "from": before, "kind": "PAYOUT"});
    let payouts = answer(&world, payouts).await.unwrap();
    let rows = payouts["items"].as_array().unwrap();
    assert_eq!((rows.len(), &rows[0]["payoutId"]), (1, &json!(payout.to_string())));
}
