mod chain;

use serde_json::{Value, json};
use tillgate_domain::payment::PaymentState::{Confirmed, Expired, New, Unconfirmed};

use super::{CallError, call};
use crate::testing::{HALF_AN_HOUR_MS, World};

async fn ok(world: &World, method: &str, path: &str, body: Value) -> Value {
    call(&world.app, method, path, body).await.unwrap()
}

/// The names of the invalid fields.
async fn field_errors(world: &World, method: &str, path: &str, body: Value) -> Vec<String> {
    match call(&world.app, method, path, body).await {
        Err(CallError::Invalid(field_errors)) => {
            field_errors.into_iter().filter_map(|it| it.field).map(|it| it.into()).collect()
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn the_effects_of_a_call_are_stored_before_its_answer() {
    let world = World::new().await;
    let payment = world.payment().await;
    let pay = format!("/sandbox/payments/{}/pay", payment.payment.id);
    let answer = ok(&world, "POST", &pay, Value::Null).await;
    assert_eq!(world.state(&payment), Unconfirmed);
    let status = ok(&world, "GET", "/sandbox", Value::Null).await;
    assert_eq!(status["mempool"], answer["btcTxIds"]);
    ok(&world, "POST", "/sandbox/blocks", json!({})).await;
    assert_eq!(world.state(&payment), Confirmed);
    assert_eq!(world.notified_field(&payment.payment.id, "status"), ["UNCONFIRMED", "CONFIRMED"]);
    assert_eq!(
        field_errors(&world, "POST", &pay, json!({})).await,
        ["btcAmount"],
        "nothing remains to be paid"
    );
    ok(&world, "POST", "/sandbox/reorg", json!({"depth": 1, "keepTransactions": false})).await;
    assert_eq!(world.state(&payment), tillgate_domain::payment::PaymentState::Invalid);
}

#[tokio::test]
async fn the_customer_pays_in_parts_and_with_confirmations() {
    let world = World::new().await;
    let payment = world.payment().await;
    let pay = format!("/sandbox/payments/{}/pay", payment.payment.id);
    let answer =
        ok(&world, "POST", &pay, json!({"parts": 3, "confirmations": 1, "feeRate": "7"})).await;
    assert_eq!(answer["btcTxIds"].as_array().unwrap().len(), 3);
    assert_eq!(world.state(&payment), Confirmed);
}

#[tokio::test]
async fn the_customer_pays_the_dust_limit_if_less_remains() {
    let world = World::new().await;
    let payment = world.payment().await;
    world.pay(&payment, payment.payment.amount_sats - 1).await;
    ok(&world, "POST", &format!("/sandbox/payments/{}/pay", payment.payment.id), json!({})).await;
    let row = world.reload_payment(&payment.payment.id);
    assert_eq!(row.payment.paid_sats, payment.payment.amount_sats - 1 + 294);
}

#[tokio::test]
async fn a_step_of_the_clock_expires_payments_and_survives_a_restart() {
    let world = World::new().await;
    let payment = world.payment().await;
    let before = world.now_ms();
    ok(&world, "POST", "/sandbox/clock", json!({"advanceSeconds": HALF_AN_HOUR_MS / 1_000 + 1}))
        .await;
    assert!(world.now_ms() - before > HALF_AN_HOUR_MS);
    assert_eq!(world.state(&payment), Expired);
    let world = world.reopen().await;
    assert!(
        world.now_ms() - before > HALF_AN_HOUR_MS,
        "the step of the clock was lost at the restart"
    );
}

#[tokio::test]
async fn a_set_rate_is_used_at_once_until_it_is_withdrawn() {
    let world = World::new().await;
    let usd = tillgate_domain::money::Currency::USD;
    let status = ok(&world, "PUT", "/sandbox/rates", json!({"USD": "70000.00"})).await;
    assert_eq!(status["rates"]["USD"].to_string(), "70000.0000");
    let stored = world.gateway.market.rates.rate_for(usd, world.gateway.time.now()).unwrap();
    assert_eq!(stored.rate.format(), "70000.0000");
    ok(&world, "PUT", "/sandbox/rates", json!({"USD": null})).await;
    assert!(world.gateway.market.rates.rate_for(usd, world.gateway.time.now()).is_err());
}

#[tokio::test]
async fn a_payment_during_chain_down_is_found_by_the_next_look() {
    let world = World::new().await;
    let payment = world.payment().await;
    ok(&world, "PUT", "/sandbox/faults", json!({"chainDown": true, "latencyMs": 1})).await;
    ok(&world, "POST", &format!("/sandbox/payments/{}/pay", payment.payment.id), json!({})).await;
    assert_eq!(world.state(&payment), New);
    let status = ok(&world, "PUT", "/sandbox/faults", json!({"chainDown": false})).await;
    assert_eq!(
        (&status["faults"]["chainDown"], &status["faults"]["latencyMs"]),
        (&json!(false), &json!(1))
    );
    assert_eq!(world.state(&payment), Unconfirmed);
}

#[tokio::test]
async fn the_customer_reclaims_or_bumps_an_unconfirmed_transaction() {
    let world = World::new().await;
    let payment = world.payment().await;
    let first = world.pay(&payment, payment.payment.amount_sats).await;
    let replace = format!("/sandbox/transactions/{first}/replace");
    let bumped = ok(&world, "POST", &replace, json!({"toCustomer": false})).await;
    assert_eq!(world.state(&payment), Unconfirmed);
    assert!(matches!(
        call(&world.app, "POST", &replace, json!({})).await,
        Err(CallError::Conflict(_))
    ));
    let second = bumped["btcTxIds"][0].as_str().unwrap();
    ok(&world, "POST", &format!("/sandbox/transactions/{second}/replace"), Value::Null).await;
    assert_eq!(world.state(&payment), New);
}

#[tokio::test]
async fn all_errors_of_a_body_are_named_at_once() {
    let world = World::new().await;
    let payment = world.payment().await;
    let pay = format!("/sandbox/payments/{}/pay", payment.payment.id);
    let wrong =
        json!({"btcAmount": "0.123456789", "parts": 0, "feeRate": 1.5, "confirmations": 1001});
    assert_eq!(
        field_errors(&world, "POST", &pay, wrong).await,
        ["btcAmount", "parts", "feeRate", "confirmations"]
    );
    assert_eq!(
        field_errors(&world, "POST", &pay, json!({"btcAmount": "0.00000001"})).await,
        ["btcAmount"]
    );
    assert_eq!(
        field_errors(&world, "POST", "/sandbox/blocks", json!({"count": 0, "empty": 1})).await,
        ["count", "empty"]
    );
    assert_eq!(field_errors(&world, "POST", "/sandbox/reorg", json!({})).await, ["depth"]);
    assert_eq!(
        field_errors(&world, "POST", "/sandbox/reorg", json!({"depth": 1_000_000})).await,
        ["depth"]
    );
    assert_eq!(
        field_errors(&world, "POST", "/sandbox/clock", json!({"advanceSeconds": -1})).await,
        ["advanceSeconds"]
    );
    assert_eq!(
        field_errors(&world, "PUT", "/sandbox/rates", json!({"USD": "0", "XXX": 1})).await,
        ["USD", "XXX"]
    );
    let wrong = json!({"broadcast": "maybe", "broadcastRejects": 1, "keysLocked": "yes", "feeRate": 1.5, "latencyMs": "x"});
    assert_eq!(
        field_errors(&world, "PUT", "/sandbox/faults", wrong).await,
        ["broadcast", "broadcastRejects", "keysLocked", "feeRate", "latencyMs"]
    );
    for wrong in
        [json!({"broadcast": "Reject"}), json!({"broadcast": true}), json!({"broadcast": ""})]
    {
        assert_eq!(field_errors(&world, "PUT", "/sandbox/faults", wrong).await, ["broadcast"]);
    }
    for fee_rate in [json!(0), json!(-1), json!("null"), json!(100_001)] {
        assert_eq!(
            field_errors(&world, "PUT", "/sandbox/faults", json!({"feeRate": fee_rate})).await,
            ["feeRate"]
        );
    }
    for min in [
        json!(-1),
        json!("1.0001"),
        json!("1e2"),
        json!("1_0"),
        json!("."),
        json!(10_001),
        json!([]),
    ] {
        assert_eq!(
            field_errors(&world, "POST", "/sandbox/blocks", json!({"minFeeRate": min})).await,
            ["minFeeRate"]
        );
    }
    let mainnet = json!({"address": "bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq"});
    assert_eq!(
        field_errors(&world, "POST", "/sandbox/send", mainnet).await,
        ["address", "btcAmount"]
    );
    assert_eq!(world.state(&payment), New);
}

#[tokio::test]
async fn an_unknown_subject_is_not_found() {
    let world = World::new().await;
    for path in [
        "/sandbox/payments/0000000000000000000000000000000000000000/pay".to_owned(),
        format!("/sandbox/transactions/{}/evict", "00".repeat(32)),
        "/sandbox/transactions/abc/replace".to_owned(),
    ] {
        assert!(
            matches!(call(&world.app, "POST", &path, json!({})).await, Err(CallError::NotFound(_))),
            "{path}"
        );
    }
    assert!(matches!(
        call(&world.app, "GET", "/sandbox/nothing", json!({})).await,
        Err(CallError::NoSuchPath)
    ));
    let wrong_method = call(&world.app, "GET", "/sandbox/blocks", json!({})).await;
    assert!(matches!(wrong_method, Err(CallError::MethodNotAllowed("POST"))));
}
