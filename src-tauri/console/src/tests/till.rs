//! The till: numbered sales, the strip of waiting ones, and the products.

use serde_json::{Value, json};
use tillgate_domain::id::Id;
use tillgate_domain::payment::LIFETIME_MS;
use tillgate_gateway::testing::World;
use tillgate_gateway::testing::sending::world_with_coins;
use tillgate_sandbox::{Replace, ReplaceTo};

use crate::{Actor, Command, CommandError, dispatch};

const MINUTE_MS: i64 = 60_000;

async fn answer(world: &World, command: Value) -> Result<Value, CommandError> {
    let command: Command = serde_json::from_value(command).unwrap();
    dispatch(&world.app, command, &Actor::panel()).await
}

async fn sells(world: &World, lines: Value, tip: &str) -> Result<Value, CommandError> {
    let sale = json!({"command": "createSale", "currency": "USD", "lines": lines, "tip": tip});
    answer(world, sale).await
}

async fn sells_a_coffee(world: &World) -> Id {
    let coffee = json!([{"name": "Coffee", "price": "4.50", "count": 1}]);
    let payment = sells(world, coffee, "").await.unwrap();
    payment["paymentId"].as_str().unwrap().parse().unwrap()
}

async fn customer_pays(world: &World, payment: Id, per_cent: u64) {
    let row = world.reload_payment(&payment);
    world.pay(&row, row.payment.amount_sats * per_cent / 100).await;
}

/// The number and state of each waiting sale.
async fn waiting(world: &World) -> Vec<(u64, String)> {
    let sales = answer(world, json!({"command": "listWaitingSales"})).await.unwrap();
    let told = |sale: &Value| {
        (sale["saleNumber"].as_u64().unwrap(), sale["state"].as_str().unwrap().to_owned())
    };
    sales.as_array().unwrap().iter().map(told).collect()
}

fn sale(number: u64, state: &str) -> (u64, String) {
    (number, state.to_owned())
}

#[tokio::test]
async fn a_sale_has_a_number_and_its_lines_and_tip_add_up_to_its_price() {
    let world = world_with_coins(0).await;
    let lines = json!([
        {"name": "Coffee", "price": "3.50", "count": 2, "taxPerMille": 190},
        {"name": "", "price": "1,234.50", "count": 1},
        {"name": "Cake", "price": "4,20", "count": 1, "taxPerMille": 70},
    ]);
    let payment = sells(&world, lines, "1.00").await.unwrap();
    assert_eq!(payment["saleNumber"], 1);
    assert_eq!(payment["price"]["text"], "1246.70");
    let lines = payment["sale"]["lines"].as_array().unwrap();
    let sums: Vec<_> = lines.iter().map(|line| line["sum"]["text"].as_str().unwrap()).collect();
    assert_eq!(sums, ["7.00", "1234.50", "4.20"]);
    assert_eq!(payment["sale"]["tip"]["text"], "1.00");
    let taxes = payment["sale"]["taxes"].as_array().unwrap();
    let tax = |tax: &Value| {
        let text = |name: &str| tax[name]["text"].as_str().unwrap().to_owned();
        (tax["perMille"].as_u64().unwrap(), text("net"), text("tax"), text("gross"))
    };
    let taxes: Vec<_> = taxes.iter().map(tax).collect();
    let row = |rate, net: &str, tax: &str, gross: &str| {
        (rate, net.to_owned(), tax.to_owned(), gross.to_owned())
    };
    assert_eq!(taxes, [row(70, "3.93", "0.27", "4.20"), row(190, "5.88", "1.12", "7.00")]);

    let coffee = sells_a_coffee(&world).await;
    let shown = json!({"command": "showPayment", "paymentId": coffee.to_string()});
    assert_eq!(answer(&world, shown).await.unwrap()["saleNumber"], 2);
    let other = world.payment_to_wallet().await;
    let shown = json!({"command": "showPayment", "paymentId": other.payment.id.to_string()});
    let other = answer(&world, shown).await.unwrap();
    assert_eq!((&other["saleNumber"], &other["sale"]), (&Value::Null, &Value::Null));
}

#[tokio::test]
async fn a_wrong_line_is_named_and_nothing_is_sold() {
    let world = world_with_coins(0).await;
    for (line, field) in [
        (json!({"name": "Tea", "price": "1.234", "count": 1}), "lines[0].price"),
        (json!({"name": "Tea", "price": "0", "count": 1}), "lines[0].price"),
        (json!({"name": "Tea", "price": "3", "count": 0}), "lines[0].count"),
        (json!({"name": "T\na", "price": "3", "count": 1}), "lines[0].name"),
        (
            json!({"name": "", "price": "3", "count": 1, "taxPerMille": 1001}),
            "lines[0].taxPerMille",
        ),
    ] {
        let error = sells(&world, json!([line]), "").await.unwrap_err();
        assert_eq!(
            (error.error_type.as_str(), error.field.as_deref()),
            ("VALIDATION_FAILED", Some(field))
        );
    }
    let most = json!([{"name": "", "price": "90000000000000", "count": 9999}]);
    let error = sells(&world, most, "").await.unwrap_err();
    assert_eq!(error.field.as_deref(), Some("lines"));
    assert_eq!(sells(&world, json!([]), "").await.unwrap_err().field.as_deref(), Some("lines"));
    assert_eq!(waiting(&world).await, []);
    assert_eq!(sells_a_coffee(&world).await, world.reload_payment(&only(&world).await).payment.id);
}

async fn only(world: &World) -> Id {
    let sales = answer(world, json!({"command": "listWaitingSales"})).await.unwrap();
    let [sale] = sales.as_array().unwrap().as_slice() else { panic!("{sales}") };
    sale["paymentId"].as_str().unwrap().parse().unwrap()
}

#[tokio::test]
async fn a_sale_waits_until_it_is_paid_or_over_and_shows_its_end() {
    let world = world_with_coins(0).await;
    let paid = sells_a_coffee(&world).await;
    let left = sells_a_coffee(&world).await;
    assert_eq!(waiting(&world).await, [sale(1, "NEW"), sale(2, "NEW")]);
    customer_pays(&world, paid, 100).await;
    assert_eq!(waiting(&world).await, [sale(1, "UNCONFIRMED"), sale(2, "NEW")]);
    world.mine(1).await;
    assert_eq!(waiting(&world).await, [sale(1, "CONFIRMED"), sale(2, "NEW")]);

    world.advance_clock_ms(9 * MINUTE_MS);
    assert_eq!(waiting(&world).await, [sale(1, "CONFIRMED"), sale(2, "NEW")]);
    world.advance_clock_ms(MINUTE_MS);
    assert_eq!(waiting(&world).await, [sale(2, "NEW")]);
    world.advance_clock_ms(LIFETIME_MS);
    world.look().await;
    assert_eq!(world.state(&world.reload_payment(&left)).as_str(), "EXPIRED");
    assert_eq!(waiting(&world).await, []);
}

#[tokio::test]
async fn a_short_sale_stays_until_staff_have_decided() {
    let world = world_with_coins(0).await;
    let short = sells_a_coffee(&world).await;
    customer_pays(&world, short, 50).await;
    assert_eq!(waiting(&world).await, [sale(1, "UNDERPAID")]);
    world.mine(3).await;
    world.advance_clock_ms(30 * MINUTE_MS);
    world.mine(1).await;
    assert_eq!(waiting(&world).await, [sale(1, "INVALID")]);
    let accept = json!({"command": "acceptPayment", "paymentId": short.to_string()});
    answer(&world, accept).await.unwrap();
    assert_eq!(waiting(&world).await, [sale(1, "CONFIRMED")]);
    world.advance_clock_ms(10 * MINUTE_MS);
    assert_eq!(waiting(&world).await, []);
}

#[tokio::test]
async fn a_sale_that_the_customer_took_back_stays_in_sight_for_ten_minutes() {
    let world = world_with_coins(0).await;
    let coffee = sells_a_coffee(&world).await;
    customer_pays(&world, coffee, 100).await;
    world.advance_clock_ms(LIFETIME_MS);
    world.look().await;
    let row = world.reload_payment(&coffee);
    let txid = world.gateway.store.read(|reader| reader.receipts(row.seq)).unwrap()[0].txid;
    let replace = Replace { fee_rate_sat_vb: None, to: ReplaceTo::Customer };
    world.sandbox().replace(txid, replace, world.now_ms()).unwrap();
    world.mine(1).await;
    assert_eq!(waiting(&world).await, [sale(1, "INVALID")]);
    world.advance_clock_ms(10 * MINUTE_MS);
    assert_eq!(waiting(&world).await, []);
}

#[tokio::test]
async fn a_sale_is_found_by_its_number() {
    let world = world_with_coins(0).await;
    sells_a_coffee(&world).await;
    let second = sells_a_coffee(&world).await;
    for search in ["No. 2", "Nr. 2", "#2"] {
        let list = json!({"command": "listPayments", "limit": 9, "offset": 0, "search": search});
        let found = answer(&world, list).await.unwrap();
        assert_eq!(found["items"][0]["paymentId"], second.to_string(), "{search}");
        assert_eq!(found["itemsCount"], 1);
    }
}

#[tokio::test]
async fn the_news_name_the_number_of_a_sale() {
    let world = world_with_coins(0).await;
    let coffee = sells_a_coffee(&world).await;
    customer_pays(&world, coffee, 100).await;
    let news = answer(&world, json!({"command": "listNews"})).await.unwrap();
    assert_eq!(news["items"][0]["event"]["order"]["saleNumber"], 1);
}

#[tokio::test]
async fn products_keep_their_order_and_are_refused_as_a_whole() {
    let world = world_with_coins(0).await;
    let save = |products: Value| json!({"command": "saveProducts", "products": products});
    let tea = json!({"name": " Tea ", "price": "3", "currency": "USD"});
    let cake = json!(
        {"name": "Cake", "price": "4,20", "currency": "EUR", "taxPerMille": 70, "color": "#C0392B"}
    );
    answer(&world, save(json!([tea, cake]))).await.unwrap();
    let products = answer(&world, json!({"command": "listProducts"})).await.unwrap();
    assert_eq!(products[0]["name"], "Tea");
    assert_eq!(products[0]["price"]["text"], "3.00");
    assert_eq!(products[1]["price"]["text"], "4.20");
    assert_eq!(
        (&products[1]["taxPerMille"], &products[1]["color"]),
        (&json!(70), &json!("#c0392b"))
    );

    let free = json!({"name": "Water", "price": "0", "currency": "USD"});
    let error = answer(&world, save(json!([cake, free]))).await.unwrap_err();
    assert_eq!(error.field.as_deref(), Some("products[1].price"));
    let many = save(Value::Array(vec![tea.clone(); 61]));
    assert_eq!(answer(&world, many).await.unwrap_err().field.as_deref(), Some("products"));
    assert_eq!(answer(&world, json!({"command": "listProducts"})).await.unwrap(), products);

    answer(&world, save(json!([cake, tea]))).await.unwrap();
    let products = answer(&world, json!({"command": "listProducts"})).await.unwrap();
    assert_eq!((&products[0]["name"], &products[1]["name"]), (&json!("Cake"), &json!("Tea")));
}
