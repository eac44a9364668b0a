//! Small sales, which are final as soon as the network shows them.

use serde_json::{Value, json};
use tillgate_gateway::testing::World;
use tillgate_gateway::testing::sending::world_with_coins;
use tillgate_sandbox::FaultsPatch;

use crate::{Actor, Command, CommandError, dispatch};

async fn answer(world: &World, command: Value) -> Result<Value, CommandError> {
    let command: Command = serde_json::from_value(command).unwrap();
    dispatch(&world.app, command, &Actor::panel()).await
}

async fn up_to(world: &World, typed: &str, currency: &str) -> Result<Value, CommandError> {
    let command = json!({"command": "setSmallSales", "currency": currency, "upTo": typed});
    answer(world, command).await
}

/// The number of confirmations that a sale at this price needs.
async fn confirmations(world: &World, price: &str, currency: &str) -> Value {
    let line = json!({"name": "Coffee", "price": price, "count": 1});
    let sale = json!({"command": "createSale", "currency": currency, "lines": [line]});
    answer(world, sale).await.unwrap()["confirmationsWanted"].clone()
}

#[tokio::test]
async fn a_bound_in_the_shops_currency_holds_for_its_sales_to_the_cent() {
    let world = world_with_coins(0).await;
    let none = answer(&world, json!({"command": "showSmallSales"})).await.unwrap();
    assert_eq!(none, json!({"upTo": null, "obstacle": null, "isServerForeign": false}));
    let shown = up_to(&world, "20,00", "EUR").await.unwrap();
    assert_eq!(shown["upTo"]["text"], "20.00");
    assert_eq!(shown["upTo"]["currency"], "EUR");
    assert_eq!(confirmations(&world, "20.00", "EUR").await, 0);
    assert_eq!(confirmations(&world, "20.01", "EUR").await, 1);
    let off = up_to(&world, " ", "EUR").await.unwrap();
    assert_eq!(off["upTo"], Value::Null);
    assert_eq!(confirmations(&world, "20.00", "EUR").await, 1);
}

#[tokio::test]
async fn a_bound_in_euros_holds_for_sales_in_dollars_by_the_rates() {
    let world = world_with_coins(0).await;
    // The sandbox's rates are 65,000 dollars and 60,000 euros.
    up_to(&world, "12", "EUR").await.unwrap();
    assert_eq!(confirmations(&world, "13.00", "USD").await, 0);
    assert_eq!(confirmations(&world, "13.01", "USD").await, 1);
}

#[tokio::test]
async fn a_server_without_fee_estimates_has_no_small_sales_and_says_so() {
    let world = world_with_coins(0).await;
    let faults = FaultsPatch { fee_rate_sat_vb: Some(Some(0)), ..FaultsPatch::default() };
    world.sandbox().set_faults(faults).unwrap();
    let refused = up_to(&world, "20", "USD").await.unwrap_err();
    assert_eq!(refused.field.as_deref(), Some("upTo"));
    assert!(refused.message.contains("try again in some hours"), "{refused}");
    let shown = answer(&world, json!({"command": "showSmallSales"})).await.unwrap();
    assert_eq!(shown["obstacle"]["code"], "SMALL_SALES_OBSTACLE_NO_ESTIMATE");
    up_to(&world, "", "USD").await.unwrap();
}

#[tokio::test]
async fn a_wrong_sum_is_refused_at_its_field() {
    let world = world_with_coins(0).await;
    for wrong in ["1.234", "-5", "abc", "0", "1000001", "4.501"] {
        let refused = up_to(&world, wrong, "USD").await.unwrap_err();
        assert_eq!(refused.field.as_deref(), Some("upTo"), "{wrong}: {refused}");
    }
}

#[tokio::test]
async fn a_bound_in_another_currency_never_rests_on_an_old_rate() {
    let world = world_with_coins(0).await;
    up_to(&world, "12", "EUR").await.unwrap();
    assert_eq!(confirmations(&world, "13.00", "USD").await, 0);
    let euros_gone = json!({"command": "sandbox", "method": "PUT", "path": "/sandbox/rates", "body": {"EUR": null}});
    answer(&world, euros_gone).await.unwrap();
    assert_eq!(confirmations(&world, "13.00", "USD").await, 1);
}

#[tokio::test]
async fn a_bound_needs_a_currency_of_the_shops_prices() {
    let world = world_with_coins(0).await;
    let refused = up_to(&world, "5000", "KES").await.unwrap_err();
    assert_eq!(refused.field.as_deref(), Some("currency"), "{refused}");
}

#[tokio::test]
async fn a_bound_can_fall_while_the_server_knows_no_usual_fees() {
    let world = world_with_coins(0).await;
    up_to(&world, "500", "USD").await.unwrap();
    let faults = FaultsPatch { fee_rate_sat_vb: Some(Some(0)), ..FaultsPatch::default() };
    world.sandbox().set_faults(faults).unwrap();
    assert!(up_to(&world, "501", "USD").await.is_err());
    assert_eq!(up_to(&world, "20", "USD").await.unwrap()["upTo"]["text"], "20.00");
}
