//! Events of a laptop's life: sleep over a deadline, a day without network, and a clock that is set
//! a day ahead.

use serde_json::{Value, json};

use crate::check;
use crate::clocks::step_clocks;
use crate::harness::client::{payment_request, text};
use crate::harness::{Behaviour, wait_for};
use crate::injected_faults::{
    BELIEVED_AFTER_MS, HOUR_MS, clock_ms, status_and_doctor, with_injected_faults,
};
use crate::installation::Installation;

const DAY_MS: i64 = 24 * HOUR_MS;

async fn bill(site: &Installation) -> String {
    text(&site.client.new_payment("10.00", site.shop.url()).await["paymentId"])
}

async fn wait_for_state(site: &Installation, bill: &str, state: &str) {
    let what = format!("{bill} is {state}");
    wait_for(&what, async || (site.state_of(bill).await == state).then_some(())).await;
}

/// Waits until the gateway accepts payments.
async fn wait_until_payments_are_accepted(site: &Installation) {
    let request = payment_request("10.00", site.shop.url());
    wait_for("an accepted payment", async || {
        (site.client.post("/v2/payments/new", &request).await.status == 200).then_some(())
    })
    .await;
}

/// The doctor's check of this name.
fn check_of(doctor: &Value, name: &str) -> Value {
    let checks = doctor["checks"].as_array().unwrap_or_else(|| panic!("no checks: {doctor}"));
    let found = checks.iter().find(|check| check["name"] == name);
    found.unwrap_or_else(|| panic!("no check of {name}: {doctor}")).clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_machine_that_slept_over_a_deadline_does_all_due_work() {
    let mut site = Installation::prepare().await;
    let injected = with_injected_faults(&mut site);
    step_clocks(injected.path(), 0, 0);
    let (paid, unpaid) = (bill(&site).await, bill(&site).await);
    site.client.pay(&paid).await;
    site.shop.expect_states(&paid, &["UNCONFIRMED"]).await;
    // The shop is down when a notification is due; the next attempt is due while the machine
    // sleeps.
    site.shop.behave(Behaviour::Status(503));
    let early = bill(&site).await;
    site.client.pay(&early).await;
    wait_for("the attempt", async || (!site.shop.states_of(&early).is_empty()).then_some(())).await;
    site.shop.behave(Behaviour::Accept);
    let before_ms = clock_ms(&site).await;

    // Two hours pass on both clocks, but not for the program's timers, as during a sleep.
    step_clocks(injected.path(), 2 * HOUR_MS, 2 * HOUR_MS);
    wait_for_state(&site, &unpaid, "EXPIRED").await;
    let slept_ms = clock_ms(&site).await - before_ms;
    assert!((2 * HOUR_MS..2 * HOUR_MS + 120_000).contains(&slept_ms), "{slept_ms}");
    site.shop.expect_states(&unpaid, &["EXPIRED"]).await;
    wait_for("the second attempt", async || {
        site.shop
            .received()
            .iter()
            .any(|it| it.accepted && it.json()["paymentId"] == early.as_str())
            .then_some(())
    })
    .await;
    assert_eq!(site.state_of(&paid).await, "UNCONFIRMED", "it was paid in time");
    wait_until_payments_are_accepted(&site).await;
    let (_, doctor) = status_and_doctor(&site, site.program.data_dir());
    assert_eq!(
        check_of(&doctor, "clock")["ok"],
        true,
        "sleep is not reported as a step of the clock: {doctor}"
    );
    site.client.pay(&unpaid).await;
    site.client.mine(2).await;
    assert_eq!(site.state_of(&paid).await, "CONFIRMED");
    assert_eq!(site.client.anomalies(&unpaid).await[0]["anomalyType"], "LATE_PAYMENT");
    check::every_change_was_notified(&site, &check::folder(&site)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_day_without_network_loses_no_payment() {
    let mut site = Installation::prepare().await;
    site.start();
    let (mined, seen_late, paid_late, never) =
        (bill(&site).await, bill(&site).await, bill(&site).await, bill(&site).await);
    let currencies = ["AUD", "CAD", "EUR", "GBP", "JPY", "USD"];
    let rates = site.client.sandbox_state().await["rates"].clone();
    let none: Value = currencies
        .iter()
        .map(|code| ((*code).to_owned(), Value::Null))
        .collect::<serde_json::Map<_, _>>()
        .into();
    let back: Value = currencies
        .iter()
        .map(|code| ((*code).to_owned(), rates[code].clone()))
        .collect::<serde_json::Map<_, _>>()
        .into();
    site.client.set_faults(json!({ "chainDown": true })).await;
    site.client.set_rates(none).await;
    site.shop.behave(Behaviour::Status(503));

    // The customers' network works: one customer pays at once and is mined, another pays just
    // before the deadline.
    site.client.pay(&mined).await;
    site.client.mine(1).await;
    site.client.advance_clock(29 * 60).await;
    site.client.pay(&seen_late).await;
    site.client.advance_clock(12 * 3_600).await;
    let refused =
        site.client.post("/v2/payments/new", &payment_request("10.00", site.shop.url())).await;
    let refused: Vec<String> =
        refused.field_errors(503).into_iter().map(|(kind, _)| kind).collect();
    assert!(
        refused.iter().all(|kind| ["CHAIN_NOT_READY", "RATE_UNAVAILABLE"].contains(&kind.as_str())),
        "{refused:?}"
    );
    site.client.advance_clock(12 * 3_600).await;
    site.client.pay(&paid_late).await;
    for unsettled in [&mined, &seen_late, &paid_late, &never] {
        assert_eq!(
            site.state_of(unsettled).await,
            "NEW",
            "the gateway cannot have seen the transaction"
        );
    }
    let (_, doctor) = status_and_doctor(&site, site.program.data_dir());
    for name in ["chain", "rates"] {
        assert_eq!(check_of(&doctor, name)["ok"], false, "{doctor}");
    }

    // The chain comes back first: existing payments are decided without rates, but new payments
    // need rates.
    site.client.set_faults(json!({ "chainDown": false })).await;
    for (bill, state) in [
        (&mined, "CONFIRMED"),
        (&seen_late, "UNCONFIRMED"),
        (&paid_late, "EXPIRED"),
        (&never, "EXPIRED"),
    ] {
        assert_eq!(site.state_of(bill).await, state);
    }
    site.client.mine(2).await;
    assert_eq!(site.state_of(&seen_late).await, "CONFIRMED");
    let late = site.client.anomalies(&paid_late).await;
    assert_eq!((late.len(), &late[0]["anomalyType"]), (1, &json!("LATE_PAYMENT")));
    let refused =
        site.client.post("/v2/payments/new", &payment_request("10.00", site.shop.url())).await;
    assert_eq!(refused.field_errors(503)[0].0, "RATE_UNAVAILABLE");
    site.client.set_rates(back).await;
    wait_until_payments_are_accepted(&site).await;

    // The shop answers again, and is notified of each payment's latest state; older notifications
    // were superseded.
    site.shop.behave(Behaviour::Accept);
    site.client.advance_clock(6 * 3_600).await;
    for (bill, state) in [
        (&mined, "CONFIRMED"),
        (&seen_late, "CONFIRMED"),
        (&paid_late, "EXPIRED"),
        (&never, "EXPIRED"),
    ] {
        site.shop.wait_for_record(bill, state, |record| record["status"] == state).await;
    }
    check::every_change_was_notified(&site, &check::folder(&site)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clock_set_a_day_ahead_and_back_undoes_no_decision() {
    let mut site = Installation::prepare().await;
    let injected = with_injected_faults(&mut site);
    let waiting = bill(&site).await;
    let before_ms = clock_ms(&site).await;
    for wall_ms in [DAY_MS, 0, -DAY_MS, 0] {
        step_clocks(injected.path(), wall_ms, 0);
        site.client.advance_clock(0).await;
        assert!(
            (clock_ms(&site).await - before_ms).abs() < HOUR_MS / 2,
            "a step of {wall_ms} ms is not accepted at once"
        );
        assert_eq!(site.state_of(&waiting).await, "NEW");
    }
    let paid = bill(&site).await;
    site.client.pay_with(&paid, json!({ "confirmations": 1 })).await;

    // After five minutes the gateway accepts the step of a day.
    step_clocks(injected.path(), DAY_MS, 0);
    clock_ms(&site).await;
    step_clocks(injected.path(), DAY_MS + BELIEVED_AFTER_MS, BELIEVED_AFTER_MS);
    wait_for("the clock to follow", async || {
        (clock_ms(&site).await - before_ms > DAY_MS).then_some(())
    })
    .await;
    assert_eq!(site.state_of(&waiting).await, "NEW", "the day did not pass for the customer");
    wait_until_payments_are_accepted(&site).await;
    let past_ms = BELIEVED_AFTER_MS + HOUR_MS;
    step_clocks(injected.path(), DAY_MS + past_ms, past_ms);
    wait_for_state(&site, &waiting, "EXPIRED").await;
    let ahead_ms = clock_ms(&site).await;

    // The clock is set back: the gateway's clock never runs backwards, and runs at half speed until
    // both agree.
    step_clocks(injected.path(), past_ms, past_ms);
    clock_ms(&site).await;
    let past_ms = past_ms + BELIEVED_AFTER_MS;
    step_clocks(injected.path(), past_ms, past_ms);
    let believed_ms = clock_ms(&site).await;
    assert!(believed_ms >= ahead_ms);
    let open = bill(&site).await;
    let later_ms = past_ms + 40 * 60_000;
    step_clocks(injected.path(), later_ms, later_ms);
    let gone_ms = clock_ms(&site).await - believed_ms;
    assert!((20 * 60_000..22 * 60_000).contains(&gone_ms), "{gone_ms} of 40 minutes");
    site.client.pay_with(&open, json!({ "confirmations": 1 })).await;
    for (bill, state) in [(&waiting, "EXPIRED"), (&paid, "CONFIRMED"), (&open, "CONFIRMED")] {
        assert_eq!(site.state_of(bill).await, state);
        site.shop.wait_for_record(bill, state, |record| record["status"] == state).await;
    }
    // The gateway restarts with a wall clock that is a day behind its decisions.
    site.kill();
    site.start_with(|command| {
        command.env("TILLGATE_INJECTED_FAULTS", injected.path());
    })
    .unwrap();
    assert!(clock_ms(&site).await >= ahead_ms);
    assert_eq!(site.state_of(&waiting).await, "EXPIRED");
    assert_eq!(site.state_of(&bill(&site).await).await, "NEW");
    check::every_change_was_notified(&site, &check::folder(&site)).await;
}
