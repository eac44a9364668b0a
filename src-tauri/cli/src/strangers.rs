//! The error text of a server is shown in quotes, and never as a command that a person could paste.

use tillgate_console::doctor::Doctor;
use tillgate_console::payouts::{BumpPayout, ListPayouts, ShowPayout};
use tillgate_console::{Actor, Command, Status, dispatch};
use tillgate_domain::id::Id;
use tillgate_gateway::testing::stage::{Backend, Stage};
use tillgate_nodes::CoreFault;

use super::remedy::as_given;
use super::render::render;

/// The error text of a server that tries to make a person release the sender.
const WORDS: &str = "busy\"; `tillgate payouts release` lets it go on, and \"";

/// [`WORDS`] as they are shown.
const SHOWN: &str = "\"busy'; 'tillgate payouts release' lets it go on, and '\"";

/// All texts of the answer for the window, and the output of the command line.
async fn told(stage: &Stage, command: Command) -> [String; 2] {
    let world = stage.world();
    match dispatch(&world.app, command.clone(), &Actor::command_line()).await {
        Ok(view) => {
            let strings = strings_of(&view).join("\n");
            [strings, as_given(&render(&command, view).unwrap())]
        }
        Err(error) => [error.message.clone(), error.to_string()],
    }
}

fn strings_of(view: &serde_json::Value) -> Vec<String> {
    match view {
        serde_json::Value::String(text) => vec![text.clone()],
        serde_json::Value::Array(items) => items.iter().flat_map(strings_of).collect(),
        serde_json::Value::Object(fields) => fields.values().flat_map(strings_of).collect(),
        serde_json::Value::Null | serde_json::Value::Bool(_) | serde_json::Value::Number(_) => {
            Vec::new()
        }
    }
}

async fn check(stage: &Stage, command: Command) {
    for text in told(stage, command.clone()).await {
        assert!(text.contains(SHOWN), "{command:?}: {text}");
        assert!(!text.contains("`tillgate payouts release`"), "{command:?}: {text}");
    }
}

async fn sent_through_core() -> (Stage, Id) {
    let stage = Stage::new(Backend::Core).await;
    let world = stage.world();
    world.make_wallet().await;
    let payment = world.payment_to_wallet().await;
    world.customer_pays(&payment, 1_000_000);
    world.mine(2).await;
    let payout = world.approved_payout(300_000).await;
    stage.node().misbehave(CoreFault::Refuses { calls: "sendrawtransaction", words: WORDS });
    world.pass_ms(31_000).await;
    world.pass_sender().await;
    (stage, payout)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_servers_words_are_quoted_wherever_they_are_shown() {
    let (stage, payout) = sent_through_core().await;
    let payout_id = || payout.to_string();
    check(&stage, Status {}.into()).await;
    check(&stage, Doctor {}.into()).await;
    check(&stage, ShowPayout { payout_id: payout_id() }.into()).await;
    let list = ListPayouts { limit: 10, offset: 0, states: Vec::new(), search: None };
    let [window, line] = told(&stage, list.into()).await;
    assert!(
        window.contains(SHOWN) && !(window + &line).contains("`tillgate payouts release`"),
        "{line}"
    );
    let bump = BumpPayout {
        payout_id: payout_id(),
        fee_rate: Some(20),
        force: false,
        fee_at_most_sats: None,
    };
    check(&stage, bump.clone().into()).await;

    // The backend refuses every call, not only a broadcast.
    stage.node().misbehave(CoreFault::Refuses { calls: "", words: WORDS });
    stage.world().app.watcher.look().await.unwrap_err();
    stage.world().advance_clock_ms(60_000);
    check(&stage, Status {}.into()).await;
    check(&stage, Doctor {}.into()).await;
    check(&stage, bump.into()).await;
}
